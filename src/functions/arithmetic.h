/* functions/arithmetic.h: what the files of +, -, *, / and % share.
 *
 * Rules       Integers keep the wider operand's type and wrap; x / 0 fails for exact numbers. FLOAT with DOUBLE takes the left
 *             one's type, approximate with DECIMAL is DOUBLE. Decimals: Flink's precision and scale; what does not fit is NULL.
 */
#ifndef SPATE_FUNCTIONS_ARITHMETIC_H
#define SPATE_FUNCTIONS_ARITHMETIC_H

#include "functions/function.h"

enum arithmetic_operator {
    ARITHMETIC_ADD,
    ARITHMETIC_SUBTRACT,
    ARITHMETIC_MULTIPLY,
    ARITHMETIC_DIVIDE,
    ARITHMETIC_MODULO,
    ARITHMETIC_COUNT,
};

/* Loops of arithmetic_kernels.c for integers and approximate numbers; NULL: none. DIVIDE and MODULO of integers report
 * division by zero. */
kernel_fn *arithmetic_kernel(enum arithmetic_operator operation, enum physical physical);
kernel_fn *arithmetic_negate_kernel(enum physical physical);

/* Both arguments exact, at least one a DECIMAL (arithmetic_decimal.c). */
enum status arithmetic_bind_decimal(struct function_binding *binding, enum arithmetic_operator operation, struct error *err);
/* A date, time, timestamp or interval among the arguments (arithmetic_time.c). */
enum status arithmetic_bind_time(struct function_binding *binding, enum arithmetic_operator operation, struct error *err);

#endif
