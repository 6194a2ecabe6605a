/* Functions of one or two DOUBLEs, constants, random numbers. NaN outside of a function's domain, as Java's Math has it. */
#include <math.h>
#include <stdlib.h>
#include <sys/random.h>

#include "functions/tables.h"
#include "functions/text_kernel.h"

typedef double one_double(double value);
typedef double two_doubles(double left, double right);

static double cotangent(double value)
{
    return 1.0 / tan(value);
}
static double degrees(double value)
{
    return value * (180.0 / M_PI);
}
static double radians(double value)
{
    return value * (M_PI / 180.0);
}
static double log_of_base(double base, double value)
{
    return log(value) / log(base);
}
/* C's pow has answers for 1 to an unknown power, Java's has not. */
static double power(double base, double exponent)
{
    return isnan(exponent) || (isinf(exponent) && fabs(base) == 1.0) ? NAN : pow(base, exponent);
}

/* By the function's name: the kernel gets the function as its data. */
struct math_entry {
    const char *name;
    one_double *one;
    two_doubles *two;
};
static const struct math_entry entries[] = {
    {"ACOS", acos, NULL},       {"ASIN", asin, NULL},     {"ATAN", atan, NULL},       {"ATAN2", NULL, atan2}, {"COS", cos, NULL},
    {"COSH", cosh, NULL},       {"COT", cotangent, NULL}, {"DEGREES", degrees, NULL}, {"EXP", exp, NULL},     {"LN", log, NULL},
    {"LOG", log, log_of_base},  {"LOG10", log10, NULL},   {"LOG2", log2, NULL},       {"POWER", NULL, power}, {"POW", NULL, power},
    {"RADIANS", radians, NULL}, {"SIN", sin, NULL},       {"SINH", sinh, NULL},       {"SQRT", sqrt, NULL},   {"TAN", tan, NULL},
    {"TANH", tanh, NULL},
};

static void run_one(struct kernel_call *call)
{
    one_double *function = ((const struct math_entry *)call->data)->one;
    const double *values = vector_double(call->args[0]);
    double *out = vector_double(call->result);
    EACH_ROW(call, row)
    {
        out[row] = function(values[row]);
    }
}

static void run_two(struct kernel_call *call)
{
    two_doubles *function = ((const struct math_entry *)call->data)->two;
    const double *left = vector_double(call->args[0]), *right = vector_double(call->args[1]);
    double *out = vector_double(call->result);
    EACH_ROW(call, row)
    {
        out[row] = function(left[row], right[row]);
    }
}

static enum status bind_math(struct function_binding *binding, struct error *err)
{
    const struct math_entry *entry = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(entries) && entry == NULL; i++) {
        entry = text_equal(text_from(entries[i].name), text_from(binding->function->name)) ? &entries[i] : NULL;
    }
    TRY(text_bind(binding, "d", &type_double, binding->arg_count == 1 ? run_one : run_two, 0, err));
    binding->kernel.data = entry;
    return STATUS_OK;
}

static void run_constant(struct kernel_call *call)
{
    double *out = vector_double(call->result), value = *(const double *)call->data;
    EACH_ROW(call, row)
    {
        out[row] = value;
    }
}

static enum status bind_constant(struct function_binding *binding, struct error *err)
{
    static const double pi = M_PI, e = M_E;
    binding->result = &type_double_not_null;
    binding->kernel = (struct kernel){
        .run = run_constant, .traits = FUNCTION_STRICT | FUNCTION_TOTAL, .data = binding->function->name[0] == 'P' ? &pi : &e};
    return STATUS_OK;
}

/* ---- random numbers: Java's generator, so that a seed gives Flink's sequence ---- */

struct generator {
    uint64_t state;
};

static void seed_generator(struct generator *generator, uint64_t seed)
{
    generator->state = (seed ^ 0x5deece66du) & ((UINT64_C(1) << 48) - 1);
}

static uint32_t next_bits(struct generator *generator, uint32_t bits)
{
    generator->state = (generator->state * 0x5deece66du + 0xb) & ((UINT64_C(1) << 48) - 1);
    return (uint32_t)(generator->state >> (48 - bits));
}

static struct generator *generator_of(struct kernel_call *call, bool seeded)
{
    if (*call->scratch == NULL && (*call->scratch = malloc(sizeof(struct generator))) != NULL) {
        uint64_t seed = (uint64_t)call->evaluation->start_us;
        if (seeded && call->rows.count > 0) {
            seed = (uint64_t)integer_arg(call, 0, selection_row(&call->rows, 0));
        } else if (getrandom(&seed, sizeof seed, 0) < 0) {
            seed ^= (uintptr_t)*call->scratch;
        }
        seed_generator(*call->scratch, seed);
    }
    if (*call->scratch == NULL) {
        (void)error_set(kernel_error(call), ERROR_BUDGET_SPENT, "no room for a random generator");
    }
    return *call->scratch;
}

static void run_rand(struct kernel_call *call)
{
    struct generator *generator = generator_of(call, call->arg_count > 0);
    double *out = vector_double(call->result);
    if (generator == NULL) {
        return;
    }
    EACH_ROW(call, row)
    {
        uint64_t high = next_bits(generator, 26), low = next_bits(generator, 27);
        out[row] = (double)((high << 27) + low) * 0x1.0p-53;
    }
}

static int32_t next_below(struct generator *generator, int32_t bound)
{
    if ((bound & (bound - 1)) == 0) {
        return (int32_t)(((int64_t)bound * next_bits(generator, 31)) >> 31);
    }
    for (;;) {
        int64_t bits = next_bits(generator, 31), value = bits % bound;
        if (bits - value + (bound - 1) <= INT32_MAX) {
            return (int32_t)value;
        }
    }
}

static void run_rand_integer(struct kernel_call *call)
{
    struct generator *generator = generator_of(call, call->arg_count > 1);
    if (generator == NULL) {
        return;
    }
    EACH_ROW(call, row)
    {
        int64_t bound = integer_arg(call, call->arg_count - 1, row);
        if (bound <= 0 || bound > INT32_MAX) {
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "the bound of RAND_INTEGER must be positive, not %lld", (long long)bound);
            continue;
        }
        vector_int32(call->result)[row] = next_below(generator, (int32_t)bound);
    }
}

static enum status bind_rand(struct function_binding *binding, struct error *err)
{
    if (binding->arg_count > 0) {
        TRY(text_bind(binding, "i", &type_double, run_rand, FUNCTION_VOLATILE | FUNCTION_CHANCE, err));
    } else {
        binding->result = &type_double_not_null;
        binding->kernel = (struct kernel){.run = run_rand, .traits = FUNCTION_STRICT | FUNCTION_VOLATILE | FUNCTION_CHANCE};
    }
    binding->kernel.free_scratch = free;
    return STATUS_OK;
}

static enum status bind_rand_integer(struct function_binding *binding, struct error *err)
{
    TRY(text_bind(binding, "i", &type_int, run_rand_integer, FUNCTION_VOLATILE | FUNCTION_CHANCE | FUNCTION_CAN_FAIL, err));
    binding->kernel.free_scratch = free;
    return STATUS_OK;
}

#define MATH(name, syntax, summary, example, min, max)                                                                                     \
    {                                                                                                                                      \
        name, "math", syntax, summary, example, min, max, bind_math                                                                        \
    }
static const struct function functions[] = {
    MATH("ACOS", "ACOS(number)", "The arc cosine.", "ACOS(1) = 0E0", 1, 1),
    MATH("ASIN", "ASIN(number)", "The arc sine.", "ASIN(0) = 0E0", 1, 1),
    MATH("ATAN", "ATAN(number)", "The arc tangent.", "ATAN(0) = 0E0", 1, 1),
    MATH("ATAN2", "ATAN2(y, x)", "The angle of a point (x, y).", "ATAN2(0, 1) = 0E0", 2, 2),
    MATH("COS", "COS(number)", "The cosine.", "COS(0) = 1E0", 1, 1),
    MATH("COSH", "COSH(number)", "The hyperbolic cosine.", "COSH(0) = 1E0", 1, 1),
    MATH("COT", "COT(number)", "The cotangent.", NULL, 1, 1),
    MATH("DEGREES", "DEGREES(number)", "Radians as degrees.", "DEGREES(0) = 0E0", 1, 1),
    {"E", "math", "E()", "Euler's number.", NULL, 0, 0, bind_constant},
    MATH("EXP", "EXP(number)", "e to the power of the number.", "EXP(0) = 1E0", 1, 1),
    MATH("LN", "LN(number)", "The natural logarithm.", "LN(1) = 0E0", 1, 1),
    MATH("LOG", "LOG(number)\nLOG(base, number)", "The logarithm, natural unless a base is given.", "LOG(1) = 0E0", 1, 2),
    MATH("LOG10", "LOG10(number)", "The logarithm to base 10.", "LOG10(100) = 2E0", 1, 1),
    MATH("LOG2", "LOG2(number)", "The logarithm to base 2.", "LOG2(8) = 3E0", 1, 1),
    {"PI", "math", "PI()", "The ratio of a circle's circumference to its diameter.", NULL, 0, 0, bind_constant},
    MATH("POW", "POW(base, exponent)", "The same as POWER.", NULL, 2, 2),
    MATH("POWER", "POWER(base, exponent)", "The base to the power of the exponent.", "POWER(2, 10) = 1024E0", 2, 2),
    MATH("RADIANS", "RADIANS(number)", "Degrees as radians.", "RADIANS(0) = 0E0", 1, 1),
    {"RAND", "math", "RAND()\nRAND(seed)", "A random number from 0 (with) to 1 (without).", NULL, 0, 1, bind_rand},
    {"RAND_INTEGER", "math", "RAND_INTEGER(bound)\nRAND_INTEGER(seed, bound)", "A random whole number from 0 to below the bound.", NULL, 1,
     2, bind_rand_integer},
    MATH("SIN", "SIN(number)", "The sine.", "SIN(0) = 0E0", 1, 1),
    MATH("SINH", "SINH(number)", "The hyperbolic sine.", "SINH(0) = 0E0", 1, 1),
    MATH("SQRT", "SQRT(number)", "The square root.", "SQRT(4) = 2E0", 1, 1),
    MATH("TAN", "TAN(number)", "The tangent.", "TAN(0) = 0E0", 1, 1),
    MATH("TANH", "TANH(number)", "The hyperbolic tangent.", "TANH(0) = 0E0", 1, 1),
};

const struct function_table math_functions = {functions, ARRAY_LENGTH(functions)};
