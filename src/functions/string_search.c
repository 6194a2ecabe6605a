/* Searching, replacing and splitting texts. What is searched for is plain text here; patterns are in regexp_functions.c. */
#include <string.h>

#include "base/utf8.h"
#include "data/vector_append.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

/* ---- positions, in characters from 1; 0: not there ---- */

static int32_t position_of(struct text text, struct text part, int64_t from)
{
    int64_t length = (int64_t)utf8_count(text.bytes, text.length);
    from = from < 1 ? 1 : from;
    if (from > length + 1) {
        return 0;
    }
    size_t found = text_find(text, part, utf8_prefix(text.bytes, text.length, (size_t)(from - 1)));
    return found == SIZE_MAX ? 0 : (int32_t)utf8_count(text.bytes, found) + 1;
}

static void run_locate(struct kernel_call *call)
{
    int32_t *out = vector_int32(call->result);
    EACH_ROW(call, row)
    {
        out[row] = position_of(text_arg(call, 1, row), text_arg(call, 0, row), call->arg_count > 2 ? integer_arg(call, 2, row) : 1);
    }
}

/* INSTR(text, part, start, nth): a negative start searches backwards from that many characters before the end. */
static int32_t nth_position(struct text text, struct text part, int64_t start, int64_t nth)
{
    int64_t length = (int64_t)utf8_count(text.bytes, text.length), part_length = (int64_t)utf8_count(part.bytes, part.length);
    int64_t step = start < 0 ? -1 : 1, at = start < 0 ? length + start + 1 : start;
    if (start == 0 || nth < 1) {
        return 0;
    }
    at = step < 0 && at + part_length > length + 1 ? length + 1 - part_length : at;
    for (; at >= 1 && at + part_length <= length + 1; at += step) {
        size_t offset = utf8_prefix(text.bytes, text.length, (size_t)(at - 1));
        if (text.length - offset >= part.length && memcmp(text.bytes + offset, part.bytes, part.length) == 0 && --nth == 0) {
            return (int32_t)at;
        }
    }
    return 0;
}

static void run_instr(struct kernel_call *call)
{
    int32_t *out = vector_int32(call->result);
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row), part = text_arg(call, 1, row);
        int64_t start = call->arg_count > 2 ? integer_arg(call, 2, row) : 1, nth = call->arg_count > 3 ? integer_arg(call, 3, row) : 1;
        out[row] = start > 0 && nth == 1 ? position_of(text, part, start) : nth_position(text, part, start, nth);
    }
}

static bool starts_with(struct text text, struct text part)
{
    return text.length >= part.length && memcmp(text.bytes, part.bytes, part.length) == 0;
}

static void run_starts_with(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        vector_bool(call->result)[row] = starts_with(text_arg(call, 0, row), text_arg(call, 1, row));
    }
}

static void run_ends_with(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row), part = text_arg(call, 1, row);
        bool long_enough = text.length >= part.length;
        struct text end = {text.bytes + (long_enough ? text.length - part.length : 0), long_enough ? part.length : 0};
        vector_bool(call->result)[row] = long_enough && starts_with(end, part);
    }
}

/* ---- replacing ---- */

static size_t character_bytes(struct text text)
{
    return utf8_prefix(text.bytes, text.length, 1);
}

/* An empty part is found before each character and at the end. */
static void replace_all(struct text text, struct text part, struct text by, struct text_builder *out)
{
    size_t at = 0;
    while (part.length == 0 && at < text.length) {
        size_t length = character_bytes((struct text){text.bytes + at, text.length - at});
        text_append(out, by.bytes, by.length);
        text_append(out, text.bytes + at, length);
        at += length;
    }
    if (part.length == 0) {
        text_append(out, by.bytes, by.length);
        return;
    }
    for (size_t found; (found = text_find(text, part, at)) != SIZE_MAX; at = found + part.length) {
        text_append(out, text.bytes + at, found - at);
        text_append(out, by.bytes, by.length);
    }
    text_append(out, text.bytes + at, text.length - at);
}

static void run_replace(struct kernel_call *call)
{
    if (!text_share(call, 0)) {
        return;
    }
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row), part = text_arg(call, 1, row);
        if (part.length > 0 && text_find(text, part, 0) == SIZE_MAX) {
            text_put_part(call, row, text.bytes, text.length);
            continue;
        }
        struct text_builder *out = text_scratch(call);
        if (out == NULL) {
            return;
        }
        replace_all(text, part, text_arg(call, 2, row), out);
        if (!text_put_scratch(call, row, out)) {
            return;
        }
    }
}

/* The character of `to` at the place where `from` first has this one; beyond the end of `to` it is dropped. */
static void translate(struct text text, struct text from, struct text to, struct text_builder *out)
{
    while (text.length > 0) {
        size_t length = character_bytes(text), found = SIZE_MAX;
        for (size_t at = 0, index = 0; at < from.length && found == SIZE_MAX; index++) {
            struct text rest = {from.bytes + at, from.length - at};
            size_t width = character_bytes(rest);
            found = width == length && memcmp(rest.bytes, text.bytes, length) == 0 ? index : SIZE_MAX;
            at += width;
        }
        if (found == SIZE_MAX) {
            text_append(out, text.bytes, length);
        } else {
            size_t at = utf8_prefix(to.bytes, to.length, found);
            struct text rest = {to.bytes + at, to.length - at};
            text_append(out, rest.bytes, rest.length == 0 ? 0 : character_bytes(rest));
        }
        text.bytes += length;
        text.length -= length;
    }
}

static void run_translate(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        struct text_builder *out = text_scratch(call);
        if (out == NULL) {
            return;
        }
        if (!vector_is_valid(call->args[0], row)) {
            kernel_set_null(call, row);
            continue;
        }
        bool given = vector_is_valid(call->args[1], row), to_given = vector_is_valid(call->args[2], row);
        translate(text_arg(call, 0, row), given ? text_arg(call, 1, row) : TEXT(""), to_given ? text_arg(call, 2, row) : TEXT(""), out);
        if (!text_put_scratch(call, row, out)) {
            return;
        }
    }
}

/* ---- splitting ---- */

/* The next piece up to a separator, or the rest; an empty separator splits nothing. false: there is none left. */
static bool next_piece(struct text *rest, struct text separator, struct text *piece, bool *last)
{
    if (*last) {
        return false;
    }
    size_t found = separator.length == 0 ? SIZE_MAX : text_find(*rest, separator, 0);
    *last = found == SIZE_MAX;
    *piece = (struct text){rest->bytes, *last ? rest->length : found};
    if (!*last) {
        rest->bytes += found + separator.length;
        rest->length -= found + separator.length;
    }
    return true;
}

static void split_index_row(struct kernel_call *call, uint32_t row, struct text separator)
{
    struct text rest = text_arg(call, 0, row), piece;
    int64_t index = integer_arg(call, 2, row);
    bool last = rest.length == 0 || index < 0 || separator.length == 0;
    while (next_piece(&rest, separator, &piece, &last)) {
        if (index-- == 0) {
            text_put_part(call, row, piece.bytes, piece.length);
            return;
        }
    }
    kernel_set_null(call, row);
}

static void run_split_index(struct kernel_call *call)
{
    if (!text_share(call, 0)) {
        return;
    }
    bool code = call->args[1]->physical != PHYSICAL_STRING;
    EACH_ROW(call, row)
    {
        char bytes[4];
        struct text separator = code ? (struct text){bytes, 0} : text_arg(call, 1, row);
        if (code) {
            int64_t character = integer_arg(call, 1, row);
            separator.length = character < 0 || character > 255 ? 0 : utf8_encode((uint32_t)character, bytes);
        }
        split_index_row(call, row, separator);
    }
}

/* Arrays of texts: elements are appended to the result's child; its views point into the heaps of args[0]. */
static bool append_text(struct kernel_call *call, struct vector *child, struct text text)
{
    struct string_view view = string_view_make(text.bytes, text.length);
    struct vector one = {.type = child->type, .physical = PHYSICAL_STRING, .count = 1, .values = &view};
    const struct vector *source = call->args[0];
    for (uint32_t i = 0; text.length > STRING_INLINE_BYTES && i < source->heap_count; i++) {
        one.heaps[one.heap_count++] = source->heaps[i];
    }
    return vector_append(call->evaluation->budget, child, &one, 0, 1, kernel_error(call)) == STATUS_OK;
}

static bool append_pieces(struct kernel_call *call, struct vector *child, struct text text, struct text separator)
{
    struct text piece;
    bool last = text.length == 0;
    while (separator.length == 0 && text.length > 0) {
        size_t length = character_bytes(text);
        if (!append_text(call, child, (struct text){text.bytes, length})) {
            return false;
        }
        text.bytes += length;
        text.length -= length;
    }
    last = last || separator.length == 0;
    while (next_piece(&text, separator, &piece, &last)) {
        if (!append_text(call, child, piece)) {
            return false;
        }
    }
    return true;
}

static void run_split(struct kernel_call *call)
{
    struct vector *child = &call->result->children[0];
    EACH_ROW(call, row)
    {
        uint32_t before = child->count;
        if (!append_pieces(call, child, text_arg(call, 0, row), text_arg(call, 1, row))) {
            return;
        }
        vector_spans(call->result)[row] = (struct span){before, child->count - before};
    }
}

/* ELT(n, a, b, ...): NULL outside */
static void run_elt(struct kernel_call *call)
{
    for (uint32_t i = 1; i < call->arg_count; i++) {
        if (!text_share(call, i)) {
            return;
        }
    }
    EACH_ROW(call, row)
    {
        int64_t index = vector_is_valid(call->args[0], row) ? integer_arg(call, 0, row) : 0;
        if (index < 1 || index >= call->arg_count || !vector_is_valid(call->args[index], row)) {
            kernel_set_null(call, row);
            continue;
        }
        struct text text = text_arg(call, (uint32_t)index, row);
        text_put_part(call, row, text.bytes, text.length);
    }
}

/* ---- binding ---- */

#define BIND(name, kinds, type, run, traits)                                                                                               \
    static enum status name(struct function_binding *binding, struct error *err)                                                           \
    {                                                                                                                                      \
        enum status status = text_bind(binding, kinds, type, run, traits, err);                                                            \
        binding->kernel.free_scratch = text_scratch_free;                                                                                  \
        return status;                                                                                                                     \
    }
BIND(bind_locate, "tti", &type_int, run_locate, 0)
BIND(bind_instr, "ttii", &type_int, run_instr, 0)
BIND(bind_starts_with, "b", &type_boolean, run_starts_with, FUNCTION_TOTAL)
BIND(bind_ends_with, "b", &type_boolean, run_ends_with, FUNCTION_TOTAL)
BIND(bind_replace, "t", &type_string, run_replace, 0)

/* NULL characters to replace are none. */
static enum status bind_translate(struct function_binding *binding, struct error *err)
{
    TRY(text_bind(binding, "t", &type_string, run_translate, FUNCTION_NULLABLE, err));
    binding->kernel.traits = 0;
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}

static enum status bind_split_index(struct function_binding *binding, struct error *err)
{
    bool code = type_is_integer(binding->args[1]->type);
    return text_bind(binding, code ? "tii" : "tti", &type_string, run_split_index, FUNCTION_NULLABLE, err);
}

static enum status bind_split(struct function_binding *binding, struct error *err)
{
    const struct type *type;
    TRY_ALLOC(type, type_array(binding->arena, &type_string, true), err);
    return text_bind(binding, "t", type, run_split, 0, err);
}

static enum status bind_elt(struct function_binding *binding, struct error *err)
{
    TRY(text_bind(binding, "ib", &type_string, run_elt, FUNCTION_NULLABLE, err));
    if (type_is_binary(binding->args[1]->type)) {
        binding->result = &type_bytes;
    }
    binding->kernel.traits = 0;
    return STATUS_OK;
}

static const struct function functions[] = {
    {"POSITION", "string", "POSITION(part IN string)", "Where a part first is, from 1; 0 when it is not there.",
     "POSITION('b' IN 'abc') = 2", 2, 3, bind_locate},
    {"LOCATE", "string", "LOCATE(part, string [, start])", "Where a part first is at or after the start, from 1; 0 when it is not there.",
     "LOCATE('b', 'abcb', 3) = 4", 2, 3, bind_locate},
    {"INSTR", "string", "INSTR(string, part [, start [, nth]])",
     "Where a part is for the nth time, from 1; a negative start searches backwards from the end. 0 when it is not there.",
     "INSTR('banana', 'an', 1, 2) = 4", 2, 4, bind_instr},
    {"STARTSWITH", "string", "STARTSWITH(value, part)", "Does the text (or binary value) begin with the part?", "STARTSWITH('abc', 'ab')",
     2, 2, bind_starts_with},
    {"ENDSWITH", "string", "ENDSWITH(value, part)", "Does the text (or binary value) end with the part?", "ENDSWITH('abc', 'bc')", 2, 2,
     bind_ends_with},
    {"REPLACE", "string", "REPLACE(string, part, by)", "All occurrences of a part replaced.", "REPLACE('abab', 'a', 'x') = 'xbxb'", 3, 3,
     bind_replace},
    {"TRANSLATE", "string", "TRANSLATE(string, from, to)", "Each character of `from` replaced by the one at its place in `to`, or dropped.",
     "TRANSLATE('www.apache.org', 'wapcheorg', ' APCHEcom') = '   .APACHE.com'", 3, 3, bind_translate},
    {"SPLIT_INDEX", "string", "SPLIT_INDEX(string, separator, index)",
     "The piece with an index (from 0) between separators; NULL when there is none.", "SPLIT_INDEX('a,b', ',', 1) = 'b'", 3, 3,
     bind_split_index},
    {"SPLIT", "string", "SPLIT(string, separator)", "The pieces between separators as an array; an empty separator gives the characters.",
     "SPLIT('a,b', ',') = ARRAY['a', 'b']", 2, 2, bind_split},
    {"ELT", "string", "ELT(n, value, ...)", "The nth of the values; NULL outside.", "ELT(2, 'a', 'b') = 'b'", 2, UINT32_MAX, bind_elt},
};

const struct function_table string_search_functions = {functions, ARRAY_LENGTH(functions)};
