#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "data/arrow.h"
#include "data/order.h"
#include "data/vector_append.h"

static struct budget budget;
static struct error err;

#define OK(call)                                                                                                                           \
    do {                                                                                                                                   \
        if ((call) != STATUS_OK) {                                                                                                         \
            fail_msg("%s", err.text);                                                                                                      \
        }                                                                                                                                  \
    } while (0)

static const struct type decimal = {.kind = TYPE_DECIMAL, .precision = 9, .scale = 2, .nullable = true};
static const struct type wide = {.kind = TYPE_DECIMAL, .precision = 30, .scale = 2, .nullable = true};
static const struct type time9 = {.kind = TYPE_TIMESTAMP, .precision = 9, .nullable = true};
static const struct type *const array_children[] = {&type_string};
static const struct type array = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = array_children};
static const struct type *const map_children[] = {&type_string, &type_int};
static const struct type map = {.kind = TYPE_MAP, .nullable = true, .child_count = 2, .children = map_children};
static const char *const names[] = {"b", "i", "s", "d", "w", "t3", "t9", "a", "m"};
static const struct type *const columns[] = {&type_boolean,    &type_int, &type_string, &decimal, &wide,
                                             &type_timestamp3, &time9,    &array,       &map};
static const struct type row = {.kind = TYPE_ROW, .child_count = 9, .children = columns, .names = names};

static const char long_text[] = "a text that is longer than twelve bytes";

static void fill(struct batch *batch, uint32_t rows)
{
    OK(batch_init(batch, 9, &err));
    batch->count = rows;
    for (uint32_t c = 0; c < 9; c++) {
        OK(vector_create(&budget, columns[c], rows, &batch->columns[c], &err));
        vector_clear(&batch->columns[c]);
        OK(vector_need_validity(&budget, &batch->columns[c], rows, &err));
    }
    struct vector *v = batch->columns;
    const struct string_view view = string_view_make(long_text, sizeof long_text - 1);
    const struct vector text = {.type = &type_string, .physical = PHYSICAL_STRING, .count = 1, .values = (void *)&view};
    int32_t one = 1;
    const struct vector number = {.type = &type_int, .physical = PHYSICAL_INT32, .count = 1, .values = &one};
    for (uint32_t i = 0; i < rows; i++) {
        vector_bool(&v[0])[i] = i % 2;
        vector_int32(&v[1])[i] = (int32_t)i - 10;
        vector_strings(&v[2])[i] = i % 3 == 0 ? view : string_view_make("short", i % 6);
        vector_int64(&v[3])[i] = -(int64_t)i;
        vector_int128(&v[4])[i] = (int128_t)i << 80;
        vector_int64(&v[5])[i] = -1000 * (int64_t)i;
        vector_int128(&v[6])[i] = -(int128_t)i;
        vector_spans(&v[7])[i] = (struct span){v[7].children[0].count, i % 3};
        for (uint32_t k = 0; k < i % 3; k++) {
            OK(vector_append(&budget, &v[7].children[0], &text, 0, 1, &err));
        }
        vector_spans(&v[8])[i] = (struct span){v[8].children[0].count, i % 2};
        if (i % 2 == 1) {
            OK(vector_append(&budget, &v[8].children[0], &text, 0, 1, &err));
            OK(vector_append(&budget, &v[8].children[1], &number, 0, 1, &err));
        }
        for (uint32_t c = 0; c < 9; c++) {
            if ((i + c) % 64 == 0 || (i + c) % 64 == 63) {
                vector_set_null(&v[c], i);
                if (v[c].physical == PHYSICAL_SPAN || v[c].physical == PHYSICAL_STRING) {
                    memset((char *)v[c].values + (size_t)i * physical_bytes(v[c].physical), 0, physical_bytes(v[c].physical));
                }
            }
        }
    }
}

static void round_trip(uint32_t rows, uint32_t chunk)
{
    struct batch batch, back;
    struct ArrowSchema schema;
    struct ArrowArray exported;
    struct arrow_import *import;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    fill(&batch, rows);
    OK(arrow_export_schema(&row, &schema, &err));
    assert_string_equal(schema.children[3]->format, "d:9,2");
    assert_string_equal(schema.children[5]->format, "tsm:");
    OK(arrow_export_batch(&budget, &batch, &row, &exported, &err));
    OK(arrow_import_open(&row, &schema, &exported, &import, &err));
    schema.release(&schema);
    assert_null(exported.release);
    for (uint32_t first = 0; first < rows; first += back.count, batch_release(&back)) {
        OK(arrow_import_next(import, &budget, chunk, &back, &err));
        assert_true(back.count > 0);
        for (uint32_t i = 0; i < back.count; i++) {
            for (uint32_t c = 0; c < 9; c++) {
                if (!vector_rows_equal(&batch.columns[c], first + i, &back.columns[c], i)) {
                    fail_msg("row %u column %s differs", first + i, names[c]);
                }
            }
        }
        if (first + back.count == rows) {
            arrow_import_close(import);
        }
    }
    batch_release(&batch);
    assert_int_equal(budget.used_bytes, 0);
}

static void batches_survive_the_way_out_and_back(void **state)
{
    (void)state;
    round_trip(1, CHUNK_ROWS);
    round_trip(130, 7);
    round_trip(CHUNK_ROWS, 1000);
}

static void times_beyond_nanoseconds_name_the_column(void **state)
{
    (void)state;
    static const char *const name[] = {"when"};
    static const struct type *const child[] = {&time9};
    static const struct type one = {.kind = TYPE_ROW, .child_count = 1, .children = child, .names = name};
    struct batch batch;
    struct ArrowArray exported;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    OK(batch_init(&batch, 1, &err));
    batch.count = 1;
    OK(vector_create(&budget, &time9, 1, &batch.columns[0], &err));
    vector_int128(&batch.columns[0])[0] = (int128_t)INT64_MAX + 1;
    assert_int_equal(arrow_export_batch(&budget, &batch, &one, &exported, &err), STATUS_BAD_VALUE);
    assert_non_null(strstr(err.text, "'when'"));
    batch_release(&batch);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_survive_the_way_out_and_back),
        cmocka_unit_test(times_beyond_nanoseconds_name_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
