#include "decoder_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct type decimal = {.kind = TYPE_DECIMAL, .nullable = true, .precision = 10, .scale = 2};
    static const struct type *const inner_types[] = {&type_int, &type_string};
    static const char *const inner_names[] = {"x", "y"};
    static const struct type inner = {.kind = TYPE_ROW, .nullable = true, .child_count = 2, .children = inner_types, .names = inner_names};
    static const struct type *const inner_child[] = {&inner}, *const map_child[] = {&type_string, &inner};
    static const struct type array = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = inner_child};
    static const struct type map = {.kind = TYPE_MAP, .nullable = true, .child_count = 2, .children = map_child};
    static const struct type *const types[] = {&type_int,  &type_string, &type_double, &type_boolean, &decimal, &type_timestamp3,
                                               &type_date, &type_bytes,  &inner,       &array,        &map,     &type_bigint};
    static const char *const names[] = {"i", "s", "d", "b", "m", "t", "dt", "by", "r", "a", "mp", "l"};
    static const struct type row = {.kind = TYPE_ROW, .child_count = 12, .children = types, .names = names};
    const char *keys[] = {"format", "json.ignore-parse-errors"}, *values[] = {"json", size > 1 && (data[1] & 4) != 0 ? "true" : "false"};
    struct table_options options = {keys, values, 2};
    return fuzz_compare(&options, &row, data, size);
}
