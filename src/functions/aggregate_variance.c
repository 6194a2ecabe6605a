/* VAR_POP, VAR_SAMP = VARIANCE, STDDEV_POP, STDDEV_SAMP = STDDEV: from exact sums of the values and of their squares, so that
 * withdrawals leave no trace. Integers: the exact quotient, truncated.
 * Decimals: the exact quotient, rounded to max(6, scale) digits. FLOAT and DOUBLE: pairs of doubles. */
#include <math.h>

#include "data/decimal.h"
#include "functions/aggregate_entries.h"
#include "functions/exact_sum.h"

struct exact_moments {
    struct int256 squares, sum;
    int64_t count;
};
struct real_moments {
    struct exact_sum sum; /* and the count */
    struct pair squares;
};
struct variance_data {
    const struct type *arg;
    bool sample, root;
};

static bool is_real(const struct variance_data *data)
{
    return type_is_approximate(data->arg);
}

/* += value << shift */
static void add_shifted(struct int256 *sum, int128_t value, int64_t weight, uint32_t shift)
{
    struct int256 part = {{0}}, shifted = {{0}}, negative = {{0}};
    int256_add_product(&part, value, weight);
    uint32_t words = shift / 64, bits = shift % 64;
    for (uint32_t w = words; w < 4; w++) {
        shifted.words[w] = part.words[w - words] << bits;
        if (bits > 0 && w > words) {
            shifted.words[w] |= part.words[w - words - 1] >> (64 - bits);
        }
    }
    int256_subtract(&negative, &shifted);
    int256_subtract(sum, &negative);
}

/* The square of a value of more than 63 bits from its halves, of 63 bits each. */
static void add_wide_square(struct int256 *squares, uint128_t magnitude, int64_t weight)
{
    int128_t low = (int128_t)(magnitude & INT64_MAX), high = (int128_t)(magnitude >> 63);
    add_shifted(squares, low * low, weight, 0);
    add_shifted(squares, low * high, weight, 64);
    add_shifted(squares, high * high, weight, 126);
}

static void add_exact(struct exact_moments *state, int128_t value, int64_t weight)
{
    state->count += weight;
    int256_add_product(&state->sum, value, weight);
    int128_t magnitude = value < 0 ? -value : value;
    if (magnitude <= INT64_MAX) {
        int256_add_product(&state->squares, value * value, weight);
        return;
    }
    add_wide_square(&state->squares, (uint128_t)magnitude, weight);
}

static void add_real(struct real_moments *state, double value, int64_t weight)
{
    exact_sum_add(&state->sum, value, weight);
    if (isfinite(value)) {
        struct pair square = pair_product(value, value);
        if (weight != 1) {
            square = pair_multiply(square, (struct pair){(double)weight, 0});
        }
        state->squares = pair_add(state->squares, square);
    }
}

static enum status variance_update(const struct accumulate_call *call, struct error *err)
{
    (void)err;
    const struct variance_data *data = call->accumulator->data;
    const struct vector *arg = call->args[0];
    for (uint32_t k = 0; k < call->rows.count; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (!vector_is_valid(arg, row)) {
            continue;
        }
        void *state = accumulate_state(call, k);
        int64_t weight = accumulate_weight(call, row);
        if (is_real(data)) {
            add_real(state, arg->physical == PHYSICAL_FLOAT ? (double)vector_float(arg)[row] : vector_double(arg)[row], weight);
        } else {
            add_exact(state, vector_get_integer(arg, row), weight);
        }
    }
    return STATUS_OK;
}

static void int256_merge(struct int256 *into, const struct int256 *from, int64_t weight)
{
    struct int256 negative = {{0}};
    int256_subtract(&negative, from);
    for (int64_t i = 0; i < (weight < 0 ? -weight : weight); i++) {
        int256_subtract(into, weight < 0 ? from : &negative);
    }
}

static enum status variance_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                                  struct error *err)
{
    (void)heap, (void)err;
    if (is_real(accumulator->data)) {
        struct real_moments *to = into;
        const struct real_moments *other = from;
        exact_sum_merge(&to->sum, &other->sum, weight);
        to->squares = pair_add(to->squares, pair_multiply(other->squares, (struct pair){(double)weight, 0}));
        return STATUS_OK;
    }
    struct exact_moments *to = into;
    const struct exact_moments *other = from;
    int256_merge(&to->squares, &other->squares, weight);
    int256_merge(&to->sum, &other->sum, weight);
    to->count += other->count * weight;
    return STATUS_OK;
}

static double real_variance(const struct variance_data *data, const struct real_moments *state)
{
    double count = (double)state->sum.count;
    if (state->sum.nans > 0 || state->sum.positive > 0 || state->sum.negative > 0) {
        return (double)NAN;
    }
    struct pair scaled = pair_multiply(state->squares, (struct pair){count, 0});
    struct pair difference = pair_add(scaled, pair_negate(pair_multiply(state->sum.sum, state->sum.sum)));
    double variance = pair_divide(difference, count * (data->sample ? count - 1 : count));
    variance = variance < 0 ? 0 : variance; /* what rounding left of zero */
    return data->root ? sqrt(variance) : variance;
}

static double int256_to_double(const struct int256 *value)
{
    struct int256 copy = *value;
    bool negative = (int64_t)copy.words[3] < 0;
    if (negative) {
        struct int256 zero = {{0}};
        int256_subtract(&zero, &copy);
        copy = zero;
    }
    double result = 0;
    for (uint32_t i = 4; i-- > 0;) {
        result = result * 0x1p64 + (double)copy.words[i];
    }
    return negative ? -result : result;
}

/* Exact while it fits 128 bits, which it does unless values are near the limits of BIGINT. */
static int128_t integer_variance(const struct variance_data *data, const struct exact_moments *state)
{
    int64_t divisor = data->sample ? state->count - 1 : state->count;
    int128_t sum, squares, scaled;
    if (int256_to_int128(&state->sum, &sum) && sum >= INT64_MIN && sum <= INT64_MAX && int256_to_int128(&state->squares, &squares) &&
        !__builtin_mul_overflow(squares, (int128_t)state->count, &scaled) && !__builtin_sub_overflow(scaled, sum * sum, &scaled)) {
        return scaled / ((int128_t)state->count * divisor);
    }
    double total = int256_to_double(&state->sum);
    return (int128_t)((int256_to_double(&state->squares) - total * total / (double)state->count) / (double)divisor);
}

/* The exact quotient (n * squares - sum * sum) / (n * divisor) at scale 2s, when it fits; else through doubles. */
static bool decimal_variance(const struct variance_data *data, const struct exact_moments *state, int32_t scale, int128_t *value)
{
    int64_t divisor = data->sample ? state->count - 1 : state->count;
    int64_t denominator;
    int128_t sum, squares, scaled;
    struct int256 numerator = {{0}};
    if (int256_to_int128(&state->sum, &sum) && sum >= INT64_MIN && sum <= INT64_MAX && int256_to_int128(&state->squares, &squares) &&
        !__builtin_mul_overflow(squares, (int128_t)state->count, &scaled) && !__builtin_sub_overflow(scaled, sum * sum, &scaled) &&
        !__builtin_mul_overflow(state->count, divisor, &denominator)) {
        int256_add(&numerator, scaled);
        if (!data->root) {
            return int256_divide(&numerator, 2 * data->arg->scale, denominator, scale, value) &&
                   decimal_fits(*value, DECIMAL_PRECISION_MAX);
        }
        long double variance = (long double)scaled / (long double)denominator;
        long double root = sqrtl(variance) * powl(10.0L, (long double)(scale - data->arg->scale));
        *value = (int128_t)(root + 0.5L);
        return true;
    }
    double total = int256_to_double(&state->sum), count = (double)state->count;
    double variance = (int256_to_double(&state->squares) - total * total / count) / (double)divisor * pow(10, -2.0 * data->arg->scale);
    variance = variance < 0 ? 0 : variance;
    double result = (data->root ? sqrt(variance) : variance) * pow(10, scale);
    *value = result < 1e38 ? (int128_t)(result + 0.5) : 0;
    return result < 1e38;
}

static void write_exact(const struct result_call *call, uint32_t k, const struct variance_data *data, const struct exact_moments *state)
{
    int128_t value = 0;
    if (data->arg->kind == TYPE_DECIMAL) {
        if (!decimal_variance(data, state, call->accumulator->result->scale, &value)) {
            vector_set_null(call->result, k);
        }
        vector_int128(call->result)[k] = value;
        return;
    }
    value = integer_variance(data, state);
    if (data->root) {
        value = (int128_t)sqrt((double)value);
    }
    switch (call->result->physical) {
    case PHYSICAL_INT8:
        vector_int8(call->result)[k] = (int8_t)value;
        break;
    case PHYSICAL_INT16:
        vector_int16(call->result)[k] = (int16_t)value;
        break;
    case PHYSICAL_INT32:
        vector_int32(call->result)[k] = (int32_t)value;
        break;
    default:
        vector_int64(call->result)[k] = (int64_t)value;
    }
}

static enum status variance_value(const struct result_call *call, struct error *err)
{
    (void)err;
    const struct variance_data *data = call->accumulator->data;
    for (uint32_t k = 0; k < call->count; k++) {
        const void *state = result_state(call, k);
        int64_t count = is_real(data) ? ((const struct real_moments *)state)->sum.count : ((const struct exact_moments *)state)->count;
        if (count < (data->sample ? 2 : 1)) {
            vector_set_null(call->result, k);
        } else if (!is_real(data)) {
            write_exact(call, k, data, state);
        } else if (call->result->physical == PHYSICAL_FLOAT) {
            vector_float(call->result)[k] = (float)real_variance(data, state);
        } else {
            vector_double(call->result)[k] = real_variance(data, state);
        }
    }
    return STATUS_OK;
}

static enum status variance_bind(struct aggregate_binding *binding, bool sample, bool root, struct error *err)
{
    const struct type *type = binding->args[0]->type;
    if (!type_is_numeric(type)) {
        return aggregate_refuse(binding, 0, "a number", err);
    }
    struct variance_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    *data = (struct variance_data){type, sample, root};
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .result = aggregate_nullable(binding, type),
        .state_bytes = is_real(data) ? sizeof(struct real_moments) : sizeof(struct exact_moments),
        .mergeable = true,
        .invertible = true,
        .update = variance_update,
        .value = variance_value,
        .merge = variance_merge,
        .data = data,
    };
    if (type->kind == TYPE_DECIMAL) {
        binding->accumulator.result = type_decimal(binding->arena, DECIMAL_PRECISION_MAX, type->scale < 6 ? 6 : type->scale, true);
    }
    return binding->accumulator.result == NULL ? aggregate_no_room(err) : STATUS_OK;
}

static enum status var_pop_bind(struct aggregate_binding *binding, struct error *err)
{
    return variance_bind(binding, false, false, err);
}

static enum status var_samp_bind(struct aggregate_binding *binding, struct error *err)
{
    return variance_bind(binding, true, false, err);
}

static enum status stddev_pop_bind(struct aggregate_binding *binding, struct error *err)
{
    return variance_bind(binding, false, true, err);
}

static enum status stddev_samp_bind(struct aggregate_binding *binding, struct error *err)
{
    return variance_bind(binding, true, true, err);
}

#define VARIANCE_ENTRY(variable, sql, binder, what)                                                                                        \
    const struct aggregate_function variable = {                                                                                           \
        .name = sql,                                                                                                                       \
        .syntax = sql "([DISTINCT] number)",                                                                                               \
        .summary = what,                                                                                                                   \
        .example = sql "(price)",                                                                                                          \
        .min_args = 1,                                                                                                                     \
        .max_args = 1,                                                                                                                     \
        .bind = (binder),                                                                                                                  \
    }
VARIANCE_ENTRY(aggregate_var_pop, "VAR_POP", var_pop_bind, "The variance of the values.");
VARIANCE_ENTRY(aggregate_var_samp, "VAR_SAMP", var_samp_bind, "The variance of a sample; NULL for one value.");
VARIANCE_ENTRY(aggregate_variance, "VARIANCE", var_samp_bind, "VAR_SAMP by another name.");
VARIANCE_ENTRY(aggregate_stddev_pop, "STDDEV_POP", stddev_pop_bind, "The standard deviation of the values.");
VARIANCE_ENTRY(aggregate_stddev_samp, "STDDEV_SAMP", stddev_samp_bind, "The standard deviation of a sample; NULL for one value.");
VARIANCE_ENTRY(aggregate_stddev, "STDDEV", stddev_samp_bind, "STDDEV_SAMP by another name.");
