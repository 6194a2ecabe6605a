/* Names, literals and types. */
#include <string.h>

#include "sql/unparse_internal.h"

static void append_quoted(const char *bytes, size_t length, char quote, struct text_builder *out)
{
    text_append_char(out, quote);
    for (size_t i = 0; i < length; i++) {
        text_append_char(out, bytes[i]);
        if (bytes[i] == quote) {
            text_append_char(out, quote);
        }
    }
    text_append_char(out, quote);
}

void unparse_identifier(const char *name, struct text_builder *out)
{
    append_quoted(name, strlen(name), '`', out);
}

void unparse_name(const struct ast_name *name, struct text_builder *out)
{
    for (uint32_t i = 0; i < name->count; i++) {
        text_append_text(out, i == 0 ? "" : ".");
        unparse_identifier(name->parts[i], out);
    }
}

/* A NUL byte can stand in no plain literal. */
static void append_unicode(struct text text, struct text_builder *out)
{
    text_append_text(out, "U&'");
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (c == '\0') {
            text_append_text(out, "\\0000");
            continue;
        }
        text_append_char(out, c);
        if (c == '\'' || c == '\\') {
            text_append_char(out, c);
        }
    }
    text_append_char(out, '\'');
}

void unparse_literal(struct text text, struct text_builder *out)
{
    if (text.length > 0 && memchr(text.bytes, '\0', text.length) != NULL) {
        append_unicode(text, out);
    } else {
        append_quoted(text.bytes, text.length, '\'', out);
    }
}

void unparse_identifiers(const char *const *names, uint32_t count, struct text_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_text(out, i == 0 ? "(" : ", ");
        unparse_identifier(names[i], out);
    }
    text_append_char(out, ')');
}

/* ---- types ---- */

/* DAY(2) TO SECOND(3), SECOND(2, 3) */
void unparse_units(const char *from, const char *to, int32_t precision, int32_t scale, struct text_builder *out)
{
    text_append_text(out, from);
    if (precision >= 0 && to == NULL && scale >= 0) {
        text_append_format(out, "(%d, %d)", precision, scale);
    } else if (precision >= 0) {
        text_append_format(out, "(%d)", precision);
    }
    if (to != NULL) {
        text_append_format(out, " TO %s", to);
        if (scale >= 0) {
            text_append_format(out, "(%d)", scale);
        }
    }
}

static void append_fields(const struct ast_type *type, struct text_builder *out)
{
    for (uint32_t i = 0; i < type->child_count; i++) {
        text_append_text(out, i == 0 ? "" : ", ");
        if (type->field_names != NULL) {
            unparse_identifier(type->field_names[i], out);
            text_append_char(out, ' ');
        }
        unparse_type(type->children[i], out);
        if (type->field_comments != NULL && type->field_comments[i] != NULL) {
            text_append_char(out, ' ');
            unparse_literal(text_from(type->field_comments[i]), out);
        }
    }
}

static void append_class(const struct ast_type *type, struct text_builder *out)
{
    bool raw = strcmp(type->name, "RAW") == 0;
    text_append_format(out, "%s%s", type->name, raw ? "(" : "<");
    unparse_literal(text_from(type->class_name), out);
    if (raw) {
        text_append_text(out, ", ");
        unparse_literal(text_from(type->serializer), out);
    } else if (type->child_count > 0) {
        text_append_text(out, ", ");
        append_fields(type, out);
    }
    text_append_text(out, raw ? ")" : ">");
}

static void append_arguments(const struct ast_type *type, struct text_builder *out)
{
    if (type->precision >= 0 && type->scale >= 0) {
        text_append_format(out, "(%d, %d)", type->precision, type->scale);
    } else if (type->precision >= 0) {
        text_append_format(out, "(%d)", type->precision);
    }
}

static void append_basic(const struct ast_type *type, struct text_builder *out)
{
    static const struct {
        const char *name, *word, *zone;
    } zoned[] = {{"TIMESTAMP_TZ", "TIMESTAMP", " WITH TIME ZONE"},
                 {"TIME_TZ", "TIME", " WITH TIME ZONE"},
                 {"TIME_LTZ", "TIME", " WITH LOCAL TIME ZONE"}};
    const char *word = type->name, *zone = "";
    for (size_t i = 0; i < ARRAY_LENGTH(zoned); i++) {
        if (strcmp(type->name, zoned[i].name) == 0) {
            word = zoned[i].word;
            zone = zoned[i].zone;
        }
    }
    text_append_text(out, word);
    append_arguments(type, out);
    text_append_text(out, zone);
}

void unparse_type(const struct ast_type *type, struct text_builder *out)
{
    if (type->user_name.count > 0) {
        unparse_name(&type->user_name, out);
    } else if (type->class_name != NULL) {
        append_class(type, out);
    } else if (type->unit_from != NULL) {
        text_append_text(out, "INTERVAL ");
        unparse_units(type->unit_from, type->unit_to, type->precision, type->scale, out);
    } else if (type->child_count > 0 || strcmp(type->name, "ROW") == 0) {
        text_append_format(out, "%s<", type->name);
        append_fields(type, out);
        text_append_char(out, '>');
    } else {
        append_basic(type, out);
    }
    text_append_text(out, type->nullable ? "" : " NOT NULL");
}

/* ---- as texts ---- */

static enum status take_text(struct arena *arena, struct text_builder *out, struct text *text, struct error *err)
{
    char *copy = out->failed ? NULL : arena_text(arena, out->bytes, out->length);
    *text = (struct text){copy, out->length};
    text_builder_close(out);
    return copy == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for the text of an expression or a query") : STATUS_OK;
}

enum status unparse_expression_text(struct arena *arena, const struct ast_expression *expression, struct text *text, struct error *err)
{
    struct text_builder out = {0};
    unparse_expression(expression, &out);
    return take_text(arena, &out, text, err);
}

enum status unparse_query_text(struct arena *arena, const struct ast_query *query, struct text *text, struct error *err)
{
    struct text_builder out = {0};
    unparse_query(query, &out);
    return take_text(arena, &out, text, err);
}
