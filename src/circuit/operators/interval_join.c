/* circuit/operators/interval_join.c: right.time + low <= left.time <= right.time + high.
 *
 * A regular join (join_core.h) whose rows end: a left row when the right watermark has passed left.time - low, a right row when the left
 * watermark has passed right.time + high. What is then unmatched on an outer side is emitted. The bounds themselves are checked by
 * the condition. A row that comes late still joins what is there. The output's watermark is held back by what may still come
 * of rows that are kept.
 * Processing time: the time of a row is the clock at its tick, and the clock is the watermark of both sides.
 */
#include "circuit/operators/join_ends.h"
#include "circuit/operators/join_save.h"

struct interval_join {
    struct join join;
    const struct interval_join_spec *spec;
};

static int64_t interval_negate(int64_t span)
{
    return span == INT64_MIN ? INT64_MAX : span == INT64_MAX ? INT64_MIN : -span;
}

/* The watermark of the other side at which a row can meet nothing more. */
static int64_t interval_end(const struct interval_join *self, uint32_t side, const struct batch *batch, uint32_t row)
{
    const struct interval_join_spec *spec = self->spec;
    int64_t span = side == 0 ? interval_negate(spec->low_us) : spec->high_us;
    if (span == INT64_MAX) {
        return INT64_MAX;
    }
    if (spec->processing_time) {
        return time_add(node_evaluation(&self->join.node)->now_us, span);
    }
    const struct vector *time = &batch->columns[side == 0 ? spec->left_time : spec->right_time];
    return vector_is_valid(time, row) ? time_add((int64_t)vector_get_integer(time, row), span) : INT64_MIN;
}

static enum status interval_join_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    struct interval_join *self = (struct interval_join *)node;
    TRY(join_absorb(&self->join, input, batch, err));
    struct join_absorbed absorbed = join_absorbed(&self->join);
    for (uint32_t k = 0; k < absorbed.rows.count; k++) {
        if (absorbed.fresh[k]) {
            int64_t end = interval_end(self, input, batch, selection_row(&absorbed.rows, k));
            TRY(join_end_at(&self->join, input, absorbed.entries[k], end, err));
        }
    }
    return STATUS_OK;
}

static void interval_join_advance(struct interval_join *self)
{
    struct node *node = &self->join.node;
    int64_t left = node_input_watermark(node, 0), right = node_input_watermark(node, 1);
    int64_t held_left = self->spec->low_us == INT64_MIN && right != WATERMARK_END ? WATERMARK_NONE : time_add(right, self->spec->low_us);
    int64_t back = interval_negate(self->spec->high_us);
    int64_t held_right = back == INT64_MIN && left != WATERMARK_END ? WATERMARK_NONE : time_add(left, back);
    int64_t watermark = left < right ? left : right;
    watermark = held_left < watermark ? held_left : watermark;
    watermark = held_right < watermark ? held_right : watermark;
    node->watermark = watermark > node->watermark ? watermark : node->watermark;
}

static enum status interval_join_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct interval_join *self = (struct interval_join *)node;
    int64_t passed[2];
    for (uint32_t side = 0; side < 2; side++) {
        passed[side] = self->spec->processing_time ? tick->now_us : node_input_watermark(node, 1 - side);
        passed[side] = tick->end ? INT64_MAX : passed[side];
    }
    TRY(join_end_passed(&self->join, passed, tick->end, err));
    TRY(join_settle(&self->join, tick, err));
    interval_join_advance(self);
    return STATUS_OK;
}

static int64_t interval_join_next_timer(const struct node *node)
{
    const struct interval_join *self = (const struct interval_join *)node;
    return self->spec->processing_time ? join_next_end(&self->join) : INT64_MAX;
}

static enum status interval_join_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct interval_join *self = (struct interval_join *)node;
    return join_save(&self->join, writer, err);
}

static enum status interval_join_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct interval_join *self = (struct interval_join *)node;
    return join_restore(&self->join, table, rows, err);
}

static void interval_join_close(struct node *node)
{
    join_close(&((struct interval_join *)node)->join);
}

static const struct node_type interval_join_type = {
    .name = "IntervalJoin",
    .receive = interval_join_receive,
    .finish_tick = interval_join_finish_tick,
    .count_state = join_count_state,
    .close = interval_join_close,
    .save = interval_join_save,
    .restore = interval_join_restore,
    .restored = join_restored,
    .next_timer = interval_join_next_timer,
    .open_cold = join_open_cold,
};

enum status interval_join_create(struct circuit *circuit, const struct interval_join_spec *spec, struct node *left, struct node *right,
                                 struct node **node, struct error *err)
{
    struct interval_join *self;
    struct node *inputs[2] = {left, right};
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->join.defers = true;
    self->join.spills = circuit->spills;
    TRY(circuit_add(circuit, &self->join.node, &interval_join_type, "IntervalJoin", inputs, 2, err));
    TRY(join_open(&self->join, circuit, &spec->join, true, err));
    TRY(join_declare(&self->join, NULL, err));
    *node = &self->join.node;
    return STATUS_OK;
}
