/* functions/sequence.h: the values of a group in their order, with withdrawals.
 *
 * For         FIRST_VALUE, LAST_VALUE, LISTAGG, ARRAY_AGG, JSON_ARRAYAGG over input that changes or has no order.
 * Shape       Values by (ordinal, value) where rows have an order, else by value alone. A withdrawal takes the earliest equal value: for
 *             that, ordered and changing input has a second multiset by value.
 */
#ifndef SPATE_FUNCTIONS_SEQUENCE_H
#define SPATE_FUNCTIONS_SEQUENCE_H

#include "functions/multiset.h"

struct sequence {
    struct multiset items, by_value; /* by_value: empty unless indexed */
};
struct sequence_order {
    struct multiset_order items, by_value;
    bool indexed;
};
struct sequence_order sequence_order_of(struct value_kind kind, bool ordered, bool retracts);
enum status sequence_add(struct sequence *sequence, const struct sequence_order *order, const struct stored *value, int64_t ordinal,
                         int64_t weight, struct slab *heap, struct error *err);
enum status sequence_merge(struct sequence *into, const struct sequence *from, const struct sequence_order *order, int64_t weight,
                           struct slab *heap, struct error *err);
void sequence_clear(struct sequence *sequence, const struct sequence_order *order, struct slab *heap);
/* As bytes: the items, from which load makes by_value again. */
void sequence_save(const struct sequence *sequence, const struct sequence_order *order, struct text_builder *out);
enum status sequence_load(struct sequence *sequence, const struct sequence_order *order, struct byte_reader *reader, struct slab *heap,
                          struct error *err);
/* save and load of an accumulator whose state is a sequence and whose data begins with its order. */
void sequence_state_save(const struct accumulator *accumulator, const void *state, struct text_builder *out);
enum status sequence_state_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                                struct error *err);
/* update of an accumulator whose state is a sequence and whose data begins with its order; skips NULLs when told. */
enum status sequence_update(const struct accumulate_call *call, const struct sequence_order *order, bool skip_nulls, struct error *err);

#endif
