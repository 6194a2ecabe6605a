/* api/task_async.h: answers that a task waits for at the end of its tick.
 *
 * For         spate_process_async and what completes it (include/spate/task.h).
 * Shape       Entries in the order in which they were begun. A handle is two numbers, and what has no entry any more is not found: so an answer
 *             that comes twice, or after its task has ended, touches nothing.
 * Ownership   An entry owns copies of what was asked and answered.
 * Threads     One mutex guards all queues of the process: answers come from any thread.
 */
#ifndef SPATE_API_TASK_ASYNC_H
#define SPATE_API_TASK_ASYNC_H

#include <stdatomic.h>

#include "base/error.h"
#include "spate/task.h"

struct async_queue;
struct async_entry {
    const char *input;
    int64_t row; /* of its partition; negative: not known */
    void *item, *answer;
    size_t item_length, answer_length;
    int64_t until_us;
    bool answered;
    int error_class; /* SPATE_OK: answered well */
    char *why;
};
/* limit: how many may be without an answer. */
enum status async_queue_create(uint32_t limit, int64_t timeout_us, struct async_queue **queue, struct error *err);
void async_queue_destroy(struct async_queue *queue); /* NULL is allowed; what comes later is not found */
/* Waits while as many as may be are without an answer. The item is copied. */
enum status async_queue_begin(struct async_queue *queue, const char *input, int64_t row, const void *item, size_t length,
                              const atomic_bool *cancelled, spate_completion *completion, struct error *err);
/* The oldest, once it is answered; *found false: there is none. TASK_UNAVAILABLE when its time is over, whatever a failure was given as. The
 * caller ends it with async_entry_close. */
enum status async_queue_take(struct async_queue *queue, const atomic_bool *cancelled, struct async_entry *entry, bool *found,
                             struct error *err);
void async_entry_close(struct async_entry *entry);
void async_entry_name(const struct async_entry *entry, struct error *err); /* adds its row to an error */

#endif
