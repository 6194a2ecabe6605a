/* Operators by precedence climbing, after Calcite's table of precedences. */
#include <string.h>

#include "sql/parser_core.h"

struct binary_operator {
    const char *word, *name;
    uint32_t precedence;
};
static const struct binary_operator binary_operators[] = {
    {"OR", "OR", PRECEDENCE_OR},
    {"AND", "AND", PRECEDENCE_AND},
    {"=", "=", PRECEDENCE_COMPARE},
    {"<>", "<>", PRECEDENCE_COMPARE},
    {"!=", "<>", PRECEDENCE_COMPARE},
    {"<", "<", PRECEDENCE_COMPARE},
    {"<=", "<=", PRECEDENCE_COMPARE},
    {">", ">", PRECEDENCE_COMPARE},
    {">=", ">=", PRECEDENCE_COMPARE},
    {"OVERLAPS", "OVERLAPS", PRECEDENCE_COMPARE},
    {"CONTAINS", "CONTAINS", PRECEDENCE_COMPARE},
    {"EQUALS", "EQUALS", PRECEDENCE_COMPARE},
    {"PRECEDES", "PRECEDES", PRECEDENCE_COMPARE},
    {"SUCCEEDS", "SUCCEEDS", PRECEDENCE_COMPARE},
    {"+", "+", PRECEDENCE_ADD},
    {"-", "-", PRECEDENCE_ADD},
    {"*", "*", PRECEDENCE_MULTIPLY},
    {"/", "/", PRECEDENCE_MULTIPLY},
    {"%", "%", PRECEDENCE_MULTIPLY},
    {"||", "||", PRECEDENCE_MULTIPLY},
};

enum status parser_expression_new(struct parser *parser, enum ast_expression_kind kind, struct position at,
                                  struct ast_expression **expression)
{
    TRY(parser_allocate(parser, sizeof **expression, expression));
    **expression = (struct ast_expression){.kind = kind, .at = at, .precision = -1, .scale = -1, .height = 1};
    return STATUS_OK;
}

static void raise_height(struct ast_expression *expression, const struct ast_expression *below)
{
    if (below != NULL && below->height >= expression->height) {
        expression->height = below->height + 1;
    }
}

enum status parser_expression_done(struct parser *parser, struct ast_expression *expression)
{
    parser_end_position(parser, &expression->at);
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        raise_height(expression, expression->args[i]);
    }
    raise_height(expression, expression->operand);
    raise_height(expression, expression->else_value);
    if (expression->height > SQL_DEPTH_MAX) {
        return parser_error(parser, &expression->at, ERROR_TOO_DEEP, "the expression nests more than %d levels", SQL_DEPTH_MAX);
    }
    return STATUS_OK;
}

enum status parser_expression_args(struct parser *parser, struct ast_expression *expression, const struct list *args)
{
    expression->args = args->items;
    expression->arg_count = args->count;
    return parser_expression_done(parser, expression);
}

static enum status operator_new(struct parser *parser, const char *name, const struct ast_expression *left, struct ast_expression **node)
{
    TRY(parser_expression_new(parser, AST_OPERATOR, left->at, node));
    (*node)->op = name;
    return STATUS_OK;
}

static enum status with_args(struct parser *parser, struct ast_expression *node, const struct ast_expression *first,
                             const struct ast_expression *second, const struct ast_expression *third)
{
    const struct ast_expression *all[] = {first, second, third};
    struct list args = {0};
    for (size_t i = 0; i < ARRAY_LENGTH(all) && all[i] != NULL; i++) {
        TRY(parser_add(parser, &args, &all[i], sizeof all[i]));
    }
    return parser_expression_args(parser, node, &args);
}

static const struct binary_operator *find_binary(struct parser *parser)
{
    const struct token *token = parser_peek(parser, 0);
    for (size_t i = 0; (token->kind == TOKEN_WORD || token->kind == TOKEN_OPERATOR) && i < ARRAY_LENGTH(binary_operators); i++) {
        if (strcmp(token->word, binary_operators[i].word) == 0) {
            return &binary_operators[i];
        }
    }
    return NULL;
}

/* = ANY (query), <= ALL (1, 2): the comparison is already taken */
static bool at_quantifier(struct parser *parser)
{
    return (parser_sees(parser, 0, "ANY") || parser_sees(parser, 0, "SOME") || parser_sees(parser, 0, "ALL")) &&
           parser_sees(parser, 1, "(");
}

/* ( query ) or ( list ) as the right side of IN and of quantified comparisons. */
static enum status in_operand(struct parser *parser, struct ast_expression *node, const struct ast_expression *left)
{
    struct list args = {0};
    TRY(parser_add(parser, &args, &left, sizeof left));
    TRY(parser_expect(parser, "("));
    if (parser_at_query(parser)) {
        TRY(parser_query(parser, &node->subquery));
        TRY(parser_expect(parser, ")"));
        return parser_expression_args(parser, node, &args);
    }
    do {
        const struct ast_expression *item;
        TRY(parser_expression(parser, &item));
        if (args.count == 1 && item->kind == AST_SUBQUERY && (parser_at_query_rest(parser) || parser_sees(parser, 0, ")"))) {
            TRY(parser_query_rest(parser, item->subquery, &node->subquery));
            break;
        }
        TRY(parser_add(parser, &args, &item, sizeof item));
    } while (parser_accept(parser, ","));
    TRY(parser_expect(parser, ")"));
    return parser_expression_args(parser, node, &args);
}

static enum status quantified(struct parser *parser, const char *name, const struct ast_expression **left)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, AST_QUANTIFIED, (*left)->at, &node));
    node->op = name;
    node->all = parser_sees(parser, 0, "ALL");
    parser_skip(parser, 1);
    TRY(in_operand(parser, node, *left));
    *left = node;
    return STATUS_OK;
}

/* a AND b AND c: one node of three */
static enum status logic_chain(struct parser *parser, const struct binary_operator *binary, const struct ast_expression **left)
{
    struct ast_expression *node;
    struct list args = {0};
    TRY(operator_new(parser, binary->name, *left, &node));
    TRY(parser_add(parser, &args, left, sizeof *left));
    while (parser_sees(parser, 0, binary->word)) {
        const struct ast_expression *right;
        parser_skip(parser, 1);
        TRY(parser_expression_above(parser, binary->precedence + 1, &right));
        TRY(parser_add(parser, &args, &right, sizeof right));
    }
    *left = node;
    return parser_expression_args(parser, node, &args);
}

static enum status binary(struct parser *parser, const struct binary_operator *binary, const struct ast_expression **left)
{
    struct ast_expression *node;
    const struct ast_expression *right;
    if (binary->precedence <= PRECEDENCE_AND) {
        return logic_chain(parser, binary, left);
    }
    parser_skip(parser, 1);
    if (binary->precedence == PRECEDENCE_COMPARE && at_quantifier(parser)) {
        return quantified(parser, binary->name, left);
    }
    TRY(operator_new(parser, binary->name, *left, &node));
    TRY(parser_expression_above(parser, binary->precedence + 1, &right));
    TRY(with_args(parser, node, *left, right, NULL));
    *left = node;
    return STATUS_OK;
}

static enum status between(struct parser *parser, bool negated, const struct ast_expression **left)
{
    struct ast_expression *node;
    const struct ast_expression *low, *high;
    TRY(operator_new(parser, negated ? "NOT BETWEEN" : "BETWEEN", *left, &node));
    node->negated = negated;
    node->symmetric = parser_accept(parser, "SYMMETRIC");
    if (!node->symmetric) {
        parser_accept(parser, "ASYMMETRIC");
    }
    TRY(parser_expression_above(parser, PRECEDENCE_IN + 1, &low));
    TRY(parser_expect(parser, "AND"));
    TRY(parser_expression_above(parser, PRECEDENCE_IN + 1, &high));
    TRY(with_args(parser, node, *left, low, high));
    *left = node;
    return STATUS_OK;
}

static enum status pattern(struct parser *parser, const char *name, bool negated, const struct ast_expression **left)
{
    struct ast_expression *node;
    const struct ast_expression *right, *escape = NULL;
    TRY(operator_new(parser, name, *left, &node));
    node->negated = negated;
    TRY(parser_expression_above(parser, PRECEDENCE_IN + 1, &right));
    if (parser_accept(parser, "ESCAPE")) {
        TRY(parser_expression_above(parser, PRECEDENCE_IN + 1, &escape));
    }
    TRY(with_args(parser, node, *left, right, escape));
    *left = node;
    return STATUS_OK;
}

static enum status in(struct parser *parser, bool negated, const struct ast_expression **left)
{
    struct ast_expression *node;
    TRY(parser_expression_new(parser, AST_IN, (*left)->at, &node));
    node->negated = negated;
    TRY(in_operand(parser, node, *left));
    *left = node;
    return STATUS_OK;
}

static bool at_in_level(struct parser *parser, uint32_t ahead)
{
    return parser_sees(parser, ahead, "BETWEEN") || parser_sees(parser, ahead, "LIKE") || parser_sees(parser, ahead, "ILIKE") ||
           parser_sees(parser, ahead, "RLIKE") || parser_sees(parser, ahead, "SIMILAR") || parser_sees(parser, ahead, "IN");
}

/* [NOT] BETWEEN | IN | LIKE | ILIKE | RLIKE | SIMILAR TO */
static enum status in_level(struct parser *parser, const struct ast_expression **left)
{
    bool negated = parser_accept(parser, "NOT");
    if (parser_accept(parser, "BETWEEN")) {
        return between(parser, negated, left);
    }
    if (parser_accept(parser, "IN")) {
        return in(parser, negated, left);
    }
    if (parser_accept_pair(parser, "SIMILAR", "TO")) {
        return pattern(parser, negated ? "NOT SIMILAR TO" : "SIMILAR TO", negated, left);
    }
    if (parser_accept(parser, "ILIKE")) {
        return pattern(parser, negated ? "NOT ILIKE" : "ILIKE", negated, left);
    }
    if (parser_accept(parser, "RLIKE")) {
        return pattern(parser, negated ? "NOT RLIKE" : "RLIKE", negated, left);
    }
    TRY(parser_expect(parser, "LIKE"));
    return pattern(parser, negated ? "NOT LIKE" : "LIKE", negated, left);
}

static const struct {
    const char *word, *plain, *negated;
} is_tests[] = {
    {"NULL", "IS NULL", "IS NOT NULL"},          {"TRUE", "IS TRUE", "IS NOT TRUE"}, {"FALSE", "IS FALSE", "IS NOT FALSE"},
    {"UNKNOWN", "IS UNKNOWN", "IS NOT UNKNOWN"}, {"A", "IS A SET", "IS NOT A SET"},  {"EMPTY", "IS EMPTY", "IS NOT EMPTY"},
};
static const char *const json_tests[][3] = {
    {"VALUE", "IS JSON VALUE", "IS NOT JSON VALUE"},
    {"OBJECT", "IS JSON OBJECT", "IS NOT JSON OBJECT"},
    {"ARRAY", "IS JSON ARRAY", "IS NOT JSON ARRAY"},
    {"SCALAR", "IS JSON SCALAR", "IS NOT JSON SCALAR"},
};

static enum status is_json(struct parser *parser, bool negated, const struct ast_expression **left)
{
    struct ast_expression *node;
    TRY(operator_new(parser, negated ? "IS NOT JSON VALUE" : "IS JSON VALUE", *left, &node));
    node->negated = negated;
    for (size_t i = 0; i < ARRAY_LENGTH(json_tests); i++) {
        if (parser_accept(parser, json_tests[i][0])) {
            node->op = json_tests[i][negated ? 2 : 1];
            break;
        }
    }
    TRY(with_args(parser, node, *left, NULL, NULL));
    *left = node;
    return STATUS_OK;
}

/* At IS. DISTINCT FROM binds as a comparison, the tests are postfix. */
static enum status is(struct parser *parser, const struct ast_expression **left)
{
    struct ast_expression *node;
    parser_skip(parser, 1);
    bool negated = parser_accept(parser, "NOT");
    if (parser_accept(parser, "DISTINCT")) {
        const struct ast_expression *right;
        TRY(parser_expect(parser, "FROM"));
        TRY(operator_new(parser, negated ? "IS NOT DISTINCT FROM" : "IS DISTINCT FROM", *left, &node));
        TRY(parser_expression_above(parser, PRECEDENCE_COMPARE + 1, &right));
        node->negated = negated;
        TRY(with_args(parser, node, *left, right, NULL));
        *left = node;
        return STATUS_OK;
    }
    if (parser_accept(parser, "JSON")) {
        return is_json(parser, negated, left);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(is_tests); i++) {
        if (!parser_accept(parser, is_tests[i].word)) {
            continue;
        }
        if (strcmp(is_tests[i].word, "A") == 0) {
            TRY(parser_expect(parser, "SET"));
        }
        TRY(operator_new(parser, negated ? is_tests[i].negated : is_tests[i].plain, *left, &node));
        node->negated = negated;
        TRY(with_args(parser, node, *left, NULL, NULL));
        *left = node;
        return STATUS_OK;
    }
    return parser_unexpected(parser, "NULL, TRUE, FALSE, UNKNOWN, DISTINCT FROM or JSON");
}

/* a[i] and (a).field */
static enum status postfix(struct parser *parser, const struct ast_expression **left)
{
    struct ast_expression *node;
    const struct ast_expression *index;
    bool item = parser_sees(parser, 0, "[");
    parser_skip(parser, 1);
    TRY(parser_expression_new(parser, item ? AST_INDEX : AST_FIELD, (*left)->at, &node));
    if (item) {
        TRY(parser_expression(parser, &index));
        TRY(parser_expect(parser, "]"));
        TRY(with_args(parser, node, *left, index, NULL));
    } else if (parser_accept(parser, "*")) {
        node->star_argument = true;
        TRY(with_args(parser, node, *left, NULL, NULL));
    } else {
        struct ast_name name;
        TRY(parser_name(parser, &name, "a field's name"));
        for (uint32_t i = 0; i < name.count; i++) { /* (r).a.b: a field of a field */
            if (i > 0) {
                TRY(parser_expression_new(parser, AST_FIELD, (*left)->at, &node));
            }
            node->name = (struct ast_name){
                .at = name.part_positions[i], .count = 1, .parts = name.parts + i, .part_positions = name.part_positions + i};
            TRY(with_args(parser, node, *left, NULL, NULL));
            node->at.end = name.part_positions[i].end;
            *left = node;
        }
    }
    *left = node;
    return STATUS_OK;
}

/* One step of growing `left` by an operator at least as tight as `precedence`; *grown false: there is none. */
static enum status grow(struct parser *parser, uint32_t precedence, const struct ast_expression **left, bool *grown)
{
    *grown = true;
    if (parser_sees(parser, 0, "[") || parser_sees(parser, 0, ".")) {
        return postfix(parser, left);
    }
    const struct binary_operator *found = find_binary(parser);
    if (found != NULL) {
        *grown = found->precedence >= precedence;
        return *grown ? binary(parser, found, left) : STATUS_OK;
    }
    bool not = parser_sees(parser, 0, "NOT");
    if (at_in_level(parser, not ? 1 : 0)) {
        *grown = PRECEDENCE_IN >= precedence;
        return *grown ? in_level(parser, left) : STATUS_OK;
    }
    if (parser_sees(parser, 0, "IS")) {
        bool distinct = parser_sees(parser, 1, "DISTINCT") || (parser_sees(parser, 1, "NOT") && parser_sees(parser, 2, "DISTINCT"));
        *grown = (distinct ? PRECEDENCE_COMPARE : PRECEDENCE_IS) >= precedence;
        return *grown ? is(parser, left) : STATUS_OK;
    }
    if (parser_sees(parser, 0, "MULTISET") &&
        (parser_sees(parser, 1, "UNION") || parser_sees(parser, 1, "EXCEPT") || parser_sees(parser, 1, "INTERSECT"))) {
        return parser_error(parser, &parser_peek(parser, 0)->at, ERROR_NOT_SUPPORTED, "operators on multisets are not supported");
    }
    *grown = false;
    return STATUS_OK;
}

static enum status prefix(struct parser *parser, const struct ast_expression **expression)
{
    static const struct binary_operator prefixes[] = {
        {"NOT", "NOT", PRECEDENCE_NOT + 1}, {"-", "-", PRECEDENCE_UNARY}, {"+", "+", PRECEDENCE_UNARY}};
    for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++) {
        if (!parser_sees(parser, 0, prefixes[i].word)) {
            continue;
        }
        struct ast_expression *node;
        const struct ast_expression *operand;
        TRY(parser_expression_new(parser, AST_OPERATOR, parser_start_position(parser), &node));
        node->op = prefixes[i].name;
        parser_skip(parser, 1);
        TRY(parser_expression_above(parser, prefixes[i].precedence, &operand));
        *expression = node;
        return with_args(parser, node, operand, NULL, NULL);
    }
    return parser_primary(parser, expression);
}

enum status parser_expression_above(struct parser *parser, uint32_t precedence, const struct ast_expression **expression)
{
    bool grown = true;
    TRY(parser_enter(parser));
    TRY(prefix(parser, expression));
    while (grown) {
        TRY(grow(parser, precedence, expression, &grown));
    }
    parser_leave(parser);
    return STATUS_OK;
}

enum status parser_expression(struct parser *parser, const struct ast_expression **expression)
{
    return parser_expression_above(parser, 0, expression);
}

enum status parser_expression_list(struct parser *parser, const struct ast_expression *const **items, uint32_t *count)
{
    struct list list = {0};
    do {
        const struct ast_expression *item;
        TRY(parser_expression(parser, &item));
        TRY(parser_add(parser, &list, &item, sizeof item));
    } while (parser_accept(parser, ","));
    *items = list.items;
    *count = list.count;
    return STATUS_OK;
}
