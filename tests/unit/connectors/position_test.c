/* A source that is read to some place and, by another reader, from that place on gives the rows of one that is read through: for every place
 * that a row limit can make, in every format, packed or not, with records that cannot be read among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../support/tables.h"

#include "connectors/position.h"

enum { PLACES_MAX = 400, ROWS_MAX = 4000 };

/* What reading gave: all rows, and after each read the place and how much of `rows` came before it. */
struct run {
    struct text_builder rows;
    struct text_builder places[PLACES_MAX], histories[PLACES_MAX];
    size_t lengths[PLACES_MAX];
    int64_t ordinals[PLACES_MAX];
    uint32_t count;
};

static void run_close(struct run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        text_builder_close(&run->places[i]);
        text_builder_close(&run->histories[i]);
    }
    text_builder_close(&run->rows);
    memset(run, 0, sizeof *run);
}

static void run_mark(struct run *run, struct reader *reader, int64_t ordinal)
{
    struct error err;
    assert_true(run->count < PLACES_MAX);
    run->lengths[run->count] = run->rows.length;
    run->ordinals[run->count] = ordinal;
    assert_int_equal(reader->source->type->position(reader, &run->places[run->count], &err), STATUS_OK);
    if (reader->source->type->history != NULL) {
        assert_int_equal(reader->source->type->history(reader, &run->histories[run->count], &err), STATUS_OK);
    }
    run->count++;
}

/* Reads to the end, an error, or as many idle answers as rows may be waited for; row_limit 0: a random one each time. */
static void read_on(struct run *run, struct reader *reader, uint32_t row_limit, int64_t ordinal, bool mark)
{
    enum read_state state = READ_ROWS;
    struct error err;
    for (uint32_t idle = 0; state != READ_END && idle < 3 && ordinal < ROWS_MAX;) {
        struct batch batch;
        int64_t wait_us;
        uint32_t limit = row_limit > 0 ? row_limit : 1 + (uint32_t)rand() % 9;
        uint32_t most = reader->source->changes && limit < 2 ? 2 : limit; /* an update is not cut */
        reader->passed = ++reader->reads;
        if (reader->source->type->read(reader, limit, &batch, &state, &wait_us, &err) != STATUS_OK) {
            text_append_format(&run->rows, "! %s\n", err.text);
            return;
        }
        if (state == READ_IDLE) {
            idle++;
            usleep((useconds_t)(wait_us > 20000 ? 20000 : wait_us));
        } else if (state == READ_ROWS) {
            assert_true(batch.ordered && batch.ordinal_base == ordinal && batch.count >= 1 && batch.count <= most);
            idle = 0;
            ordinal += batch.count;
            rows_append(&batch, &run->rows);
            batch_release(&batch);
            if (mark) {
                run_mark(run, reader, ordinal);
            }
        }
    }
}

static struct source *open_source(struct table *table, const struct source_context *context)
{
    struct source *source;
    if (source_open(context, &source, &table->err) != STATUS_OK) {
        fail_msg("%s", table->err.text);
    }
    return source;
}

static struct reader *open_reader(struct source *source, uint32_t partition)
{
    struct reader *reader;
    struct error err;
    assert_int_equal(source->type->reader_open(source, partition, &reader, &err), STATUS_OK);
    return reader;
}

static void run_through(struct run *run, struct table *table, const struct source_context *context, uint32_t partition, uint32_t row_limit)
{
    struct source *source = open_source(table, context);
    struct reader *reader = open_reader(source, partition);
    memset(run, 0, sizeof *run);
    text_append(&run->rows, "", 0);
    run_mark(run, reader, 0);
    read_on(run, reader, row_limit, 0, true);
    source->type->reader_close(reader);
    source_close(source);
}

static enum status seek_to(const struct run *run, uint32_t place, struct reader *reader, struct error *err)
{
    struct source_position position = {{run->places[place].bytes, run->places[place].length},
                                       {run->histories[place].bytes, run->histories[place].length}};
    return reader->source->type->seek(reader, &position, err);
}

/* The rows, or only the error behind them: how many rows before it are given depends on the row limit. */
static const char *outcome(const char *rows)
{
    const char *error = strstr(rows, "! ");
    return error == NULL ? rows : error;
}

static void check_places(struct run *run, struct table *table, const struct source_context *context, uint32_t partition)
{
    for (uint32_t place = 0; place < run->count; place++) {
        struct source *source = open_source(table, context);
        struct reader *reader = open_reader(source, partition);
        struct run again = {0};
        struct error err;
        struct text_builder marked = {0};
        text_append(&again.rows, "", 0);
        if (seek_to(run, place, reader, &err) != STATUS_OK) {
            fail_msg("place %s: %s", run->places[place].bytes, err.text);
        }
        assert_int_equal(source->type->position(reader, &marked, &err), STATUS_OK);
        assert_string_equal(marked.bytes, run->places[place].bytes);
        read_on(&again, reader, 0, run->ordinals[place], false);
        const char *wanted = run->rows.bytes + run->lengths[place];
        if (strcmp(outcome(again.rows.bytes), outcome(wanted)) != 0) {
            fail_msg("place %s: got\n%s\nnot\n%s", run->places[place].bytes, again.rows.bytes, wanted);
        }
        text_builder_close(&marked);
        run_close(&again);
        source->type->reader_close(reader);
        source_close(source);
    }
}

static void check_all(struct table *table, const struct source_context *context)
{
    static const uint32_t limits[] = {1, 0, 0, 3, 4096};
    for (uint32_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        struct run run;
        run_through(&run, table, context, 0, limits[i]);
        assert_true(run.rows.length > 0);
        check_places(&run, table, context, 0);
        run_close(&run);
    }
}

struct input {
    const char *format, *text;
};
static const struct input inputs[] = {
    {"json", "{\"id\":1,\"s\":\"one, a text to share\"}\n{\"id\":2}\n\n[{\"id\":3},{\"id\":4,\"s\":\"x\"},null,{\"id\":5}]\nnull\n"
             "  {\"id\":6}  junk\n[]\n[{\"id\":7}]\n{\"id\":8}"},
    {"json", "{\"id\":1}\n{\"id\":true}\n[{\"id\":2},{\"id\":3},{\"id\":\"x\"},{\"id\":4}]\n{broken\n{\"id\":5}\n\n\nbad"},
    {"csv", "1,one\n2,\"two\nlines, \"\"quoted\"\"\"\n\n3,\"\"\n4,\n,five\n6,\"s\ni\nx\"\n7,last"},
    {"csv", "1,one\nx,two\n3\n4,\"\n\n\n\"\n5,a,b\n\"6\",six\n"},
    {"debezium-json",
     "{\"op\":\"c\",\"after\":{\"id\":1,\"s\":\"a\"}}\n\n{\"op\":\"u\",\"before\":{\"id\":1,\"s\":\"a\"},\"after\":{\"id\":1,\"s\":\"b\"}}"
     "\n"
     "{\"op\":\"u\",\"before\":{\"id\":1},\"after\":{\"id\":true}}\n{\"op\":\"z\"}\nnull\n"
     "{\"op\":\"u\",\"before\":{\"id\":1,\"s\":\"b\"},\"after\":{\"id\":2,\"s\":\"c\"}}\n{\"op\":\"d\",\"before\":{\"id\":2,\"s\":\"c\"}}"},
    {"raw", "1\n22\n\n4444\r\n5"},
};

static struct source_context input_open(struct table *table, const struct input *input, const char *policy)
{
    static const struct source_column line[] = {{"line", &type_string, NULL}};
    table_open(table, input->format);
    table_set(table, "scan.error-policy", policy);
    return strcmp(input->format, "raw") == 0 ? context_of(table, line, 1) : context_of(table, pair_columns, 2);
}

static void a_file_is_read_on_from_every_place(void **state)
{
    (void)state;
    static const char *const policies[] = {"skip", "fail"}; /* fail: the message names the same line from any place before it */
    static const char *const names[] = {"a.txt", "a.txt.gz"};
    for (uint32_t i = 0; i < ARRAY_LENGTH(inputs) * 4; i++) {
        struct table table;
        struct source_context context = input_open(&table, &inputs[i / 4], policies[i / 2 % 2]);
        put_file(&table, names[i % 2], inputs[i / 4].text);
        check_all(&table, &context);
        table_close(&table);
    }
}

static void put_folder(struct table *table)
{
    put_file(table, "a.csv", "1,one\n2,\"t\n\nwo\"\n");
    put_file(table, "b.csv.gz", "3,three\n4,four");
    put_file(table, "c,5:x=y z/empty.csv", "");
    put_file(table, "c,5:x=y z/full.csv", "x,y\n5,five\n6,six");
    put_file(table, "d.csv", "bad");
    put_file(table, "e.csv", "7,seven\n");
}

static void a_folder_is_read_on_from_every_place(void **state)
{
    (void)state;
    struct table table;
    struct source_context context = input_open(&table, &inputs[2], "skip");
    put_folder(&table);
    check_all(&table, &context);
    table_set(&table, "source.monitor-interval", "5 ms");
    check_all(&table, &context);
    table_close(&table);
}

static void each_file_is_a_partition_with_a_place(void **state)
{
    (void)state;
    struct table table;
    struct source_context context = input_open(&table, &inputs[2], "skip");
    put_folder(&table);
    table_set(&table, "source.partition-by-file", "true");
    for (uint32_t partition = 0; partition < 6; partition++) {
        struct run run;
        run_through(&run, &table, &context, partition, 1);
        check_places(&run, &table, &context, partition);
        run_close(&run);
    }
    table_close(&table);
}

/* Blocks, and records longer than a block; places in the middle of a large file. */
static void a_large_file_is_read_on(void **state)
{
    (void)state;
    struct table table;
    struct source_context context = input_open(&table, &inputs[0], "fail");
    struct text_builder text = {0};
    for (int i = 0; i < 300; i++) {
        text_append_format(&text, "{\"id\":%d,\"s\":\"", i);
        for (int n = 0; n < (i == 7 ? 90000 : 400); n++) {
            text_append_format(&text, "%d,", i + n);
        }
        text_append_text(&text, "\"}\n");
    }
    put_file(&table, "a.json", text.bytes);
    put_file(&table, "b.json.gz", text.bytes);
    struct run run;
    run_through(&run, &table, &context, 0, 11);
    assert_true(run.count > 50);
    check_places(&run, &table, &context, 0);
    run_close(&run);
    text_builder_close(&text);
    table_close(&table);
}

static void append_file(const struct table *table, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", table->folder, name);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void a_followed_folder_is_read_on_in_every_file(void **state)
{
    (void)state;
    struct table table;
    struct source_context context = input_open(&table, &inputs[2], "skip");
    put_file(&table, "m.csv", "1,m\n");
    put_file(&table, "n.csv", "2,n\n3,n\n4,unfin");
    put_file(&table, "p.csv.gz", "5,p\n6,p");
    table_set(&table, "source.monitor-interval", "1 ms");
    struct source *source = open_source(&table, &context);
    struct reader *reader = open_reader(source, 0);
    struct run run = {0}, rest = {0};
    read_on(&run, reader, 2, 0, true);
    assert_string_equal(run.rows.bytes, "1|m\n2|n\n3|n\n5|p\n6|p\n");
    append_file(&table, "n.csv", "ished\n");
    put_file(&table, "a.csv", "7,a\n8,a\n");
    read_on(&run, reader, 1, 5, true);
    append_file(&table, "m.csv", "9,m\n10,m\n11");
    read_on(&run, reader, 1, 8, true);
    assert_string_equal(run.rows.bytes, "1|m\n2|n\n3|n\n5|p\n6|p\n7|a\n8|a\n4|unfinished\n9|m\n10|m\n");
    source->type->reader_close(reader);
    /* From any place the rest of each file comes once, in the order of a new scan; the lines of a file in theirs. */
    for (uint32_t place = 0; place < run.count; place++) {
        static const char *const all[] = {"1|m", "2|n", "3|n", "5|p", "6|p", "7|a", "8|a", "4|unfinished", "9|m", "10|m"};
        reader = open_reader(source, 0);
        if (seek_to(&run, place, reader, &table.err) != STATUS_OK) {
            fail_msg("%s", table.err.text);
        }
        read_on(&rest, reader, 3, run.ordinals[place], false);
        for (int64_t i = 0; i < 10; i++) {
            char line[32];
            snprintf(line, sizeof line, "\n%s\n", all[i]);
            const char *found =
                rest.rows.length == 0 ? NULL : strstr(rest.rows.bytes, line + (strncmp(rest.rows.bytes, line + 1, strlen(line) - 1) == 0));
            assert_int_equal(found != NULL, i >= run.ordinals[place]);
        }
        run_close(&rest);
        source->type->reader_close(reader);
    }
    source_close(source);
    run_close(&run);
    table_close(&table);
}

static void a_file_that_was_read_may_go_and_come_again(void **state)
{
    (void)state;
    struct table table;
    struct source_context context = input_open(&table, &inputs[2], "skip");
    put_file(&table, "m.csv", "1,m\n");
    put_file(&table, "n.csv", "2,n\n3,n\n");
    table_set(&table, "source.monitor-interval", "1 ms");
    struct run run, rest = {0};
    run_through(&run, &table, &context, 0, 1);
    char path[128];
    snprintf(path, sizeof path, "%s/m.csv", table.folder);
    assert_int_equal(unlink(path), 0);
    struct source *source = open_source(&table, &context);
    struct reader *reader = open_reader(source, 0);
    assert_int_equal(seek_to(&run, 2, reader, &table.err), STATUS_OK); /* behind row 2, in n.csv */
    read_on(&rest, reader, 1, 2, true);
    put_file(&table, "m.csv", "4,m\n");
    read_on(&rest, reader, 1, 3, true);
    assert_string_equal(rest.rows.bytes, "3|n\n4|m\n");
    source->type->reader_close(reader);
    source_close(source);
    check_places(&rest, &table, &context, 0);
    run_close(&run);
    run_close(&rest);
    table_close(&table);
}

static void expect_lost(struct table *table, const struct source_context *context, const struct run *run, uint32_t place,
                        const char *message)
{
    struct source *source = open_source(table, context);
    struct reader *reader = open_reader(source, 0);
    struct error err = {0};
    assert_int_not_equal(seek_to(run, place, reader, &err), STATUS_OK);
    assert_int_equal(err.code, ERROR_POSITION_LOST);
    if (strstr(err.text, message) == NULL) {
        fail_msg("'%s' is not in '%s'", message, err.text);
    }
    source->type->reader_close(reader);
    source_close(source);
}

static void what_was_changed_is_refused(void **state)
{
    (void)state;
    struct table table;
    struct source_context context = input_open(&table, &inputs[2], "skip");
    char path[128];
    struct run run;
    put_file(&table, "a.csv", "1,one\n2,two\n3,three\n");
    put_file(&table, "b.csv", "4,four\n");
    run_through(&run, &table, &context, 0, 1);
    put_file(&table, "a.csv", "1,one\n2");
    expect_lost(&table, &context, &run, 2, "a.csv' was read up to its byte 12, but it is shorter now");
    put_file(&table, "a.csv", "1,one\n2,TWO\n3,three\n");
    expect_lost(&table, &context, &run, 2, "it was changed");
    put_file(&table, "ab.csv", "9,nine\n");
    expect_lost(&table, &context, &run, 1, "2 then, of which or between which 3 are there now");
    snprintf(path, sizeof path, "%s/ab.csv", table.folder);
    assert_int_equal(unlink(path), 0);
    put_file(&table, "a.csv", "1,one\n2,two\n3,three\n");
    put_file(&table, "z.csv", "10,ten\n"); /* behind all: was not part of the input */
    check_places(&run, &table, &context, 0);
    snprintf(path, sizeof path, "%s/b.csv", table.folder);
    assert_int_equal(unlink(path), 0);
    expect_lost(&table, &context, &run, 1, "of which or between which 1 are there now");
    run_close(&run);
    table_close(&table);
}

static void a_followed_file_that_was_being_read_must_be_there(void **state)
{
    (void)state;
    struct table table;
    struct source_context context = input_open(&table, &inputs[2], "skip");
    char path[128];
    struct run run;
    put_file(&table, "a.csv", "1,one\n2,two\n3,three\n");
    table_set(&table, "source.monitor-interval", "1 ms");
    run_through(&run, &table, &context, 0, 1);
    put_file(&table, "a.csv", "1,one\n");
    expect_lost(&table, &context, &run, 2, "it is shorter now");
    snprintf(path, sizeof path, "%s/a.csv", table.folder);
    assert_int_equal(unlink(path), 0);
    expect_lost(&table, &context, &run, 1, "a.csv' was read up to its byte 6, but it is gone");
    text_builder_clear(&run.histories[3]);
    text_append_text(&run.histories[3], "0123456789abcdef 1 1 1\n0123456789abcdef 1 1 1\n");
    expect_lost(&table, &context, &run, 3, "broken in its line 2");
    text_builder_clear(&run.histories[3]);
    text_append_text(&run.histories[3], "0123456789abcdef 1 1");
    expect_lost(&table, &context, &run, 3, "broken in its line 1");
    run_close(&run);
    table_close(&table);
}

static void broken_places_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *place, *message;
    } cases[] = {
        {"", "is none of 'filesystem/1'"},
        {"filesystem/2 rows=1", "is none of 'filesystem/1'"},
        {"datagen/1 row=1", "is none of 'filesystem/1'"},
        {"filesystem/1 rows=x", "has no number 'rows'"},
        {"filesystem/1 rows=1 done=-1", "has no number 'done'"},
        {"filesystem/1 rows=1 done=0 file=9:x files=0", "has no 'files'"},
        {"filesystem/1 rows=1 done=0 files=1 last=6:/a.csv list=12", "has no 64 bits 'list'"},
    };
    struct table table;
    struct source_context context = input_open(&table, &inputs[2], "skip");
    put_file(&table, "a.csv", "1,one\n");
    for (uint32_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct run run = {.count = 1};
        text_append_text(&run.places[0], cases[i].place);
        expect_lost(&table, &context, &run, 0, cases[i].message);
        run_close(&run);
    }
    table_close(&table);
}

static void check_generator(const char *const *given, const struct source_column *columns, uint32_t count)
{
    struct table table;
    table_open(&table, "unused");
    table.options.count = 0;
    for (; *given != NULL; given += 2) {
        table_set(&table, given[0], given[1]);
    }
    struct source_context context = context_of(&table, columns, count);
    struct run run;
    run_through(&run, &table, &context, 0, 37);
    assert_true(run.count > 5);
    check_places(&run, &table, &context, 0);
    run_close(&run);
    table_close(&table);
}

static void generators_repeat_their_rows(void **state)
{
    (void)state;
    static const struct source_column columns[] = {{"n", &type_bigint, NULL}, {"i", &type_int, NULL}, {"s", &type_string, NULL}};
    static const char *const datagen[] = {"connector",
                                          "datagen",
                                          "number-of-rows",
                                          "300",
                                          "rows-per-second",
                                          "1000000",
                                          "fields.n.kind",
                                          "sequence",
                                          "fields.n.start",
                                          "5",
                                          "fields.n.end",
                                          "1000",
                                          "seed",
                                          "9",
                                          NULL};
    static const struct type *const bid_types[] = {&type_bigint, &type_bigint, &type_string};
    static const char *const bid_names[] = {"auction", "price", "extra"};
    static const struct type bid = {.kind = TYPE_ROW, .nullable = true, .child_count = 3, .children = bid_types, .names = bid_names};
    static const struct source_column events[] = {{"event_type", &type_int, NULL}, {"bid", &bid, NULL}};
    static const char *const nexmark[] = {"connector", "nexmark", "events.num", "400", NULL};
    check_generator(datagen, columns, 3);
    check_generator(nexmark, events, 2);
}

int main(void)
{
    srand(20261130);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_on_from_every_place),
        cmocka_unit_test(a_folder_is_read_on_from_every_place),
        cmocka_unit_test(each_file_is_a_partition_with_a_place),
        cmocka_unit_test(a_large_file_is_read_on),
        cmocka_unit_test(a_followed_folder_is_read_on_in_every_file),
        cmocka_unit_test(a_file_that_was_read_may_go_and_come_again),
        cmocka_unit_test(what_was_changed_is_refused),
        cmocka_unit_test(a_followed_file_that_was_being_read_must_be_there),
        cmocka_unit_test(broken_places_are_refused),
        cmocka_unit_test(generators_repeat_their_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
