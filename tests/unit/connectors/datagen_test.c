#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "connectors/source.h"
#include "connectors/table_options.h"
#include "data/cell_text.h"

static const struct type *const ints_child[] = {&type_int};
static const struct type ints = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = ints_child};
static const struct type *const inner_types[] = {&type_int, &type_string};
static const char *const inner_names[] = {"x", "y"};
static const struct type inner = {.kind = TYPE_ROW, .nullable = true, .child_count = 2, .children = inner_types, .names = inner_names};
static const struct source_column columns[] = {
    {"n", &type_bigint, NULL}, {"i", &type_int, NULL}, {"s", &type_string, NULL}, {"a", &ints, NULL}, {"r", &inner, NULL}};

static char *generate(const char *const *given, uint32_t row_limit)
{
    struct budget budget;
    struct error err = {0};
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "test");
    const char *keys[24] = {"connector", "rows-per-second"}, *values[24] = {"datagen", "1000000"};
    struct table_options options = {keys, values, 2};
    for (; *given != NULL; given += 2) {
        keys[options.count] = given[0];
        values[options.count++] = given[1];
    }
    struct source_context context = {.arena = arena,
                                     .budget = &budget,
                                     .clock = &clock_system,
                                     .zone = time_zone_utc,
                                     .table = "t",
                                     .columns = columns,
                                     .column_count = 5,
                                     .options = &options};
    struct source *source;
    struct text_builder out = {0};
    if (source_open(&context, &source, &err) != STATUS_OK) {
        text_append_text(&out, err.text);
        arena_destroy(arena);
        return out.bytes;
    }
    struct reader *reader;
    enum read_state state = READ_ROWS;
    assert_true(source->bounded);
    assert_int_equal(source->type->reader_open(source, 0, &reader, &err), STATUS_OK);
    while (state != READ_END) {
        struct batch batch;
        int64_t wait_us;
        assert_int_equal(source->type->read(reader, row_limit, &batch, &state, &wait_us, &err), STATUS_OK);
        if (state == READ_IDLE) {
            usleep((useconds_t)wait_us);
        }
        for (uint32_t row = 0; state == READ_ROWS && row < batch.count; row++) {
            for (uint32_t i = 0; i < batch.column_count; i++) {
                text_append_text(&out, i == 0 ? "" : "|");
                cell_text_append(&batch.columns[i], row, time_zone_utc, 0, &out);
            }
            text_append_char(&out, '\n');
        }
        if (state == READ_ROWS) {
            batch_release(&batch);
        }
    }
    source->type->reader_close(reader);
    source_close(source);
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
    return out.bytes;
}

static void datagen_makes_the_same_rows_of_the_same_seed(void **state)
{
    (void)state;
    static const char *const options[] = {"seed",
                                          "7",
                                          "fields.n.kind",
                                          "sequence",
                                          "fields.n.start",
                                          "10",
                                          "fields.n.end",
                                          "59",
                                          "fields.i.min",
                                          "3",
                                          "fields.i.max",
                                          "5",
                                          "fields.s.length",
                                          "20",
                                          "fields.a.length",
                                          "2",
                                          "fields.a.element.max",
                                          "0",
                                          "fields.r.null-rate",
                                          "0.5",
                                          "fields.r.x.min",
                                          "0",
                                          NULL};
    char *first = generate(options, 4096), *second = generate(options, 7);
    assert_string_equal(first, second);
    uint32_t rows = 0, nulls = 0;
    for (char *line = strtok(first, "\n"); line != NULL; line = strtok(NULL, "\n"), rows++) {
        assert_int_equal(atoi(line), 10 + (int)rows);
        int value = atoi(strchr(line, '|') + 1);
        assert_in_range(value, 3, 5);
        nulls += strcmp(strrchr(line, '|'), "|NULL") == 0;
    }
    assert_int_equal(rows, 50);
    assert_in_range(nulls, 10, 40);
    free(first);
    free(second);
}

static void datagen_refuses_what_it_cannot_make(void **state)
{
    (void)state;
    static const char *const cases[][4] = {{"fields.i.mn", "1", NULL, "did you mean 'min'?"},
                                           {"fields.nosuch.min", "1", NULL, "no such column"},
                                           {"fields.n.kind", "sequence", NULL, "'fields.n.start' is missing"}};
    for (uint32_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *const options[] = {"number-of-rows", "1", cases[i][0], cases[i][1], NULL};
        char *text = generate(options, 1);
        assert_non_null(strstr(text, cases[i][3]));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagen_makes_the_same_rows_of_the_same_seed),
        cmocka_unit_test(datagen_refuses_what_it_cannot_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
