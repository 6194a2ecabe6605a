#include "api/task_async.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"

enum { LOOK_US = 100000 };

struct async_queue {
    struct async_queue *next;
    uint64_t id;
    pthread_cond_t changed;
    struct async_entry *entries; /* a ring */
    uint32_t capacity, count, head;
    uint64_t first; /* number of the oldest */
    uint32_t open, limit;
    int64_t timeout_us;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all that follows, and the queues */
static struct async_queue *queues;
static uint64_t last_id;

static int64_t now_us(void)
{
    return clock_boot.monotonic_us(&clock_boot);
}

enum status async_queue_create(uint32_t limit, int64_t timeout_us, struct async_queue **queue, struct error *err)
{
    struct async_queue *made;
    TRY_ALLOC(made, calloc(1, sizeof *made), err);
    made->limit = limit;
    made->timeout_us = timeout_us;
    condition_init(&made->changed);
    pthread_mutex_lock(&mutex);
    made->id = ++last_id;
    made->next = queues;
    queues = made;
    pthread_mutex_unlock(&mutex);
    *queue = made;
    return STATUS_OK;
}

static struct async_entry *entry_at(struct async_queue *queue, uint32_t place)
{
    return &queue->entries[(queue->head + place) % queue->capacity];
}

void async_entry_close(struct async_entry *entry)
{
    free(entry->item);
    free(entry->answer);
    free(entry->why);
    *entry = (struct async_entry){0};
}

void async_queue_destroy(struct async_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    pthread_mutex_lock(&mutex);
    struct async_queue **link = &queues;
    while (*link != queue) {
        link = &(*link)->next;
    }
    *link = queue->next;
    pthread_mutex_unlock(&mutex);
    for (uint32_t i = 0; i < queue->count; i++) {
        async_entry_close(entry_at(queue, i));
    }
    pthread_cond_destroy(&queue->changed);
    free(queue->entries);
    free(queue);
}

/* ---- the task's side ---- */

static enum status grow(struct async_queue *queue, struct error *err)
{
    uint32_t capacity = queue->capacity == 0 ? 64 : queue->capacity * 2;
    struct async_entry *entries;
    TRY_ALLOC(entries, calloc(capacity, sizeof *entries), err);
    for (uint32_t i = 0; i < queue->count; i++) {
        entries[i] = *entry_at(queue, i);
    }
    free(queue->entries);
    queue->entries = entries;
    queue->capacity = capacity;
    queue->head = 0;
    return STATUS_OK;
}

void async_entry_name(const struct async_entry *entry, struct error *err)
{
    if (entry->row >= 0) {
        error_add_context(err, "for row %" PRId64 " of a partition of '%s'", entry->row, entry->input);
    } else {
        error_add_context(err, "for a row of '%s'", entry->input);
    }
}

/* Until something changes, or the oldest entry without an answer has waited too long. */
static enum status wait_some(struct async_queue *queue, const atomic_bool *cancelled, struct error *err)
{
    TRY(cancel_check(cancelled, err));
    const struct async_entry *oldest = NULL;
    for (uint32_t i = 0; i < queue->count && oldest == NULL; i++) {
        oldest = entry_at(queue, i)->answered ? NULL : entry_at(queue, i);
    }
    int64_t left_us = oldest == NULL ? LOOK_US : oldest->until_us - now_us();
    if (left_us <= 0) {
        (void)!error_set(err, ERROR_TASK_UNAVAILABLE, "no answer has come within %" PRId64 " ms", queue->timeout_us / 1000);
        async_entry_name(oldest, err);
        return err->status;
    }
    condition_wait_us(&queue->changed, &mutex, left_us < LOOK_US ? left_us : LOOK_US);
    return STATUS_OK;
}

static enum status add(struct async_queue *queue, struct async_entry *entry, spate_completion *completion, struct error *err)
{
    if (queue->count == queue->capacity) {
        TRY(grow(queue, err));
    }
    *completion = (spate_completion){queue->id, queue->first + queue->count};
    entry->until_us = now_us() + queue->timeout_us;
    *entry_at(queue, queue->count++) = *entry;
    queue->open++;
    return STATUS_OK;
}

enum status async_queue_begin(struct async_queue *queue, const char *input, int64_t row, const void *item, size_t length,
                              const atomic_bool *cancelled, spate_completion *completion, struct error *err)
{
    struct async_entry entry = {.input = input, .row = row, .item_length = length};
    TRY_ALLOC(entry.item, malloc(length + 1), err);
    if (length > 0) {
        memcpy(entry.item, item, length);
    }
    pthread_mutex_lock(&mutex);
    enum status status = STATUS_OK;
    while (status == STATUS_OK && queue->open >= queue->limit) {
        status = wait_some(queue, cancelled, err);
    }
    if (status == STATUS_OK) {
        status = add(queue, &entry, completion, err);
    }
    pthread_mutex_unlock(&mutex);
    if (status != STATUS_OK) {
        async_entry_close(&entry);
    }
    return status;
}

enum status async_queue_take(struct async_queue *queue, const atomic_bool *cancelled, struct async_entry *entry, bool *found,
                             struct error *err)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&mutex);
    *found = queue->count > 0;
    while (status == STATUS_OK && *found && !entry_at(queue, 0)->answered) {
        status = wait_some(queue, cancelled, err);
    }
    if (status == STATUS_OK && *found) {
        *entry = *entry_at(queue, 0);
        *entry_at(queue, 0) = (struct async_entry){0};
        queue->head = (queue->head + 1) % queue->capacity;
        queue->first++;
        queue->count--;
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

/* ---- answers ---- */

/* NULL: answered already, or its task has ended. With the mutex. */
static struct async_entry *find(spate_completion completion, struct async_queue **queue)
{
    *queue = queues;
    while (*queue != NULL && (*queue)->id != completion.task) {
        *queue = (*queue)->next;
    }
    if (*queue == NULL || completion.number < (*queue)->first || completion.number - (*queue)->first >= (*queue)->count) {
        return NULL;
    }
    struct async_entry *entry = entry_at(*queue, (uint32_t)(completion.number - (*queue)->first));
    return entry->answered ? NULL : entry;
}

/* Takes the copy. */
static void answer(spate_completion completion, int error_class, void *copy, size_t length)
{
    struct async_queue *queue;
    pthread_mutex_lock(&mutex);
    struct async_entry *entry = find(completion, &queue);
    if (entry != NULL) {
        entry->answered = true;
        entry->error_class = copy == NULL ? SPATE_ERROR_LIMIT : error_class;
        entry->answer = entry->error_class == SPATE_OK ? copy : NULL;
        entry->why = entry->error_class == SPATE_OK ? NULL : copy;
        entry->answer_length = length;
        queue->open--;
        pthread_cond_signal(&queue->changed);
        copy = NULL;
    }
    pthread_mutex_unlock(&mutex);
    free(copy);
}

void spate_completion_answer(spate_completion completion, const void *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy != NULL && length > 0) {
        memcpy(copy, bytes, length);
    }
    answer(completion, SPATE_OK, copy, length);
}

void spate_completion_fail(spate_completion completion, int error_class, const char *why)
{
    answer(completion, error_class == SPATE_OK ? SPATE_ERROR_DATA : error_class, strdup(why), 0);
}
