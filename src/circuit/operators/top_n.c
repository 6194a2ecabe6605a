/* circuit/operators/top_n.c: rows first..last of each partition by ROW_NUMBER, RANK or DENSE_RANK.
 *
 * Table        partition -> its rows, sorted (sorted_rows.h).
 * receive      The first touch of a partition in a tick remembers what it shows. Then rows go in and out of its order. Over input that
 *              only grows a row that is behind the last place is not even stored, and what falls behind is dropped; of a chunk's rows for a
 *              single place (ROW_NUMBER 1) only the best of each partition are looked at.
 * finish_tick  Per touched partition what it shows now is compared with what it showed: the difference is emitted. Both lists are in
 *              the same order, so it is a merge. Rows that went are freed after that.
 * Time-to-live A partition whose rows have not changed for so long is forgotten as a whole (top_n_ttl.c). Without partition columns nothing is.
 */
#include <assert.h>
#include <stdlib.h>

#include "circuit/operators/top_n_internal.h"

enum { PREFETCH_AHEAD = 12, ROW_BEATEN = UINT16_MAX };

static bool grow(void *array, uint32_t *capacity, uint32_t need, size_t element_bytes)
{
    if (need <= *capacity) {
        return true;
    }
    uint32_t grown = *capacity == 0 ? 256 : *capacity * 2;
    void *moved = realloc(*(void **)array, grown * element_bytes);
    if (moved == NULL) {
        return false;
    }
    *(void **)array = moved;
    *capacity = grown;
    return true;
}

static enum status no_room(struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for the changes of a Top-N");
}

/* ---- what a partition shows ---- */

static enum status shown_add(struct shown_list *list, const struct sorted_item *item, int64_t from, int64_t count, struct error *err)
{
    if (!grow(&list->rows, &list->capacity, list->count + 1, sizeof *list->rows)) {
        return no_room(err);
    }
    struct shown_row *row = &list->rows[list->count++];
    row->item = *item;
    row->item.weight = count;
    row->from = from;
    return STATUS_OK;
}

/* Appends what the partition shows. *end: the first item behind the last place. */
static enum status top_n_show(struct top_n *self, const struct partition *partition, struct shown_list *list, struct sorted_place *end,
                              struct error *err)
{
    const struct top_n_spec *spec = self->spec;
    struct sorted_place place = {0};
    const struct sorted_item *item, *previous = NULL;
    int64_t position = 1, rank = 0, groups = 0; /* position: of the item's first copy */
    while ((item = sorted_rows_at(&partition->rows, &place)) != NULL) {
        if (spec->function == RANK_ROW_NUMBER) {
            rank = position;
        } else if (previous == NULL || row_order_compare_keys(&self->order, previous, item) != 0) {
            groups++;
            rank = spec->function == RANK_RANK ? position : groups;
        }
        if (rank > spec->last) {
            break;
        }
        int64_t from = rank, count = item->weight;
        if (spec->function == RANK_ROW_NUMBER) {
            int64_t skipped = from < spec->first ? spec->first - from : 0;
            from += skipped;
            count -= skipped;
            count = count > spec->last - from + 1 ? spec->last - from + 1 : count;
        }
        if (rank + (spec->function == RANK_ROW_NUMBER ? item->weight - 1 : 0) >= spec->first && count > 0) {
            TRY(shown_add(list, item, from, count, err));
        }
        position += item->weight > 0 ? item->weight : 0;
        previous = item;
        place.at++;
    }
    *end = place;
    return STATUS_OK;
}

static enum status top_n_touch(struct top_n *self, struct partition *partition, uint32_t slot, struct error *err)
{
    if (partition->touched != 0) {
        return STATUS_OK;
    }
    if (!grow(&self->touched, &self->touched_capacity, self->touched_count + 1, sizeof *self->touched)) {
        return no_room(err);
    }
    struct touched_partition *touched = &self->touched[self->touched_count++];
    struct sorted_place end;
    if (self->cold != NULL) {
        cold_table_touch(self->cold, slot, 0);
    }
    if (self->changed.followed) {
        TRY(dirty_slots_mark(&self->dirty, slot, err));
    }
    if (ttl_is_set(&self->ttl)) {
        TRY(ttl_write(&self->ttl, slot, err));
    }
    touched->slot = slot;
    touched->first = self->before.count;
    partition->touched = self->touched_count;
    TRY(top_n_show(self, partition, &self->before, &end, err));
    touched->count = self->before.count - touched->first;
    return STATUS_OK;
}

/* ---- rows in and out ---- */

static enum status top_n_drop_row(struct top_n *self, row_handle row, struct error *err)
{
    if (!grow(&self->gone, &self->gone_capacity, self->gone_count + 1, sizeof *self->gone)) {
        return no_room(err);
    }
    self->gone[self->gone_count++] = row;
    return STATUS_OK;
}

enum status top_n_remove(struct top_n *self, struct partition *partition, struct sorted_place place, struct error *err)
{
    struct sorted_item *item = sorted_rows_at(&partition->rows, &place);
    TRY(top_n_drop_row(self, item->row, err));
    TRY(touched_rows_mark(&self->changed, item->row, err));
    partition->total -= item->weight;
    sorted_rows_remove(&partition->rows, node_budget(&self->node), place);
    return STATUS_OK;
}

static struct sorted_place top_n_last_place(const struct partition *partition)
{
    uint32_t block = partition->rows.block_count - 1;
    return (struct sorted_place){.block = block, .at = partition->rows.blocks[block]->count - 1};
}

/* The item that a withdrawn row of a source order means: of those with equal keys the latest that is the same row. A withdrawal
 * that came early (weight below zero) is found when its row comes. */
static struct sorted_item *top_n_find_equal(struct top_n *self, struct partition *partition, const struct sorted_item *item, bool negative,
                                            struct sorted_place *found)
{
    struct sorted_item start = *item;
    start.ordinal = INT64_MIN;
    struct sorted_place place = sorted_rows_seek(&partition->rows, &self->order, &start);
    struct sorted_item *candidate, *latest = NULL;
    while ((candidate = sorted_rows_at(&partition->rows, &place)) != NULL && row_order_compare_keys(&self->order, candidate, item) == 0) {
        if ((candidate->weight < 0) == negative && row_store_equal(self->store, candidate->row, item->row)) {
            latest = candidate;
            *found = place;
        }
        place.at++;
    }
    return latest;
}

static enum status top_n_merge(struct top_n *self, struct partition *partition, struct sorted_item *present, struct sorted_place place,
                               const struct sorted_item *item, struct error *err)
{
    int64_t before = present->weight;
    present->weight += item->weight;
    partition->total += item->weight;
    self->negatives += (present->weight < 0) - (before < 0);
    row_store_free(self->store, item->row);
    return present->weight == 0 ? top_n_remove(self, partition, place, err) : touched_rows_mark(&self->changed, present->row, err);
}

static enum status top_n_put(struct top_n *self, struct partition *partition, const struct sorted_item *item, struct error *err)
{
    struct sorted_place place = {0};
    struct sorted_item *present = NULL;
    if (self->order.ordered && (item->weight < 0 || self->negatives > 0)) {
        present = top_n_find_equal(self, partition, item, item->weight > 0, &place);
    }
    if (present == NULL) {
        place = sorted_rows_seek(&partition->rows, &self->order, item);
        struct sorted_item *at = sorted_rows_at(&partition->rows, &place);
        present = at != NULL && row_order_compare(&self->order, at, item) == 0 ? at : NULL;
    }
    if (present != NULL) {
        return top_n_merge(self, partition, present, place, item, err);
    }
    partition->total += item->weight;
    self->negatives += item->weight < 0;
    TRY(touched_rows_mark(&self->changed, item->row, err));
    return sorted_rows_insert(&partition->rows, node_budget(&self->node), place, item, err);
}

/* Over growing input: is the row behind the last place for good? */
static bool top_n_is_behind(const struct top_n *self, const struct partition *partition, int64_t prefix)
{
    if (self->spec->input.changes || self->spec->function != RANK_ROW_NUMBER || partition->total < self->spec->last) {
        return false;
    }
    const struct sorted_item *last = sorted_rows_last(&partition->rows);
    return prefix > last->prefix ||
           (prefix == last->prefix && self->order.exact && self->order.ordered && prefix != INT64_MIN && prefix != INT64_MAX);
}

static enum status top_n_evict(struct top_n *self, struct partition *partition, struct error *err)
{
    while (partition->rows.block_count > 0 && partition->total - sorted_rows_last(&partition->rows)->weight >= self->spec->last) {
        TRY(top_n_remove(self, partition, top_n_last_place(partition), err));
    }
    return STATUS_OK;
}

/* For one place: is the row as good as those of its partition that the chunk had before? Then it will be the `at`-th chosen one. */
static bool top_n_challenge(struct top_n *self, struct partition *partition, int64_t prefix, uint32_t at)
{
    if (partition->best != 0) {
        uint32_t best = partition->best - 1;
        bool decided = self->order.exact && self->order.ordered && prefix != INT64_MIN && prefix != INT64_MAX;
        if (prefix > self->prefixes[best] || (prefix == self->prefixes[best] && decided)) {
            return false;
        }
        if (prefix == self->prefixes[best]) { /* other columns decide */
            return true;
        }
        self->selected[best] = ROW_BEATEN;
    }
    partition->best = at + 1;
    return true;
}

static uint32_t top_n_drop_beaten(struct top_n *self, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        top_n_partition(self, self->chosen[i])->best = 0;
        self->prefixes[kept] = self->prefixes[i];
        self->chosen[kept] = self->chosen[i];
        self->selected[kept] = self->selected[i];
        kept += self->selected[i] != ROW_BEATEN;
    }
    return kept;
}

/* Which rows of the chunk may get a place: their positions in `chosen`, their rows in the batch in `selected`. */
static uint32_t top_n_choose(struct top_n *self, const struct batch *batch)
{
    struct selection rows = batch_selection(batch);
    uint32_t count = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        if (k + PREFETCH_AHEAD < rows.count) {
            __builtin_prefetch(top_n_partition(self, self->slots[k + PREFETCH_AHEAD]), 1);
        }
        uint32_t row = selection_row(&rows, k);
        struct partition *partition = top_n_partition(self, self->slots[k]);
        int64_t prefix = row_order_prefix(&self->order, batch, row);
        if (top_n_is_behind(self, partition, prefix) || (self->keeps_one && !top_n_challenge(self, partition, prefix, count))) {
            continue;
        }
        self->prefixes[count] = prefix;
        self->chosen[count] = self->slots[k];
        self->selected[count++] = (uint16_t)row;
    }
    return self->keeps_one ? top_n_drop_beaten(self, count) : count;
}

static enum status top_n_place_row(struct top_n *self, const struct batch *batch, uint32_t k, struct error *err)
{
    struct partition *partition = top_n_partition(self, self->chosen[k]);
    uint32_t row = self->selected[k];
    if (top_n_is_behind(self, partition, self->prefixes[k])) {
        row_store_free(self->store, self->handles[k]);
        return STATUS_OK;
    }
    struct sorted_item item = {.prefix = self->prefixes[k],
                               .row = self->handles[k],
                               .ordinal = batch->ordered ? batch_ordinal(batch, row) : 0,
                               .weight = batch_weight(batch, row)};
    TRY(top_n_touch(self, partition, self->chosen[k], err));
    TRY(top_n_put(self, partition, &item, err));
    bool bounded = !self->spec->input.changes && self->spec->function == RANK_ROW_NUMBER;
    return bounded ? top_n_evict(self, partition, err) : STATUS_OK;
}

static enum status top_n_find_partitions(struct top_n *self, const struct batch *batch, struct error *err)
{
    batch_hash(batch, self->spec->partition, self->spec->partition_count, self->hashes);
    if (UNLIKELY(self->cold != NULL)) {
        TRY(node_fetch_keys(&self->node, self->cold, batch, self->spec->partition, self->hashes, err));
    }
    TRY(key_table_find_or_insert(self->table, batch, self->spec->partition, self->hashes, self->slots, err));
    return LIKELY(self->cold == NULL) ? STATUS_OK : cold_table_reserve(self->cold, err);
}

static enum status top_n_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct top_n *self = (struct top_n *)node;
    if (self->table == NULL) {
        for (uint32_t k = 0; k < batch_rows(batch); k++) {
            self->slots[k] = 0;
        }
    } else {
        TRY(top_n_find_partitions(self, batch, err));
    }
    if (ttl_is_set(&self->ttl)) {
        TRY(top_n_renew(self, batch_rows(batch), err));
    }
    struct batch chosen = *batch;
    chosen.selected = self->selected;
    chosen.selected_count = top_n_choose(self, batch);
    if (chosen.selected_count == 0) {
        return STATUS_OK;
    }
    TRY(row_store_add(self->store, &chosen, self->handles, err));
    for (uint32_t k = 0; k < chosen.selected_count; k++) {
        TRY(top_n_place_row(self, batch, k, err));
    }
    return STATUS_OK;
}

/* ---- the difference ---- */

static enum status top_n_emit(struct top_n *self, const struct shown_row *row, int64_t sign, struct error *err)
{
    if (self->spec->function == RANK_ROW_NUMBER && self->spec->rank_column) {
        for (int64_t i = 0; i < row->item.weight; i++) {
            TRY(row_output_add(self->output, row->item.row, sign, row->from + i, err));
        }
        return STATUS_OK;
    }
    return row_output_add(self->output, row->item.row, sign * row->item.weight, row->from, err);
}

/* The same row before and after. */
static enum status top_n_emit_both(struct top_n *self, const struct shown_row *old, const struct shown_row *new, struct error *err)
{
    bool numbered = self->spec->rank_column;
    if (old->item.weight == new->item.weight && (!numbered || old->from == new->from)) {
        return STATUS_OK;
    }
    if (!numbered) {
        return row_output_add(self->output, new->item.row, new->item.weight - old->item.weight, 0, err);
    }
    TRY(top_n_emit(self, old, -1, err));
    return top_n_emit(self, new, 1, err);
}

static enum status top_n_emit_difference(struct top_n *self, const struct touched_partition *touched, struct error *err)
{
    const struct shown_row *old = self->before.rows + touched->first, *new = self->after.rows;
    uint32_t o = 0, n = 0;
    while (o < touched->count || n < self->after.count) {
        int side = o == touched->count ? 1 : n == self->after.count ? -1 : row_order_compare(&self->order, &old[o].item, &new[n].item);
        if (side == 0) {
            TRY(top_n_emit_both(self, &old[o++], &new[n++], err));
        } else if (side < 0) {
            TRY(top_n_emit(self, &old[o++], -1, err));
        } else {
            TRY(top_n_emit(self, &new[n++], 1, err));
        }
    }
    return STATUS_OK;
}

/* Over growing input what is behind the last rank will never show. */
static enum status top_n_cut(struct top_n *self, struct partition *partition, struct sorted_place end, struct error *err)
{
    if (self->spec->input.changes || sorted_rows_at(&partition->rows, &end) == NULL) {
        return STATUS_OK;
    }
    for (;;) {
        struct sorted_place last = top_n_last_place(partition);
        TRY(top_n_remove(self, partition, last, err));
        if (last.block == end.block && last.at == end.at) {
            return STATUS_OK;
        }
    }
}

static enum status top_n_settle(struct top_n *self, const struct touched_partition *touched, struct error *err)
{
    struct partition *partition = top_n_partition(self, touched->slot);
    struct sorted_place end;
    partition->touched = 0;
    self->after.count = 0;
    if (self->lossy && self->negatives > 0) {
        TRY(top_n_drop_negatives(self, partition, err));
    }
    TRY(top_n_show(self, partition, &self->after, &end, err));
    TRY(top_n_emit_difference(self, touched, err));
    TRY(top_n_cut(self, partition, end, err));
    if (partition->rows.block_count == 0) {
        sorted_rows_release(&partition->rows, node_budget(&self->node));
        partition->total = 0;
        if (self->cold != NULL) {
            TRY(cold_table_forget(self->cold, &touched->slot, 1, err));
        }
        if (self->table != NULL) {
            key_table_remove(self->table, touched->slot);
            ttl_forget(&self->ttl, touched->slot);
        }
    } else if (ttl_is_set(&self->ttl)) { /* the time of the partition is saved with its rows */
        TRY(touched_rows_mark(&self->changed, partition->rows.blocks[0]->items[0].row, err));
    }
    return STATUS_OK;
}

static void top_n_count_state(struct node *node)
{
    const struct top_n *self = (const struct top_n *)node;
    node->metrics.state_keys = self->table == NULL ? 1 : key_table_count(self->table);
    node->metrics.state_bytes = row_store_bytes(self->store) + (self->table == NULL ? 0 : key_table_bytes(self->table));
}

static enum status top_n_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    struct top_n *self = (struct top_n *)node;
    for (uint32_t i = 0; i < self->touched_count; i++) {
        TRY(top_n_settle(self, &self->touched[i], err));
    }
    TRY(row_output_flush(self->output, err));
    for (uint32_t i = 0; i < self->gone_count; i++) {
        row_store_free(self->store, self->gone[i]);
    }
    self->gone_count = 0;
    if (ttl_is_set(&self->ttl)) {
        TRY(top_n_sweep(self, err));
    }
    self->touched_count = 0;
    self->before.count = 0;
    node_pass_watermark(node);
    return STATUS_OK;
}

static void top_n_close(struct node *node)
{
    struct top_n *self = (struct top_n *)node;
    if (self->table != NULL) {
        for (uint32_t slot = 0; slot < key_table_slots(self->table); slot++) {
            if (key_table_has(self->table, slot)) {
                sorted_rows_release(&top_n_partition(self, slot)->rows, node_budget(node));
            }
        }
    }
    sorted_rows_release(&self->single.rows, node_budget(node));
    key_table_destroy(self->table);
    row_store_destroy(self->store);
    free(self->before.rows);
    free(self->after.rows);
    free(self->touched);
    free(self->gone);
    dirty_slots_close(&self->dirty);
    touched_rows_close(&self->changed);
    ttl_close(&self->ttl);
}

static const struct node_type top_n_type = {
    .name = "Top-N",
    .receive = top_n_receive,
    .finish_tick = top_n_finish_tick,
    .count_state = top_n_count_state,
    .close = top_n_close,
    .save = top_n_save,
    .restore = top_n_restore,
    .open_cold = top_n_open_cold,
    .saves_in_memory = true,
};

static enum status top_n_open_table(struct top_n *self, struct circuit *circuit, const struct type *const *types, struct error *err)
{
    const struct top_n_spec *spec = self->spec;
    const struct type **key_types;
    if (spec->partition_count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(key_types, arena_alloc(circuit->arena, spec->partition_count * sizeof *key_types), err);
    for (uint32_t i = 0; i < spec->partition_count; i++) {
        key_types[i] = types[spec->partition[i]];
    }
    uint32_t value_bytes = sizeof(struct partition);
    return key_table_create(circuit->budget, key_types, spec->partition_count, &value_bytes, 1, &self->table, err);
}

enum status top_n_create(struct circuit *circuit, const struct top_n_spec *spec, struct node *input, struct node **node, struct error *err)
{
    struct top_n *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->keeps_one = spec->function == RANK_ROW_NUMBER && spec->last == 1 && !spec->input.changes;
    TRY(circuit_add(circuit, &self->node, &top_n_type, "Top-N", &input, 1, err));
    const struct type *const *types;
    TRY(schema_types(circuit->arena, spec->input.schema, &types, err));
    TRY(top_n_open_table(self, circuit, types, err));
    TRY(row_store_create(circuit->budget, types, spec->input.schema->count, &self->store, err));
    row_store_omit_hashes(self->store);
    TRY(row_order_init(&self->order, circuit->arena, self->store, spec->input.schema, spec->order, spec->order_count, spec->input.ordered,
                       err));
    TRY(row_output_create(&self->node, self->store, spec->output, spec->rank_column, &self->output, err));
    ttl_open(&self->ttl, circuit->budget, self->table == NULL ? 0 : spec->ttl_us, circuit->evaluation.now_us);
    self->lossy = spec->ttl_us > 0 || spec->input.lossy;
    TRY(top_n_declare(self, err));
    *node = &self->node;
    return STATUS_OK;
}
