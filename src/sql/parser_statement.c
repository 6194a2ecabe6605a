/* One statement: queries, INSERT, statement sets, EXPLAIN; the other files have the rest. */
#include <string.h>

#include "sql/parser_core.h"

/* PARTITION (k [= literal], ...) */
enum status parser_partition_values(struct parser *parser, const struct ast_option **keys, const struct ast_expression *const **values,
                                    uint32_t *count)
{
    struct list names = {0}, literals = {0};
    TRY(parser_expect(parser, "PARTITION"));
    TRY(parser_expect(parser, "("));
    do {
        struct ast_option key = {.at = parser_start_position(parser)};
        const struct ast_expression *value = NULL;
        TRY(parser_identifier(parser, &key.key, "a column's name"));
        if (parser_accept(parser, "=")) {
            TRY(parser_expression(parser, &value));
            struct text sql = parser_source(parser, &value->at);
            if (sql.bytes == NULL) {
                return parser_no_room(parser);
            }
            key.value = sql.bytes;
        }
        parser_end_position(parser, &key.at);
        TRY(parser_add(parser, &names, &key, sizeof key));
        TRY(parser_add(parser, &literals, &value, sizeof value));
    } while (parser_accept(parser, ","));
    *keys = names.items;
    *values = literals.items;
    *count = names.count;
    return parser_expect(parser, ")");
}

enum status parser_partition(struct parser *parser, const struct ast_option **partition, uint32_t *count)
{
    const struct ast_expression *const *values;
    return parser_partition_values(parser, partition, &values, count);
}

static enum status column_names(struct parser *parser, struct ast_insert *insert)
{
    struct list columns = {0};
    parser_skip(parser, 1);
    do {
        struct ast_name name;
        TRY(parser_name(parser, &name, "a column's name"));
        TRY(parser_add(parser, &columns, &name, sizeof name));
    } while (parser_accept(parser, ","));
    insert->columns = columns.items;
    insert->column_count = columns.count;
    return parser_expect(parser, ")");
}

/* Is the '(' the list of columns, not a query in parentheses? */
static bool at_column_names(struct parser *parser)
{
    enum token_kind first = parser_peek(parser, 1)->kind;
    return parser_sees(parser, 0, "(") && (first == TOKEN_QUOTED || (first == TOKEN_WORD && !parser_peek(parser, 1)->reserved));
}

static enum status on_conflict(struct parser *parser, struct ast_insert *insert)
{
    static const char *const actions[] = {"ERROR", "NOTHING", "DEDUPLICATE"};
    if (!parser_accept(parser, "ON")) {
        return STATUS_OK;
    }
    TRY(parser_expect(parser, "CONFLICT"));
    TRY(parser_expect(parser, "DO"));
    for (size_t i = 0; i < ARRAY_LENGTH(actions); i++) {
        if (parser_accept(parser, actions[i])) {
            insert->on_conflict = actions[i];
            return STATUS_OK;
        }
    }
    return parser_unexpected(parser, NULL);
}

static enum status insert(struct parser *parser, struct ast_statement *statement)
{
    struct ast_insert *insert = &statement->insert;
    statement->kind = AST_STATEMENT_INSERT;
    parser_skip(parser, 1);
    insert->overwrite = parser_accept(parser, "OVERWRITE");
    if (!insert->overwrite) {
        TRY(parser_expect(parser, "INTO"));
    }
    TRY(parser_name(parser, &insert->table, "the table's name"));
    TRY(parser_hints(parser, &insert->hints, &insert->hint_count));
    if (parser_sees(parser, 0, "PARTITION")) {
        TRY(parser_partition_values(parser, &insert->partition, &insert->partition_values, &insert->partition_count));
    }
    if (at_column_names(parser)) {
        TRY(column_names(parser, insert));
    }
    if (parser_sees(parser, 0, "PARTITION")) {
        TRY(parser_partition_values(parser, &insert->partition, &insert->partition_values, &insert->partition_count));
    }
    TRY(parser_query(parser, &insert->query));
    return on_conflict(parser, insert);
}

static enum status inserts(struct parser *parser, struct ast_statement *statement, struct list *list)
{
    while (!parser_accept(parser, "END")) {
        const struct ast_statement *one;
        if (parser_accept(parser, ";")) {
            continue;
        }
        if (!parser_at(parser, "INSERT")) {
            return parser_unexpected(parser, "INSERT or END");
        }
        TRY(parser_statement(parser, &one));
        TRY(parser_add(parser, list, &one, sizeof one));
        if (!parser_at(parser, "END")) {
            TRY(parser_expect(parser, ";"));
        }
    }
    statement->set.inserts = list->items;
    statement->set.count = list->count;
    return list->count > 0 ? STATUS_OK : parser_error(parser, &statement->at, ERROR_SYNTAX, "the statement set holds no INSERT");
}

/* [EXECUTE] STATEMENT SET BEGIN ...; END and BEGIN STATEMENT SET; ...; END: up to BEGIN or the first ';' is taken */
static enum status statement_set(struct parser *parser, struct ast_statement *statement)
{
    struct list list = {0};
    statement->kind = AST_STATEMENT_STATEMENT_SET;
    return inserts(parser, statement, &list);
}

static enum status execute(struct parser *parser, struct ast_statement *statement)
{
    if (parser_sees(parser, 1, "PLAN")) {
        return parser_other(parser, statement);
    }
    parser_skip(parser, 1);
    if (parser_accept_pair(parser, "STATEMENT", "SET")) {
        TRY(parser_expect(parser, "BEGIN"));
        return statement_set(parser, statement);
    }
    if (parser_at_query(parser) || parser_sees(parser, 0, "(")) {
        statement->kind = AST_STATEMENT_QUERY;
        return parser_query(parser, &statement->query);
    }
    return parser_at(parser, "INSERT") ? insert(parser, statement) : parser_unexpected(parser, "STATEMENT SET, INSERT or SELECT");
}

static enum status begin(struct parser *parser, struct ast_statement *statement)
{
    parser_skip(parser, 1);
    TRY(parser_expect(parser, "STATEMENT"));
    TRY(parser_expect(parser, "SET"));
    TRY(parser_expect(parser, ";"));
    return statement_set(parser, statement);
}

/* STATEMENT SET BEGIN ... END without EXECUTE: after EXPLAIN and COMPILE PLAN .. FOR */
enum status parser_bare_statement_set(struct parser *parser, const struct ast_statement **result)
{
    struct ast_statement *set;
    TRY(parser_allocate(parser, sizeof *set, &set));
    set->at = parser_start_position(parser);
    parser_skip(parser, 2);
    TRY(parser_expect(parser, "BEGIN"));
    TRY(statement_set(parser, set));
    parser_end_position(parser, &set->at);
    *result = set;
    return STATUS_OK;
}

static enum status explain_details(struct parser *parser, struct ast_statement *statement)
{
    do {
        if (parser_accept(parser, "CHANGELOG_MODE")) {
            statement->explain.changelog_mode = true;
        } else if (parser_accept(parser, "ESTIMATED_COST")) {
            statement->explain.estimated_cost = true;
        } else if (parser_accept(parser, "JSON_EXECUTION_PLAN")) {
            statement->explain.execution_plan = true;
        } else if (parser_accept(parser, "PLAN_ADVICE")) {
            statement->explain.plan_advice = true;
        } else {
            return parser_unexpected(parser, NULL);
        }
    } while (parser_accept(parser, ","));
    return STATUS_OK;
}

static enum status explain(struct parser *parser, struct ast_statement *statement)
{
    statement->kind = AST_STATEMENT_EXPLAIN;
    parser_skip(parser, 1);
    if (parser_accept_pair(parser, "PLAN", "FOR")) {
        return parser_statement(parser, &statement->explain.statement);
    }
    if (parser_at(parser, "CHANGELOG_MODE") || parser_at(parser, "ESTIMATED_COST") || parser_at(parser, "JSON_EXECUTION_PLAN") ||
        parser_at(parser, "PLAN_ADVICE")) {
        TRY(explain_details(parser, statement));
    }
    if (parser_at_pair(parser, "STATEMENT", "SET")) {
        return parser_bare_statement_set(parser, &statement->explain.statement);
    }
    return parser_statement(parser, &statement->explain.statement);
}

static enum status query_statement(struct parser *parser, struct ast_statement *statement)
{
    statement->kind = AST_STATEMENT_QUERY;
    return parser_query(parser, &statement->query);
}

static enum status statement_body(struct parser *parser, struct ast_statement *statement)
{
    static const struct {
        const char *word;
        enum status (*parse)(struct parser *parser, struct ast_statement *statement);
    } words[] = {{"SELECT", query_statement}, {"WITH", query_statement},  {"VALUES", query_statement},
                 {"(", query_statement},      {"TABLE", query_statement}, {"INSERT", insert},
                 {"CREATE", parser_create},   {"EXECUTE", execute},       {"BEGIN", begin},
                 {"EXPLAIN", explain}};
    bool found;
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (parser_at(parser, words[i].word)) {
            return words[i].parse(parser, statement);
        }
    }
    TRY(parser_small_statement(parser, statement, &found));
    return found ? STATUS_OK : parser_other(parser, statement);
}

enum status parser_statement(struct parser *parser, const struct ast_statement **result)
{
    struct ast_statement *statement;
    TRY(parser_enter(parser));
    TRY(parser_allocate(parser, sizeof *statement, &statement));
    statement->at = parser_start_position(parser);
    TRY(statement_body(parser, statement));
    parser_end_position(parser, &statement->at);
    parser_leave(parser);
    *result = statement;
    return STATUS_OK;
}
