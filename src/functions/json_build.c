/* JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_QUOTE, JSON_UNQUOTE and JSON: JSON texts made of values.
 *
 * An argument that is itself a call of JSON_OBJECT, JSON_ARRAY or JSON is put in as it is. The order of an object's members (by
 * name, the last of equal names) is found when the call is bound. */
#include <stdlib.h>

#include "functions/json_tree.h"
#include "functions/tables.h"
#include "functions/time_functions.h"

struct member {
    struct text name;
    uint32_t arg;
    bool raw;
};
struct build_data {
    uint32_t count;
    const struct member *members;
    bool object, absent_on_null;
};

static bool put_built(struct kernel_call *call, uint32_t row, const struct text_builder *text)
{
    if (text->failed) {
        kernel_fail(call, row, ERROR_BUDGET_SPENT, "the system has no memory for a JSON text");
        return false;
    }
    char *copy = NULL;
    if (text->length > STRING_INLINE_BYTES) {
        copy = kernel_alloc(call, text->length);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, text->bytes, text->length);
    }
    vector_strings(call->result)[row] = string_view_make(copy != NULL ? copy : text->length > 0 ? text->bytes : "", text->length);
    return true;
}

static void write_member(struct kernel_call *call, const struct build_data *data, const struct member *member, uint32_t row,
                         const char *separator, struct text_builder *out)
{
    const struct vector *value = call->args[member->arg];
    text_append_text(out, separator);
    if (data->object) {
        json_write_string(member->name, out);
        text_append_char(out, ':');
    }
    if (member->raw && vector_is_valid(value, row)) {
        struct text text = vector_get_text(value, row);
        text_append(out, text.bytes, text.length);
    } else {
        json_write_cell(value, row, call->evaluation->zone, out);
    }
}

static void run_build(struct kernel_call *call)
{
    const struct build_data *data = call->data;
    struct text_builder out = {0};
    TIME_EACH_ROW(call, row)
    {
        const char *separator = "";
        text_builder_clear(&out);
        text_append_char(&out, data->object ? '{' : '[');
        for (uint32_t i = 0; i < data->count; i++) {
            if (data->absent_on_null && !vector_is_valid(call->args[data->members[i].arg], row)) {
                continue;
            }
            write_member(call, data, &data->members[i], row, separator, &out);
            separator = ",";
        }
        text_append_char(&out, data->object ? '}' : ']');
        if (!put_built(call, row, &out)) {
            break;
        }
    }
    text_builder_close(&out);
}

/* ON NULL comes as three last arguments: its name, the word, a NULL. */
static uint32_t read_on_null(const struct function_binding *binding, bool *absent)
{
    struct text name, word;
    uint32_t count = binding->arg_count;
    if (count >= 3 && expression_constant_text(binding->args[count - 3], &name) && text_equal(name, TEXT("ON_NULL")) &&
        expression_constant_text(binding->args[count - 2], &word)) {
        *absent = text_equal(word, TEXT("ABSENT"));
        return count - 3;
    }
    return count;
}

static bool is_call_of(const struct expression *expression, const char *name)
{
    return expression->kind == EXPRESSION_CALL && strcmp(expression->function->name, name) == 0;
}

/* Takes JSON(x) apart: it has a meaning only here. */
static void set_raw(struct function_binding *binding, struct member *member)
{
    const struct expression *arg = binding->args[member->arg];
    member->raw = is_call_of(arg, "JSON_OBJECT") || is_call_of(arg, "JSON_ARRAY");
    if (is_call_of(arg, "JSON")) {
        member->raw = true;
        binding->args[member->arg] = arg->args[0];
    }
}

static enum status bind_build(struct function_binding *binding, bool object, uint32_t count, bool absent, struct error *err)
{
    struct build_data *data;
    struct member *members;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    TRY_ALLOC(members, arena_alloc(binding->arena, (count + 1) * sizeof *members), err);
    *data = (struct build_data){.members = members, .object = object, .absent_on_null = absent};
    for (uint32_t i = 0; i < count; i += object ? 2 : 1) {
        struct member member = {.arg = object ? i + 1 : i};
        set_raw(binding, &member);
        if (object && !expression_constant_text(binding->args[i], &member.name)) {
            return error_set(err, ERROR_WRONG_ARGUMENTS, "the names in JSON_OBJECT must be constant texts");
        }
        uint32_t at = object ? 0 : data->count;
        while (at < data->count && text_compare(members[at].name, member.name) < 0) {
            at++;
        }
        bool replaces = object && at < data->count && text_equal(members[at].name, member.name);
        if (!replaces) {
            memmove(members + at + 1, members + at, (data->count - at) * sizeof *members);
            data->count++;
        }
        members[at] = member;
    }
    binding->result = &type_string_not_null;
    binding->kernel = (struct kernel){.run = run_build, .data = data};
    return STATUS_OK;
}

static enum status bind_object(struct function_binding *binding, struct error *err)
{
    bool absent = false;
    uint32_t count = read_on_null(binding, &absent);
    return count % 2 == 0 ? bind_build(binding, true, count, absent, err) : function_refuse(binding, err);
}

static enum status bind_array(struct function_binding *binding, struct error *err)
{
    bool absent = true;
    uint32_t count = read_on_null(binding, &absent);
    return bind_build(binding, false, count, absent, err);
}

static void run_each(struct kernel_call *call, void (*write)(struct kernel_call *call, uint32_t row, struct text_builder *out))
{
    struct text_builder out = {0};
    TIME_EACH_ROW(call, row)
    {
        text_builder_clear(&out);
        write(call, row, &out);
        if (!put_built(call, row, &out)) {
            break;
        }
    }
    text_builder_close(&out);
}

static void write_value(struct kernel_call *call, uint32_t row, struct text_builder *out)
{
    json_write_cell(call->args[0], row, call->evaluation->zone, out);
}

static void write_quoted(struct kernel_call *call, uint32_t row, struct text_builder *out)
{
    json_write_ascii_string(vector_get_text(call->args[0], row), out);
}

static void run_string(struct kernel_call *call)
{
    run_each(call, write_value);
}

static void run_quote(struct kernel_call *call)
{
    run_each(call, write_quoted);
}

/* What is no JSON string stays as it is. */
static void run_unquote(struct kernel_call *call)
{
    struct arena *arena = arena_create(call->evaluation->budget, "JSON strings");
    struct text_builder out = {0};
    TIME_EACH_ROW(call, row)
    {
        struct text text = vector_get_text(call->args[0], row);
        const struct json_value *value = NULL;
        if (arena != NULL && text.length >= 2 && text.bytes[0] == '"' && text.bytes[text.length - 1] == '"') {
            arena_reset(arena);
            value = json_parse(arena, text);
        }
        text = value != NULL && value->kind == JSON_STRING ? value->text : text;
        text_builder_clear(&out);
        text_append(&out, text.bytes, text.length);
        if (!put_built(call, row, &out)) {
            break;
        }
    }
    text_builder_close(&out);
    arena_destroy(arena);
}

static enum status bind_one(struct function_binding *binding, kernel_fn *run)
{
    binding->result = function_any_nullable(binding) ? &type_string : &type_string_not_null;
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}

static enum status bind_string(struct function_binding *binding, struct error *err)
{
    (void)err;
    return bind_one(binding, run_string);
}

static enum status bind_quote(struct function_binding *binding, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_string, err));
    return bind_one(binding, run_quote);
}

static enum status bind_unquote(struct function_binding *binding, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_string, err));
    return bind_one(binding, run_unquote);
}

static void run_alone(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "JSON(text) is only a value in JSON_OBJECT or JSON_ARRAY");
    }
}

static enum status bind_raw(struct function_binding *binding, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_string, err));
    binding->result = &type_string;
    binding->kernel = (struct kernel){.run = run_alone, .traits = FUNCTION_CAN_FAIL};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"JSON_OBJECT", "JSON", "JSON_OBJECT([[KEY] name VALUE value, ...] [{NULL | ABSENT} ON NULL])",
     "A JSON object, its members sorted by name.", "JSON_OBJECT('a' VALUE 1) = '{\"a\":1}'", 0, UINT32_MAX, bind_object},
    {"JSON_ARRAY", "JSON", "JSON_ARRAY([value, ...] [{NULL | ABSENT} ON NULL])", "A JSON array; NULLs are left out unless NULL ON NULL.",
     "JSON_ARRAY(1, 'a') = '[1,\"a\"]'", 0, UINT32_MAX, bind_array},
    {"JSON_STRING", "JSON", "JSON_STRING(value)", "Any value as JSON text.", "JSON_STRING(ARRAY[1, 2]) = '[1,2]'", 1, 1, bind_string},
    {"JSON_QUOTE", "JSON", "JSON_QUOTE(text)", "A text as a JSON string in ASCII.", "JSON_QUOTE('a') = '\"a\"'", 1, 1, bind_quote},
    {"JSON_UNQUOTE", "JSON", "JSON_UNQUOTE(text)", "The text that a JSON string means; other texts stay as they are.",
     "JSON_UNQUOTE('\"a\"') = 'a'", 1, 1, bind_unquote},
    {"JSON", "JSON", "JSON(text)", "A text that is JSON already, as a value in JSON_OBJECT or JSON_ARRAY.", NULL, 1, 1, bind_raw},
};

const struct function_table json_build_functions = {functions, ARRAY_LENGTH(functions)};
