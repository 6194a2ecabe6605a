/* Comparisons of every scalar kind: loops made from compare.inc, and the table that finds them. */
#include "functions/comparison.h"

#define T                   uint8_t
#define KIND(verb)          bool_##verb
#define EQUAL(a, b)         ((a) == (b))
#define LESS(a, b)          ((a) < (b))
#define LESS_OR_EQUAL(a, b) ((a) <= (b))
#include "functions/compare_type.inc"
#define T                   int8_t
#define KIND(verb)          int8_##verb
#define EQUAL(a, b)         ((a) == (b))
#define LESS(a, b)          ((a) < (b))
#define LESS_OR_EQUAL(a, b) ((a) <= (b))
#include "functions/compare_type.inc"
#define T                   int16_t
#define KIND(verb)          int16_##verb
#define EQUAL(a, b)         ((a) == (b))
#define LESS(a, b)          ((a) < (b))
#define LESS_OR_EQUAL(a, b) ((a) <= (b))
#include "functions/compare_type.inc"
#define T                   int32_t
#define KIND(verb)          int32_##verb
#define EQUAL(a, b)         ((a) == (b))
#define LESS(a, b)          ((a) < (b))
#define LESS_OR_EQUAL(a, b) ((a) <= (b))
#include "functions/compare_type.inc"
#define T                   int64_t
#define KIND(verb)          int64_##verb
#define EQUAL(a, b)         ((a) == (b))
#define LESS(a, b)          ((a) < (b))
#define LESS_OR_EQUAL(a, b) ((a) <= (b))
#include "functions/compare_type.inc"
#define T                   int128_t
#define KIND(verb)          int128_##verb
#define EQUAL(a, b)         ((a) == (b))
#define LESS(a, b)          ((a) < (b))
#define LESS_OR_EQUAL(a, b) ((a) <= (b))
#include "functions/compare_type.inc"
#define T                   float
#define KIND(verb)          float_##verb
#define EQUAL(a, b)         (((a) == (b)) | (((a) != (a)) & ((b) != (b))))
#define LESS(a, b)          ((a) < (b))
#define LESS_OR_EQUAL(a, b) ((a) <= (b))
#include "functions/compare_type.inc"
#define T                   double
#define KIND(verb)          double_##verb
#define EQUAL(a, b)         (((a) == (b)) | (((a) != (a)) & ((b) != (b))))
#define LESS(a, b)          ((a) < (b))
#define LESS_OR_EQUAL(a, b) ((a) <= (b))
#include "functions/compare_type.inc"
#define T                   struct string_view
#define KIND(verb)          string_##verb
#define EQUAL(a, b)         string_view_equal(&(a), &(b))
#define LESS(a, b)          (string_view_compare(&(a), &(b)) < 0)
#define LESS_OR_EQUAL(a, b) (string_view_compare(&(a), &(b)) <= 0)
#include "functions/compare_type.inc"

static const struct comparison *const tables[PHYSICAL_COUNT] = {
    [PHYSICAL_BOOL] = bool_table,   [PHYSICAL_INT8] = int8_table,     [PHYSICAL_INT16] = int16_table,
    [PHYSICAL_INT32] = int32_table, [PHYSICAL_INT64] = int64_table,   [PHYSICAL_INT128] = int128_table,
    [PHYSICAL_FLOAT] = float_table, [PHYSICAL_DOUBLE] = double_table, [PHYSICAL_STRING] = string_table,
};

const struct comparison *comparison_find(enum physical physical, enum comparison_operator operation)
{
    return tables[physical] == NULL ? NULL : &tables[physical][operation];
}
