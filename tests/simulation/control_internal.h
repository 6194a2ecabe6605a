/* tests/simulation/control_internal.h: the parts of the simulated control log. */
#ifndef CONTROL_INTERNAL_H
#define CONTROL_INTERNAL_H

#include "control.h"
#include "fiber.h"

void control_check_reader(struct world *world, const struct control_fold *fold);

#endif
