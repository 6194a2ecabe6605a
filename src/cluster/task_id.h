/* cluster/task_id.h: the names of tasks and of lives of processes, as numbers and texts.
 *
 * For         model, members, assignment, control: whatever lists tasks.
 * Shape       A task is stage x partition and one number: sorted by it, tasks are sorted by stage, then partition. "s1.17" is partition 17
 *             of stage 1; a plan whose exchanges all stay in memory is one task, "all". A run of partitions is written "s1.0-31".
 *             A life is one start of a process: its id and a random number; "w2#9f1c".
 * Ownership   The id of a life is lent by what it was read from, or kept in an arena by life_keep.
 */
#ifndef SPATE_CLUSTER_TASK_ID_H
#define SPATE_CLUSTER_TASK_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { TASK_TEXT_BYTES = 40, LIFE_TEXT_BYTES = 200, LIFE_ID_MAX = 128 };
#define TASK_ALL UINT64_MAX

static inline uint64_t task_make(uint32_t stage, uint32_t partition)
{
    return (uint64_t)stage << 32 | partition;
}
static inline uint32_t task_stage(uint64_t task)
{
    return (uint32_t)(task >> 32);
}
static inline uint32_t task_partition(uint64_t task)
{
    return (uint32_t)task;
}
const char *task_text(uint64_t task, char text[TASK_TEXT_BYTES]);
/* Partitions first..last of one stage; "all" is a run of one. */
const char *task_run_text(uint64_t first, uint64_t last, char text[TASK_TEXT_BYTES]);
/* Of a task or a run; false: it is neither. */
bool task_run_parse(const char *text, uint64_t *first, uint64_t *last);

struct life {
    const char *id; /* NULL: none */
    uint64_t incarnation;
};
bool life_equal(struct life left, struct life right);
const char *life_text(struct life life, char text[LIFE_TEXT_BYTES]); /* "-": none */
/* false: it is no life. */
bool life_parse(const char *text, struct arena *arena, struct life *life);
bool life_keep(struct life life, struct arena *arena, struct life *kept);
bool incarnation_parse(const char *text, uint64_t *incarnation);

#endif
