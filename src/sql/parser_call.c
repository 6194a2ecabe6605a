/* Function calls: arguments of every kind, the clauses after them, and the functions with a syntax of their own. */
#include <string.h>

#include "sql/parser_core.h"

/* ---- arguments ---- */

/* key: one expression, or several in parentheses */
static enum status table_partition(struct parser *parser, struct ast_expression *node)
{
    struct list keys = {0};
    bool several = parser_accept(parser, "(");
    do {
        const struct ast_expression *key;
        TRY(parser_expression(parser, &key));
        TRY(parser_add(parser, &keys, &key, sizeof key));
    } while (several && parser_accept(parser, ","));
    node->partition = keys.items;
    node->partition_count = keys.count;
    return several ? parser_expect(parser, ")") : STATUS_OK;
}

static enum status order_item(struct parser *parser, struct list *items)
{
    struct ast_order_item item = {0};
    TRY(parser_expression(parser, &item.expression));
    item.descending = parser_accept(parser, "DESC");
    if (!item.descending) {
        parser_accept(parser, "ASC");
    }
    if (parser_accept(parser, "NULLS")) {
        item.nulls_given = true;
        item.nulls_first = parser_accept(parser, "FIRST");
        if (!item.nulls_first) {
            TRY(parser_expect(parser, "LAST"));
        }
    }
    return parser_add(parser, items, &item, sizeof item);
}

static enum status table_order(struct parser *parser, struct ast_expression *node)
{
    struct list items = {0};
    bool several = parser_accept(parser, "(");
    do {
        TRY(order_item(parser, &items));
    } while (several && parser_accept(parser, ","));
    node->order = items.items;
    node->order_count = items.count;
    return several ? parser_expect(parser, ")") : STATUS_OK;
}

/* TABLE name or TABLE (query) or (query), already seen to be one */
static enum status table_argument(struct parser *parser, const struct ast_expression **argument)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, AST_TABLE_ARG, parser_start_position(parser), &node));
    parser_accept(parser, "TABLE");
    if (parser_accept(parser, "(")) {
        TRY(parser_query(parser, &node->subquery));
        TRY(parser_expect(parser, ")"));
    } else {
        TRY(parser_name(parser, &node->name, "a table's name"));
    }
    if (parser_accept_pair(parser, "PARTITION", "BY")) {
        TRY(table_partition(parser, node));
    }
    if (parser_accept_pair(parser, "ORDER", "BY")) {
        TRY(table_order(parser, node));
    }
    *argument = node;
    return parser_expression_done(parser, node);
}

static enum status descriptor(struct parser *parser, const struct ast_expression **argument)
{
    struct ast_expression *node;
    struct list columns = {0};
    TRY(parser_expression_new(parser, AST_DESCRIPTOR, parser_start_position(parser), &node));
    parser_skip(parser, 2);
    while (!parser_at(parser, ")") || columns.count > 0) {
        struct ast_expression *column;
        TRY(parser_expression_new(parser, AST_COLUMN, parser_start_position(parser), &column));
        TRY(parser_name(parser, &column->name, "a column's name"));
        if (parser_at_identifier(parser) || parser_peek(parser, 0)->kind == TOKEN_WORD) { /* DESCRIPTOR(name TYPE) */
            TRY(parser_type(parser, &column->type));
        }
        TRY(parser_expression_done(parser, column));
        TRY(parser_add(parser, &columns, &column, sizeof column));
        if (!parser_accept(parser, ",")) {
            break;
        }
    }
    TRY(parser_expect(parser, ")"));
    *argument = node;
    return parser_expression_args(parser, node, &columns);
}

static enum status star(struct parser *parser, const struct ast_expression **argument)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, AST_STAR, parser_start_position(parser), &node));
    parser_skip(parser, 1);
    *argument = node;
    return parser_expression_done(parser, node);
}

static enum status model_argument(struct parser *parser, const struct ast_expression **argument)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, AST_MODEL_ARG, parser_start_position(parser), &node));
    parser_skip(parser, 1);
    TRY(parser_name(parser, &node->name, "a model's name"));
    *argument = node;
    return parser_expression_done(parser, node);
}

static enum status plain_argument(struct parser *parser, const struct ast_expression **argument)
{
    if (parser_sees(parser, 0, "TABLE")) {
        return table_argument(parser, argument);
    }
    if (parser_sees(parser, 0, "DESCRIPTOR") && parser_sees(parser, 1, "(")) {
        return descriptor(parser, argument);
    }
    enum token_kind next = parser_peek(parser, 1)->kind;
    if (parser_sees(parser, 0, "MODEL") && (next == TOKEN_WORD || next == TOKEN_QUOTED)) {
        return model_argument(parser, argument);
    }
    if (parser_sees(parser, 0, "*")) {
        return star(parser, argument);
    }
    if (parser_at_query(parser)) { /* f(SELECT ...) */
        struct ast_expression *node;
        TRY(parser_expression_new(parser, AST_SUBQUERY, parser_start_position(parser), &node));
        TRY(parser_query(parser, &node->subquery));
        *argument = node;
        return parser_expression_done(parser, node);
    }
    TRY(parser_expression(parser, argument));
    if ((*argument)->kind == AST_SUBQUERY && (parser_sees(parser, 0, "PARTITION") || parser_sees(parser, 0, "ORDER"))) {
        struct ast_expression *node;
        TRY(parser_expression_new(parser, AST_TABLE_ARG, (*argument)->at, &node));
        node->subquery = (*argument)->subquery;
        if (parser_accept_pair(parser, "PARTITION", "BY")) {
            TRY(table_partition(parser, node));
        }
        if (parser_accept_pair(parser, "ORDER", "BY")) {
            TRY(table_order(parser, node));
        }
        *argument = node;
        return parser_expression_done(parser, node);
    }
    return STATUS_OK;
}

enum status parser_named_argument(struct parser *parser, struct position at, const char *name, struct ast_expression **node)
{
    const char **parts;
    struct position *positions;
    TRY(parser_expression_new(parser, AST_NAMED_ARG, at, node));
    TRY(parser_allocate(parser, sizeof *parts, &parts));
    TRY(parser_allocate(parser, sizeof *positions, &positions));
    *parts = name;
    *positions = at;
    (*node)->name = (struct ast_name){.at = at, .count = 1, .parts = parts, .part_positions = positions};
    return STATUS_OK;
}

static enum status argument(struct parser *parser, const struct ast_expression **result)
{
    struct ast_expression *node;
    struct list args = {0};
    const struct token *token = parser_peek(parser, 0);
    const char *name;
    const struct position at = token->at;
    if ((token->kind != TOKEN_WORD && token->kind != TOKEN_QUOTED) || !parser_sees(parser, 1, "=>")) {
        return plain_argument(parser, result);
    }
    if (parser_at_identifier(parser)) {
        TRY(parser_identifier(parser, &name, "an argument's name"));
    } else {
        name = text_to_arena(parser->arena, parser_peek(parser, 0)->text);
        parser_skip(parser, 1);
        if (name == NULL) {
            return parser_no_room(parser);
        }
    }
    parser_skip(parser, 1);
    TRY(parser_named_argument(parser, at, name, &node));
    TRY(plain_argument(parser, result));
    TRY(parser_add(parser, &args, result, sizeof *result));
    *result = node;
    return parser_expression_args(parser, node, &args);
}

static enum status arguments(struct parser *parser, struct ast_expression *node, struct list *args)
{
    while (!parser_at(parser, ")") || args->count > 0) {
        const struct ast_expression *one;
        TRY(argument(parser, &one));
        if (one->kind == AST_STAR && one->name.count == 0) {
            node->star_argument = true;
            return STATUS_OK;
        }
        TRY(parser_add(parser, args, &one, sizeof one));
        if (!parser_accept(parser, ",")) {
            break;
        }
    }
    return STATUS_OK;
}

/* ---- clauses ---- */

static bool null_treatment(struct parser *parser, struct ast_expression *node)
{
    bool ignore = parser_accept_pair(parser, "IGNORE", "NULLS");
    bool respect = !ignore && parser_accept_pair(parser, "RESPECT", "NULLS");
    node->ignore_nulls |= ignore;
    node->respect_nulls |= respect;
    return ignore || respect;
}

static enum status over(struct parser *parser, struct ast_expression *node)
{
    struct ast_window *window;
    if (parser_sees(parser, 0, "(")) {
        return parser_window(parser, &node->over);
    }
    TRY(parser_allocate(parser, sizeof *window, &window));
    window->at = parser_start_position(parser);
    TRY(parser_identifier(parser, &window->name, "a window's name or '('"));
    parser_end_position(parser, &window->at);
    node->over = window;
    return STATUS_OK;
}

/* What may follow the ')' of a call: WITHIN GROUP, IGNORE NULLS, FILTER, OVER */
static enum status call_suffix(struct parser *parser, struct ast_expression *node)
{
    null_treatment(parser, node);
    if (parser_accept_pair(parser, "WITHIN", "GROUP")) {
        TRY(parser_expect(parser, "("));
        TRY(parser_expect(parser, "ORDER"));
        TRY(parser_expect(parser, "BY"));
        TRY(parser_order_items(parser, &node->within_group, &node->within_group_count));
        TRY(parser_expect(parser, ")"));
    }
    if (parser_sees(parser, 0, "FILTER") && parser_sees(parser, 1, "(")) {
        parser_skip(parser, 2);
        TRY(parser_expect(parser, "WHERE"));
        TRY(parser_expression(parser, &node->filter));
        TRY(parser_expect(parser, ")"));
    }
    null_treatment(parser, node);
    return parser_accept(parser, "OVER") ? over(parser, node) : STATUS_OK;
}

static enum status call_new(struct parser *parser, struct position at, const char *function, struct ast_expression **node)
{
    TRY(parser_expression_new(parser, AST_CALL, at, node));
    (*node)->function = function;
    return STATUS_OK;
}

static enum status call_done(struct parser *parser, struct ast_expression *node, const struct list *args)
{
    TRY(parser_expect(parser, ")"));
    TRY(call_suffix(parser, node));
    return parser_expression_args(parser, node, args);
}

static const char *upper(struct parser *parser, const char *name)
{
    char *copy = arena_text(parser->arena, name, strlen(name));
    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    return copy;
}

enum status parser_call(struct parser *parser, struct position at, const struct ast_name *name, const struct ast_expression **call)
{
    struct ast_expression *node;
    struct list args = {0};
    const char *function = upper(parser, name->parts[name->count - 1]);
    if (function == NULL) {
        return parser_no_room(parser);
    }
    TRY(call_new(parser, at, function, &node));
    node->name = *name;
    parser_skip(parser, 1);
    node->distinct = parser_accept(parser, "DISTINCT");
    if (!node->distinct) {
        parser_accept(parser, "ALL");
    }
    TRY(arguments(parser, node, &args));
    null_treatment(parser, node);
    if (parser_accept_pair(parser, "ORDER", "BY")) {
        TRY(parser_order_items(parser, &node->within_group, &node->within_group_count));
    }
    null_treatment(parser, node);
    *call = node;
    return call_done(parser, node, &args);
}

/* ---- functions with a syntax of their own: NAME and '(' are taken, ')' is not ---- */

struct special_call {
    const char *name;
    enum status (*parse)(struct parser *parser, struct ast_expression *node, struct list *args);
};

static enum status add_expression(struct parser *parser, struct list *args)
{
    const struct ast_expression *item;
    TRY(parser_expression(parser, &item));
    return parser_add(parser, args, &item, sizeof item);
}

/* , b, c ... */
static enum status add_more(struct parser *parser, struct list *args)
{
    while (parser_accept(parser, ",")) {
        TRY(add_expression(parser, args));
    }
    return STATUS_OK;
}

static enum status parse_cast(struct parser *parser, struct ast_expression *node, struct list *args)
{
    node->kind = AST_CAST;
    node->try_cast = strcmp(node->function, "CAST") != 0;
    TRY(add_expression(parser, args));
    TRY(parser_expect(parser, "AS"));
    return parser_type(parser, &node->type);
}

/* Time units of EXTRACT, FLOOR, TIMESTAMPADD: any word, or a text as Calcite's DATEADD has it. */
static enum status unit(struct parser *parser, const char **name)
{
    const struct token *token = parser_peek(parser, 0);
    if (token->kind != TOKEN_WORD) {
        return parser_unexpected(parser, "a time unit (YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, ...)");
    }
    *name = strncmp(token->word, "SQL_TSI_", 8) == 0 ? token->word + 8 : token->word;
    parser_skip(parser, 1);
    return STATUS_OK;
}

static enum status parse_extract(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(unit(parser, &node->unit_from));
    TRY(parser_expect(parser, "FROM"));
    return add_expression(parser, args);
}

static enum status parse_floor(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(add_expression(parser, args));
    if (parser_accept(parser, "TO")) {
        return unit(parser, &node->unit_from);
    }
    return add_more(parser, args);
}

static enum status parse_timestamp_arithmetic(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(unit(parser, &node->unit_from));
    TRY(parser_expect(parser, ","));
    TRY(add_expression(parser, args));
    TRY(parser_expect(parser, ","));
    return add_expression(parser, args);
}

/* The text sought binds tighter than IN. */
static enum status parse_position(struct parser *parser, struct ast_expression *node, struct list *args)
{
    const struct ast_expression *sought;
    TRY(parser_expression_above(parser, PRECEDENCE_IN + 1, &sought));
    TRY(parser_add(parser, args, &sought, sizeof sought));
    TRY(parser_expect(parser, "IN"));
    TRY(add_expression(parser, args));
    return parser_accept(parser, "FROM") ? add_expression(parser, args) : STATUS_OK;
}

static enum status parse_substring(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(add_expression(parser, args));
    if (!parser_accept(parser, "FROM")) {
        return add_more(parser, args);
    }
    TRY(add_expression(parser, args));
    return parser_accept(parser, "FOR") ? add_expression(parser, args) : STATUS_OK;
}

static enum status parse_overlay(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(add_expression(parser, args));
    if (!parser_accept(parser, "PLACING")) {
        return add_more(parser, args);
    }
    TRY(add_expression(parser, args));
    TRY(parser_expect(parser, "FROM"));
    TRY(add_expression(parser, args));
    return parser_accept(parser, "FOR") ? add_expression(parser, args) : STATUS_OK;
}

/* TRIM(s), TRIM(BOTH FROM s), TRIM(LEADING c FROM s), TRIM(c FROM s): args s [, c] */
static enum status parse_trim(struct parser *parser, struct ast_expression *node, struct list *args)
{
    static const char *const sides[] = {"BOTH", "LEADING", "TRAILING"};
    const struct ast_expression *first = NULL, *source;
    bool side = false;
    node->unit_from = "BOTH";
    for (size_t i = 0; i < ARRAY_LENGTH(sides) && !side; i++) {
        side = parser_accept(parser, sides[i]);
        node->unit_from = side ? sides[i] : node->unit_from;
    }
    if (!side || !parser_sees(parser, 0, "FROM")) {
        TRY(parser_expression(parser, &first));
    }
    if (side || parser_sees(parser, 0, "FROM")) {
        TRY(parser_expect(parser, "FROM"));
        TRY(parser_expression(parser, &source));
    } else {
        source = first;
        first = NULL;
    }
    TRY(parser_add(parser, args, &source, sizeof source));
    if (first != NULL) {
        return parser_add(parser, args, &first, sizeof first);
    }
    return add_more(parser, args);
}

/* CONVERT(x USING charset), TRANSLATE(x USING charset), TRANSLATE(s, from, to) */
static enum status parse_translate(struct parser *parser, struct ast_expression *node, struct list *args)
{
    TRY(add_expression(parser, args));
    if (!parser_accept(parser, "USING")) {
        return add_more(parser, args);
    }
    struct ast_expression *charset;
    TRY(parser_expression_new(parser, AST_COLUMN, parser_start_position(parser), &charset));
    TRY(parser_name(parser, &charset->name, "a character set's name"));
    node->unit_from = "USING";
    TRY(parser_expression_done(parser, charset));
    return parser_add(parser, args, &charset, sizeof charset);
}

static const struct special_call special_calls[] = {
    {"CAST", parse_cast},
    {"CEIL", parse_floor},
    {"CEILING", parse_floor},
    {"CONVERT", parse_translate},
    {"EXTRACT", parse_extract},
    {"FLOOR", parse_floor},
    {"JSON_ARRAY", parser_json_array},
    {"JSON_ARRAYAGG", parser_json_array},
    {"JSON_EXISTS", parser_json_exists},
    {"JSON_OBJECT", parser_json_object},
    {"JSON_OBJECTAGG", parser_json_object},
    {"JSON_QUERY", parser_json_query},
    {"JSON_VALUE", parser_json_value},
    {"OVERLAY", parse_overlay},
    {"POSITION", parse_position},
    {"SAFE_CAST", parse_cast},
    {"SUBSTRING", parse_substring},
    {"TIMESTAMPADD", parse_timestamp_arithmetic},
    {"TIMESTAMPDIFF", parse_timestamp_arithmetic},
    {"TRANSLATE", parse_translate},
    {"TRIM", parse_trim},
    {"TRY_CAST", parse_cast},
};

static const struct special_call *find_special(struct parser *parser)
{
    for (size_t i = 0; parser_sees(parser, 1, "(") && i < ARRAY_LENGTH(special_calls); i++) {
        if (parser_sees(parser, 0, special_calls[i].name)) {
            return &special_calls[i];
        }
    }
    return NULL;
}

/* FINAL x and RUNNING x before a call or a column */
static bool at_navigation(struct parser *parser)
{
    enum token_kind next = parser_peek(parser, 1)->kind;
    return (parser_sees(parser, 0, "FINAL") || parser_sees(parser, 0, "RUNNING")) && (next == TOKEN_WORD || next == TOKEN_QUOTED) &&
           (parser_sees(parser, 2, "(") || parser_sees(parser, 2, "."));
}

bool parser_is_special_call(struct parser *parser)
{
    return find_special(parser) != NULL || at_navigation(parser);
}

enum status parser_special_call(struct parser *parser, const struct ast_expression **call)
{
    struct ast_expression *node;
    struct list args = {0};
    const struct special_call *special = find_special(parser);
    const char *word = parser_peek(parser, 0)->word;
    TRY(call_new(parser, parser_start_position(parser), special == NULL ? word : special->name, &node));
    *call = node;
    if (special == NULL) {
        const struct ast_expression *item;
        parser_skip(parser, 1);
        TRY(parser_expression_above(parser, PRECEDENCE_UNARY, &item));
        TRY(parser_add(parser, &args, &item, sizeof item));
        return parser_expression_args(parser, node, &args);
    }
    parser_skip(parser, 2);
    TRY(special->parse(parser, node, &args));
    return call_done(parser, node, &args);
}
