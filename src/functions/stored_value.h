/* functions/stored_value.h: one value of any type in 16 bytes of an aggregate's state.
 *
 * For         MIN, MAX, FIRST_VALUE, multisets.
 * Shape       Fixed width: the value, normal (-0.0 as 0.0, one NaN), rest zero. STRING: a view. Nested, and with
 *             value_kind_encoded every type and NULL too: a view of encoded bytes (data/value_codec.h).
 * Ownership   A borrowed value points into the row or the scratch; stored_own copies its bytes into a slab, stored_free gives
 *             them back.
 */
#ifndef SPATE_FUNCTIONS_STORED_VALUE_H
#define SPATE_FUNCTIONS_STORED_VALUE_H

#include "base/byte_reader.h"
#include "functions/aggregate.h"

struct stored {
    union {
        uint64_t words[2];
        struct string_view view;
    };
};
struct value_kind {
    const struct type *type;
    enum physical physical;
    uint32_t width;
    bool text, encoded;
};
struct value_kind value_kind_of(const struct type *type);
struct value_kind value_kind_encoded(const struct type *type); /* holds NULL as well */

/* `scratch` is only used by encoded kinds; the value holds until its next use. */
struct stored stored_borrow(const struct value_kind *kind, const struct vector *vector, uint32_t row, struct text_builder *scratch);
enum status stored_own(const struct value_kind *kind, struct slab *heap, struct stored *value, struct error *err);
void stored_free(const struct value_kind *kind, struct slab *heap, struct stored *value);
/* As bytes: fixed width as it is, else length and bytes. load: borrowed from the reader's bytes; false: no value of the kind is there. */
void stored_save(const struct value_kind *kind, const struct stored *value, struct text_builder *out);
bool stored_load(const struct value_kind *kind, struct byte_reader *reader, struct stored *value);
int stored_compare(const struct value_kind *kind, const struct stored *left, const struct stored *right);
double stored_to_double(const struct value_kind *kind, const struct stored *value); /* numeric, fixed width */
/* Writes values[k] (NULL: NULL) as row k of the call's result. */
enum status stored_write(const struct value_kind *kind, const struct result_call *call, const struct stored *const *values,
                         struct error *err);

static inline uint8_t *accumulate_state(const struct accumulate_call *call, uint32_t k)
{
    return call->states + (size_t)call->slots[k] * call->stride;
}
static inline const uint8_t *result_state(const struct result_call *call, uint32_t k)
{
    return call->states + (size_t)call->slots[k] * call->stride;
}
static inline int64_t accumulate_weight(const struct accumulate_call *call, uint32_t row)
{
    return call->weights == NULL ? 1 : call->weights[row];
}
/* The row's place in its source, 0 when rows have none. */
static inline int64_t accumulate_ordinal(const struct accumulate_call *call, uint32_t row)
{
    return call->batch != NULL && call->batch->ordered ? batch_ordinal(call->batch, row) : 0;
}
enum status aggregate_no_room(struct error *err);
enum status aggregate_corrupt(struct error *err); /* the bytes of a saved state are not well-formed */
/* Refuses an argument, naming the function and the argument's type. */
enum status aggregate_refuse(const struct aggregate_binding *binding, uint32_t arg, const char *wanted, struct error *err);
const struct type *aggregate_nullable(const struct aggregate_binding *binding, const struct type *type);

#endif
