/* Expressions as SQL-like text, for EXPLAIN and messages. */
#include "data/cell_text.h"
#include "functions/function.h"

#include <ctype.h>
#include <string.h>

static void print_args(const struct expression *const *args, uint32_t count, const char *separator, const char *const *names,
                       struct text_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_text(out, i > 0 ? separator : "");
        expression_print(args[i], names, out);
    }
}

static void print_constant(const struct expression *expression, struct text_builder *out)
{
    bool quoted = vector_is_valid(expression->constant, 0) && (type_is_text(expression->type) || expression->type->kind == TYPE_DATE ||
                                                               type_is_timestamp(expression->type) || type_is_interval(expression->type));
    text_append_text(out, quoted ? "'" : "");
    cell_text_append(expression->constant, 0, time_zone_utc, CELL_TEXT_HEX, out);
    text_append_text(out, quoted ? "'" : "");
}

static void print_case(const struct expression *expression, const char *const *names, struct text_builder *out)
{
    text_append_text(out, "CASE");
    for (uint32_t i = 0; i + 1 < expression->arg_count; i += 2) {
        text_append_text(out, " WHEN ");
        expression_print(expression->args[i], names, out);
        text_append_text(out, " THEN ");
        expression_print(expression->args[i + 1], names, out);
    }
    text_append_text(out, " ELSE ");
    expression_print(expression->args[expression->arg_count - 1], names, out);
    text_append_text(out, " END");
}

static bool is_sign(const char *name)
{
    return !isalpha((unsigned char)name[0]) || strstr(name, "DISTINCT FROM") != NULL || strcmp(name, "LIKE") == 0;
}

static void print_call(const struct expression *expression, const char *const *names, struct text_builder *out)
{
    const char *name = expression->function->name;
    if (expression->arg_count == 2 && is_sign(name)) {
        text_append_char(out, '(');
        expression_print(expression->args[0], names, out);
        text_append_format(out, " %s ", name);
        expression_print(expression->args[1], names, out);
        text_append_char(out, ')');
    } else if (expression->arg_count == 1 && strncmp(name, "IS ", 3) == 0) {
        expression_print(expression->args[0], names, out);
        text_append_format(out, " %s", name);
    } else {
        text_append_format(out, "%s(", name);
        print_args(expression->args, expression->arg_count, ", ", names, out);
        text_append_char(out, ')');
    }
}

static void print_column(const struct expression *expression, const char *const *names, struct text_builder *out)
{
    if (names == NULL) {
        text_append_format(out, "$%u", expression->index);
    } else {
        text_append_text(out, names[expression->index]);
    }
}

void expression_print(const struct expression *expression, const char *const *names, struct text_builder *out)
{
    switch (expression->kind) {
    case EXPRESSION_COLUMN:
        print_column(expression, names, out);
        return;
    case EXPRESSION_OUTER:
        text_append_format(out, "outer(%u).$%u", expression->depth, expression->index);
        return;
    case EXPRESSION_CONSTANT:
        print_constant(expression, out);
        return;
    case EXPRESSION_CALL:
        print_call(expression, names, out);
        return;
    case EXPRESSION_CAST:
        text_append_text(out, expression->try_cast ? "TRY_CAST(" : "CAST(");
        expression_print(expression->args[0], names, out);
        text_append_text(out, " AS ");
        type_print(expression->type, out);
        text_append_char(out, ')');
        return;
    case EXPRESSION_CASE:
        print_case(expression, names, out);
        return;
    case EXPRESSION_AND:
    case EXPRESSION_OR:
        text_append_char(out, '(');
        print_args(expression->args, expression->arg_count, expression->kind == EXPRESSION_AND ? " AND " : " OR ", names, out);
        text_append_char(out, ')');
        return;
    case EXPRESSION_COALESCE:
        text_append_text(out, "COALESCE(");
        print_args(expression->args, expression->arg_count, ", ", names, out);
        text_append_char(out, ')');
        return;
    case EXPRESSION_FIELD:
        expression_print(expression->args[0], names, out);
        text_append_format(out, ".%s", expression->args[0]->type->names[expression->index]);
        return;
    case EXPRESSION_SUBQUERY:
        text_append_text(out, "SUBQUERY(");
        print_args(expression->args, expression->arg_count, ", ", names, out);
        text_append_char(out, ')');
        return;
    }
}
