/* circuit/operators/window_join.c: rows of the same window with equal keys.
 *
 * A regular join (join_core.h) with start and end of the window among its keys. A row ends when the watermark of both inputs has reached
 * the last millisecond of its window: unmatched rows of outer sides are emitted then, and the window is freed. A row that comes when its
 * own table's watermark has reached that point is late: counted and left out.
 */
#include <string.h>

#include "circuit/operators/join_ends.h"
#include "circuit/operators/join_save.h"

enum { MILLISECOND_US = 1000 };

struct window_join {
    struct join join;
    struct join_spec spec; /* the one given, with the window columns as keys */
    uint32_t end_columns[2];
    const struct time_zone *zones[2]; /* of windows over TIMESTAMP_LTZ; NULL: window times are event times */
    uint16_t kept[CHUNK_ROWS];
};

/* The watermark at which the window of a row is closed. */
static int64_t window_last(const struct window_join *self, uint32_t side, const struct batch *batch, uint32_t row)
{
    const struct vector *end = &batch->columns[self->end_columns[side]];
    if (!vector_is_valid(end, row)) {
        return INT64_MIN;
    }
    int64_t time = (int64_t)vector_get_integer(end, row);
    if (self->zones[side] != NULL && end->type->kind == TYPE_TIMESTAMP) {
        time = time_zone_to_utc(self->zones[side], time);
    }
    return time_add(time, -MILLISECOND_US);
}

static enum status window_join_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    struct window_join *self = (struct window_join *)node;
    struct batch view = *batch;
    if (batch->watermarks != NULL) {
        struct selection rows = batch_selection(batch);
        uint32_t kept = 0;
        for (uint32_t k = 0; k < rows.count; k++) {
            uint32_t row = selection_row(&rows, k);
            self->kept[kept] = (uint16_t)row;
            kept += window_last(self, input, batch, row) > batch->watermarks[row];
        }
        node->metrics.late += rows.count - kept;
        view.selected = self->kept;
        view.selected_count = kept;
    }
    if (batch_rows(&view) == 0) {
        return STATUS_OK;
    }
    TRY(join_absorb(&self->join, input, &view, err));
    struct join_absorbed absorbed = join_absorbed(&self->join);
    for (uint32_t k = 0; k < absorbed.rows.count; k++) {
        if (absorbed.fresh[k]) {
            int64_t last = window_last(self, input, batch, selection_row(&absorbed.rows, k));
            TRY(join_end_at(&self->join, input, absorbed.entries[k], last, err));
        }
    }
    return STATUS_OK;
}

static enum status window_join_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct window_join *self = (struct window_join *)node;
    int64_t watermark = tick->end ? WATERMARK_END : node_min_input_watermark(node), passed[2] = {watermark, watermark};
    TRY(join_end_passed(&self->join, passed, tick->end, err));
    TRY(join_settle(&self->join, tick, err));
    node_pass_watermark(node);
    return STATUS_OK;
}

static enum status window_join_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct window_join *self = (struct window_join *)node;
    return join_save(&self->join, writer, err);
}

static enum status window_join_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct window_join *self = (struct window_join *)node;
    return join_restore(&self->join, table, rows, err);
}

static void window_join_close(struct node *node)
{
    join_close(&((struct window_join *)node)->join);
}

static const struct node_type window_join_type = {
    .name = "WindowJoin",
    .receive = window_join_receive,
    .finish_tick = window_join_finish_tick,
    .count_state = join_count_state,
    .close = window_join_close,
    .save = window_join_save,
    .restore = window_join_restore,
    .restored = join_restored,
    .open_cold = join_open_cold,
};

static enum status window_join_keys(struct arena *arena, const uint32_t *keys, uint32_t count, uint32_t start, uint32_t end,
                                    const uint32_t **all, struct error *err)
{
    uint32_t *list;
    TRY_ALLOC(list, arena_alloc(arena, (count + 2) * sizeof *list), err);
    if (count > 0) {
        memcpy(list, keys, count * sizeof *list);
    }
    list[count] = start;
    list[count + 1] = end;
    *all = list;
    return STATUS_OK;
}

static enum status window_join_set_spec(struct window_join *self, struct arena *arena, const struct window_join_spec *spec,
                                        struct error *err)
{
    const struct join_spec *given = &spec->join;
    bool *null_safe;
    self->spec = *given;
    self->spec.key_count = given->key_count + 2;
    TRY(window_join_keys(arena, given->left_keys, given->key_count, spec->left_start, spec->left_end, &self->spec.left_keys, err));
    TRY(window_join_keys(arena, given->right_keys, given->key_count, spec->right_start, spec->right_end, &self->spec.right_keys, err));
    TRY_ALLOC(null_safe, arena_alloc(arena, self->spec.key_count), err);
    if (given->null_safe != NULL) {
        memcpy(null_safe, given->null_safe, given->key_count);
    }
    self->spec.null_safe = null_safe;
    self->end_columns[0] = spec->left_end;
    self->end_columns[1] = spec->right_end;
    return STATUS_OK;
}

/* Windows over TIMESTAMP_LTZ have local starts and ends; the event time column tells. */
static const struct time_zone *window_join_zone(const struct node *node, const struct schema *schema)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        if (schema->columns[i].time == TIME_ROWTIME && schema->columns[i].type->kind == TYPE_TIMESTAMP_LTZ) {
            return node_evaluation(node)->zone;
        }
    }
    return NULL;
}

enum status window_join_create(struct circuit *circuit, const struct window_join_spec *spec, struct node *left, struct node *right,
                               struct node **node, struct error *err)
{
    struct window_join *self;
    struct node *inputs[2] = {left, right};
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY(window_join_set_spec(self, circuit->arena, spec, err));
    self->join.defers = true;
    self->join.spills = circuit->spills;
    TRY(circuit_add(circuit, &self->join.node, &window_join_type, "WindowJoin", inputs, 2, err));
    self->zones[0] = window_join_zone(&self->join.node, spec->join.left.schema);
    self->zones[1] = window_join_zone(&self->join.node, spec->join.right.schema);
    TRY(join_open(&self->join, circuit, &self->spec, true, err));
    TRY(join_declare(&self->join, NULL, err));
    *node = &self->join.node;
    return STATUS_OK;
}
