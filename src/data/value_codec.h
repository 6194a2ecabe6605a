/* data/value_codec.h: one value of any type as bytes.
 *
 * For         nested columns (arrays, maps, rows) in rows and keys of state.
 * Shape       0 for NULL, else 1 and: fixed width: its bytes (-0.0 as 0.0, NaN as one pattern); STRING: length, bytes; ARRAY: count,
 *             elements; MAP and MULTISET: count, then key and value (element and count) sorted by key; ROW: its fields.
 * Invariants  Values are equal (data/order.h) iff their bytes are.
 * Errors      decode fails when the budget is spent.
 */
#ifndef SPATE_DATA_VALUE_CODEC_H
#define SPATE_DATA_VALUE_CODEC_H

#include "data/order.h"

void value_encode(const struct vector *vector, uint32_t row, struct text_builder *out);
/* Past the encoded value at `bytes`. */
const uint8_t *value_skip(const struct type *type, const uint8_t *bytes);
/* The same for bytes that may be anything and end at `end`; NULL: no encoded value is there. */
const uint8_t *value_check(const struct type *type, const uint8_t *bytes, const uint8_t *end);
/* The order of data/order.h. */
int value_compare(const struct type *type, const uint8_t *left, const uint8_t *right);
/* A column of `count` values from where the cursors point; they are moved past the values. NULL cursors: NULL. */
enum status value_decode_column(struct budget *budget, const struct type *type, const uint8_t **cursors, uint32_t count,
                                struct vector *vector, struct error *err);

/* A copy of a fixed-width value with -0.0 as 0.0 and NaN as one pattern. */
void value_copy_normal(enum physical physical, const void *from, void *to);
int value_compare_fixed(enum physical physical, const void *left, const void *right);

#endif
