#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "connectors/dead_letter.h"
#include "connectors/error_policy.h"
#include "../support/tables.h"

/* All rows, a line each; an error as "! text". */
static char *read_all(struct table *table, const struct source_context *context, uint32_t row_limit)
{
    struct text_builder out = {0};
    struct source *source;
    text_append(&out, "", 0);
    if (source_open(context, &source, &table->err) != STATUS_OK) {
        text_append_format(&out, "! %s", table->err.text);
        return out.bytes;
    }
    for (uint32_t partition = 0; partition < source->partition_count; partition++) {
        struct reader *reader;
        assert_int_equal(source->type->reader_open(source, partition, &reader, &table->err), STATUS_OK);
        enum read_state state = READ_ROWS;
        int64_t wait_us, expected = 0;
        while (state == READ_ROWS) {
            struct batch batch;
            if (source->type->read(reader, row_limit, &batch, &state, &wait_us, &table->err) != STATUS_OK) {
                text_append_format(&out, "! %s", table->err.text);
                break;
            }
            if (state != READ_ROWS) {
                break;
            }
            assert_true(batch.ordered && batch.ordinal_base == expected && batch.partition == partition);
            assert_in_range(batch.count, 1, row_limit);
            expected += batch.count;
            rows_append(&batch, &out);
            batch_release(&batch);
        }
        source->type->reader_close(reader);
    }
    source_close(source);
    return out.bytes;
}

static void check_rows(struct table *table, const struct source_context *context, const char *expected)
{
    static const uint32_t limits[] = {1, 7, 4096};
    for (uint32_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        char *rows = read_all(table, context, limits[i]);
        assert_string_equal(rows, expected);
        free(rows);
    }
}

static void files_are_read_in_the_order_of_their_paths(void **state)
{
    (void)state;
    struct table table;
    table_open(&table, "json");
    put_file(&table, "b.json", "{\"id\":3,\"s\":\"three\"}");
    put_file(&table, "a.json.gz", "{\"id\":1,\"s\":\"one, a text to share\"}\n{\"id\":2}\n");
    put_file(&table, "c/d/e.json", "{\"id\":4}\n");
    put_file(&table, ".hidden", "x");
    put_file(&table, "_SUCCESS", "x");
    put_file(&table, "_tmp/x.json", "x");
    put_file(&table, "c/empty.json", "");
    struct source_context context = context_of(&table, pair_columns, 2);
    check_rows(&table, &context, "1|one, a text to share\n2|NULL\n3|three\n4|NULL\n");
    table_close(&table);
}

static void errors_name_file_line_field_and_record(void **state)
{
    (void)state;
    struct table table;
    table_open(&table, "json");
    put_file(&table, "a.json", "{\"id\":1}\n{\"id\":2}\n{\"id\":\"x\",\"s\":\"y\"}\n{\"id\":3}\n");
    struct source_context context = context_of(&table, pair_columns, 2);
    char *rows = read_all(&table, &context, 1);
    assert_non_null(strstr(rows, "/a.json, line 3, field 'id': 'x' is no INT; the record begins with: {\"id\":\"x\",\"s\":\"y\"}"));
    free(rows);
    table_set(&table, "scan.error-policy", "skip");
    check_rows(&table, &context, "1|NULL\n2|NULL\n3|NULL\n");
    assert_int_equal(table.counters.failed, 4);
    table_close(&table);
}

static void dead_letters_hold_the_record_and_its_place(void **state)
{
    (void)state;
    static const struct type *const types[] = {&type_string, &type_bytes, &type_string};
    static const char *const names[] = {"position", "payload", "message"};
    static const struct type row = {.kind = TYPE_ROW, .child_count = 3, .children = types, .names = names};
    struct table table;
    table_open(&table, "json");
    table_set(&table, "scan.error-policy", "dead-letter");
    struct source_context context = context_of(&table, pair_columns, 2);
    put_file(&table, "a.json", "{\"id\":1}\n{\"id\":true}\n");
    char *rows = read_all(&table, &context, 4096);
    assert_non_null(strstr(rows, "scan.dead-letter-table"));
    free(rows);
    table_set(&table, "scan.dead-letter-table", "letters");
    assert_int_equal(dead_letter_create(&table.budget, &context.dead_letter, &table.err), STATUS_OK);
    assert_int_equal(dead_letter_check_table(&row, "letters", &table.err), STATUS_OK);
    rows = read_all(&table, &context, 4096);
    assert_string_equal(rows, "1|NULL\n");
    free(rows);
    struct batch batch;
    assert_int_equal(dead_letter_take(context.dead_letter, CHUNK_ROWS, &row, &batch, &table.err), STATUS_OK);
    assert_int_equal(batch.count, 1);
    struct text_builder out = {0};
    for (uint32_t i = 0; i < 3; i++) {
        cell_text_append(&batch.columns[i], 0, time_zone_utc, 0, &out);
        text_append_char(&out, '|');
    }
    assert_string_equal(out.bytes, "line 2, byte 9|{\"id\":true}|'true' is no INT, field 'id'|");
    text_builder_close(&out);
    batch_release(&batch);
    dead_letter_destroy(context.dead_letter);
    table_close(&table);
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *message;
    } cases[] = {
        {"json.ignore-parse-error", "true", "did you mean 'json.ignore-parse-errors'?"},
        {"pth", "x", "did you mean 'path'?"},
        {"csv.field-delimiter", ";", "connector 'filesystem' has no option 'csv.field-delimiter'"},
        {"json.timestamp-format.standard", "GREGORIAN", "one of 'SQL', 'ISO-8601', not 'GREGORIAN'"},
        {"source.monitor-interval", "soon", "'soon' is no duration"},
        {"scan.error-policy", "ignore", "one of 'fail', 'skip', 'dead-letter'"},
    };
    for (uint32_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct table table;
        table_open(&table, "json");
        table_set(&table, cases[i].key, cases[i].value);
        struct source_context context = context_of(&table, pair_columns, 2);
        char *rows = read_all(&table, &context, 1);
        assert_non_null(strstr(rows, cases[i].message));
        assert_non_null(strstr(rows, "in table 't'"));
        free(rows);
        table_close(&table);
    }
}

static void metadata_and_partitions_are_columns(void **state)
{
    (void)state;
    static const struct source_column columns[] = {
        {"day", &type_date, NULL}, {"id", &type_int, NULL}, {"f", &type_string, "file.name"}, {"n", &type_bigint, "file.size"}};
    static const char *const partitions[] = {"day"};
    static const struct type *const types[] = {&type_date};
    struct table table;
    table_open(&table, "csv");
    put_file(&table, "day=2024-01-02/a.csv", "1\n2\n");
    put_file(&table, "day=__DEFAULT_PARTITION__/a.csv", "3");
    struct source_context context = context_of(&table, columns, 4);
    context.partition_columns = partitions;
    context.partition_types = types;
    context.partition_count = 1;
    check_rows(&table, &context, "2024-01-02|1|a.csv|4\n2024-01-02|2|a.csv|4\nNULL|3|a.csv|1\n");
    table_set(&table, "source.partition-by-file", "true");
    check_rows(&table, &context, "2024-01-02|1|a.csv|4\n2024-01-02|2|a.csv|4\nNULL|3|a.csv|1\n");
    table_close(&table);
}

static void records_longer_than_a_block_are_whole(void **state)
{
    (void)state;
    struct table table;
    table_open(&table, "raw");
    static char text[2 << 20];
    memset(text, 'x', sizeof text - 2);
    memcpy(text + (1 << 20), "\nshort\n", 7);
    text[sizeof text - 2] = '\n';
    put_file(&table, "a.txt", text);
    static const struct source_column columns[] = {{"line", &type_string, NULL}};
    struct source_context context = context_of(&table, columns, 1);
    char *rows = read_all(&table, &context, 10);
    assert_int_equal(strlen(rows), strlen(text));
    assert_memory_equal(rows, text, strlen(text));
    free(rows);
    table_close(&table);
}

static void make_batch(struct table *table, const char *const *texts, uint32_t count, struct batch *batch)
{
    assert_int_equal(batch_init(batch, 2, &table->err), STATUS_OK);
    assert_int_equal(vector_create(&table->budget, &type_int, count, &batch->columns[0], &table->err), STATUS_OK);
    assert_int_equal(vector_create(&table->budget, &type_string, count, &batch->columns[1], &table->err), STATUS_OK);
    assert_int_equal(vector_need_validity(&table->budget, &batch->columns[1], count, &table->err), STATUS_OK);
    for (uint32_t i = 0; i < count; i++) {
        vector_int32(&batch->columns[0])[i] = (int32_t)i;
        vector_strings(&batch->columns[1])[i] = string_view_make(texts[i] == NULL ? "" : texts[i], texts[i] == NULL ? 0 : strlen(texts[i]));
        if (texts[i] == NULL) {
            vector_set_null(&batch->columns[1], i);
        }
    }
    batch->count = count;
}

static void write_batch(struct table *table, const char *const *partitions, uint32_t partition_count, const char *statement, bool overwrite,
                        bool finish)
{
    static const struct type *const types[] = {&type_int, &type_string};
    static const char *const names[] = {"id", "s"}, *const texts[] = {"a/b", NULL, "a/b", "plain"};
    static const struct type row = {.kind = TYPE_ROW, .child_count = 2, .children = types, .names = names};
    struct sink_context context = {.arena = table->arena,
                                   .budget = &table->budget,
                                   .clock = &clock_system,
                                   .zone = time_zone_utc,
                                   .table = "t",
                                   .row = &row,
                                   .partition_columns = partitions,
                                   .partition_count = partition_count,
                                   .options = &table->options,
                                   .worker_count = 1,
                                   .overwrite = overwrite,
                                   .statement_id = statement};
    struct sink *sink;
    struct batch batch;
    assert_int_equal(sink_open(&context, &sink, &table->err), STATUS_OK);
    make_batch(table, texts, ARRAY_LENGTH(texts), &batch);
    assert_int_equal(sink->type->write(sink, &batch, NULL, &table->err), STATUS_OK);
    assert_int_equal(sink->type->finish_tick(sink, WATERMARK_NONE, &table->err), STATUS_OK);
    if (finish) {
        assert_int_equal(sink->type->finish(sink, &table->err), STATUS_OK);
    }
    sink->type->close(sink);
    batch_release(&batch);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    static const char *const partitions[] = {"s"};
    static const struct type *const types[] = {&type_string};
    struct table table;
    table_open(&table, "json");
    struct source_context context = context_of(&table, pair_columns, 2);
    write_batch(&table, NULL, 0, "one", false, false);
    check_rows(&table, &context, ""); /* not finished: nothing is shown */
    write_batch(&table, NULL, 0, "two", false, true);
    check_rows(&table, &context, "0|a/b\n1|NULL\n2|a/b\n3|plain\n");
    write_batch(&table, NULL, 0, "three", true, true);
    check_rows(&table, &context, "0|a/b\n1|NULL\n2|a/b\n3|plain\n");
    table_close(&table);
    table_open(&table, "csv");
    context = context_of(&table, pair_columns, 2);
    context.partition_columns = partitions;
    context.partition_types = types;
    context.partition_count = 1;
    write_batch(&table, partitions, 1, "one", false, true);
    check_rows(&table, &context, "1|NULL\n0|a/b\n2|a/b\n3|plain\n");
    table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_in_the_order_of_their_paths),
        cmocka_unit_test(errors_name_file_line_field_and_record),
        cmocka_unit_test(dead_letters_hold_the_record_and_its_place),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(metadata_and_partitions_are_columns),
        cmocka_unit_test(records_longer_than_a_block_are_whole),
        cmocka_unit_test(what_is_written_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
