/* MATCH_RECOGNIZE ( ... ). */
#include <string.h>

#include "sql/ast_match.h"
#include "sql/parser_core.h"

static enum status alternation(struct parser *parser, const struct ast_pattern **pattern);

static enum status pattern_new(struct parser *parser, enum ast_pattern_kind kind, struct ast_pattern **pattern)
{
    TRY(parser_allocate(parser, sizeof **pattern, pattern));
    **pattern = (struct ast_pattern){.kind = kind, .at = parser_start_position(parser)};
    return STATUS_OK;
}

static enum status pattern_done(struct parser *parser, struct ast_pattern *pattern, const struct list *children)
{
    pattern->children = children->items;
    pattern->child_count = children->count;
    parser_end_position(parser, &pattern->at);
    return STATUS_OK;
}

/* One child up to `close`. */
static enum status enclosed(struct parser *parser, enum ast_pattern_kind kind, const char *close, const struct ast_pattern **pattern)
{
    struct ast_pattern *node;
    struct list children = {0};
    const struct ast_pattern *child;
    TRY(pattern_new(parser, kind, &node));
    TRY(alternation(parser, &child));
    TRY(parser_expect(parser, close));
    TRY(parser_add(parser, &children, &child, sizeof child));
    *pattern = node;
    return pattern_done(parser, node, &children);
}

static enum status permute(struct parser *parser, const struct ast_pattern **pattern)
{
    struct ast_pattern *node;
    struct list children = {0};
    TRY(pattern_new(parser, AST_PATTERN_PERMUTE, &node));
    parser_skip(parser, 2);
    do {
        const struct ast_pattern *child;
        TRY(alternation(parser, &child));
        TRY(parser_add(parser, &children, &child, sizeof child));
    } while (parser_accept(parser, ","));
    TRY(parser_expect(parser, ")"));
    *pattern = node;
    return pattern_done(parser, node, &children);
}

static enum status factor(struct parser *parser, const struct ast_pattern **pattern)
{
    struct ast_pattern *node;
    if (parser_accept(parser, "(")) {
        TRY(alternation(parser, pattern));
        return parser_expect(parser, ")");
    }
    if (parser_accept(parser, "{-")) {
        return enclosed(parser, AST_PATTERN_EXCLUSION, "-}", pattern);
    }
    if (parser_sees(parser, 0, "PERMUTE") && parser_sees(parser, 1, "(")) {
        return permute(parser, pattern);
    }
    TRY(pattern_new(parser, AST_PATTERN_VARIABLE, &node));
    TRY(parser_identifier(parser, &node->name, "a pattern variable's name"));
    parser_end_position(parser, &node->at);
    *pattern = node;
    return STATUS_OK;
}

/* * + ? {n} {n,} {n,m} {,m}, and ? after them; *found false: none */
static enum status quantifier(struct parser *parser, int64_t *minimum, int64_t *maximum, bool *found)
{
    static const struct {
        const char *sign;
        int64_t minimum, maximum;
    } signs[] = {{"*", 0, -1}, {"+", 1, -1}, {"?", 0, 1}};
    *found = true;
    for (size_t i = 0; i < ARRAY_LENGTH(signs); i++) {
        if (parser_accept(parser, signs[i].sign)) {
            *minimum = signs[i].minimum;
            *maximum = signs[i].maximum;
            return STATUS_OK;
        }
    }
    if (!parser_accept(parser, "{")) {
        *found = false;
        return STATUS_OK;
    }
    *minimum = 0;
    if (!parser_sees(parser, 0, ",")) {
        TRY(parser_integer(parser, minimum, "a whole number"));
    }
    *maximum = *minimum;
    if (parser_accept(parser, ",")) {
        *maximum = -1;
        if (!parser_at(parser, "}")) {
            TRY(parser_integer(parser, maximum, "a whole number"));
        }
    }
    return parser_expect(parser, "}");
}

static enum status repeated(struct parser *parser, const struct ast_pattern **pattern)
{
    int64_t minimum, maximum;
    bool found;
    struct ast_pattern *node;
    struct list children = {0};
    TRY(factor(parser, pattern));
    TRY(quantifier(parser, &minimum, &maximum, &found));
    if (!found) {
        return STATUS_OK;
    }
    TRY(pattern_new(parser, AST_PATTERN_REPEAT, &node));
    node->at = (*pattern)->at;
    node->minimum = minimum;
    node->maximum = maximum;
    node->reluctant = parser_accept(parser, "?");
    TRY(parser_add(parser, &children, pattern, sizeof *pattern));
    *pattern = node;
    return pattern_done(parser, node, &children);
}

static bool at_pattern_end(struct parser *parser)
{
    return parser_at(parser, ")") || parser_sees(parser, 0, "|") || parser_sees(parser, 0, "-}") || parser_sees(parser, 0, "$") ||
           parser_sees(parser, 0, ",");
}

static enum status sequence(struct parser *parser, const struct ast_pattern **pattern)
{
    struct ast_pattern *node;
    struct list children = {0};
    TRY(pattern_new(parser, AST_PATTERN_SEQUENCE, &node));
    do {
        TRY(repeated(parser, pattern));
        TRY(parser_add(parser, &children, pattern, sizeof *pattern));
    } while (!at_pattern_end(parser));
    if (children.count == 1) {
        return STATUS_OK;
    }
    *pattern = node;
    return pattern_done(parser, node, &children);
}

static enum status alternation(struct parser *parser, const struct ast_pattern **pattern)
{
    struct ast_pattern *node;
    struct list children = {0};
    TRY(parser_enter(parser));
    TRY(pattern_new(parser, AST_PATTERN_ALTERNATION, &node));
    do {
        TRY(sequence(parser, pattern));
        TRY(parser_add(parser, &children, pattern, sizeof *pattern));
    } while (parser_accept(parser, "|"));
    parser_leave(parser);
    if (children.count == 1) {
        return STATUS_OK;
    }
    *pattern = node;
    return pattern_done(parser, node, &children);
}

/* ---- clauses ---- */

static enum status measures(struct parser *parser, struct ast_match *match)
{
    struct list list = {0};
    do {
        struct ast_measure measure;
        TRY(parser_expression(parser, &measure.expression));
        TRY(parser_expect(parser, "AS"));
        TRY(parser_identifier(parser, &measure.alias, "a measure's name"));
        TRY(parser_add(parser, &list, &measure, sizeof measure));
    } while (parser_accept(parser, ","));
    match->measures = list.items;
    match->measure_count = list.count;
    return STATUS_OK;
}

static enum status rows_per_match(struct parser *parser, struct ast_match *match)
{
    if (parser_accept(parser, "ONE")) {
        match->rows = AST_ONE_ROW;
        TRY(parser_expect(parser, "ROW"));
    } else if (parser_accept_pair(parser, "ALL", "ROWS")) {
        match->rows = AST_ALL_ROWS;
    } else {
        return STATUS_OK;
    }
    TRY(parser_expect(parser, "PER"));
    return parser_expect(parser, "MATCH");
}

/* After SKIP. */
static enum status skip(struct parser *parser, struct ast_match *match)
{
    if (parser_accept(parser, "PAST")) {
        match->skip = AST_SKIP_PAST_LAST_ROW;
        TRY(parser_expect(parser, "LAST"));
        return parser_expect(parser, "ROW");
    }
    TRY(parser_expect(parser, "TO"));
    if (parser_accept_pair(parser, "NEXT", "ROW")) {
        match->skip = AST_SKIP_TO_NEXT_ROW;
        return STATUS_OK;
    }
    enum token_kind next = parser_peek(parser, 1)->kind;
    bool more = next == TOKEN_QUOTED || (next == TOKEN_WORD && !parser_peek(parser, 1)->reserved);
    match->skip = more && parser_accept(parser, "FIRST")  ? AST_SKIP_TO_FIRST
                  : more && parser_accept(parser, "LAST") ? AST_SKIP_TO_LAST
                                                          : AST_SKIP_TO;
    return parser_identifier(parser, &match->skip_variable, "a pattern variable's name");
}

static enum status pattern_clause(struct parser *parser, struct ast_match *match)
{
    TRY(parser_expect(parser, "PATTERN"));
    TRY(parser_expect(parser, "("));
    match->strict_start = parser_accept(parser, "^");
    TRY(alternation(parser, &match->pattern));
    match->strict_end = parser_accept(parser, "$");
    TRY(parser_expect(parser, ")"));
    return parser_accept(parser, "WITHIN") ? parser_expression_above(parser, PRECEDENCE_ADD, &match->within) : STATUS_OK;
}

static enum status subsets(struct parser *parser, struct ast_match *match)
{
    struct list list = {0};
    do {
        struct ast_subset subset;
        TRY(parser_identifier(parser, &subset.name, "a subset's name"));
        TRY(parser_expect(parser, "="));
        TRY(parser_identifier_list(parser, &subset.variables, &subset.count, "a pattern variable's name"));
        TRY(parser_add(parser, &list, &subset, sizeof subset));
    } while (parser_accept(parser, ","));
    match->subsets = list.items;
    match->subset_count = list.count;
    return STATUS_OK;
}

static enum status defines(struct parser *parser, struct ast_match *match)
{
    struct list list = {0};
    do {
        struct ast_define define = {.at = parser_start_position(parser)};
        TRY(parser_identifier(parser, &define.variable, "a pattern variable's name"));
        TRY(parser_expect(parser, "AS"));
        TRY(parser_expression(parser, &define.condition));
        parser_end_position(parser, &define.at);
        TRY(parser_add(parser, &list, &define, sizeof define));
    } while (parser_accept(parser, ","));
    match->defines = list.items;
    match->define_count = list.count;
    return STATUS_OK;
}

static enum status input_clauses(struct parser *parser, struct ast_match *match)
{
    if (parser_accept(parser, "PARTITION")) {
        TRY(parser_expect(parser, "BY"));
        TRY(parser_expression_list(parser, &match->partition, &match->partition_count));
    }
    if (parser_accept(parser, "ORDER")) {
        TRY(parser_expect(parser, "BY"));
        TRY(parser_order_items(parser, &match->order, &match->order_count));
    }
    if (parser_accept(parser, "MEASURES")) {
        TRY(measures(parser, match));
    }
    TRY(rows_per_match(parser, match));
    if (parser_accept(parser, "AFTER")) {
        TRY(parser_expect(parser, "MATCH"));
        TRY(parser_expect(parser, "SKIP"));
        return skip(parser, match);
    }
    return STATUS_OK;
}

enum status parser_match(struct parser *parser, const struct ast_match **result)
{
    struct ast_match *match;
    TRY(parser_allocate(parser, sizeof *match, &match));
    match->at = parser_start_position(parser);
    parser_skip(parser, 1);
    TRY(parser_expect(parser, "("));
    TRY(input_clauses(parser, match));
    TRY(pattern_clause(parser, match));
    if (parser_accept(parser, "SUBSET")) {
        TRY(subsets(parser, match));
    }
    if (parser_accept(parser, "DEFINE")) {
        TRY(defines(parser, match));
    }
    TRY(parser_expect(parser, ")"));
    parser_end_position(parser, &match->at);
    *result = match;
    return STATUS_OK;
}
