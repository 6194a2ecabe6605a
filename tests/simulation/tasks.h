/* tests/simulation/tasks.h: tasks that commit in registers, and the fence of those. */
#ifndef TASKS_H
#define TASKS_H

#include "simulation.h"

/* A fiber runs the task, or (settles) only makes sure that no commit of it is on its way any more. */
void tasks_begin(struct world *world, uint8_t process, const struct work *work, struct life life, bool settles);
void tasks_fence(struct world *world, uint8_t process, const struct cluster_action *action);

/* The oracle: what one process that never fails would compute. */
uint64_t tasks_state_after(uint64_t state, uint64_t task, uint64_t from, uint64_t to);
uint64_t tasks_output(uint64_t state, uint64_t task, uint64_t from, uint64_t to);
/* What a manifest says: the number of files. */
struct control_place;
void tasks_read_edits(const char *extra, struct control_place *place);
uint32_t tasks_read_extra(const char *extra, uint64_t *from, uint64_t *to, struct tasks_file *files, uint32_t capacity);

#endif
