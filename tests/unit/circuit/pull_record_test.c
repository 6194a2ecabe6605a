#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "circuit/pull_record.h"

static const struct pull_entry entries[] = {
    {.source = 0, .partition = 0, .event = PULL_GAVE_ROWS, .rows = 4096, .part = {"/a.json", 7}},
    {.source = 0, .partition = 300, .event = PULL_AT_END},
    {.source = 7, .partition = 1, .event = PULL_GAVE_ROWS, .rows = 1},
    {.source = 1, .partition = 0, .event = PULL_CAUGHT_UP},
    {.source = 1, .partition = 2, .event = PULL_AT_END},
    {.source = 1, .partition = 3, .event = PULL_GAVE_NOTHING},
};
enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

static void fill(struct text_builder *record)
{
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        pull_record_put(record, &entries[i]);
    }
}

static void pull_record_gives_back_what_was_put(void **state)
{
    (void)state;
    struct text_builder record = {0};
    struct pull_entry entry;
    fill(&record);
    struct text rest = {record.bytes, record.length};
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        assert_true(pull_record_next(&rest, &entry));
        assert_int_equal(entry.source, entries[i].source);
        assert_int_equal(entry.partition, entries[i].partition);
        assert_int_equal(entry.event, entries[i].event);
        assert_int_equal(entry.rows, entries[i].rows);
        assert_true(text_equal(entry.part, entries[i].part));
    }
    assert_false(pull_record_next(&rest, &entry));
    assert_int_equal(rest.length, 0);
    text_builder_close(&record);
}

static void pull_record_that_is_cut_is_told_from_one_that_ended(void **state)
{
    (void)state;
    struct text_builder record = {0};
    fill(&record);
    size_t ends = 0;
    for (size_t length = 0; length <= record.length; length++) {
        struct text rest = {record.bytes, length};
        struct pull_entry entry;
        while (pull_record_next(&rest, &entry)) {
        }
        ends += rest.length == 0;
    }
    assert_int_equal(ends, ENTRY_COUNT + 1);
    record.bytes[0] = PULL_EVENT_COUNT;
    struct text rest = {record.bytes, record.length};
    struct pull_entry entry;
    assert_false(pull_record_next(&rest, &entry));
    assert_int_equal(rest.length, record.length);
    text_builder_close(&record);
}

static void pull_record_keeps_ends_of_a_tick_that_was_none(void **state)
{
    (void)state;
    struct text_builder record = {0};
    struct pull_entry entry;
    fill(&record);
    pull_record_keep_ends(&record);
    struct text rest = {record.bytes, record.length};
    assert_true(pull_record_next(&rest, &entry) && entry.partition == 300 && entry.event == PULL_AT_END);
    assert_true(pull_record_next(&rest, &entry) && entry.partition == 2 && entry.event == PULL_AT_END);
    assert_false(pull_record_next(&rest, &entry));
    assert_int_equal(rest.length, 0);
    text_builder_close(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pull_record_gives_back_what_was_put),
        cmocka_unit_test(pull_record_that_is_cut_is_told_from_one_that_ended),
        cmocka_unit_test(pull_record_keeps_ends_of_a_tick_that_was_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
