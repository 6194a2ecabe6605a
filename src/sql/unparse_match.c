/* MATCH_RECOGNIZE ( ... ). */
#include <inttypes.h>

#include "sql/ast_match.h"
#include "sql/parser_core.h"
#include "sql/unparse_internal.h"

/* Alternation binds least, then sequence, then repetition. */
enum pattern_level { LEVEL_ALTERNATION, LEVEL_SEQUENCE, LEVEL_FACTOR };

static void append_pattern(const struct ast_pattern *pattern, enum pattern_level least, struct text_builder *out);

static void append_children(const struct ast_pattern *pattern, const char *between, enum pattern_level least, struct text_builder *out)
{
    for (uint32_t i = 0; i < pattern->child_count; i++) {
        text_append_text(out, i == 0 ? "" : between);
        append_pattern(pattern->children[i], least, out);
    }
}

static void append_quantifier(const struct ast_pattern *pattern, struct text_builder *out)
{
    if (pattern->maximum < 0 && pattern->minimum <= 1) {
        text_append_text(out, pattern->minimum == 0 ? "*" : "+");
    } else if (pattern->minimum == 0 && pattern->maximum == 1) {
        text_append_char(out, '?');
    } else if (pattern->maximum < 0) {
        text_append_format(out, "{%" PRId64 ",}", pattern->minimum);
    } else if (pattern->minimum == pattern->maximum) {
        text_append_format(out, "{%" PRId64 "}", pattern->minimum);
    } else {
        text_append_format(out, "{%" PRId64 ",%" PRId64 "}", pattern->minimum, pattern->maximum);
    }
    text_append_text(out, pattern->reluctant ? "?" : "");
}

static void append_pattern(const struct ast_pattern *pattern, enum pattern_level least, struct text_builder *out)
{
    static const enum pattern_level levels[] = {
        [AST_PATTERN_VARIABLE] = LEVEL_FACTOR, [AST_PATTERN_SEQUENCE] = LEVEL_SEQUENCE, [AST_PATTERN_ALTERNATION] = LEVEL_ALTERNATION,
        [AST_PATTERN_REPEAT] = LEVEL_SEQUENCE, [AST_PATTERN_EXCLUSION] = LEVEL_FACTOR,  [AST_PATTERN_PERMUTE] = LEVEL_FACTOR,
        [AST_PATTERN_START] = LEVEL_FACTOR,    [AST_PATTERN_END] = LEVEL_FACTOR,
    };
    bool parentheses = levels[pattern->kind] < least;
    text_append_text(out, parentheses ? "(" : "");
    switch (pattern->kind) {
    case AST_PATTERN_VARIABLE:
        unparse_identifier(pattern->name, out);
        break;
    case AST_PATTERN_SEQUENCE: {
        for (uint32_t i = 0; i < pattern->child_count; i++) {
            bool repeat = pattern->children[i]->kind == AST_PATTERN_REPEAT;
            text_append_text(out, i == 0 ? "" : " ");
            append_pattern(pattern->children[i], repeat ? LEVEL_SEQUENCE : LEVEL_FACTOR, out);
        }
        break;
    }
    case AST_PATTERN_ALTERNATION:
        append_children(pattern, " | ", LEVEL_SEQUENCE, out);
        break;
    case AST_PATTERN_REPEAT:
        append_pattern(pattern->children[0], LEVEL_FACTOR, out);
        append_quantifier(pattern, out);
        break;
    case AST_PATTERN_EXCLUSION:
        text_append_text(out, "{- ");
        append_children(pattern, "", LEVEL_ALTERNATION, out);
        text_append_text(out, " -}");
        break;
    case AST_PATTERN_PERMUTE:
        text_append_text(out, "PERMUTE(");
        append_children(pattern, ", ", LEVEL_ALTERNATION, out);
        text_append_char(out, ')');
        break;
    default:
        text_append_char(out, pattern->kind == AST_PATTERN_START ? '^' : '$');
        break;
    }
    text_append_text(out, parentheses ? ")" : "");
}

static void append_input(const struct ast_match *match, struct text_builder *out)
{
    if (match->partition_count > 0) {
        text_append_text(out, "\nPARTITION BY ");
        unparse_list(match->partition, match->partition_count, out);
    }
    if (match->order_count > 0) {
        text_append_text(out, "\nORDER BY ");
        unparse_order(match->order, match->order_count, out);
    }
    for (uint32_t i = 0; i < match->measure_count; i++) {
        text_append_text(out, i == 0 ? "\nMEASURES " : ", ");
        unparse_expression(match->measures[i].expression, out);
        text_append_text(out, " AS ");
        unparse_identifier(match->measures[i].alias, out);
    }
}

static void append_rows_and_skip(const struct ast_match *match, struct text_builder *out)
{
    static const char *const rows[] = {
        [AST_ROWS_DEFAULT] = "", [AST_ONE_ROW] = "\nONE ROW PER MATCH", [AST_ALL_ROWS] = "\nALL ROWS PER MATCH"};
    static const char *const skips[] = {
        [AST_SKIP_DEFAULT] = "",           [AST_SKIP_TO_NEXT_ROW] = "TO NEXT ROW", [AST_SKIP_PAST_LAST_ROW] = "PAST LAST ROW",
        [AST_SKIP_TO_FIRST] = "TO FIRST ", [AST_SKIP_TO_LAST] = "TO LAST ",        [AST_SKIP_TO] = "TO "};
    text_append_text(out, rows[match->rows]);
    if (match->skip != AST_SKIP_DEFAULT) {
        text_append_format(out, "\nAFTER MATCH SKIP %s", skips[match->skip]);
    }
    if (match->skip_variable != NULL) {
        unparse_identifier(match->skip_variable, out);
    }
}

static void append_pattern_clause(const struct ast_match *match, struct text_builder *out)
{
    text_append_format(out, "\nPATTERN (%s", match->strict_start ? "^ " : "");
    append_pattern(match->pattern, LEVEL_ALTERNATION, out);
    text_append_text(out, match->strict_end ? " $)" : ")");
    if (match->within != NULL) {
        text_append_text(out, " WITHIN ");
        unparse_operand(match->within, PRECEDENCE_ADD, out);
    }
}

void unparse_match(const struct ast_match *match, struct text_builder *out)
{
    text_append_text(out, "MATCH_RECOGNIZE (");
    append_input(match, out);
    append_rows_and_skip(match, out);
    append_pattern_clause(match, out);
    for (uint32_t i = 0; i < match->subset_count; i++) {
        text_append_text(out, i == 0 ? "\nSUBSET " : ", ");
        unparse_identifier(match->subsets[i].name, out);
        text_append_text(out, " = ");
        unparse_identifiers(match->subsets[i].variables, match->subsets[i].count, out);
    }
    for (uint32_t i = 0; i < match->define_count; i++) {
        text_append_text(out, i == 0 ? "\nDEFINE " : ", ");
        unparse_identifier(match->defines[i].variable, out);
        text_append_text(out, " AS ");
        unparse_expression(match->defines[i].condition, out);
    }
    text_append_text(out, "\n)");
}
