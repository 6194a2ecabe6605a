/* circuit/operators/source_node.c: the rows of a source's partitions, as its readers decoded them.
 *
 * A tick takes from each partition of this worker, in turns of one batch: pipeline.tick.rows rows, or all there is (-1: of a bounded source
 * to its end), or (0) up to the circuit's adaptive budget. A bounded partition that has ended counts as watermark END.
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
    char *restored;      /* the state to begin from, in the circuit's arena; NULL: the beginning */
    size_t restored_length;
};
struct source_node {
    struct node node;
    const struct source_spec *spec;
    struct open_partition *partitions; /* this worker's: number worker + i * worker_count */
    uint32_t partition_count;
    bool opened, end_seen;
};

static const char state_kind[] = "partition/1";

static enum status open_ring(struct source_node *self, struct open_partition *partition, uint32_t number, uint32_t row_limit,
                             struct error *err)
{
    const struct circuit *circuit = self->node.circuit;
    struct source_position from, *begin = NULL;
    if (partition->restored != NULL) {
        struct text state = {partition->restored, partition->restored_length};
        int64_t ended;
        TRY(position_get_number(state, "ended", &ended, err));
        partition->state.ended = ended != 0;
        if (partition->state.ended) {
            return STATUS_OK;
        }
        if (position_has(state, "place")) { /* else it had not begun */
            TRY(position_get_text(state, "place", &from.place, err));
            TRY(position_get_text(state, "history", &from.history, err));
            begin = &from;
        }
    }
    return source_ring_open(self->spec->source, number, begin, row_limit, circuit->settings.ring_bytes, circuit->wakeup, &partition->ring,
                            err);
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
    if (state == READ_ROWS) {
        partition->taken_rows += batch.count;
        partition->state.last_rows_us = tick->now_us;
        enum status status = node_emit(&self->node, &batch, err);
        batch_release(&batch);
        return status;
    }
    partition->paused = true;
    partition->state.ended = state == READ_END;
    return STATUS_OK;
}

static enum status source_node_pull(struct node *node, const struct tick *tick, enum pull_state *state, struct error *err)
{
    struct source_node *self = (struct source_node *)node;
    if (!self->opened) {
        TRY(source_node_open(self, tick, err));
    }
    uint64_t budget = source_node_budget(self);
    for (uint32_t i = 0; i < self->partition_count; i++) {
        self->partitions[i].taken_rows = 0;
        self->partitions[i].paused = self->partitions[i].state.ended;
    }
    bool going = true, rows = false, ended = true;
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
    }
}

static const struct node_type source_node_type = {
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
    if (open->ring == NULL && open->restored != NULL) { /* ended before the restart, or no tick since */
        text_append(out, open->restored, open->restored_length);
        return STATUS_OK;
    }
    if (self->spec->source->type->position == NULL && !open->state.ended) {
        return error_set(err, ERROR_NOT_SUPPORTED, "the source '%s' cannot be read again from a position, so its job has no checkpoints",
                         self->spec->source->type->name);
    }
    enum status status = STATUS_OK;
    if (open->ring != NULL && !open->state.ended) {
        status = source_ring_position(open->ring, &place, &history, err);
    }
    text_append_text(out, state_kind);
    position_put_number(out, "ended", open->state.ended);
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

enum status source_node_restore_partition(struct node *node, uint32_t partition, const char *bytes, size_t length, struct error *err)
{
    struct open_partition *open = find_partition(node, partition);
    assert(open != NULL && open->ring == NULL);
    TRY(position_check((struct text){bytes, length}, state_kind, err));
    TRY_ALLOC(open->restored, arena_copy(node_arena(node), bytes, length), err);
    open->restored_length = length;
    return STATUS_OK;
}

bool source_node_is_bounded(const struct node *node)
{
    return ((const struct source_node *)node)->spec->source->bounded;
}
