/* circuit/operators/over_node.c: aggregates and window functions over the rows of a partition.
 *
 * Table        partition -> its rows (over_run.h computes along them).
 * Event time   A row waits, sorted, until the watermark has passed its time; then results of the partition's due rows are emitted and of its
 *              rows only those are kept that a later frame or LAG reads. Late rows and rows without a time are counted and dropped.
 * Clock        By processing time rows are due as they come, at the tick's time.
 * Any order    All rows are kept, sorted, and what was shown for each. At the end of a tick a changed partition is computed again from the
 *              first row that differs (from the start if a result may read ahead); the difference of output rows, found by
 *              their hash, is emitted. Without a value that exists (a SUM out of range) the partition is held back (held_errors.h).
 */
#include <stdlib.h>
#include <string.h>

#include "circuit/operators/over_node_internal.h"

/* ---- partitions ---- */

enum status over_partition_at(struct over_node *self, uint32_t slot, struct over_partition **partition, struct error *err)
{
    struct over_partition **place = over_partition_place(self, slot);
    if (*place == NULL) {
        size_t bytes = sizeof(struct over_partition) + over_run_bytes(&self->run);
        if (!budget_charge(node_budget(&self->node), bytes)) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for another partition of OVER");
        }
        *place = calloc(1, bytes);
        if (*place == NULL) {
            budget_release(node_budget(&self->node), bytes);
            return error_set(err, ERROR_BUDGET_SPENT, "no room for another partition of OVER");
        }
        (*place)->slot = slot;
        (*place)->origin = self->next_origin;
        (*place)->idle_at = INT64_MAX;
        TRY(call_states_begin_record(&self->states, slot, err));
    }
    *partition = *place;
    return STATUS_OK;
}

void over_partition_free(struct over_node *self, struct over_partition *partition)
{
    struct budget *budget = node_budget(&self->node);
    sorted_rows_release(&partition->waiting, budget);
    over_items_release(&partition->items, budget);
    over_list_free(budget, partition->shown, partition->shown_capacity, sizeof *partition->shown);
    free(partition);
    budget_release(budget, sizeof *partition + over_run_bytes(&self->run));
}

enum status over_dirty(struct over_node *self, const struct over_partition *partition, bool waiting, bool items, struct error *err)
{
    if (UNLIKELY(self->cold != NULL)) {
        cold_table_touch(self->cold, partition->slot, OVER_PART_PLACE);
        if (self->streams && waiting) {
            cold_table_touch(self->cold, partition->slot, OVER_PART_WAITING);
        }
        if (self->streams && items) {
            cold_table_touch(self->cold, partition->slot, OVER_PART_ITEMS);
        }
    }
    return LIKELY(!self->changed.followed) ? STATUS_OK : dirty_slots_mark(&self->dirty, partition->slot, err);
}

static enum status over_touch(struct over_node *self, struct over_partition *partition, struct error *err)
{
    if (partition->touched) {
        return STATUS_OK;
    }
    TRY(over_list_room(node_budget(&self->node), (void **)&self->touched, &self->touched_capacity, self->touched_count, sizeof(void *),
                       err));
    self->touched[self->touched_count++] = partition;
    partition->touched = true;
    return STATUS_OK;
}

enum status over_drop_row(struct over_node *self, row_handle row, struct error *err)
{
    TRY(over_list_room(node_budget(&self->node), (void **)&self->gone, &self->gone_capacity, self->gone_count, sizeof row, err));
    self->gone[self->gone_count++] = row;
    return STATUS_OK;
}

/* ---- rows in ---- */

/* Event time: takes out rows without a time and late ones. */
static uint32_t over_choose(struct over_node *self, const struct batch *batch)
{
    struct selection rows = batch_selection(batch);
    const struct vector *time = self->spec->event_time ? &batch->columns[self->spec->over.order[0].column] : NULL;
    uint32_t count = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (time != NULL && !vector_is_valid(time, row)) {
            self->node.metrics.null_time++;
            continue;
        }
        if (time != NULL && batch_watermark(batch, row) != WATERMARK_NONE && vector_int64(time)[row] <= batch_watermark(batch, row)) {
            self->node.metrics.late++;
            continue;
        }
        self->selected[count++] = (uint16_t)row;
    }
    return count;
}

enum status over_put_sorted(struct over_node *self, struct over_partition *partition, const struct sorted_item *item, struct error *err)
{
    struct budget *budget = node_budget(&self->node);
    struct sorted_place first = {0};
    const struct sorted_item *earliest = sorted_rows_at(&partition->waiting, &first);
    if (self->spec->event_time && (earliest == NULL || item->prefix < earliest->prefix)) {
        TRY(time_heap_push(&self->due, budget, item->prefix, partition->slot, err));
    }
    struct sorted_place place = sorted_rows_seek(&partition->waiting, &self->order, item);
    struct sorted_item *present = sorted_rows_at(&partition->waiting, &place);
    if (present == NULL || row_order_compare(&self->order, present, item) != 0) {
        TRY(touched_rows_mark(&self->changed, item->row, err));
        return sorted_rows_insert(&partition->waiting, budget, place, item, err);
    }
    present->weight += item->weight;
    row_store_free(self->store, item->row);
    TRY(touched_rows_mark(&self->changed, present->row, err));
    if (present->weight == 0) {
        TRY(over_drop_row(self, present->row, err));
        sorted_rows_remove(&partition->waiting, budget, place);
    }
    return STATUS_OK;
}

static enum status over_put(struct over_node *self, const struct batch *batch, uint32_t row, uint32_t slot, row_handle handle,
                            struct error *err)
{
    struct over_partition *partition;
    TRY(over_partition_at(self, slot, &partition, err));
    TRY(over_dirty(self, partition, true, self->spec->processing_time, err));
    if (ttl_is_set(&self->ttl)) {
        TRY(ttl_write(&self->ttl, slot, err));
    }
    struct sorted_item item = {.prefix = row_order_prefix(&self->order, batch, row),
                               .row = handle,
                               .ordinal = batch->ordered ? batch_ordinal(batch, row) : 0,
                               .weight = batch_weight(batch, row)};
    if (!self->spec->event_time) {
        TRY(over_touch(self, partition, err));
    }
    if (self->spec->processing_time) {
        item.prefix = node_evaluation(&self->node)->now_us;
        return over_items_add(&partition->items, node_budget(&self->node), &item, err);
    }
    return over_put_sorted(self, partition, &item, err);
}

static enum status over_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct over_node *self = (struct over_node *)node;
    const struct over_relation *over = &self->spec->over;
    struct batch chosen = *batch;
    chosen.selected = self->selected;
    chosen.selected_count = over_choose(self, batch);
    if (chosen.selected_count == 0) {
        return STATUS_OK;
    }
    if (self->table == NULL) {
        memset(self->slots, 0, chosen.selected_count * sizeof *self->slots);
    } else {
        batch_hash(&chosen, over->partition, over->partition_count, self->hashes);
        if (UNLIKELY(self->cold != NULL)) {
            TRY(over_fetch(self, &chosen, over->partition, err));
        }
        TRY(key_table_find_or_insert(self->table, &chosen, over->partition, self->hashes, self->slots, err));
    }
    if (UNLIKELY(self->cold != NULL)) {
        TRY(cold_table_reserve(self->cold, err));
    }
    if (ttl_is_set(&self->ttl)) {
        TRY(over_renew(self, chosen.selected_count, err));
    }
    self->arrivals += chosen.selected_count;
    TRY(row_store_add(self->store, &chosen, self->handles, err));
    for (uint32_t k = 0; k < chosen.selected_count; k++) {
        TRY(over_put(self, batch, self->selected[k], self->slots[k], self->handles[k], err));
    }
    return STATUS_OK;
}

/* ---- by time: rows that are due ---- */

/* Copies of the row that waits, `weight` of them. */
static enum status over_take_due(struct over_node *self, struct over_partition *partition, int64_t watermark, struct error *err)
{
    struct sorted_place first = {0};
    struct sorted_item *item;
    while ((item = sorted_rows_at(&partition->waiting, &first)) != NULL && item->prefix <= watermark) {
        for (int64_t copy = 0; copy < item->weight; copy++) {
            TRY(over_items_add(&partition->items, node_budget(&self->node), item, err));
        }
        first.at++;
    }
    struct sorted_rows rest = {0};
    while ((item = sorted_rows_at(&partition->waiting, &first)) != NULL) {
        struct sorted_place end = {rest.block_count, 0};
        TRY(sorted_rows_insert(&rest, node_budget(&self->node), end, item, err));
        first.at++;
    }
    sorted_rows_release(&partition->waiting, node_budget(&self->node));
    partition->waiting = rest;
    return STATUS_OK;
}

/* Keeps what a later frame, LAG or rank reads. */
static enum status over_trim(struct over_node *self, struct over_partition *partition, struct error *err)
{
    struct over_items *items = &partition->items;
    struct over_place *place = &partition->place;
    uint32_t back = items->count > self->run.lookback ? items->count - self->run.lookback : 0;
    uint32_t dropped = self->spec->over.preceding == FRAME_UNBOUNDED || back < place->begin ? back : place->begin;
    if (self->run.keeps_all) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < dropped; i++) {
        if (i + 1 == items->count || items->items[i + 1].row != items->items[i].row) { /* the last copy */
            TRY(over_drop_row(self, items->items[i].row, err));
        }
    }
    items->count -= dropped;
    memmove(items->items, items->items + dropped, items->count * sizeof *items->items);
    place->base += dropped;
    place->next -= dropped;
    place->end -= dropped < place->end ? dropped : place->end;
    place->begin -= dropped < place->begin ? dropped : place->begin;
    over_items_trim(items, node_budget(&self->node));
    return STATUS_OK;
}

static enum status over_stream(struct over_node *self, struct over_partition *partition, struct error *err)
{
    struct over_target target = {(uint8_t *)partition->record, partition->slot, &self->states};
    TRY(over_dirty(self, partition, true, true, err));
    if (ttl_is_set(&self->ttl)) {
        TRY(ttl_write(&self->ttl, partition->slot, err));
    }
    TRY(over_run_pass(&self->run, &partition->items, &partition->place, &target, err));
    if (self->run.failed) {
        *err = self->run.first_failure;
        return err->status;
    }
    TRY(over_trim(self, partition, err));
    return over_note_idle(self, partition, err);
}

static int64_t over_idle_time(const struct over_node *self, const struct over_partition *partition)
{
    const struct over_items *items = &partition->items;
    return items->count == 0 ? INT64_MIN : time_add(items->items[items->count - 1].prefix, self->spec->over.preceding);
}

int64_t over_idle_due(const struct over_node *self, const struct over_partition *partition)
{
    return self->ends ? over_idle_time(self, partition) : INT64_MAX;
}

enum status over_note_idle(struct over_node *self, struct over_partition *partition, struct error *err)
{
    if (!self->ends || partition->waiting.block_count > 0 || partition->idle_at != INT64_MAX) {
        return STATUS_OK;
    }
    partition->idle_at = over_idle_time(self, partition);
    return time_heap_push(&self->due, node_budget(&self->node), partition->idle_at, partition->slot, err);
}

/* Nothing waits in the partition: is it of use? */
static enum status over_look_idle(struct over_node *self, struct over_partition *partition, int64_t noted, int64_t now, struct error *err)
{
    if (!self->ends || partition->idle_at != noted) {
        return STATUS_OK;
    }
    partition->idle_at = INT64_MAX;
    return over_idle_time(self, partition) <= now ? over_end_partition(self, partition, err) : over_note_idle(self, partition, err);
}

static enum status over_pass_due(struct over_node *self, struct over_partition *partition, int64_t noted, int64_t watermark,
                                 struct error *err)
{
    struct sorted_place first = {0};
    const struct sorted_item *item = sorted_rows_at(&partition->waiting, &first);
    if (item == NULL) {
        return over_look_idle(self, partition, noted, watermark, err);
    }
    partition->idle_at = partition->idle_at == noted ? INT64_MAX : partition->idle_at;
    if (item->prefix > watermark) {
        return STATUS_OK;
    }
    TRY(over_take_due(self, partition, watermark, err));
    TRY(over_stream(self, partition, err));
    first = (struct sorted_place){0};
    item = sorted_rows_at(&partition->waiting, &first);
    return item == NULL ? STATUS_OK : time_heap_push(&self->due, node_budget(&self->node), item->prefix, partition->slot, err);
}

/* A slot of which the partition has gone may be another's by now, which is looked at in vain. */
static enum status over_finish_due(struct over_node *self, int64_t watermark, struct error *err)
{
    struct timed due;
    while (time_heap_pop(&self->due, watermark, &due)) {
        uint32_t slot = (uint32_t)due.item;
        bool there = self->table == NULL || key_table_has(self->table, slot);
        struct over_partition *partition = there ? *over_partition_place(self, slot) : NULL;
        if (partition != NULL) {
            TRY(over_pass_due(self, partition, due.time, watermark, err));
        }
    }
    return STATUS_OK;
}

/* What is due and in the database comes back, a part at a time; results at hand refer to rows that may leave. */
static enum status over_finish_cold(struct over_node *self, int64_t until, struct error *err)
{
    uint32_t slots[CHUNK_ROWS], count = 1;
    while (count > 0 && cold_table_next_due(self->cold, 0) <= until) {
        TRY(over_run_flush(&self->run, err));
        TRY(node_relieve(&self->node, err));
        TRY(cold_table_fetch_due(self->cold, 0, until, slots, &count, err));
        TRY(over_settle_fetched(self, err));
        if (ttl_is_set(&self->ttl)) {
            TRY(over_sweep_slots(self, slots, count, err));
        }
        if (self->streams) {
            TRY(over_finish_due(self, until, err));
        }
    }
    return STATUS_OK;
}

/* Up to when what has a time is due. */
static int64_t over_bound(const struct over_node *self, const struct tick *tick)
{
    return self->spec->event_time                                  ? node_input_watermark(&self->node, 0)
           : self->spec->processing_time || ttl_is_set(&self->ttl) ? tick->now_us - 1
                                                                   : INT64_MIN;
}

/* ---- the tick ---- */

static enum status over_collect(struct node *node, const struct batch *batch, struct error *err)
{
    struct over_node *self = (struct over_node *)node;
    return over_changes_collect(&self->changes, self->results, batch, err);
}

static enum status over_finish_touched(struct over_node *self, struct error *err)
{
    for (uint32_t i = 0; i < self->touched_count; i++) {
        struct over_partition *partition = self->touched[i];
        if (self->streams) {
            partition->touched = false;
            TRY(over_stream(self, partition, err));
        } else {
            TRY(over_settle(self, partition, err));
        }
    }
    self->touched_count = 0;
    return STATUS_OK;
}

static void over_count_state(struct node *node)
{
    const struct over_node *self = (const struct over_node *)node;
    node->metrics.state_keys = self->table == NULL ? 1 : key_table_count(self->table);
    node->metrics.state_bytes = row_store_bytes(self->store) + (self->results == NULL ? 0 : row_store_bytes(self->results)) +
                                (self->table == NULL ? 0 : key_table_bytes(self->table));
}

static enum status over_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct over_node *self = (struct over_node *)node;
    if (ttl_is_set(&self->ttl)) {
        ttl_set_now(&self->ttl, tick->now_us);
    }
    int64_t until = over_bound(self, tick);
    if (self->streams) {
        TRY(over_finish_due(self, until, err));
    }
    if (self->cold != NULL) {
        TRY(over_finish_cold(self, until, err));
    }
    TRY(over_finish_touched(self, err));
    TRY(over_run_flush(&self->run, err));
    if (!self->streams) {
        TRY(row_output_flush(self->output, err));
        TRY(held_errors_check(self->held, tick, err));
    }
    for (uint32_t i = 0; i < self->gone_count; i++) {
        row_store_free(self->store, self->gone[i]);
    }
    for (uint32_t i = 0; i < self->old_count; i++) {
        row_store_free(self->results, self->old_results[i]);
    }
    self->gone_count = self->old_count = 0;
    TRY(over_sweep(self, err));
    node_pass_watermark(node);
    return STATUS_OK;
}

static void over_close(struct node *node)
{
    struct over_node *self = (struct over_node *)node;
    for (uint32_t slot = 0; self->table != NULL && slot < key_table_slots(self->table); slot++) {
        struct over_partition *partition = ((struct over_partition **)key_table_values(self->table, 0))[slot];
        if (key_table_has(self->table, slot) && partition != NULL) {
            over_partition_free(self, partition);
        }
    }
    if (self->single != NULL) {
        over_partition_free(self, self->single);
    }
    if (self->run.calls != NULL) {
        call_states_close(self->run.calls, &self->states);
    }
    over_run_close(&self->run);
    time_heap_release(&self->due, node_budget(node));
    key_table_destroy(self->table);
    row_store_destroy(self->store);
    row_store_destroy(self->results);
    held_errors_destroy(self->held);
    over_changes_release(&self->changes);
    over_items_release(&self->all, node_budget(node));
    over_list_free(node_budget(node), self->touched, self->touched_capacity, sizeof *self->touched);
    over_list_free(node_budget(node), self->gone, self->gone_capacity, sizeof *self->gone);
    over_list_free(node_budget(node), self->arrived, self->arrived_capacity, sizeof *self->arrived);
    over_list_free(node_budget(node), self->old_results, self->old_capacity, sizeof *self->old_results);
    dirty_slots_close(&self->dirty);
    touched_rows_close(&self->changed);
    state_map_close(&self->restored);
    state_map_close(&self->restored_generations);
    ttl_close(&self->ttl);
}

static const struct node_type over_type = {
    .name = "Over",
    .receive = over_receive,
    .finish_tick = over_finish_tick,
    .count_state = over_count_state,
    .close = over_close,
    .save = over_save,
    .restore = over_restore,
    .restored = over_restored,
    .open_cold = over_open_cold,
    .saves_in_memory = true,
};

/* ---- setup ---- */

static enum status over_open_table(struct over_node *self, const struct type *const *types, struct error *err)
{
    const struct over_relation *over = &self->spec->over;
    const struct type **key_types;
    uint32_t value_bytes = sizeof(struct over_partition *);
    if (over->partition_count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(key_types, arena_alloc(node_arena(&self->node), over->partition_count * sizeof *key_types), err);
    for (uint32_t i = 0; i < over->partition_count; i++) {
        key_types[i] = types[over->partition[i]];
    }
    return key_table_create(node_budget(&self->node), key_types, over->partition_count, &value_bytes, 1, &self->table, err);
}

static enum status over_open_results(struct over_node *self, struct error *err)
{
    const struct over_spec *spec = self->spec;
    const struct type *const *types;
    TRY(schema_types(node_arena(&self->node), spec->output, &types, err));
    TRY(row_store_create(node_budget(&self->node), types, spec->output->count, &self->results, err));
    TRY(row_output_create(&self->node, self->results, spec->output, false, &self->output, err));
    return held_errors_create(self->node.circuit, &self->held, err);
}

enum status over_node_create(struct circuit *circuit, const struct over_spec *spec, struct node *input, struct node **node,
                             struct error *err)
{
    struct over_node *self;
    const struct type *const *types;
    const struct over_relation *over = &spec->over;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->streams = spec->event_time || spec->processing_time;
    self->changes.budget = circuit->budget;
    TRY(circuit_add(circuit, &self->node, &over_type, "Over", &input, 1, err));
    TRY(schema_types(circuit->arena, spec->input.schema, &types, err));
    TRY(over_open_table(self, types, err));
    TRY(row_store_create(circuit->budget, types, spec->input.schema->count, &self->store, err));
    TRY(row_order_init(&self->order, circuit->arena, self->store, spec->input.schema, over->order, over->order_count,
                       spec->input.ordered && !spec->input.changes, err));
    TRY(over_run_open(&self->run, &self->node, spec, self->store, &self->order, self->streams ? node_emit : over_collect, err));
    ttl_open(&self->ttl, circuit->budget, self->table == NULL ? 0 : spec->ttl_us, circuit->evaluation.now_us);
    self->lossy = spec->ttl_us > 0 || spec->input.lossy;
    self->ends = self->streams && self->table != NULL && over->unit == FRAME_RANGE && over->preceding != FRAME_UNBOUNDED &&
                 self->run.aggregate_count == over->call_count;
    if (self->run.calls != NULL) {
        call_states_open(self->run.calls, circuit->budget, &self->states);
        call_states_number_records(self->run.calls, &self->states, self->ends || (self->streams && ttl_is_set(&self->ttl)));
    }
    *node = &self->node;
    TRY(over_declare(self, err));
    return self->streams ? STATUS_OK : over_open_results(self, err);
}
