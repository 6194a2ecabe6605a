#include "circuit/result_queue.h"

#include <pthread.h>
#include <stdlib.h>

struct queued {
    struct queued *next;
    struct batch batch;
    struct buffer *kinds;
};
struct result_queue {
    pthread_mutex_t mutex;
    struct queued *first, *last;
};

enum status result_queue_create(struct result_queue **queue, struct error *err)
{
    struct result_queue *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a result queue");
    }
    pthread_mutex_init(&created->mutex, NULL);
    *queue = created;
    return STATUS_OK;
}

void result_queue_destroy(struct result_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    struct batch batch;
    struct buffer *kinds;
    while (result_queue_take(queue, &batch, &kinds)) {
        batch_release(&batch);
        buffer_unref(kinds);
    }
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

enum status result_queue_put(struct result_queue *queue, struct batch *batch, struct buffer *kinds, struct error *err)
{
    struct queued *queued = malloc(sizeof *queued);
    if (queued == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a result batch");
    }
    *queued = (struct queued){.batch = *batch, .kinds = kinds};
    *batch = (struct batch){0};
    pthread_mutex_lock(&queue->mutex);
    if (queue->last == NULL) {
        queue->first = queued;
    } else {
        queue->last->next = queued;
    }
    queue->last = queued;
    pthread_mutex_unlock(&queue->mutex);
    return STATUS_OK;
}

bool result_queue_take(struct result_queue *queue, struct batch *batch, struct buffer **kinds)
{
    pthread_mutex_lock(&queue->mutex);
    struct queued *queued = queue->first;
    if (queued != NULL) {
        queue->first = queued->next;
        if (queue->first == NULL) {
            queue->last = NULL;
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    if (queued == NULL) {
        return false;
    }
    *batch = queued->batch;
    *kinds = queued->kinds;
    free(queued);
    return true;
}
