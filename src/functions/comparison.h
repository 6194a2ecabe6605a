/* functions/comparison.h: the kernels behind =, <>, <, <=, > and >=.
 *
 * For         comparison.c, which binds them, and GREATEST and LEAST.
 * Rules       NaN = NaN is TRUE; <, <=, >, >= with a NaN are FALSE; -0.0 = 0.0. Strings by bytes.
 */
#ifndef SPATE_FUNCTIONS_COMPARISON_H
#define SPATE_FUNCTIONS_COMPARISON_H

#include "functions/function.h"

enum comparison_operator {
    COMPARISON_EQUAL,
    COMPARISON_NOT_EQUAL,
    COMPARISON_LESS,
    COMPARISON_LESS_OR_EQUAL,
    COMPARISON_GREATER,
    COMPARISON_GREATER_OR_EQUAL,
    COMPARISON_COUNT,
};
struct comparison {
    kernel_fn *run;
    uint32_t (*select)(struct kernel_call *call, uint16_t *kept);
};
/* Kernels for a scalar physical kind; NULL for SPAN, ROW and NULL. */
const struct comparison *comparison_find(enum physical physical, enum comparison_operator operation);

/* Brings two arguments to a form that can be compared: casts, or refuses. `equality`: only = or <> is asked for. */
enum status comparison_coerce(struct function_binding *binding, bool equality, bool distinct, struct error *err);

#endif
