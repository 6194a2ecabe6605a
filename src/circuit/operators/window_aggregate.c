/* circuit/operators/window_aggregate.c: TUMBLE, HOP, CUMULATE.
 *
 * Panes       Rows are aggregated into panes, one small table each, freed whole. A pane counts in the windows of its slice that end at
 *             `first_end` or later: a row that is late for some windows of its slice goes to a pane of its own with a later first_end, so
 *             that a pane never changes once a window that holds it has closed.
 * Windows     TUMBLE, DISTINCT and calls that cannot be merged: a pane is a window. Else windows are put together from panes as they
 *             close, in the order of their ends: CUMULATE adds panes to a running table; HOP adds and subtracts when all calls can be
 *             inverted, else it merges the panes of each window.
 * Late        for a window when the watermark before the row has reached its last millisecond. A row that is late for all its windows is
 *             counted, as is a row without a time.
 * Output      inserts only, at the end of the tick in which the watermark (or the clock) closes the window.
 */
#include <stdlib.h>

#include "circuit/operators/window_aggregate_internal.h"
#include "state/slot_array.h"

int64_t window_closes(const struct window_aggregate *self, int64_t end)
{
    return self->time.spec.processing_time ? window_time_to_instant(&self->time, end) : window_time_closes(&self->time, end);
}

enum status window_pane_list_add(struct window_aggregate *self, struct pane_list *list, struct pane *pane, struct error *err)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        struct pane **grown;
        TRY_ALLOC(grown, slot_array_grow(node_budget(&self->node), list->items, list->capacity * sizeof *grown, capacity * sizeof *grown),
                  err);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = pane;
    return STATUS_OK;
}

void window_pane_close(struct window_aggregate *self, struct pane *pane)
{
    keyed_records_close(&self->layout, &pane->records);
    free(pane);
}

static enum status index_find(struct window_aggregate *self, int64_t start, int64_t first_end, uint32_t *place, struct error *err)
{
    static const uint32_t keys[] = {0, 1};
    int64_t values[2] = {start, first_end};
    struct vector columns[2] = {
        {.type = &type_bigint_not_null, .physical = PHYSICAL_INT64, .count = 1, .values = &values[0]},
        {.type = &type_bigint_not_null, .physical = PHYSICAL_INT64, .count = 1, .values = &values[1]},
    };
    struct batch key = {.count = 1, .column_count = 2, .columns = columns};
    uint64_t hash;
    batch_hash(&key, keys, 2, &hash);
    return key_table_find_or_insert(self->index, &key, keys, &hash, place, err);
}

static enum status pane_make(struct window_aggregate *self, int64_t start, const struct window_bounds *first, int64_t last_end,
                             uint32_t place, struct pane **pane, struct error *err)
{
    struct pane *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a window");
    }
    *made = (struct pane){.start = start, .first_end = first->end, .last_end = last_end, .window_start = first->start, .place = place};
    enum status status = keyed_records_open(&self->layout, &made->records, err);
    if (status == STATUS_OK && self->spills) {
        status = window_spill_pane(self, made, NULL, err);
    }
    if (status == STATUS_OK && self->node.circuit->incremental) {
        status = keyed_records_track(&self->layout, &made->records, err);
    }
    if (status == STATUS_OK) {
        status = window_pane_list_add(self, &self->waiting, made, err);
    }
    if (status != STATUS_OK) {
        window_pane_close(self, made);
        return status;
    }
    int64_t close = window_closes(self, first->end);
    self->next_close = close < self->next_close ? close : self->next_close;
    *pane = made;
    return STATUS_OK;
}

/* The pane of a slice for the windows from `first` on. */
enum status window_pane_find(struct window_aggregate *self, int64_t start, const struct window_bounds *first, int64_t last_end,
                             struct pane **pane, struct error *err)
{
    uint32_t place;
    TRY(index_find(self, start, first->end, &place, err));
    struct pane **known = (struct pane **)key_table_values(self->index, 0) + place;
    if (*known == NULL) {
        enum status status = pane_make(self, start, first, last_end, place, pane, err);
        if (status != STATUS_OK) {
            key_table_remove(self->index, place);
            return status;
        }
        *known = *pane;
    }
    *pane = *known;
    return STATUS_OK;
}

/* Hands the assigned rows to their panes, sorted by pane. */
static enum status flush_rows(struct window_aggregate *self, const struct batch *batch, struct error *err)
{
    if (self->assigned == 0) {
        return STATUS_OK;
    }
    struct batch part = *batch;
    if (self->pane_count == 1) {
        if (self->assigned < batch_rows(batch)) {
            part.selected = self->rows;
            part.selected_count = self->assigned;
        }
        TRY(keyed_records_add(&self->layout, &self->panes[0]->records, &part, self->hashes, err));
    } else {
        uint32_t from = 0;
        for (uint32_t p = 0; p < self->pane_count; p++) {
            uint32_t count = self->pane_rows[p];
            self->pane_rows[p] = from;
            from += count;
        }
        for (uint32_t k = 0; k < self->assigned; k++) {
            self->sorted[self->pane_rows[self->panes_of_rows[k]]++] = self->rows[k];
        }
        from = 0;
        for (uint32_t p = 0; p < self->pane_count; p++) {
            part.selected = self->sorted + from;
            part.selected_count = self->pane_rows[p] - from;
            from = self->pane_rows[p];
            TRY(keyed_records_add(&self->layout, &self->panes[p]->records, &part, self->hashes, err));
        }
    }
    self->assigned = 0;
    self->pane_count = 0;
    self->stamp++;
    return STATUS_OK;
}

static enum status assign_row(struct window_aggregate *self, const struct batch *batch, uint32_t row, struct pane *pane, struct error *err)
{
    if (self->assigned == CHUNK_ROWS) {
        TRY(flush_rows(self, batch, err));
    }
    if (pane->batch_stamp != self->stamp) {
        pane->batch_stamp = self->stamp;
        pane->batch_index = self->pane_count;
        self->panes[self->pane_count] = pane;
        self->pane_rows[self->pane_count++] = 0;
    }
    self->pane_rows[pane->batch_index]++;
    self->panes_of_rows[self->assigned] = pane->batch_index;
    self->rows[self->assigned++] = (uint16_t)row;
    return STATUS_OK;
}

/* Leaves in *first the first window that is not closed at the watermark; false: all are. */
static bool skip_closed(const struct window_aggregate *self, struct window_bounds *first, const struct window_bounds *last,
                        int64_t watermark)
{
    while (first->end <= last->end && window_closes(self, first->end) <= watermark) {
        first->end += self->step;
        first->start += self->time.spec.kind == WINDOW_CUMULATE ? 0 : self->step;
    }
    return first->end <= last->end;
}

static enum status assign_to_windows(struct window_aggregate *self, const struct batch *batch, uint32_t row, struct window_bounds window,
                                     int64_t last_end, struct error *err)
{
    for (; window.end <= last_end; window.end += self->step) {
        struct pane *pane;
        TRY(window_pane_find(self, window.start, &window, window.end, &pane, err));
        TRY(assign_row(self, batch, row, pane, err));
        window.start += self->time.spec.kind == WINDOW_CUMULATE ? 0 : self->step;
    }
    return STATUS_OK;
}

/* The slow path of a row: its slice, windows and pane. */
static enum status place_row(struct window_aggregate *self, const struct batch *batch, uint32_t row, int64_t local, int64_t watermark,
                             struct error *err)
{
    int64_t slice = window_time_slice(&self->time, local);
    struct window_bounds first, last;
    self->cache.valid = false;
    if (!window_time_windows(&self->time, slice, &first, &last)) {
        return STATUS_OK;
    }
    int64_t earliest = first.end;
    if (!skip_closed(self, &first, &last, watermark)) {
        self->node.metrics.late++;
        return STATUS_OK;
    }
    if (self->panes_are_windows && self->time.spec.kind != WINDOW_TUMBLE) {
        return assign_to_windows(self, batch, row, first, last.end, err);
    }
    struct pane *pane;
    TRY(window_pane_find(self, slice, &first, last.end, &pane, err));
    self->cache = (struct pane_cache){
        .valid = true,
        .low = slice,
        .high = slice + self->time.slice_us,
        .watermark_from = first.end == earliest ? INT64_MIN : window_closes(self, first.end - self->step),
        .watermark_to = window_closes(self, first.end),
        .pane = pane,
    };
    return assign_row(self, batch, row, pane, err);
}

static inline bool cache_holds(const struct pane_cache *cache, int64_t local, int64_t watermark)
{
    return cache->valid && local >= cache->low && local < cache->high && watermark >= cache->watermark_from &&
           watermark < cache->watermark_to;
}

static int64_t watermark_before(const struct window_aggregate *self, const struct batch *batch, uint32_t row)
{
    int64_t watermark = batch_watermark(batch, row);
    return watermark > self->fired ? watermark : self->fired;
}

static enum status receive_times(struct window_aggregate *self, const struct batch *batch, struct error *err)
{
    struct selection rows = batch_selection(batch);
    const struct vector *times = &batch->columns[self->time.spec.time_column];
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (!vector_is_valid(times, row)) {
            self->node.metrics.null_time++;
            continue;
        }
        int64_t local = window_time_to_local(&self->time, window_time_of_row(times, row));
        int64_t watermark = watermark_before(self, batch, row);
        if (LIKELY(cache_holds(&self->cache, local, watermark))) {
            TRY(assign_row(self, batch, row, self->cache.pane, err));
        } else {
            TRY(place_row(self, batch, row, local, watermark, err));
        }
    }
    return STATUS_OK;
}

static enum status receive_now(struct window_aggregate *self, const struct batch *batch, struct error *err)
{
    struct selection rows = batch_selection(batch);
    int64_t local = window_time_to_local(&self->time, node_evaluation(&self->node)->now_us);
    for (uint32_t k = 0; k < rows.count; k++) {
        if (LIKELY(cache_holds(&self->cache, local, self->fired))) {
            TRY(assign_row(self, batch, selection_row(&rows, k), self->cache.pane, err));
        } else {
            TRY(place_row(self, batch, selection_row(&rows, k), local, self->fired, err));
        }
    }
    return STATUS_OK;
}

/* The input has its windows already. */
static enum status receive_attached(struct window_aggregate *self, const struct batch *batch, struct error *err)
{
    struct selection rows = batch_selection(batch);
    const struct vector *starts = &batch->columns[self->spec->start_column], *ends = &batch->columns[self->spec->end_column];
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (!vector_is_valid(starts, row) || !vector_is_valid(ends, row)) {
            self->node.metrics.null_time++;
            continue;
        }
        struct window_bounds window = {window_time_of_row(starts, row), window_time_of_row(ends, row)};
        int64_t watermark = watermark_before(self, batch, row);
        struct pane *pane = self->cache.pane;
        if (!self->cache.valid || pane->window_start != window.start || pane->first_end != window.end) {
            self->cache.valid = false;
            if (window_closes(self, window.end) <= watermark) {
                self->node.metrics.late++;
                continue;
            }
            TRY(window_pane_find(self, window.start, &window, window.end, &pane, err));
            self->cache = (struct pane_cache){.valid = true, .pane = pane, .watermark_to = window_closes(self, window.end)};
        } else if (self->cache.watermark_to <= watermark) {
            self->node.metrics.late++;
            continue;
        }
        TRY(assign_row(self, batch, row, pane, err));
    }
    return STATUS_OK;
}

static enum status window_aggregate_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct window_aggregate *self = (struct window_aggregate *)node;
    batch_hash(batch, self->spec->keys, self->spec->key_count, self->hashes);
    if (self->spec->attached) {
        TRY(receive_attached(self, batch, err));
    } else if (self->time.spec.processing_time) {
        TRY(receive_now(self, batch, err));
    } else {
        TRY(receive_times(self, batch, err));
    }
    return flush_rows(self, batch, err);
}

static void window_aggregate_count_state(struct node *node)
{
    const struct window_aggregate *self = (const struct window_aggregate *)node;
    uint64_t keys = 0, bytes = keyed_records_bytes(&self->layout, &self->running);
    const struct pane_list *lists[] = {&self->waiting, &self->entered};
    for (uint32_t l = 0; l < ARRAY_LENGTH(lists); l++) {
        for (uint32_t i = 0; i < lists[l]->count; i++) {
            keys += key_table_count(lists[l]->items[i]->records.table);
            bytes += keyed_records_bytes(&self->layout, &lists[l]->items[i]->records);
        }
    }
    node->metrics.state_keys = keys;
    node->metrics.state_bytes = bytes;
}

static enum status window_aggregate_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct window_aggregate *self = (struct window_aggregate *)node;
    int64_t watermark = node_min_input_watermark(node);
    if (self->time.spec.processing_time) {
        watermark = tick->end ? WATERMARK_END : tick->now_us;
    }
    self->cache.valid = false;
    if (watermark >= self->next_close) {
        TRY(window_close_due(self, watermark, err));
        window_set_next_close(self);
    }
    self->fired = watermark > self->fired ? watermark : self->fired;
    node_pass_watermark(node);
    return STATUS_OK;
}

static int64_t window_aggregate_next_timer(const struct node *node)
{
    const struct window_aggregate *self = (const struct window_aggregate *)node;
    return self->time.spec.processing_time ? self->next_close : INT64_MAX;
}

static void window_aggregate_close(struct node *node)
{
    struct window_aggregate *self = (struct window_aggregate *)node;
    struct pane_list *lists[] = {&self->waiting, &self->entered};
    for (uint32_t l = 0; l < ARRAY_LENGTH(lists); l++) {
        for (uint32_t i = 0; i < lists[l]->count; i++) {
            if (lists[l]->items[i] != NULL) {
                window_pane_close(self, lists[l]->items[i]);
            }
        }
        slot_array_free(node_budget(node), lists[l]->items, lists[l]->capacity * sizeof(struct pane *));
    }
    keyed_records_close(&self->layout, &self->running);
    key_table_destroy(self->index);
    window_forget_numbers(self);
}

static const struct node_type window_aggregate_type = {
    .name = "WindowAggregate",
    .receive = window_aggregate_receive,
    .finish_tick = window_aggregate_finish_tick,
    .count_state = window_aggregate_count_state,
    .close = window_aggregate_close,
    .next_timer = window_aggregate_next_timer,
    .save = window_aggregate_save,
    .restore = window_aggregate_restore,
    .restored = window_aggregate_restored,
    .open_cold = window_aggregate_open_cold,
    .saves_in_memory = true,
};

/* States that can be merged cost more than others: made only where windows share panes. */
static enum status make_calls(struct circuit *circuit, const struct window_aggregate_spec *spec, struct window_aggregate *self,
                              struct error *err)
{
    struct call_set_spec calls = {.input = &spec->input, .calls = spec->calls, .call_count = spec->call_count};
    self->panes_are_windows = spec->attached || spec->window.kind == WINDOW_TUMBLE;
    calls.merges = !self->panes_are_windows;
    TRY(call_set_create(circuit, &calls, &self->calls, err));
    if (calls.merges && !call_set_mergeable(self->calls)) {
        self->panes_are_windows = true;
        calls.merges = false;
        TRY(call_set_create(circuit, &calls, &self->calls, err));
    }
    return STATUS_OK;
}

enum status window_aggregate_create(struct circuit *circuit, const struct window_aggregate_spec *spec, struct node *input,
                                    struct node **node, struct error *err)
{
    static const struct type *const index_types[] = {&type_bigint_not_null, &type_bigint_not_null};
    static const uint32_t index_bytes = sizeof(struct pane *);
    struct window_aggregate *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->fired = WATERMARK_NONE;
    self->next_close = INT64_MAX;
    self->stamp = 1;
    bool has_time = !spec->window.processing_time && !spec->attached;
    const struct type *type = has_time ? spec->input.schema->columns[spec->window.time_column].type : NULL;
    window_time_open(&self->time, &spec->window, type, circuit->evaluation.zone);
    self->step = spec->window.kind == WINDOW_TUMBLE ? spec->window.size_us : spec->window.slide_us;
    TRY(make_calls(circuit, spec, self, err));
    TRY(keyed_layout_open(&self->layout, &self->node, circuit, &spec->input, spec->keys, spec->key_count, self->calls, spec->call_count,
                          err));
    if (!self->panes_are_windows) {
        keyed_layout_merge(&self->layout);
    }
    TRY(key_table_create(circuit->budget, index_types, 2, &index_bytes, 1, &self->index, err));
    enum status status = circuit_add(circuit, &self->node, &window_aggregate_type, "WindowAggregate", &input, 1, err);
    if (status != STATUS_OK) {
        key_table_destroy(self->index);
        return status;
    }
    *node = &self->node;
    return window_aggregate_declare(self, err);
}
