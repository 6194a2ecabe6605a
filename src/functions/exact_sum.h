/* functions/exact_sum.h: sums of doubles that do not depend on the order.
 *
 * For         SUM, AVG, VAR_*, STDDEV_* of FLOAT and DOUBLE.
 * Shape       A sum as an unevaluated pair high + low (about 106 bits). Infinities and NaNs are counted beside it, so that they can be
 *             withdrawn.
 * Invariants  What was added and withdrawn leaves the sum as if it had never been there, as far as 106 bits reach.
 */
#ifndef SPATE_FUNCTIONS_EXACT_SUM_H
#define SPATE_FUNCTIONS_EXACT_SUM_H

#include <math.h>
#include <stdint.h>

struct pair {
    double high, low;
};
struct exact_sum {
    struct pair sum;
    int64_t count;                             /* values, special ones too */
    int32_t nans, positive, negative, padding; /* special values */
};

/* sum + rest, where |sum| need not be larger. */
static inline struct pair pair_two_sum(double left, double right)
{
    double sum = left + right;
    double part = sum - left;
    return (struct pair){sum, (left - (sum - part)) + (right - part)};
}
static inline struct pair pair_add(struct pair left, struct pair right)
{
    struct pair high = pair_two_sum(left.high, right.high);
    struct pair low = pair_two_sum(left.low, right.low);
    high = pair_two_sum(high.high, high.low + low.high);
    return pair_two_sum(high.high, high.low + low.low);
}
static inline struct pair pair_product(double left, double right)
{
    double product = left * right;
    return (struct pair){product, fma(left, right, -product)};
}
static inline struct pair pair_multiply(struct pair left, struct pair right)
{
    struct pair product = pair_product(left.high, right.high);
    return pair_two_sum(product.high, product.low + (left.high * right.low + left.low * right.high));
}
static inline struct pair pair_negate(struct pair value)
{
    return (struct pair){-value.high, -value.low};
}
/* To the nearest double. */
static inline double pair_divide(struct pair value, double by)
{
    double quotient = value.high / by;
    double rest = fma(-quotient, by, value.high) + value.low;
    double result = quotient + rest / by;
    return isfinite(result) ? result : quotient;
}

static inline void exact_sum_count_special(struct exact_sum *sum, double value, int64_t weight)
{
    sum->nans += isnan(value) ? (int32_t)weight : 0;
    sum->positive += value > 0 ? (int32_t)weight : 0;
    sum->negative += value < 0 ? (int32_t)weight : 0;
}
static inline void exact_sum_add(struct exact_sum *sum, double value, int64_t weight)
{
    sum->count += weight;
    if (!isfinite(value)) {
        exact_sum_count_special(sum, value, weight);
    } else if (weight == 1 || weight == -1) {
        sum->sum = pair_add(sum->sum, (struct pair){weight > 0 ? value : -value, 0});
    } else {
        sum->sum = pair_add(sum->sum, pair_product(value, (double)weight));
    }
}
static inline void exact_sum_merge(struct exact_sum *into, const struct exact_sum *from, int64_t weight)
{
    struct pair scaled = weight == 1    ? from->sum
                         : weight == -1 ? pair_negate(from->sum)
                                        : pair_multiply(from->sum, (struct pair){(double)weight, 0});
    into->sum = pair_add(into->sum, scaled);
    into->count += from->count * weight;
    into->nans += from->nans * (int32_t)weight;
    into->positive += from->positive * (int32_t)weight;
    into->negative += from->negative * (int32_t)weight;
}
/* (sum of all) / by */
static inline double exact_sum_value(const struct exact_sum *sum, double by)
{
    if (sum->nans > 0 || (sum->positive > 0 && sum->negative > 0)) {
        return (double)NAN;
    }
    if (sum->positive > 0 || sum->negative > 0) {
        return sum->positive > 0 ? (double)INFINITY : -(double)INFINITY;
    }
    if (!isfinite(sum->sum.high)) {
        return sum->sum.high; /* the sum itself is past what a double holds */
    }
    return by == 1 ? sum->sum.high + sum->sum.low : pair_divide(sum->sum, by);
}

#endif
