/* data/vector.h: one column of a chunk.
 *
 * For         everything that flows. A vector is a small struct by value that points into counted buffers.
 * Shape       `count` rows. Values: an array by physical kind (data/type.h). Validity: one bit a row, set = not NULL;
 *             absent (NULL) when no row is NULL. The value slot of a NULL row is unspecified for fixed widths, and an
 *             empty view or span for STRING and SPAN.
 *             SPAN rows index into children[]: ARRAY: elements; MULTISET: elements and INT counts; MAP: keys and values.
 *             ROW: children[] have the same count; a NULL row's children are unspecified.
 * Ownership   A vector that was created or ref'ed is ended by vector_release. `values_buffer` and `validity_buffer` are
 *             references (NULL: lent memory that outlives the vector, e.g. a constant). Heaps are references to what the
 *             views of this vector point into; a vector shares up to VECTOR_HEAPS_MAX, beyond that bytes are copied.
 * Invariants  Values are written only before the vector is shared. Rows past `count` are never read.
 * Threads     One at a time for writing; a shared vector may be read in any.
 */
#ifndef SPATE_DATA_VECTOR_H
#define SPATE_DATA_VECTOR_H

#include "base/buffer.h"
#include "data/string_view.h"
#include "data/type.h"

enum { CHUNK_ROWS = 4096, VALIDITY_WORDS = CHUNK_ROWS / 64, VECTOR_HEAPS_MAX = 8 };

struct span {
    uint32_t offset, length;
};

/* Which rows of a chunk: ascending positions, or all of 0..count-1 when `rows` is NULL. */
struct selection {
    const uint16_t *rows;
    uint32_t count;
};
static inline uint32_t selection_row(const struct selection *selection, uint32_t index)
{
    return selection->rows == NULL ? index : selection->rows[index];
}

struct vector {
    const struct type *type;
    enum physical physical;
    uint32_t count;
    void *values;
    uint64_t *validity;
    struct buffer *values_buffer, *validity_buffer;
    struct buffer *heaps[VECTOR_HEAPS_MAX];
    uint32_t heap_count, child_count;
    struct vector *children; /* owned: malloc'ed with the vector, released with it */
};

/* Room for `rows` rows, none NULL, values not set; children of ROW likewise, children of SPAN empty. */
enum status vector_create(struct budget *budget, const struct type *type, uint32_t rows, struct vector *vector, struct error *err);
/* A second reference to the same column. Fails only when children cannot be allocated. */
enum status vector_ref(const struct vector *source, struct vector *vector, struct error *err);
void vector_release(struct vector *vector); /* zeroes it; a zeroed vector may be released again */

static inline bool vector_is_valid(const struct vector *vector, uint32_t row)
{
    if (vector->physical == PHYSICAL_NULL) {
        return false;
    }
    return vector->validity == NULL || ((vector->validity[row / 64] >> (row % 64)) & 1) != 0;
}
/* Gives the vector a validity bitmap of its own, all set (or a copy of the present one). */
enum status vector_need_validity(struct budget *budget, struct vector *vector, uint32_t rows, struct error *err);
static inline void vector_set_null(struct vector *vector, uint32_t row) /* after vector_need_validity */
{
    vector->validity[row / 64] &= ~((uint64_t)1 << (row % 64));
}
static inline void vector_set_valid(struct vector *vector, uint32_t row)
{
    vector->validity[row / 64] |= (uint64_t)1 << (row % 64);
}

#define VECTOR_VALUES(name, ctype)                                                                                                         \
    static inline ctype *vector_##name(const struct vector *vector)                                                                        \
    {                                                                                                                                      \
        return (ctype *)vector->values;                                                                                                    \
    }
VECTOR_VALUES(bool, uint8_t)
VECTOR_VALUES(int8, int8_t)
VECTOR_VALUES(int16, int16_t)
VECTOR_VALUES(int32, int32_t)
VECTOR_VALUES(int64, int64_t)
VECTOR_VALUES(int128, int128_t)
VECTOR_VALUES(float, float)
VECTOR_VALUES(double, double)
VECTOR_VALUES(strings, struct string_view)
VECTOR_VALUES(spans, struct span)
#undef VECTOR_VALUES

/* The integer value of a row of any integer, date, time, timestamp, interval or decimal kind, widened. */
int128_t vector_get_integer(const struct vector *vector, uint32_t row);
static inline struct text vector_get_text(const struct vector *vector, uint32_t row)
{
    return string_view_text(&((const struct string_view *)vector->values)[row]);
}

/* Keeps alive what the views of `source` point into for `vector` as well. If the list is full, copies the bytes of
 * `vector`'s views written so far (rows 0..vector->count-1) into one heap of its own first. */
enum status vector_share_heaps(struct budget *budget, struct vector *vector, const struct vector *source, struct error *err);
/* Takes a reference to a heap for the life of the vector; a full list grows by tying two heaps together. */
enum status vector_attach_heap(struct vector *vector, struct buffer *heap, struct error *err);

/* Rows of `source` at `rows` (dense copy): the result has `count` rows. Strings share heaps; nested types share children. */
enum status vector_gather(struct budget *budget, const struct vector *source, const uint16_t *rows, uint32_t count, struct vector *result,
                          struct error *err);
/* A vector of `count` equal rows (row `row` of source). */
enum status vector_repeat(struct budget *budget, const struct vector *source, uint32_t row, uint32_t count, struct vector *result,
                          struct error *err);

/* A string heap being filled: strings of one result vector that are not views into its arguments' heaps. A block is the
 * target's as soon as it is made: there is nothing to close. Who also shares heaps with the target does that first. */
struct string_heap {
    struct budget *budget;
    struct buffer *current; /* lent by the target */
    size_t used;
    struct vector *target; /* blocks are attached to its heaps */
};
/* Room for `length` bytes that live as long as the target vector; NULL with err set when there is none. */
char *string_heap_alloc(struct string_heap *heap, size_t length, struct error *err);

#endif
