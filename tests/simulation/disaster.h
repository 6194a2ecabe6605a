/* tests/simulation/disaster.h: the coordination service loses everything, and the job is restarted from its storage. */
#ifndef DISASTER_H
#define DISASTER_H

#include "simulation.h"

void disaster_strike(struct world *world);
void disaster_close(struct world *world);

#endif
