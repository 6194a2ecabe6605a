/* functions/multiset.h: an ordered multiset in an aggregate's state.
 *
 * For         MIN, MAX, FIRST_VALUE, LISTAGG, ... over input that changes or has no order of its own.
 * Shape       Entries (value, ordinal, count) in order, in blocks of up to 64; a directory of blocks. By value (then ordinal), or by
 *             ordinal (then value). A few entries are one small block. Finding is two binary searches.
 * Invariants  No entry has count 0; a count may be negative while a withdrawal has come before its row. Zero bytes: empty.
 * Ownership   Blocks and the bytes of values are in the slab; multiset_clear frees them.
 */
#ifndef SPATE_FUNCTIONS_MULTISET_H
#define SPATE_FUNCTIONS_MULTISET_H

#include "functions/stored_value.h"

struct multiset_entry {
    struct stored value;
    int64_t ordinal, count;
};
struct multiset_block {
    uint32_t count, capacity;
    struct multiset_entry entries[];
};
struct multiset {
    struct multiset_block **blocks;
    uint32_t block_count, block_capacity;
    int64_t total; /* of all counts */
};
struct multiset_order {
    struct value_kind kind;
    bool by_ordinal;
};
/* A place in a multiset, for walks: position is the entry's index in the block. */
struct multiset_cursor {
    uint32_t block, position;
};
/* Adds to the count of (value, ordinal); the value is copied when it is new. */
enum status multiset_add(struct multiset *set, const struct multiset_order *order, const struct stored *value, int64_t ordinal,
                         int64_t count, struct slab *heap, struct error *err);
/* The first entry of the value, whatever its ordinal (order by value); NULL: none. */
const struct multiset_entry *multiset_find_value(const struct multiset *set, const struct multiset_order *order,
                                                 const struct stored *value);
/* The first and last entry with a positive count; NULL: none. */
const struct multiset_entry *multiset_first(const struct multiset *set);
const struct multiset_entry *multiset_last(const struct multiset *set);
/* Walks in order from a zeroed cursor; NULL at the end. */
const struct multiset_entry *multiset_next(const struct multiset *set, struct multiset_cursor *cursor);
enum status multiset_merge(struct multiset *into, const struct multiset *from, const struct multiset_order *order, int64_t weight,
                           struct slab *heap, struct error *err);
/* As bytes: the number of entries, then each one's value, its ordinal where the order goes by it (else all are 0), its count.
 * load: into an empty multiset. */
void multiset_save(const struct multiset *set, const struct multiset_order *order, struct text_builder *out);
enum status multiset_load(struct multiset *set, const struct multiset_order *order, struct byte_reader *reader, struct slab *heap,
                          struct error *err);
/* save and load of an accumulator whose state is a multiset and whose data begins with its order. */
void multiset_state_save(const struct accumulator *accumulator, const void *state, struct text_builder *out);
enum status multiset_state_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                                struct error *err);
void multiset_clear(struct multiset *set, const struct multiset_order *order, struct slab *heap);

#endif
