/* circuit/operators/session_window.c: SESSION, as an aggregate or as a table function.
 *
 * Aggregate   Calls that can be merged are kept as states per session: a chunk's rows are placed one by one (sessions are made and merged),
 *             then the states are updated call by call. When a session closes its row is emitted.
 * Rows        The table function, DISTINCT, calls that cannot be merged, and GROUP BY with more keys than delimit the session: a session
 *             keeps its rows; when it closes they are emitted, or aggregated as one batch.
 * Late        is judged after merging (session_list.h). Sessions do not shrink when a row is withdrawn.
 */
#include <string.h>

#include "circuit/operators/row_output.h"
#include "circuit/operators/session_window_internal.h"

static enum status kept_rows_need(struct session_window *self, struct kept_rows *kept, uint32_t more, struct error *err)
{
    if (kept->count + more <= kept->capacity) {
        return STATUS_OK;
    }
    uint32_t capacity = kept->capacity * 2 > kept->count + more ? kept->capacity * 2 : kept->count + more;
    struct kept_row *grown;
    TRY_ALLOC(grown, slab_resize(&self->states.heap, kept->items, kept->capacity * sizeof *grown, capacity * sizeof *grown), err);
    kept->items = grown;
    kept->capacity = capacity;
    return STATUS_OK;
}

static enum status kept_rows_clear(struct session_window *self, struct kept_rows *kept, struct error *err)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < kept->count; i++) {
        status = status == STATUS_OK ? touched_rows_mark(&self->changed, kept->items[i].row, err) : status;
        row_store_free(self->rows, kept->items[i].row);
    }
    slab_free(&self->states.heap, kept->items, kept->capacity * sizeof *kept->items);
    *kept = (struct kept_rows){0};
    return status;
}

static enum status merge_sessions(void *owner, uint32_t into, uint32_t from, struct error *err)
{
    struct session_window *self = owner;
    if (self->rows == NULL) {
        TRY(call_set_merge(self->calls, &self->states, session_extra(self, into), session_extra(self, from), 1, err));
        call_set_clear(self->calls, &self->states, session_extra(self, from));
        return STATUS_OK;
    }
    struct kept_rows *to = session_kept(self, into), *other = session_kept(self, from);
    TRY(kept_rows_need(self, to, other->count, err));
    for (uint32_t i = 0; i < other->count; i++) {
        TRY(touched_rows_mark(&self->changed, other->items[i].row, err)); /* it changes its session */
    }
    if (other->count > 0) {
        memcpy(to->items + to->count, other->items, other->count * sizeof *other->items);
    }
    to->count += other->count;
    to->owed += other->owed;
    other->count = 0;
    return kept_rows_clear(self, other, err);
}

enum status session_append_row(struct session_window *self, uint32_t number, const struct kept_row *row, struct error *err)
{
    struct kept_rows *kept = session_kept(self, number);
    TRY(kept_rows_need(self, kept, 1, err));
    kept->items[kept->count++] = *row;
    kept->owed += row->weight < 0;
    return touched_rows_mark(&self->changed, row->row, err);
}

/* Adds a row to its session's, or takes an equal one away: a withdrawal one that is there, a row one that was withdrawn before it came. */
static enum status keep_row(struct session_window *self, uint32_t number, struct kept_row row, struct error *err)
{
    struct kept_rows *kept = session_kept(self, number);
    bool cancels = row.weight < 0 || kept->owed > 0;
    for (uint32_t i = 0; cancels && i < kept->count; i++) {
        struct kept_row *item = &kept->items[i];
        bool opposite = row.weight < 0 || item->weight < 0;
        if (opposite && row_store_hash(self->rows, item->row) == row_store_hash(self->rows, row.row) &&
            row_store_equal(self->rows, item->row, row.row)) {
            kept->owed -= item->weight < 0;
            item->weight += row.weight;
            kept->owed += item->weight < 0;
            row_store_free(self->rows, row.row);
            TRY(touched_rows_mark(&self->changed, item->row, err));
            if (item->weight == 0) {
                row_store_free(self->rows, item->row);
                kept->count--;
                memmove(item, item + 1, (kept->count - i) * sizeof *item);
            }
            return STATUS_OK;
        }
    }
    return session_append_row(self, number, &row, err);
}

static enum status keep_rows(struct session_window *self, const struct batch *placed, struct error *err)
{
    row_handle handles[CHUNK_ROWS];
    struct selection rows = batch_selection(placed);
    TRY(row_store_add(self->rows, placed, handles, err));
    self->ordered = placed->ordered;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        int64_t ordinal = placed->ordered ? batch_ordinal(placed, row) : 0;
        enum status status = keep_row(self, self->numbers[k], (struct kept_row){handles[k], batch_weight(placed, row), ordinal}, err);
        if (status != STATUS_OK) {
            row_store_free(self->rows, handles[k]);
            return status;
        }
    }
    return STATUS_OK;
}

static bool local_time(struct session_window *self, const struct batch *batch, uint32_t row, int64_t *local)
{
    if (self->time.spec.processing_time) {
        *local = window_time_to_local(&self->time, node_evaluation(&self->node)->now_us);
        return true;
    }
    const struct vector *times = &batch->columns[self->time.spec.time_column];
    if (!vector_is_valid(times, row)) {
        self->node.metrics.null_time++;
        return false;
    }
    *local = window_time_to_local(&self->time, window_time_of_row(times, row));
    return true;
}

/* Finds the sessions of the rows; leaves those that are not late in `placed`, with their sessions in `numbers`. */
static enum status place_rows(struct session_window *self, const struct batch *batch, uint32_t *placed_count, struct error *err)
{
    struct selection rows = batch_selection(batch);
    uint32_t count = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        int64_t local, watermark = batch_watermark(batch, row);
        uint32_t number = SESSION_NONE;
        if (local_time(self, batch, row, &local)) {
            watermark = watermark > self->fired ? watermark : self->fired;
            TRY(session_list_touch(&self->sessions, self->slots[k], local, watermark, &number, err));
            self->node.metrics.late += number == SESSION_NONE;
        }
        if (number != SESSION_NONE) {
            session_at(&self->sessions, number)->weight += batch_weight(batch, row);
        }
        self->placed[count] = (uint16_t)row;
        self->numbers[count] = number;
        count += number != SESSION_NONE;
    }
    for (uint32_t k = 0; count < rows.count && k < rows.count; k++) {
        TRY(session_list_drop_key(&self->sessions, self->slots[k], err));
    }
    for (uint32_t k = 0; k < count; k++) {
        self->numbers[k] = session_list_resolve(&self->sessions, self->numbers[k]);
    }
    *placed_count = count;
    return STATUS_OK;
}

static enum status session_window_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct session_window *self = (struct session_window *)node;
    const struct window_aggregate_spec *spec = &self->spec->base;
    batch_hash(batch, spec->keys, spec->window.partition_count, self->hashes);
    if (UNLIKELY(self->cold != NULL)) {
        TRY(node_fetch_keys(node, self->cold, batch, spec->keys, self->hashes, err));
    }
    TRY(key_table_find_or_insert(self->sessions.keys, batch, spec->keys, self->hashes, self->slots, err));
    if (UNLIKELY(self->cold != NULL)) {
        TRY(cold_table_reserve(self->cold, err));
    }
    uint32_t count = 0;
    TRY(place_rows(self, batch, &count, err));
    if (count == 0) {
        return STATUS_OK;
    }
    struct batch placed = *batch;
    if (count < batch_rows(batch)) {
        placed.selected = self->placed;
        placed.selected_count = count;
    }
    if (self->rows != NULL) {
        return keep_rows(self, &placed, err);
    }
    return call_set_update(self->calls, &self->states, &placed, self->numbers, self->sessions.records + sizeof(struct session),
                           self->sessions.record_bytes, err);
}

static struct window_bounds bounds_of(const struct session_window *self, uint32_t number)
{
    const struct session *session = session_at(&self->sessions, number);
    return (struct window_bounds){session->first, session->last + self->time.spec.size_us};
}

static struct window_output output_of(const struct session_window *self, struct window_bounds bounds)
{
    const struct window_aggregate_spec *spec = &self->spec->base;
    return (struct window_output){
        .time = &self->time,
        .bounds = bounds,
        .columns = spec->window_columns,
        .column_count = spec->window_column_count,
        .schema = spec->output,
    };
}

static void put_time(struct vector *vector, uint32_t row, int64_t us)
{
    if (vector->physical == PHYSICAL_INT128) {
        vector_int128(vector)[row] = (int128_t)us * 1000;
    } else {
        vector_int64(vector)[row] = us;
    }
}

/* The table function: the collected rows with their windows. */
static enum status flush_rows(struct session_window *self, struct error *err)
{
    const struct schema *schema = self->spec->base.output;
    uint32_t input_count = self->spec->base.input.schema->count, count = self->out_count;
    struct budget *budget = node_budget(&self->node);
    struct batch batch = {0};
    if (count == 0) {
        return STATUS_OK;
    }
    self->out_count = 0;
    TRY(batch_init(&batch, schema->count, err));
    batch.count = count;
    enum status status = row_store_gather(self->rows, self->out_rows, count, NULL, 0, batch.columns, err);
    for (uint32_t i = input_count; i < schema->count && status == STATUS_OK; i++) {
        status = vector_create(budget, schema->columns[i].type, count, &batch.columns[i], err);
    }
    for (uint32_t k = 0; k < count && status == STATUS_OK; k++) {
        put_time(&batch.columns[input_count], k, self->out_bounds[k].start);
        put_time(&batch.columns[input_count + 1], k, self->out_bounds[k].end);
        put_time(&batch.columns[input_count + 2], k, window_time_closes(&self->time, self->out_bounds[k].end));
    }
    int64_t *weights;
    if (status == STATUS_OK && self->spec->base.input.changes &&
        (status = batch_need_weights(budget, &batch, count, &weights, err)) == STATUS_OK) {
        memcpy(weights, self->out_weights, count * sizeof *weights);
    }
    if (status == STATUS_OK) {
        status = node_emit(&self->node, &batch, err);
    }
    batch_release(&batch);
    return status;
}

static enum status emit_rows(struct session_window *self, uint32_t number, struct error *err)
{
    struct kept_rows *kept = session_kept(self, number);
    for (uint32_t i = 0; i < kept->count; i++) {
        if (kept->items[i].weight <= 0) {
            continue;
        }
        self->out_rows[self->out_count] = kept->items[i].row;
        self->out_weights[self->out_count] = kept->items[i].weight;
        self->out_bounds[self->out_count++] = bounds_of(self, number);
        if (self->out_count == CHUNK_ROWS) {
            TRY(flush_rows(self, err));
        }
    }
    return STATUS_OK;
}

/* Rows mode with calls: some kept rows as a batch into the groups of their session. */
static enum status add_kept(struct session_window *self, const struct kept_row *items, uint32_t count, struct keyed_records *groups,
                            struct error *err)
{
    struct batch batch = {0};
    TRY(batch_init(&batch, self->spec->base.input.schema->count, err));
    for (uint32_t i = 0; i < count; i++) {
        self->out_rows[i] = items[i].row;
        self->out_weights[i] = items[i].weight;
        self->out_ordinals[i] = items[i].ordinal;
    }
    batch.count = count;
    batch.weights = self->spec->base.input.changes ? self->out_weights : NULL;
    batch.ordered = self->ordered;
    batch.ordinals = self->out_ordinals;
    enum status status = row_store_gather(self->rows, self->out_rows, count, NULL, 0, batch.columns, err);
    if (status == STATUS_OK) {
        batch_hash(&batch, self->layout.keys, self->layout.key_count, self->hashes);
        status = keyed_records_add(&self->layout, groups, &batch, self->hashes, err);
    }
    batch_release(&batch);
    return status;
}

static enum status aggregate_rows(struct session_window *self, uint32_t number, struct error *err)
{
    const struct kept_rows *kept = session_kept(self, number);
    struct keyed_records groups = {0};
    struct window_output output = output_of(self, bounds_of(self, number));
    enum status status = keyed_records_open(&self->layout, &groups, err);
    for (uint32_t from = 0; from < kept->count && status == STATUS_OK; from += CHUNK_ROWS) {
        uint32_t count = kept->count - from < CHUNK_ROWS ? kept->count - from : CHUNK_ROWS;
        status = add_kept(self, kept->items + from, count, &groups, err);
    }
    if (status == STATUS_OK) {
        status = keyed_records_emit(&self->layout, &groups, &output, err);
    }
    keyed_records_close(&self->layout, &groups);
    return status;
}

struct session_failure {
    struct session_window *self;
    const uint32_t *numbers;
    enum status status;
    struct error *err;
};

static void value_fails(void *owner, uint32_t k, enum error_code code, const char *text)
{
    struct session_failure *failure = owner;
    if (failure->status == STATUS_OK) {
        (void)k;
        failure->status = error_set(failure->err, code, "%s, in a session", text);
    }
}

/* Aggregate mode: one row per session. */
static enum status emit_sessions(struct session_window *self, const uint32_t *numbers, uint32_t count, struct error *err)
{
    const struct window_aggregate_spec *spec = &self->spec->base;
    struct batch batch = {0};
    struct session_failure failure = {self, numbers, STATUS_OK, err};
    uint32_t fixed = spec->key_count + spec->call_count, keys[CHUNK_ROWS];
    for (uint32_t k = 0; k < count; k++) {
        keys[k] = session_at(&self->sessions, numbers[k])->key;
    }
    enum status status = batch_init(&batch, fixed + spec->window_column_count, err);
    batch.count = count;
    for (uint32_t i = 0; i < spec->key_count && status == STATUS_OK; i++) {
        status = key_table_gather(self->sessions.keys, i, keys, count, &batch.columns[i], err);
    }
    if (status == STATUS_OK) {
        status = call_set_values(self->calls, self->sessions.records + sizeof(struct session), self->sessions.record_bytes, numbers, count,
                                 &batch.columns[spec->key_count], value_fails, &failure, err);
    }
    status = status == STATUS_OK ? failure.status : status;
    for (uint32_t i = 0; i < spec->window_column_count && status == STATUS_OK; i++) {
        struct vector *column = &batch.columns[fixed + i];
        status = vector_create(node_budget(&self->node), spec->output->columns[fixed + i].type, count, column, err);
        for (uint32_t k = 0; k < count && status == STATUS_OK; k++) {
            struct window_output output = output_of(self, bounds_of(self, numbers[k]));
            put_time(column, k, window_column_time(&output, spec->window_columns[i], node_evaluation(&self->node)->now_us));
        }
    }
    if (status == STATUS_OK) {
        status = node_emit(&self->node, &batch, err);
    }
    batch_release(&batch);
    return status;
}

/* Emits closed sessions and forgets them. */
static enum status end_sessions(struct session_window *self, const uint32_t *numbers, uint32_t count, struct error *err)
{
    uint32_t standing[CHUNK_ROWS], standing_count = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (session_at(&self->sessions, numbers[k])->weight > 0) {
            standing[standing_count++] = numbers[k];
        }
    }
    enum status status = STATUS_OK;
    if (self->rows == NULL && standing_count > 0) {
        status = emit_sessions(self, standing, standing_count, err);
    }
    for (uint32_t k = 0; self->rows != NULL && k < standing_count && status == STATUS_OK; k++) {
        status = self->calls == NULL ? emit_rows(self, standing[k], err) : aggregate_rows(self, standing[k], err);
    }
    if (status == STATUS_OK) {
        status = flush_rows(self, err);
    }
    for (uint32_t k = 0; k < count && status == STATUS_OK; k++) {
        if (self->rows != NULL) {
            status = kept_rows_clear(self, session_kept(self, numbers[k]), err);
        } else {
            call_set_clear(self->calls, &self->states, session_extra(self, numbers[k]));
        }
        TRY(session_list_release(&self->sessions, numbers[k], err));
    }
    return status;
}

/* The sessions that are in memory. */
static enum status end_closed(struct session_window *self, int64_t watermark, struct error *err)
{
    uint32_t limit = self->node.circuit->settings.chunk_rows;
    limit = limit == 0 || limit > CHUNK_ROWS ? CHUNK_ROWS : limit;
    for (;;) {
        uint32_t count = 0, number = SESSION_NONE;
        while (count < limit) {
            TRY(session_list_next_closed(&self->sessions, watermark, &number, err));
            if (number == SESSION_NONE) {
                break;
            }
            self->numbers[count++] = number;
        }
        if (count == 0) {
            return STATUS_OK;
        }
        TRY(end_sessions(self, self->numbers, count, err));
    }
}

/* Those that are not, a part at a time. */
static enum status end_cold(struct session_window *self, int64_t watermark, struct error *err)
{
    uint32_t count = self->cold == NULL ? 0 : 1;
    while (count > 0) {
        TRY(node_relieve(&self->node, err));
        TRY(cold_table_fetch_due(self->cold, 0, watermark, NULL, &count, err));
        TRY(end_closed(self, watermark, err));
    }
    return STATUS_OK;
}

static void session_count_state(struct node *node)
{
    const struct session_window *self = (const struct session_window *)node;
    node->metrics.state_keys = key_table_count(self->sessions.keys);
    node->metrics.state_bytes =
        session_list_bytes(&self->sessions) + self->states.heap.bytes + (self->rows == NULL ? 0 : row_store_bytes(self->rows));
}

static enum status session_window_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct session_window *self = (struct session_window *)node;
    int64_t watermark = node_min_input_watermark(node);
    if (self->time.spec.processing_time) {
        watermark = tick->end ? WATERMARK_END : tick->now_us;
    }
    TRY(end_closed(self, watermark, err));
    TRY(end_cold(self, watermark, err));
    self->fired = watermark > self->fired ? watermark : self->fired;
    node_pass_watermark(node);
    return STATUS_OK;
}

static int64_t session_window_next_timer(const struct node *node)
{
    const struct session_window *self = (const struct session_window *)node;
    const struct session_list *sessions = &self->sessions;
    int64_t first = sessions->timer_count > 0 ? sessions->timers[0].closes : INT64_MAX;
    int64_t due = self->cold == NULL ? INT64_MAX : cold_table_next_due(self->cold, 0);
    return !self->time.spec.processing_time ? INT64_MAX : due < first ? due : first;
}

static void session_window_close(struct node *node)
{
    struct session_window *self = (struct session_window *)node;
    session_list_close(&self->sessions);
    row_store_destroy(self->rows);
    touched_rows_close(&self->changed);
    state_map_close(&self->restored);
    if (self->calls != NULL) {
        call_states_close(self->calls, &self->states);
    } else {
        slab_close(&self->states.heap);
    }
}

static const struct node_type session_window_type = {
    .name = "SessionWindow",
    .receive = session_window_receive,
    .finish_tick = session_window_finish_tick,
    .count_state = session_count_state,
    .close = session_window_close,
    .next_timer = session_window_next_timer,
    .save = session_window_save,
    .restore = session_window_restore,
    .restored = session_window_restored,
    .open_cold = session_window_open_cold,
    .saves_in_memory = true,
};

/* Chooses between states and kept rows. */
static enum status make_calls(struct circuit *circuit, struct session_window *self, bool *keeps_rows, struct error *err)
{
    const struct window_aggregate_spec *spec = &self->spec->base;
    *keeps_rows = self->spec->rows;
    if (self->spec->rows) {
        return STATUS_OK;
    }
    struct call_set_spec calls = {.input = &spec->input, .calls = spec->calls, .call_count = spec->call_count, .merges = true};
    TRY(call_set_create(circuit, &calls, &self->calls, err));
    *keeps_rows = !call_set_mergeable(self->calls) || spec->key_count > spec->window.partition_count;
    if (*keeps_rows) {
        calls.merges = false;
        TRY(call_set_create(circuit, &calls, &self->calls, err));
    }
    return STATUS_OK;
}

static enum status open_state(struct circuit *circuit, struct session_window *self, bool keeps_rows, struct error *err)
{
    const struct window_aggregate_spec *spec = &self->spec->base;
    if (self->calls != NULL) {
        call_states_open(self->calls, circuit->budget, &self->states);
    } else {
        slab_open(&self->states.heap, circuit->budget, SLAB_GRAIN);
    }
    const struct type **key_types;
    TRY_ALLOC(key_types, arena_alloc(circuit->arena, (spec->window.partition_count + 1) * sizeof *key_types), err);
    for (uint32_t i = 0; i < spec->window.partition_count; i++) {
        key_types[i] = spec->input.schema->columns[spec->keys[i]].type;
    }
    if (keeps_rows) {
        TRY(schema_types(circuit->arena, spec->input.schema, &self->types, err));
        TRY(row_store_create(circuit->budget, self->types, spec->input.schema->count, &self->rows, err));
    }
    if (keeps_rows && self->calls != NULL) {
        TRY(keyed_layout_open(&self->layout, &self->node, circuit, &spec->input, spec->keys, spec->key_count, self->calls, spec->call_count,
                              err));
    }
    uint32_t extra = keeps_rows ? (uint32_t)sizeof(struct kept_rows) : call_set_bytes(self->calls);
    self->sessions.merge = merge_sessions;
    self->sessions.owner = self;
    return session_list_open(&self->sessions, circuit->budget, &self->time, key_types, spec->window.partition_count, extra, err);
}

enum status session_window_create(struct circuit *circuit, const struct session_window_spec *spec, struct node *input, struct node **node,
                                  struct error *err)
{
    struct session_window *self;
    const struct window_spec *window = &spec->base.window;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->fired = WATERMARK_NONE;
    const struct type *type = window->processing_time ? NULL : spec->base.input.schema->columns[window->time_column].type;
    window_time_open(&self->time, window, type, circuit->evaluation.zone);
    bool keeps_rows;
    TRY(make_calls(circuit, self, &keeps_rows, err));
    enum status status = open_state(circuit, self, keeps_rows, err);
    if (status == STATUS_OK) {
        status = circuit_add(circuit, &self->node, &session_window_type, "SessionWindow", &input, 1, err);
    }
    if (status != STATUS_OK) {
        row_store_destroy(self->rows);
        key_table_destroy(self->sessions.keys);
        return status;
    }
    *node = &self->node;
    return session_window_declare(self, err);
}
