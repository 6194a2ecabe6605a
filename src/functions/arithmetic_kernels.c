/* Loops of arithmetic over integers, which wrap, and approximate numbers. */
#include "functions/arithmetic.h"

/* Division of 64-bit magnitudes by a multiplication: quotient = ((n - high) / 2 + high) >> shift, where high is the upper
 * half of n * multiplier; multiplier and shift are those for which this is exact for all n (round-up method). */
struct reciprocal {
    uint64_t multiplier;
    uint32_t shift;
    bool negative, one;
};

static struct reciprocal reciprocal_make(int64_t divisor)
{
    uint64_t magnitude = divisor < 0 ? 0 - (uint64_t)divisor : (uint64_t)divisor;
    if (magnitude == 1) {
        return (struct reciprocal){.negative = divisor < 0, .one = true};
    }
    uint32_t bits = 64 - (uint32_t)__builtin_clzll(magnitude - 1);
    uint128_t power = (uint128_t)1 << bits;
    uint64_t multiplier = (uint64_t)(((power - magnitude) << 64) / magnitude) + 1;
    return (struct reciprocal){.multiplier = multiplier, .shift = bits - 1, .negative = divisor < 0};
}

static inline int64_t reciprocal_divide(const struct reciprocal *reciprocal, int64_t value)
{
    uint64_t sign = (uint64_t)(value >> 63);
    uint64_t magnitude = ((uint64_t)value ^ sign) - sign;
    uint64_t high = (uint64_t)(((uint128_t)magnitude * reciprocal->multiplier) >> 64);
    uint64_t quotient = reciprocal->one ? magnitude : (((magnitude - high) >> 1) + high) >> reciprocal->shift;
    uint64_t flip = sign ^ (0 - (uint64_t)reciprocal->negative);
    return (int64_t)((quotient ^ flip) - flip);
}

#define L           int8_t
#define R           int8_t
#define O           int8_t
#define NAME        add_int8
#define VALUE(a, b) ((uint32_t)(a) + (uint32_t)(b))
#include "functions/binary.inc"
#define L           int8_t
#define R           int8_t
#define O           int8_t
#define NAME        subtract_int8
#define VALUE(a, b) ((uint32_t)(a) - (uint32_t)(b))
#include "functions/binary.inc"
#define L           int8_t
#define R           int8_t
#define O           int8_t
#define NAME        multiply_int8
#define VALUE(a, b) ((uint32_t)(a) * (uint32_t)(b))
#include "functions/binary.inc"
#define T          int8_t
#define NAME(verb) verb##_int8
#include "functions/divide.inc"
#define L           int16_t
#define R           int16_t
#define O           int16_t
#define NAME        add_int16
#define VALUE(a, b) ((uint32_t)(a) + (uint32_t)(b))
#include "functions/binary.inc"
#define L           int16_t
#define R           int16_t
#define O           int16_t
#define NAME        subtract_int16
#define VALUE(a, b) ((uint32_t)(a) - (uint32_t)(b))
#include "functions/binary.inc"
#define L           int16_t
#define R           int16_t
#define O           int16_t
#define NAME        multiply_int16
#define VALUE(a, b) ((uint32_t)(a) * (uint32_t)(b))
#include "functions/binary.inc"
#define T          int16_t
#define NAME(verb) verb##_int16
#include "functions/divide.inc"
#define L           int32_t
#define R           int32_t
#define O           int32_t
#define NAME        add_int32
#define VALUE(a, b) ((uint32_t)(a) + (uint32_t)(b))
#include "functions/binary.inc"
#define L           int32_t
#define R           int32_t
#define O           int32_t
#define NAME        subtract_int32
#define VALUE(a, b) ((uint32_t)(a) - (uint32_t)(b))
#include "functions/binary.inc"
#define L           int32_t
#define R           int32_t
#define O           int32_t
#define NAME        multiply_int32
#define VALUE(a, b) ((uint32_t)(a) * (uint32_t)(b))
#include "functions/binary.inc"
#define T          int32_t
#define NAME(verb) verb##_int32
#include "functions/divide.inc"
#define L           int64_t
#define R           int64_t
#define O           int64_t
#define NAME        add_int64
#define VALUE(a, b) ((uint64_t)(a) + (uint64_t)(b))
#include "functions/binary.inc"
#define L           int64_t
#define R           int64_t
#define O           int64_t
#define NAME        subtract_int64
#define VALUE(a, b) ((uint64_t)(a) - (uint64_t)(b))
#include "functions/binary.inc"
#define L           int64_t
#define R           int64_t
#define O           int64_t
#define NAME        multiply_int64
#define VALUE(a, b) ((uint64_t)(a) * (uint64_t)(b))
#include "functions/binary.inc"
#define T          int64_t
#define NAME(verb) verb##_int64
#include "functions/divide.inc"
#define L           float
#define R           float
#define O           float
#define NAME        add_float
#define VALUE(a, b) ((a) + (b))
#include "functions/binary.inc"
#define L           float
#define R           float
#define O           float
#define NAME        subtract_float
#define VALUE(a, b) ((a) - (b))
#include "functions/binary.inc"
#define L           float
#define R           float
#define O           float
#define NAME        multiply_float
#define VALUE(a, b) ((a) * (b))
#include "functions/binary.inc"
#define L           float
#define R           float
#define O           float
#define NAME        divide_float
#define VALUE(a, b) ((a) / (b))
#include "functions/binary.inc"
#define L           double
#define R           double
#define O           double
#define NAME        add_double
#define VALUE(a, b) ((a) + (b))
#include "functions/binary.inc"
#define L           double
#define R           double
#define O           double
#define NAME        subtract_double
#define VALUE(a, b) ((a) - (b))
#include "functions/binary.inc"
#define L           double
#define R           double
#define O           double
#define NAME        multiply_double
#define VALUE(a, b) ((a) * (b))
#include "functions/binary.inc"
#define L           double
#define R           double
#define O           double
#define NAME        divide_double
#define VALUE(a, b) ((a) / (b))
#include "functions/binary.inc"

#define NEGATE(kind, ctype, unsigned_type)                                                                                                 \
    static void negate_##kind(struct kernel_call *call)                                                                                    \
    {                                                                                                                                      \
        const ctype *restrict from = call->args[0]->values;                                                                                \
        ctype *restrict to = call->result->values;                                                                                         \
        if (call->rows.rows == NULL) {                                                                                                     \
            for (uint32_t i = 0; i < call->rows.count; i++) {                                                                              \
                to[i] = (ctype)(-(unsigned_type)from[i]);                                                                                  \
            }                                                                                                                              \
            return;                                                                                                                        \
        }                                                                                                                                  \
        for (uint32_t i = 0; i < call->rows.count; i++) {                                                                                  \
            uint32_t row = call->rows.rows[i];                                                                                             \
            to[row] = (ctype)(-(unsigned_type)from[row]);                                                                                  \
        }                                                                                                                                  \
    }
NEGATE(int8, int8_t, uint32_t)
NEGATE(int16, int16_t, uint32_t)
NEGATE(int32, int32_t, uint32_t)
NEGATE(int64, int64_t, uint64_t)
NEGATE(int128, int128_t, uint128_t)
NEGATE(float, float, float)
NEGATE(double, double, double)
#undef NEGATE

kernel_fn *arithmetic_kernel(enum arithmetic_operator operation, enum physical physical)
{
    static kernel_fn *const kernels[PHYSICAL_COUNT][ARITHMETIC_COUNT] = {
        [PHYSICAL_INT8] = {add_int8, subtract_int8, multiply_int8, divide_int8, modulo_int8},
        [PHYSICAL_INT16] = {add_int16, subtract_int16, multiply_int16, divide_int16, modulo_int16},
        [PHYSICAL_INT32] = {add_int32, subtract_int32, multiply_int32, divide_int32, modulo_int32},
        [PHYSICAL_INT64] = {add_int64, subtract_int64, multiply_int64, divide_int64, modulo_int64},
        [PHYSICAL_FLOAT] = {add_float, subtract_float, multiply_float, divide_float, NULL},
        [PHYSICAL_DOUBLE] = {add_double, subtract_double, multiply_double, divide_double, NULL},
    };
    return kernels[physical][operation];
}

kernel_fn *arithmetic_negate_kernel(enum physical physical)
{
    static kernel_fn *const kernels[PHYSICAL_COUNT] = {
        [PHYSICAL_INT8] = negate_int8,     [PHYSICAL_INT16] = negate_int16,   [PHYSICAL_INT32] = negate_int32,
        [PHYSICAL_INT64] = negate_int64,   [PHYSICAL_INT128] = negate_int128, [PHYSICAL_FLOAT] = negate_float,
        [PHYSICAL_DOUBLE] = negate_double,
    };
    return kernels[physical];
}
