/* NOT, IS NULL, IS TRUE and their like. AND, OR and CASE are expression kinds; their entries here document them. */
#include "functions/tables.h"

static void run_not(struct kernel_call *call)
{
    const uint8_t *restrict from = vector_bool(call->args[0]);
    uint8_t *restrict to = vector_bool(call->result);
    if (call->rows.rows == NULL) {
        for (uint32_t i = 0; i < call->rows.count; i++) {
            to[i] = from[i] ^ 1;
        }
        return;
    }
    for (uint32_t i = 0; i < call->rows.count; i++) {
        to[call->rows.rows[i]] = from[call->rows.rows[i]] ^ 1;
    }
}

static enum status bind_not(struct function_binding *binding, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_boolean, err));
    binding->result = function_any_nullable(binding) ? &type_boolean : &type_boolean_not_null;
    binding->kernel = (struct kernel){.run = run_not, .traits = FUNCTION_STRICT | FUNCTION_TOTAL};
    return STATUS_OK;
}

/* The answer for each state of the argument. */
struct truth {
    uint8_t of_false, of_true, of_null;
};

static void run_truth(struct kernel_call *call)
{
    const struct truth *truth = call->data;
    const struct vector *arg = call->args[0];
    uint8_t *to = vector_bool(call->result);
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        to[row] = !vector_is_valid(arg, row) ? truth->of_null : vector_bool(arg)[row] ? truth->of_true : truth->of_false;
    }
}

static enum status bind_truth(struct function_binding *binding, const struct truth *truth, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_boolean, err));
    binding->result = &type_boolean_not_null;
    binding->kernel = (struct kernel){.run = run_truth, .data = truth};
    return STATUS_OK;
}

#define TRUTH(name, false_answer, true_answer, null_answer)                                                                                \
    static enum status bind_##name(struct function_binding *binding, struct error *err)                                                    \
    {                                                                                                                                      \
        static const struct truth truth = {(false_answer), (true_answer), (null_answer)};                                                  \
        return bind_truth(binding, &truth, err);                                                                                           \
    }
TRUTH(is_true, 0, 1, 0)
TRUTH(is_not_true, 1, 0, 1)
TRUTH(is_false, 1, 0, 0)
TRUTH(is_not_false, 0, 1, 1)
#undef TRUTH

/* Whole words of the bitmap become eight bytes at a time only in the compiler's eyes: a plain loop is enough. */
static void run_is_null(struct kernel_call *call)
{
    const struct vector *arg = call->args[0];
    uint8_t of_null = *(const uint8_t *)call->data;
    uint8_t *to = vector_bool(call->result);
    if (arg->physical == PHYSICAL_NULL || arg->validity == NULL) {
        uint8_t answer = arg->physical == PHYSICAL_NULL ? of_null : of_null ^ 1;
        for (uint32_t i = 0; i < call->rows.count; i++) {
            to[selection_row(&call->rows, i)] = answer;
        }
        return;
    }
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        to[row] = (uint8_t)((arg->validity[row / 64] >> (row % 64)) & 1) ^ of_null;
    }
}

static enum status bind_null_test(struct function_binding *binding, const uint8_t *of_null)
{
    binding->result = &type_boolean_not_null;
    binding->kernel = (struct kernel){.run = run_is_null, .data = of_null};
    return STATUS_OK;
}

static enum status bind_is_null(struct function_binding *binding, struct error *err)
{
    static const uint8_t of_null = 1;
    (void)err;
    return bind_null_test(binding, &of_null);
}

static enum status bind_is_not_null(struct function_binding *binding, struct error *err)
{
    static const uint8_t of_null = 0;
    (void)err;
    return bind_null_test(binding, &of_null);
}

/* UNKNOWN is the NULL of BOOLEAN; of other types there is none. */
static enum status bind_is_unknown(struct function_binding *binding, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_boolean, err));
    return bind_is_null(binding, err);
}

static enum status bind_is_not_unknown(struct function_binding *binding, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_boolean, err));
    return bind_is_not_null(binding, err);
}

static const struct function functions[] = {
    {"NOT", "logic", "NOT boolean", "TRUE becomes FALSE and FALSE TRUE; NULL stays NULL.", "NOT TRUE = FALSE", 1, 1, bind_not},
    {"IS NULL", "logic", "value IS NULL", "TRUE for NULL, FALSE for all else.", "NULL IS NULL", 1, 1, bind_is_null},
    {"IS NOT NULL", "logic", "value IS NOT NULL", "FALSE for NULL, TRUE for all else.", "1 IS NOT NULL", 1, 1, bind_is_not_null},
    {"IS TRUE", "logic", "boolean IS TRUE", "TRUE for TRUE; FALSE for FALSE and NULL.", "TRUE IS TRUE", 1, 1, bind_is_true},
    {"IS NOT TRUE", "logic", "boolean IS NOT TRUE", "FALSE for TRUE; TRUE for FALSE and NULL.", "FALSE IS NOT TRUE", 1, 1,
     bind_is_not_true},
    {"IS FALSE", "logic", "boolean IS FALSE", "TRUE for FALSE; FALSE for TRUE and NULL.", "FALSE IS FALSE", 1, 1, bind_is_false},
    {"IS NOT FALSE", "logic", "boolean IS NOT FALSE", "FALSE for FALSE; TRUE for TRUE and NULL.", "TRUE IS NOT FALSE", 1, 1,
     bind_is_not_false},
    {"IS UNKNOWN", "logic", "boolean IS UNKNOWN", "TRUE for a NULL of type BOOLEAN.", "CAST(NULL AS BOOLEAN) IS UNKNOWN", 1, 1,
     bind_is_unknown},
    {"IS NOT UNKNOWN", "logic", "boolean IS NOT UNKNOWN", "FALSE for a NULL of type BOOLEAN.", "TRUE IS NOT UNKNOWN", 1, 1,
     bind_is_not_unknown},
    {"AND", "logic", "boolean AND boolean",
     "FALSE if one side is; else NULL if one side is; else TRUE. A row that the left side decides is not evaluated on the right.",
     "(TRUE AND FALSE) = FALSE", 2, UINT32_MAX, NULL},
    {"OR", "logic", "boolean OR boolean",
     "TRUE if one side is; else NULL if one side is; else FALSE. A row that the left side decides is not evaluated on the right.",
     "(TRUE OR FALSE) = TRUE", 2, UINT32_MAX, NULL},
};
const struct function_table logic_functions = {functions, ARRAY_LENGTH(functions)};
