/* JSON_VALUE, JSON_QUERY, JSON_EXISTS and IS JSON: questions to a JSON text.
 *
 * The clauses come as triples of arguments after the text and the path: the clause's name, its word, its value (of DEFAULT) or a
 * NULL of its type (RETURNING). Each row parses its text into an arena that is emptied for the next row. */
#include <stdlib.h>

#include "data/cast.h"
#include "data/decimal.h"
#include "functions/json_path.h"
#include "functions/tables.h"
#include "functions/time_functions.h"

enum answer { ANSWER_NULL, ANSWER_ERROR, ANSWER_DEFAULT, ANSWER_EMPTY_ARRAY, ANSWER_EMPTY_OBJECT, ANSWER_TRUE, ANSWER_FALSE };
enum wrapper { WRAPPER_NONE, WRAPPER_CONDITIONAL, WRAPPER_ALWAYS };

/* What to do when there is no value, or an error. */
struct behaviour {
    enum answer answer;
    uint32_t arg; /* of ANSWER_DEFAULT */
};
struct json_data {
    const struct json_path *path;
    struct behaviour on_empty, on_error;
    enum wrapper wrapper;
};

struct scratch {
    struct arena *arena;
    struct text_builder text;
};

static void scratch_free(void *memory)
{
    struct scratch *scratch = memory;
    if (scratch != NULL) {
        arena_destroy(scratch->arena);
        text_builder_close(&scratch->text);
        free(scratch);
    }
}

/* NULL: no memory, the first row has failed. */
static struct scratch *scratch_get(struct kernel_call *call)
{
    struct scratch *scratch = *call->scratch;
    if (scratch == NULL) {
        scratch = calloc(1, sizeof *scratch);
        if (scratch != NULL && (scratch->arena = arena_create(call->evaluation->budget, "JSON texts")) == NULL) {
            free(scratch);
            scratch = NULL;
        }
        *call->scratch = scratch;
    }
    if (scratch == NULL && call->rows.count > 0) {
        kernel_fail(call, selection_row(&call->rows, 0), ERROR_BUDGET_SPENT, "no room to read JSON");
    }
    return scratch;
}

static bool put_text(struct kernel_call *call, uint32_t row, struct text text)
{
    char *copy = NULL;
    if (text.length > STRING_INLINE_BYTES) {
        copy = kernel_alloc(call, text.length);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, text.bytes, text.length);
    }
    vector_strings(call->result)[row] = string_view_make(copy == NULL ? text.bytes : copy, text.length);
    return true;
}

static struct text built(const struct scratch *scratch)
{
    return (struct text){scratch->text.bytes == NULL ? "" : scratch->text.bytes, scratch->text.length};
}

/* A JSON scalar as a value of the RETURNING type; false: it is of another kind. */
static bool put_scalar(struct kernel_call *call, uint32_t row, const struct json_value *value, struct scratch *scratch)
{
    struct vector *result = call->result;
    text_builder_clear(&scratch->text);
    json_write_scalar(value, &scratch->text);
    struct text text = built(scratch);
    bool number = value->kind == JSON_NUMBER;
    double approximate;
    int128_t exact;
    switch (result->type->kind) {
    case TYPE_BOOLEAN:
        vector_bool(result)[row] = value->kind == JSON_TRUE;
        return value->kind == JSON_TRUE || value->kind == JSON_FALSE;
    case TYPE_INT:
    case TYPE_BIGINT: {
        bool narrow = result->physical == PHYSICAL_INT32;
        if (!number || !decimal_parse(value->text, 38, 0, &exact) || exact < (narrow ? INT32_MIN : INT64_MIN) ||
            exact > (narrow ? INT32_MAX : INT64_MAX) || memchr(text.bytes, '.', text.length) != NULL) {
            return false;
        }
        if (narrow) {
            vector_int32(result)[row] = (int32_t)exact;
        } else {
            vector_int64(result)[row] = (int64_t)exact;
        }
        return true;
    }
    case TYPE_DOUBLE:
        if (!number || !text_to_double(value->text, &approximate)) {
            return false;
        }
        vector_double(result)[row] = approximate;
        return true;
    default:
        return put_text(call, row, text);
    }
}

/* Copies argument `arg`, which has the result's type. */
static void put_argument(struct kernel_call *call, uint32_t row, uint32_t arg)
{
    const struct vector *source = call->args[arg];
    if (!vector_is_valid(source, row)) {
        kernel_set_null(call, row);
        return;
    }
    switch (call->result->physical) {
    case PHYSICAL_BOOL:
        vector_bool(call->result)[row] = vector_bool(source)[row];
        break;
    case PHYSICAL_INT32:
        vector_int32(call->result)[row] = vector_int32(source)[row];
        break;
    case PHYSICAL_INT64:
        vector_int64(call->result)[row] = vector_int64(source)[row];
        break;
    case PHYSICAL_DOUBLE:
        vector_double(call->result)[row] = vector_double(source)[row];
        break;
    default:
        (void)put_text(call, row, vector_get_text(source, row));
    }
}

static void put_answer(struct kernel_call *call, uint32_t row, const struct behaviour *behaviour, const char *what)
{
    switch (behaviour->answer) {
    case ANSWER_ERROR: {
        struct text text = vector_get_text(call->args[0], row);
        kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "the JSON text '%.*s' has %s at the path",
                    (int)(text.length > 100 ? 100 : text.length), text.bytes, what);
        break;
    }
    case ANSWER_DEFAULT:
        put_argument(call, row, behaviour->arg);
        break;
    case ANSWER_EMPTY_ARRAY:
    case ANSWER_EMPTY_OBJECT:
        if (call->result->physical == PHYSICAL_SPAN) {
            vector_spans(call->result)[row] = (struct span){0, 0};
        } else {
            vector_strings(call->result)[row] = string_view_make(behaviour->answer == ANSWER_EMPTY_ARRAY ? "[]" : "{}", 2);
        }
        break;
    case ANSWER_TRUE:
    case ANSWER_FALSE:
        vector_bool(call->result)[row] = behaviour->answer == ANSWER_TRUE;
        break;
    case ANSWER_NULL:
        kernel_set_null(call, row);
    }
}

/* Parses the row's text and walks the path; false: the text is NULL (the row is NULL then). */
static bool find_in_row(struct kernel_call *call, uint32_t row, struct scratch *scratch, enum json_found *found,
                        const struct json_value **value)
{
    const struct json_data *data = call->data;
    if (!vector_is_valid(call->args[0], row) || data->path == NULL) {
        kernel_set_null(call, row);
        return false;
    }
    arena_reset(scratch->arena);
    const struct json_value *root = json_parse(scratch->arena, vector_get_text(call->args[0], row));
    *found = json_path_find(data->path, scratch->arena, root, value);
    return true;
}

static void run_value(struct kernel_call *call)
{
    const struct json_data *data = call->data;
    struct scratch *scratch = scratch_get(call);
    TIME_EACH_ROW(call, row)
    {
        enum json_found found;
        const struct json_value *value = NULL;
        if (scratch == NULL || !find_in_row(call, row, scratch, &found, &value)) {
            continue;
        }
        bool lax = json_path_is_lax(data->path);
        if (found == JSON_FOUND && !json_is_scalar(value)) {
            found = lax ? JSON_ABSENT : JSON_FAILED;
        } else if (found == JSON_FOUND && value->kind == JSON_NULL) {
            if (!lax) {
                kernel_set_null(call, row);
                continue;
            }
            found = JSON_ABSENT;
        }
        if (found == JSON_FOUND && !put_scalar(call, row, value, scratch)) {
            found = JSON_FAILED;
        }
        if (found != JSON_FOUND) {
            put_answer(call, row, found == JSON_ABSENT ? &data->on_empty : &data->on_error,
                       found == JSON_ABSENT ? "nothing" : "no such scalar");
        }
    }
}

static void run_exists(struct kernel_call *call)
{
    const struct json_data *data = call->data;
    struct scratch *scratch = scratch_get(call);
    TIME_EACH_ROW(call, row)
    {
        enum json_found found;
        const struct json_value *value = NULL;
        if (scratch == NULL || !find_in_row(call, row, scratch, &found, &value)) {
            continue;
        }
        if (found == JSON_FAILED) {
            put_answer(call, row, &data->on_error, "nothing");
        } else {
            vector_bool(call->result)[row] = found == JSON_FOUND && value->kind != JSON_NULL;
        }
    }
}

/* The elements of a JSON array as texts, appended to the result's child. The row's span is set at once; the texts are gathered in
 * `elements`, which becomes the child when all rows are done. */
struct elements {
    struct text_builder bytes;
    size_t *ends; /* of each element; SIZE_MAX marks NULL */
    uint32_t count, capacity;
    bool failed;
};

static void add_element(struct elements *elements, const struct json_value *item)
{
    if (elements->count == elements->capacity) {
        uint32_t capacity = elements->capacity == 0 ? 64 : elements->capacity * 2;
        size_t *grown = realloc(elements->ends, capacity * sizeof *grown);
        if (grown == NULL) {
            elements->failed = true;
            return;
        }
        elements->ends = grown;
        elements->capacity = capacity;
    }
    if (item->kind == JSON_NULL) {
        elements->ends[elements->count++] = SIZE_MAX;
        return;
    }
    if (json_is_scalar(item)) {
        json_write_scalar(item, &elements->bytes);
    } else {
        json_write(item, &elements->bytes);
    }
    elements->ends[elements->count++] = elements->bytes.length;
}

static enum status finish_elements(struct kernel_call *call, struct elements *elements, struct error *err)
{
    struct budget *budget = call->evaluation->budget;
    struct vector child;
    if (elements->failed || elements->bytes.failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for an array");
    }
    TRY(vector_create(budget, call->result->type->children[0], elements->count, &child, err));
    struct string_heap heap = {.budget = budget, .target = &child};
    enum status status = vector_need_validity(budget, &child, elements->count, err);
    size_t start = 0;
    for (uint32_t i = 0; i < elements->count && status == STATUS_OK; i++) {
        vector_strings(&child)[i] = (struct string_view){0};
        if (elements->ends[i] == SIZE_MAX) {
            vector_set_null(&child, i);
            continue;
        }
        size_t length = elements->ends[i] - start;
        const char *bytes = length == 0 ? "" : elements->bytes.bytes + start;
        if (length > STRING_INLINE_BYTES) {
            char *copy = string_heap_alloc(&heap, length, err);
            if (copy == NULL) {
                status = err->status;
                break;
            }
            bytes = memcpy(copy, bytes, length);
        }
        vector_strings(&child)[i] = string_view_make(bytes, length);
        start = elements->ends[i];
    }
    if (status != STATUS_OK) {
        vector_release(&child);
        return status;
    }
    vector_release(&call->result->children[0]);
    call->result->children[0] = child;
    return STATUS_OK;
}

static void put_query(struct kernel_call *call, uint32_t row, const struct json_value *value, struct scratch *scratch,
                      struct elements *elements)
{
    if (call->result->physical == PHYSICAL_SPAN) {
        uint32_t first = elements->count;
        for (const struct json_value *item = value->first; item != NULL; item = item->next) {
            add_element(elements, item);
        }
        vector_spans(call->result)[row] = (struct span){first, elements->count - first};
        return;
    }
    text_builder_clear(&scratch->text);
    json_write(value, &scratch->text);
    (void)put_text(call, row, built(scratch));
}

static void run_query(struct kernel_call *call)
{
    const struct json_data *data = call->data;
    struct scratch *scratch = scratch_get(call);
    struct elements elements = {0};
    TIME_EACH_ROW(call, row)
    {
        enum json_found found;
        const struct json_value *value = NULL;
        if (scratch == NULL || !find_in_row(call, row, scratch, &found, &value)) {
            continue;
        }
        struct json_value copy, wrapped;
        if (found == JSON_FOUND && value->kind == JSON_NULL && data->wrapper == WRAPPER_NONE) {
            found = JSON_ABSENT;
        } else if (found == JSON_FOUND &&
                   (data->wrapper == WRAPPER_ALWAYS || (data->wrapper == WRAPPER_CONDITIONAL && value->kind != JSON_ARRAY))) {
            copy = *value;
            copy.next = NULL;
            wrapped = (struct json_value){.kind = JSON_ARRAY, .count = 1, .first = &copy};
            value = &wrapped;
        }
        bool arrays = call->result->physical == PHYSICAL_SPAN;
        if (found == JSON_FOUND && (arrays ? value->kind != JSON_ARRAY : json_is_scalar(value))) {
            found = json_path_is_lax(data->path) ? JSON_ABSENT : JSON_FAILED;
        }
        if (found == JSON_FOUND) {
            put_query(call, row, value, scratch, &elements);
        } else {
            put_answer(call, row, found == JSON_ABSENT ? &data->on_empty : &data->on_error,
                       found == JSON_ABSENT ? "nothing" : "no such array or object");
        }
    }
    struct error err;
    if (call->result->physical == PHYSICAL_SPAN && finish_elements(call, &elements, &err) != STATUS_OK) {
        kernel_fail(call, selection_row(&call->rows, 0), err.code, "%s", err.text);
    }
    free(elements.ends);
    text_builder_close(&elements.bytes);
}

static const struct {
    const char *word;
    enum answer answer;
} answers[] = {
    {"NULL", ANSWER_NULL},
    {"ERROR", ANSWER_ERROR},
    {"DEFAULT", ANSWER_DEFAULT},
    {"EMPTY", ANSWER_EMPTY_ARRAY},
    {"EMPTY ARRAY", ANSWER_EMPTY_ARRAY},
    {"TRUE", ANSWER_TRUE},
    {"FALSE", ANSWER_FALSE},
    {"UNKNOWN", ANSWER_NULL},
    {"EMPTY OBJECT", ANSWER_EMPTY_OBJECT},
};

static bool read_behaviour(struct text word, uint32_t arg, struct behaviour *behaviour)
{
    for (size_t i = 0; i < ARRAY_LENGTH(answers); i++) {
        if (text_equal(word, text_from(answers[i].word))) {
            *behaviour = (struct behaviour){answers[i].answer, arg};
            return true;
        }
    }
    return false;
}

/* Reads the clauses from argument 2 on; `returning` stays NULL without RETURNING. */
static enum status read_clauses(struct function_binding *binding, struct json_data *data, const struct type **returning, struct error *err)
{
    for (uint32_t i = 2; i + 2 < binding->arg_count; i += 3) {
        struct text name, word;
        bool good = expression_constant_text(binding->args[i], &name) && expression_constant_text(binding->args[i + 1], &word);
        if (good && text_equal(name, TEXT("RETURNING"))) {
            *returning = binding->args[i + 2]->type;
        } else if (good && text_equal(name, TEXT("WRAPPER"))) {
            data->wrapper = text_equal(word, TEXT("WITHOUT"))            ? WRAPPER_NONE
                            : text_equal(word, TEXT("WITH CONDITIONAL")) ? WRAPPER_CONDITIONAL
                                                                         : WRAPPER_ALWAYS;
        } else if (good && text_equal(name, TEXT("ON_EMPTY"))) {
            good = read_behaviour(word, i + 2, &data->on_empty);
        } else if (good && text_equal(name, TEXT("ON_ERROR"))) {
            good = read_behaviour(word, i + 2, &data->on_error);
        } else {
            good = false;
        }
        if (!good) {
            return function_refuse(binding, err);
        }
    }
    return (binding->arg_count - 2) % 3 == 0 ? STATUS_OK : function_refuse(binding, err);
}

static enum status bind_path(struct function_binding *binding, struct json_data *data, struct error *err)
{
    struct text path;
    if (binding->args[0]->type->kind == TYPE_VARIANT) {
        return function_refuse(binding, err);
    }
    TRY(function_coerce(binding, 0, &type_string, err));
    TRY(function_coerce(binding, 1, &type_string, err));
    if (!expression_constant_text(binding->args[1], &path)) {
        return binding->args[1]->kind == EXPRESSION_CONSTANT
                   ? STATUS_OK /* a NULL path gives NULL */
                   : error_set(err, ERROR_NOT_SUPPORTED, "the path of %s must be a constant", binding->function->name);
    }
    return json_path_compile(binding->arena, path, &data->path, err);
}

static enum status bind_json(struct function_binding *binding, struct json_data **data, const struct type **returning, struct error *err)
{
    TRY_ALLOC(*data, arena_alloc(binding->arena, sizeof **data), err);
    TRY(bind_path(binding, *data, err));
    return read_clauses(binding, *data, returning, err);
}

static void set_kernel(struct function_binding *binding, kernel_fn *run, const struct json_data *data)
{
    bool fails = data->on_empty.answer == ANSWER_ERROR || data->on_error.answer == ANSWER_ERROR;
    binding->kernel = (struct kernel){
        .run = run, .traits = FUNCTION_NULLABLE | (fails ? FUNCTION_CAN_FAIL : 0), .data = data, .free_scratch = scratch_free};
}

static enum status coerce_default(struct function_binding *binding, const struct behaviour *behaviour, const struct type *type,
                                  struct error *err)
{
    if (behaviour->answer != ANSWER_DEFAULT) {
        return STATUS_OK;
    }
    const struct expression *value = binding->args[behaviour->arg];
    if (cast_find_rule(value->type, type) == CAST_NEVER) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->args[behaviour->arg], expression_cast(binding->arena, value, type, false), err);
    return STATUS_OK;
}

static enum status bind_value(struct function_binding *binding, struct error *err)
{
    struct json_data *data;
    const struct type *returning = &type_string;
    TRY(bind_json(binding, &data, &returning, err));
    enum type_kind kind = returning->kind;
    if (kind != TYPE_BOOLEAN && kind != TYPE_INT && kind != TYPE_BIGINT && kind != TYPE_DOUBLE && kind != TYPE_VARCHAR) {
        return error_set(err, ERROR_NOT_SUPPORTED, "JSON_VALUE returns STRING, BOOLEAN, INTEGER, BIGINT or DOUBLE");
    }
    TRY(coerce_default(binding, &data->on_empty, returning, err));
    TRY(coerce_default(binding, &data->on_error, returning, err));
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, returning, true), err);
    set_kernel(binding, run_value, data);
    return STATUS_OK;
}

static enum status bind_query(struct function_binding *binding, struct error *err)
{
    struct json_data *data;
    const struct type *returning = &type_string;
    TRY(bind_json(binding, &data, &returning, err));
    bool texts = returning->kind == TYPE_ARRAY && returning->children[0]->kind == TYPE_VARCHAR;
    if (returning->kind != TYPE_VARCHAR && !texts) {
        return error_set(err, ERROR_NOT_SUPPORTED, "JSON_QUERY returns STRING or ARRAY<STRING>");
    }
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, returning, true), err);
    set_kernel(binding, run_query, data);
    return STATUS_OK;
}

static enum status bind_exists(struct function_binding *binding, struct error *err)
{
    struct json_data *data;
    const struct type *returning = NULL;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    data->on_error.answer = ANSWER_FALSE;
    TRY(bind_path(binding, data, err));
    TRY(read_clauses(binding, data, &returning, err));
    if (returning != NULL || data->on_empty.answer != ANSWER_NULL) {
        return function_refuse(binding, err);
    }
    binding->result = &type_boolean;
    set_kernel(binding, run_exists, data);
    return STATUS_OK;
}

enum json_shape { SHAPE_ANY, SHAPE_SCALAR, SHAPE_ARRAY, SHAPE_OBJECT };

static void run_is_json(struct kernel_call *call)
{
    enum json_shape shape = *(const enum json_shape *)call->data;
    struct scratch *scratch = scratch_get(call);
    uint8_t *out = vector_bool(call->result);
    TIME_EACH_ROW(call, row)
    {
        const struct json_value *value = NULL;
        if (scratch != NULL && vector_is_valid(call->args[0], row)) {
            arena_reset(scratch->arena);
            value = json_parse(scratch->arena, vector_get_text(call->args[0], row));
        }
        out[row] =
            value != NULL && (shape == SHAPE_ANY || (shape == SHAPE_SCALAR && json_is_scalar(value)) ||
                              (shape == SHAPE_ARRAY && value->kind == JSON_ARRAY) || (shape == SHAPE_OBJECT && value->kind == JSON_OBJECT));
    }
}

static enum status bind_is_json(struct function_binding *binding, const enum json_shape *shape, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_string, err));
    binding->result = &type_boolean_not_null;
    binding->kernel = (struct kernel){.run = run_is_json, .data = shape, .free_scratch = scratch_free};
    return STATUS_OK;
}

#define IS_JSON(name, shape_value)                                                                                                         \
    static enum status bind_is_##name(struct function_binding *binding, struct error *err)                                                 \
    {                                                                                                                                      \
        static const enum json_shape shape = shape_value;                                                                                  \
        return bind_is_json(binding, &shape, err);                                                                                         \
    }
IS_JSON(any, SHAPE_ANY)
IS_JSON(scalar, SHAPE_SCALAR)
IS_JSON(array, SHAPE_ARRAY)
IS_JSON(object, SHAPE_OBJECT)
#undef IS_JSON

static const struct function functions[] = {
    {"JSON_VALUE", "JSON",
     "JSON_VALUE(text, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON EMPTY] [{NULL | ERROR | DEFAULT value} ON ERROR])",
     "The scalar at a path, as STRING unless another type is named. A path without lax is strict: a missing key is an error.",
     "JSON_VALUE('{\"a\": 1}', '$.a') = '1'", 2, 14, bind_value},
    {"JSON_QUERY", "JSON",
     "JSON_QUERY(text, path [RETURNING type] [{WITHOUT | WITH [CONDITIONAL | UNCONDITIONAL]} ARRAY WRAPPER] [{NULL | ERROR | EMPTY ARRAY | "
     "EMPTY OBJECT} ON {EMPTY | ERROR}])",
     "The array or object at a path, as JSON text (or ARRAY<STRING>).", "JSON_QUERY('{\"a\": [1]}', '$.a') = '[1]'", 2, 14, bind_query},
    {"JSON_EXISTS", "JSON", "JSON_EXISTS(text, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])",
     "Whether a path leads to something other than null.", "JSON_EXISTS('{\"a\": 1}', '$.a')", 2, 8, bind_exists},
    {"IS JSON VALUE", "JSON", "text IS [NOT] JSON [VALUE]", "Whether a text is JSON; FALSE for NULL.", "'[1]' IS JSON", 1, 1, bind_is_any},
    {"IS JSON SCALAR", "JSON", "text IS [NOT] JSON SCALAR", "Whether a text is a JSON scalar.", "'1' IS JSON SCALAR", 1, 1, bind_is_scalar},
    {"IS JSON ARRAY", "JSON", "text IS [NOT] JSON ARRAY", "Whether a text is a JSON array.", "'[1]' IS JSON ARRAY", 1, 1, bind_is_array},
    {"IS JSON OBJECT", "JSON", "text IS [NOT] JSON OBJECT", "Whether a text is a JSON object.", "'{}' IS JSON OBJECT", 1, 1,
     bind_is_object},
};

const struct function_table json_functions = {functions, ARRAY_LENGTH(functions)};
