/* tests/simulation/objects.h: the simulated object store, for fibers. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "fiber.h"
#include "storage/stores.h"

enum { WALL_RATE = 36000 }; /* of wall clocks: ten hours a second */

/* The caller closes it. All of it is in one store. */
enum status objects_open_storage(struct fiber *fiber, struct storage **storage, struct error *err);
int64_t objects_grace_us(const struct world *world);                               /* true time */
const struct simulated_object *objects_find(struct world *world, const char *key); /* NULL: none */
void objects_execute(struct world *world, struct operation *operation);
void objects_close(struct world *world);

#endif
