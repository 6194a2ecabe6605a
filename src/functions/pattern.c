#define PCRE2_CODE_UNIT_WIDTH 8
#include "functions/pattern.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { MATCH_STEPS = 5000000, HEAP_KIB = 64 * 1024, CACHE_SIZE = 32 };

struct pattern {
    pcre2_code *code;
    uint32_t groups;
};

struct cached {
    char *text;
    size_t length;
    char escape;
    struct pattern *pattern; /* NULL: not valid */
};
struct pattern_scratch {
    pcre2_match_data *match;
    uint32_t match_pairs;
    pcre2_match_context *context;
    struct cached cache[CACHE_SIZE];
    struct text_builder text;
};

/* ---- translation ---- */

static size_t copy_escape(struct text text, size_t at, struct text_builder *out)
{
    size_t length = at + 1 < text.length ? 2 : 1;
    text_append(out, text.bytes + at, length);
    return length;
}

/* A class as Java writes it, at '[': unions by nesting, intersections by &&. It becomes a set of look-aheads before one
 * character: (?=A)(?=B)[all]; nested classes without && are spliced into the outer one where they are not negated, else
 * alternated. Returns the bytes used, 0 when the class does not end. */
static size_t translate_class(struct text text, size_t at, struct text_builder *out, uint32_t depth);

/* One operand of && up to ']' or '&&': plain items in `items`, nested classes in `nested` as "|class". */
static size_t class_operand(struct text text, size_t at, struct text_builder *items, struct text_builder *nested, uint32_t depth)
{
    size_t start = at;
    while (at < text.length) {
        char c = text.bytes[at];
        if ((c == ']' && at > start) || (c == ']' && items->length + nested->length > 0) ||
            (c == '&' && at + 1 < text.length && text.bytes[at + 1] == '&')) {
            return at - start;
        }
        if (c == '[') {
            text_append_char(nested, '|');
            size_t used = depth > 20 ? 0 : translate_class(text, at, nested, depth + 1);
            if (used == 0) {
                return SIZE_MAX;
            }
            at += used;
        } else if (c == '\\') {
            if (at + 1 < text.length && text.bytes[at + 1] == 'Q') {
                at += 2;
                while (at < text.length && !(text.bytes[at] == '\\' && at + 1 < text.length && text.bytes[at + 1] == 'E')) {
                    if ((unsigned char)text.bytes[at] < 0x80) {
                        text_append_char(items, '\\');
                    }
                    text_append_char(items, text.bytes[at++]);
                }
                at = at + 2 < text.length ? at + 2 : text.length;
                continue;
            }
            at += copy_escape(text, at, items);
        } else {
            if (c == ']') {
                text_append_char(items, '\\');
            }
            text_append_char(items, c);
            at++;
        }
    }
    return SIZE_MAX;
}

static void append_operand(struct text_builder *out, const struct text_builder *items, const struct text_builder *nested)
{
    if (nested->length == 0) {
        text_append_format(out, "[%.*s]", (int)items->length, items->length == 0 ? "" : items->bytes);
        return;
    }
    text_append_text(out, "(?:");
    if (items->length > 0) {
        text_append_format(out, "[%.*s]", (int)items->length, items->bytes);
        text_append(out, nested->bytes, nested->length);
    } else {
        text_append(out, nested->bytes + 1, nested->length - 1);
    }
    text_append_char(out, ')');
}

static size_t translate_class(struct text text, size_t at, struct text_builder *out, uint32_t depth)
{
    size_t start = at++;
    bool negated = at < text.length && text.bytes[at] == '^', several = false;
    struct text_builder items = {0}, nested = {0}, whole = {0};
    size_t used = 0;
    at += negated;
    for (;;) {
        text_builder_clear(&items);
        text_builder_clear(&nested);
        used = class_operand(text, at, &items, &nested, depth);
        if (used == SIZE_MAX) {
            break;
        }
        at += used;
        bool more = text.bytes[at] == '&';
        if (!several && !more && nested.length == 0) { /* the common class, as it is */
            text_append_format(&whole, "[%s%.*s]", negated ? "^" : "", (int)items.length, items.length == 0 ? "" : items.bytes);
            negated = false;
        } else if (used > 0) {
            text_append_text(&whole, "(?=");
            append_operand(&whole, &items, &nested);
            text_append_char(&whole, ')');
            several = true;
        }
        if (!more) {
            break;
        }
        at += 2;
    }
    if (used != SIZE_MAX && !several) {
        text_append(out, whole.bytes, whole.length);
    } else if (used != SIZE_MAX) {
        text_append_format(out, negated ? "(?:(?!%s.)(?s:.))" : "(?:%s(?s:.))", whole.bytes);
    }
    text_builder_close(&items);
    text_builder_close(&nested);
    text_builder_close(&whole);
    return used == SIZE_MAX ? 0 : at + 1 - start;
}

static bool translate_java(struct text text, struct text_builder *out)
{
    for (size_t at = 0; at < text.length;) {
        char c = text.bytes[at];
        if (c == '\\' && at + 1 < text.length && text.bytes[at + 1] == 'Q') {
            for (at += 2; at < text.length && !(text.bytes[at] == '\\' && at + 1 < text.length && text.bytes[at + 1] == 'E'); at++) {
                if ((unsigned char)text.bytes[at] < 0x80 && text.bytes[at] != '\0' &&
                    !((text.bytes[at] | 32) >= 'a' && (text.bytes[at] | 32) <= 'z') && !(text.bytes[at] >= '0' && text.bytes[at] <= '9')) {
                    text_append_char(out, '\\');
                }
                text_append_char(out, text.bytes[at]);
            }
            at = at + 2 < text.length ? at + 2 : text.length;
        } else if (c == '\\') {
            at += copy_escape(text, at, out);
        } else if (c == '[') {
            size_t used = translate_class(text, at, out, 0);
            if (used == 0) {
                return false;
            }
            at += used;
        } else {
            text_append_char(out, c);
            at++;
        }
    }
    return true;
}

static void append_literal(struct text_builder *out, char c)
{
    if (c != '\0' && strchr("\\^$.[]|()?*+{}-", c) != NULL) {
        text_append_char(out, '\\');
    }
    text_append_char(out, c);
}

/* % and _ outside of classes; in SIMILAR TO the other signs keep their meaning, except '.', '^' and '$'. */
static bool translate_like(struct text text, char escape, bool similar, struct text_builder *out)
{
    bool in_class = false;
    text_append_text(out, "\\A(?s:");
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (escape != '\0' && c == escape) {
            if (i + 1 >= text.length) {
                return false;
            }
            append_literal(out, text.bytes[++i]);
        } else if (in_class) {
            text_append_char(out, c);
            in_class = !(c == ']' && text.bytes[i - 1] != ':');
        } else if (c == '%') {
            text_append_text(out, ".*");
        } else if (c == '_') {
            text_append_char(out, '.');
        } else if (similar && strchr("[]()|*+?{},", c) != NULL && c != '\0') {
            in_class = c == '[';
            text_append_char(out, c);
        } else {
            append_literal(out, c);
        }
    }
    text_append_text(out, ")\\z");
    return !in_class;
}

/* ---- compiling ---- */

struct pattern *pattern_compile(enum pattern_syntax syntax, struct text text, char escape, char *message, size_t message_bytes)
{
    struct text_builder translated = {0};
    bool fine =
        syntax == PATTERN_JAVA ? translate_java(text, &translated) : translate_like(text, escape, syntax == PATTERN_SIMILAR, &translated);
    struct pattern *pattern = fine && !translated.failed ? calloc(1, sizeof *pattern) : NULL;
    int code;
    PCRE2_SIZE offset;
    if (pattern != NULL) {
        pattern->code = pcre2_compile((PCRE2_SPTR)(translated.length == 0 ? "" : translated.bytes), translated.length,
                                      PCRE2_UTF | PCRE2_NO_UTF_CHECK, &code, &offset, NULL);
        if (pattern->code == NULL) {
            pcre2_get_error_message(code, (PCRE2_UCHAR *)message, message_bytes);
            free(pattern);
            pattern = NULL;
        } else {
            pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* without it matching is slower, not different */
            pcre2_pattern_info(pattern->code, PCRE2_INFO_CAPTURECOUNT, &pattern->groups);
        }
    } else if (message_bytes > 0) {
        snprintf(message, message_bytes,
                 syntax == PATTERN_JAVA ? "a class in brackets does not end" : "the pattern ends in an escape or a class");
    }
    text_builder_close(&translated);
    return pattern;
}

void pattern_destroy(struct pattern *pattern)
{
    if (pattern != NULL) {
        pcre2_code_free(pattern->code);
        free(pattern);
    }
}

uint32_t pattern_group_count(const struct pattern *pattern)
{
    return pattern->groups;
}

static void destroy_owned(void *owned)
{
    pattern_destroy(owned);
}

enum status pattern_bind(struct function_binding *binding, uint32_t index, enum pattern_syntax syntax, char escape,
                         struct pattern_data **data, struct error *err)
{
    struct text text;
    char message[200] = "";
    TRY_ALLOC(*data, arena_alloc(binding->arena, sizeof **data), err);
    (*data)->syntax = syntax;
    (*data)->is_constant = expression_constant_text(binding->args[index], &text);
    binding->kernel.data = *data;
    binding->kernel.free_scratch = pattern_scratch_free;
    if (!(*data)->is_constant) {
        return STATUS_OK;
    }
    (*data)->constant = pattern_compile(syntax, text, escape, message, sizeof message);
    if ((*data)->constant == NULL) {
        return syntax == PATTERN_JAVA
                   ? STATUS_OK
                   : error_set(err, ERROR_INVALID_LITERAL, "the pattern '%.*s' is not valid: %s", (int)text.length, text.bytes, message);
    }
    if (!arena_on_reset(binding->arena, destroy_owned, (*data)->constant)) {
        pattern_destroy((*data)->constant);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a pattern");
    }
    return STATUS_OK;
}

/* ---- scratch ---- */

static struct pattern_scratch *scratch_of(struct kernel_call *call)
{
    if (*call->scratch == NULL) {
        struct pattern_scratch *scratch = calloc(1, sizeof *scratch);
        if (scratch != NULL) {
            scratch->context = pcre2_match_context_create(NULL);
            *call->scratch = scratch;
        }
        if (scratch != NULL && scratch->context != NULL) {
            pcre2_set_match_limit(scratch->context, MATCH_STEPS);
            pcre2_set_heap_limit(scratch->context, HEAP_KIB);
        }
    }
    if (*call->scratch == NULL) {
        (void)error_set(kernel_error(call), ERROR_BUDGET_SPENT, "no room for matching a pattern");
    }
    return *call->scratch;
}

void pattern_scratch_free(void *memory)
{
    struct pattern_scratch *scratch = memory;
    if (scratch == NULL) {
        return;
    }
    for (uint32_t i = 0; i < CACHE_SIZE; i++) {
        free(scratch->cache[i].text);
        pattern_destroy(scratch->cache[i].pattern);
    }
    pcre2_match_data_free(scratch->match);
    pcre2_match_context_free(scratch->context);
    text_builder_close(&scratch->text);
    free(scratch);
}

struct text_builder *pattern_text(struct kernel_call *call)
{
    struct pattern_scratch *scratch = scratch_of(call);
    if (scratch == NULL) {
        return NULL;
    }
    text_builder_clear(&scratch->text);
    return &scratch->text;
}

const struct pattern *pattern_of_row(struct kernel_call *call, uint32_t index, uint32_t row, char escape)
{
    const struct pattern_data *data = call->data;
    if (data->is_constant) {
        return data->constant;
    }
    struct pattern_scratch *scratch = scratch_of(call);
    if (scratch == NULL) {
        return NULL;
    }
    struct text text = vector_get_text(call->args[index], row);
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < text.length; i++) {
        hash = (hash ^ (unsigned char)text.bytes[i]) * 1099511628211u;
    }
    struct cached *entry = &scratch->cache[(hash >> 32) % CACHE_SIZE];
    if (entry->text != NULL && entry->escape == escape && text_equal((struct text){entry->text, entry->length}, text)) {
        return entry->pattern;
    }
    char message[200];
    free(entry->text);
    pattern_destroy(entry->pattern);
    *entry = (struct cached){.text = malloc(text.length + 1), .length = text.length, .escape = escape};
    if (entry->text == NULL) {
        (void)error_set(kernel_error(call), ERROR_BUDGET_SPENT, "no room for a pattern");
        return NULL;
    }
    memcpy(entry->text, text.bytes, text.length);
    entry->pattern = pattern_compile(data->syntax, text, escape, message, sizeof message);
    return entry->pattern;
}

/* ---- matching ---- */

static bool need_match_data(struct pattern_scratch *scratch, uint32_t pairs)
{
    if (scratch->match_pairs < pairs) {
        pcre2_match_data_free(scratch->match);
        scratch->match = pcre2_match_data_create(pairs, NULL);
        scratch->match_pairs = scratch->match == NULL ? 0 : pairs;
    }
    return scratch->match != NULL && scratch->context != NULL;
}

enum pattern_result pattern_find(struct kernel_call *call, uint32_t row, const struct pattern *pattern, struct text text, size_t from,
                                 const size_t **groups)
{
    struct pattern_scratch *scratch = scratch_of(call);
    if (scratch == NULL || !need_match_data(scratch, pattern->groups + 1)) {
        (void)error_set(kernel_error(call), ERROR_BUDGET_SPENT, "no room for matching a pattern");
        return PATTERN_FAILED;
    }
    int found = pcre2_match(pattern->code, (PCRE2_SPTR)(text.length == 0 ? "" : text.bytes), text.length, from, PCRE2_NO_UTF_CHECK,
                            scratch->match, scratch->context);
    if (found == PCRE2_ERROR_NOMATCH) {
        return PATTERN_NO;
    }
    if (found < 0) {
        kernel_fail(call, row, ERROR_PATTERN_TOO_COSTLY, "matching takes too many steps for a text of %zu bytes", text.length);
        return PATTERN_FAILED;
    }
    if (groups != NULL) {
        *groups = pcre2_get_ovector_pointer(scratch->match);
    }
    return PATTERN_YES;
}
