/* circuit/operators/program_node.c: a program's functions, called tick by tick.
 *
 * State        the program's tables; "timers by the clock", "timers by the watermark"; "inputs that have ended": the names of those of
 *              which the program knows. A plan has one program, and its state is found whatever feeds it and whatever
 *              the job is called.
 * Windows      are multiples of their length, so when the next one is due is no state.
 */
#include "circuit/operators/program_node.h"

#include "base/cancel.h"
#include "circuit/operators/program_timers.h"

enum program_timer_kind { TIMERS_CLOCK, TIMERS_WATERMARK, TIMERS_KINDS };

struct program_node {
    struct node node;
    const struct program_spec *spec;
    struct program_table *tables;
    struct program_timers timers[TIMERS_KINDS];
    struct node **outputs;
    bool *ended; /* by input: the program knows */
    bool opened, ended_changed;
    int64_t window_at_us; /* INT64_MAX: never */
    struct text_builder key;
};

static const struct column ended_columns[] = {{.name = "input", .type = &type_bytes}};
static const struct schema ended_schema = {ARRAY_LENGTH(ended_columns), ended_columns};

static const struct program_host *host_of(const struct program_node *self)
{
    return self->spec->host;
}

enum status program_node_open(struct node *program, struct error *err)
{
    struct program_node *self = (struct program_node *)program;
    if (self->opened) {
        return STATUS_OK;
    }
    TRY(host_of(self)->open(host_of(self)->context, program, err));
    self->opened = true;
    return STATUS_OK;
}

/* ---- a tick ---- */

static enum status program_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    struct program_node *self = (struct program_node *)node;
    struct batch dense;
    TRY(program_node_open(node, err));
    TRY(batch_ref(batch, &dense, err));
    enum status status = batch_compact(node_budget(node), &dense, err);
    if (status == STATUS_OK) {
        status = host_of(self)->rows(host_of(self)->context, input, &dense, err);
    }
    batch_release(&dense);
    return status;
}

static void plan_window(struct program_node *self, int64_t now_us)
{
    int64_t length = self->spec->window_us;
    self->window_at_us = length == 0 ? INT64_MAX : (now_us / length + 1) * length;
}

static enum status run_window(struct program_node *self, int64_t now_us, struct error *err)
{
    if (now_us < self->window_at_us) {
        return STATUS_OK;
    }
    plan_window(self, now_us);
    return host_of(self)->window(host_of(self)->context, err);
}

static int64_t floor_ms(int64_t us)
{
    return us == INT64_MAX ? INT64_MAX : us == INT64_MIN ? INT64_MIN : us / 1000 - (us % 1000 < 0);
}

static enum status run_timers(struct program_node *self, enum program_timer_kind kind, int64_t until_us, struct error *err)
{
    const struct program_host *host = host_of(self);
    struct program_timers *timers = &self->timers[kind];
    int64_t until_ms = floor_ms(until_us), time_ms;
    bool found = until_us != INT64_MIN;
    while (found) {
        TRY(program_timers_take(timers, until_ms, &self->key, &time_ms, &found, err));
        if (found) {
            struct text key = {self->key.bytes == NULL ? "" : self->key.bytes, self->key.length};
            TRY(host->timer(host->context, kind == TIMERS_WATERMARK, time_ms, key, err));
            if (self->node.circuit->cancelled != NULL) { /* one that sets itself again and again for a time that is over */
                TRY(cancel_check(self->node.circuit->cancelled, err));
            }
        }
    }
    return STATUS_OK;
}

static enum status run_ends(struct program_node *self, struct error *err)
{
    for (uint32_t i = 0; i < self->spec->input_count; i++) {
        if (!self->ended[i] && node_input_watermark(&self->node, i) == WATERMARK_END) {
            self->ended[i] = self->ended_changed = true;
            TRY(host_of(self)->ended(host_of(self)->context, i, err));
        }
    }
    return STATUS_OK;
}

static enum status program_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct program_node *self = (struct program_node *)node;
    TRY(program_node_open(node, err));
    TRY(host_of(self)->settle(host_of(self)->context, err));
    if (node->circuit->ends) {
        node_pass_watermark(node);
        return STATUS_OK;
    }
    int64_t watermark = node_min_input_watermark(node);
    TRY(run_window(self, tick->now_us, err));
    TRY(run_timers(self, TIMERS_CLOCK, tick->now_us, err));
    TRY(run_timers(self, TIMERS_WATERMARK, watermark, err));
    TRY(run_ends(self, err));
    TRY(run_timers(self, TIMERS_WATERMARK, watermark, err)); /* of what was set at the end */
    node_pass_watermark(node);
    return STATUS_OK;
}

static int64_t program_next_timer(const struct node *node)
{
    struct program_node *self = (struct program_node *)(uintptr_t)node;
    int64_t timer_ms = program_timers_next(&self->timers[TIMERS_CLOCK]);
    int64_t timer_us = timer_ms > INT64_MAX / 1000 ? INT64_MAX : timer_ms < INT64_MIN / 1000 ? INT64_MIN : timer_ms * 1000;
    return timer_us < self->window_at_us ? timer_us : self->window_at_us;
}

static enum status program_committed(struct node *node, uint64_t checkpoint, struct error *err)
{
    (void)err;
    struct program_node *self = (struct program_node *)node;
    if (self->opened) {
        host_of(self)->committed(host_of(self)->context, checkpoint);
    }
    return STATUS_OK;
}

static void program_count_state(struct node *node)
{
    const struct program_node *self = (const struct program_node *)node;
    node->metrics.state_keys = node->metrics.state_bytes = 0;
    for (uint32_t i = 0; i < self->spec->table_count; i++) {
        node->metrics.state_keys += key_table_count(self->tables[i].table);
        node->metrics.state_bytes += program_table_bytes(&self->tables[i]);
    }
    for (uint32_t kind = 0; kind < TIMERS_KINDS; kind++) {
        node->metrics.state_keys += key_table_count(self->timers[kind].table.table);
        node->metrics.state_bytes += program_table_bytes(&self->timers[kind].table);
    }
}

static void program_close(struct node *node)
{
    struct program_node *self = (struct program_node *)node;
    if (self->opened) {
        host_of(self)->close(host_of(self)->context);
    }
    for (uint32_t i = 0; i < self->spec->table_count; i++) {
        program_table_close(&self->tables[i]);
    }
    for (uint32_t kind = 0; kind < TIMERS_KINDS; kind++) {
        program_timers_close(&self->timers[kind]);
    }
    text_builder_close(&self->key);
}

/* ---- what the program asks for ---- */

int64_t program_node_watermark(const struct node *program)
{
    return program->watermark;
}

struct program_table *program_node_table(struct node *program, uint32_t number)
{
    return &((struct program_node *)program)->tables[number];
}

struct node *program_node_output(struct node *program, uint32_t number)
{
    return ((struct program_node *)program)->outputs[number];
}

static struct program_timers *timers_of(struct node *program, bool watermark)
{
    return &((struct program_node *)program)->timers[watermark ? TIMERS_WATERMARK : TIMERS_CLOCK];
}

enum status program_node_set_timer(struct node *program, bool watermark, int64_t time_ms, struct text key, struct error *err)
{
    return program_timers_set(timers_of(program, watermark), key, time_ms, err);
}

enum status program_node_cancel_timer(struct node *program, bool watermark, struct text key, struct error *err)
{
    return program_timers_cancel(timers_of(program, watermark), key, err);
}

/* ---- state ---- */

static enum status save_ended(struct program_node *self, struct snapshot_writer *writer, uint32_t table, struct error *err)
{
    if (!snapshot_is_full(writer) && !self->ended_changed) {
        return STATUS_OK;
    }
    self->ended_changed = false;
    if (!snapshot_is_full(writer)) {
        TRY(snapshot_replace(writer, table, err));
    }
    for (uint32_t i = 0; i < self->spec->input_count; i++) {
        struct snapshot_cell cell = {.bytes = text_from(self->spec->input_names[i])};
        if (self->ended[i]) {
            TRY(snapshot_write_cells(writer, table, i, &cell, err));
        }
    }
    return STATUS_OK;
}

static enum status program_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct program_node *self = (struct program_node *)node;
    uint32_t table = 0;
    for (; table < self->spec->table_count; table++) {
        TRY(program_table_save(&self->tables[table], writer, table, err));
    }
    for (uint32_t kind = 0; kind < TIMERS_KINDS; kind++) {
        TRY(program_table_save(&self->timers[kind].table, writer, table++, err));
    }
    return save_ended(self, writer, table, err);
}

static void restore_ended(struct program_node *self, const struct batch *batch)
{
    for (uint32_t row = 0; row < batch->count; row++) {
        for (uint32_t i = 0; i < self->spec->input_count; i++) {
            self->ended[i] = self->ended[i] || text_equal(snapshot_text(batch, row, 0), text_from(self->spec->input_names[i]));
        }
    }
}

static enum status program_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct program_node *self = (struct program_node *)node;
    uint32_t count = self->spec->table_count;
    if (table < count) {
        return program_table_restore(&self->tables[table], rows, err);
    }
    if (table < count + TIMERS_KINDS) {
        return program_table_restore(&self->timers[table - count].table, rows, err);
    }
    restore_ended(self, rows->batch);
    return STATUS_OK;
}

static enum status program_restored(struct node *node, struct error *err)
{
    struct program_node *self = (struct program_node *)node;
    self->ended_changed = true;
    for (uint32_t kind = 0; kind < TIMERS_KINDS; kind++) {
        TRY(program_timers_restored(&self->timers[kind], err));
    }
    return STATUS_OK;
}

static const struct node_type program_node_type = {
    .name = "Program",
    .receive = program_receive,
    .finish_tick = program_finish_tick,
    .count_state = program_count_state,
    .close = program_close,
    .next_timer = program_next_timer,
    .save = program_save,
    .restore = program_restore,
    .restored = program_restored,
    .committed = program_committed,
};

/* ---- making it ---- */

static enum status open_tables(struct program_node *self, struct circuit *circuit, struct error *err)
{
    static const char *const timer_names[TIMERS_KINDS] = {"timers by the clock", "timers by the watermark"};
    const struct program_spec *spec = self->spec;
    struct snapshot_table *declared;
    uint32_t count = spec->table_count + TIMERS_KINDS + 1;
    TRY_ALLOC(declared, arena_alloc(circuit->arena, count * sizeof *declared), err);
    for (uint32_t i = 0; i < spec->table_count; i++) {
        const struct program_table_spec *table = &spec->tables[i];
        TRY(program_table_open(&self->tables[i], circuit, table->name, table->schema, table->key_count, err));
        declared[i] = (struct snapshot_table){.name = table->name, .schema = table->schema, .place = SNAPSHOT_ONE, .expiry = -1};
    }
    for (uint32_t kind = 0; kind < TIMERS_KINDS; kind++) {
        TRY(program_timers_open(&self->timers[kind], circuit, timer_names[kind], err));
        declared[spec->table_count + kind] =
            (struct snapshot_table){.name = timer_names[kind], .schema = &program_timers_schema, .place = SNAPSHOT_ONE, .expiry = -1};
    }
    declared[count - 1] =
        (struct snapshot_table){.name = "inputs that have ended", .schema = &ended_schema, .place = SNAPSHOT_ONE, .expiry = -1};
    self->node.tables = declared;
    self->node.table_count = count;
    return STATUS_OK;
}

enum status program_node_create(struct circuit *circuit, const struct program_spec *spec, struct node *const *inputs, struct node **node,
                                struct error *err)
{
    struct program_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    TRY_ALLOC(self->tables, arena_alloc(circuit->arena, (spec->table_count + 1) * sizeof *self->tables), err);
    TRY_ALLOC(self->outputs, arena_alloc(circuit->arena, (spec->output_count + 1) * sizeof(struct node *)), err);
    TRY_ALLOC(self->ended, arena_alloc(circuit->arena, spec->input_count + 1), err);
    plan_window(self, circuit->evaluation.now_us);
    TRY(circuit_add(circuit, &self->node, &program_node_type, "program", inputs, spec->input_count, err));
    TRY(open_tables(self, circuit, err));
    *node = &self->node;
    return STATUS_OK;
}

void program_node_connect(struct node *program, uint32_t number, struct node *output)
{
    ((struct program_node *)program)->outputs[number] = output;
}
