/* FROM: table references and joins. */
#include <string.h>

#include "sql/parser_core.h"

static const char *const clause_words[] = {"FROM",      "WHERE",  "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER",  "LIMIT", "UNION",
                                           "INTERSECT", "EXCEPT", "JOIN",  "LEFT",   "INNER",  "CROSS",   "OFFSET", "FETCH"};

enum status parser_alias(struct parser *parser, const char **alias)
{
    if (parser_accept(parser, "AS")) {
        return parser_identifier(parser, alias, "a name");
    }
    if (!parser_at_identifier(parser)) {
        return STATUS_OK;
    }
    const struct token *token = parser_peek(parser, 0);
    parser->alias_nearest = token->kind == TOKEN_WORD ? text_nearest(token->word, clause_words, ARRAY_LENGTH(clause_words)) : NULL;
    TRY(parser_identifier(parser, alias, "a name"));
    parser->alias_token = parser->next;
    return STATUS_OK;
}

static enum status table_new(struct parser *parser, enum ast_table_kind kind, struct position at, struct ast_table **table)
{
    TRY(parser_allocate(parser, sizeof **table, table));
    **table = (struct ast_table){.kind = kind, .at = at, .height = 1};
    return STATUS_OK;
}

static enum status table_alias(struct parser *parser, struct ast_table *table)
{
    TRY(parser_alias(parser, &table->alias));
    if (table->alias != NULL && parser_sees(parser, 0, "(")) {
        TRY(parser_identifier_list(parser, &table->column_aliases, &table->column_alias_count, "a column's name"));
    }
    parser_end_position(parser, &table->at);
    return STATUS_OK;
}

static enum status sample(struct parser *parser, struct ast_table *table)
{
    struct ast_sample *node;
    if (!parser_accept(parser, "TABLESAMPLE")) {
        return STATUS_OK;
    }
    TRY(parser_allocate(parser, sizeof *node, &node));
    node->method = parser_accept(parser, "BERNOULLI") ? "BERNOULLI" : "SYSTEM";
    if (strcmp(node->method, "SYSTEM") == 0) {
        TRY(parser_expect(parser, "SYSTEM"));
    }
    TRY(parser_expect(parser, "("));
    TRY(parser_expression(parser, &node->percent));
    TRY(parser_expect(parser, ")"));
    if (parser_accept(parser, "REPEATABLE")) {
        TRY(parser_expect(parser, "("));
        TRY(parser_expression(parser, &node->seed));
        TRY(parser_expect(parser, ")"));
    }
    table->sample = node;
    return STATUS_OK;
}

/* What may follow a table before its alias: FOR SYSTEM_TIME AS OF, MATCH_RECOGNIZE. */
static enum status snapshot(struct parser *parser, struct ast_table *table)
{
    if (!parser_accept_pair(parser, "FOR", "SYSTEM_TIME")) {
        return STATUS_OK;
    }
    TRY(parser_expect(parser, "AS"));
    TRY(parser_expect(parser, "OF"));
    return parser_expression(parser, &table->system_time);
}

static enum status after_table(struct parser *parser, struct ast_table **table)
{
    TRY(snapshot(parser, *table));
    if (parser_at(parser, "MATCH_RECOGNIZE")) {
        struct ast_table *match;
        TRY(table_new(parser, AST_TABLE_MATCH, (*table)->at, &match));
        parser_end_position(parser, &(*table)->at);
        match->left = *table;
        match->height = (*table)->height + 1;
        TRY(parser_match(parser, &match->match));
        *table = match;
    }
    TRY(table_alias(parser, *table));
    if ((*table)->kind == AST_TABLE_NAME && (*table)->system_time == NULL) { /* t AS a FOR SYSTEM_TIME AS OF .. */
        TRY(snapshot(parser, *table));
    }
    if ((*table)->kind != AST_TABLE_MATCH && parser_sees(parser, 0, "MATCH_RECOGNIZE")) {
        return after_table(parser, table);
    }
    TRY(sample(parser, *table));
    parser_end_position(parser, &(*table)->at);
    return STATUS_OK;
}

/* f(...) as a table: TABLE(f(...)) or f(...) */
static enum status function_call(struct parser *parser, struct ast_table *table)
{
    TRY(parser_expression_above(parser, PRECEDENCE_POSTFIX + 1, &table->call));
    if (table->call->kind != AST_CALL) {
        return parser_error(parser, &table->call->at, ERROR_SYNTAX, "expected a call of a table function");
    }
    return STATUS_OK;
}

static enum status table_function(struct parser *parser, bool lateral, struct ast_table **table)
{
    struct position at = parser_start_position(parser);
    TRY(table_new(parser, AST_TABLE_FUNCTION, at, table));
    (*table)->lateral = lateral;
    if (!parser_accept(parser, "TABLE")) {
        TRY(function_call(parser, *table));
        return after_table(parser, table);
    }
    TRY(parser_expect(parser, "("));
    TRY(function_call(parser, *table));
    TRY(parser_expect(parser, ")"));
    return after_table(parser, table);
}

static enum status unnest(struct parser *parser, struct ast_table **table)
{
    struct ast_expression *call;
    struct list args = {0};
    TRY(table_new(parser, AST_TABLE_UNNEST, parser_start_position(parser), table));
    TRY(parser_expression_new(parser, AST_CALL, (*table)->at, &call));
    call->function = "UNNEST";
    parser_skip(parser, 1);
    TRY(parser_expect(parser, "("));
    do {
        const struct ast_expression *argument;
        TRY(parser_expression(parser, &argument));
        TRY(parser_add(parser, &args, &argument, sizeof argument));
    } while (parser_accept(parser, ","));
    TRY(parser_expect(parser, ")"));
    TRY(parser_expression_args(parser, call, &args));
    (*table)->call = call;
    (*table)->with_ordinality = parser_accept_pair(parser, "WITH", "ORDINALITY");
    return after_table(parser, table);
}

static enum status subquery(struct parser *parser, struct position at, bool lateral, const struct ast_query *query,
                            struct ast_table **table)
{
    bool values =
        query->kind == AST_VALUES && query->cte_count == 0 && query->order_count == 0 && query->fetch == NULL && query->offset == NULL;
    TRY(table_new(parser, values ? AST_TABLE_VALUES : AST_TABLE_SUBQUERY, at, table));
    (*table)->query = query;
    (*table)->lateral = lateral;
    return STATUS_OK;
}

static enum status joins(struct parser *parser, struct ast_table **table);
static enum status primary(struct parser *parser, struct ast_table **table);
static enum status commas(struct parser *parser, struct ast_table **table);

static bool is_bare_subquery(const struct ast_table *table)
{
    return (table->kind == AST_TABLE_SUBQUERY || table->kind == AST_TABLE_VALUES) && table->alias == NULL && !table->lateral;
}

/* '(' is taken. ( query ) and ( joins ) may both begin with more parentheses: what is read first decides. */
static enum status parentheses(struct parser *parser, struct position at, struct ast_table **table)
{
    const struct ast_query *query;
    if (parser_at_query(parser)) {
        TRY(parser_query(parser, &query));
    } else {
        TRY(primary(parser, table));
        if (!is_bare_subquery(*table) || !(parser_at_query_rest(parser) || parser_sees(parser, 0, ")"))) {
            TRY(joins(parser, table));
            TRY(commas(parser, table));
            return parser_expect(parser, ")");
        }
        TRY(parser_query_rest(parser, (*table)->query, &query));
    }
    TRY(parser_expect(parser, ")"));
    return subquery(parser, at, false, query, table);
}

static enum status lateral(struct parser *parser, struct ast_table **table)
{
    const struct position at = parser_start_position(parser);
    parser_skip(parser, 1);
    if (parser_sees(parser, 0, "UNNEST")) {
        TRY(unnest(parser, table));
        (*table)->lateral = true;
        return STATUS_OK;
    }
    if (!parser_accept(parser, "(")) {
        TRY(table_function(parser, true, table));
        (*table)->at.line = at.line;
        (*table)->at.column = at.column;
        (*table)->at.offset = at.offset;
        return STATUS_OK;
    }
    const struct ast_query *query;
    TRY(parser_query(parser, &query));
    TRY(parser_expect(parser, ")"));
    TRY(subquery(parser, at, true, query, table));
    return after_table(parser, table);
}

/* Is a name followed by '(': a table function without TABLE()? */
static bool at_call(struct parser *parser)
{
    uint32_t ahead = 0;
    while (parser_sees(parser, ahead + 1, ".")) {
        ahead += 2;
    }
    return parser_sees(parser, ahead + 1, "(");
}

static enum status named_table(struct parser *parser, struct ast_table **table)
{
    if (!parser_at_identifier(parser)) {
        return parser_unexpected(parser, "a table's name, TABLE(...), LATERAL, UNNEST or a query in parentheses");
    }
    if (at_call(parser)) {
        return table_function(parser, false, table);
    }
    TRY(table_new(parser, AST_TABLE_NAME, parser_start_position(parser), table));
    TRY(parser_name(parser, &(*table)->name, "a table's name"));
    TRY(parser_hints(parser, &(*table)->hints, &(*table)->hint_count));
    return after_table(parser, table);
}

static enum status primary(struct parser *parser, struct ast_table **table)
{
    const struct position at = parser_start_position(parser);
    TRY(parser_enter(parser));
    if (parser_accept(parser, "(")) {
        TRY(parentheses(parser, at, table));
        if ((*table)->kind == AST_TABLE_SUBQUERY || (*table)->kind == AST_TABLE_VALUES) {
            if ((*table)->alias == NULL) {
                TRY(after_table(parser, table));
            }
        }
    } else if (parser_at(parser, "LATERAL")) {
        TRY(lateral(parser, table));
    } else if (parser_at(parser, "UNNEST")) {
        TRY(unnest(parser, table));
    } else if (parser_at_pair(parser, "TABLE", "(")) {
        TRY(table_function(parser, false, table));
    } else {
        TRY(named_table(parser, table));
    }
    parser_leave(parser);
    return STATUS_OK;
}

/* ---- joins ---- */

static enum status join_new(struct parser *parser, enum ast_join_kind kind, const struct ast_table *right, struct ast_table **left)
{
    struct ast_table *join;
    TRY(table_new(parser, AST_TABLE_JOIN, (*left)->at, &join));
    join->join = kind;
    join->left = *left;
    join->right = right;
    join->height = 1 + ((*left)->height > right->height ? (*left)->height : right->height);
    *left = join;
    if (join->height > SQL_DEPTH_MAX) {
        return parser_error(parser, &join->at, ERROR_TOO_DEEP, "more than %d joins in a row", SQL_DEPTH_MAX);
    }
    return STATUS_OK;
}

/* [INNER | CROSS | LEFT|RIGHT|FULL [OUTER] | LEFT SEMI|ANTI] JOIN; *found false: no join starts here */
static enum status join_words(struct parser *parser, enum ast_join_kind *kind, bool *found)
{
    static const struct {
        const char *word;
        enum ast_join_kind kind;
    } sides[] = {{"LEFT", AST_JOIN_LEFT}, {"RIGHT", AST_JOIN_RIGHT}, {"FULL", AST_JOIN_FULL}};
    *found = true;
    *kind = AST_JOIN_INNER;
    if (parser_accept(parser, "JOIN")) {
        return STATUS_OK;
    }
    if (parser_accept(parser, "INNER")) {
        return parser_expect(parser, "JOIN");
    }
    if (parser_accept(parser, "CROSS")) {
        *kind = AST_JOIN_CROSS;
        return parser_expect(parser, "JOIN");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(sides); i++) {
        if (!parser_accept(parser, sides[i].word)) {
            continue;
        }
        *kind = sides[i].kind;
        if (*kind == AST_JOIN_LEFT && parser_accept(parser, "SEMI")) {
            *kind = AST_JOIN_SEMI;
        } else if (*kind == AST_JOIN_LEFT && parser_accept(parser, "ANTI")) {
            *kind = AST_JOIN_ANTI;
        } else {
            parser_accept(parser, "OUTER");
        }
        return parser_expect(parser, "JOIN");
    }
    *found = false;
    return STATUS_OK;
}

static enum status join_condition(struct parser *parser, struct ast_table *join)
{
    if (parser_accept(parser, "ON")) {
        TRY(parser_expression(parser, &join->on));
    } else if (parser_accept(parser, "USING")) {
        TRY(parser_identifier_list(parser, &join->using_columns, &join->using_count, "a column's name"));
    } else if (join->join != AST_JOIN_CROSS && !join->natural) {
        return parser_unexpected(parser, NULL);
    }
    parser_end_position(parser, &join->at);
    return STATUS_OK;
}

static enum status joins(struct parser *parser, struct ast_table **table)
{
    for (bool found = true; found;) {
        enum ast_join_kind kind;
        struct ast_table *right;
        bool natural = parser_accept(parser, "NATURAL");
        TRY(join_words(parser, &kind, &found));
        if (!found) {
            return natural ? parser_unexpected(parser, "JOIN") : STATUS_OK;
        }
        TRY(primary(parser, &right));
        TRY(join_new(parser, kind, right, table));
        (*table)->natural = natural;
        TRY(join_condition(parser, *table));
    }
    return STATUS_OK;
}

/* a, b JOIN c: the comma binds least */
static enum status commas(struct parser *parser, struct ast_table **table)
{
    while (parser_accept(parser, ",")) {
        struct ast_table *right;
        TRY(primary(parser, &right));
        TRY(joins(parser, &right));
        TRY(join_new(parser, AST_JOIN_CROSS, right, table));
        parser_end_position(parser, &(*table)->at);
    }
    return STATUS_OK;
}

enum status parser_from(struct parser *parser, const struct ast_table **table)
{
    struct ast_table *node;
    TRY(primary(parser, &node));
    TRY(joins(parser, &node));
    TRY(commas(parser, &node));
    *table = node;
    return STATUS_OK;
}
