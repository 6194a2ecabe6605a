#include "job/restore_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

enum { QUEUE_BLOCKS = 16 };

struct queued {
    void *handle;
    const struct snapshot_table *table;
    struct batch batch;
    uint64_t *ids;
    uint32_t chain, stored_bytes;
};
struct restore_queue {
    const struct snapshot_target *target;
    restore_read *read;
    void *context;
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t changed;
    struct queued blocks[QUEUE_BLOCKS];
    uint32_t first, count;
    bool read_ended;
    enum status read_status, take_status;
    struct error read_error, take_error;
};

static void queued_release(struct queued *block)
{
    batch_release(&block->batch);
    free(block->ids);
    *block = (struct queued){0};
}

/* ---- the thread that reads ---- */

static enum status put_block(struct restore_queue *queue, struct queued *block, struct error *err)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == QUEUE_BLOCKS && queue->take_status == STATUS_OK) {
        pthread_cond_wait(&queue->changed, &queue->mutex);
    }
    enum status status = queue->take_status;
    if (status == STATUS_OK) {
        queue->blocks[(queue->first + queue->count++) % QUEUE_BLOCKS] = *block;
        *block = (struct queued){0};
    } else {
        *err = queue->take_error;
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    queued_release(block);
    return status;
}

static enum status queue_rows(void *context, void *handle, const struct snapshot_table *table, const struct snapshot_rows *rows,
                              struct error *err)
{
    struct queued block = {.handle = handle, .table = table, .chain = rows->chain, .stored_bytes = rows->stored_bytes};
    TRY_ALLOC(block.ids, malloc(rows->batch->count * sizeof *block.ids + 1), err);
    memcpy(block.ids, rows->ids, rows->batch->count * sizeof *block.ids);
    enum status status = batch_ref(rows->batch, &block.batch, err);
    if (status != STATUS_OK) {
        queued_release(&block);
        return status;
    }
    return put_block(context, &block, err);
}

static const struct snapshot_table *queue_find(void *context, const char *operator_id, const char *table, void **handle)
{
    const struct restore_queue *queue = context;
    return queue->target->find(queue->target->context, operator_id, table, handle);
}

static void *read_main(void *context)
{
    struct restore_queue *queue = context;
    struct snapshot_target target = *queue->target;
    target.find = queue_find;
    target.take = queue_rows;
    target.context = queue;
    enum status status = queue->read(queue->context, &target, &queue->read_error);
    pthread_mutex_lock(&queue->mutex);
    queue->read_status = status;
    queue->read_ended = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    buffer_trim();
    return NULL;
}

/* ---- the worker ---- */

/* False: the reader has ended, and all that it read was taken. */
static bool next_block(struct restore_queue *queue, struct queued *block)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == 0 && !queue->read_ended) {
        pthread_cond_wait(&queue->changed, &queue->mutex);
    }
    bool there = queue->count > 0;
    if (there) {
        *block = queue->blocks[queue->first];
        queue->first = (queue->first + 1) % QUEUE_BLOCKS;
        queue->count--;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->mutex);
    return there;
}

static void take_blocks(struct restore_queue *queue)
{
    struct queued block;
    while (next_block(queue, &block)) {
        const struct snapshot_rows rows = {&block.batch, block.ids, block.chain, block.stored_bytes};
        if (queue->take_status == STATUS_OK) { /* written here only */
            struct error error;
            enum status status = queue->target->take(queue->target->context, block.handle, block.table, &rows, &error);
            if (status != STATUS_OK) {
                pthread_mutex_lock(&queue->mutex);
                queue->take_status = status;
                queue->take_error = error;
                pthread_cond_broadcast(&queue->changed);
                pthread_mutex_unlock(&queue->mutex);
            }
        }
        queued_release(&block);
    }
}

static enum status queue_result(const struct restore_queue *queue, struct error *err)
{
    if (queue->read_status != STATUS_OK) { /* it may be what a table said, with the file's name */
        *err = queue->read_error;
        return queue->read_status;
    }
    if (queue->take_status != STATUS_OK) {
        *err = queue->take_error;
    }
    return queue->take_status;
}

enum status restore_ahead(const struct snapshot_target *target, restore_read *read, void *context, struct error *err)
{
    pthread_t thread;
    struct restore_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to restore a job");
    }
    queue->target = target;
    queue->read = read;
    queue->context = context;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->changed, NULL);
    enum status status;
    if (pthread_create(&thread, NULL, read_main, queue) == 0) {
        take_blocks(queue);
        pthread_join(thread, NULL);
        status = queue_result(queue, err);
    } else {
        status = read(context, target, err);
    }
    pthread_mutex_destroy(&queue->mutex);
    pthread_cond_destroy(&queue->changed);
    free(queue);
    return status;
}
