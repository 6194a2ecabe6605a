/* Operators by precedence, literals, names, constructors, subqueries; calls are in unparse_call.c. */
#include <string.h>

#include "sql/parser_core.h"
#include "sql/unparse_internal.h"

typedef void unparse_fn(const struct ast_expression *node, struct text_builder *out);

/* ---- precedence ---- */

static const struct {
    const char *op;
    uint32_t precedence;
} precedences[] = {
    {"OR", PRECEDENCE_OR},         {"AND", PRECEDENCE_AND},           {"+", PRECEDENCE_ADD},      {"-", PRECEDENCE_ADD},
    {"*", PRECEDENCE_MULTIPLY},    {"/", PRECEDENCE_MULTIPLY},        {"%", PRECEDENCE_MULTIPLY}, {"||", PRECEDENCE_MULTIPLY},
    {"BETWEEN", PRECEDENCE_IN},    {"NOT BETWEEN", PRECEDENCE_IN},    {"LIKE", PRECEDENCE_IN},    {"NOT LIKE", PRECEDENCE_IN},
    {"ILIKE", PRECEDENCE_IN},      {"NOT ILIKE", PRECEDENCE_IN},      {"RLIKE", PRECEDENCE_IN},   {"NOT RLIKE", PRECEDENCE_IN},
    {"SIMILAR TO", PRECEDENCE_IN}, {"NOT SIMILAR TO", PRECEDENCE_IN},
};

static bool is_postfix(const struct ast_expression *node)
{
    return node->arg_count == 1 && strncmp(node->op, "IS ", 3) == 0;
}

static uint32_t operator_precedence(const struct ast_expression *node)
{
    if (is_postfix(node)) {
        return PRECEDENCE_IS;
    }
    if (node->arg_count == 1) {
        return strcmp(node->op, "NOT") == 0 ? PRECEDENCE_NOT : PRECEDENCE_UNARY;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(precedences); i++) {
        if (strcmp(node->op, precedences[i].op) == 0) {
            return precedences[i].precedence;
        }
    }
    return PRECEDENCE_COMPARE;
}

/* FINAL x and x FORMAT JSON are calls without parentheses. */
static uint32_t precedence_of(const struct ast_expression *node)
{
    switch (node->kind) {
    case AST_OPERATOR:
        return operator_precedence(node);
    case AST_IN:
        return PRECEDENCE_IN;
    case AST_QUANTIFIED:
        return PRECEDENCE_COMPARE;
    case AST_CALL:
        return node->name.count == 0 && (strcmp(node->function, "FINAL") == 0 || strcmp(node->function, "RUNNING") == 0)
                   ? PRECEDENCE_UNARY
                   : PRECEDENCE_POSTFIX;
    default:
        return PRECEDENCE_POSTFIX;
    }
}

void unparse_operand(const struct ast_expression *expression, uint32_t precedence, struct text_builder *out)
{
    bool parentheses = precedence_of(expression) < precedence;
    text_append_text(out, parentheses ? "(" : "");
    unparse_expression(expression, out);
    text_append_text(out, parentheses ? ")" : "");
}

void unparse_list(const struct ast_expression *const *items, uint32_t count, struct text_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_text(out, i == 0 ? "" : ", ");
        unparse_expression(items[i], out);
    }
}

/* ---- operators ---- */

static void unparse_prefix(const struct ast_expression *node, struct text_builder *out)
{
    bool not = strcmp(node->op, "NOT") == 0;
    text_append_format(out, "%s%s", node->op, not ? " " : "");
    unparse_operand(node->args[0], (not ? PRECEDENCE_NOT : PRECEDENCE_UNARY) + 1, out); /* - -x is no comment */
}

static void unparse_chain(const struct ast_expression *node, uint32_t precedence, struct text_builder *out)
{
    bool logic = precedence <= PRECEDENCE_AND;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (i > 0) {
            text_append_format(out, " %s ", node->op);
        }
        unparse_operand(node->args[i], i > 0 || logic ? precedence + 1 : precedence, out);
    }
}

/* BETWEEN low AND high, LIKE pattern ESCAPE character */
static void unparse_ternary(const struct ast_expression *node, struct text_builder *out)
{
    bool between = strcmp(node->op, "BETWEEN") == 0 || strcmp(node->op, "NOT BETWEEN") == 0;
    unparse_operand(node->args[0], PRECEDENCE_IN, out);
    text_append_format(out, " %s %s", node->op, !between ? "" : node->symmetric ? "SYMMETRIC " : "ASYMMETRIC ");
    unparse_operand(node->args[1], PRECEDENCE_IN + 1, out);
    text_append_text(out, between ? " AND " : " ESCAPE ");
    unparse_operand(node->args[2], PRECEDENCE_IN + 1, out);
}

static void unparse_operator(const struct ast_expression *node, struct text_builder *out)
{
    uint32_t precedence = operator_precedence(node);
    if (is_postfix(node)) {
        unparse_operand(node->args[0], precedence, out);
        text_append_format(out, " %s", node->op);
    } else if (node->arg_count == 1) {
        unparse_prefix(node, out);
    } else if (node->arg_count == 3 && precedence == PRECEDENCE_IN) {
        unparse_ternary(node, out);
    } else {
        unparse_chain(node, precedence, out);
    }
}

static void unparse_in_operand(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, " (");
    if (node->subquery != NULL) {
        unparse_query(node->subquery, out);
    } else {
        unparse_list(node->args + 1, node->arg_count - 1, out);
    }
    text_append_char(out, ')');
}

static void unparse_in(const struct ast_expression *node, struct text_builder *out)
{
    unparse_operand(node->args[0], PRECEDENCE_IN, out);
    text_append_text(out, node->negated ? " NOT IN" : " IN");
    unparse_in_operand(node, out);
}

static void unparse_quantified(const struct ast_expression *node, struct text_builder *out)
{
    unparse_operand(node->args[0], PRECEDENCE_COMPARE, out);
    text_append_format(out, " %s %s", node->op, node->all ? "ALL" : "ANY");
    unparse_in_operand(node, out);
}

static void unparse_index(const struct ast_expression *node, struct text_builder *out)
{
    unparse_operand(node->args[0], PRECEDENCE_POSTFIX, out);
    text_append_char(out, '[');
    unparse_expression(node->args[1], out);
    text_append_char(out, ']');
}

/* (name).field is not name.field */
static void unparse_field(const struct ast_expression *node, struct text_builder *out)
{
    enum ast_expression_kind kind = node->args[0]->kind;
    bool bare = kind == AST_INDEX || kind == AST_FIELD || kind == AST_CALL;
    unparse_operand(node->args[0], bare ? PRECEDENCE_POSTFIX : PRECEDENCE_POSTFIX + 1, out);
    text_append_char(out, '.');
    if (node->star_argument) {
        text_append_char(out, '*');
    } else {
        unparse_name(&node->name, out);
    }
}

/* ---- literals and names ---- */

static void unparse_column(const struct ast_expression *node, struct text_builder *out)
{
    unparse_name(&node->name, out);
}

static void unparse_star(const struct ast_expression *node, struct text_builder *out)
{
    unparse_name(&node->name, out);
    text_append_text(out, node->name.count > 0 ? ".*" : "*");
}

/* NULL, DEFAULT, ?, TRUE, FALSE */
static void unparse_word(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, node->kind == AST_NULL        ? "NULL"
                          : node->kind == AST_DEFAULT   ? "DEFAULT"
                          : node->kind == AST_PARAMETER ? "?"
                          : node->boolean               ? "TRUE"
                                                        : "FALSE");
}

static void unparse_number(const struct ast_expression *node, struct text_builder *out)
{
    text_append(out, node->text.bytes, node->text.length);
}

static void unparse_text(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, node->kind == AST_DATE        ? "DATE "
                          : node->kind == AST_TIME      ? "TIME "
                          : node->kind == AST_TIMESTAMP ? "TIMESTAMP "
                                                        : "");
    unparse_literal(node->text, out);
}

static void unparse_binary(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, "X'");
    for (size_t i = 0; i < node->text.length; i++) {
        text_append_format(out, "%02X", (unsigned)(unsigned char)node->text.bytes[i]);
    }
    text_append_char(out, '\'');
}

static void unparse_interval(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, node->negative ? "INTERVAL -" : "INTERVAL ");
    unparse_literal(node->text, out);
    text_append_char(out, ' ');
    unparse_units(node->unit_from, node->unit_to, node->precision, node->scale, out);
}

/* ---- CASE, CAST, constructors, subqueries ---- */

static void unparse_case(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, "CASE");
    if (node->operand != NULL) {
        text_append_char(out, ' ');
        unparse_expression(node->operand, out);
    }
    for (uint32_t i = 0; i + 1 < node->arg_count; i += 2) {
        text_append_text(out, " WHEN ");
        unparse_expression(node->args[i], out);
        text_append_text(out, " THEN ");
        unparse_expression(node->args[i + 1], out);
    }
    if (node->else_value != NULL) {
        text_append_text(out, " ELSE ");
        unparse_expression(node->else_value, out);
    }
    text_append_text(out, " END");
}

static void unparse_cast(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, node->try_cast ? "TRY_CAST(" : "CAST(");
    unparse_expression(node->args[0], out);
    text_append_text(out, " AS ");
    unparse_type(node->type, out);
    text_append_char(out, ')');
}

static void unparse_constructor(const struct ast_expression *node, struct text_builder *out)
{
    bool brackets = node->kind != AST_ROW && node->kind != AST_PERIOD;
    const char *word = node->kind == AST_ROW      ? "ROW"
                       : node->kind == AST_PERIOD ? "PERIOD"
                       : node->kind == AST_ARRAY  ? "ARRAY"
                       : node->kind == AST_MAP    ? "MAP"
                                                  : "MULTISET";
    text_append_format(out, "%s%s", word, brackets ? "[" : "(");
    unparse_list(node->args, node->arg_count, out);
    text_append_text(out, brackets ? "]" : ")");
}

static void unparse_subquery(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, node->kind == AST_EXISTS ? "EXISTS (" : "(");
    unparse_query(node->subquery, out);
    text_append_char(out, ')');
}

static void unparse_next_value(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, node->negated ? "CURRENT VALUE FOR " : "NEXT VALUE FOR ");
    unparse_name(&node->name, out);
}

/* ---- arguments of table functions ---- */

static void unparse_named_argument(const struct ast_expression *node, struct text_builder *out)
{
    unparse_name(&node->name, out);
    text_append_text(out, " => ");
    unparse_list(node->args, node->arg_count, out);
}

static void unparse_descriptor(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, "DESCRIPTOR(");
    for (uint32_t i = 0; i < node->arg_count; i++) {
        text_append_text(out, i == 0 ? "" : ", ");
        unparse_name(&node->args[i]->name, out);
        if (node->args[i]->type != NULL) {
            text_append_char(out, ' ');
            unparse_type(node->args[i]->type, out);
        }
    }
    text_append_char(out, ')');
}

static void unparse_table_argument(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, "TABLE ");
    if (node->subquery != NULL) {
        unparse_subquery(node, out);
    } else {
        unparse_name(&node->name, out);
    }
    if (node->partition_count > 0) {
        text_append_text(out, " PARTITION BY (");
        unparse_list(node->partition, node->partition_count, out);
        text_append_char(out, ')');
    }
    if (node->order_count > 0) {
        text_append_text(out, " ORDER BY (");
        unparse_order(node->order, node->order_count, out);
        text_append_char(out, ')');
    }
}

static void unparse_model_argument(const struct ast_expression *node, struct text_builder *out)
{
    text_append_text(out, "MODEL ");
    unparse_name(&node->name, out);
}

void unparse_expression(const struct ast_expression *expression, struct text_builder *out)
{
    static unparse_fn *const kinds[] = {
        [AST_COLUMN] = unparse_column,
        [AST_STAR] = unparse_star,
        [AST_NULL] = unparse_word,
        [AST_BOOLEAN] = unparse_word,
        [AST_NUMBER] = unparse_number,
        [AST_STRING] = unparse_text,
        [AST_BINARY] = unparse_binary,
        [AST_DATE] = unparse_text,
        [AST_TIME] = unparse_text,
        [AST_TIMESTAMP] = unparse_text,
        [AST_INTERVAL] = unparse_interval,
        [AST_CALL] = unparse_call,
        [AST_OPERATOR] = unparse_operator,
        [AST_CASE] = unparse_case,
        [AST_CAST] = unparse_cast,
        [AST_IN] = unparse_in,
        [AST_EXISTS] = unparse_subquery,
        [AST_SUBQUERY] = unparse_subquery,
        [AST_QUANTIFIED] = unparse_quantified,
        [AST_ROW] = unparse_constructor,
        [AST_ARRAY] = unparse_constructor,
        [AST_MAP] = unparse_constructor,
        [AST_INDEX] = unparse_index,
        [AST_FIELD] = unparse_field,
        [AST_DEFAULT] = unparse_word,
        [AST_NAMED_ARG] = unparse_named_argument,
        [AST_DESCRIPTOR] = unparse_descriptor,
        [AST_TABLE_ARG] = unparse_table_argument,
        [AST_PERIOD] = unparse_constructor,
        [AST_PARAMETER] = unparse_word,
        [AST_MULTISET] = unparse_constructor,
        [AST_MODEL_ARG] = unparse_model_argument,
        [AST_NEXT_VALUE] = unparse_next_value,
    };
    kinds[expression->kind](expression, out);
}
