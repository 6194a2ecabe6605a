#include "../support/batches.h"

#include "state/state_layout.h"

/* Bytes that a file of state may hold, and what they are read as. */
struct fixture {
    struct budget budget;
    struct arena *arena;
    struct error err;
    struct string_view views[4];
};

static struct state_layout *open_layout(struct fixture *fixture, const char *text)
{
    struct state_layout *layout;
    require(state_layout_open(fixture->arena, &fixture->budget, text_from(text), "c", &layout, &fixture->err), &fixture->err);
    return layout;
}

static enum status read_rows(struct fixture *fixture, struct state_layout *layout, const struct text *rows, uint32_t count,
                             struct vector *columns)
{
    struct vector bytes = {.type = &type_bytes, .physical = PHYSICAL_STRING, .count = count, .values = fixture->views};
    for (uint32_t i = 0; i < count; i++) {
        fixture->views[i] = string_view_make(rows[i].bytes, rows[i].length);
    }
    return state_layout_read(layout, &bytes, count, columns, &fixture->err);
}

static void fixture_open(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    budget_init(&fixture->budget, NULL, "test", BUDGET_UNLIMITED);
    fixture->arena = arena_create(&fixture->budget, "test");
}

static void fixture_close(struct fixture *fixture)
{
    arena_destroy(fixture->arena);
    assert_int_equal(atomic_load(&fixture->budget.used_bytes), 0);
}

static void texts_are_made_readable(void **state)
{
    (void)state;
    struct fixture fixture;
    struct vector column;
    const struct text rows[] = {TEXT("a b"), {"x\377\0y", 4}, TEXT("")};
    fixture_open(&fixture);
    struct state_layout *layout = open_layout(&fixture, "text");
    require(read_rows(&fixture, layout, rows, 3, &column), &fixture.err);
    static const struct text expected[] = {TEXT("a b"), {"x\\xFF\0y", 7}, TEXT("")};
    for (uint32_t i = 0; i < 3; i++) {
        struct text text = vector_get_text(&column, i);
        assert_int_equal(text.length, expected[i].length);
        assert_memory_equal(text.bytes, expected[i].bytes, text.length);
    }
    vector_release(&column);
    fixture_close(&fixture);
}

static void numbers_and_bits_have_whole_lengths(void **state)
{
    (void)state;
    struct fixture fixture;
    struct vector column;
    const int64_t numbers[] = {7, -1, 9};
    const struct text rows[] = {{(const char *)numbers, 24}, {NULL, 0}, {(const char *)numbers, 8}};
    fixture_open(&fixture);
    struct state_layout *layout = open_layout(&fixture, "numbers");
    require(read_rows(&fixture, layout, rows, 3, &column), &fixture.err);
    assert_int_equal(vector_spans(&column)[0].length, 3);
    assert_int_equal(vector_spans(&column)[1].length, 0);
    assert_int_equal(vector_int64(&column.children[0])[vector_spans(&column)[2].offset], 7);
    vector_release(&column);
    const struct text torn = {(const char *)numbers, 12};
    assert_int_equal(read_rows(&fixture, layout, &torn, 1, &column), STATUS_CORRUPT);
    layout = open_layout(&fixture, "bits");
    require(read_rows(&fixture, layout, &rows[2], 1, &column), &fixture.err);
    assert_int_equal(vector_int64(&column)[0], 7);
    vector_release(&column);
    assert_int_equal(read_rows(&fixture, layout, &torn, 1, &column), STATUS_CORRUPT);
    fixture_close(&fixture);
}

static void calls_give_values_and_torn_ones_are_refused(void **state)
{
    (void)state;
    struct fixture fixture;
    struct vector columns[2];
    static const struct {
        uint32_t count_length;
        int64_t count __attribute__((packed));
        uint32_t sum_length;
        int64_t sum __attribute__((packed)), values __attribute__((packed));
    } bytes = {8, 5, 16, 42, 4};
    fixture_open(&fixture);
    struct state_layout *layout = open_layout(&fixture, "calls\tCOUNT\tROW<>\tall\tAVG retracts merges\tROW<a1 INT>\tmean");
    const struct schema *schema = state_layout_schema(layout);
    assert_int_equal(schema->count, 2);
    assert_string_equal(schema->columns[1].name, "mean");
    for (size_t length = 1; length <= sizeof bytes; length++) {
        const struct text row = {(const char *)&bytes, length};
        enum status status = read_rows(&fixture, layout, &row, 1, columns);
        assert_int_equal(status, length == sizeof bytes ? STATUS_OK : STATUS_CORRUPT);
    }
    assert_int_equal(vector_int64(&columns[0])[0], 5);
    assert_int_equal(vector_int64(&columns[1].children[0])[0], 42);
    assert_int_equal(vector_int64(&columns[1].children[1])[0], 4);
    vector_release(&columns[0]);
    vector_release(&columns[1]);
    fixture_close(&fixture);
}

static void what_is_not_known_stays_bytes(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture);
    static const char *const texts[] = {"",
                                        "blob",
                                        "calls\tNOSUCH\tROW<>\tx",
                                        "calls\tCOUNT sometimes\tROW<>\tx",
                                        "calls\tSUM\tROW<a1 STRING>\tx",
                                        "calls\tSUM\tROW<a1 NOTYPE>\tx",
                                        "calls\tSUM\tROW<>\tx"};
    for (uint32_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        assert_null(open_layout(&fixture, texts[i]));
    }
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_made_readable),
        cmocka_unit_test(numbers_and_bits_have_whole_lengths),
        cmocka_unit_test(calls_give_values_and_torn_ones_are_refused),
        cmocka_unit_test(what_is_not_known_stays_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
