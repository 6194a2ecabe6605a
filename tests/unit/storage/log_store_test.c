#include "fixture.h"

#include "storage/log_store.h"

static enum status note(void *context, const struct log_line *line, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    sprintf((char *)context + strlen(context), "%s/%s ", line->processor, line->event);
    return STATUS_OK;
}

#define MINUTE_US (INT64_C(60) * 1000000)

static void append(struct fixture *f, const char *processor, const struct log_line *lines, uint32_t count)
{
    struct log_writer *writer;
    REQUIRE(log_writer_open(f->storage, "j-0000", processor, "9f1c", &writer, &f->err), f);
    REQUIRE(log_append(writer, lines, count, &f->err), f);
    log_writer_close(writer);
}

static void fill(struct fixture *f)
{
    int64_t t = f->clock.now_us;
    append(f, "w1", (struct log_line[]){{t, LOG_INFO, "a", "s1.0", NULL, NULL}, {t + 90 * MINUTE_US, LOG_WARN, "d", NULL, NULL, NULL}}, 2);
    append(f, "w2",
           (struct log_line[]){{t + 1, LOG_ERROR, "b", "s1.1", "{\"n\":1}", NULL}, {t + 2 * MINUTE_US, LOG_INFO, "c", NULL, NULL, NULL}},
           2);
    append(f, "w1", (struct log_line[]){{t + MINUTE_US, LOG_DEBUG, "x", NULL, NULL, NULL}}, 1);
}

static void lines_come_in_order_of_time_whoever_wrote_them(void **state)
{
    (void)state;
    struct fixture f;
    char text[200] = "";
    struct log_filter filter = {0};
    fixture_open(&f, NULL, 0);
    fill(&f);
    assert_non_null(memory_store_find(f.memory, "v1/jobs/j-0000/logs/2024-10-04/00/w1-9f1c-000000000000.ndjson.zst", 0));
    assert_non_null(memory_store_find(f.memory, "v1/jobs/j-0000/logs/2024-10-04/01/", 0));
    filter.from_us = f.clock.now_us;
    REQUIRE(log_read(f.storage, "j-0000", &filter, note, text, &f.err), &f);
    assert_string_equal(text, "w1/a w2/b w1/x w2/c w1/d ");
    fixture_close(&f);
}

static void filters_choose(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL, 0);
    fill(&f);
    int64_t t = f.clock.now_us;
    const struct {
        struct log_filter filter;
        const char *expected;
    } cases[] = {
        {{.from_us = t, .at_least = LOG_WARN}, "w2/b w1/d "},
        {{.from_us = t + 1, .to_us = t + 2 * MINUTE_US}, "w2/b w1/x "},
        {{.from_us = t, .task = "s1.1"}, "w2/b "},
        {{.from_us = t, .processor = "w1"}, "w1/a w1/x w1/d "},
        {{.from_us = t, .event = "d"}, "w1/d "},
        {{.from_us = t + 60 * MINUTE_US}, "w1/d "},
        {{.from_us = 0, .to_us = t}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200] = "";
        REQUIRE(log_read(f.storage, "j-0000", &cases[i].filter, note, text, &f.err), &f);
        assert_string_equal(text, cases[i].expected);
    }
    fixture_close(&f);
}

static enum status note_fields(void *context, const struct log_line *line, bool *stop, struct error *err)
{
    (void)err;
    if (line->fields != NULL) {
        strcat(context, line->fields);
    }
    *stop = line->level == LOG_ERROR;
    return STATUS_OK;
}

static void fields_come_back_and_a_reader_may_stop(void **state)
{
    (void)state;
    struct fixture f;
    char text[200] = "";
    struct log_filter filter = {0};
    struct log_writer *writer;
    fixture_open(&f, NULL, 0);
    fill(&f);
    REQUIRE(log_read(f.storage, "j-0000", &filter, note_fields, text, &f.err), &f);
    assert_string_equal(text, "{\"n\":1}");
    REQUIRE(log_writer_open(f.storage, "j-0000", "w1", "9f1c", &writer, &f.err), &f);
    struct log_line bad = {1, LOG_INFO, "e", NULL, "{", NULL};
    REQUIRE_ERROR(log_append(writer, &bad, 1, &f.err), ERROR_INVALID_OPTION, "\"fields\" is not JSON", &f);
    log_writer_close(writer);
    fixture_close(&f);
}

static void following_gives_each_batch_once(void **state)
{
    (void)state;
    struct fixture f;
    char text[200] = "";
    struct log_filter filter = {0};
    struct log_cursor *cursor;
    fixture_open(&f, NULL, 0);
    int64_t t = f.clock.now_us;
    REQUIRE(log_cursor_open(&cursor, &f.err), &f);
    filter.from_us = t;
    REQUIRE(log_follow(f.storage, "j-0000", &filter, cursor, note, text, &f.err), &f);
    assert_string_equal(text, "");
    append(&f, "w2", &(struct log_line){t + 5, LOG_INFO, "one", NULL, NULL, NULL}, 1);
    REQUIRE(log_follow(f.storage, "j-0000", &filter, cursor, note, text, &f.err), &f);
    assert_string_equal(text, "w2/one ");
    append(&f, "w1", &(struct log_line){t + 3, LOG_INFO, "two", NULL, NULL, NULL}, 1); /* sorts before what was given */
    append(&f, "w2", &(struct log_line){t + 90 * MINUTE_US, LOG_INFO, "three", NULL, NULL, NULL}, 1);
    memory_store_fail(f.memory, 2, MEMORY_FAULT_UNAVAILABLE, false);
    REQUIRE_ERROR(log_follow(f.storage, "j-0000", &filter, cursor, note, text, &f.err), ERROR_STORE_UNAVAILABLE, "fault", &f);
    REQUIRE(log_follow(f.storage, "j-0000", &filter, cursor, note, text, &f.err), &f);
    assert_string_equal(text, "w2/one w1/two w2/three ");
    REQUIRE(log_follow(f.storage, "j-0000", &filter, cursor, note, text, &f.err), &f);
    assert_string_equal(text, "w2/one w1/two w2/three ");
    log_cursor_close(cursor);
    fixture_close(&f);
}

static void damaged_batches_are_named(void **state)
{
    (void)state;
    struct fixture f;
    char text[200] = "";
    struct log_filter filter = {0};
    fixture_open(&f, NULL, 0);
    fill(&f);
    memory_store_damage(f.memory, memory_store_find(f.memory, "/logs/", 0), 0);
    REQUIRE_ERROR(log_read(f.storage, "j-0000", &filter, note, text, &f.err), ERROR_STORE_CORRUPT,
                  "w1-9f1c-000000000000.ndjson.zst' is corrupt", &f);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_in_order_of_time_whoever_wrote_them),
        cmocka_unit_test(filters_choose),
        cmocka_unit_test(fields_come_back_and_a_reader_may_stop),
        cmocka_unit_test(following_gives_each_batch_once),
        cmocka_unit_test(damaged_batches_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
