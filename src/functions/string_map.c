/* STR_TO_MAP: pairs between delimiters, which are regular expressions. Of equal keys the last counts. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/vector_append.h"
#include "functions/pattern.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

struct pair {
    struct text key, value;
    bool has_value;
};

/* Cuts at the next delimiter; false: there is none. `index`: the argument that holds it, or the plain one. */
static bool cut(struct kernel_call *call, uint32_t row, uint32_t index, struct text plain, struct text text, size_t *start, size_t *end)
{
    if (index >= call->arg_count) {
        *start = text_find(text, plain, 0);
        *end = *start + plain.length;
        return *start != SIZE_MAX;
    }
    const struct pattern *pattern = pattern_of_row(call, index, row, 0);
    const size_t *groups;
    if (pattern == NULL) {
        kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "a delimiter of STR_TO_MAP is no valid regular expression");
        return false;
    }
    for (size_t from = 0; from < text.length;) {
        if (pattern_find(call, row, pattern, text, from, &groups) != PATTERN_YES) {
            return false;
        }
        *start = groups[0];
        *end = groups[1];
        if (*end > 0) {
            return *start < text.length;
        }
        from += utf8_prefix(text.bytes + from, text.length - from, 1); /* an empty match at the start cuts nothing off */
    }
    return false;
}

static struct text tail(struct text text, size_t from)
{
    return (struct text){text.bytes + from, text.length - from};
}

static bool add_pair(struct pair **pairs, size_t *count, size_t *room, struct pair pair)
{
    for (size_t i = 0; i < *count; i++) {
        if (text_equal((*pairs)[i].key, pair.key)) {
            (*pairs)[i] = pair;
            return true;
        }
    }
    if (*count == *room) {
        size_t larger = *room == 0 ? 16 : *room * 2;
        struct pair *moved = realloc(*pairs, larger * sizeof **pairs);
        if (moved == NULL) {
            return false;
        }
        *pairs = moved;
        *room = larger;
    }
    (*pairs)[(*count)++] = pair;
    return true;
}

static bool append_text(struct kernel_call *call, struct vector *child, struct text text, bool valid)
{
    struct string_view view = string_view_make(text.bytes, text.length);
    struct vector one = {.type = child->type, .physical = PHYSICAL_STRING, .count = 1, .values = &view};
    if (!valid) {
        return vector_append_null(call->evaluation->budget, child, kernel_error(call)) == STATUS_OK;
    }
    for (uint32_t i = 0; text.length > STRING_INLINE_BYTES && i < call->args[0]->heap_count; i++) {
        one.heaps[one.heap_count++] = call->args[0]->heaps[i];
    }
    return vector_append(call->evaluation->budget, child, &one, 0, 1, kernel_error(call)) == STATUS_OK;
}

static bool read_pairs(struct kernel_call *call, uint32_t row, struct pair **pairs, size_t *count, size_t *room)
{
    struct text rest = text_arg(call, 0, row);
    while (rest.length > 0) {
        size_t start, end, middle, value;
        struct text piece = rest;
        bool more = cut(call, row, 1, TEXT(","), rest, &start, &end);
        if (more) {
            piece.length = start;
            rest = tail(rest, end);
        } else {
            rest.length = 0;
        }
        struct pair pair = {.key = piece, .value = {"", 0}};
        if (cut(call, row, 2, TEXT("="), piece, &middle, &value)) {
            pair = (struct pair){{piece.bytes, middle}, tail(piece, value), true};
        }
        if (!add_pair(pairs, count, room, pair)) {
            (void)error_set(kernel_error(call), ERROR_BUDGET_SPENT, "no room for a map's pairs");
            return false;
        }
    }
    return true;
}

static void run_str_to_map(struct kernel_call *call)
{
    struct pair *pairs = NULL;
    size_t room = 0;
    struct vector *children = call->result->children;
    EACH_ROW(call, row)
    {
        size_t count = 0;
        uint32_t before = children[0].count;
        bool fine = read_pairs(call, row, &pairs, &count, &room);
        for (size_t i = 0; i < count && fine; i++) {
            fine =
                append_text(call, &children[0], pairs[i].key, true) && append_text(call, &children[1], pairs[i].value, pairs[i].has_value);
        }
        if (!fine) {
            break;
        }
        vector_spans(call->result)[row] = (struct span){before, children[0].count - before};
    }
    free(pairs);
}

static enum status bind_str_to_map(struct function_binding *binding, struct error *err)
{
    const struct type *type;
    struct pattern_data *data;
    TRY_ALLOC(type, type_map(binding->arena, &type_string, &type_string, true), err);
    TRY(text_bind(binding, "t", type, run_str_to_map, FUNCTION_CAN_FAIL, err));
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err); /* two patterns: both from the scratch's cache */
    data->syntax = PATTERN_JAVA;
    binding->kernel.data = data;
    binding->kernel.free_scratch = pattern_scratch_free;
    return STATUS_OK;
}

static const struct function functions[] = {
    {"STR_TO_MAP", "string", "STR_TO_MAP(string)\nSTR_TO_MAP(string, pair_delimiter, value_delimiter)",
     "The pairs of a text as a map; delimiters are regular expressions, ',' and '=' unless given. A pair without a value has NULL.",
     "STR_TO_MAP('a=1,b=2')['b'] = '2'", 1, 3, bind_str_to_map},
};

const struct function_table string_map_functions = {functions, ARRAY_LENGTH(functions)};
