/* circuit/operators/source_node.c: the rows of a source's partitions, as its readers decoded them.
 *
 * A tick takes from each partition of this worker, in turns of one batch: pipeline.tick.rows rows, or all there is (-1: of a bounded source
 * to its end), or (0) up to the circuit's adaptive budget. A bounded partition that has ended counts as watermark END.
 * A tick that is replayed takes what its record says (circuit/pull_record.h), in that order.
 */
#include "circuit/operators/source_node.h"

#include <assert.h>
#include <stdlib.h>

#include "circuit/operators/source_state.h"
#include "circuit/operators/specs.h"
#include "circuit/source_ring.h"
#include "connectors/position.h"

struct open_partition {
    struct source_ring *ring;
    struct partition_state state;
    uint64_t taken_rows; /* in this tick */
    bool paused;         /* nothing more for this tick */
    bool led;            /* its reader is told what to read */
    char *restored;      /* the state to begin from, in the circuit's arena; NULL: the beginning */
    size_t restored_length;
    struct text_builder part; /* of the rows taken last, in this tick and while it is recorded */
};
struct source_node {
    struct node node;
    const struct source_spec *spec;
    struct open_partition *partitions; /* this worker's: number worker + i * worker_count */
    uint32_t partition_count;
    uint32_t number; /* among the source nodes of the circuit */
    bool opened, end_seen;
};

static const char state_kind[] = "partition/1";

/* Where the partition stood in an earlier life; *from stays NULL if it had not begun. */
static enum status restored_place(struct open_partition *partition, struct source_position *place, const struct source_position **from,
                                  struct error *err)
{
    struct text state = {partition->restored, partition->restored_length};
    int64_t ended;
    TRY(position_get_number(state, "ended", &ended, err));
    partition->state.ended = ended != 0;
    if (!partition->state.ended && position_has(state, "place")) {
        TRY(position_get_text(state, "place", &place->place, err));
        TRY(position_get_text(state, "history", &place->history, err));
        *from = place;
    }
    return STATUS_OK;
}

/* A job that makes its state again saves where its sources began. */
static enum status keep_beginning(struct source_node *self, struct open_partition *partition, uint32_t number, struct error *err)
{
    struct text_builder state = {0};
    enum status status = source_node_save_partition(&self->node, number, &state, err);
    if (status == STATUS_OK) {
        partition->restored_length = state.length;
        partition->restored = arena_copy(node_arena(&self->node), state.bytes, state.length);
        status = partition->restored != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for a source's position");
    }
    text_builder_close(&state);
    return status;
}

static enum status open_ring(struct source_node *self, struct open_partition *partition, uint32_t number, uint32_t row_limit,
                             struct error *err)
{
    struct circuit *circuit = self->node.circuit;
    struct source_position place;
    struct source_ring_spec spec = {.source = self->spec->source,
                                    .partition = number,
                                    .led = circuit->pull_mode == PULL_REPLAYED,
                                    .row_limit = row_limit,
                                    .limit_bytes = circuit->settings.ring_bytes,
                                    .wakeup = circuit->wakeup};
    if (partition->restored != NULL) {
        TRY(restored_place(partition, &place, &spec.from, err));
        if (partition->state.ended) {
            return STATUS_OK;
        }
    }
    if (circuit->keeps == KEEPS_PLACES && partition->restored != NULL) {
        spec.skipped = &circuit->notices;
    }
    partition->led = spec.led;
    TRY(source_ring_open(&spec, &partition->ring, err));
    return circuit->keeps == KEEPS_HISTORY && partition->restored == NULL ? keep_beginning(self, partition, number, err) : STATUS_OK;
}

static enum status source_node_open(struct source_node *self, const struct tick *tick, struct error *err)
{
    const struct circuit *circuit = self->node.circuit;
    const struct pipeline_settings *settings = &circuit->settings;
    uint32_t row_limit = settings->chunk_rows;
    if (settings->tick_rows > 0 && settings->tick_rows < row_limit) {
        row_limit = (uint32_t)settings->tick_rows;
    }
    self->opened = true;
    self->end_seen = self->partition_count > 0; /* a tick had the end already if all had ended before the restart */
    for (uint32_t i = 0; i < self->partition_count; i++) {
        self->partitions[i].state.last_rows_us = tick->now_us;
        TRY(open_ring(self, &self->partitions[i], circuit->worker + i * circuit->worker_count, row_limit, err));
        self->end_seen = self->end_seen && self->partitions[i].state.ended;
    }
    return STATUS_OK;
}

/* The ticks that were to be replayed are over. */
static enum status source_node_go(struct source_node *self, struct error *err)
{
    for (uint32_t i = 0; i < self->partition_count; i++) {
        struct open_partition *partition = &self->partitions[i];
        if (partition->led) {
            partition->led = false;
            TRY(source_ring_go(partition->ring, err));
        }
    }
    return STATUS_OK;
}

static uint64_t source_node_budget(const struct source_node *self)
{
    const struct circuit *circuit = self->node.circuit;
    int64_t rows = circuit->settings.tick_rows;
    return rows > 0 ? (uint64_t)rows : rows < 0 ? UINT64_MAX : circuit->tick_budget_rows;
}

static bool source_node_waits(const struct source_node *self)
{
    return self->node.circuit->settings.tick_rows < 0 && self->spec->source->bounded;
}

static bool source_node_is_cancelled(const struct source_node *self)
{
    const atomic_bool *cancelled = self->node.circuit->cancelled;
    return cancelled != NULL && atomic_load_explicit(cancelled, memory_order_relaxed);
}

/* The part that the rows just taken are of; nothing if it is that of the rows before. */
static struct text part_of_rows(struct open_partition *partition)
{
    struct text part = source_ring_part(partition->ring);
    if (text_equal(part, (struct text){partition->part.bytes, partition->part.length})) {
        return TEXT("");
    }
    text_builder_clear(&partition->part);
    text_append(&partition->part, part.bytes, part.length);
    return part;
}

static void record_take(struct source_node *self, struct open_partition *partition, enum read_state state, uint32_t rows)
{
    struct circuit *circuit = self->node.circuit;
    struct pull_entry entry = {.source = self->number,
                               .partition = circuit->worker + (uint32_t)(partition - self->partitions) * circuit->worker_count,
                               .event = partition->state.caught_up ? PULL_CAUGHT_UP : PULL_GAVE_NOTHING};
    if (circuit->pull_mode != PULL_RECORDED) {
        return;
    }
    if (state == READ_ROWS) {
        entry.event = PULL_GAVE_ROWS;
        entry.rows = rows;
        entry.part = part_of_rows(partition);
    } else if (state == READ_END) {
        entry.event = PULL_AT_END;
    }
    pull_record_put(&circuit->pulled, &entry);
}

static enum status source_node_give(struct source_node *self, struct open_partition *partition, struct batch *batch,
                                    const struct tick *tick, struct error *err)
{
    partition->taken_rows += batch->count;
    partition->state.last_rows_us = tick->now_us;
    enum status status = node_emit(&self->node, batch, err);
    batch_release(batch);
    return status;
}

/* One batch of one partition. */
static enum status source_node_take(struct source_node *self, struct open_partition *partition, const struct tick *tick, struct error *err)
{
    struct wakeup *wakeup = self->node.circuit->wakeup;
    struct batch batch = {0};
    enum read_state state;
    for (;;) {
        uint64_t seen = wakeup_read(wakeup);
        TRY(source_ring_take(partition->ring, &batch, &state, &partition->state.caught_up, err));
        if (state != READ_IDLE || !source_node_waits(self) || source_node_is_cancelled(self)) {
            break;
        }
        wakeup_wait(wakeup, seen, 100000);
    }
    record_take(self, partition, state, batch.count);
    if (state == READ_ROWS) {
        return source_node_give(self, partition, &batch, tick, err);
    }
    partition->paused = true;
    partition->state.ended = state == READ_END;
    return STATUS_OK;
}

/* ---- a tick again ---- */

static enum status replay_rows(struct source_node *self, struct open_partition *partition, const struct pull_entry *entry,
                               const struct tick *tick, struct error *err)
{
    if (entry->part.length > 0) {
        text_builder_clear(&partition->part);
        text_append(&partition->part, entry->part.bytes, entry->part.length);
    }
    struct text part = {partition->part.bytes, partition->part.length};
    partition->state.caught_up = false;
    for (uint32_t left = entry->rows; left > 0;) {
        struct batch batch = {0};
        TRY(source_ring_take_led(partition->ring, part, left, self->node.circuit->cancelled, &batch, err));
        left -= batch.count;
        TRY(source_node_give(self, partition, &batch, tick, err));
    }
    return STATUS_OK;
}

static enum status replay_entry(struct source_node *self, const struct pull_entry *entry, const struct tick *tick, struct error *err)
{
    const struct circuit *circuit = self->node.circuit;
    struct open_partition *partition = &self->partitions[entry->partition / circuit->worker_count];
    if (entry->partition / circuit->worker_count >= self->partition_count || partition->state.ended) {
        return error_set(err, ERROR_POSITION_LOST, "the source %s has other partitions now than when its rows were read", self->node.label);
    }
    if (entry->event == PULL_GAVE_ROWS) {
        return replay_rows(self, partition, entry, tick, err);
    }
    partition->state.caught_up = entry->event == PULL_CAUGHT_UP;
    partition->state.ended = entry->event == PULL_AT_END;
    return STATUS_OK;
}

/* Of another number of workers, too: each takes what is of its own partitions. */
static enum status source_node_replay(struct source_node *self, const struct tick *tick, struct error *err)
{
    const struct circuit *circuit = self->node.circuit;
    struct text rest = circuit->to_pull;
    struct pull_entry entry;
    while (pull_record_next(&rest, &entry)) {
        if (entry.source == self->number && entry.partition % circuit->worker_count == circuit->worker) {
            TRY(replay_entry(self, &entry, tick, err));
        }
    }
    return rest.length == 0 ? STATUS_OK : error_set(err, ERROR_STATE_CORRUPT, "the record of a tick is broken");
}

static enum status source_node_take_tick(struct source_node *self, const struct tick *tick, struct error *err)
{
    uint64_t budget = source_node_budget(self);
    bool going = true;
    TRY(source_node_go(self, err));
    while (going && !source_node_is_cancelled(self)) {
        going = false;
        for (uint32_t i = 0; i < self->partition_count; i++) {
            struct open_partition *partition = &self->partitions[i];
            if (!partition->paused && partition->taken_rows < budget) {
                TRY(source_node_take(self, partition, tick, err));
                going = true;
            }
        }
    }
    return STATUS_OK;
}

static enum status source_node_pull(struct node *node, const struct tick *tick, enum pull_state *state, struct error *err)
{
    struct source_node *self = (struct source_node *)node;
    if (!self->opened) {
        TRY(source_node_open(self, tick, err));
    }
    for (uint32_t i = 0; i < self->partition_count; i++) {
        self->partitions[i].taken_rows = 0;
        self->partitions[i].paused = self->partitions[i].state.ended;
        text_builder_clear(&self->partitions[i].part);
    }
    TRY(node->circuit->pull_mode == PULL_REPLAYED ? source_node_replay(self, tick, err) : source_node_take_tick(self, tick, err));
    bool rows = false, ended = true;
    for (uint32_t i = 0; i < self->partition_count; i++) {
        rows = rows || self->partitions[i].taken_rows > 0;
        ended = ended && self->partitions[i].state.ended;
    }
    /* The end counts as news once, so that a tick runs which passes the watermark END on. */
    rows = rows || (ended && !self->end_seen);
    self->end_seen = ended;
    *state = rows ? PULL_ROWS : ended ? PULL_ENDED : PULL_IDLE;
    return STATUS_OK;
}

static enum status source_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    (void)err;
    struct source_node *self = (struct source_node *)node;
    bool ended = self->opened;
    for (uint32_t i = 0; i < self->partition_count; i++) {
        ended = ended && self->partitions[i].state.ended;
    }
    if (ended) {
        node->watermark = WATERMARK_END;
    }
    return STATUS_OK;
}

static void source_node_close(struct node *node)
{
    struct source_node *self = (struct source_node *)node;
    for (uint32_t i = 0; i < self->partition_count; i++) {
        source_ring_close(self->partitions[i].ring);
        text_builder_close(&self->partitions[i].part);
    }
}

static const struct node_type source_node_type = {
    .kept = NODE_KEPT_WITH_PLACES | NODE_KEPT_WITH_HISTORY,
    .name = "Source",
    .finish_tick = source_node_finish_tick,
    .close = source_node_close,
    .pull = source_node_pull,
    .save = source_node_save,
    .restore = source_node_restore,
};

enum status source_node_create(struct circuit *circuit, const struct source_spec *spec, struct node **node, struct error *err)
{
    struct source_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->number = circuit->source_count++;
    uint32_t total = spec->source->partition_count;
    if (total > circuit->worker) {
        self->partition_count = (total - circuit->worker - 1) / circuit->worker_count + 1;
    }
    TRY_ALLOC(self->partitions, arena_alloc(circuit->arena, (self->partition_count + 1) * sizeof *self->partitions), err);
    TRY(circuit_add(circuit, &self->node, &source_node_type, "Source", NULL, 0, err));
    self->node.tables = &source_state_table;
    self->node.table_count = 1;
    *node = &self->node;
    return STATUS_OK;
}

uint32_t source_node_partition_count(const struct node *node)
{
    return ((const struct source_node *)node)->spec->source->partition_count;
}

/* NULL: another worker's. */
static struct open_partition *find_partition(const struct node *node, uint32_t partition)
{
    const struct source_node *self = (const struct source_node *)node;
    uint32_t worker_count = node->circuit->worker_count;
    if (partition % worker_count != node->circuit->worker || partition / worker_count >= self->partition_count) {
        return NULL;
    }
    return &self->partitions[partition / worker_count];
}

const struct partition_state *source_node_partition(const struct node *node, uint32_t partition)
{
    const struct open_partition *found = find_partition(node, partition);
    return found == NULL ? NULL : &found->state;
}

enum status source_node_save_partition(struct node *node, uint32_t partition, struct text_builder *out, struct error *err)
{
    const struct source_node *self = (const struct source_node *)node;
    const struct open_partition *open = find_partition(node, partition);
    struct text place = {0};
    struct text_builder history = {0};
    assert(open != NULL);
    /* ended before the restart, or no tick since; or it is the beginning that counts */
    if (open->restored != NULL && (open->ring == NULL || node->circuit->keeps == KEEPS_HISTORY)) {
        text_append(out, open->restored, open->restored_length);
        return STATUS_OK;
    }
    if (self->spec->source->type->position == NULL && !open->state.ended && node->circuit->keeps != KEEPS_PLACES) {
        return error_set(err, ERROR_NOT_SUPPORTED, "the source '%s' cannot be read again from a position, so its job has no checkpoints",
                         self->spec->source->type->name);
    }
    enum status status = STATUS_OK;
    if (open->ring != NULL && !open->state.ended && self->spec->source->type->position != NULL) {
        status = source_ring_position(open->ring, &place, &history, err);
    }
    text_append_text(out, state_kind);
    position_put_number(out, "ended", open->state.ended);
    if (self->spec->source->pieces > 0) {
        position_put_number(out, "piece", self->spec->source->piece);
        position_put_number(out, "pieces", self->spec->source->pieces);
    }
    if (place.length > 0) {
        position_put_text(out, "place", place);
        position_put_text(out, "history", (struct text){history.bytes, history.length});
    }
    if (status == STATUS_OK && (out->failed || history.failed)) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for a source's position");
    }
    text_builder_close(&history);
    return status;
}

static enum status optional_number(struct text state, const char *key, int64_t *value, struct error *err)
{
    *value = 0;
    return position_has(state, key) ? position_get_number(state, key, value, err) : STATUS_OK;
}

/* What another piece has not read yet would be read by nobody, or by two. */
static enum status check_piece(const struct source_node *self, struct text state, struct error *err)
{
    const struct source *source = self->spec->source;
    int64_t piece, pieces;
    TRY(optional_number(state, "piece", &piece, err));
    TRY(optional_number(state, "pieces", &pieces, err));
    if (piece == source->piece && pieces == source->pieces) {
        return STATUS_OK;
    }
    return error_set(
        err, ERROR_STATE_MISFIT,
        "the state of %s is that of piece %lld of %lld, and piece %u of %u is read now (0 of 0: all of it); a job keeps its number "
        "of tasks",
        self->node.label, (long long)piece, (long long)pieces, source->piece, source->pieces);
}

enum status source_node_restore_partition(struct node *node, uint32_t partition, const char *bytes, size_t length, struct error *err)
{
    struct open_partition *open = find_partition(node, partition);
    assert(open != NULL && open->ring == NULL);
    TRY(position_check((struct text){bytes, length}, state_kind, err));
    TRY(check_piece((const struct source_node *)node, (struct text){bytes, length}, err));
    TRY_ALLOC(open->restored, arena_copy(node_arena(node), bytes, length), err);
    open->restored_length = length;
    return STATUS_OK;
}

bool source_node_is_bounded(const struct node *node)
{
    return ((const struct source_node *)node)->spec->source->bounded;
}
