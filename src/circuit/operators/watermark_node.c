/* circuit/operators/watermark_node.c: follows the event time of a table.
 *
 * Each partition has a watermark of its own. After a row the candidate (the WATERMARK expression) becomes it when it is ahead by more than
 * the interval (at once with on-event). The table's watermark is the minimum over partitions that have not ended and are not idle; it never
 * goes back. A chunk gets the hidden column "the table's watermark before this row" when one of its rows could be late: its smallest event
 * time, cut to milliseconds, is not above the largest watermark that a row of the chunk could meet. An unbounded partition that is caught
 * up and quiet for the interval passes its candidate too.
 *
 * State: "partitions", the clock of each partition that this worker reads; "watermark", this worker's. All workers take all of it: a partition
 * may be read by another one, and what the rows downstream have seen is the smallest watermark of all.
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "circuit/operators/source_node.h"
#include "circuit/operators/specs.h"
#include "connectors/dead_letter.h"
#include "data/calendar.h"
#include "functions/program.h"

struct partition_clock {
    int64_t watermark, candidate; /* candidate: the largest seen */
};
struct watermark_node {
    struct node node;
    const struct watermark_spec *spec;
    struct program *program;
    struct partition_clock *clocks; /* by partition number */
    uint32_t partition_count;
    int64_t table_watermark;
    const char **names;
    int64_t *scratch_times, *scratch_candidates;
    int64_t restored; /* the smallest watermark that was restored */
    struct row_failures failures;
};

/* Event times as microseconds, WATERMARK_NONE for NULL. Nanoseconds are floored. */
static const int64_t *times_of(const struct vector *vector, uint32_t count, int64_t *scratch)
{
    if (vector->physical == PHYSICAL_INT64 && vector->validity == NULL) {
        return vector_int64(vector);
    }
    for (uint32_t row = 0; row < count; row++) {
        if (!vector_is_valid(vector, row)) {
            scratch[row] = WATERMARK_NONE;
        } else if (vector->physical == PHYSICAL_INT64) {
            scratch[row] = vector_int64(vector)[row];
        } else {
            int128_t ns = vector_int128(vector)[row];
            scratch[row] = (int64_t)((ns - (ns < 0 ? 999 : 0)) / 1000);
        }
    }
    return scratch;
}

static bool partition_counts(const struct watermark_node *self, uint32_t partition, int64_t now_us)
{
    const struct partition_state *state = source_node_partition(self->spec->source, partition);
    if (state == NULL || state->ended) {
        return false;
    }
    int64_t timeout = self->spec->idle_timeout_us;
    return timeout == 0 || !state->caught_up || now_us - state->last_rows_us < timeout;
}

/* The minimum over the other partitions that count; WATERMARK_END when there are none. */
static int64_t minimum_of_others(const struct watermark_node *self, uint32_t partition, int64_t now_us)
{
    int64_t minimum = WATERMARK_END;
    for (uint32_t p = 0; p < self->partition_count; p++) {
        if (p != partition && partition_counts(self, p, now_us)) {
            int64_t watermark = self->clocks[p].watermark;
            minimum = watermark < minimum ? watermark : minimum;
        }
    }
    return minimum;
}

static int64_t minimum_time(const int64_t *times, struct selection rows)
{
    int64_t minimum = INT64_MAX;
    for (uint32_t k = 0; k < rows.count; k++) {
        int64_t time = times[selection_row(&rows, k)];
        int64_t value = time == WATERMARK_NONE ? INT64_MAX : time;
        minimum = value < minimum ? value : minimum;
    }
    return minimum;
}

static int64_t larger(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

static int64_t smaller(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

/* Moves the partition's clock over the rows; before[row] (may be NULL) gets the table's watermark before each. */
static void clock_follow(struct watermark_node *self, struct partition_clock *clock, const int64_t *candidates, struct selection rows,
                         int64_t others, int64_t *before)
{
    int64_t interval = self->spec->interval_us;
    int64_t watermark = clock->watermark, seen = clock->candidate, table = self->table_watermark;
    int64_t limit = watermark == WATERMARK_NONE ? WATERMARK_NONE : watermark + interval;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (before != NULL) {
            table = larger(table, smaller(others, watermark));
            before[row] = table;
        }
        int64_t candidate = candidates[row];
        seen = candidate > seen ? candidate : seen;
        if (candidate > limit) {
            watermark = candidate;
            limit = candidate > INT64_MAX - interval ? INT64_MAX : candidate + interval;
        }
    }
    clock->watermark = watermark;
    clock->candidate = seen;
}

static void describe_future(const struct watermark_node *self, const struct batch *batch, uint32_t row, int64_t time_us, char position[64],
                            char text[256])
{
    int64_t ahead_s = (time_us - node_evaluation(&self->node)->now_us) / US_PER_SECOND;
    snprintf(position, 64, "row %lld of partition %u", (long long)batch_ordinal(batch, row), batch->partition);
    snprintf(text, 256, "has an event time %lld s ahead of the clock, in column '%.128s'", (long long)ahead_s,
             self->names[self->spec->time_column]);
}

/* What becomes of a row too far ahead of the job's clock. */
static enum status refuse_future(struct watermark_node *self, const struct batch *batch, uint32_t row, int64_t time_us, struct error *err)
{
    char position[64], text[256], code[16];
    struct source_counters *counters = self->spec->counters;
    describe_future(self, batch, row, time_us, position, text);
    if (self->spec->skew_fails) {
        return error_set(err, ERROR_TIME_IN_FUTURE, "table '%s', %s %s", self->spec->table, position, text);
    }
    if (self->spec->dead_letter == NULL) {
        counters->dropped++;
        return STATUS_OK;
    }
    snprintf(code, sizeof code, "SPATE-%d", (int)ERROR_TIME_IN_FUTURE);
    struct letter_fields fields = {
        .source = text_from(self->spec->table), .position = text_from(position), .code = text_from(code), .message = text_from(text)};
    fields.message.length = utf8_valid_length(text, fields.message.length);
    counters->failed++;
    counters->dead_lettered++;
    return dead_letter_push(self->spec->dead_letter, &fields, err);
}

/* Without rows too far ahead of the job's clock. */
static enum status drop_future(struct watermark_node *self, struct batch *batch, const int64_t *times, struct error *err)
{
    int64_t limit = node_evaluation(&self->node)->now_us + self->spec->max_future_skew_us;
    struct selection rows = batch_selection(batch);
    uint16_t kept[CHUNK_ROWS];
    uint32_t count = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        bool ahead = times[row] != WATERMARK_NONE && times[row] > limit;
        if (ahead) {
            TRY(refuse_future(self, batch, row, times[row], err));
        }
        kept[count] = (uint16_t)row;
        count += !ahead;
    }
    if (count == rows.count) {
        return STATUS_OK;
    }
    uint16_t *selected;
    buffer_unref(batch->selected_buffer);
    batch->selected_buffer = NULL;
    TRY(batch_need_selection(node_budget(&self->node), batch, &selected, err));
    memcpy(selected, kept, count * sizeof kept[0]);
    batch->selected = selected;
    batch->selected_count = count;
    return STATUS_OK;
}

static enum status watermark_follow(struct watermark_node *self, struct batch *batch, const int64_t *times, struct error *err)
{
    TRY(program_run(self->program, batch, &self->failures, err));
    if (self->failures.count > 0) {
        return row_failures_raise(&self->failures, batch, self->names, node_evaluation(&self->node)->zone, err);
    }
    struct partition_clock *clock = &self->clocks[batch->partition];
    const int64_t *candidates = times_of(program_result(self->program, 0), batch->count, self->scratch_candidates);
    struct selection rows = batch_selection(batch);
    int64_t others = minimum_of_others(self, batch->partition, node_evaluation(&self->node)->now_us);
    struct partition_clock after = *clock;
    clock_follow(self, &after, candidates, rows, others, NULL);
    int64_t reached = larger(self->table_watermark, smaller(others, after.watermark));
    int64_t first_ms = minimum_time(times, rows);
    first_ms = first_ms == INT64_MAX ? INT64_MAX : floor_divide(first_ms, US_PER_MS) * US_PER_MS;
    if (self->spec->always_hidden || first_ms <= reached) {
        int64_t *before;
        TRY(batch_need_watermarks(node_budget(&self->node), batch, batch->count, &before, err));
        clock_follow(self, clock, candidates, rows, others, before);
    }
    *clock = after;
    self->table_watermark = reached;
    return STATUS_OK;
}

static enum status watermark_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct watermark_node *self = (struct watermark_node *)node;
    struct batch rows = {0};
    TRY(batch_ref(batch, &rows, err));
    const int64_t *times = times_of(&rows.columns[self->spec->time_column], rows.count, self->scratch_times);
    enum status status = STATUS_OK;
    if (self->spec->max_future_skew_us > 0) {
        status = drop_future(self, &rows, times, err);
    }
    if (status == STATUS_OK && batch_rows(&rows) > 0) {
        status = watermark_follow(self, &rows, times, err);
    }
    if (status == STATUS_OK) {
        status = node_emit(node, &rows, err);
    }
    batch_release(&rows);
    return status;
}

/* A quiet unbounded partition: its candidate becomes its watermark, as by Flink's timer. */
static void pass_candidates(struct watermark_node *self, int64_t now_us)
{
    for (uint32_t p = 0; p < self->partition_count; p++) {
        const struct partition_state *state = source_node_partition(self->spec->source, p);
        if (state != NULL && !state->ended && state->caught_up && now_us - state->last_rows_us >= self->spec->interval_us) {
            self->clocks[p].watermark = larger(self->clocks[p].watermark, self->clocks[p].candidate);
        }
    }
}

static enum status watermark_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)err;
    struct watermark_node *self = (struct watermark_node *)node;
    if (node_input_watermark(node, 0) == WATERMARK_END) {
        node->watermark = WATERMARK_END;
        return STATUS_OK;
    }
    if (!source_node_is_bounded(self->spec->source)) {
        pass_candidates(self, tick->now_us);
    }
    int64_t minimum = minimum_of_others(self, UINT32_MAX, tick->now_us);
    if (minimum != WATERMARK_END) { /* all idle: it stays where it is */
        self->table_watermark = larger(self->table_watermark, minimum);
    }
    node->watermark = larger(node->watermark, self->table_watermark);
    return STATUS_OK;
}

static int64_t watermark_node_next_timer(const struct node *node)
{
    const struct watermark_node *self = (const struct watermark_node *)node;
    int64_t next = INT64_MAX;
    if (source_node_is_bounded(self->spec->source)) {
        return next;
    }
    for (uint32_t p = 0; p < self->partition_count; p++) {
        const struct partition_state *state = source_node_partition(self->spec->source, p);
        if (state == NULL || state->ended || !state->caught_up) {
            continue;
        }
        if (self->clocks[p].candidate > self->clocks[p].watermark) {
            next = smaller(next, state->last_rows_us + self->spec->interval_us);
        }
        int64_t idle_at = state->last_rows_us + self->spec->idle_timeout_us;
        if (self->spec->idle_timeout_us > 0 && idle_at > node->circuit->evaluation.now_us) {
            next = smaller(next, idle_at);
        }
    }
    return next;
}

static void watermark_node_close(struct node *node)
{
    program_destroy(((struct watermark_node *)node)->program);
}

/* ---- state ---- */

enum { TABLE_PARTITIONS, TABLE_WATERMARK };
static const struct column partition_columns[] = {{.name = "watermark", .type = &type_bigint_not_null},
                                                  {.name = "candidate", .type = &type_bigint_not_null}};
static const struct schema partitions_schema = {ARRAY_LENGTH(partition_columns), partition_columns},
                           watermark_schema = {1, partition_columns};
static const struct snapshot_table watermark_tables[] = {
    [TABLE_PARTITIONS] = {.name = "partitions", .schema = &partitions_schema, .place = SNAPSHOT_EVERY, .expiry = -1},
    [TABLE_WATERMARK] = {.name = "watermark", .schema = &watermark_schema, .place = SNAPSHOT_EVERY, .expiry = -1},
};

/* Few rows: always whole. */
static enum status watermark_node_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    const struct watermark_node *self = (const struct watermark_node *)node;
    for (uint32_t table = 0; table < ARRAY_LENGTH(watermark_tables) && !snapshot_is_full(writer); table++) {
        TRY(snapshot_replace(writer, table, err));
    }
    for (uint32_t p = 0; p < self->partition_count; p++) {
        const struct snapshot_cell cells[] = {{.number = self->clocks[p].watermark}, {.number = self->clocks[p].candidate}};
        if (source_node_partition(self->spec->source, p) != NULL) {
            TRY(snapshot_write_cells(writer, TABLE_PARTITIONS, p, cells, err));
        }
    }
    const struct snapshot_cell watermark = {.number = node->watermark};
    return snapshot_write_cells(writer, TABLE_WATERMARK, 0, &watermark, err);
}

static enum status watermark_node_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)err;
    struct watermark_node *self = (struct watermark_node *)node;
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        int64_t watermark = snapshot_number(rows->batch, row, 0);
        if (table == TABLE_WATERMARK) {
            self->restored = smaller(self->restored, watermark);
        } else if (rows->ids[row] < self->partition_count) {
            self->clocks[rows->ids[row]] = (struct partition_clock){watermark, snapshot_number(rows->batch, row, 1)};
        }
    }
    return STATUS_OK;
}

/* A worker without partitions, or whose partitions have all ended, says WATERMARK_END: it does not count unless all say so. */
static enum status watermark_node_restored(struct node *node, struct error *err)
{
    (void)err;
    struct watermark_node *self = (struct watermark_node *)node;
    node->watermark = self->restored;
    self->table_watermark = self->restored == WATERMARK_END ? WATERMARK_NONE : self->restored;
    return STATUS_OK;
}

static const struct node_type watermark_node_type = {
    .name = "Watermark",
    .kept = NODE_KEPT_BESIDE_STATE,
    .receive = watermark_node_receive,
    .finish_tick = watermark_node_finish_tick,
    .close = watermark_node_close,
    .next_timer = watermark_node_next_timer,
    .save = watermark_node_save,
    .restore = watermark_node_restore,
    .restored = watermark_node_restored,
};

enum status watermark_node_create(struct circuit *circuit, const struct watermark_spec *spec, struct node *input, struct node **node,
                                  struct error *err)
{
    struct watermark_node *self;
    struct arena *arena = circuit->arena;
    TRY_ALLOC(self, arena_alloc(arena, sizeof *self), err);
    self->spec = spec;
    self->partition_count = source_node_partition_count(spec->source);
    self->table_watermark = WATERMARK_NONE;
    self->restored = WATERMARK_END;
    TRY_ALLOC(self->clocks, arena_alloc(arena, (self->partition_count + 1) * sizeof *self->clocks), err);
    for (uint32_t p = 0; p < self->partition_count; p++) {
        self->clocks[p] = (struct partition_clock){WATERMARK_NONE, WATERMARK_NONE};
    }
    TRY_ALLOC(self->scratch_times, arena_alloc(arena, CHUNK_ROWS * sizeof(int64_t)), err);
    TRY_ALLOC(self->scratch_candidates, arena_alloc(arena, CHUNK_ROWS * sizeof(int64_t)), err);
    TRY_ALLOC(self->names, schema_names(arena, spec->input.schema), err);
    TRY(circuit_add(circuit, &self->node, &watermark_node_type, "Watermark", &input, 1, err));
    self->node.tables = watermark_tables;
    self->node.table_count = ARRAY_LENGTH(watermark_tables);
    TRY(program_create(arena, &circuit->evaluation, &spec->candidate, 1, &self->program, err));
    *node = &self->node;
    return STATUS_OK;
}
