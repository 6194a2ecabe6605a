/* Calls: plain ones, those with a syntax of their own, and the clauses after the arguments. */
#include <ctype.h>
#include <string.h>

#include "sql/keyword.h"
#include "sql/parser_core.h"
#include "sql/unparse_internal.h"

/* Words between the arguments; with fewer than `least` arguments, or more than words, there are commas. */
struct worded_call {
    const char *name;
    uint32_t least;
    const char *between[3];
};
static const struct worded_call worded_calls[] = {
    {"OVERLAY", 3, {" PLACING ", " FROM ", " FOR "}},
    {"POSITION", 2, {" IN ", " FROM "}},
    {"SUBSTRING", 2, {" FROM ", " FOR "}},
};

static uint32_t word_count(const struct worded_call *worded)
{
    uint32_t count = 0;
    while (count < 3 && worded->between[count] != NULL) {
        count++;
    }
    return count;
}

static void append_worded(const struct ast_expression *node, struct text_builder *out)
{
    const struct worded_call *worded = worded_calls;
    while (strcmp(worded->name, node->function) != 0) {
        worded++;
    }
    if (node->arg_count < worded->least || node->arg_count > word_count(worded) + 1) {
        unparse_list(node->args, node->arg_count, out);
        return;
    }
    for (uint32_t i = 0; i < node->arg_count; i++) {
        text_append_text(out, i == 0 ? "" : worded->between[i - 1]);
        unparse_operand(node->args[i], i == 0 ? PRECEDENCE_IN + 1 : 0, out);
    }
}

static void append_extract(const struct ast_expression *node, struct text_builder *out)
{
    text_append_format(out, "%s FROM ", node->unit_from);
    unparse_list(node->args, node->arg_count, out);
}

static void append_floor(const struct ast_expression *node, struct text_builder *out)
{
    unparse_list(node->args, node->arg_count, out);
    if (node->unit_from != NULL) {
        text_append_format(out, " TO %s", node->unit_from);
    }
}

static void append_timestamp_arithmetic(const struct ast_expression *node, struct text_builder *out)
{
    text_append_format(out, "%s, ", node->unit_from);
    unparse_list(node->args, node->arg_count, out);
}

static void append_translate(const struct ast_expression *node, struct text_builder *out)
{
    if (node->unit_from == NULL) {
        unparse_list(node->args, node->arg_count, out);
        return;
    }
    unparse_expression(node->args[0], out);
    text_append_text(out, " USING ");
    unparse_expression(node->args[1], out);
}

static void append_trim(const struct ast_expression *node, struct text_builder *out)
{
    if (node->arg_count > 2) {
        unparse_list(node->args, node->arg_count, out);
        return;
    }
    text_append_format(out, "%s ", node->unit_from);
    if (node->arg_count == 2) {
        unparse_expression(node->args[1], out);
    } else {
        text_append_text(out, "' '");
    }
    text_append_text(out, " FROM ");
    unparse_expression(node->args[0], out);
}

/* ---- JSON ---- */

static bool is_clause(const struct ast_expression *argument)
{
    return argument->kind == AST_NAMED_ARG && (argument->text.bytes != NULL || argument->type != NULL);
}

static void append_behaviour(const struct ast_expression *clause, const char *on, struct text_builder *out)
{
    text_append_format(out, " %s", clause->text.bytes);
    if (clause->arg_count > 0) {
        text_append_char(out, ' ');
        unparse_expression(clause->args[0], out);
    }
    text_append_format(out, " ON %s", on);
}

static void append_clause(const struct ast_expression *clause, bool first_passing, struct text_builder *out)
{
    const char *name = clause->name.parts[0];
    if (strcmp(name, "PASSING") == 0) {
        text_append_text(out, first_passing ? " PASSING " : ", ");
        unparse_expression(clause->args[0], out);
        text_append_text(out, " AS ");
        unparse_identifier(clause->text.bytes, out);
    } else if (clause->type != NULL) {
        text_append_text(out, " RETURNING ");
        unparse_type(clause->type, out);
    } else if (strcmp(name, "WRAPPER") == 0) {
        text_append_format(out, " %s ARRAY WRAPPER", clause->text.bytes);
    } else {
        append_behaviour(clause, strncmp(name, "ON_", 3) == 0 ? name + 3 : name, out);
    }
}

static void append_clauses(const struct ast_expression *node, uint32_t from, struct text_builder *out)
{
    struct text_builder clauses = {0};
    bool passing = false;
    for (uint32_t i = from; i < node->arg_count; i++) {
        append_clause(node->args[i], !passing, &clauses);
        passing = passing || strcmp(node->args[i]->name.parts[0], "PASSING") == 0;
    }
    size_t blank = from == 0 && clauses.length > 0 ? 1 : 0; /* JSON_ARRAY(NULL ON NULL) */
    if (clauses.length > 0) {
        text_append(out, clauses.bytes + blank, clauses.length - blank);
    }
    out->failed = out->failed || clauses.failed;
    text_builder_close(&clauses);
}

static uint32_t ordinary_arguments(const struct ast_expression *node)
{
    uint32_t count = 0;
    while (count < node->arg_count && !is_clause(node->args[count])) {
        count++;
    }
    return count;
}

static void append_json(const struct ast_expression *node, struct text_builder *out)
{
    if (node->subquery != NULL) {
        unparse_query(node->subquery, out);
        return;
    }
    uint32_t count = ordinary_arguments(node);
    unparse_list(node->args, count, out);
    append_clauses(node, count, out);
}

/* KEY is a word of the syntax only before what cannot be the rest of an expression. */
static void append_json_key(const struct ast_expression *key, struct text_builder *out)
{
    struct text_builder text = {0};
    unparse_expression(key, &text);
    bool sign = text.length > 0 && strchr("(-+?", text.bytes[0]) != NULL;
    text_append_text(out, sign ? "" : "KEY ");
    text_append(out, text.bytes, text.length);
    out->failed = out->failed || text.failed;
    text_builder_close(&text);
}

static void append_json_object(const struct ast_expression *node, struct text_builder *out)
{
    uint32_t count = ordinary_arguments(node);
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        text_append_text(out, i == 0 ? "" : ", ");
        append_json_key(node->args[i], out);
        text_append_text(out, " VALUE ");
        unparse_expression(node->args[i + 1], out);
    }
    append_clauses(node, count, out);
}

/* ---- the table ---- */

static const struct special_form {
    const char *name;
    void (*append)(const struct ast_expression *node, struct text_builder *out); /* what is between the parentheses */
} special_forms[] = {
    {"CAST", NULL},
    {"CEIL", append_floor},
    {"CEILING", append_floor},
    {"CONVERT", append_translate},
    {"EXTRACT", append_extract},
    {"FLOOR", append_floor},
    {"JSON_ARRAY", append_json},
    {"JSON_ARRAYAGG", append_json},
    {"JSON_EXISTS", append_json},
    {"JSON_OBJECT", append_json_object},
    {"JSON_OBJECTAGG", append_json_object},
    {"JSON_QUERY", append_json},
    {"JSON_VALUE", append_json},
    {"OVERLAY", append_worded},
    {"POSITION", append_worded},
    {"SAFE_CAST", NULL},
    {"SUBSTRING", append_worded},
    {"TIMESTAMPADD", append_timestamp_arithmetic},
    {"TIMESTAMPDIFF", append_timestamp_arithmetic},
    {"TRANSLATE", append_translate},
    {"TRIM", append_trim},
    {"TRY_CAST", NULL},
};

static const struct special_form *find_special(const char *function)
{
    for (size_t i = 0; i < ARRAY_LENGTH(special_forms); i++) {
        if (strcmp(special_forms[i].name, function) == 0) {
            return &special_forms[i];
        }
    }
    return NULL;
}

/* Would the grammar read the bare name as a plain function's? */
static bool is_plain_function(const char *function)
{
    bool letters = isalpha((unsigned char)function[0]) || function[0] == '_';
    for (const char *c = function; *c != '\0'; c++) {
        letters = letters && (isalnum((unsigned char)*c) || *c == '_') && (unsigned char)*c < 0x80;
    }
    return letters && find_special(function) == NULL && strcmp(function, "DESCRIPTOR") != 0 &&
           (!keyword_is_reserved(function) || keyword_is_callable(function));
}

static void append_function_name(const struct ast_expression *call, struct text_builder *out)
{
    if (call->name.count > 1 || (call->name.count == 1 && !is_plain_function(call->function))) {
        unparse_name(&call->name, out);
    } else {
        text_append_text(out, call->function);
    }
}

static void append_plain_arguments(const struct ast_expression *call, struct text_builder *out)
{
    text_append_text(out, call->distinct ? "DISTINCT " : "");
    if (call->subquery != NULL) { /* ARRAY(query) */
        unparse_query(call->subquery, out);
    }
    unparse_list(call->args, call->arg_count, out);
    if (call->star_argument) {
        text_append_text(out, call->arg_count > 0 ? ", *" : "*");
    }
}

static void append_suffix(const struct ast_expression *call, struct text_builder *out)
{
    text_append_text(out, call->ignore_nulls ? " IGNORE NULLS" : call->respect_nulls ? " RESPECT NULLS" : "");
    if (call->within_group_count > 0) {
        text_append_text(out, " WITHIN GROUP (ORDER BY ");
        unparse_order(call->within_group, call->within_group_count, out);
        text_append_char(out, ')');
    }
    if (call->filter != NULL) {
        text_append_text(out, " FILTER (WHERE ");
        unparse_expression(call->filter, out);
        text_append_char(out, ')');
    }
    if (call->over == NULL) {
        return;
    }
    text_append_text(out, " OVER ");
    bool bare = call->over->name != NULL && call->over->partition_count == 0 && call->over->order_count == 0 && !call->over->has_frame;
    if (bare) {
        unparse_identifier(call->over->name, out);
    } else {
        unparse_window(call->over, out);
    }
}

/* What is no NAME(...): (a - b) unit, x FORMAT JSON, FINAL x, CURRENT_DATE */
static bool append_bare(const struct ast_expression *call, struct text_builder *out)
{
    if (strcmp(call->function, "DATETIME_MINUS") == 0) {
        text_append_char(out, '(');
        unparse_operand(call->args[0], PRECEDENCE_ADD, out);
        text_append_text(out, " - ");
        unparse_operand(call->args[1], PRECEDENCE_ADD + 1, out);
        text_append_format(out, ") %s", call->unit_from);
    } else if (strcmp(call->function, "FORMAT JSON") == 0) {
        unparse_expression(call->args[0], out);
        text_append_text(out, " FORMAT JSON");
    } else if (strcmp(call->function, "FINAL") == 0 || strcmp(call->function, "RUNNING") == 0) {
        text_append_format(out, "%s ", call->function);
        unparse_operand(call->args[0], PRECEDENCE_UNARY, out);
    } else if (call->arg_count == 0 && call->subquery == NULL && find_special(call->function) == NULL) {
        text_append_text(out, call->function);
    } else {
        return false;
    }
    return true;
}

void unparse_call(const struct ast_expression *call, struct text_builder *out)
{
    const struct special_form *special = call->name.count == 0 ? find_special(call->function) : NULL;
    if (call->name.count == 0 && append_bare(call, out)) {
        return;
    }
    append_function_name(call, out);
    text_append_char(out, '(');
    if (special != NULL && special->append != NULL) {
        special->append(call, out);
    } else {
        append_plain_arguments(call, out);
    }
    text_append_char(out, ')');
    append_suffix(call, out);
}
