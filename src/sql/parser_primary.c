/* What operators apply to: literals, names, parentheses, constructors, CASE, CAST, subqueries, calls. */
#include <ctype.h>
#include <string.h>

#include "sql/keyword.h"
#include "sql/parser_core.h"

static enum status simple(struct parser *parser, enum ast_expression_kind kind, struct ast_expression **node)
{
    TRY(parser_expression_new(parser, kind, parser_start_position(parser), node));
    parser_skip(parser, 1);
    return parser_expression_done(parser, *node);
}

static enum status number(struct parser *parser, const struct ast_expression **expression)
{
    struct ast_expression *node;
    struct text digits = parser_peek(parser, 0)->text;
    TRY(simple(parser, AST_NUMBER, &node));
    node->text = (struct text){text_to_arena(parser->arena, digits), digits.length};
    *expression = node;
    return node->text.bytes == NULL ? parser_no_room(parser) : STATUS_OK;
}

static enum status text(struct parser *parser, enum ast_expression_kind kind, struct position at, const struct ast_expression **expression)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, kind, at, &node));
    TRY(kind == AST_BINARY ? parser_binary_literal(parser, &node->text) : parser_text_literal(parser, &node->text));
    *expression = node;
    return parser_expression_done(parser, node);
}

/* DATE '..', TIME '..', TIMESTAMP '..', INTERVAL ..; false when the word is not followed by a literal */
static bool at_typed_literal(struct parser *parser, enum ast_expression_kind *kind)
{
    static const struct {
        const char *word;
        enum ast_expression_kind kind;
    } typed[] = {{"DATE", AST_DATE}, {"TIME", AST_TIME}, {"TIMESTAMP", AST_TIMESTAMP}, {"DATETIME", AST_TIMESTAMP}};
    enum token_kind next = parser_peek(parser, 1)->kind;
    for (size_t i = 0; i < ARRAY_LENGTH(typed); i++) {
        if (parser_sees(parser, 0, typed[i].word) && (next == TOKEN_STRING || next == TOKEN_UNICODE || next == TOKEN_ESCAPED)) {
            *kind = typed[i].kind;
            return true;
        }
    }
    return false;
}

/* condition THEN value; CASE x WHEN a, b THEN v stands for two branches */
static enum status case_branch(struct parser *parser, bool simple_case, struct list *args)
{
    struct list conditions = {0};
    const struct ast_expression *condition, *value;
    do {
        TRY(parser_expression(parser, &condition));
        TRY(parser_add(parser, &conditions, &condition, sizeof condition));
    } while (simple_case && parser_accept(parser, ","));
    TRY(parser_expect(parser, "THEN"));
    TRY(parser_expression(parser, &value));
    for (uint32_t i = 0; i < conditions.count; i++) {
        TRY(parser_add(parser, args, &((const struct ast_expression *const *)conditions.items)[i], sizeof condition));
        TRY(parser_add(parser, args, &value, sizeof value));
    }
    return STATUS_OK;
}

static enum status case_expression(struct parser *parser, const struct ast_expression **expression)
{
    struct ast_expression *node;
    struct list args = {0};
    TRY(parser_expression_new(parser, AST_CASE, parser_start_position(parser), &node));
    parser_skip(parser, 1);
    if (!parser_at(parser, "WHEN")) {
        TRY(parser_expression(parser, &node->operand));
    }
    while (parser_accept(parser, "WHEN")) {
        TRY(case_branch(parser, node->operand != NULL, &args));
    }
    if (args.count == 0) {
        return parser_unexpected(parser, "WHEN");
    }
    if (parser_accept(parser, "ELSE")) {
        TRY(parser_expression(parser, &node->else_value));
    }
    TRY(parser_expect(parser, "END"));
    *expression = node;
    return parser_expression_args(parser, node, &args);
}

/* At '('. A query is a scalar subquery; a list is a row. */
/* (a - b) unit [TO unit]: the interval between two times. */
static enum status time_difference(struct parser *parser, const struct ast_expression *minus, const struct ast_expression **expression)
{
    struct ast_expression *node;
    const char *to;
    int32_t precision, scale;
    TRY(parser_allocate(parser, sizeof *node, &node));
    *node = *minus;
    node->kind = AST_CALL;
    node->op = NULL;
    node->function = "DATETIME_MINUS";
    TRY(parser_interval_qualifier(parser, &node->unit_from, &to, &precision, &scale));
    parser_end_position(parser, &node->at);
    *expression = node;
    return STATUS_OK;
}

static bool is_time_difference(struct parser *parser, const struct ast_expression *item)
{
    static const char *const units[] = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"};
    if (item->kind != AST_OPERATOR || item->arg_count != 2 || strcmp(item->op, "-") != 0) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
        if (parser_sees(parser, 0, units[i])) {
            return true;
        }
    }
    return false;
}

static enum status parentheses(struct parser *parser, const struct ast_expression **expression)
{
    struct ast_expression *node;
    struct list items = {0};
    const struct ast_expression *item = NULL;
    struct position at = parser_start_position(parser);
    parser_skip(parser, 1);
    if (parser_at_query(parser)) {
        TRY(parser_expression_new(parser, AST_SUBQUERY, at, &node));
        TRY(parser_query(parser, &node->subquery));
        TRY(parser_expect(parser, ")"));
        *expression = node;
        return parser_expression_done(parser, node);
    }
    do {
        TRY(parser_expression(parser, &item));
        if (items.count == 0 && item->kind == AST_SUBQUERY && parser_at_query_rest(parser)) {
            TRY(parser_expression_new(parser, AST_SUBQUERY, at, &node));
            TRY(parser_query_rest(parser, item->subquery, &node->subquery));
            TRY(parser_expect(parser, ")"));
            *expression = node;
            return parser_expression_done(parser, node);
        }
        TRY(parser_add(parser, &items, &item, sizeof item));
    } while (parser_accept(parser, ","));
    TRY(parser_expect(parser, ")"));
    if (items.count == 1 && is_time_difference(parser, item)) {
        return time_difference(parser, item, expression);
    }
    if (items.count == 1 && item->kind != AST_COLUMN) {
        *expression = item;
        return STATUS_OK;
    }
    if (items.count == 1) { /* (t).a is not t.a: the name inside is complete */
        TRY(parser_allocate(parser, sizeof *node, &node));
        *node = *item;
        node->at = at;
        parser_end_position(parser, &node->at);
        *expression = node;
        return STATUS_OK;
    }
    TRY(parser_expression_new(parser, AST_ROW, at, &node));
    *expression = node;
    return parser_expression_args(parser, node, &items);
}

static enum status expressions_until(struct parser *parser, const char *close, struct list *items)
{
    while (!parser_at(parser, close) || items->count > 0) {
        const struct ast_expression *item;
        TRY(parser_expression(parser, &item));
        TRY(parser_add(parser, items, &item, sizeof item));
        if (!parser_accept(parser, ",")) {
            break;
        }
    }
    return parser_expect(parser, close);
}

/* ARRAY[..], MAP[..], MULTISET[..], ROW(..), PERIOD(..): at the word */
static enum status constructor(struct parser *parser, enum ast_expression_kind kind, const char *close,
                               const struct ast_expression **expression)
{
    struct ast_expression *node;
    struct list items = {0};
    TRY(parser_expression_new(parser, kind, parser_start_position(parser), &node));
    parser_skip(parser, 2);
    TRY(expressions_until(parser, close, &items));
    if (kind == AST_MAP && items.count % 2 != 0) {
        return parser_error(parser, &node->at, ERROR_SYNTAX, "MAP[...] needs a value for each key: an even number of items");
    }
    *expression = node;
    return parser_expression_args(parser, node, &items);
}

/* ARRAY(query) and its like: a call with a subquery */
static enum status collection_query(struct parser *parser, const struct ast_expression **expression)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, AST_CALL, parser_start_position(parser), &node));
    node->function = parser_peek(parser, 0)->word;
    parser_skip(parser, 2);
    TRY(parser_query(parser, &node->subquery));
    TRY(parser_expect(parser, ")"));
    *expression = node;
    return parser_expression_done(parser, node);
}

static const struct {
    const char *word, *open, *close;
    enum ast_expression_kind kind;
} constructors[] = {
    {"ARRAY", "[", "]", AST_ARRAY}, {"MAP", "[", "]", AST_MAP},       {"MULTISET", "[", "]", AST_MULTISET},
    {"ROW", "(", ")", AST_ROW},     {"PERIOD", "(", ")", AST_PERIOD},
};

static enum status exists(struct parser *parser, const struct ast_expression **expression)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, AST_EXISTS, parser_start_position(parser), &node));
    parser_skip(parser, 1);
    TRY(parser_expect(parser, "("));
    TRY(parser_query(parser, &node->subquery));
    TRY(parser_expect(parser, ")"));
    *expression = node;
    return parser_expression_done(parser, node);
}

/* NEXT VALUE FOR name */
static enum status next_value(struct parser *parser, const struct ast_expression **expression)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, AST_NEXT_VALUE, parser_start_position(parser), &node));
    node->negated = parser_sees(parser, 0, "CURRENT");
    parser_skip(parser, 2);
    TRY(parser_expect(parser, "FOR"));
    TRY(parser_name(parser, &node->name, "a sequence's name"));
    *expression = node;
    return parser_expression_done(parser, node);
}

/* CURRENT_DATE, LOCALTIME, ...: functions without parentheses */
static bool at_niladic(struct parser *parser)
{
    static const char *const words[] = {"CURRENT_CATALOG",
                                        "CURRENT_DATE",
                                        "CURRENT_DEFAULT_TRANSFORM_GROUP",
                                        "CURRENT_PATH",
                                        "CURRENT_ROLE",
                                        "CURRENT_SCHEMA",
                                        "CURRENT_TIME",
                                        "CURRENT_TIMESTAMP",
                                        "CURRENT_USER",
                                        "LOCALTIME",
                                        "LOCALTIMESTAMP",
                                        "SESSION_USER",
                                        "SYSTEM_USER",
                                        "USER"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (parser_sees(parser, 0, words[i])) {
            return !parser_sees(parser, 1, "(");
        }
    }
    return false;
}

static enum status niladic(struct parser *parser, const struct ast_expression **expression)
{
    struct ast_expression *node;
    const char *function = parser_peek(parser, 0)->word;
    TRY(simple(parser, AST_CALL, &node));
    node->function = function;
    *expression = node;
    return STATUS_OK;
}

/* a.b.c, a.*, f(..), cat.db.f(..) */
static enum status name_or_call(struct parser *parser, const struct ast_expression **expression)
{
    struct ast_expression *node;
    struct list parts = {0}, positions = {0};
    struct ast_name name = {.at = parser_start_position(parser)};
    bool star = false, reserved = parser_peek(parser, 0)->reserved && parser_peek(parser, 0)->kind == TOKEN_WORD;
    do {
        const char *part;
        struct position at = parser_start_position(parser);
        if (parts.count > 0 && parser_accept(parser, "*")) {
            star = true;
            break;
        }
        if (parser_peek(parser, 0)->kind == TOKEN_WORD && (parts.count > 0 || reserved)) {
            part = text_to_arena(parser->arena, parser_peek(parser, 0)->text);
            parser_skip(parser, 1);
            if (part == NULL) {
                return parser_no_room(parser);
            }
        } else {
            TRY(parser_identifier(parser, &part, "a name"));
        }
        TRY(parser_add(parser, &parts, &part, sizeof part));
        TRY(parser_add(parser, &positions, &at, sizeof at));
    } while (parser_sees(parser, 0, ".") && (parser_skip(parser, 1), true));
    name.parts = parts.items;
    name.part_positions = positions.items;
    name.count = parts.count;
    parser_end_position(parser, &name.at);
    if (!star && parser_sees(parser, 0, "(")) {
        return parser_call(parser, name.at, &name, expression);
    }
    TRY(parser_expression_new(parser, star ? AST_STAR : AST_COLUMN, name.at, &node));
    node->name = name;
    *expression = node;
    return parser_expression_done(parser, node);
}

static enum status constant_word(struct parser *parser, const struct ast_expression **expression, bool *found)
{
    static const struct {
        const char *word;
        enum ast_expression_kind kind;
        bool boolean;
    } words[] = {{"NULL", AST_NULL, false},     {"UNKNOWN", AST_NULL, false},    {"TRUE", AST_BOOLEAN, true},
                 {"FALSE", AST_BOOLEAN, false}, {"DEFAULT", AST_DEFAULT, false}, {"?", AST_PARAMETER, false}};
    struct ast_expression *node;
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (parser_sees(parser, 0, words[i].word)) {
            TRY(simple(parser, words[i].kind, &node));
            node->boolean = words[i].boolean;
            *expression = node;
            *found = true;
            return STATUS_OK;
        }
    }
    *found = false;
    return STATUS_OK;
}

static enum status word(struct parser *parser, const struct ast_expression **expression)
{
    enum ast_expression_kind kind;
    bool found;
    const struct position at = parser_start_position(parser);
    if (at_typed_literal(parser, &kind)) {
        parser_skip(parser, 1);
        return text(parser, kind, at, expression);
    }
    if (parser_sees(parser, 0, "INTERVAL")) {
        struct ast_expression *node;
        parser_skip(parser, 1);
        TRY(parser_interval(parser, &node));
        *expression = node;
        return STATUS_OK;
    }
    TRY(constant_word(parser, expression, &found));
    if (found) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(constructors); i++) {
        if (parser_sees(parser, 0, constructors[i].word) && parser_sees(parser, 1, constructors[i].open)) {
            return constructor(parser, constructors[i].kind, constructors[i].close, expression);
        }
    }
    if (parser_sees(parser, 1, "(") &&
        (parser_sees(parser, 0, "ARRAY") || parser_sees(parser, 0, "MULTISET") || parser_sees(parser, 0, "MAP")) &&
        (parser_sees(parser, 2, "SELECT") || parser_sees(parser, 2, "VALUES") || parser_sees(parser, 2, "WITH"))) {
        return collection_query(parser, expression);
    }
    if (parser_sees(parser, 0, "CASE")) {
        return case_expression(parser, expression);
    }
    if (parser_sees(parser, 0, "EXISTS")) {
        return exists(parser, expression);
    }
    if ((parser_sees(parser, 0, "NEXT") || parser_sees(parser, 0, "CURRENT")) && parser_sees(parser, 1, "VALUE")) {
        return next_value(parser, expression);
    }
    if (at_niladic(parser)) {
        return niladic(parser, expression);
    }
    if (parser_is_special_call(parser)) {
        return parser_special_call(parser, expression);
    }
    const struct token *token = parser_peek(parser, 0);
    if (token->reserved && !(parser_sees(parser, 1, "(") && keyword_is_callable(token->word))) {
        return parser_unexpected(parser, "an expression");
    }
    return name_or_call(parser, expression);
}

enum status parser_primary(struct parser *parser, const struct ast_expression **expression)
{
    const struct token *token = parser_peek(parser, 0);
    switch (token->kind) {
    case TOKEN_NUMBER:
        return number(parser, expression);
    case TOKEN_STRING:
    case TOKEN_UNICODE:
    case TOKEN_ESCAPED:
        return text(parser, AST_STRING, token->at, expression);
    case TOKEN_BINARY:
        return text(parser, AST_BINARY, token->at, expression);
    case TOKEN_WORD:
        return word(parser, expression);
    case TOKEN_QUOTED:
        return name_or_call(parser, expression);
    default:
        break;
    }
    if (parser_sees(parser, 0, "(")) {
        return parentheses(parser, expression);
    }
    if (parser_sees(parser, 0, "?")) {
        bool found;
        return constant_word(parser, expression, &found);
    }
    return parser_unexpected(parser, "an expression");
}
