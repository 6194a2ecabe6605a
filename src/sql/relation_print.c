/* Relations as indented text: one line each, inputs below, subqueries below the relation that holds them. One that is read more than once
 * has a number, and is printed where it is met first: a view that joins itself, over another that does, and so on, is a small graph, but a
 * huge tree. */
#include "sql/relation.h"

#include <inttypes.h>

#include "base/pointer_map.h"
#include "functions/aggregate.h"
#include "sql/catalog.h"

enum { PRINT_DEPTH_MAX = 400 };

static const char *const join_names[] = {"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"};
static const char *const window_names[] = {"TUMBLE", "HOP", "CUMULATE", "SESSION"};

struct printer {
    struct text_builder *out;
    const char *const *names; /* of the columns that expressions see */
    uint32_t indent, numbered;
    struct arena *arena;
    struct pointer_map readers; /* relation -> how often it is read, as uintptr_t */
    struct pointer_map numbers; /* relation -> its number, as uintptr_t */
};

static void print_tree(const struct relation *relation, struct printer *printer);

static void print_expression(const struct expression *expression, struct printer *printer)
{
    expression_print(expression, printer->names, printer->out);
}

static void print_list(const struct expression *const *expressions, uint32_t count, struct printer *printer)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_text(printer->out, i > 0 ? ", " : "");
        print_expression(expressions[i], printer);
    }
}

static void print_columns(const uint32_t *columns, uint32_t count, struct printer *printer)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_format(printer->out, "%s%s", i > 0 ? ", " : "", printer->names[columns[i]]);
    }
}

static void print_sort_keys(const struct sort_key *keys, uint32_t count, struct printer *printer)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_format(printer->out, "%s%s%s%s", i > 0 ? ", " : "", printer->names[keys[i].column], keys[i].descending ? " DESC" : "",
                           keys[i].nulls_first == keys[i].descending ? (keys[i].nulls_first ? " NULLS FIRST" : " NULLS LAST") : "");
    }
}

static void print_call(const struct aggregate_call *call, struct printer *printer)
{
    text_append_format(printer->out, "%s(%s", call->function->name, call->distinct ? "DISTINCT " : "");
    print_list(call->args, call->arg_count, printer);
    if (call->order_count > 0) {
        text_append_text(printer->out, " ORDER BY ");
        print_sort_keys(call->order, call->order_count, printer);
    }
    text_append_text(printer->out, ")");
    if (call->filter != NULL) {
        text_append_text(printer->out, " FILTER ");
        print_expression(call->filter, printer);
    }
}

static void print_window(const struct window_spec *window, struct printer *printer)
{
    text_append_format(printer->out, "%s(%s%s, %" PRId64 " us", window_names[window->kind], printer->names[window->time_column],
                       window->processing_time ? " PROCTIME" : "", window->size_us);
    if (window->slide_us != 0) {
        text_append_format(printer->out, ", %" PRId64 " us", window->slide_us);
    }
    if (window->offset_us != 0) {
        text_append_format(printer->out, ", offset %" PRId64 " us", window->offset_us);
    }
    if (window->partition_count > 0) {
        text_append_text(printer->out, " PARTITION BY ");
        print_columns(window->partition, window->partition_count, printer);
    }
    text_append_text(printer->out, ")");
}

static void print_sets(const struct aggregate_relation *aggregate, struct printer *printer)
{
    text_append_text(printer->out, " sets");
    for (uint32_t s = 0; s < aggregate->set_count; s++) {
        const char *separator = "";
        text_append_text(printer->out, " (");
        for (uint32_t k = 0; k < aggregate->key_count; k++) {
            if ((aggregate->sets[s] >> k & 1) != 0) {
                text_append_format(printer->out, "%s%s", separator, printer->names[aggregate->keys[k]]);
                separator = ", ";
            }
        }
        text_append_text(printer->out, ")");
    }
}

static void print_aggregate(const struct relation *relation, struct printer *printer)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    text_append_text(printer->out, "AGGREGATE by (");
    print_columns(aggregate->keys, aggregate->key_count, printer);
    text_append_text(printer->out, ")");
    if (aggregate->sets != NULL) {
        print_sets(aggregate, printer);
    }
    if (aggregate->window != NULL) {
        text_append_text(printer->out, " window ");
        print_window(aggregate->window, printer);
    }
    for (uint32_t i = 0; i < aggregate->call_count; i++) {
        text_append_text(printer->out, i == 0 ? " calls " : ", ");
        print_call(&aggregate->calls[i], printer);
    }
}

static void print_join(const struct relation *relation, struct printer *printer)
{
    const struct join_relation *join = &relation->join;
    text_append_format(printer->out, "JOIN %s%s%s%s%s", join_names[join->kind], join->null_aware ? " null-aware" : "",
                       join->temporal ? " temporal" : "", join->lateral ? " lateral" : "", join->single ? " single" : "");
    if (join->condition != NULL) {
        text_append_text(printer->out, " on ");
        print_expression(join->condition, printer);
    }
}

static void print_bound(int64_t bound, const char *word, struct printer *printer)
{
    if (bound == FRAME_UNBOUNDED) {
        text_append_format(printer->out, "UNBOUNDED %s", word);
    } else if (bound == 0) {
        text_append_text(printer->out, "CURRENT ROW");
    } else {
        text_append_format(printer->out, "%" PRId64 " %s", bound, word);
    }
}

static void print_over(const struct relation *relation, struct printer *printer)
{
    const struct over_relation *over = &relation->over;
    text_append_text(printer->out, "OVER partition (");
    print_columns(over->partition, over->partition_count, printer);
    text_append_text(printer->out, ") order (");
    print_sort_keys(over->order, over->order_count, printer);
    text_append_text(printer->out, over->unit == FRAME_ROWS ? ") rows " : ") range ");
    print_bound(over->preceding, "PRECEDING", printer);
    text_append_text(printer->out, " to ");
    print_bound(over->following, "FOLLOWING", printer);
    for (uint32_t i = 0; i < over->call_count; i++) {
        const struct over_call *call = &over->calls[i];
        text_append_format(printer->out, "%s%s(%s", i == 0 ? " calls " : ", ", call->name, call->distinct ? "DISTINCT " : "");
        print_list(call->args, call->arg_count, printer);
        text_append_text(printer->out, ")");
    }
}

static void print_values(const struct relation *relation, struct printer *printer)
{
    text_append_text(printer->out, "VALUES");
    for (uint32_t r = 0; r < relation->values.row_count; r++) {
        text_append_text(printer->out, r == 0 ? " (" : ", (");
        print_list(relation->values.rows[r], relation->schema.count, printer);
        text_append_text(printer->out, ")");
    }
}

static void print_project(const struct relation *relation, struct printer *printer)
{
    text_append_text(printer->out, "PROJECT");
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        text_append_format(printer->out, "%s%s = ", i == 0 ? " " : ", ", relation->schema.columns[i].name);
        print_expression(relation->project.expressions[i], printer);
    }
}

static void print_sort(const struct relation *relation, struct printer *printer)
{
    text_append_text(printer->out, "SORT");
    if (relation->sort.key_count > 0) {
        text_append_text(printer->out, " by ");
        print_sort_keys(relation->sort.keys, relation->sort.key_count, printer);
    }
    if (relation->sort.offset > 0) {
        text_append_format(printer->out, " offset %" PRId64, relation->sort.offset);
    }
    if (relation->sort.fetch >= 0) {
        text_append_format(printer->out, " fetch %" PRId64, relation->sort.fetch);
    }
}

static void print_scan(const struct relation *relation, struct printer *printer)
{
    text_append_format(printer->out, "SCAN %s (", relation->scan.table->name);
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        text_append_format(printer->out, "%s%s", i > 0 ? ", " : "", relation->schema.columns[i].name);
    }
    text_append_text(printer->out, ")");
}

static void print_lateral(const struct relation *relation, struct printer *printer)
{
    text_append_format(printer->out, "LATERAL%s %s(", relation->lateral.outer ? " outer" : "", relation->lateral.function);
    print_list(relation->lateral.args, relation->lateral.arg_count, printer);
    text_append_text(printer->out, relation->lateral.with_ordinality ? ") with ordinality" : ")");
}

static void print_head(const struct relation *relation, struct printer *printer)
{
    switch (relation->kind) {
    case RELATION_SCAN:
        print_scan(relation, printer);
        break;
    case RELATION_VALUES:
        print_values(relation, printer);
        break;
    case RELATION_FILTER:
        text_append_text(printer->out, "FILTER ");
        print_expression(relation->filter.condition, printer);
        break;
    case RELATION_PROJECT:
        print_project(relation, printer);
        break;
    case RELATION_WATERMARK:
        text_append_format(printer->out, "WATERMARK %s = ", printer->names[relation->watermark.column]);
        print_expression(relation->watermark.expression, printer);
        break;
    case RELATION_AGGREGATE:
        print_aggregate(relation, printer);
        break;
    case RELATION_WINDOW:
        text_append_text(printer->out, "WINDOW ");
        print_window(&relation->window, printer);
        break;
    case RELATION_JOIN:
        print_join(relation, printer);
        break;
    case RELATION_LATERAL:
        print_lateral(relation, printer);
        break;
    case RELATION_OVER:
        print_over(relation, printer);
        break;
    case RELATION_SORT:
        print_sort(relation, printer);
        break;
    case RELATION_UNION:
        text_append_text(printer->out, "UNION ALL");
        break;
    case RELATION_INTERSECT:
        text_append_text(printer->out, relation->set.all ? "INTERSECT ALL" : "INTERSECT");
        break;
    case RELATION_EXCEPT:
        text_append_text(printer->out, relation->set.all ? "EXCEPT ALL" : "EXCEPT");
        break;
    }
}

static void print_indent(const struct printer *printer)
{
    for (uint32_t i = 0; i < printer->indent; i++) {
        text_append_text(printer->out, "  ");
    }
}

static bool visit_subquery(const struct expression *node, void *context)
{
    struct printer *printer = context;
    if (node->kind == EXPRESSION_SUBQUERY) {
        static const char *const kinds[] = {"SCALAR", "EXISTS", "IN"};
        print_indent(printer);
        text_append_format(printer->out, "SUBQUERY %s\n", kinds[node->subquery]);
        printer->indent++;
        print_tree(node->relation, printer);
        printer->indent--;
    }
    return true;
}

/* The expressions that may hold subqueries. */
static void walk_subqueries(const struct relation *relation, bool (*visit)(const struct expression *, void *), struct printer *printer)
{
    if (relation->kind == RELATION_FILTER) {
        expression_walk(relation->filter.condition, visit, printer);
    } else if (relation->kind == RELATION_JOIN && relation->join.condition != NULL) {
        expression_walk(relation->join.condition, visit, printer);
    } else if (relation->kind == RELATION_PROJECT) {
        for (uint32_t i = 0; i < relation->schema.count; i++) {
            expression_walk(relation->project.expressions[i], visit, printer);
        }
    }
}

static void count_readers(const struct relation *relation, struct printer *printer);

static bool visit_reader(const struct expression *node, void *context)
{
    if (node->kind == EXPRESSION_SUBQUERY) {
        count_readers(node->relation, context);
    }
    return true;
}

static void count_readers(const struct relation *relation, struct printer *printer)
{
    struct error ignored; /* the text says that it failed */
    uintptr_t count = (uintptr_t)pointer_map_get(&printer->readers, relation);
    bool kept = pointer_map_put(&printer->readers, relation, (void *)(count + 1), &ignored) == STATUS_OK;
    printer->out->failed = printer->out->failed || !kept;
    if (count > 0 || !kept) {
        return;
    }
    walk_subqueries(relation, visit_reader, printer);
    for (uint32_t i = 0; i < relation->input_count; i++) {
        count_readers(relation->inputs[i], printer);
    }
}

/* Was it printed before? */
static bool print_number(const struct relation *relation, struct printer *printer)
{
    struct error ignored;
    if ((uintptr_t)pointer_map_get(&printer->readers, relation) < 2) {
        return false;
    }
    uintptr_t number = (uintptr_t)pointer_map_get(&printer->numbers, relation);
    if (number > 0) {
        text_append_format(printer->out, "#%u (shared, above)\n", (unsigned)number);
        return true;
    }
    text_append_format(printer->out, "#%u ", ++printer->numbered);
    number = printer->numbered;
    if (pointer_map_put(&printer->numbers, relation, (void *)number, &ignored) != STATUS_OK) {
        printer->out->failed = true;
    }
    return false;
}

static void print_tree(const struct relation *relation, struct printer *printer)
{
    if (printer->indent > PRINT_DEPTH_MAX || printer->out->failed) {
        return;
    }
    const char *const *outer_names = printer->names, *const *names = relation_input_names(printer->arena, relation);
    if (names == NULL) {
        printer->out->failed = true;
        return;
    }
    print_indent(printer);
    if (print_number(relation, printer)) {
        return;
    }
    printer->names = names;
    print_head(relation, printer);
    text_append_char(printer->out, '\n');
    printer->indent++;
    walk_subqueries(relation, visit_subquery, printer);
    for (uint32_t i = 0; i < relation->input_count; i++) {
        print_tree(relation->inputs[i], printer);
    }
    printer->indent--;
    printer->names = outer_names;
}

void relations_print(struct relation *const *relations, uint32_t count, struct text_builder *out)
{
    struct budget unlimited;
    budget_init(&unlimited, NULL, "print", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&unlimited, "print");
    struct printer printer = {.out = out, .arena = arena, .readers.arena = arena, .numbers.arena = arena};
    out->failed = out->failed || arena == NULL;
    for (uint32_t i = 0; i < count && !out->failed; i++) {
        count_readers(relations[i], &printer);
    }
    for (uint32_t i = 0; i < count && !out->failed; i++) {
        print_tree(relations[i], &printer);
    }
    arena_destroy(arena);
}
