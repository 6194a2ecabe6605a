/* When partitions are committed: by the clock, by the least watermark of the workers, at the end; and what is refused. */
#include "../support/batches.h"
#include "../support/tables.h"

#include "connectors/filesystem/filesystem.h"

#define HOUR_US INT64_C(3600000000)
#define DAY_US  (24 * HOUR_US)
#define DAY_1   (INT64_C(19723) * DAY_US) /* 2024-01-01 */

static int64_t test_now_us;

static int64_t test_clock_us(const struct clock *clock)
{
    return test_now_us;
}
static const struct clock test_clock = {.wall_us = test_clock_us, .monotonic_us = test_clock_us};

static const struct type *const row_types[] = {&type_int, &type_string, &type_string};
static const char *const row_names[] = {"id", "dt", "hr"};
static const struct type row_type = {.kind = TYPE_ROW, .child_count = 3, .children = row_types, .names = row_names};
static const char *const partition_names[] = {"dt", "hr"};

struct writers {
    struct table table;
    struct sink_context context;
    void *shared;
    struct sink *sinks[2];
    uint32_t count;
};

static void writers_open(struct writers *writers, uint32_t count, const char *const *options)
{
    memset(writers, 0, sizeof *writers);
    test_now_us = DAY_1;
    table_open(&writers->table, "csv");
    table_set(&writers->table, "sink.partition-commit.policy.kind", "success-file");
    for (; *options != NULL; options += 2) {
        table_set(&writers->table, options[0], options[1]);
    }
    for (; writers->count < count; writers->count++) {
        struct sink_context context = {.arena = writers->table.arena,
                                       .budget = &writers->table.budget,
                                       .clock = &test_clock,
                                       .zone = time_zone_utc,
                                       .table = "t",
                                       .row = &row_type,
                                       .partition_columns = partition_names,
                                       .partition_count = 2,
                                       .options = &writers->table.options,
                                       .worker = writers->count,
                                       .worker_count = count,
                                       .statement_id = "s",
                                       .shared = &writers->shared};
        require(sink_open(&context, &writers->sinks[writers->count], &writers->table.err), &writers->table.err);
    }
}

static void writers_close(struct writers *writers)
{
    for (uint32_t i = 0; i < writers->count; i++) {
        writers->sinks[i]->type->close(writers->sinks[i]);
    }
    assert_null(writers->shared);
    table_close(&writers->table);
}

static enum status try_write(struct writers *writers, uint32_t worker, const char *day, const char *hour)
{
    struct batch batch;
    struct error *err = &writers->table.err;
    const char *const texts[] = {day, hour};
    require(batch_init(&batch, 3, err), err);
    require(vector_create(&writers->table.budget, &type_int, 1, &batch.columns[0], err), err);
    vector_int32(&batch.columns[0])[0] = 1;
    for (uint32_t i = 0; i < 2; i++) {
        require(vector_create(&writers->table.budget, &type_string, 1, &batch.columns[i + 1], err), err);
        vector_strings(&batch.columns[i + 1])[0] = string_view_make(texts[i], strlen(texts[i]));
    }
    batch.count = 1;
    enum status status = writers->sinks[worker]->type->write(writers->sinks[worker], &batch, NULL, err);
    batch_release(&batch);
    return status;
}

static void put_row(struct writers *writers, uint32_t worker, const char *day, const char *hour)
{
    require(try_write(writers, worker, day, hour), &writers->table.err);
}

static void end_tick(struct writers *writers, uint32_t worker, int64_t watermark_us)
{
    require(writers->sinks[worker]->type->finish_tick(writers->sinks[worker], watermark_us, &writers->table.err), &writers->table.err);
}

static void end_input(struct writers *writers, uint32_t worker)
{
    require(writers->sinks[worker]->type->finish(writers->sinks[worker], &writers->table.err), &writers->table.err);
}

/* The success file of the partition is there; it is taken away, so that the next commit shows. */
static bool committed(struct writers *writers, const char *day, const char *hour)
{
    char path[256];
    snprintf(path, sizeof path, "%s/dt=%s/hr=%s/_SUCCESS", writers->table.folder, day, hour);
    return unlink(path) == 0;
}

static const char *const hourly[] = {"sink.partition-commit.trigger",
                                     "partition-time",
                                     "sink.partition-commit.delay",
                                     "1 h",
                                     "partition.time-extractor.timestamp-pattern",
                                     "$dt $hr:00:00",
                                     NULL};

static void the_watermark_commits_partitions_that_it_has_passed(void **state)
{
    (void)state;
    struct writers writers;
    writers_open(&writers, 1, hourly);
    put_row(&writers, 0, "2024-01-01", "10");
    put_row(&writers, 0, "2024-01-01", "9");
    end_tick(&writers, 0, DAY_1 + 10 * HOUR_US);
    assert_false(committed(&writers, "2024-01-01", "9")); /* must be past it */
    end_tick(&writers, 0, DAY_1 + 10 * HOUR_US + 1);
    assert_true(committed(&writers, "2024-01-01", "9"));
    assert_false(committed(&writers, "2024-01-01", "10"));
    put_row(&writers, 0, "2024-01-01", "9"); /* late: committed again */
    end_tick(&writers, 0, DAY_1 + 10 * HOUR_US + 2);
    assert_true(committed(&writers, "2024-01-01", "9"));
    end_tick(&writers, 0, DAY_1 + 10 * HOUR_US + 3);
    assert_false(committed(&writers, "2024-01-01", "9")); /* nothing new */
    end_tick(&writers, 0, WATERMARK_END);
    end_input(&writers, 0);
    assert_true(committed(&writers, "2024-01-01", "10"));
    writers_close(&writers);
}

static void a_stop_commits_only_what_is_due(void **state)
{
    (void)state;
    struct writers writers;
    writers_open(&writers, 1, hourly);
    put_row(&writers, 0, "2024-01-01", "10");
    end_tick(&writers, 0, DAY_1);
    end_input(&writers, 0);
    assert_false(committed(&writers, "2024-01-01", "10"));
    writers_close(&writers);
}

static void the_slowest_worker_decides(void **state)
{
    (void)state;
    struct writers writers;
    writers_open(&writers, 2, hourly);
    put_row(&writers, 0, "2024-01-01", "01");
    put_row(&writers, 1, "2024-01-01", "01");
    end_tick(&writers, 0, DAY_1 + DAY_US);
    end_tick(&writers, 1, DAY_1 + HOUR_US);
    assert_false(committed(&writers, "2024-01-01", "01"));
    end_tick(&writers, 1, DAY_1 + DAY_US); /* its file is shown, the other's is not */
    assert_false(committed(&writers, "2024-01-01", "01"));
    end_tick(&writers, 0, DAY_1 + DAY_US);
    assert_true(committed(&writers, "2024-01-01", "01"));
    put_row(&writers, 1, "2024-01-02", "01");
    for (uint32_t i = 0; i < 2; i++) {
        end_tick(&writers, i, WATERMARK_END);
        end_input(&writers, i);
    }
    assert_true(committed(&writers, "2024-01-02", "01"));
    writers_close(&writers);
}

static void the_clock_commits_after_the_delay(void **state)
{
    (void)state;
    static const char *const options[] = {"sink.partition-commit.delay", "1 h", "sink.rolling-policy.file-size", "1 b", NULL};
    struct writers writers;
    writers_open(&writers, 1, options);
    put_row(&writers, 0, "a", "b");
    end_tick(&writers, 0, WATERMARK_NONE);
    assert_false(committed(&writers, "a", "b"));
    test_now_us += HOUR_US;
    end_tick(&writers, 0, WATERMARK_NONE);
    assert_true(committed(&writers, "a", "b"));
    put_row(&writers, 0, "a", "c");
    end_tick(&writers, 0, WATERMARK_END);
    assert_true(committed(&writers, "a", "c"));
    writers_close(&writers);
}

static void the_zone_and_the_formatter_are_those_given(void **state)
{
    (void)state;
    static const char *const options[] = {"sink.partition-commit.trigger",
                                          "partition-time",
                                          "sink.partition-commit.watermark-time-zone",
                                          "+02:00",
                                          "partition.time-extractor.timestamp-formatter",
                                          "yyyyMMdd",
                                          NULL};
    struct writers writers;
    writers_open(&writers, 1, options);
    put_row(&writers, 0, "20240101", "x");
    end_tick(&writers, 0, DAY_1 - 2 * HOUR_US);
    assert_false(committed(&writers, "20240101", "x"));
    end_tick(&writers, 0, DAY_1 - 2 * HOUR_US + 1);
    assert_true(committed(&writers, "20240101", "x"));
    assert_int_not_equal(try_write(&writers, 0, "yesterday", "x"), STATUS_OK);
    assert_non_null(strstr(writers.table.err.text, "'yesterday' is not like 'yyyyMMdd'"));
    writers_close(&writers);
}

/* In a job with checkpoints a due partition's files end with the next one, and it is committed when that is complete. */
static void a_checkpoint_commits_and_a_restart_goes_on(void **state)
{
    (void)state;
    struct writers writers;
    struct text_builder saved = {0};
    struct error err;
    writers_open(&writers, 0, hourly);
    for (uint32_t attempt = 0; attempt < 2; attempt++) {
        struct sink_context context = {.arena = writers.table.arena,
                                       .budget = &writers.table.budget,
                                       .clock = &test_clock,
                                       .zone = time_zone_utc,
                                       .table = "t",
                                       .row = &row_type,
                                       .partition_columns = partition_names,
                                       .partition_count = 2,
                                       .options = &writers.table.options,
                                       .worker_count = 1,
                                       .statement_id = attempt == 0 ? "s-0" : "s-1",
                                       .owner = "job"};
        require(sink_open(&context, &writers.sinks[0], &err), &err);
        const struct sink_commit *commit = writers.sinks[0]->type->commit;
        if (attempt == 0) {
            put_row(&writers, 0, "2024-01-01", "09");
            end_tick(&writers, 0, DAY_1 + DAY_US);
            put_row(&writers, 0, "2024-01-03", "09");
            assert_false(committed(&writers, "2024-01-01", "09"));
            require(commit->prepare(writers.sinks[0], 1, &saved, &err), &err);
            assert_false(committed(&writers, "2024-01-01", "09"));
        } else {
            require(commit->restore(writers.sinks[0], (struct text){saved.bytes, saved.length}, &err), &err);
            end_tick(&writers, 0, DAY_1 + DAY_US);
            require(commit->prepare(writers.sinks[0], 2, &saved, &err), &err);
            require(commit->committed(writers.sinks[0], 2, &err), &err);
            assert_true(committed(&writers, "2024-01-01", "09"));
            assert_false(committed(&writers, "2024-01-03", "09"));
            end_tick(&writers, 0, WATERMARK_END);
            require(commit->prepare(writers.sinks[0], 3, &saved, &err), &err);
            require(commit->committed(writers.sinks[0], 3, &err), &err);
            assert_true(committed(&writers, "2024-01-03", "09"));
        }
        writers.sinks[0]->type->close(writers.sinks[0]);
    }
    text_builder_close(&saved);
    writers_close(&writers);
}

static void options_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *key, *value, *message;
    } cases[] = {
        {NULL, "sink.partition-commit.delay", "1 h", "'sink.partition-commit.policy.kind' is missing"},
        {NULL, "sink.partition-commit.trigger", "partition-time", "'sink.partition-commit.trigger' does nothing"},
        {"metastore", "sink.partition-commit.delay", "1 h", "is 'success-file', not 'metastore'"},
        {"success-file", "partition.time-extractor.timestamp-pattern", "$day 00:00:00", "'$day 00:00:00' names no partition column"},
        {"success-file", "partition.time-extractor.timestamp-pattern", "2024-01-01", "has no partition column"},
        {"success-file", "partition.time-extractor.kind", "custom", "'default', not 'custom'"},
        {"success-file", "sink.partition-commit.watermark-time-zone", "Mars/Base", "Mars/Base"},
    };
    for (uint32_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct table table;
        struct sink *sink;
        enum sink_accepts accepts;
        table_open(&table, "csv");
        if (cases[i].policy != NULL) {
            table_set(&table, "sink.partition-commit.policy.kind", cases[i].policy);
            table_set(&table, "sink.partition-commit.trigger", "partition-time");
        }
        table_set(&table, cases[i].key, cases[i].value);
        struct sink_context context = {.arena = table.arena,
                                       .budget = &table.budget,
                                       .clock = &test_clock,
                                       .zone = time_zone_utc,
                                       .table = "t",
                                       .row = &row_type,
                                       .partition_columns = partition_names,
                                       .partition_count = 2,
                                       .options = &table.options,
                                       .worker_count = 1,
                                       .statement_id = "s"};
        enum status status = sink_accepts(&context, &accepts, &table.err);
        if (status == STATUS_OK) {
            status = sink_open(&context, &sink, &table.err);
        }
        assert_int_not_equal(status, STATUS_OK);
        if (strstr(table.err.text, cases[i].message) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].message, table.err.text);
        }
        table_close(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watermark_commits_partitions_that_it_has_passed),
        cmocka_unit_test(a_stop_commits_only_what_is_due),
        cmocka_unit_test(the_slowest_worker_decides),
        cmocka_unit_test(the_clock_commits_after_the_delay),
        cmocka_unit_test(the_zone_and_the_formatter_are_those_given),
        cmocka_unit_test(a_checkpoint_commits_and_a_restart_goes_on),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
