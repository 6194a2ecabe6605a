#include "circuit/source_ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING_BATCHES = 64, WAIT_MAX_US = 100000 };

struct source_ring {
    struct reader *reader;
    const struct source_type *type;
    uint32_t row_limit;
    size_t limit_bytes;
    struct wakeup *wakeup;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* room, or closing */
    struct batch batches[RING_BATCHES];
    struct text_builder places[RING_BATCHES]; /* behind each batch; replayable sources */
    uint64_t reads[RING_BATCHES];
    struct text_builder taken, read; /* behind the batch taken last; behind the one just read, the reader's thread's */
    struct text_builder quiet;       /* behind the last read() without rows, when nothing else is in the ring; quiet_read: its number, */
    uint64_t quiet_read;             /* 0: none since the last batch */
    size_t batch_bytes[RING_BATCHES];
    uint32_t first, count;
    size_t bytes;
    bool closing, ended, idle;
    enum status status;
    struct error error;
};

static size_t vector_bytes(const struct vector *vector)
{
    size_t bytes = vector->values_buffer == NULL ? 0 : buffer_size(vector->values_buffer);
    for (uint32_t i = 0; i < vector->child_count; i++) {
        bytes += vector_bytes(&vector->children[i]);
    }
    return bytes;
}

/* Heaps are shared by the columns of a batch (and with its neighbours), so the largest list counts, once. */
static size_t batch_size(const struct batch *batch)
{
    size_t bytes = 0, heaps = 0;
    for (uint32_t c = 0; c < batch->column_count; c++) {
        size_t column_heaps = 0;
        for (uint32_t h = 0; h < batch->columns[c].heap_count; h++) {
            column_heaps += buffer_size(batch->columns[c].heaps[h]);
        }
        heaps = column_heaps > heaps ? column_heaps : heaps;
        bytes += vector_bytes(&batch->columns[c]);
    }
    return bytes + heaps;
}

static void ring_wait_us(struct source_ring *ring, int64_t us)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    us = us < 1000 ? 1000 : us > WAIT_MAX_US ? WAIT_MAX_US : us;
    until.tv_nsec += us * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&ring->mutex);
    if (!ring->closing) {
        pthread_cond_timedwait(&ring->changed, &ring->mutex, &until);
    }
    pthread_mutex_unlock(&ring->mutex);
}

static void swap_texts(struct text_builder *left, struct text_builder *right)
{
    struct text_builder kept = *left;
    *left = *right;
    *right = kept;
}

/* Into `place`: where the reader stands. */
static enum status ring_mark(struct source_ring *ring, struct text_builder *place, struct error *err)
{
    if (ring->type->position == NULL) {
        return STATUS_OK;
    }
    text_builder_clear(place);
    TRY(ring->type->position(ring->reader, place, err));
    return place->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a source's position") : STATUS_OK;
}

/* false: the ring is closing. */
static bool ring_push(struct source_ring *ring, struct batch *batch)
{
    size_t bytes = batch_size(batch);
    pthread_mutex_lock(&ring->mutex);
    while (!ring->closing && ring->count > 0 && (ring->count == RING_BATCHES || ring->bytes + bytes > ring->limit_bytes)) {
        pthread_cond_wait(&ring->changed, &ring->mutex);
    }
    bool open = !ring->closing;
    if (open) {
        uint32_t at = (ring->first + ring->count) % RING_BATCHES;
        ring->batches[at] = *batch;
        swap_texts(&ring->places[at], &ring->read);
        ring->reads[at] = ring->reader->reads;
        ring->quiet_read = 0;
        ring->batch_bytes[at] = bytes;
        ring->count++;
        ring->bytes += bytes;
        ring->idle = false;
    }
    pthread_mutex_unlock(&ring->mutex);
    if (!open) {
        batch_release(batch);
    }
    return open;
}

static void ring_set(struct source_ring *ring, bool ended, bool idle, enum status status, const struct error *error)
{
    pthread_mutex_lock(&ring->mutex);
    if (status == STATUS_OK) {
        swap_texts(&ring->quiet, &ring->read);
        ring->quiet_read = ring->reader->reads;
    }
    ring->ended = ended;
    ring->idle = idle;
    ring->status = status;
    if (status != STATUS_OK) {
        ring->error = *error;
    }
    pthread_mutex_unlock(&ring->mutex);
    wakeup_signal(ring->wakeup);
}

static bool ring_is_closing(struct source_ring *ring)
{
    pthread_mutex_lock(&ring->mutex);
    bool closing = ring->closing;
    pthread_mutex_unlock(&ring->mutex);
    return closing;
}

static void *ring_run(void *context)
{
    struct source_ring *ring = context;
    bool going = true;
    while (going && !ring_is_closing(ring)) {
        struct batch batch = {0};
        enum read_state state = READ_IDLE;
        int64_t wait_us = 0;
        struct error err = {0};
        ring->reader->reads++;
        enum status status = ring->type->read(ring->reader, ring->row_limit, &batch, &state, &wait_us, &err);
        if (status == STATUS_OK) {
            status = ring_mark(ring, &ring->read, &err);
            if (status != STATUS_OK && state == READ_ROWS) {
                batch_release(&batch);
            }
        }
        if (status != STATUS_OK) {
            ring_set(ring, true, false, status, &err);
            going = false;
        } else if (state == READ_ROWS) {
            going = ring_push(ring, &batch);
            wakeup_signal(ring->wakeup);
        } else if (state == READ_IDLE) {
            ring_set(ring, false, wait_us > 0, STATUS_OK, NULL);
            ring_wait_us(ring, wait_us);
        } else {
            ring_set(ring, true, false, STATUS_OK, NULL);
            going = false;
        }
    }
    buffer_trim();
    return NULL;
}

static enum status ring_open_reader(struct source_ring *ring, struct source *source, uint32_t partition, const struct source_position *from,
                                    struct error *err)
{
    TRY(ring->type->reader_open(source, partition, &ring->reader, err));
    if (from != NULL && ring->type->seek == NULL) {
        return error_set(err, ERROR_NOT_SUPPORTED, "the source '%s' cannot be read again from a position", ring->type->name);
    }
    if (from != NULL) {
        TRY(ring->type->seek(ring->reader, from, err));
    }
    return ring_mark(ring, &ring->taken, err);
}

enum status source_ring_open(struct source *source, uint32_t partition, const struct source_position *from, uint32_t row_limit,
                             size_t limit_bytes, struct wakeup *wakeup, struct source_ring **ring, struct error *err)
{
    struct source_ring *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room to read a source");
    }
    created->type = source->type;
    created->row_limit = row_limit;
    created->limit_bytes = limit_bytes;
    created->wakeup = wakeup;
    bool threaded = (source->type->traits & SOURCE_INLINE) == 0;
    pthread_mutex_init(&created->mutex, NULL);
    pthread_cond_init(&created->changed, NULL);
    enum status status = ring_open_reader(created, source, partition, from, err);
    if (status == STATUS_OK && threaded) {
        int failed = pthread_create(&created->thread, NULL, ring_run, created);
        created->threaded = failed == 0;
        if (failed != 0) {
            status = error_set(err, ERROR_THREAD, "cannot start a thread to read a source: %s", strerror(failed));
        }
    }
    if (status != STATUS_OK) {
        source_ring_close(created);
        return status;
    }
    *ring = created;
    return STATUS_OK;
}

static enum status ring_take_inline(struct source_ring *ring, struct batch *batch, enum read_state *state, bool *caught_up,
                                    struct error *err)
{
    int64_t wait_us = 0;
    if (ring->ended) {
        *state = READ_END;
        return STATUS_OK;
    }
    atomic_store_explicit(&ring->reader->passed, ++ring->reader->reads, memory_order_release);
    TRY(ring->type->read(ring->reader, ring->row_limit, batch, state, &wait_us, err));
    *caught_up = *state == READ_IDLE;
    ring->ended = *state == READ_END;
    enum status status = *state == READ_ROWS ? ring_mark(ring, &ring->taken, err) : STATUS_OK;
    if (status != STATUS_OK) {
        batch_release(batch);
    }
    return status;
}

enum status source_ring_take(struct source_ring *ring, struct batch *batch, enum read_state *state, bool *caught_up, struct error *err)
{
    *caught_up = false;
    if (!ring->threaded) {
        return ring_take_inline(ring, batch, state, caught_up, err);
    }
    enum status status = STATUS_OK;
    pthread_mutex_lock(&ring->mutex);
    if (ring->count > 0) {
        *batch = ring->batches[ring->first];
        swap_texts(&ring->taken, &ring->places[ring->first]);
        atomic_store_explicit(&ring->reader->passed, ring->reads[ring->first], memory_order_release);
        ring->bytes -= ring->batch_bytes[ring->first];
        ring->first = (ring->first + 1) % RING_BATCHES;
        ring->count--;
        *state = READ_ROWS;
        pthread_cond_signal(&ring->changed);
    } else if (ring->status != STATUS_OK) {
        *err = ring->error;
        status = ring->status;
    } else {
        *state = ring->ended ? READ_END : READ_IDLE;
        *caught_up = ring->idle;
        if (ring->quiet_read > 0) { /* all that was read is passed on, also what gave no rows */
            swap_texts(&ring->taken, &ring->quiet);
            atomic_store_explicit(&ring->reader->passed, ring->quiet_read, memory_order_release);
            ring->quiet_read = 0;
        }
    }
    pthread_mutex_unlock(&ring->mutex);
    return status;
}

enum status source_ring_position(struct source_ring *ring, struct text *place, struct text_builder *history, struct error *err)
{
    *place = (struct text){ring->taken.bytes, ring->taken.length};
    return ring->type->history == NULL ? STATUS_OK : ring->type->history(ring->reader, history, err);
}

void source_ring_close(struct source_ring *ring)
{
    if (ring == NULL) {
        return;
    }
    if (ring->threaded) {
        pthread_mutex_lock(&ring->mutex);
        ring->closing = true;
        pthread_cond_broadcast(&ring->changed);
        pthread_mutex_unlock(&ring->mutex);
        pthread_join(ring->thread, NULL);
    }
    for (uint32_t i = 0; i < ring->count; i++) {
        batch_release(&ring->batches[(ring->first + i) % RING_BATCHES]);
    }
    if (ring->reader != NULL) {
        ring->type->reader_close(ring->reader);
    }
    for (uint32_t i = 0; i < RING_BATCHES; i++) {
        text_builder_close(&ring->places[i]);
    }
    text_builder_close(&ring->taken);
    text_builder_close(&ring->read);
    text_builder_close(&ring->quiet);
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->mutex);
    free(ring);
}
