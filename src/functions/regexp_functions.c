/* REGEXP and its family. A pattern or group that is not valid gives NULL (REGEXP: an error is no answer either, so FALSE is not
 * claimed); an empty pattern never matches for REGEXP. */
#include "base/utf8.h"
#include "data/vector_append.h"
#include "functions/pattern.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

static void run_regexp(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        const struct pattern *pattern = pattern_of_row(call, 1, row, 0);
        bool empty = text_arg(call, 1, row).length == 0;
        if (pattern == NULL) {
            struct text text = text_arg(call, 1, row);
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "'%.*s' is no valid regular expression", (int)text.length, text.bytes);
            continue;
        }
        vector_bool(call->result)[row] = !empty && pattern_find(call, row, pattern, text_arg(call, 0, row), 0, NULL) == PATTERN_YES;
    }
}

/* Where to search on after a match: an empty one moves a character further. */
static size_t after_match(struct text text, const size_t *groups)
{
    if (groups[1] > groups[0] || groups[1] >= text.length) {
        return groups[1] > groups[0] ? groups[1] : text.length + 1;
    }
    return groups[1] + utf8_prefix(text.bytes + groups[1], text.length - groups[1], 1);
}

static bool replace_matches(struct kernel_call *call, uint32_t row, const struct pattern *pattern, struct text text, struct text by,
                            struct text_builder *out)
{
    const size_t *groups;
    size_t copied = 0, from = 0;
    enum pattern_result result = PATTERN_NO;
    while (from <= text.length && (result = pattern_find(call, row, pattern, text, from, &groups)) == PATTERN_YES) {
        text_append(out, text.bytes + copied, groups[0] - copied);
        text_append(out, by.bytes, by.length);
        copied = groups[1];
        from = after_match(text, groups);
    }
    text_append(out, text.bytes + copied, text.length - copied);
    return result != PATTERN_FAILED;
}

static void run_replace(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        const struct pattern *pattern = pattern_of_row(call, 1, row, 0);
        struct text_builder *out = pattern_text(call);
        if (out == NULL) {
            return;
        }
        if (pattern == NULL) {
            kernel_set_null(call, row);
        } else if (replace_matches(call, row, pattern, text_arg(call, 0, row), text_arg(call, 2, row), out) &&
                   !text_put_scratch(call, row, out)) {
            return;
        }
    }
}

static void run_extract(struct kernel_call *call)
{
    if (!text_share(call, 0)) {
        return;
    }
    EACH_ROW(call, row)
    {
        const struct pattern *pattern = pattern_of_row(call, 1, row, 0);
        struct text text = text_arg(call, 0, row);
        int64_t group = call->arg_count > 2 ? integer_arg(call, 2, row) : 0;
        const size_t *groups = NULL;
        if (pattern == NULL || group < 0 || group > pattern_group_count(pattern) ||
            pattern_find(call, row, pattern, text, 0, &groups) != PATTERN_YES || groups[2 * group] == SIZE_MAX) {
            kernel_set_null(call, row);
            continue;
        }
        text_put_part(call, row, text.bytes + groups[2 * group], groups[2 * group + 1] - groups[2 * group]);
    }
}

static bool append_part(struct kernel_call *call, struct text part, bool null)
{
    struct vector *child = &call->result->children[0];
    struct string_view view = string_view_make(part.bytes, part.length);
    struct vector one = {.type = child->type, .physical = PHYSICAL_STRING, .count = 1, .values = &view};
    const struct vector *source = call->args[0];
    if (null) {
        return vector_append_null(call->evaluation->budget, child, kernel_error(call)) == STATUS_OK;
    }
    for (uint32_t i = 0; part.length > STRING_INLINE_BYTES && i < source->heap_count; i++) {
        one.heaps[one.heap_count++] = source->heaps[i];
    }
    return vector_append(call->evaluation->budget, child, &one, 0, 1, kernel_error(call)) == STATUS_OK;
}

static bool extract_all(struct kernel_call *call, uint32_t row, const struct pattern *pattern, int64_t group)
{
    struct text text = text_arg(call, 0, row);
    const size_t *groups;
    for (size_t from = 0; from <= text.length && pattern_find(call, row, pattern, text, from, &groups) == PATTERN_YES;) {
        size_t start = groups[2 * group], end = groups[2 * group + 1];
        from = after_match(text, groups);
        bool null = start == SIZE_MAX;
        if (!append_part(call, null ? (struct text){"", 0} : (struct text){text.bytes + start, end - start}, null)) {
            return false;
        }
    }
    return true;
}

static void run_extract_all(struct kernel_call *call)
{
    struct vector *child = &call->result->children[0];
    EACH_ROW(call, row)
    {
        const struct pattern *pattern = pattern_of_row(call, 1, row, 0);
        int64_t group = call->arg_count > 2 ? integer_arg(call, 2, row) : 1;
        uint32_t before = child->count;
        if (pattern == NULL || group < 0 || group > pattern_group_count(pattern)) {
            kernel_set_null(call, row);
            vector_spans(call->result)[row] = (struct span){before, 0};
            continue;
        }
        if (!extract_all(call, row, pattern, group)) {
            return;
        }
        vector_spans(call->result)[row] = (struct span){before, child->count - before};
    }
}

static void run_count(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        const struct pattern *pattern = pattern_of_row(call, 1, row, 0);
        struct text text = text_arg(call, 0, row);
        const size_t *groups;
        int32_t count = 0;
        if (pattern == NULL) {
            kernel_set_null(call, row);
            continue;
        }
        for (size_t from = 0; from <= text.length && pattern_find(call, row, pattern, text, from, &groups) == PATTERN_YES; count++) {
            from = after_match(text, groups);
        }
        vector_int32(call->result)[row] = count;
    }
}

static void run_instr(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        const struct pattern *pattern = pattern_of_row(call, 1, row, 0);
        struct text text = text_arg(call, 0, row);
        const size_t *groups;
        if (pattern == NULL) {
            kernel_set_null(call, row);
            continue;
        }
        bool found = pattern_find(call, row, pattern, text, 0, &groups) == PATTERN_YES;
        vector_int32(call->result)[row] = found ? (int32_t)utf8_count(text.bytes, groups[0]) + 1 : 0;
    }
}

/* ---- binding ---- */

#define BIND(name, kinds, type, run, traits)                                                                                               \
    static enum status name(struct function_binding *binding, struct error *err)                                                           \
    {                                                                                                                                      \
        struct pattern_data *data;                                                                                                         \
        TRY(text_bind(binding, kinds, type, run, (traits) | FUNCTION_CAN_FAIL, err));                                                      \
        return pattern_bind(binding, 1, PATTERN_JAVA, 0, &data, err);                                                                      \
    }
BIND(bind_regexp, "t", &type_boolean, run_regexp, 0)
BIND(bind_replace, "t", &type_string, run_replace, FUNCTION_NULLABLE)
BIND(bind_extract, "tti", &type_string, run_extract, FUNCTION_NULLABLE)
BIND(bind_count, "t", &type_int, run_count, FUNCTION_NULLABLE)
BIND(bind_instr, "t", &type_int, run_instr, FUNCTION_NULLABLE)

static enum status bind_extract_all(struct function_binding *binding, struct error *err)
{
    const struct type *type;
    struct pattern_data *data;
    TRY_ALLOC(type, type_array(binding->arena, &type_string, true), err);
    TRY(text_bind(binding, "tti", type, run_extract_all, FUNCTION_NULLABLE | FUNCTION_CAN_FAIL, err));
    return pattern_bind(binding, 1, PATTERN_JAVA, 0, &data, err);
}

static const struct function functions[] = {
    {"REGEXP", "string", "REGEXP(string, pattern)",
     "Does a part of the text match the regular expression (Java's syntax)? FALSE of an empty one.", "REGEXP('foobar', 'o+b')", 2, 2,
     bind_regexp},
    {"RLIKE", "string", "RLIKE(string, pattern)\nstring RLIKE pattern", "The same as REGEXP.", NULL, 2, 2, bind_regexp},
    {"REGEXP_REPLACE", "string", "REGEXP_REPLACE(string, pattern, replacement)", "All matches replaced by a plain text.",
     "REGEXP_REPLACE('foobar', 'oo|ar', '') = 'fb'", 3, 3, bind_replace},
    {"REGEXP_EXTRACT", "string", "REGEXP_EXTRACT(string, pattern [, group])",
     "A group of the first match, the whole of it unless given; NULL when there is none.",
     "REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2) = 'bar'", 2, 3, bind_extract},
    {"REGEXP_EXTRACT_ALL", "string", "REGEXP_EXTRACT_ALL(string, pattern [, group])",
     "A group (the first unless given) of all matches, as an array.", "REGEXP_EXTRACT_ALL('Ab12Cd34', '[a-z]+', 0) = ARRAY['b', 'd']", 2, 3,
     bind_extract_all},
    {"REGEXP_COUNT", "string", "REGEXP_COUNT(string, pattern)", "How often the regular expression matches.",
     "REGEXP_COUNT('banana', 'an') = 2", 2, 2, bind_count},
    {"REGEXP_INSTR", "string", "REGEXP_INSTR(string, pattern)", "Where the first match begins, from 1; 0 when there is none.",
     "REGEXP_INSTR('banana', 'n') = 3", 2, 2, bind_instr},
    {"REGEXP_SUBSTR", "string", "REGEXP_SUBSTR(string, pattern)", "The first match; NULL when there is none.",
     "REGEXP_SUBSTR('banana', 'n.') = 'na'", 2, 2, bind_extract},
};

const struct function_table regexp_functions = {functions, ARRAY_LENGTH(functions)};
