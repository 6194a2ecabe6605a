#include "circuit/operators/over_functions.h"

#include "base/text.h"

static const struct {
    const char *name;
    enum over_function function;
    uint32_t number_arg; /* which argument is the number; 0 and a default of 0: none */
    int64_t number;
} functions[] = {
    {"ROW_NUMBER", OVER_ROW_NUMBER, 0, 0},
    {"RANK", OVER_RANK, 0, 0},
    {"DENSE_RANK", OVER_DENSE_RANK, 0, 0},
    {"NTILE", OVER_NTILE, 0, 1},
    {"PERCENT_RANK", OVER_PERCENT_RANK, 0, 0},
    {"CUME_DIST", OVER_CUME_DIST, 0, 0},
    {"LAG", OVER_LAG, 1, 1},
    {"LEAD", OVER_LEAD, 1, 1},
    {"NTH_VALUE", OVER_NTH_VALUE, 1, 1},
};

static enum status bind_number(const struct over_call *call, uint32_t arg, struct over_bound *bound, struct error *err)
{
    if (arg >= call->arg_count) {
        return STATUS_OK;
    }
    const struct expression *number = call->args[arg];
    if (number->kind != EXPRESSION_CONSTANT || !type_is_integer(number->type) || !vector_is_valid(number->constant, 0)) {
        return error_set(err, ERROR_NOT_SUPPORTED, "argument %u of %s in OVER must be a constant integer", arg + 1, call->name);
    }
    bound->number = (int64_t)vector_get_integer(number->constant, 0);
    if (bound->number < 1 && (bound->function == OVER_NTILE || bound->function == OVER_NTH_VALUE)) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s counts from 1, not from %lld", call->name, (long long)bound->number);
    }
    return STATUS_OK;
}

enum status over_bind_function(const struct over_call *call, struct over_bound *bound, struct error *err)
{
    bound->call = call;
    if (call->aggregate != NULL) {
        bound->function = OVER_AGGREGATE;
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!text_equal_ignoring_case(text_from(functions[i].name), text_from(call->name))) {
            continue;
        }
        bound->function = functions[i].function;
        bound->number = functions[i].number;
        return functions[i].number == 0 ? STATUS_OK : bind_number(call, functions[i].number_arg, bound, err);
    }
    return error_set(err, ERROR_NOT_SUPPORTED, "%s in OVER is not supported", call->name);
}

bool over_function_is_value(enum over_function function)
{
    return function >= OVER_LAG;
}

bool over_function_is_fraction(enum over_function function)
{
    return function == OVER_PERCENT_RANK || function == OVER_CUME_DIST;
}

/* The first total % number buckets have one row more. */
static int64_t bucket_of(int64_t at, int64_t total, int64_t number)
{
    int64_t rows = total / number, larger = total % number, in_larger = larger * (rows + 1);
    return at < in_larger ? at / (rows + 1) + 1 : larger + (at - in_larger) / rows + 1;
}

int64_t over_function_integer(const struct over_bound *bound, const struct over_position *position)
{
    switch (bound->function) {
    case OVER_RANK:
        return position->rank;
    case OVER_DENSE_RANK:
        return position->dense;
    case OVER_NTILE:
        return bucket_of(position->at, position->total, bound->number);
    default:
        return position->at + 1;
    }
}

double over_function_fraction(const struct over_bound *bound, const struct over_position *position)
{
    if (bound->function == OVER_CUME_DIST) {
        return (double)position->peers_end / (double)position->total;
    }
    return position->total == 1 ? 0.0 : (double)(position->rank - 1) / (double)(position->total - 1);
}

int64_t over_function_row(const struct over_bound *bound, const struct over_position *position)
{
    int64_t row;
    if (bound->function == OVER_NTH_VALUE) {
        return bound->number > position->end - position->begin ? -1 : position->begin + bound->number - 1;
    }
    bool out = bound->function == OVER_LAG ? __builtin_sub_overflow(position->at, bound->number, &row)
                                           : __builtin_add_overflow(position->at, bound->number, &row);
    return out || row < 0 || row >= position->total ? -1 : row;
}
