/* Queries: WITH, SELECT, VALUES, set operations, ORDER BY, windows. */
#include <string.h>

#include "sql/parser_core.h"
#include "sql/unparse_internal.h"

/* ---- ORDER BY and windows ---- */

void unparse_order(const struct ast_order_item *items, uint32_t count, struct text_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_text(out, i == 0 ? "" : ", ");
        unparse_expression(items[i].expression, out);
        text_append_text(out, items[i].descending ? " DESC" : "");
        text_append_text(out, !items[i].nulls_given ? "" : items[i].nulls_first ? " NULLS FIRST" : " NULLS LAST");
    }
}

static void append_bound(enum ast_frame_bound bound, const struct ast_expression *value, struct text_builder *out)
{
    static const char *const words[] = {[AST_UNBOUNDED_PRECEDING] = "UNBOUNDED PRECEDING",
                                        [AST_PRECEDING] = " PRECEDING",
                                        [AST_CURRENT_ROW] = "CURRENT ROW",
                                        [AST_FOLLOWING] = " FOLLOWING",
                                        [AST_UNBOUNDED_FOLLOWING] = "UNBOUNDED FOLLOWING"};
    if (value != NULL) {
        unparse_expression(value, out);
    }
    text_append_text(out, words[bound]);
}

static void append_separator(struct text_builder *out, bool *first)
{
    text_append_text(out, *first ? "" : " ");
    *first = false;
}

void unparse_window(const struct ast_window *window, struct text_builder *out)
{
    bool first = true;
    text_append_char(out, '(');
    if (window->name != NULL) {
        append_separator(out, &first);
        unparse_identifier(window->name, out);
    }
    if (window->partition_count > 0) {
        append_separator(out, &first);
        text_append_text(out, "PARTITION BY ");
        unparse_list(window->partition, window->partition_count, out);
    }
    if (window->order_count > 0) {
        append_separator(out, &first);
        text_append_text(out, "ORDER BY ");
        unparse_order(window->order, window->order_count, out);
    }
    if (window->has_frame) {
        append_separator(out, &first);
        text_append_text(out, window->rows ? "ROWS BETWEEN " : "RANGE BETWEEN ");
        append_bound(window->start, window->start_value, out);
        text_append_text(out, " AND ");
        append_bound(window->end, window->end_value, out);
    }
    text_append_char(out, ')');
}

/* ---- GROUP BY ---- */

/* (a, b) rather than ROW(a, b) */
static void append_grouping_expressions(const struct ast_grouping *group, struct text_builder *out)
{
    for (uint32_t i = 0; i < group->expression_count; i++) {
        const struct ast_expression *expression = group->expressions[i];
        text_append_text(out, i == 0 ? "" : ", ");
        if (expression->kind == AST_ROW && expression->arg_count > 1) {
            text_append_char(out, '(');
            unparse_list(expression->args, expression->arg_count, out);
            text_append_char(out, ')');
        } else {
            unparse_expression(expression, out);
        }
    }
}

static void append_groups(const struct ast_grouping *groups, uint32_t count, struct text_builder *out)
{
    static const char *const opens[] = {[AST_GROUP_PLAIN] = "",
                                        [AST_GROUP_SETS] = "GROUPING SETS (",
                                        [AST_GROUP_CUBE] = "CUBE (",
                                        [AST_GROUP_ROLLUP] = "ROLLUP (",
                                        [AST_GROUP_EMPTY] = "("};
    for (uint32_t i = 0; i < count; i++) {
        text_append_text(out, i == 0 ? "" : ", ");
        text_append_text(out, opens[groups[i].kind]);
        append_grouping_expressions(&groups[i], out);
        append_groups(groups[i].sets, groups[i].set_count, out);
        text_append_text(out, groups[i].kind == AST_GROUP_PLAIN ? "" : ")");
    }
}

/* ---- SELECT ---- */

static void append_items(const struct ast_query *query, struct text_builder *out)
{
    for (uint32_t i = 0; i < query->item_count; i++) {
        text_append_text(out, i == 0 ? "" : ", ");
        unparse_expression(query->items[i].expression, out);
        if (query->items[i].alias != NULL) {
            text_append_text(out, " AS ");
            unparse_identifier(query->items[i].alias, out);
        }
    }
}

static void append_condition(const char *word, const struct ast_expression *condition, struct text_builder *out)
{
    if (condition != NULL) {
        text_append_format(out, "\n%s ", word);
        unparse_expression(condition, out);
    }
}

static void append_windows(const struct ast_query *query, struct text_builder *out)
{
    for (uint32_t i = 0; i < query->window_count; i++) {
        text_append_text(out, i == 0 ? "\nWINDOW " : ", ");
        unparse_identifier(query->windows[i].name, out);
        text_append_text(out, " AS ");
        unparse_window(query->windows[i].window, out);
    }
}

static void append_select(const struct ast_query *query, struct text_builder *out)
{
    text_append_text(out, "SELECT ");
    unparse_hints(query->hints, query->hint_count, out);
    text_append_text(out, query->hint_count > 0 ? " " : "");
    text_append_text(out, query->distinct ? "DISTINCT " : "");
    append_items(query, out);
    if (query->from != NULL) {
        text_append_text(out, "\nFROM ");
        unparse_from(query->from, out);
    }
    append_condition("WHERE", query->where, out);
    if (query->has_group_by) {
        text_append_text(out, "\nGROUP BY ");
        append_groups(query->groups, query->group_count, out);
    }
    append_condition("HAVING", query->having, out);
    append_windows(query, out);
    append_condition("QUALIFY", query->qualify, out);
}

/* ---- set operations ---- */

static bool is_complete(const struct ast_query *query)
{
    return query->order_count > 0 || query->offset != NULL || query->fetch != NULL || query->cte_count > 0;
}

/* INTERSECT binds tighter than UNION and EXCEPT; all of them to the left. */
static bool needs_parentheses(const struct ast_query *operand, const struct ast_query *whole, bool right)
{
    if (is_complete(operand)) {
        return true;
    }
    if (operand->kind != AST_SET_OPERATION) {
        return false;
    }
    bool tighter = operand->operation == AST_INTERSECT && whole->operation != AST_INTERSECT;
    bool same = (operand->operation == AST_INTERSECT) == (whole->operation == AST_INTERSECT);
    return !tighter && (right || !same);
}

static void append_operand(const struct ast_query *operand, const struct ast_query *whole, bool right, struct text_builder *out)
{
    bool parentheses = needs_parentheses(operand, whole, right);
    text_append_text(out, parentheses ? "(" : "");
    unparse_query(operand, out);
    text_append_text(out, parentheses ? ")" : "");
}

static void append_set_operation(const struct ast_query *query, struct text_builder *out)
{
    static const char *const words[] = {[AST_UNION] = "UNION", [AST_INTERSECT] = "INTERSECT", [AST_EXCEPT] = "EXCEPT"};
    append_operand(query->left, query, false, out);
    text_append_format(out, "\n%s%s\n", words[query->operation], query->all ? " ALL" : "");
    append_operand(query->right, query, true, out);
}

/* ---- the whole ---- */

static void append_ctes(const struct ast_query *query, struct text_builder *out)
{
    for (uint32_t i = 0; i < query->cte_count; i++) {
        const struct ast_cte *cte = &query->ctes[i];
        text_append_text(out, i == 0 ? "WITH " : ",\n");
        unparse_identifier(cte->name, out);
        if (cte->column_count > 0) {
            text_append_char(out, ' ');
            unparse_identifiers(cte->columns, cte->column_count, out);
        }
        text_append_text(out, " AS (");
        unparse_query(cte->query, out);
        text_append_char(out, ')');
    }
    text_append_text(out, query->cte_count > 0 ? "\n" : "");
}

static void append_order_and_limit(const struct ast_query *query, struct text_builder *out)
{
    if (query->order_count > 0) {
        text_append_text(out, "\nORDER BY ");
        unparse_order(query->order, query->order_count, out);
    }
    if (query->offset != NULL) {
        text_append_text(out, "\nOFFSET ");
        unparse_operand(query->offset, PRECEDENCE_ADD, out);
        text_append_text(out, " ROWS");
    }
    if (query->fetch != NULL) {
        text_append_text(out, "\nFETCH NEXT ");
        unparse_operand(query->fetch, PRECEDENCE_ADD, out);
        text_append_text(out, " ROWS ONLY");
    }
}

void unparse_query(const struct ast_query *query, struct text_builder *out)
{
    append_ctes(query, out);
    if (query->kind == AST_SET_OPERATION) {
        append_set_operation(query, out);
    } else if (query->kind == AST_VALUES) {
        text_append_text(out, "VALUES ");
        unparse_list(query->rows, query->row_count, out);
    } else {
        append_select(query, out);
    }
    append_order_and_limit(query, out);
}
