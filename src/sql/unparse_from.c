/* FROM: tables, joins, hints. */
#include <string.h>

#include "sql/unparse_internal.h"

void unparse_hints(const struct ast_hint *hints, uint32_t count, struct text_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_text(out, i == 0 ? "/*+ " : ", ");
        unparse_identifier(hints[i].name, out);
        for (uint32_t k = 0; k < hints[i].count; k++) {
            text_append_text(out, k == 0 ? "(" : ", ");
            if (hints[i].keys[k] != NULL) {
                unparse_literal(text_from(hints[i].keys[k]), out);
                text_append_text(out, " = ");
            }
            unparse_literal(text_from(hints[i].values[k]), out);
        }
        text_append_text(out, hints[i].count > 0 ? ")" : "");
    }
    text_append_text(out, count > 0 ? " */" : "");
}

static void append_join(const struct ast_table *join, struct text_builder *out)
{
    static const char *const words[] = {
        [AST_JOIN_INNER] = "INNER JOIN",   [AST_JOIN_LEFT] = "LEFT JOIN",   [AST_JOIN_RIGHT] = "RIGHT JOIN",
        [AST_JOIN_FULL] = "FULL JOIN",     [AST_JOIN_CROSS] = "CROSS JOIN", [AST_JOIN_SEMI] = "LEFT SEMI JOIN",
        [AST_JOIN_ANTI] = "LEFT ANTI JOIN"};
    bool nested = join->right->kind == AST_TABLE_JOIN;
    unparse_from(join->left, out);
    text_append_format(out, "\n%s%s %s", join->natural ? "NATURAL " : "", words[join->join], nested ? "(" : "");
    unparse_from(join->right, out);
    text_append_text(out, nested ? ")" : "");
    if (join->on != NULL) {
        text_append_text(out, " ON ");
        unparse_expression(join->on, out);
    } else if (join->using_count > 0) {
        text_append_text(out, " USING ");
        unparse_identifiers(join->using_columns, join->using_count, out);
    }
}

static void append_named_table(const struct ast_table *table, struct text_builder *out)
{
    unparse_name(&table->name, out);
    text_append_text(out, table->hint_count > 0 ? " " : "");
    unparse_hints(table->hints, table->hint_count, out);
}

static void append_subquery(const struct ast_table *table, struct text_builder *out)
{
    text_append_text(out, table->lateral ? "LATERAL (" : "(");
    unparse_query(table->query, out);
    text_append_char(out, ')');
}

static void append_function(const struct ast_table *table, struct text_builder *out)
{
    text_append_text(out, table->lateral ? "LATERAL TABLE(" : "TABLE(");
    unparse_expression(table->call, out);
    text_append_char(out, ')');
}

static void append_unnest(const struct ast_table *table, struct text_builder *out)
{
    text_append_text(out, table->lateral ? "LATERAL UNNEST(" : "UNNEST(");
    unparse_list(table->call->args, table->call->arg_count, out);
    text_append_text(out, table->with_ordinality ? ") WITH ORDINALITY" : ")");
}

static void append_match(const struct ast_table *table, struct text_builder *out)
{
    unparse_from(table->left, out);
    text_append_char(out, ' ');
    unparse_match(table->match, out);
}

static void append_sample(const struct ast_sample *sample, struct text_builder *out)
{
    text_append_format(out, " TABLESAMPLE %s (", sample->method);
    unparse_expression(sample->percent, out);
    text_append_char(out, ')');
    if (sample->seed != NULL) {
        text_append_text(out, " REPEATABLE (");
        unparse_expression(sample->seed, out);
        text_append_char(out, ')');
    }
}

static void append_table_suffix(const struct ast_table *table, struct text_builder *out)
{
    if (table->system_time != NULL) {
        text_append_text(out, " FOR SYSTEM_TIME AS OF ");
        unparse_expression(table->system_time, out);
    }
    if (table->alias != NULL) {
        text_append_text(out, " AS ");
        unparse_identifier(table->alias, out);
    }
    if (table->column_alias_count > 0) {
        text_append_char(out, ' ');
        unparse_identifiers(table->column_aliases, table->column_alias_count, out);
    }
    if (table->sample != NULL) {
        append_sample(table->sample, out);
    }
}

void unparse_from(const struct ast_table *table, struct text_builder *out)
{
    static void (*const kinds[])(const struct ast_table *table, struct text_builder *out) = {
        [AST_TABLE_NAME] = append_named_table, [AST_TABLE_SUBQUERY] = append_subquery, [AST_TABLE_FUNCTION] = append_function,
        [AST_TABLE_UNNEST] = append_unnest,    [AST_TABLE_JOIN] = append_join,         [AST_TABLE_MATCH] = append_match,
        [AST_TABLE_VALUES] = append_subquery,
    };
    kinds[table->kind](table, out);
    append_table_suffix(table, out);
}
