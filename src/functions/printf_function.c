/* PRINTF: Java's format strings for texts, whole and floating numbers and booleans. Anything that Java would refuse gives NULL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/cell_text.h"
#include "data/decimal.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

enum { WIDTH_MAX = 10000 };
struct form {
    bool left, plus, space, zero, comma, alternate, parenthesis;
    int64_t argument, width, precision; /* -1: not given */
    char conversion;
};

/* %[argument$][flags][width][.precision]conversion, after the '%'; bytes used, 0: malformed */
static size_t read_form(struct text text, struct form *form)
{
    size_t at = 0;
    int64_t number = -1;
    *form = (struct form){.argument = -1, .width = -1, .precision = -1};
    size_t digits = 0;
    while (digits < text.length && digits < 6 && text.bytes[digits] >= '0' && text.bytes[digits] <= '9') {
        digits++;
    }
    if (digits > 0 && digits < text.length && text.bytes[digits] == '$') {
        form->argument = atoi(text.bytes);
        at = digits + 1;
    }
    for (; at < text.length && memchr("-+ 0,#(", text.bytes[at], 7) != NULL; at++) {
        char c = text.bytes[at];
        form->left |= c == '-';
        form->plus |= c == '+';
        form->space |= c == ' ';
        form->zero |= c == '0';
        form->comma |= c == ',';
        form->alternate |= c == '#';
        form->parenthesis |= c == '(';
    }
    for (int part = 0; part < 2; part++) {
        for (number = -1; at < text.length && text.bytes[at] >= '0' && text.bytes[at] <= '9' && number < WIDTH_MAX; at++) {
            number = (number < 0 ? 0 : number) * 10 + (text.bytes[at] - '0');
        }
        *(part == 0 ? &form->width : &form->precision) = number;
        if (part == 1 || at >= text.length || text.bytes[at] != '.') {
            break;
        }
        at++;
    }
    if (at >= text.length || form->width > WIDTH_MAX || form->precision > 300) {
        return 0;
    }
    form->conversion = text.bytes[at];
    return at + 1;
}

static void append_padded(struct text_builder *out, const struct form *form, const char *sign, struct text body, bool number)
{
    int64_t length = (int64_t)utf8_count(body.bytes, body.length) + (int64_t)strlen(sign),
            fill = form->width > length ? form->width - length : 0;
    bool zeros = number && form->zero && !form->left;
    for (int64_t i = 0; i < fill && !form->left && !zeros; i++) {
        text_append_char(out, ' ');
    }
    text_append_text(out, sign);
    for (int64_t i = 0; i < fill && zeros; i++) {
        text_append_char(out, '0');
    }
    text_append(out, body.bytes, body.length);
    for (int64_t i = 0; i < fill && form->left; i++) {
        text_append_char(out, ' ');
    }
}

/* Thousands between commas, up to the point. */
static void append_number(struct text_builder *out, const struct form *form, bool negative, const char *digits)
{
    struct text_builder body = {0};
    size_t whole = strcspn(digits, ".e");
    for (size_t i = 0; digits[i] != '\0'; i++) {
        if (form->comma && i > 0 && i < whole && (whole - i) % 3 == 0) {
            text_append_char(&body, ',');
        }
        text_append_char(&body, digits[i]);
    }
    if (negative && form->parenthesis) {
        text_append_char(&body, ')');
    }
    append_padded(out, form,
                  negative      ? (form->parenthesis ? "(" : "-")
                  : form->plus  ? "+"
                  : form->space ? " "
                                : "",
                  (struct text){body.bytes, body.length}, true);
    out->failed |= body.failed;
    text_builder_close(&body);
}

static bool format_integer(struct text_builder *out, const struct form *form, const struct vector *value, uint32_t row)
{
    char digits[80];
    if (!type_is_integer(value->type) || form->precision >= 0) {
        return false;
    }
    int64_t number = (int64_t)vector_get_integer(value, row);
    uint64_t bits = (uint64_t)number;
    if (form->conversion == 'd') {
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)(number < 0 ? 0 - bits : bits));
        append_number(out, form, number < 0, digits);
        return true;
    }
    uint32_t width = physical_bytes(value->physical) * 8; /* as unsigned of the type's width */
    bits = width < 64 ? bits & ((UINT64_C(1) << width) - 1) : bits;
    snprintf(digits, sizeof digits,
             form->conversion == 'o'   ? "%s%llo"
             : form->conversion == 'x' ? "%s%llx"
                                       : "%s%llX",
             !form->alternate          ? ""
             : form->conversion == 'o' ? "0"
             : form->conversion == 'x' ? "0x"
                                       : "0X",
             (unsigned long long)bits);
    append_padded(out, form, "", text_from(digits), true);
    return true;
}

static bool format_floating(struct text_builder *out, const struct form *form, const struct vector *value, uint32_t row)
{
    char digits[700];
    const struct type *type = value->type;
    if (!type_is_approximate(type) && type->kind != TYPE_DECIMAL) {
        return false;
    }
    double number = type->kind == TYPE_DECIMAL ? decimal_to_double(vector_get_integer(value, row), type->scale)
                    : type->kind == TYPE_FLOAT ? vector_float(value)[row]
                                               : vector_double(value)[row];
    int precision = form->precision < 0 ? 6 : (int)form->precision;
    if (__builtin_isnan(number) || __builtin_isinf(number)) {
        snprintf(digits, sizeof digits, "%s", __builtin_isnan(number) ? "NaN" : "Infinity");
    } else {
        const char *format = form->conversion == 'f' ? "%.*f" : form->conversion == 'E' ? "%.*E" : "%.*e";
        snprintf(digits, sizeof digits, format, precision, __builtin_fabs(number));
    }
    append_number(out, form, __builtin_signbit(number) && !__builtin_isnan(number), digits);
    return true;
}

static void upper_ascii(char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (char)(bytes[i] >= 'a' && bytes[i] <= 'z' ? bytes[i] - 32 : bytes[i]);
    }
}

static void format_text(struct kernel_call *call, struct text_builder *out, const struct form *form, const struct vector *value,
                        uint32_t row)
{
    struct text_builder body = {0};
    bool boolean = form->conversion == 'b' || form->conversion == 'B', valid = value != NULL && vector_is_valid(value, row);
    if (boolean) {
        bool truth = valid && (value->type->kind != TYPE_BOOLEAN || vector_bool(value)[row] != 0);
        text_append_text(&body, truth ? "true" : "false");
    } else if (!valid) {
        text_append_text(&body, "null");
    } else if (value->type->kind == TYPE_BOOLEAN) {
        text_append_text(&body, vector_bool(value)[row] ? "true" : "false");
    } else {
        cell_text_append(value, row, call->evaluation->zone, 0, &body);
    }
    size_t length = form->precision < 0 || body.length == 0 ? body.length : utf8_prefix(body.bytes, body.length, (size_t)form->precision);
    if (form->conversion == 'S' || form->conversion == 'B') {
        upper_ascii(body.bytes, length);
    }
    append_padded(out, form, "", (struct text){length == 0 ? "" : body.bytes, length}, false);
    out->failed |= body.failed;
    text_builder_close(&body);
}

static bool format_one(struct kernel_call *call, struct text_builder *out, const struct form *form, const struct vector *value,
                       uint32_t row)
{
    if (strchr("sSbB", form->conversion) != NULL || (strchr("dxXofeE", form->conversion) != NULL && !vector_is_valid(value, row))) {
        format_text(call, out, form, value, row);
        return true;
    }
    if (strchr("dxXo", form->conversion) != NULL) {
        return format_integer(out, form, value, row);
    }
    return strchr("feE", form->conversion) != NULL && format_floating(out, form, value, row);
}

static bool format_row(struct kernel_call *call, uint32_t row, struct text_builder *out)
{
    struct text text = text_arg(call, 0, row);
    int64_t next = 1;
    for (size_t at = 0; at < text.length;) {
        struct form form;
        if (text.bytes[at] != '%') {
            text_append_char(out, text.bytes[at++]);
            continue;
        }
        size_t used = read_form((struct text){text.bytes + at + 1, text.length - at - 1}, &form);
        if (used == 0 || form.conversion == '\0') {
            return false;
        }
        at += used + 1;
        if (form.conversion == '%' || form.conversion == 'n') {
            append_padded(out, &form, "", form.conversion == '%' ? TEXT("%") : TEXT("\n"), false);
            continue;
        }
        int64_t index = form.argument >= 0 ? form.argument : next++;
        if (index < 1 || index >= call->arg_count || !format_one(call, out, &form, call->args[index], row)) {
            return false;
        }
    }
    return true;
}

static void run_printf(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        struct text_builder *out = text_scratch(call);
        if (out == NULL) {
            return;
        }
        if (!vector_is_valid(call->args[0], row) || !format_row(call, row, out)) {
            kernel_set_null(call, row);
        } else if (!text_put_scratch(call, row, out)) {
            return;
        }
    }
}

static enum status bind_printf(struct function_binding *binding, struct error *err)
{
    TRY(text_bind(binding, "t*", &type_string, run_printf, FUNCTION_NULLABLE, err));
    binding->kernel.traits = 0;
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}

static const struct function functions[] = {
    {"PRINTF", "string", "PRINTF(format, value, ...)",
     "The values in a text by Java's format: %s %d %x %X %o %f %e %b %%; NULL when it does not fit them.",
     "PRINTF('%s is %d', 'x', 5) = 'x is 5'", 1, UINT32_MAX, bind_printf},
};

const struct function_table printf_functions = {functions, ARRAY_LENGTH(functions)};
