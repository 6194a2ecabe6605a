/* Two stages of marker_snapshot.h. The reader begins a snapshot after each read(): it records where it stands and sends a marker behind the
 * rows of that read, in one step with them, so that the worker never stands between the two. The worker's first marker of a snapshot is also
 * its last: the channel's state is empty, and the snapshot supersedes all earlier ones. */
#include "circuit/source_ring.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/condition.h"
#include "circuit/marker_snapshot.h"

enum { RING_BATCHES = 64, WAIT_MAX_US = 100000, LED_POLL_US = 500, LED_PATIENCE_US = 10000000 };

struct ring_marker {
    uint64_t snapshot;         /* the number of the read() it is behind; 0: none */
    struct text_builder place; /* the reader's state: where the next read() begins; of replayable sources */
};
struct ring_slot {
    struct batch batch;
    size_t bytes;
    struct ring_marker marker; /* behind the batch */
    struct text_builder part;  /* of the batch */
};
struct source_ring {
    struct reader *reader;
    const struct source_type *type;
    uint32_t row_limit, read_limit; /* of the read()s now */
    size_t limit_bytes;
    struct wakeup *wakeup;
    bool inlined;  /* read by the worker itself */
    bool threaded; /* the thread is there */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;                 /* room, or closing */
    struct marker_stage *sender, *receiver; /* the reader's thread's; the worker's */
    struct ring_marker read;                /* the sender's state, on its way into the ring */
    struct batch *read_rows;                /* before it; NULL: the read() gave none */
    struct ring_slot slots[RING_BATCHES];
    struct ring_marker quiet; /* of a read() without rows, when nothing else is in the ring */
    struct ring_marker taken; /* the receiver's cut: of all that it has taken */
    bool taken_whole;         /* nothing has come since that marker */
    struct text_builder part; /* of the batch taken last */
    struct ring_marker *arriving;
    enum read_state read_state; /* of the read() under way */
    bool read_idle;
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
    us = us < 1000 ? 1000 : us > WAIT_MAX_US ? WAIT_MAX_US : us;
    pthread_mutex_lock(&ring->mutex);
    if (!ring->closing) {
        condition_wait_us(&ring->changed, &ring->mutex, us);
    }
    pthread_mutex_unlock(&ring->mutex);
}

static void swap_markers(struct ring_marker *left, struct ring_marker *right)
{
    struct ring_marker kept = *left;
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

static enum status sender_record(void *stage, uint64_t snapshot, struct error *err)
{
    struct source_ring *ring = stage;
    ring->read.snapshot = 0;
    TRY(ring_mark(ring, &ring->read.place, err));
    ring->read.snapshot = snapshot;
    return STATUS_OK;
}

/* Waits for room. The mutex is held. */
static void ring_put_rows(struct source_ring *ring)
{
    size_t bytes = batch_size(ring->read_rows);
    while (!ring->closing && ring->count > 0 && (ring->count == RING_BATCHES || ring->bytes + bytes > ring->limit_bytes)) {
        pthread_cond_wait(&ring->changed, &ring->mutex);
    }
    if (ring->closing) {
        return;
    }
    struct ring_slot *slot = &ring->slots[(ring->first + ring->count) % RING_BATCHES];
    slot->batch = *ring->read_rows;
    slot->bytes = bytes;
    text_builder_clear(&slot->part);
    text_append(&slot->part, ring->reader->part.bytes, ring->reader->part.length);
    ring->read_rows = NULL;
    ring->quiet.snapshot = 0;
    swap_markers(&slot->marker, &ring->read);
    ring->count++;
    ring->bytes += bytes;
}

/* A marker behind no rows takes the place of the one before it. */
static void ring_put_quiet(struct source_ring *ring)
{
    struct ring_marker *newest = ring->count == 0 ? &ring->quiet : &ring->slots[(ring->first + ring->count - 1) % RING_BATCHES].marker;
    swap_markers(newest, &ring->read);
}

static enum status sender_send(void *stage, uint64_t snapshot, uint32_t output, struct error *err)
{
    (void)output;
    (void)err;
    struct source_ring *ring = stage;
    if (ring->read.snapshot != snapshot) { /* could not be recorded: the channel ends with that error */
        return STATUS_OK;
    }
    pthread_mutex_lock(&ring->mutex);
    if (ring->read_rows != NULL) {
        ring_put_rows(ring);
    } else {
        ring_put_quiet(ring);
    }
    ring->ended = ring->read_state == READ_END;
    ring->idle = ring->read_idle;
    pthread_mutex_unlock(&ring->mutex);
    return STATUS_OK;
}

static const struct marker_stage_type sender_type = {.record = sender_record, .send = sender_send};

static void ring_fail(struct source_ring *ring, enum status status, const struct error *error)
{
    pthread_mutex_lock(&ring->mutex);
    ring->ended = true;
    ring->idle = false;
    ring->status = status;
    ring->error = *error;
    pthread_mutex_unlock(&ring->mutex);
}

/* One read() and what comes of it; false: it was the last. */
static bool ring_read(struct source_ring *ring, int64_t *wait_us)
{
    struct batch batch = {0};
    struct error err = {0};
    uint64_t number = ++ring->reader->reads;
    *wait_us = 0;
    ring->read_state = READ_IDLE;
    enum status status = ring->type->read(ring->reader, ring->read_limit, &batch, &ring->read_state, wait_us, &err);
    if (status == STATUS_OK) {
        ring->read_rows = ring->read_state == READ_ROWS ? &batch : NULL;
        ring->read_idle = ring->read_state == READ_IDLE && (*wait_us > 0 || ring->inlined);
        status = marker_stage_begin(ring->sender, number, &err);
    }
    if (ring->read_rows != NULL) { /* not taken by the ring */
        batch_release(&batch);
        ring->read_rows = NULL;
    }
    if (status != STATUS_OK) {
        ring_fail(ring, status, &err);
        return false;
    }
    marker_stage_settle(ring->sender, number); /* a stage without inputs is complete when it has begun */
    return ring->read_state != READ_END;
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
        int64_t wait_us;
        going = ring_read(ring, &wait_us);
        wakeup_signal(ring->wakeup);
        if (going && ring->read_state == READ_IDLE) {
            ring_wait_us(ring, wait_us);
        }
    }
    buffer_trim();
    return NULL;
}

static enum status receiver_record(void *stage, uint64_t snapshot, struct error *err)
{
    (void)err;
    struct source_ring *ring = stage;
    swap_markers(&ring->taken, ring->arriving);
    assert(ring->taken.snapshot == snapshot);
    ring->arriving->snapshot = 0;
    ring->taken_whole = true;
    atomic_store_explicit(&ring->reader->passed, snapshot, memory_order_release);
    return STATUS_OK;
}

static const struct marker_stage_type receiver_type = {.record = receiver_record};

static enum status ring_seek(struct source_ring *ring, const struct source_ring_spec *spec, struct error *err)
{
    if (spec->skipped != NULL && ring->type->present != NULL) {
        return ring->type->present(ring->reader, spec->from, spec->skipped, err);
    }
    if (spec->from == NULL) {
        return STATUS_OK;
    }
    return ring->type->seek != NULL
               ? ring->type->seek(ring->reader, spec->from, err)
               : error_set(err, ERROR_NOT_SUPPORTED, "the source '%s' cannot be read again from a position", ring->type->name);
}

static enum status ring_open_reader(struct source_ring *ring, const struct source_ring_spec *spec, struct error *err)
{
    TRY(marker_stage_create(&sender_type, ring, 0, 1, &ring->sender, err));
    TRY(marker_stage_create(&receiver_type, ring, 1, 0, &ring->receiver, err));
    TRY(ring->type->reader_open(spec->source, spec->partition, &ring->reader, err));
    TRY(ring_seek(ring, spec, err));
    ring->taken_whole = true;
    return ring_mark(ring, &ring->taken.place, err);
}

static enum status ring_start(struct source_ring *ring, struct error *err)
{
    ring->inlined = (ring->type->traits & SOURCE_INLINE) != 0;
    ring->read_limit = ring->row_limit;
    if (ring->inlined) {
        return STATUS_OK;
    }
    int failed = pthread_create(&ring->thread, NULL, ring_run, ring);
    ring->threaded = failed == 0;
    return failed == 0 ? STATUS_OK : error_set(err, ERROR_THREAD, "cannot start a thread to read a source: %s", strerror(failed));
}

enum status source_ring_open(const struct source_ring_spec *spec, struct source_ring **ring, struct error *err)
{
    struct source_ring *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room to read a source");
    }
    created->type = spec->source->type;
    created->row_limit = spec->row_limit;
    created->limit_bytes = spec->limit_bytes;
    created->wakeup = spec->wakeup;
    created->inlined = true; /* until it is started */
    pthread_mutex_init(&created->mutex, NULL);
    condition_init(&created->changed);
    enum status status = ring_open_reader(created, spec, err);
    if (status == STATUS_OK && !spec->led) {
        status = ring_start(created, err);
    }
    if (status != STATUS_OK) {
        source_ring_close(created);
        return status;
    }
    *ring = created;
    return STATUS_OK;
}

static enum status receive_marker(struct source_ring *ring, struct ring_marker *marker, struct error *err)
{
    uint64_t snapshot = marker->snapshot;
    ring->arriving = marker;
    TRY(marker_stage_marker(ring->receiver, 0, snapshot, err));
    marker_stage_settle(ring->receiver, snapshot); /* the only input has brought it */
    return STATUS_OK;
}

static enum status receive_slot(struct source_ring *ring, struct batch *batch, struct error *err)
{
    struct ring_slot *slot = &ring->slots[ring->first];
    TRY(marker_stage_message(ring->receiver, 0, &slot->batch, err));
    ring->taken_whole = false;
    *batch = slot->batch;
    struct text_builder part = ring->part;
    ring->part = slot->part;
    slot->part = part;
    ring->bytes -= slot->bytes;
    ring->first = (ring->first + 1) % RING_BATCHES;
    ring->count--;
    pthread_cond_signal(&ring->changed);
    return receive_marker(ring, &slot->marker, err);
}

static enum status ring_take(struct source_ring *ring, struct batch *batch, enum read_state *state, bool *caught_up, struct error *err)
{
    if (ring->count > 0) {
        *state = READ_ROWS;
        return receive_slot(ring, batch, err);
    }
    if (ring->status != STATUS_OK) {
        *err = ring->error;
        return ring->status;
    }
    if (ring->quiet.snapshot > 0) { /* all that was read is passed on, also what gave no rows */
        TRY(receive_marker(ring, &ring->quiet, err));
    }
    if (ring->ended && marker_stage_live_inputs(ring->receiver) > 0) {
        TRY(marker_stage_end_input(ring->receiver, 0, err));
    }
    *state = ring->ended ? READ_END : READ_IDLE;
    *caught_up = ring->idle;
    return STATUS_OK;
}

enum status source_ring_take(struct source_ring *ring, struct batch *batch, enum read_state *state, bool *caught_up, struct error *err)
{
    int64_t wait_us;
    *caught_up = false;
    if (ring->inlined && !ring->ended) {
        ring_read(ring, &wait_us);
    }
    pthread_mutex_lock(&ring->mutex);
    enum status status = ring_take(ring, batch, state, caught_up, err);
    pthread_mutex_unlock(&ring->mutex);
    return status;
}

/* ---- led ---- */

enum status source_ring_take_led(struct source_ring *ring, struct text part, uint32_t rows, const atomic_bool *cancelled,
                                 struct batch *batch, struct error *err)
{
    enum read_state state = READ_IDLE;
    bool caught_up;
    assert(ring->inlined && !ring->threaded);
    ring->read_limit = rows < ring->row_limit ? rows : ring->row_limit;
    for (int64_t waited_us = 0; waited_us < LED_PATIENCE_US && state == READ_IDLE; waited_us += LED_POLL_US) {
        if (ring->type->lead != NULL) {
            TRY(ring->type->lead(ring->reader, &part, err));
        }
        TRY(source_ring_take(ring, batch, &state, &caught_up, err));
        if (state == READ_IDLE) {
            TRY(cancel_check(cancelled, err));
            usleep(LED_POLL_US);
        }
    }
    if (state == READ_ROWS && batch->count <= rows) {
        return STATUS_OK;
    }
    if (state == READ_ROWS) {
        batch_release(batch);
    }
    return error_set(err, ERROR_POSITION_LOST, "the source '%s' does not give the rows again that it gave before: %u more%s%.*s",
                     ring->type->name, rows, part.length == 0 ? "" : " of ", (int)(part.length < 300 ? part.length : 300), part.bytes);
}

enum status source_ring_go(struct source_ring *ring, struct error *err)
{
    if (ring->type->lead != NULL) {
        TRY(ring->type->lead(ring->reader, NULL, err));
    }
    return ring_start(ring, err);
}

struct text source_ring_part(const struct source_ring *ring)
{
    return (struct text){ring->part.bytes, ring->part.length};
}

enum status source_ring_position(struct source_ring *ring, struct text *place, struct text_builder *history, struct error *err)
{
    assert(ring->taken_whole);
    *place = (struct text){ring->taken.place.bytes, ring->taken.place.length};
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
        batch_release(&ring->slots[(ring->first + i) % RING_BATCHES].batch);
    }
    if (ring->reader != NULL) {
        ring->type->reader_close(ring->reader);
    }
    for (uint32_t i = 0; i < RING_BATCHES; i++) {
        text_builder_close(&ring->slots[i].marker.place);
        text_builder_close(&ring->slots[i].part);
    }
    text_builder_close(&ring->part);
    text_builder_close(&ring->taken.place);
    text_builder_close(&ring->read.place);
    text_builder_close(&ring->quiet.place);
    marker_stage_destroy(ring->sender);
    marker_stage_destroy(ring->receiver);
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->mutex);
    free(ring);
}
