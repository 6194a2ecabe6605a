/* The JSON functions' clauses; how they stand in the tree is said in ast.h. */
#include <string.h>

#include "sql/parser_core.h"

static enum status clause(struct parser *parser, const char *name, const char *value, const struct ast_expression *operand,
                          struct list *args)
{
    struct ast_expression *node;
    struct list operands = {0};
    TRY(parser_named_argument(parser, parser_start_position(parser), name, &node));
    node->text = text_from(value);
    if (operand != NULL) {
        TRY(parser_add(parser, &operands, &operand, sizeof operand));
    }
    TRY(parser_expression_args(parser, node, &operands));
    return parser_add(parser, args, &node, sizeof node);
}

static enum status add_expression(struct parser *parser, struct list *args)
{
    const struct ast_expression *item;
    TRY(parser_expression(parser, &item));
    return parser_add(parser, args, &item, sizeof item);
}

static enum status format_json(struct parser *parser)
{
    if (parser_accept_pair(parser, "FORMAT", "JSON") && parser_accept(parser, "ENCODING")) {
        parser_skip(parser, 1); /* UTF8, UTF16, UTF32: a text has one encoding here */
    }
    return STATUS_OK;
}

/* text, path [PASSING value AS name, ...] */
static enum status text_and_path(struct parser *parser, struct list *args)
{
    TRY(add_expression(parser, args));
    TRY(format_json(parser));
    TRY(parser_expect(parser, ","));
    TRY(add_expression(parser, args));
    if (!parser_accept(parser, "PASSING")) {
        return STATUS_OK;
    }
    do {
        const struct ast_expression *value;
        const char *name;
        TRY(parser_expression(parser, &value));
        TRY(format_json(parser));
        TRY(parser_expect(parser, "AS"));
        TRY(parser_identifier(parser, &name, "a variable's name"));
        TRY(clause(parser, "PASSING", name, value, args));
    } while (parser_accept(parser, ","));
    return STATUS_OK;
}

static enum status returning(struct parser *parser, struct list *args)
{
    if (!parser_accept(parser, "RETURNING")) {
        return STATUS_OK;
    }
    struct ast_expression *node;
    TRY(parser_named_argument(parser, parser_start_position(parser), "RETURNING", &node));
    TRY(parser_type(parser, &node->type));
    TRY(format_json(parser));
    TRY(parser_expression_done(parser, node));
    return parser_add(parser, args, &node, sizeof node);
}

/* What may stand before ON EMPTY and ON ERROR; longer ones first. */
static const char *const behaviours[][3] = {
    {"EMPTY ARRAY", "EMPTY", "ARRAY"},
    {"EMPTY OBJECT", "EMPTY", "OBJECT"},
    {"EMPTY", "EMPTY", NULL},
    {"ERROR", "ERROR", NULL},
    {"NULL", "NULL", NULL},
    {"TRUE", "TRUE", NULL},
    {"FALSE", "FALSE", NULL},
    {"UNKNOWN", "UNKNOWN", NULL},
};

static const char *behaviour(struct parser *parser)
{
    for (size_t i = 0; i < ARRAY_LENGTH(behaviours); i++) {
        if (behaviours[i][2] != NULL ? parser_accept_pair(parser, behaviours[i][1], behaviours[i][2])
                                     : parser_accept(parser, behaviours[i][1])) {
            return behaviours[i][0];
        }
    }
    return NULL;
}

/* [behaviour ON EMPTY] [behaviour ON ERROR], in either order */
static enum status on_empty_on_error(struct parser *parser, struct list *args)
{
    while (!parser_at(parser, ")")) {
        const struct ast_expression *operand = NULL;
        const char *value;
        if (parser_accept(parser, "DEFAULT")) {
            value = "DEFAULT";
            TRY(parser_expression(parser, &operand));
        } else {
            value = behaviour(parser);
            if (value == NULL) {
                return parser_unexpected(parser, NULL);
            }
        }
        TRY(parser_expect(parser, "ON"));
        bool empty = parser_accept(parser, "EMPTY");
        if (!empty) {
            TRY(parser_expect(parser, "ERROR"));
        }
        TRY(clause(parser, empty ? "ON_EMPTY" : "ON_ERROR", value, operand, args));
    }
    return STATUS_OK;
}

enum status parser_json_exists(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(text_and_path(parser, args));
    return on_empty_on_error(parser, args);
}

enum status parser_json_value(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(text_and_path(parser, args));
    TRY(returning(parser, args));
    return on_empty_on_error(parser, args);
}

static enum status wrapper(struct parser *parser, struct list *args)
{
    const char *value = NULL;
    if (parser_accept(parser, "WITHOUT")) {
        value = "WITHOUT";
    } else if (parser_accept(parser, "WITH")) {
        bool conditional = parser_accept(parser, "CONDITIONAL");
        value = conditional ? "WITH CONDITIONAL" : "WITH UNCONDITIONAL";
        if (!conditional) {
            parser_accept(parser, "UNCONDITIONAL");
        }
    }
    if (value == NULL) {
        return STATUS_OK;
    }
    parser_accept(parser, "ARRAY");
    TRY(parser_expect(parser, "WRAPPER"));
    return clause(parser, "WRAPPER", value, NULL, args);
}

enum status parser_json_query(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(text_and_path(parser, args));
    TRY(returning(parser, args));
    TRY(wrapper(parser, args));
    return on_empty_on_error(parser, args);
}

static enum status on_null(struct parser *parser, struct list *args)
{
    bool null = parser_accept(parser, "NULL");
    if (!null && !parser_accept(parser, "ABSENT")) {
        return STATUS_OK;
    }
    TRY(parser_expect(parser, "ON"));
    TRY(parser_expect(parser, "NULL"));
    return clause(parser, "ON_NULL", null ? "NULL" : "ABSENT", NULL, args);
}

/* x FORMAT JSON becomes a call of that name */
static enum status json_operand(struct parser *parser, struct list *args)
{
    const struct ast_expression *value;
    TRY(parser_expression(parser, &value));
    if (parser_at_pair(parser, "FORMAT", "JSON")) {
        struct ast_expression *node;
        struct list operands = {0};
        TRY(parser_expression_new(parser, AST_CALL, value->at, &node));
        node->function = "FORMAT JSON";
        TRY(parser_add(parser, &operands, &value, sizeof value));
        TRY(format_json(parser));
        TRY(parser_expression_args(parser, node, &operands));
        value = node;
    }
    return parser_add(parser, args, &value, sizeof value);
}

/* [KEY] name VALUE value, name : value, name, value */
static enum status name_and_value(struct parser *parser, struct list *args)
{
    enum token_kind next = parser_peek(parser, 1)->kind;
    if (parser_sees(parser, 0, "KEY") && next != TOKEN_OPERATOR && !parser_sees(parser, 1, "VALUE")) {
        parser_skip(parser, 1);
    }
    TRY(add_expression(parser, args));
    if (!parser_accept(parser, "VALUE") && !parser_accept(parser, ":")) {
        TRY(parser_expect(parser, ","));
    }
    return json_operand(parser, args);
}

enum status parser_json_object(struct parser *parser, struct ast_expression *node, struct list *args)
{
    if (!parser_at(parser, ")") && !parser_sees(parser, 1, "ON")) {
        do {
            TRY(name_and_value(parser, args));
        } while (strcmp(node->function, "JSON_OBJECT") == 0 && parser_accept(parser, ","));
    }
    return on_null(parser, args);
}

enum status parser_json_array(struct parser *parser, struct ast_expression *node, struct list *args)
{
    bool aggregate = strcmp(node->function, "JSON_ARRAYAGG") == 0;
    if (!aggregate && parser_at_query(parser)) {
        return parser_query(parser, &node->subquery);
    }
    if (!parser_at(parser, ")") && !parser_sees(parser, 1, "ON")) {
        do {
            TRY(json_operand(parser, args));
        } while (!aggregate && parser_accept(parser, ","));
    }
    if (aggregate && parser_accept_pair(parser, "ORDER", "BY")) {
        TRY(parser_order_items(parser, &node->within_group, &node->within_group_count));
    }
    return on_null(parser, args);
}
