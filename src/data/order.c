#include "data/order.h"

#include "base/hash.h"

#include <assert.h>
#include <math.h>

/* NaN is above all numbers; -0.0 equals 0.0 by itself. */
static int compare_doubles(double left, double right)
{
    if (isnan(left) || isnan(right)) {
        return (isnan(left) != 0) - (isnan(right) != 0);
    }
    return (left > right) - (left < right);
}

#define COMPARE(name)                                                                                                                      \
    ((vector_##name(left)[left_row] > vector_##name(right)[right_row]) - (vector_##name(left)[left_row] < vector_##name(right)[right_row]))

static int compare_elements(const struct vector *left, struct span left_span, const struct vector *right, struct span right_span)
{
    uint32_t common = left_span.length < right_span.length ? left_span.length : right_span.length;
    for (uint32_t i = 0; i < common; i++) {
        int order = vector_compare_rows(left, left_span.offset + i, right, right_span.offset + i);
        if (order != 0) {
            return order;
        }
    }
    return (left_span.length > right_span.length) - (left_span.length < right_span.length);
}

/* The smallest entry of a side that is not below `floor`: walking both sides by it compares them as sorted sets. */
static bool next_entry(const struct vector *vector, struct span span, uint32_t previous, bool first, uint32_t *next)
{
    const struct vector *keys = &vector->children[0];
    bool found = false;
    for (uint32_t i = span.offset; i < span.offset + span.length; i++) {
        int past = first ? 1 : vector_compare_rows(keys, i, keys, previous);
        if (past < 0 || (past == 0 && i <= previous)) {
            continue;
        }
        if (!found || vector_compare_rows(keys, i, keys, *next) < 0) {
            *next = i;
            found = true;
        }
    }
    return found;
}

/* Maps and multisets: by size, then entry by entry in the order of their keys. */
static int compare_entries(const struct vector *left, struct span left_span, const struct vector *right, struct span right_span)
{
    if (left_span.length != right_span.length) {
        return left_span.length < right_span.length ? -1 : 1;
    }
    uint32_t left_entry = 0, right_entry = 0;
    for (bool first = true; next_entry(left, left_span, left_entry, first, &left_entry); first = false) {
        if (!next_entry(right, right_span, right_entry, first, &right_entry)) {
            return 1;
        }
        for (uint32_t child = 0; child < 2; child++) {
            int order = vector_compare_rows(&left->children[child], left_entry, &right->children[child], right_entry);
            if (order != 0) {
                return order;
            }
        }
    }
    return 0;
}

static int compare_spans(const struct vector *left, uint32_t left_row, const struct vector *right, uint32_t right_row)
{
    struct span left_span = vector_spans(left)[left_row], right_span = vector_spans(right)[right_row];
    if (left->type->kind == TYPE_ARRAY) {
        return compare_elements(&left->children[0], left_span, &right->children[0], right_span);
    }
    return compare_entries(left, left_span, right, right_span);
}

static int compare_fields(const struct vector *left, uint32_t left_row, const struct vector *right, uint32_t right_row)
{
    for (uint32_t i = 0; i < left->child_count && i < right->child_count; i++) {
        int order = vector_compare_rows(&left->children[i], left_row, &right->children[i], right_row);
        if (order != 0) {
            return order;
        }
    }
    return (left->child_count > right->child_count) - (left->child_count < right->child_count);
}

int vector_compare_rows(const struct vector *left, uint32_t left_row, const struct vector *right, uint32_t right_row)
{
    bool left_valid = vector_is_valid(left, left_row), right_valid = vector_is_valid(right, right_row);
    if (!left_valid || !right_valid) {
        return left_valid - right_valid;
    }
    switch (left->physical) {
    case PHYSICAL_BOOL:
        return COMPARE(bool);
    case PHYSICAL_INT8:
        return COMPARE(int8);
    case PHYSICAL_INT16:
        return COMPARE(int16);
    case PHYSICAL_INT32:
        return COMPARE(int32);
    case PHYSICAL_INT64:
        return COMPARE(int64);
    case PHYSICAL_INT128:
        return COMPARE(int128);
    case PHYSICAL_FLOAT:
        return compare_doubles(vector_float(left)[left_row], vector_float(right)[right_row]);
    case PHYSICAL_DOUBLE:
        return compare_doubles(vector_double(left)[left_row], vector_double(right)[right_row]);
    case PHYSICAL_STRING:
        return string_view_compare(&vector_strings(left)[left_row], &vector_strings(right)[right_row]);
    case PHYSICAL_SPAN:
        return compare_spans(left, left_row, right, right_row);
    case PHYSICAL_ROW:
        return compare_fields(left, left_row, right, right_row);
    default:
        assert(!"a physical kind");
        return 0;
    }
}

bool vector_rows_equal(const struct vector *left, uint32_t left_row, const struct vector *right, uint32_t right_row)
{
    if (left->physical == PHYSICAL_STRING && right->physical == PHYSICAL_STRING) {
        bool left_valid = vector_is_valid(left, left_row), right_valid = vector_is_valid(right, right_row);
        return left_valid == right_valid &&
               (!left_valid || string_view_equal(&vector_strings(left)[left_row], &vector_strings(right)[right_row]));
    }
    return vector_compare_rows(left, left_row, right, right_row) == 0;
}

int sort_keys_compare(const struct sort_key *keys, uint32_t count, const struct vector *left, uint32_t left_row, const struct vector *right,
                      uint32_t right_row)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct vector *a = &left[keys[i].column], *b = &right[keys[i].column];
        bool left_valid = vector_is_valid(a, left_row), right_valid = vector_is_valid(b, right_row);
        if (left_valid != right_valid) {
            return left_valid == keys[i].nulls_first ? 1 : -1;
        }
        int order = left_valid ? vector_compare_rows(a, left_row, b, right_row) : 0;
        if (order != 0) {
            return keys[i].descending ? -order : order;
        }
    }
    return 0;
}

void batch_hash(const struct batch *batch, const uint32_t *keys, uint32_t key_count, uint64_t *hashes)
{
    struct selection rows = batch_selection(batch);
    if (key_count == 0) {
        for (uint32_t i = 0; i < rows.count; i++) {
            hashes[selection_row(&rows, i)] = HASH_NULL;
        }
    }
    for (uint32_t i = 0; i < key_count; i++) {
        vector_hash(&batch->columns[keys[i]], rows, i == 0, hashes);
    }
}
