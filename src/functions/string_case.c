/* UPPER, LOWER, INITCAP: ASCII byte by byte; other characters by Unicode's full mappings (one character may become several). */
#include <utf8proc.h>

#include "base/utf8.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

static bool is_ascii(struct text text)
{
    unsigned char any = 0;
    for (size_t i = 0; i < text.length; i++) {
        any |= (unsigned char)text.bytes[i];
    }
    return any < 0x80;
}

static char ascii_upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
}

static char ascii_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static void append_code_point(struct text_builder *out, uint32_t code_point)
{
    char bytes[4];
    text_append(out, bytes, utf8_encode(code_point, bytes));
}

/* The full case folding of a small letter is several characters exactly where its capital form is: they fold to the same. */
static void append_upper(struct text_builder *out, uint32_t code_point)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
    if (category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT) {
        utf8proc_int32_t folded[8];
        int boundary = 0;
        utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)code_point, folded, 8, UTF8PROC_CASEFOLD, &boundary);
        if (count > 1 && count <= 8) {
            for (utf8proc_ssize_t i = 0; i < count; i++) {
                append_code_point(out, (uint32_t)utf8proc_toupper(folded[i]));
            }
            return;
        }
    }
    append_code_point(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)code_point));
}

static bool is_cased(uint32_t code_point)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

/* A capital sigma at the end of a word has a small form of its own. */
static uint32_t lower_sigma(struct text text, size_t at, uint32_t before)
{
    uint32_t after = 0;
    if (at < text.length) {
        utf8_decode(text.bytes + at, text.length - at, &after);
    }
    return is_cased(before) && !(at < text.length && is_cased(after)) ? 0x3c2 : 0x3c3;
}

static void upper_text(struct text text, struct text_builder *out)
{
    for (size_t at = 0; at < text.length;) {
        uint32_t code_point;
        size_t used = utf8_decode(text.bytes + at, text.length - at, &code_point);
        at += used == 0 ? 1 : used;
        append_upper(out, used == 0 ? 0xfffd : code_point);
    }
}

static void lower_text(struct text text, struct text_builder *out)
{
    uint32_t before = 0;
    for (size_t at = 0; at < text.length;) {
        uint32_t code_point;
        size_t used = utf8_decode(text.bytes + at, text.length - at, &code_point);
        at += used == 0 ? 1 : used;
        if (code_point == 0x130) { /* I with a dot: i and a combining dot */
            append_code_point(out, 'i');
            append_code_point(out, 0x307);
        } else if (code_point == 0x3a3) {
            append_code_point(out, lower_sigma(text, at, before));
        } else {
            append_code_point(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point));
        }
        before = code_point;
    }
}

/* Words are runs of ASCII letters and digits. */
static void initcap_text(struct text text, struct text_builder *out)
{
    bool in_word = false;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        text_append_char(out, in_word ? ascii_lower(c) : ascii_upper(c));
        in_word = (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
    }
}

static void run_mapping(struct kernel_call *call, char (*ascii)(char c), void (*full)(struct text text, struct text_builder *out))
{
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row);
        if (ascii == NULL || !is_ascii(text)) {
            struct text_builder *out = text_scratch(call);
            if (out == NULL) {
                return;
            }
            full(text, out);
            if (!text_put_scratch(call, row, out)) {
                return;
            }
            continue;
        }
        char small[STRING_INLINE_BYTES];
        char *room = text.length <= sizeof small ? small : kernel_alloc(call, text.length);
        if (room == NULL) {
            return;
        }
        for (size_t i = 0; i < text.length; i++) {
            room[i] = ascii(text.bytes[i]);
        }
        text_put_part(call, row, room, text.length);
    }
}

static void run_upper(struct kernel_call *call)
{
    run_mapping(call, ascii_upper, upper_text);
}
static void run_lower(struct kernel_call *call)
{
    run_mapping(call, ascii_lower, lower_text);
}
static void run_initcap(struct kernel_call *call)
{
    run_mapping(call, NULL, initcap_text);
}

static enum status bind_case(struct function_binding *binding, kernel_fn *run, struct error *err)
{
    TRY(text_bind(binding, "t", &type_string, run, 0, err));
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}
static enum status bind_upper(struct function_binding *binding, struct error *err)
{
    return bind_case(binding, run_upper, err);
}
static enum status bind_lower(struct function_binding *binding, struct error *err)
{
    return bind_case(binding, run_lower, err);
}
static enum status bind_initcap(struct function_binding *binding, struct error *err)
{
    return bind_case(binding, run_initcap, err);
}

static const struct function functions[] = {
    {"UPPER", "string", "UPPER(string)", "The text in capital letters.", "UPPER('abc') = 'ABC'", 1, 1, bind_upper},
    {"UCASE", "string", "UCASE(string)", "The same as UPPER.", NULL, 1, 1, bind_upper},
    {"LOWER", "string", "LOWER(string)", "The text in small letters.", "LOWER('ABC') = 'abc'", 1, 1, bind_lower},
    {"LCASE", "string", "LCASE(string)", "The same as LOWER.", NULL, 1, 1, bind_lower},
    {"INITCAP", "string", "INITCAP(string)", "Each word with a capital first letter; words are runs of ASCII letters and digits.",
     "INITCAP('hello world') = 'Hello World'", 1, 1, bind_initcap},
};

const struct function_table string_case_functions = {functions, ARRAY_LENGTH(functions)};
