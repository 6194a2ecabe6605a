/* Types as written to their canonical names. */
#include <string.h>

#include "sql/keyword.h"
#include "sql/parser_core.h"

enum type_arguments { NO_ARGUMENTS, LENGTH, PRECISION_SCALE };
struct type_word {
    const char *word, *name;
    enum type_arguments arguments;
};
static const struct type_word type_words[] = {
    {"BIGINT", "BIGINT", NO_ARGUMENTS},   {"BINARY", "BINARY", LENGTH},
    {"BITMAP", "BITMAP", NO_ARGUMENTS},   {"BOOLEAN", "BOOLEAN", NO_ARGUMENTS},
    {"BYTES", "BYTES", NO_ARGUMENTS},     {"CHAR", "CHAR", LENGTH},
    {"CHARACTER", "CHAR", LENGTH},        {"DATE", "DATE", NO_ARGUMENTS},
    {"DEC", "DECIMAL", PRECISION_SCALE},  {"DECIMAL", "DECIMAL", PRECISION_SCALE},
    {"DOUBLE", "DOUBLE", NO_ARGUMENTS},   {"FLOAT", "FLOAT", NO_ARGUMENTS},
    {"INT", "INT", NO_ARGUMENTS},         {"INTEGER", "INT", NO_ARGUMENTS},
    {"NULL", "NULL", NO_ARGUMENTS},       {"NUMERIC", "DECIMAL", PRECISION_SCALE},
    {"REAL", "FLOAT", NO_ARGUMENTS},      {"SMALLINT", "SMALLINT", NO_ARGUMENTS},
    {"STRING", "STRING", NO_ARGUMENTS},   {"TIME", "TIME", LENGTH},
    {"TIMESTAMP", "TIMESTAMP", LENGTH},   {"TIMESTAMP_LTZ", "TIMESTAMP_LTZ", LENGTH},
    {"TINYINT", "TINYINT", NO_ARGUMENTS}, {"VARBINARY", "VARBINARY", LENGTH},
    {"VARCHAR", "VARCHAR", LENGTH},       {"VARIANT", "VARIANT", NO_ARGUMENTS},
};

static enum status type_number(struct parser *parser, int32_t *number)
{
    int64_t value;
    const struct position at = parser_start_position(parser);
    TRY(parser_integer(parser, &value, "a whole number"));
    if (value > INT32_MAX) {
        return parser_error(parser, &at, ERROR_SYNTAX, "the type's length %lld is too large", (long long)value);
    }
    *number = (int32_t)value;
    return STATUS_OK;
}

static enum status type_arguments(struct parser *parser, enum type_arguments kind, struct ast_type *type)
{
    if (kind == NO_ARGUMENTS || !parser_accept(parser, "(")) {
        return STATUS_OK;
    }
    TRY(type_number(parser, &type->precision));
    if (kind == PRECISION_SCALE && parser_accept(parser, ",")) {
        TRY(type_number(parser, &type->scale));
    }
    return parser_expect(parser, ")");
}

static enum status time_zone_suffix(struct parser *parser, struct ast_type *type)
{
    if (parser_accept_pair(parser, "WITHOUT", "TIME")) {
        return parser_expect(parser, "ZONE");
    }
    if (!parser_sees(parser, 0, "WITH") || (!parser_sees(parser, 1, "LOCAL") && !parser_sees(parser, 1, "TIME"))) {
        return STATUS_OK;
    }
    parser_skip(parser, 1);
    bool local = parser_accept(parser, "LOCAL");
    bool timestamp = strcmp(type->name, "TIMESTAMP") == 0;
    type->name = timestamp ? (local ? "TIMESTAMP_LTZ" : "TIMESTAMP_TZ") : (local ? "TIME_LTZ" : "TIME_TZ");
    TRY(parser_expect(parser, "TIME"));
    return parser_expect(parser, "ZONE");
}

static enum status basic_type(struct parser *parser, const struct type_word *word, struct ast_type *type)
{
    type->name = word->name;
    parser_skip(parser, 1);
    if (strcmp(word->name, "CHAR") == 0 && parser_accept(parser, "VARYING")) {
        type->name = "VARCHAR";
    } else if (strcmp(word->name, "BINARY") == 0 && parser_accept(parser, "VARYING")) {
        type->name = "VARBINARY";
    } else if (strcmp(word->name, "DOUBLE") == 0) {
        parser_accept(parser, "PRECISION");
    }
    TRY(type_arguments(parser, word->arguments, type));
    return strcmp(word->name, "TIMESTAMP") == 0 || strcmp(word->name, "TIME") == 0 ? time_zone_suffix(parser, type) : STATUS_OK;
}

static enum status add_child(struct parser *parser, struct list *children, const struct ast_type **child)
{
    TRY(parser_type(parser, child));
    return parser_add(parser, children, child, sizeof *child);
}

static void set_children(struct ast_type *type, const struct list *children)
{
    type->children = children->items;
    type->child_count = children->count;
}

/* After ARRAY, MULTISET or MAP: <t> or <k, v>. */
static enum status element_types(struct parser *parser, uint32_t count, struct ast_type *type)
{
    struct list children = {0};
    const struct ast_type *child;
    TRY(parser_expect(parser, "<"));
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) {
            TRY(parser_expect(parser, ","));
        }
        TRY(add_child(parser, &children, &child));
    }
    set_children(type, &children);
    return parser_expect(parser, ">");
}

/* name type ['comment'], ... up to `close` */
static enum status row_fields(struct parser *parser, const char *close, struct ast_type *type)
{
    struct list children = {0}, names = {0}, comments = {0};
    do {
        const char *name, *comment = NULL;
        const struct ast_type *child;
        TRY(parser_identifier(parser, &name, "a field's name"));
        TRY(add_child(parser, &children, &child));
        parser_accept(parser, "COMMENT");
        if (parser_at_text(parser)) {
            TRY(parser_string(parser, &comment, "a comment in quotes"));
        }
        TRY(parser_add(parser, &names, &name, sizeof name));
        TRY(parser_add(parser, &comments, &comment, sizeof comment));
    } while (parser_accept(parser, ","));
    set_children(type, &children);
    type->field_names = names.items;
    type->field_comments = comments.items;
    return parser_expect(parser, close);
}

static enum status row_type(struct parser *parser, struct ast_type *type)
{
    type->name = "ROW";
    parser_skip(parser, 1);
    if (parser_accept(parser, "<>")) {
        return STATUS_OK;
    }
    const char *close = parser_accept(parser, "(") ? ")" : ">";
    if (close[0] == '>') {
        TRY(parser_expect(parser, "<"));
    }
    return parser_accept(parser, close) ? STATUS_OK : row_fields(parser, close, type);
}

static enum status raw_type(struct parser *parser, struct ast_type *type)
{
    type->name = "RAW";
    parser_skip(parser, 1);
    TRY(parser_expect(parser, "("));
    TRY(parser_string(parser, &type->class_name, "a class name in quotes"));
    TRY(parser_expect(parser, ","));
    TRY(parser_string(parser, &type->serializer, "a serializer snapshot in quotes"));
    return parser_expect(parser, ")");
}

static enum status structured_type(struct parser *parser, struct ast_type *type)
{
    type->name = "STRUCTURED";
    parser_skip(parser, 1);
    TRY(parser_expect(parser, "<"));
    TRY(parser_string(parser, &type->class_name, "a class name in quotes"));
    return parser_accept(parser, ",") ? row_fields(parser, ">", type) : parser_expect(parser, ">");
}

static enum status interval_type(struct parser *parser, struct ast_type *type)
{
    parser_skip(parser, 1);
    TRY(parser_interval_qualifier(parser, &type->unit_from, &type->unit_to, &type->precision, &type->scale));
    bool months = strcmp(type->unit_from, "YEAR") == 0 || strcmp(type->unit_from, "MONTH") == 0 || strcmp(type->unit_from, "QUARTER") == 0;
    if (type->scale < 0 && strcmp(type->unit_from, "SECOND") == 0 && type->unit_to == NULL && type->precision >= 0) {
        type->scale = -1; /* SECOND(p): p is the leading precision */
    }
    type->name = months ? "INTERVAL_MONTH" : "INTERVAL_DAY";
    return STATUS_OK;
}

static enum status user_type(struct parser *parser, struct ast_type *type)
{
    TRY(parser_name(parser, &type->user_name, "a type"));
    struct text_builder name = {0};
    for (uint32_t i = 0; i < type->user_name.count; i++) {
        text_append_format(&name, "%s%s", i == 0 ? "" : ".", type->user_name.parts[i]);
    }
    type->name = name.failed ? NULL : arena_text(parser->arena, name.bytes, name.length);
    text_builder_close(&name);
    return type->name == NULL ? parser_no_room(parser) : STATUS_OK;
}

static enum status type_name(struct parser *parser, struct ast_type *type)
{
    const struct token *token = parser_peek(parser, 0);
    for (size_t i = 0; token->kind == TOKEN_WORD && i < ARRAY_LENGTH(type_words); i++) {
        if (strcmp(token->word, type_words[i].word) == 0) {
            return basic_type(parser, &type_words[i], type);
        }
    }
    if (parser_sees(parser, 0, "ARRAY") || parser_sees(parser, 0, "MULTISET")) {
        type->name = parser_sees(parser, 0, "ARRAY") ? "ARRAY" : "MULTISET";
        parser_skip(parser, 1);
        return element_types(parser, 1, type);
    }
    if (parser_sees(parser, 0, "MAP") && parser_sees(parser, 1, "<")) {
        type->name = "MAP";
        parser_skip(parser, 1);
        return element_types(parser, 2, type);
    }
    return parser_sees(parser, 0, "ROW")          ? row_type(parser, type)
           : parser_sees(parser, 0, "RAW")        ? raw_type(parser, type)
           : parser_sees(parser, 0, "STRUCTURED") ? structured_type(parser, type)
           : parser_sees(parser, 0, "INTERVAL")   ? interval_type(parser, type)
                                                  : user_type(parser, type);
}

static enum status nullability(struct parser *parser, struct ast_type *type)
{
    if (parser_sees(parser, 0, "NULL") && !parser_sees(parser, 1, "ON")) { /* RETURNING type NULL ON EMPTY is no NULL of the type */
        parser_skip(parser, 1);
        type->nullable = true;
    } else if (parser_accept_pair(parser, "NOT", "NULL")) {
        type->nullable = false;
    }
    parser_end_position(parser, &type->at);
    return STATUS_OK;
}

static enum status type_new(struct parser *parser, struct position at, struct ast_type **type)
{
    TRY(parser_allocate(parser, sizeof **type, type));
    **type = (struct ast_type){.at = at, .precision = -1, .scale = -1, .nullable = true};
    return STATUS_OK;
}

/* t ARRAY, t MULTISET, any number of times: each one level deeper */
static enum status postfix_collections(struct parser *parser, struct ast_type **type, uint32_t *levels)
{
    while (parser_at(parser, "ARRAY") || parser_at(parser, "MULTISET")) {
        struct ast_type *outer;
        struct list children = {0};
        const struct ast_type *inner = *type;
        TRY(parser_enter(parser));
        ++*levels;
        TRY(type_new(parser, inner->at, &outer));
        outer->name = parser_sees(parser, 0, "ARRAY") ? "ARRAY" : "MULTISET";
        parser_skip(parser, 1);
        TRY(parser_add(parser, &children, &inner, sizeof inner));
        set_children(outer, &children);
        TRY(nullability(parser, outer));
        *type = outer;
    }
    return STATUS_OK;
}

enum status parser_type(struct parser *parser, const struct ast_type **type)
{
    struct ast_type *node;
    uint32_t levels = 0;
    TRY(parser_enter(parser));
    TRY(type_new(parser, parser_start_position(parser), &node));
    TRY(type_name(parser, node));
    TRY(nullability(parser, node));
    TRY(postfix_collections(parser, &node, &levels));
    parser->depth -= levels + 1;
    *type = node;
    return STATUS_OK;
}
