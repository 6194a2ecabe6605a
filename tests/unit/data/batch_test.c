#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/batch.h"

enum { ROWS = 130 };

static int64_t values[ROWS];
static uint64_t validity[3];

/* A batch of one column whose row 64 is NULL, as are the bits past its end. */
static struct batch batch_with_a_null(struct vector *column)
{
    validity[0] = ~(uint64_t)0;
    validity[1] = ~(uint64_t)1;
    validity[2] = 3;
    *column = (struct vector){.type = &type_bigint, .physical = PHYSICAL_INT64, .count = ROWS, .values = values, .validity = validity};
    return (struct batch){.count = ROWS, .column_count = 1, .columns = column};
}

static void a_bitmap_goes_when_its_nulls_are_not_selected(void **state)
{
    (void)state;
    static const uint16_t rows[] = {0, 63, 65, 127, 128, 129};
    struct vector column;
    struct batch batch = batch_with_a_null(&column);
    batch.selected = rows;
    batch.selected_count = 6;
    batch_drop_validity(&batch);
    assert_null(column.validity);
}

static void a_bitmap_with_a_selected_null_stays(void **state)
{
    (void)state;
    static const uint16_t rows[] = {63, 64};
    struct vector column;
    struct batch batch = batch_with_a_null(&column);
    batch.selected = rows;
    batch.selected_count = 2;
    batch_drop_validity(&batch);
    assert_ptr_equal(column.validity, validity);
}

static void without_a_selection_all_rows_count_and_none_past_the_end(void **state)
{
    (void)state;
    struct vector column;
    struct batch batch = batch_with_a_null(&column);
    batch_drop_validity(&batch);
    assert_ptr_equal(column.validity, validity);
    validity[1] = ~(uint64_t)0;
    batch_drop_validity(&batch);
    assert_null(column.validity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bitmap_goes_when_its_nulls_are_not_selected),
        cmocka_unit_test(a_bitmap_with_a_selected_null_stays),
        cmocka_unit_test(without_a_selection_all_rows_count_and_none_past_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
