/* Lengths, parts, padding, trimming and joining of texts. Positions count characters from 1. */
#include <string.h>

#include "base/utf8.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

/* ---- lengths and codes ---- */

static void run_char_length(struct kernel_call *call)
{
    int32_t *out = vector_int32(call->result);
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row);
        out[row] = (int32_t)utf8_count(text.bytes, text.length);
    }
}

static void run_ascii(struct kernel_call *call)
{
    int32_t *out = vector_int32(call->result);
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row);
        uint32_t code_point = 0;
        if (text.length > 0) {
            utf8_decode(text.bytes, text.length, &code_point);
        }
        out[row] = (int32_t)code_point;
    }
}

static void run_chr(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        int64_t value = integer_arg(call, 0, row);
        char bytes[4];
        text_put_part(call, row, bytes, value < 0 ? 0 : utf8_encode((uint32_t)(value & 255), bytes));
    }
}

/* ---- parts ---- */

/* Characters first..first+count-1 (from 0); count < 0: to the end. */
static struct text part_of(struct text text, int64_t first, int64_t count)
{
    size_t skipped = utf8_prefix(text.bytes, text.length, (size_t)first);
    struct text rest = {text.bytes + skipped, text.length - skipped};
    if (count >= 0) {
        rest.length = utf8_prefix(rest.bytes, rest.length, (size_t)count);
    }
    return rest;
}

static void run_substring(struct kernel_call *call)
{
    if (!text_share(call, 0)) {
        return;
    }
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row);
        int64_t from = integer_arg(call, 1, row), count = call->arg_count > 2 ? integer_arg(call, 2, row) : -1;
        if (call->arg_count > 2 && count < 0) {
            kernel_set_null(call, row);
            continue;
        }
        from = from > 0 ? from - 1 : from == 0 ? 0 : (int64_t)utf8_count(text.bytes, text.length) + from;
        struct text part = from < 0 ? (struct text){"", 0} : part_of(text, from, count);
        text_put_part(call, row, part.bytes, part.length);
    }
}

static void run_left(struct kernel_call *call)
{
    if (!text_share(call, 0)) {
        return;
    }
    EACH_ROW(call, row)
    {
        int64_t count = integer_arg(call, 1, row);
        struct text part = part_of(text_arg(call, 0, row), 0, count < 0 ? 0 : count);
        text_put_part(call, row, part.bytes, part.length);
    }
}

static void run_right(struct kernel_call *call)
{
    if (!text_share(call, 0)) {
        return;
    }
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row);
        int64_t count = integer_arg(call, 1, row), length = (int64_t)utf8_count(text.bytes, text.length);
        count = count < 0 ? 0 : count < length ? count : length;
        struct text part = part_of(text, length - count, -1);
        text_put_part(call, row, part.bytes, part.length);
    }
}

/* ---- trimming: any of the given characters, a blank by default ---- */

static bool is_one_of(struct text set, const char *character, size_t length)
{
    return text_find(set, (struct text){character, length}, 0) != SIZE_MAX;
}

static size_t character_bytes(const char *bytes)
{
    unsigned char first = (unsigned char)bytes[0];
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static struct text trim_left(struct text text, struct text set)
{
    while (text.length > 0) {
        size_t length = character_bytes(text.bytes);
        if (length > text.length || !is_one_of(set, text.bytes, length)) {
            break;
        }
        text.bytes += length;
        text.length -= length;
    }
    return text;
}

static struct text trim_right(struct text text, struct text set)
{
    while (text.length > 0) {
        size_t length = 1;
        while (length < text.length && ((unsigned char)text.bytes[text.length - length] & 0xc0) == 0x80) {
            length++;
        }
        if (!is_one_of(set, text.bytes + text.length - length, length)) {
            break;
        }
        text.length -= length;
    }
    return text;
}

static void run_trim_sides(struct kernel_call *call, bool left, bool right)
{
    if (!text_share(call, 0)) {
        return;
    }
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row);
        struct text set = call->arg_count > 1 ? text_arg(call, 1, row) : TEXT(" ");
        text = left ? trim_left(text, set) : text;
        text = right ? trim_right(text, set) : text;
        text_put_part(call, row, text.bytes, text.length);
    }
}
static void run_trim(struct kernel_call *call)
{
    run_trim_sides(call, true, true);
}
static void run_ltrim(struct kernel_call *call)
{
    run_trim_sides(call, true, false);
}
static void run_rtrim(struct kernel_call *call)
{
    run_trim_sides(call, false, true);
}

/* ---- longer texts ---- */

enum { MADE_TEXT_MAX = 256 * 1024 * 1024 };

static char *made_room(struct kernel_call *call, uint32_t row, uint64_t bytes, char small[STRING_INLINE_BYTES], bool *failed)
{
    *failed = bytes > MADE_TEXT_MAX;
    if (*failed) {
        kernel_fail(call, row, ERROR_VALUE_OUT_OF_RANGE, "a text of %llu bytes is too long", (unsigned long long)bytes);
        return NULL;
    }
    return bytes <= STRING_INLINE_BYTES ? small : kernel_alloc(call, bytes);
}

static void run_repeat(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row);
        int64_t times = integer_arg(call, 1, row);
        times = times < 0 || text.length == 0 ? 0 : times > MADE_TEXT_MAX ? MADE_TEXT_MAX + 1 : times;
        char small[STRING_INLINE_BYTES];
        bool failed;
        char *room = made_room(call, row, (uint64_t)times * text.length, small, &failed);
        if (failed) {
            continue;
        }
        if (room == NULL) {
            return;
        }
        for (int64_t i = 0; i < times; i++) {
            memcpy(room + (size_t)i * text.length, text.bytes, text.length);
        }
        text_put_part(call, row, room, (size_t)times * text.length);
    }
}

static void append_padding(struct text_builder *out, struct text pad, int64_t characters)
{
    int64_t whole = (int64_t)utf8_count(pad.bytes, pad.length);
    for (; characters >= whole; characters -= whole) {
        text_append(out, pad.bytes, pad.length);
    }
    text_append(out, pad.bytes, utf8_prefix(pad.bytes, pad.length, (size_t)characters));
}

static void run_pad(struct kernel_call *call, bool left)
{
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row), pad = text_arg(call, 2, row);
        int64_t wanted = integer_arg(call, 1, row), length = (int64_t)utf8_count(text.bytes, text.length);
        if (wanted < 0 || pad.length == 0) {
            kernel_set_null(call, row);
            continue;
        }
        if (wanted > MADE_TEXT_MAX / 4) {
            kernel_fail(call, row, ERROR_VALUE_OUT_OF_RANGE, "a text of %lld characters is too long", (long long)wanted);
            continue;
        }
        struct text_builder *out = text_scratch(call);
        if (out == NULL) {
            return;
        }
        if (left && wanted > length) {
            append_padding(out, pad, wanted - length);
        }
        text_append(out, text.bytes, wanted < length ? utf8_prefix(text.bytes, text.length, (size_t)wanted) : text.length);
        if (!left && wanted > length) {
            append_padding(out, pad, wanted - length);
        }
        if (!text_put_scratch(call, row, out)) {
            return;
        }
    }
}
static void run_lpad(struct kernel_call *call)
{
    run_pad(call, true);
}
static void run_rpad(struct kernel_call *call)
{
    run_pad(call, false);
}

static void run_reverse(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row);
        char small[STRING_INLINE_BYTES];
        char *room = text.length <= sizeof small ? small : kernel_alloc(call, text.length);
        if (room == NULL) {
            return;
        }
        for (size_t at = 0; at < text.length;) {
            size_t length = character_bytes(text.bytes + at);
            length = length > text.length - at ? text.length - at : length;
            memcpy(room + text.length - at - length, text.bytes + at, length);
            at += length;
        }
        text_put_part(call, row, room, text.length);
    }
}

static void run_overlay(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row), put = text_arg(call, 1, row);
        int64_t from = integer_arg(call, 2, row), length = (int64_t)utf8_count(text.bytes, text.length);
        int64_t count = call->arg_count > 3 ? integer_arg(call, 3, row) : (int64_t)utf8_count(put.bytes, put.length);
        struct text_builder *out = text_scratch(call);
        if (out == NULL) {
            return;
        }
        if (from <= 0 || from > length) {
            text_append(out, text.bytes, text.length);
        } else {
            struct text rest = {"", 0};
            if (count >= 0 && from - 1 + count <= length) {
                rest = part_of(text, from - 1 + count, -1);
            }
            text_append(out, text.bytes, utf8_prefix(text.bytes, text.length, (size_t)(from - 1)));
            text_append(out, put.bytes, put.length);
            text_append(out, rest.bytes, rest.length);
        }
        if (!text_put_scratch(call, row, out)) {
            return;
        }
    }
}

/* ---- joining ---- */

static void run_concat(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        size_t length = 0, at = 0;
        for (uint32_t i = 0; i < call->arg_count; i++) {
            length += text_arg(call, i, row).length;
        }
        char small[STRING_INLINE_BYTES];
        char *room = length <= sizeof small ? small : kernel_alloc(call, length);
        if (room == NULL) {
            return;
        }
        for (uint32_t i = 0; i < call->arg_count; i++) {
            struct text text = text_arg(call, i, row);
            if (text.length > 0) {
                memcpy(room + at, text.bytes, text.length);
            }
            at += text.length;
        }
        text_put_part(call, row, room, length);
    }
}

static void run_concat_ws(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        struct text_builder *out = text_scratch(call);
        bool first = true;
        if (out == NULL) {
            return;
        }
        if (!vector_is_valid(call->args[0], row)) {
            kernel_set_null(call, row);
            continue;
        }
        struct text separator = text_arg(call, 0, row);
        for (uint32_t i = 1; i < call->arg_count; i++) {
            if (vector_is_valid(call->args[i], row)) {
                struct text text = text_arg(call, i, row);
                text_append(out, separator.bytes, first ? 0 : separator.length);
                text_append(out, text.bytes, text.length);
                first = false;
            }
        }
        if (!text_put_scratch(call, row, out)) {
            return;
        }
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
BIND(bind_char_length, "t", &type_int, run_char_length, FUNCTION_TOTAL)
BIND(bind_ascii, "t", &type_int, run_ascii, 0)
BIND(bind_chr, "i", &type_string, run_chr, 0)
BIND(bind_left, "ti", &type_string, run_left, 0)
BIND(bind_right, "ti", &type_string, run_right, 0)
BIND(bind_repeat, "ti", &type_string, run_repeat, FUNCTION_CAN_FAIL)
BIND(bind_reverse, "t", &type_string, run_reverse, FUNCTION_NULLABLE)
BIND(bind_overlay, "ttii", &type_string, run_overlay, 0)

static enum status bind_substring(struct function_binding *binding, struct error *err)
{
    const struct type *type;
    TRY_ALLOC(type, text_varying(binding), err);
    return text_bind(binding, "tii", type, run_substring, FUNCTION_NULLABLE, err);
}

static enum status bind_trims(struct function_binding *binding, kernel_fn *run, struct error *err)
{
    const struct type *type;
    TRY_ALLOC(type, text_varying(binding), err);
    return text_bind(binding, "tt", type, run, 0, err);
}
/* TRIM('BOTH' | 'LEADING' | 'TRAILING', characters, string) is how the binder writes TRIM(side characters FROM string). */
static enum status bind_trim(struct function_binding *binding, struct error *err)
{
    struct text side;
    if (binding->arg_count < 3) {
        return bind_trims(binding, run_trim, err);
    }
    if (!expression_constant_text(binding->args[0], &side)) {
        return function_refuse(binding, err);
    }
    kernel_fn *run = text_equal(side, TEXT("LEADING")) ? run_ltrim : text_equal(side, TEXT("TRAILING")) ? run_rtrim : run_trim;
    binding->args[0] = binding->args[2];
    binding->arg_count = 2;
    return bind_trims(binding, run, err);
}
static enum status bind_ltrim(struct function_binding *binding, struct error *err)
{
    return bind_trims(binding, run_ltrim, err);
}
static enum status bind_rtrim(struct function_binding *binding, struct error *err)
{
    return bind_trims(binding, run_rtrim, err);
}

/* NULL comes only from a negative length or an empty pad: constants tell that neither is. */
static enum status bind_pad(struct function_binding *binding, kernel_fn *run, struct error *err)
{
    int64_t length;
    struct text pad;
    bool safe = expression_constant_int64(binding->args[1], &length) && length >= 0 && expression_constant_text(binding->args[2], &pad) &&
                pad.length > 0;
    TRY(text_bind(binding, "tit", &type_string, run, FUNCTION_CAN_FAIL | (safe ? 0 : FUNCTION_NULLABLE), err));
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}
static enum status bind_lpad(struct function_binding *binding, struct error *err)
{
    return bind_pad(binding, run_lpad, err);
}
static enum status bind_rpad(struct function_binding *binding, struct error *err)
{
    return bind_pad(binding, run_rpad, err);
}

static enum status bind_concat(struct function_binding *binding, struct error *err)
{
    return text_bind(binding, "t", &type_string, run_concat, 0, err);
}

/* ||: CHAR with CHAR stays CHAR; lengths add up. Binary values join too. */
static enum status bind_join(struct function_binding *binding, struct error *err)
{
    const struct type *left = binding->args[0]->type, *right = binding->args[1]->type;
    bool binary = type_is_binary(left) || type_is_binary(right);
    bool fixed = left->kind == right->kind && (left->kind == TYPE_CHAR || left->kind == TYPE_BINARY);
    int64_t length = left->kind == TYPE_NULL || right->kind == TYPE_NULL ? LENGTH_MAX : (int64_t)left->precision + right->precision;
    const struct type *type;
    enum type_kind kind = binary ? (fixed ? TYPE_BINARY : TYPE_VARBINARY) : fixed ? TYPE_CHAR : TYPE_VARCHAR;
    TRY_ALLOC(type, type_make(binding->arena, kind, length > LENGTH_MAX ? LENGTH_MAX : (int32_t)length, 0, true), err);
    return text_bind(binding, binary ? "y" : "t", type, run_concat, 0, err);
}

static enum status bind_concat_ws(struct function_binding *binding, struct error *err)
{
    TRY(text_bind(binding, "t", &type_string, run_concat_ws, 0, err));
    binding->result = &type_string;
    binding->kernel.traits = 0;
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}

static const struct function functions[] = {
    {"CHAR_LENGTH", "string", "CHAR_LENGTH(string)", "The number of characters.", "CHAR_LENGTH('abc') = 3", 1, 1, bind_char_length},
    {"CHARACTER_LENGTH", "string", "CHARACTER_LENGTH(string)", "The same as CHAR_LENGTH.", NULL, 1, 1, bind_char_length},
    {"LENGTH", "string", "LENGTH(string)", "The same as CHAR_LENGTH.", NULL, 1, 1, bind_char_length},
    {"ASCII", "string", "ASCII(string)", "The code of the first character; 0 of an empty text.", "ASCII('A') = 65", 1, 1, bind_ascii},
    {"CHR", "string", "CHR(integer)", "The character of a code modulo 256; an empty text of a negative one.", "CHR(97) = 'a'", 1, 1,
     bind_chr},
    {"SUBSTRING", "string", "SUBSTRING(string FROM start [FOR length])\nSUBSTRING(string, start [, length])",
     "A part of a text; a negative start counts from the end, a negative length gives NULL.", "SUBSTRING('abc', 2) = 'bc'", 2, 3,
     bind_substring},
    {"SUBSTR", "string", "SUBSTR(string, start [, length])", "The same as SUBSTRING.", NULL, 2, 3, bind_substring},
    {"LEFT", "string", "LEFT(string, n)", "The first n characters.", "LEFT('abc', 2) = 'ab'", 2, 2, bind_left},
    {"RIGHT", "string", "RIGHT(string, n)", "The last n characters.", "RIGHT('abc', 2) = 'bc'", 2, 2, bind_right},
    {"TRIM", "string", "TRIM([BOTH | LEADING | TRAILING] [characters FROM] string)\nTRIM(string)",
     "The text without the characters (blanks unless given) at its ends.", "TRIM('  a ') = 'a'", 1, 3, bind_trim},
    {"BTRIM", "string", "BTRIM(string [, characters])", "The text without the characters at both ends.", "BTRIM(' a ') = 'a'", 1, 2,
     bind_trim},
    {"LTRIM", "string", "LTRIM(string [, characters])", "The text without the characters at its start.", "LTRIM(' a') = 'a'", 1, 2,
     bind_ltrim},
    {"RTRIM", "string", "RTRIM(string [, characters])", "The text without the characters at its end.", "RTRIM('a ') = 'a'", 1, 2,
     bind_rtrim},
    {"REPEAT", "string", "REPEAT(string, n)", "The text n times.", "REPEAT('ab', 2) = 'abab'", 2, 2, bind_repeat},
    {"LPAD", "string", "LPAD(string, length, pad)",
     "The text cut or filled on the left to the length; NULL of a negative length or an empty pad.", "LPAD('hi', 4, '?!') = '?!hi'", 3, 3,
     bind_lpad},
    {"RPAD", "string", "RPAD(string, length, pad)",
     "The text cut or filled on the right to the length; NULL of a negative length or an empty pad.", "RPAD('hi', 4, '?!') = 'hi?!'", 3, 3,
     bind_rpad},
    {"REVERSE", "string", "REVERSE(string)", "The characters in reverse order.", "REVERSE('abc') = 'cba'", 1, 1, bind_reverse},
    {"OVERLAY", "string", "OVERLAY(string PLACING replacement FROM start [FOR length])",
     "The text with a part replaced; unchanged when the start is outside.", "OVERLAY('abcd' PLACING 'X' FROM 2 FOR 2) = 'aXd'", 3, 4,
     bind_overlay},
    {"CONCAT", "string", "CONCAT(string, ...)", "The texts joined; NULL if one is.", "CONCAT('a', 'b') = 'ab'", 1, UINT32_MAX, bind_concat},
    {"||", "string", "string || string", "The texts joined; NULL if one is.", "'a' || 'b' = 'ab'", 2, 2, bind_join},
    {"CONCAT_WS", "string", "CONCAT_WS(separator, string, ...)", "The texts that are not NULL, joined with a separator between.",
     "CONCAT_WS('-', 'a', 'b') = 'a-b'", 1, UINT32_MAX, bind_concat_ws},
};

const struct function_table string_functions = {functions, ARRAY_LENGTH(functions)};
