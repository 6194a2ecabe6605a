#include "connectors/feed_queue.h"
#include "base/condition.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct feed_entry {
    struct feed_entry *next;
    struct batch batch;
    int64_t first_row;
};
struct feed_partition {
    struct feed_entry *first, *last;
    int64_t rows;
};
struct feed {
    atomic_uint references;
    struct arena *arena;
    struct budget *budget;
    const struct type *row;
    pthread_mutex_t mutex;
    pthread_cond_t pushed;
    bool keep, ended;
    uint32_t partition_count;
    struct feed_partition *partitions;
};

enum status feed_create(struct budget *budget, const struct type *row, uint32_t partition_count, struct feed **feed, struct error *err)
{
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(budget, "feed"), err);
    struct feed *created = arena_alloc(arena, sizeof *created);
    if (created != NULL) {
        created->row = type_copy(arena, row);
        created->partitions = arena_alloc(arena, (partition_count + 1) * sizeof *created->partitions);
    }
    if (created == NULL || created->row == NULL || created->partitions == NULL) {
        arena_destroy(arena);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a feed");
    }
    atomic_init(&created->references, 1);
    created->arena = arena;
    created->budget = budget;
    created->partition_count = partition_count;
    pthread_mutex_init(&created->mutex, NULL);
    condition_init(&created->pushed);
    *feed = created;
    return STATUS_OK;
}

struct feed *feed_ref(struct feed *feed)
{
    atomic_fetch_add_explicit(&feed->references, 1, memory_order_relaxed);
    return feed;
}

void feed_unref(struct feed *feed)
{
    if (feed == NULL || atomic_fetch_sub_explicit(&feed->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (uint32_t i = 0; i < feed->partition_count; i++) {
        while (feed->partitions[i].first != NULL) {
            struct feed_entry *entry = feed->partitions[i].first;
            feed->partitions[i].first = entry->next;
            batch_release(&entry->batch);
            free(entry);
        }
    }
    pthread_cond_destroy(&feed->pushed);
    pthread_mutex_destroy(&feed->mutex);
    arena_destroy(feed->arena);
}

const struct type *feed_row(const struct feed *feed)
{
    return feed->row;
}

struct budget *feed_budget(const struct feed *feed)
{
    return feed->budget;
}

uint32_t feed_partition_count(const struct feed *feed)
{
    return feed->partition_count;
}

bool feed_has_ended(struct feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    bool ended = feed->ended;
    pthread_mutex_unlock(&feed->mutex);
    return ended;
}

enum status feed_push_batch(struct feed *feed, uint32_t partition, struct batch *batch, struct error *err)
{
    struct feed_entry *entry = malloc(sizeof *entry);
    pthread_mutex_lock(&feed->mutex);
    enum status status = STATUS_OK;
    if (entry == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for an entry of a feed");
    } else if (partition >= feed->partition_count) {
        status = error_set(err, ERROR_MISUSE, "the feed has %u partitions, there is no number %u", feed->partition_count, partition);
    } else if (feed->ended) {
        status = error_set(err, ERROR_MISUSE, "the feed has ended: nothing can be pushed");
    }
    if (status == STATUS_OK && batch->count > 0) {
        struct feed_partition *queue = &feed->partitions[partition];
        *entry = (struct feed_entry){.batch = *batch, .first_row = queue->rows};
        queue->rows += batch->count;
        if (queue->first == NULL) {
            queue->first = entry;
        } else {
            queue->last->next = entry;
        }
        queue->last = entry;
        pthread_cond_broadcast(&feed->pushed);
        entry = NULL;
    }
    pthread_mutex_unlock(&feed->mutex);
    if (entry != NULL || status != STATUS_OK) {
        batch_release(batch);
        free(entry);
    }
    return status;
}

void feed_keep(struct feed *feed, bool keep)
{
    pthread_mutex_lock(&feed->mutex);
    feed->keep = keep;
    pthread_mutex_unlock(&feed->mutex);
}

void feed_end(struct feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    feed->ended = true;
    pthread_cond_broadcast(&feed->pushed);
    pthread_mutex_unlock(&feed->mutex);
}

static struct feed_entry *next_entry(const struct feed_cursor *cursor)
{
    struct feed_entry *last = cursor->last;
    return last != NULL ? last->next : cursor->feed->partitions[cursor->partition].first;
}

static void wait_for_rows(const struct feed_cursor *cursor, int64_t wait_us)
{
    const struct timespec until = condition_deadline(wait_us);
    while (next_entry(cursor) == NULL && !cursor->feed->ended && condition_wait(&cursor->feed->pushed, &cursor->feed->mutex, &until)) {
    }
}

enum status feed_take(struct feed_cursor *cursor, int64_t wait_us, struct batch *batch, int64_t *first_row, enum feed_state *state,
                      struct error *err)
{
    struct feed *feed = cursor->feed;
    enum status status = STATUS_OK;
    pthread_mutex_lock(&feed->mutex);
    wait_for_rows(cursor, wait_us);
    struct feed_entry *entry = next_entry(cursor);
    *state = entry != NULL ? FEED_ROWS : feed->ended ? FEED_ENDED : FEED_EMPTY;
    if (entry != NULL) {
        *first_row = entry->first_row;
        if (feed->keep || cursor->last != NULL) {
            status = batch_ref(&entry->batch, batch, err);
            cursor->last = entry;
        } else {
            feed->partitions[cursor->partition].first = entry->next;
            *batch = entry->batch;
            free(entry);
        }
    }
    pthread_mutex_unlock(&feed->mutex);
    return status;
}
