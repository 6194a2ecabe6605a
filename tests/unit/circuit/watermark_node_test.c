#include "../support/circuits.h"

#include "connectors/source.h"

/* The WATERMARK of a source whose partitions get rows when the test says so. After a stop, a save, a restore (by other workers) it goes on. */
enum { PARTITIONS = 5, WORKERS = 3, TICKS = 12, ROWS = 6, MINUTE = 60 };
#define SECOND INT64_C(1000000)

static const struct column columns[] = {{"t", &type_timestamp3, TIME_ROWTIME}};
static const struct schema schema = {1, columns};

struct arrivals {
    uint32_t count[PARTITIONS];
    int64_t times[PARTITIONS][ROWS];
};
static struct arrivals arriving;
static struct budget budget;

static enum status open_reader(struct source *source, uint32_t partition, struct reader **reader, struct error *err)
{
    (void)err;
    *reader = calloc(1, sizeof **reader);
    (*reader)->source = source;
    (*reader)->partition = partition;
    return STATUS_OK;
}
static void close_reader(struct reader *reader)
{
    free(reader);
}
static enum status read_rows(struct reader *reader, uint32_t limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                             struct error *err)
{
    (void)limit, (void)wait_us, (void)err;
    static const struct type *const types[] = {&type_timestamp3};
    uint32_t count = arriving.count[reader->partition];
    const int64_t *times = arriving.times[reader->partition];
    *state = count > 0 ? READ_ROWS : READ_IDLE;
    if (count > 0) {
        fill_batch(&budget, types, &times, 1, count, batch);
        batch->ordered = true;
        batch->partition = reader->partition;
        arriving.count[reader->partition] = 0;
    }
    return STATUS_OK;
}
static enum status put_position(struct reader *reader, struct text_builder *place, struct error *err)
{
    (void)reader, (void)err;
    text_append(place, "test/1 rows=0", strlen("test/1 rows=0"));
    return STATUS_OK;
}
static enum status seek_position(struct reader *reader, const struct source_position *position, struct error *err)
{
    (void)reader, (void)position, (void)err;
    return STATUS_OK;
}
static const struct source_type source_type = {.name = "test",
                                               .traits = SOURCE_INLINE | SOURCE_REPLAYABLE,
                                               .reader_open = open_reader,
                                               .reader_close = close_reader,
                                               .read = read_rows,
                                               .position = put_position,
                                               .seek = seek_position};

/* Shows the watermark before each row. */
struct shown {
    struct node node;
    struct text_builder text;
};
static enum status show_rows(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input, (void)err;
    struct text_builder *text = &((struct shown *)node)->text;
    for (uint32_t row = 0; row < batch->count; row++) {
        text_append_format(text, "%lld<%lld ", (long long)vector_int64(&batch->columns[0])[row], (long long)batch_watermark(batch, row));
    }
    return STATUS_OK;
}
static void close_shown(struct node *node)
{
    text_builder_close(&((struct shown *)node)->text);
}
static const struct node_type shown_type = {.name = "Shown", .receive = show_rows, .finish_tick = feed_finish, .close = close_shown};

struct worker {
    struct circuit *circuit;
    struct node *node;
    struct shown *shown;
};
struct run {
    struct evaluation evaluation;
    struct source source;
    struct source_spec source_spec;
    struct watermark_spec spec;
    struct expression candidate;
    struct source_counters counters;
    struct wakeup wakeup;
    struct worker workers[WORKERS];
    uint32_t worker_count;
    uint64_t ticks;
};

static void open_workers(struct run *run, uint32_t count)
{
    struct error err;
    static const struct pipeline_settings settings = {.chunk_rows = CHUNK_ROWS, .max_parallelism = 128};
    run->worker_count = count;
    for (uint32_t w = 0; w < count; w++) {
        struct worker *worker = &run->workers[w];
        struct node *source;
        require(circuit_create(&budget, &run->evaluation, &clock_system, &settings, &run->wakeup, w, count, &worker->circuit, &err), &err);
        require(source_node_create(worker->circuit, &run->source_spec, &source, &err), &err);
        struct watermark_spec *spec = arena_copy(worker->circuit->arena, &run->spec, sizeof run->spec);
        spec->source = source;
        require(watermark_node_create(worker->circuit, spec, source, &worker->node, &err), &err);
        worker->shown = arena_alloc(worker->circuit->arena, sizeof *worker->shown);
        require(circuit_add(worker->circuit, &worker->shown->node, &shown_type, "shown", &worker->node, 1, &err), &err);
        require(circuit_name_nodes(worker->circuit, &err), &err);
    }
}

static void close_workers(struct run *run)
{
    for (uint32_t w = 0; w < run->worker_count; w++) {
        circuit_destroy(run->workers[w].circuit);
    }
    assert_int_equal(budget.used_bytes, 0);
}

static void open_run(struct run *run, int64_t interval_us, bool bounded)
{
    *run = (struct run){.source = {.type = &source_type, .partition_count = PARTITIONS, .bounded = bounded}};
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    run->evaluation = (struct evaluation){.budget = &budget, .zone = time_zone_utc};
    wakeup_init(&run->wakeup);
    run->source_spec = (struct source_spec){&run->source, &schema, false};
    run->candidate = (struct expression){.kind = EXPRESSION_COLUMN, .type = &type_timestamp3};
    run->spec = (struct watermark_spec){.input = {.schema = &schema},
                                        .candidate = &run->candidate,
                                        .interval_us = interval_us,
                                        .table = "t",
                                        .counters = &run->counters,
                                        .always_hidden = true};
}

/* The watermark of the table: what all workers say. */
static int64_t play(struct run *run, const struct arrivals *arrivals, int64_t now_us)
{
    struct tick tick = {.number = ++run->ticks, .now_us = now_us};
    struct error err;
    enum pull_state state;
    int64_t watermark = WATERMARK_END;
    arriving = *arrivals;
    for (uint32_t w = 0; w < run->worker_count; w++) {
        require(circuit_pull(run->workers[w].circuit, &tick, &state, &err), &err);
        require(circuit_finish(run->workers[w].circuit, &tick, &err), &err);
        int64_t own = run->workers[w].node->watermark;
        watermark = own < watermark ? own : watermark;
    }
    return watermark;
}

struct file {
    char bytes[65536];
    size_t length;
};
static enum status put_bytes(void *context, const void *bytes, size_t length, struct error *err)
{
    (void)err;
    struct file *file = context;
    assert_true(file->length + length <= sizeof file->bytes);
    memcpy(file->bytes + file->length, bytes, length);
    file->length += length;
    return STATUS_OK;
}

static void restart(struct run *run, uint32_t count)
{
    static struct file files[WORKERS];
    struct error err;
    uint32_t before = run->worker_count;
    for (uint32_t w = 0; w < before; w++) {
        struct snapshot_writer *writer;
        files[w].length = 0;
        require(snapshot_writer_create(&budget, true, 1, &writer, &err), &err);
        require(circuit_save(run->workers[w].circuit, writer, &err), &err);
        require(snapshot_finish(writer, put_bytes, &files[w], &err), &err);
        snapshot_writer_destroy(writer);
    }
    close_workers(run);
    open_workers(run, count);
    for (uint32_t w = 0; w < count; w++) {
        struct snapshot_target target = circuit_restore_target(run->workers[w].circuit, false);
        for (uint32_t chain = 0; chain < before; chain++) {
            struct snapshot_reader *reader;
            require(snapshot_reader_create(&target, chain, &reader, &err), &err);
            snapshot_file_begin(reader, "test", true);
            require(snapshot_file_bytes(reader, files[chain].bytes, files[chain].length, &err), &err);
            require(snapshot_file_end(reader, &err), &err);
            snapshot_reader_destroy(reader);
        }
        require(circuit_restored(run->workers[w].circuit, &err), &err);
    }
}

static void make_arrivals(uint64_t *seed, int64_t now, struct arrivals *arrivals)
{
    *arrivals = (struct arrivals){0};
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        arrivals->count[p] = (uint32_t)next_random(seed) % ROWS;
        for (uint32_t i = 0; i < arrivals->count[p]; i++) {
            bool null = next_random(seed) % 9 == 0;
            arrivals->times[p][i] = null ? NULL_VALUE : (now + (int64_t)(next_random(seed) % 20)) * SECOND;
        }
    }
}

static void watermark_goes_on_at_any_parallelism(void **state)
{
    (void)state;
    uint32_t moved = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct run whole, stopped;
        uint64_t random = seed;
        open_run(&whole, 3 * SECOND, true);
        open_run(&stopped, 3 * SECOND, true);
        open_workers(&whole, 1);
        struct arrivals arrivals[TICKS];
        int64_t expected[TICKS];
        struct text_builder rows = {0};
        for (uint32_t t = 0; t < TICKS; t++) {
            make_arrivals(&random, t * 4, &arrivals[t]);
            expected[t] = play(&whole, &arrivals[t], t * SECOND);
            moved += t > 0 && expected[t] > expected[t - 1];
        }
        text_append(&rows, whole.workers[0].shown->text.bytes, whole.workers[0].shown->text.length + 1);
        close_workers(&whole);
        bool single = seed % 2 == 0;
        struct text_builder shown = {0};
        open_workers(&stopped, single ? 1 : 1 + (uint32_t)next_random(&random) % WORKERS);
        for (uint32_t t = 0; t < TICKS; t++) {
            int64_t watermark = play(&stopped, &arrivals[t], t * SECOND);
            assert_true(watermark == expected[t]);
            text_append(&shown, stopped.workers[0].shown->text.bytes, stopped.workers[0].shown->text.length);
            text_builder_clear(&stopped.workers[0].shown->text);
            if (next_random(&random) % 3 == 0) {
                restart(&stopped, single ? 1 : 1 + (uint32_t)next_random(&random) % WORKERS);
                for (uint32_t w = 0; w < stopped.worker_count; w++) {
                    assert_true(stopped.workers[w].node->watermark >= expected[t]);
                }
            }
        }
        text_append_char(&shown, '\0');
        if (single) {
            assert_string_equal(shown.bytes, rows.bytes);
        }
        text_builder_close(&rows);
        text_builder_close(&shown);
        close_workers(&stopped);
    }
    assert_true(moved > 60);
}

static void quiet_partition_passes_its_candidate_after_a_restart(void **state)
{
    (void)state;
    struct run run;
    struct arrivals arrivals = {0}, none = {0};
    open_run(&run, 10 * SECOND, false);
    open_workers(&run, 2);
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        arrivals.count[p] = 2;
        arrivals.times[p][0] = 100 * SECOND;
        arrivals.times[p][1] = 105 * SECOND; /* within the interval: a candidate only */
    }
    assert_true(play(&run, &arrivals, SECOND) == 100 * SECOND);
    restart(&run, 3);
    assert_true(play(&run, &none, 2 * SECOND) == 100 * SECOND);
    assert_true(play(&run, &none, MINUTE * SECOND) == 105 * SECOND);
    close_workers(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watermark_goes_on_at_any_parallelism),
        cmocka_unit_test(quiet_partition_passes_its_candidate_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
