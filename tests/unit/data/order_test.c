#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

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

static void doubles_order_nan_above_all_and_zeros_equal(void **state)
{
    (void)state;
    double values[] = {-INFINITY, -1, -0.0, 0.0, 5e-324, INFINITY, NAN, -NAN};
    struct vector vector = {.type = &type_double, .physical = PHYSICAL_DOUBLE, .count = 8, .values = values};
    static const int rank[] = {0, 1, 2, 2, 3, 4, 5, 5};
    uint64_t hashes[8];
    vector_hash(&vector, (struct selection){NULL, 8}, true, hashes);
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t k = 0; k < 8; k++) {
            assert_int_equal(vector_compare_rows(&vector, i, &vector, k), (rank[i] > rank[k]) - (rank[i] < rank[k]));
            assert_int_equal(hashes[i] == hashes[k], rank[i] == rank[k]);
        }
        assert_true(hashes[i] == vector_hash_row(&vector, i));
    }
}

static void strings_order_by_bytes_with_prefixes_first(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "a",
                                        "abc",
                                        "abcd",
                                        "abcde",
                                        "abcdefghijkl",
                                        "abcdefghijklm",
                                        "abcdefghijklmn",
                                        "abd",
                                        "\xc3\xa9",
                                        "\xe4\xb8\x96",
                                        "\xf0\x9f\x98\x80"};
    struct string_view views[12];
    for (uint32_t i = 0; i < 12; i++) {
        views[i] = string_view_make(texts[i], strlen(texts[i]));
    }
    for (uint32_t i = 0; i < 12; i++) {
        for (uint32_t k = 0; k < 12; k++) {
            assert_int_equal(string_view_compare(&views[i], &views[k]), (i > k) - (i < k));
            assert_int_equal(string_view_equal(&views[i], &views[k]), i == k);
        }
    }
}

static void nulls_are_smallest_equal_and_hashed(void **state)
{
    (void)state;
    int32_t values[] = {INT32_MIN, 7, 7};
    uint64_t validity = 0x1;
    struct vector vector = {.type = &type_int, .physical = PHYSICAL_INT32, .count = 3, .values = values, .validity = &validity};
    assert_int_equal(vector_compare_rows(&vector, 1, &vector, 0), -1);
    assert_true(vector_rows_equal(&vector, 1, &vector, 2));
    assert_true(vector_hash_row(&vector, 1) == vector_hash_row(&vector, 2));
    struct sort_key key = {.column = 0, .descending = true};
    assert_int_equal(sort_keys_compare(&key, 1, &vector, 0, &vector, 1), -1);
    key.nulls_first = true;
    assert_int_equal(sort_keys_compare(&key, 1, &vector, 0, &vector, 1), 1);
}

static void maps_are_equal_whatever_the_order_of_their_entries(void **state)
{
    (void)state;
    static const struct type *const children[] = {&type_int, &type_int};
    static const struct type map = {.kind = TYPE_MAP, .child_count = 2, .children = children, .nullable = true};
    int32_t keys[] = {1, 2, 3, 3, 1, 2, 1, 2, 3}, values[] = {10, 20, 30, 30, 10, 20, 10, 20, 31};
    struct vector entries[2] = {{.type = &type_int, .physical = PHYSICAL_INT32, .count = 9, .values = keys},
                                {.type = &type_int, .physical = PHYSICAL_INT32, .count = 9, .values = values}};
    struct span spans[] = {{0, 3}, {3, 3}, {6, 3}, {0, 2}};
    struct vector vector = {.type = &map, .physical = PHYSICAL_SPAN, .count = 4, .values = spans, .children = entries, .child_count = 2};
    assert_true(vector_rows_equal(&vector, 0, &vector, 1));
    assert_true(vector_hash_row(&vector, 0) == vector_hash_row(&vector, 1));
    assert_int_equal(vector_compare_rows(&vector, 0, &vector, 2), -1);
    assert_int_equal(vector_compare_rows(&vector, 0, &vector, 3), 1);
}

static void strings_gathered_from_many_heaps_survive_their_sources(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct vector result;
    OK(vector_create(&budget, &type_string, 0, &result, &err));
    for (uint32_t i = 0; i < 30; i++) {
        struct vector source;
        OK(vector_create(&budget, &type_string, 1, &source, &err));
        vector_clear(&source);
        struct string_heap heap = {.budget = &budget, .target = &source};
        char *bytes = string_heap_alloc(&heap, 20, &err);
        assert_non_null(bytes);
        memset(bytes, 'a' + (int)i % 26, 20);
        vector_strings(&source)[0] = string_view_make(bytes, 20);
        OK(vector_append(&budget, &result, &source, 0, 1, &err));
        OK(vector_append_null(&budget, &result, &err));
        vector_release(&source);
    }
    assert_true(result.heap_count <= VECTOR_HEAPS_MAX);
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(vector_is_valid(&result, i), i % 2 == 0);
        if (i % 2 == 0) {
            assert_int_equal(vector_get_text(&result, i).bytes[19], 'a' + (int)(i / 2) % 26);
        }
    }
    vector_release(&result);
    assert_int_equal(budget.used_bytes, 0);
}

static void a_string_heap_of_many_blocks_keeps_them_all(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct vector result;
    OK(vector_create(&budget, &type_string, 64, &result, &err));
    vector_clear(&result);
    struct buffer *other[VECTOR_HEAPS_MAX];
    for (uint32_t i = 0; i < VECTOR_HEAPS_MAX; i++) {
        OK(buffer_create(&budget, 100, &other[i], &err));
        OK(vector_attach_heap(&result, other[i], &err));
    }
    struct string_heap heap = {.budget = &budget, .target = &result};
    for (uint32_t i = 0; i < 64; i++) {
        char *bytes = string_heap_alloc(&heap, 10000, &err);
        memset(bytes, (int)i, 10000);
        vector_strings(&result)[i] = string_view_make(bytes, 10000);
    }
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(vector_get_text(&result, i).bytes[9999], i);
    }
    vector_release(&result);
    assert_int_equal(budget.used_bytes, 0);
}

static void gathering_keeps_nulls_at_word_borders(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct vector source, result;
    uint16_t rows[129];
    OK(vector_create(&budget, &type_bigint, 200, &source, &err));
    OK(vector_need_validity(&budget, &source, 200, &err));
    for (uint32_t i = 0; i < 200; i++) {
        vector_int64(&source)[i] = i;
        if (i == 63 || i == 64 || i == 199) {
            vector_set_null(&source, i);
        }
    }
    for (uint32_t i = 0; i < 129; i++) {
        rows[i] = (uint16_t)(i + 63);
    }
    OK(vector_gather(&budget, &source, rows, 129, &result, &err));
    for (uint32_t i = 0; i < 129; i++) {
        assert_int_equal(vector_is_valid(&result, i), i > 1);
        assert_true(i <= 1 || vector_int64(&result)[i] == i + 63);
    }
    vector_release(&result);
    OK(vector_gather(&budget, &source, rows + 2, 100, &result, &err));
    assert_null(result.validity);
    vector_release(&result);
    OK(vector_repeat(&budget, &source, 64, 70, &result, &err));
    assert_false(vector_is_valid(&result, 69));
    vector_release(&result);
    vector_release(&source);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_order_nan_above_all_and_zeros_equal),
        cmocka_unit_test(strings_order_by_bytes_with_prefixes_first),
        cmocka_unit_test(nulls_are_smallest_equal_and_hashed),
        cmocka_unit_test(maps_are_equal_whatever_the_order_of_their_entries),
        cmocka_unit_test(strings_gathered_from_many_heaps_survive_their_sources),
        cmocka_unit_test(a_string_heap_of_many_blocks_keeps_them_all),
        cmocka_unit_test(gathering_keeps_nulls_at_word_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
