/* circuit/operators/temporal_join.c: FOR SYSTEM_TIME AS OF an event time.
 *
 * Table        right key -> its versions by time (version_list.h).
 * receive      Left rows wait, by time. Right rows become versions, withdrawn ones end them.
 * finish_tick  Left rows whose time the watermarks of both inputs have passed meet the version of their key that was valid at their time; the
 *              rest of the condition is checked on the pairs. LEFT: without a version, or when the condition is not true, padded with NULLs.
 *              Then versions of the keys that changed are forgotten as far as the watermarks allow.
 * The answer does not depend on how the inputs are cut into ticks, or which of them is ahead:
 *   - a left row sees the right rows that came before the right table's watermark had passed its time (beyond it, so of equal times all that
 *     come while the watermark stands there), and no others: a late version is valid for left rows after the watermark at which it came;
 *   - a left row that is late is asked for at the watermark of its table, at which older versions may be forgotten: it meets the version that
 *     is valid then, if that had begun by its time.
 * Rows go out when the watermark is beyond their time, so the output's watermark is just below it.
 * A left row without a time has no version. A right row without a time is counted and left out.
 */
#include <stdlib.h>
#include <string.h>

#include "circuit/operators/over_changes.h"
#include "circuit/operators/row_output.h"
#include "circuit/operators/temporal_join_internal.h"

/* ---- rows in ---- */

static bool has_key(const struct join_spec *spec, const uint32_t *keys, const struct batch *batch, uint32_t row)
{
    for (uint32_t i = 0; i < spec->key_count; i++) {
        bool null_safe = spec->null_safe != NULL && spec->null_safe[i];
        if (!null_safe && !vector_is_valid(&batch->columns[keys[i]], row)) {
            return false;
        }
    }
    return true;
}

static enum status temporal_receive_left(struct temporal_join *self, const struct batch *batch, struct error *err)
{
    const struct vector *time = &batch->columns[self->spec->left_time];
    struct selection rows = batch_selection(batch);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        uint16_t one = (uint16_t)row;
        struct batch single = *batch;
        single.selected = &one;
        single.selected_count = 1;
        int64_t at = vector_is_valid(time, row) ? (int64_t)vector_get_integer(time, row) : INT64_MIN;
        int64_t watermark = at == INT64_MIN ? INT64_MIN : batch_watermark(batch, row);
        at = watermark > at ? watermark : at;
        for (int64_t copy = 0; copy < batch_weight(batch, row); copy++) {
            row_handle handle;
            TRY(row_store_add(self->left, &single, &handle, err));
            TRY(touched_rows_mark(&self->arrived, handle, err));
            TRY(time_heap_push(&self->waiting, node_budget(&self->node), at, handle, err));
        }
    }
    return STATUS_OK;
}

static enum status temporal_version(struct temporal_join *self, const struct batch *batch, uint32_t k, struct error *err)
{
    uint32_t row = self->selected[k], slot = self->slots[k];
    struct version_list *list = &temporal_versions(self)[slot];
    int64_t time = (int64_t)vector_get_integer(&batch->columns[self->spec->right_time], row), watermark = batch_watermark(batch, row);
    if (!list->changed) {
        TRY(over_list_room(node_budget(&self->node), (void **)&self->changed, &self->changed_capacity, self->changed_count, sizeof slot,
                           err));
        self->changed[self->changed_count++] = slot;
        list->changed = true;
    }
    if (self->right.touched.followed) {
        TRY(dirty_slots_mark(&self->dirty, slot, err));
    }
    return batch_weight(batch, row) > 0 ? version_list_add(list, &self->right, time, watermark, self->handles[k], err)
                                        : version_list_end(list, &self->right, time, watermark, self->handles[k], err);
}

static enum status temporal_receive_right(struct temporal_join *self, const struct batch *batch, struct error *err)
{
    const struct join_spec *spec = &self->spec->join;
    struct selection rows = batch_selection(batch);
    struct batch chosen = *batch;
    uint32_t count = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        bool timed = vector_is_valid(&batch->columns[self->spec->right_time], row);
        self->node.metrics.null_time += !timed;
        self->selected[count] = (uint16_t)row;
        count += timed && has_key(spec, spec->right_keys, batch, row);
    }
    if (count == 0) {
        return STATUS_OK;
    }
    chosen.selected = self->selected;
    chosen.selected_count = count;
    batch_hash(&chosen, spec->right_keys, spec->key_count, self->hashes);
    if (UNLIKELY(self->cold != NULL)) {
        TRY(node_fetch_keys(&self->node, self->cold, &chosen, spec->right_keys, self->hashes, err));
    }
    TRY(key_table_find_or_insert(self->table, &chosen, spec->right_keys, self->hashes, self->slots, err));
    if (UNLIKELY(self->cold != NULL)) {
        TRY(cold_table_changed(self->cold, self->slots, count, 0, err));
    }
    TRY(row_store_add(self->right.store, &chosen, self->handles, err));
    for (uint32_t k = 0; k < count; k++) {
        TRY(temporal_version(self, batch, k, err));
    }
    return STATUS_OK;
}

static enum status temporal_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    struct temporal_join *self = (struct temporal_join *)node;
    return input == 0 ? temporal_receive_left(self, batch, err) : temporal_receive_right(self, batch, err);
}

/* ---- rows that are due ---- */

/* The left rows and their versions as columns of the output. */
static enum status temporal_pairs(struct temporal_join *self, struct batch *pairs, struct error *err)
{
    const struct join_spec *spec = &self->spec->join;
    uint32_t left = spec->left.schema->count, right = spec->right.schema->count;
    TRY(batch_init(pairs, left + right, err));
    pairs->count = self->count;
    TRY(row_store_gather(self->left, self->rows, self->count, NULL, left, pairs->columns, err));
    return row_store_gather(self->right.store, self->versions, self->count, NULL, right, pairs->columns + left, err);
}

static enum status temporal_find_versions(struct temporal_join *self, const struct batch *left, struct error *err)
{
    const struct join_spec *spec = &self->spec->join;
    batch_hash(left, spec->left_keys, spec->key_count, self->hashes);
    if (UNLIKELY(self->cold != NULL)) {
        TRY(node_fetch_keys(&self->node, self->cold, left, spec->left_keys, self->hashes, err));
    }
    key_table_find(self->table, left, spec->left_keys, self->hashes, self->slots);
    const struct version_list *lists = temporal_versions(self);
    const struct vector *time = &left->columns[self->spec->left_time];
    for (uint32_t k = 0; k < self->count; k++) {
        bool found = self->slots[k] != SLOT_NONE && vector_is_valid(time, k) && has_key(spec, spec->left_keys, left, k);
        self->versions[k] = found ? version_list_find(&lists[self->slots[k]], (int64_t)vector_get_integer(time, k), self->times[k]) : 0;
    }
    return STATUS_OK;
}

/* Takes away versions for which the condition is not true. */
static enum status temporal_check(struct temporal_join *self, struct error *err)
{
    struct batch pairs = {0};
    uint32_t count = 0, kept_count = 0, at = 0;
    for (uint32_t k = 0; k < self->count; k++) {
        self->selected[count] = (uint16_t)k;
        count += self->versions[k] != 0;
    }
    if (self->condition == NULL || count == 0) {
        return STATUS_OK;
    }
    enum status status = temporal_pairs(self, &pairs, err);
    pairs.selected = self->selected;
    pairs.selected_count = count;
    if (status == STATUS_OK) {
        status = program_filter(self->condition, &pairs, self->kept, &kept_count, &self->failures, err);
    }
    if (status == STATUS_OK && self->failures.count > 0) {
        status = row_failures_raise(&self->failures, &pairs, self->names, node_evaluation(&self->node)->zone, err);
    }
    for (uint32_t k = 0; k < self->count; k++) {
        bool is_kept = at < kept_count && self->kept[at] == k;
        self->versions[k] = is_kept ? self->versions[k] : 0;
        at += is_kept;
    }
    batch_release(&pairs);
    return status;
}

static enum status temporal_emit(struct temporal_join *self, struct error *err)
{
    const struct join_spec *spec = &self->spec->join;
    struct batch pairs = {0};
    uint32_t count = 0;
    enum status status = temporal_pairs(self, &pairs, err);
    for (uint32_t k = 0; k < self->count; k++) {
        self->selected[count] = (uint16_t)k;
        count += self->versions[k] != 0 || spec->kind == JOIN_LEFT;
    }
    for (uint32_t i = 0; status == STATUS_OK && i < pairs.column_count; i++) {
        pairs.columns[i].type = spec->output->columns[i].type;
    }
    struct batch shown = {0};
    if (status == STATUS_OK && count > 0) {
        status = batch_gather(node_budget(&self->node), &pairs, self->selected, count, &shown, err);
    }
    if (status == STATUS_OK && count > 0) {
        status = node_emit(&self->node, &shown, err);
    }
    batch_release(&shown);
    batch_release(&pairs);
    return status;
}

static enum status temporal_flush(struct temporal_join *self, struct error *err)
{
    struct batch left = {0};
    const struct join_spec *spec = &self->spec->join;
    if (self->count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&left, spec->left.schema->count, err));
    left.count = self->count;
    enum status status = row_store_gather(self->left, self->rows, self->count, NULL, left.column_count, left.columns, err);
    if (status == STATUS_OK) {
        status = temporal_find_versions(self, &left, err);
    }
    if (status == STATUS_OK) {
        status = temporal_check(self, err);
    }
    if (status == STATUS_OK) {
        status = temporal_emit(self, err);
    }
    batch_release(&left);
    for (uint32_t k = 0; k < self->count; k++) {
        row_store_free(self->left, self->rows[k]);
    }
    self->count = 0;
    return status;
}

static void temporal_count_state(struct node *node)
{
    const struct temporal_join *self = (const struct temporal_join *)node;
    node->metrics.state_keys = key_table_count(self->table);
    node->metrics.state_bytes = key_table_bytes(self->table) + row_store_bytes(self->left) + row_store_bytes(self->right.store);
}

static enum status temporal_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct temporal_join *self = (struct temporal_join *)node;
    int64_t watermark = tick->end ? WATERMARK_END : node_min_input_watermark(node);
    struct timed due;
    while (time_heap_pop(&self->waiting, time_add(watermark, -1), &due)) {
        self->times[self->count] = due.time;
        self->rows[self->count++] = due.item;
        if (self->count == self->limit) {
            TRY(temporal_flush(self, err));
        }
    }
    TRY(temporal_flush(self, err));
    for (uint32_t i = 0; i < self->changed_count; i++) {
        struct version_list *list = &temporal_versions(self)[self->changed[i]];
        list->changed = false;
        TRY(version_list_forget(list, &self->right, watermark, err));
    }
    self->changed_count = 0;
    watermark = time_add(watermark, -1);
    node->watermark = watermark > node->watermark ? watermark : node->watermark;
    return STATUS_OK;
}

static void temporal_close(struct node *node)
{
    struct temporal_join *self = (struct temporal_join *)node;
    for (uint32_t slot = 0; self->table != NULL && slot < key_table_slots(self->table); slot++) {
        version_list_release(&temporal_versions(self)[slot], node_budget(node));
    }
    key_table_destroy(self->table);
    row_store_destroy(self->left);
    row_store_destroy(self->right.store);
    touched_rows_close(&self->right.touched);
    touched_rows_close(&self->arrived);
    dirty_slots_close(&self->dirty);
    time_heap_release(&self->waiting, node_budget(node));
    program_destroy(self->condition);
    over_list_free(node_budget(node), self->changed, self->changed_capacity, sizeof *self->changed);
}

static const struct node_type temporal_type = {
    .name = "TemporalJoin",
    .receive = temporal_receive,
    .finish_tick = temporal_finish_tick,
    .count_state = temporal_count_state,
    .close = temporal_close,
    .save = temporal_save,
    .restore = temporal_restore,
    .open_cold = temporal_open_cold,
    .saves_in_memory = true,
};

/* ---- setup ---- */

static enum status temporal_open_state(struct temporal_join *self, struct circuit *circuit, struct error *err)
{
    const struct join_spec *spec = &self->spec->join;
    const struct type *const *left, *const *right, **keys;
    uint32_t value_bytes = sizeof(struct version_list);
    TRY(schema_types(circuit->arena, spec->left.schema, &left, err));
    TRY(schema_types(circuit->arena, spec->right.schema, &right, err));
    TRY_ALLOC(keys, arena_alloc(circuit->arena, (spec->key_count + 1) * sizeof *keys), err);
    for (uint32_t i = 0; i < spec->key_count; i++) {
        keys[i] = right[spec->right_keys[i]];
    }
    TRY(key_table_create(circuit->budget, keys, spec->key_count, &value_bytes, 1, &self->table, err));
    TRY(row_store_create(circuit->budget, left, spec->left.schema->count, &self->left, err));
    self->right.budget = circuit->budget;
    return row_store_create(circuit->budget, right, spec->right.schema->count, &self->right.store, err);
}

static enum status temporal_open_condition(struct temporal_join *self, struct circuit *circuit, struct error *err)
{
    const struct join_spec *spec = &self->spec->join;
    uint32_t left = spec->left.schema->count, right = spec->right.schema->count;
    if (spec->condition == NULL) {
        return STATUS_OK;
    }
    TRY_ALLOC(self->names, arena_alloc(circuit->arena, (left + right + 1) * sizeof(char *)), err);
    for (uint32_t i = 0; i < left + right; i++) {
        self->names[i] = i < left ? spec->left.schema->columns[i].name : spec->right.schema->columns[i - left].name;
    }
    return program_create(circuit->arena, &circuit->evaluation, &spec->condition, 1, &self->condition, err);
}

enum status temporal_join_create(struct circuit *circuit, const struct temporal_join_spec *spec, struct node *left, struct node *right,
                                 struct node **node, struct error *err)
{
    struct temporal_join *self;
    struct node *inputs[2] = {left, right};
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    TRY(circuit_add(circuit, &self->node, &temporal_type, "TemporalJoin", inputs, 2, err));
    self->limit = node_chunk_rows(&self->node);
    TRY(temporal_open_state(self, circuit, err));
    TRY(temporal_open_condition(self, circuit, err));
    TRY(temporal_declare(self, err));
    *node = &self->node;
    return STATUS_OK;
}
