/* Queries: WITH, SELECT, VALUES, set operations, ORDER BY, LIMIT. */
#include <string.h>

#include "sql/parser_core.h"

bool parser_at_query(struct parser *parser)
{
    return parser_sees(parser, 0, "SELECT") || parser_sees(parser, 0, "VALUES") || parser_sees(parser, 0, "WITH") ||
           (parser_sees(parser, 0, "TABLE") && !parser_sees(parser, 1, "("));
}

static bool at_set_operation(struct parser *parser)
{
    return parser_sees(parser, 0, "UNION") || parser_sees(parser, 0, "INTERSECT") || parser_sees(parser, 0, "EXCEPT") ||
           parser_sees(parser, 0, "MINUS");
}

bool parser_at_query_rest(struct parser *parser)
{
    return at_set_operation(parser) || parser_sees(parser, 0, "ORDER") || parser_sees(parser, 0, "LIMIT") ||
           parser_sees(parser, 0, "OFFSET") || parser_sees(parser, 0, "FETCH");
}

static enum status query_new(struct parser *parser, enum ast_query_kind kind, struct position at, struct ast_query **query)
{
    TRY(parser_allocate(parser, sizeof **query, query));
    **query = (struct ast_query){.kind = kind, .at = at, .height = 1};
    return STATUS_OK;
}

/* ---- ORDER BY, windows ---- */

enum status parser_order_items(struct parser *parser, const struct ast_order_item **items, uint32_t *count)
{
    struct list list = {0};
    do {
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
        TRY(parser_add(parser, &list, &item, sizeof item));
    } while (parser_accept(parser, ","));
    *items = list.items;
    *count = list.count;
    return STATUS_OK;
}

static enum status frame_bound(struct parser *parser, enum ast_frame_bound *bound, const struct ast_expression **value)
{
    if (parser_accept_pair(parser, "CURRENT", "ROW")) {
        *bound = AST_CURRENT_ROW;
        return STATUS_OK;
    }
    if (parser_accept(parser, "UNBOUNDED")) {
        *bound = parser_accept(parser, "PRECEDING") ? AST_UNBOUNDED_PRECEDING : AST_UNBOUNDED_FOLLOWING;
        return *bound == AST_UNBOUNDED_PRECEDING ? STATUS_OK : parser_expect(parser, "FOLLOWING");
    }
    TRY(parser_expression(parser, value));
    *bound = parser_accept(parser, "PRECEDING") ? AST_PRECEDING : AST_FOLLOWING;
    return *bound == AST_PRECEDING ? STATUS_OK : parser_expect(parser, "FOLLOWING");
}

static enum status frame(struct parser *parser, struct ast_window *window)
{
    window->rows = parser_accept(parser, "ROWS");
    if (!window->rows && !parser_accept(parser, "RANGE")) {
        return STATUS_OK;
    }
    window->has_frame = true;
    window->end = AST_CURRENT_ROW;
    if (!parser_accept(parser, "BETWEEN")) {
        return frame_bound(parser, &window->start, &window->start_value);
    }
    TRY(frame_bound(parser, &window->start, &window->start_value));
    TRY(parser_expect(parser, "AND"));
    return frame_bound(parser, &window->end, &window->end_value);
}

enum status parser_window(struct parser *parser, const struct ast_window **result)
{
    struct ast_window *window;
    TRY(parser_allocate(parser, sizeof *window, &window));
    window->at = parser_start_position(parser);
    TRY(parser_expect(parser, "("));
    if (parser_at_identifier(parser)) {
        TRY(parser_identifier(parser, &window->name, "a window's name"));
    }
    if (parser_accept(parser, "PARTITION")) {
        TRY(parser_expect(parser, "BY"));
        TRY(parser_expression_list(parser, &window->partition, &window->partition_count));
    }
    if (parser_accept(parser, "ORDER")) {
        TRY(parser_expect(parser, "BY"));
        TRY(parser_order_items(parser, &window->order, &window->order_count));
    }
    TRY(frame(parser, window));
    if (!parser_accept_pair(parser, "ALLOW", "PARTIAL")) {
        parser_accept_pair(parser, "DISALLOW", "PARTIAL");
    }
    TRY(parser_expect(parser, ")"));
    parser_end_position(parser, &window->at);
    *result = window;
    return STATUS_OK;
}

static enum status windows(struct parser *parser, struct ast_query *query)
{
    struct list list = {0};
    do {
        struct ast_named_window named;
        TRY(parser_identifier(parser, &named.name, "a window's name"));
        TRY(parser_expect(parser, "AS"));
        TRY(parser_window(parser, &named.window));
        TRY(parser_add(parser, &list, &named, sizeof named));
    } while (parser_accept(parser, ","));
    query->windows = list.items;
    query->window_count = list.count;
    return STATUS_OK;
}

/* ---- GROUP BY ---- */

static enum status grouping(struct parser *parser, struct ast_grouping *group);

static enum status grouping_sets(struct parser *parser, struct ast_grouping *group)
{
    struct list sets = {0};
    TRY(parser_expect(parser, "("));
    do {
        struct ast_grouping set;
        TRY(grouping(parser, &set));
        TRY(parser_add(parser, &sets, &set, sizeof set));
    } while (parser_accept(parser, ","));
    group->sets = sets.items;
    group->set_count = sets.count;
    return parser_expect(parser, ")");
}

static enum status grouping_plain(struct parser *parser, struct ast_grouping *group)
{
    struct list list = {0};
    const struct ast_expression *expression;
    TRY(parser_expression(parser, &expression));
    TRY(parser_add(parser, &list, &expression, sizeof expression));
    group->expressions = list.items;
    group->expression_count = 1;
    return STATUS_OK;
}

static enum status grouping(struct parser *parser, struct ast_grouping *group)
{
    *group = (struct ast_grouping){.kind = AST_GROUP_PLAIN, .at = parser_start_position(parser)};
    TRY(parser_enter(parser));
    if (parser_sees(parser, 0, "(") && parser_sees(parser, 1, ")")) {
        parser_skip(parser, 2);
        group->kind = AST_GROUP_EMPTY;
    } else if (parser_accept_pair(parser, "GROUPING", "SETS")) {
        group->kind = AST_GROUP_SETS;
        TRY(grouping_sets(parser, group));
    } else if (parser_sees(parser, 1, "(") && (parser_at(parser, "CUBE") || parser_at(parser, "ROLLUP"))) {
        group->kind = parser_sees(parser, 0, "CUBE") ? AST_GROUP_CUBE : AST_GROUP_ROLLUP;
        parser_skip(parser, 2);
        TRY(parser_expression_list(parser, &group->expressions, &group->expression_count));
        TRY(parser_expect(parser, ")"));
    } else {
        TRY(grouping_plain(parser, group));
    }
    parser_leave(parser);
    parser_end_position(parser, &group->at);
    return STATUS_OK;
}

static enum status group_by(struct parser *parser, struct ast_query *query)
{
    struct list list = {0};
    query->has_group_by = true;
    if (!parser_accept(parser, "DISTINCT")) {
        parser_accept(parser, "ALL");
    }
    do {
        struct ast_grouping group;
        TRY(grouping(parser, &group));
        TRY(parser_add(parser, &list, &group, sizeof group));
    } while (parser_accept(parser, ","));
    query->groups = list.items;
    query->group_count = list.count;
    return STATUS_OK;
}

/* ---- SELECT ---- */

static enum status select_item(struct parser *parser, struct list *items)
{
    struct ast_select_item item = {0};
    if (parser_sees(parser, 0, "*")) {
        struct ast_expression *star;
        TRY(parser_expression_new(parser, AST_STAR, parser_start_position(parser), &star));
        parser_skip(parser, 1);
        TRY(parser_expression_done(parser, star));
        item.expression = star;
    } else {
        TRY(parser_expression(parser, &item.expression));
        TRY(parser_alias(parser, &item.alias));
    }
    return parser_add(parser, items, &item, sizeof item);
}

static enum status select_clauses(struct parser *parser, struct ast_query *query)
{
    if (parser_accept(parser, "FROM")) {
        TRY(parser_from(parser, &query->from));
    }
    if (parser_accept(parser, "WHERE")) {
        TRY(parser_expression(parser, &query->where));
    }
    if (parser_accept(parser, "GROUP")) {
        TRY(parser_expect(parser, "BY"));
        TRY(group_by(parser, query));
    }
    if (parser_accept(parser, "HAVING")) {
        TRY(parser_expression(parser, &query->having));
    }
    if (parser_accept(parser, "WINDOW")) {
        TRY(windows(parser, query));
    }
    return parser_accept(parser, "QUALIFY") ? parser_expression(parser, &query->qualify) : STATUS_OK;
}

static enum status select(struct parser *parser, struct ast_query **query)
{
    struct list items = {0};
    TRY(query_new(parser, AST_SELECT, parser_start_position(parser), query));
    parser_skip(parser, 1);
    TRY(parser_hints(parser, &(*query)->hints, &(*query)->hint_count));
    parser_accept(parser, "STREAM");
    (*query)->distinct = parser_accept(parser, "DISTINCT");
    if (!(*query)->distinct) {
        parser_accept(parser, "ALL");
    }
    do {
        TRY(select_item(parser, &items));
    } while (parser_accept(parser, ","));
    (*query)->items = items.items;
    (*query)->item_count = items.count;
    TRY(select_clauses(parser, *query));
    parser_end_position(parser, &(*query)->at);
    return STATUS_OK;
}

static enum status values(struct parser *parser, struct ast_query **query)
{
    TRY(query_new(parser, AST_VALUES, parser_start_position(parser), query));
    parser_skip(parser, 1);
    TRY(parser_expression_list(parser, &(*query)->rows, &(*query)->row_count));
    parser_end_position(parser, &(*query)->at);
    return STATUS_OK;
}

/* SELECT * FROM `table` */
static enum status select_star(struct parser *parser, struct position at, const struct ast_table *table, struct ast_query **query)
{
    struct ast_expression *star;
    struct ast_select_item *item;
    TRY(query_new(parser, AST_SELECT, at, query));
    TRY(parser_expression_new(parser, AST_STAR, at, &star));
    TRY(parser_allocate(parser, sizeof *item, &item));
    item->expression = star;
    (*query)->items = item;
    (*query)->item_count = 1;
    (*query)->from = table;
    return STATUS_OK;
}

static enum status table_new(struct parser *parser, enum ast_table_kind kind, struct position at, struct ast_table **table)
{
    TRY(parser_allocate(parser, sizeof **table, table));
    **table = (struct ast_table){.kind = kind, .at = at, .height = 1};
    return STATUS_OK;
}

/* TABLE name */
static enum status explicit_table(struct parser *parser, struct ast_query **query)
{
    struct ast_table *table;
    struct position at = parser_start_position(parser);
    parser_skip(parser, 1);
    TRY(table_new(parser, AST_TABLE_NAME, at, &table));
    TRY(parser_name(parser, &table->name, "a table's name"));
    parser_end_position(parser, &table->at);
    return select_star(parser, table->at, table, query);
}

/* A clause that would replace one of the query in parentheses goes around it instead. */
static enum status wrap(struct parser *parser, struct ast_query **query)
{
    struct ast_table *table;
    TRY(table_new(parser, AST_TABLE_SUBQUERY, (*query)->at, &table));
    table->query = *query;
    return select_star(parser, (*query)->at, table, query);
}

static bool is_complete(const struct ast_query *query)
{
    return query->order_count > 0 || query->offset != NULL || query->fetch != NULL || query->cte_count > 0;
}

static enum status operand(struct parser *parser, struct ast_query **query)
{
    if (parser_accept(parser, "(")) {
        const struct ast_query *inner;
        struct position at = parser->tokens[parser->next - 1].at;
        TRY(parser_query(parser, &inner));
        TRY(parser_expect(parser, ")"));
        TRY(parser_allocate(parser, sizeof **query, query));
        **query = *inner;
        (*query)->at = at;
        parser_end_position(parser, &(*query)->at);
        return STATUS_OK;
    }
    if (parser_at(parser, "SELECT")) {
        return select(parser, query);
    }
    if (parser_at(parser, "VALUES")) {
        return values(parser, query);
    }
    return parser_at(parser, "TABLE") ? explicit_table(parser, query) : parser_unexpected(parser, "a query");
}

static enum status combine(struct parser *parser, enum ast_set_operation operation, bool all, struct ast_query *right,
                           struct ast_query **left)
{
    struct ast_query *node;
    TRY(query_new(parser, AST_SET_OPERATION, (*left)->at, &node));
    node->operation = operation;
    node->all = all;
    node->left = *left;
    node->right = right;
    node->height = 1 + ((*left)->height > right->height ? (*left)->height : right->height);
    parser_end_position(parser, &node->at);
    *left = node;
    if (node->height > SQL_DEPTH_MAX) {
        return parser_error(parser, &node->at, ERROR_TOO_DEEP, "more than %d set operations in a row", SQL_DEPTH_MAX);
    }
    return STATUS_OK;
}

static bool all_or_distinct(struct parser *parser)
{
    bool all = parser_accept(parser, "ALL");
    if (!all) {
        parser_accept(parser, "DISTINCT");
    }
    return all;
}

/* INTERSECT binds tighter than UNION and EXCEPT. */
static enum status intersections(struct parser *parser, struct ast_query **left)
{
    while (parser_accept(parser, "INTERSECT")) {
        struct ast_query *right;
        bool all = all_or_distinct(parser);
        TRY(operand(parser, &right));
        TRY(combine(parser, AST_INTERSECT, all, right, left));
    }
    return STATUS_OK;
}

static enum status set_operations(struct parser *parser, struct ast_query **left)
{
    TRY(intersections(parser, left));
    while (parser_at(parser, "UNION") || parser_at(parser, "EXCEPT") || parser_sees(parser, 0, "MINUS")) {
        struct ast_query *right;
        enum ast_set_operation operation = parser_sees(parser, 0, "UNION") ? AST_UNION : AST_EXCEPT;
        parser_skip(parser, 1);
        bool all = all_or_distinct(parser);
        TRY(operand(parser, &right));
        TRY(intersections(parser, &right));
        TRY(combine(parser, operation, all, right, left));
    }
    return STATUS_OK;
}

static enum status limit(struct parser *parser, struct ast_query *query)
{
    if (parser_accept(parser, "ALL")) {
        return STATUS_OK;
    }
    TRY(parser_expression_above(parser, PRECEDENCE_ADD, &query->fetch));
    if (parser_accept(parser, ",")) { /* LIMIT offset, count */
        query->offset = query->fetch;
        return parser_expression_above(parser, PRECEDENCE_ADD, &query->fetch);
    }
    return STATUS_OK;
}

static enum status fetch(struct parser *parser, struct ast_query *query)
{
    if (!parser_accept(parser, "FIRST")) {
        TRY(parser_expect(parser, "NEXT"));
    }
    TRY(parser_expression_above(parser, PRECEDENCE_ADD, &query->fetch));
    if (!parser_accept(parser, "ROW")) {
        TRY(parser_expect(parser, "ROWS"));
    }
    return parser_expect(parser, "ONLY");
}

static enum status order_and_limit(struct parser *parser, struct ast_query *query)
{
    if (parser_accept(parser, "ORDER")) {
        TRY(parser_expect(parser, "BY"));
        TRY(parser_order_items(parser, &query->order, &query->order_count));
    }
    for (bool more = true; more;) {
        more = true;
        if (query->fetch == NULL && parser_accept(parser, "LIMIT")) {
            TRY(limit(parser, query));
        } else if (query->offset == NULL && parser_accept(parser, "OFFSET")) {
            TRY(parser_expression_above(parser, PRECEDENCE_ADD, &query->offset));
            if (!parser_accept(parser, "ROW")) {
                parser_accept(parser, "ROWS");
            }
        } else if (query->fetch == NULL && parser_accept(parser, "FETCH")) {
            TRY(fetch(parser, query));
        } else {
            more = false;
        }
    }
    parser_end_position(parser, &query->at);
    return STATUS_OK;
}

static enum status rest(struct parser *parser, struct ast_query **query)
{
    TRY(set_operations(parser, query));
    if (parser_at_query_rest(parser) && is_complete(*query)) {
        TRY(wrap(parser, query));
    }
    return order_and_limit(parser, *query);
}

static enum status ctes(struct parser *parser, struct list *list)
{
    if (!parser_accept(parser, "WITH")) {
        return STATUS_OK;
    }
    do {
        struct ast_cte cte = {.at = parser_start_position(parser)};
        TRY(parser_identifier(parser, &cte.name, "a name for the query"));
        if (parser_sees(parser, 0, "(")) {
            TRY(parser_identifier_list(parser, &cte.columns, &cte.column_count, "a column's name"));
        }
        TRY(parser_expect(parser, "AS"));
        TRY(parser_expect(parser, "("));
        TRY(parser_query(parser, &cte.query));
        TRY(parser_expect(parser, ")"));
        parser_end_position(parser, &cte.at);
        TRY(parser_add(parser, list, &cte, sizeof cte));
    } while (parser_accept(parser, ","));
    return STATUS_OK;
}

enum status parser_query(struct parser *parser, const struct ast_query **result)
{
    struct ast_query *query;
    struct list with = {0};
    const struct position at = parser_start_position(parser);
    TRY(parser_enter(parser));
    TRY(ctes(parser, &with));
    TRY(operand(parser, &query));
    TRY(rest(parser, &query));
    if (with.count > 0) {
        if (query->cte_count > 0) {
            TRY(wrap(parser, &query));
        }
        query->ctes = with.items;
        query->cte_count = with.count;
        query->at = at;
        parser_end_position(parser, &query->at);
    }
    parser_leave(parser);
    *result = query;
    return STATUS_OK;
}

enum status parser_query_rest(struct parser *parser, const struct ast_query *first, const struct ast_query **result)
{
    struct ast_query *query;
    TRY(parser_enter(parser));
    TRY(parser_allocate(parser, sizeof *query, &query));
    *query = *first;
    TRY(rest(parser, &query));
    parser_leave(parser);
    *result = query;
    return STATUS_OK;
}
