#include "decoder_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct type *const child[] = {&type_int};
    static const struct type array = {.kind = TYPE_ARRAY, .nullable = true, .child_count = 1, .children = child};
    static const struct type *const types[] = {&type_int, &type_string, &type_double, &array, &type_timestamp3, &type_date};
    static const char *const names[] = {"i", "s", "d", "a", "t", "dt"};
    static const struct type row = {.kind = TYPE_ROW, .child_count = 6, .children = types, .names = names};
    bool lenient = size > 1 && (data[1] & 4) != 0, escape = size > 1 && (data[1] & 8) != 0, comments = size > 1 && (data[1] & 16) != 0;
    const char *keys[] = {"format", "csv.ignore-parse-errors", "csv.allow-comments", "csv.null-literal", "csv.escape-character"};
    const char *values[] = {"csv", lenient ? "true" : "false", comments ? "true" : "false", "n/a", "\\"};
    struct table_options options = {keys, values, escape ? 5 : 4};
    return fuzz_compare(&options, &row, data, size);
}
