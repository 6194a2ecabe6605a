/* data/cast_kernels.h: how a cast is built from kernels; for the files data/cast_*.c.
 *
 * Shape       Each file offers a `find`: the kernel for a pair of types, or NULL when the pair is not its own. A kernel fills
 *             the result's values for the rows it is given; the result has the validity of the source, and strings of
 *             rows that are NULL are empty. Rows that cannot be converted go to cast_reject, overflowing decimals to cast_set_null.
 * Rules       Numeric kernels may compute rows that are NULL (any value is harmless); kernels that read text skip them.
 */
#ifndef SPATE_DATA_CAST_KERNELS_H
#define SPATE_DATA_CAST_KERNELS_H

#include "data/cast.h"

struct cast_run {
    const struct cast *cast;
    const struct cast_context *context;
    const struct vector *source;
    struct selection rows;
    struct vector *result;
    struct string_heap heap;
    enum status status; /* of an allocation in cast_reject, cast_set_null, cast_put_text */
    struct error *err;
};
typedef enum status cast_fn(struct cast_run *run);

struct cast {
    const struct type *from, *to;
    bool try_cast;
    cast_fn *fn; /* NULL: the same values under another type */
    uint32_t child_count;
    const struct cast *const *children; /* of nested types */
};

cast_fn *cast_number_find(const struct type *from, const struct type *to);
cast_fn *cast_decimal_find(const struct type *from, const struct type *to);
cast_fn *cast_text_find(const struct type *from, const struct type *to);
cast_fn *cast_time_find(const struct type *from, const struct type *to);
cast_fn *cast_nested_find(const struct type *from, const struct type *to);

void cast_set_null(struct cast_run *run, uint32_t row);
/* NULL for TRY_CAST and legacy casts, else a failure that quotes the text. */
void cast_reject(struct cast_run *run, uint32_t row, struct text value);
/* Writes a text of characters into a CHAR or VARCHAR row: pads or cuts. */
void cast_put_text(struct cast_run *run, uint32_t row, const char *bytes, size_t length);
/* The length of CHAR, VARCHAR, BINARY, VARBINARY in force. */
int32_t cast_length(const struct cast_run *run);

/* `row` runs over the rows of a cast_run. */
#define CAST_EACH_ROW(run, row)                                                                                                            \
    for (uint32_t row##_at = 0, row = 0; row##_at < (run)->rows.count && (row = selection_row(&(run)->rows, row##_at), true); row##_at++)
/* A statement for each row, with a loop of its own for dense rows, so that it becomes vector code. */
#define CAST_LOOP(run, row, statement)                                                                                                     \
    do {                                                                                                                                   \
        const struct selection rows_ = (run)->rows;                                                                                        \
        if (rows_.rows == NULL) {                                                                                                          \
            for (uint32_t row = 0; row < rows_.count; row++) {                                                                             \
                statement;                                                                                                                 \
            }                                                                                                                              \
        } else {                                                                                                                           \
            for (uint32_t at_ = 0; at_ < rows_.count; at_++) {                                                                             \
                uint32_t row = rows_.rows[at_];                                                                                            \
                statement;                                                                                                                 \
            }                                                                                                                              \
        }                                                                                                                                  \
    } while (0)

#endif
