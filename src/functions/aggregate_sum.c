/* SUM and AVG. Both keep the exact sum and the number of values: in 64 bits for small integers, in 128 for BIGINT and narrow decimals, in
 * 256 for wide decimals, in a pair of doubles for FLOAT and DOUBLE. So a sum that leaves its type's range and comes back is right, and a
 * mean never overflows. */
#include "data/decimal.h"
#include "functions/aggregate_entries.h"
#include "functions/exact_sum.h"

struct narrow_sum {
    int64_t sum, count;
};
struct wide_sum {
    uint64_t low;
    int64_t high, count;
};
struct decimal_sum {
    struct int256 sum;
    int64_t count;
};

static inline int128_t wide_get(const struct wide_sum *sum)
{
    return (int128_t)(((uint128_t)(uint64_t)sum->high << 64) | sum->low);
}
static inline void wide_add(struct wide_sum *sum, int128_t value)
{
    uint128_t total = (uint128_t)wide_get(sum) + (uint128_t)value;
    sum->low = (uint64_t)total;
    sum->high = (int64_t)(total >> 64);
}
static inline void decimal_sum_add(struct decimal_sum *sum, int128_t value, int64_t weight)
{
    if (weight == 1) {
        int256_add(&sum->sum, value);
    } else {
        int256_add_product(&sum->sum, value, weight);
    }
    sum->count += weight;
}

#define ADD_NARROW(state, value, weight)                                                                                                   \
    do {                                                                                                                                   \
        (state)->sum += (int64_t)(value) * (weight);                                                                                       \
        (state)->count += (weight);                                                                                                        \
    } while (0)
#define ADD_WIDE(state, value, weight)                                                                                                     \
    do {                                                                                                                                   \
        wide_add((state), (int128_t)(value) * (weight));                                                                                   \
        (state)->count += (weight);                                                                                                        \
    } while (0)

#define NAME  update_int8
#define T     int8_t
#define STATE struct narrow_sum
#define ADD   ADD_NARROW
#include "functions/aggregate_sum.inc"

#define NAME  update_int16
#define T     int16_t
#define STATE struct narrow_sum
#define ADD   ADD_NARROW
#include "functions/aggregate_sum.inc"

#define NAME  update_int32
#define T     int32_t
#define STATE struct narrow_sum
#define ADD   ADD_NARROW
#include "functions/aggregate_sum.inc"

#define NAME  update_int64
#define T     int64_t
#define STATE struct wide_sum
#define ADD   ADD_WIDE
#include "functions/aggregate_sum.inc"

#define NAME  update_int128
#define T     int128_t
#define STATE struct decimal_sum
#define ADD   decimal_sum_add
#include "functions/aggregate_sum.inc"

#define NAME                      update_float
#define T                         float
#define STATE                     struct exact_sum
#define ADD(state, value, weight) exact_sum_add((state), (double)(value), (weight))
#include "functions/aggregate_sum.inc"

#define NAME  update_double
#define T     double
#define STATE struct exact_sum
#define ADD   exact_sum_add
#include "functions/aggregate_sum.inc"

enum sum_form { FORM_NARROW, FORM_WIDE, FORM_DECIMAL, FORM_REAL };
static const uint32_t form_bytes[] = {
    [FORM_NARROW] = sizeof(struct narrow_sum),
    [FORM_WIDE] = sizeof(struct wide_sum),
    [FORM_DECIMAL] = sizeof(struct decimal_sum),
    [FORM_REAL] = sizeof(struct exact_sum),
};
struct sum_data {
    enum sum_form form;
    bool average;
    int32_t scale; /* of the argument */
};

static enum status sum_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                             struct error *err)
{
    (void)heap, (void)err;
    const struct sum_data *data = accumulator->data;
    if (data->form == FORM_NARROW) {
        const struct narrow_sum *sum = from;
        ADD_NARROW((struct narrow_sum *)into, sum->sum, weight);
        ((struct narrow_sum *)into)->count += (sum->count - 1) * weight;
    } else if (data->form == FORM_WIDE) {
        const struct wide_sum *sum = from;
        wide_add(into, wide_get(sum) * weight);
        ((struct wide_sum *)into)->count += sum->count * weight;
    } else if (data->form == FORM_REAL) {
        exact_sum_merge(into, from, weight);
    } else {
        const struct decimal_sum *sum = from;
        struct int256 part = sum->sum;
        for (int64_t i = 0; i < (weight < 0 ? -weight : weight); i++) {
            struct int256 negative = {{0}};
            int256_subtract(&negative, &part);
            int256_subtract(&((struct decimal_sum *)into)->sum, weight < 0 ? &part : &negative);
        }
        ((struct decimal_sum *)into)->count += sum->count * weight;
    }
    return STATUS_OK;
}

/* The sum as an integer and the number of values; false: it does not fit 128 bits. */
static bool read_integer(const struct sum_data *data, const void *state, int128_t *sum, int64_t *count)
{
    if (data->form == FORM_NARROW) {
        const struct narrow_sum *narrow = state;
        *sum = narrow->sum;
        *count = narrow->count;
        return true;
    }
    if (data->form == FORM_WIDE) {
        *sum = wide_get(state);
        *count = ((const struct wide_sum *)state)->count;
        return true;
    }
    const struct decimal_sum *wide = state;
    *count = wide->count;
    return int256_to_int128(&wide->sum, sum);
}

static void write_integer(const struct result_call *call, uint32_t k, int128_t value)
{
    switch (call->result->physical) {
    case PHYSICAL_INT8:
        vector_int8(call->result)[k] = (int8_t)(uint8_t)(uint128_t)value;
        break;
    case PHYSICAL_INT16:
        vector_int16(call->result)[k] = (int16_t)(uint16_t)(uint128_t)value;
        break;
    case PHYSICAL_INT32:
        vector_int32(call->result)[k] = (int32_t)(uint32_t)(uint128_t)value;
        break;
    case PHYSICAL_INT64:
        vector_int64(call->result)[k] = (int64_t)(uint64_t)(uint128_t)value;
        break;
    default:
        vector_int128(call->result)[k] = value;
    }
}

static bool fits_integer(enum physical physical, int128_t value)
{
    uint32_t bits = physical_bytes(physical) * 8;
    int128_t limit = (int128_t)1 << (bits - 1);
    return value >= -limit && value < limit;
}

static void integer_sum_value(const struct result_call *call, uint32_t k)
{
    const struct sum_data *data = call->accumulator->data;
    int128_t sum = 0;
    int64_t count = 0;
    bool exists = read_integer(data, result_state(call, k), &sum, &count);
    if (count == 0) {
        vector_set_null(call->result, k);
        write_integer(call, k, 0);
        return;
    }
    if (call->accumulator->result->kind == TYPE_DECIMAL) {
        if (!exists || !decimal_fits(sum, DECIMAL_PRECISION_MAX)) {
            vector_set_null(call->result, k);
        }
        write_integer(call, k, exists ? sum : 0);
        return;
    }
    if (!fits_integer(call->result->physical, sum) && !call->evaluation->sum_overflow_wraps) {
        static const char *const texts[] = {
            [PHYSICAL_INT8] = "the SUM of TINYINT values does not fit TINYINT",
            [PHYSICAL_INT16] = "the SUM of SMALLINT values does not fit SMALLINT",
            [PHYSICAL_INT32] = "the SUM of INT values does not fit INT",
            [PHYSICAL_INT64] = "the SUM of BIGINT values does not fit BIGINT",
        };
        call->fail(call->owner, k, ERROR_SUM_OVERFLOW, texts[call->result->physical]);
    }
    write_integer(call, k, sum);
}

static enum status sum_value(const struct result_call *call, struct error *err)
{
    (void)err;
    const struct sum_data *data = call->accumulator->data;
    for (uint32_t k = 0; k < call->count; k++) {
        if (data->form != FORM_REAL) {
            integer_sum_value(call, k);
            continue;
        }
        const struct exact_sum *sum = (const struct exact_sum *)(const void *)result_state(call, k);
        double value = sum->count == 0 ? 0 : exact_sum_value(sum, 1);
        if (sum->count == 0) {
            vector_set_null(call->result, k);
        }
        if (call->result->physical == PHYSICAL_FLOAT) {
            vector_float(call->result)[k] = (float)value;
        } else {
            vector_double(call->result)[k] = value;
        }
    }
    return STATUS_OK;
}

static bool decimal_average(const struct sum_data *data, const void *state, int64_t count, int32_t scale, int128_t *value)
{
    struct int256 sum = {{0}};
    if (data->form == FORM_DECIMAL) {
        sum = ((const struct decimal_sum *)state)->sum;
    } else {
        int128_t small = 0;
        int64_t ignored;
        (void)read_integer(data, state, &small, &ignored);
        int256_add(&sum, small);
    }
    return int256_divide(&sum, data->scale, count, scale, value) && decimal_fits(*value, DECIMAL_PRECISION_MAX);
}

static void average_value_row(const struct result_call *call, uint32_t k)
{
    const struct sum_data *data = call->accumulator->data;
    const void *state = result_state(call, k);
    if (data->form == FORM_REAL) {
        const struct exact_sum *sum = state;
        double value = sum->count <= 0 ? 0 : exact_sum_value(sum, (double)sum->count);
        if (sum->count <= 0) {
            vector_set_null(call->result, k);
        }
        if (call->result->physical == PHYSICAL_FLOAT) {
            vector_float(call->result)[k] = (float)value;
        } else {
            vector_double(call->result)[k] = value;
        }
        return;
    }
    int128_t sum = 0;
    int64_t count = 0;
    (void)read_integer(data, state, &sum, &count);
    bool exists = count > 0;
    int128_t value = 0;
    if (exists && call->accumulator->result->kind == TYPE_DECIMAL) {
        exists = decimal_average(data, state, count, call->accumulator->result->scale, &value);
    } else if (exists) {
        value = sum / count;
    }
    if (!exists) {
        vector_set_null(call->result, k);
    }
    write_integer(call, k, exists ? value : 0);
}

static enum status average_value(const struct result_call *call, struct error *err)
{
    (void)err;
    for (uint32_t k = 0; k < call->count; k++) {
        average_value_row(call, k);
    }
    return STATUS_OK;
}

/* ---- states that are looked at ---- */

static void show_sum(const struct sum_data *data, const void *state, struct vector *vector, uint32_t k)
{
    if (data->form == FORM_REAL) {
        vector_double(vector)[k] = exact_sum_value(state, 1);
        return;
    }
    int128_t sum = 0;
    int64_t count;
    bool fits = read_integer(data, state, &sum, &count) && decimal_fits(sum, DECIMAL_PRECISION_MAX);
    if (data->form == FORM_NARROW) {
        vector_int64(vector)[k] = (int64_t)sum;
    } else if (fits) {
        vector_int128(vector)[k] = sum;
    } else {
        vector_set_null(vector, k);
    }
}

static int64_t state_count(const struct sum_data *data, const void *state)
{
    static const uint32_t places[] = {
        [FORM_NARROW] = offsetof(struct narrow_sum, count),
        [FORM_WIDE] = offsetof(struct wide_sum, count),
        [FORM_DECIMAL] = offsetof(struct decimal_sum, count),
        [FORM_REAL] = offsetof(struct exact_sum, count),
    };
    return *(const int64_t *)(const void *)((const uint8_t *)state + places[data->form]);
}

/* The sum; of AVG also the number of values. */
static enum status sum_show(const struct result_call *call, struct error *err)
{
    const struct sum_data *data = call->accumulator->data;
    struct vector *sum = data->average ? &call->result->children[0] : call->result;
    TRY(vector_need_validity(call->strings->budget, sum, call->count, err));
    for (uint32_t k = 0; k < call->count; k++) {
        const uint8_t *state = result_state(call, k);
        int64_t count = state_count(data, state);
        show_sum(data, state, sum, k);
        if (count == 0) {
            vector_set_null(sum, k);
        }
        if (data->average) {
            vector_int64(&call->result->children[1])[k] = count;
        }
    }
    return STATUS_OK;
}

static enum status bind_shown(struct aggregate_binding *binding, const struct sum_data *data, struct error *err)
{
    static const char *const names[] = {"sum", "count"};
    const struct type *types[] = {data->form == FORM_REAL     ? &type_double
                                  : data->form == FORM_NARROW ? &type_bigint
                                                              : type_decimal(binding->arena, DECIMAL_PRECISION_MAX, data->scale, true),
                                  &type_bigint_not_null};
    binding->accumulator.shown = types[0] == NULL || !data->average ? types[0] : type_row(binding->arena, 2, types, names, false);
    binding->accumulator.show = sum_show;
    return binding->accumulator.shown == NULL ? aggregate_no_room(err) : STATUS_OK;
}

static enum status sum_or_average_bind(struct aggregate_binding *binding, bool average, struct error *err)
{
    static const struct {
        enum sum_form form;
        enum status (*update)(const struct accumulate_call *call, struct error *err);
    } by_physical[PHYSICAL_COUNT] = {
        [PHYSICAL_INT8] = {FORM_NARROW, update_int8},      [PHYSICAL_INT16] = {FORM_NARROW, update_int16},
        [PHYSICAL_INT32] = {FORM_NARROW, update_int32},    [PHYSICAL_INT64] = {FORM_WIDE, update_int64},
        [PHYSICAL_INT128] = {FORM_DECIMAL, update_int128}, [PHYSICAL_FLOAT] = {FORM_REAL, update_float},
        [PHYSICAL_DOUBLE] = {FORM_REAL, update_double},
    };
    const struct type *type = binding->args[0]->type;
    if (!type_is_numeric(type)) {
        return aggregate_refuse(binding, 0, "a number", err);
    }
    enum physical physical = type_physical(type);
    struct sum_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    *data = (struct sum_data){by_physical[physical].form, average, type->kind == TYPE_DECIMAL ? type->scale : 0};
    const struct type *result = aggregate_nullable(binding, type);
    if (type->kind == TYPE_DECIMAL) {
        int32_t scale = average && data->scale < 6 ? 6 : data->scale;
        result = type_decimal(binding->arena, DECIMAL_PRECISION_MAX, scale, true);
    }
    if (result == NULL) {
        return aggregate_no_room(err);
    }
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .result = result,
        .state_bytes = form_bytes[data->form],
        .mergeable = true,
        .invertible = true,
        .update = by_physical[physical].update,
        .value = average ? average_value : sum_value,
        .merge = sum_merge,
        .data = data,
    };
    return bind_shown(binding, data, err);
}

static enum status sum_bind(struct aggregate_binding *binding, struct error *err)
{
    return sum_or_average_bind(binding, false, err);
}

static enum status average_bind(struct aggregate_binding *binding, struct error *err)
{
    return sum_or_average_bind(binding, true, err);
}

const struct aggregate_function aggregate_sum = {
    .name = "SUM",
    .syntax = "SUM([DISTINCT] number)",
    .min_args = 1,
    .max_args = 1,
    .bind = sum_bind,
    .summary = "The exact sum, of the argument's type (DECIMAL: 38 digits). NULLs are skipped.",
    .example = "SUM(price)",
};
const struct aggregate_function aggregate_avg = {
    .name = "AVG",
    .syntax = "AVG([DISTINCT] number)",
    .min_args = 1,
    .max_args = 1,
    .bind = average_bind,
    .summary = "The mean. Of integers an integer, truncated toward zero. NULLs are skipped.",
    .example = "AVG(price)",
};
