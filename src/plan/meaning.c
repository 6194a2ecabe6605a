/* What an operator's state means, as a number: state that was saved goes only to an operator that would have made the same of it.
 *
 * An operator is described as EXPLAIN does, with its columns called by where they come from instead of by their names: "t.a" from a table, a
 * hash of the expression from a calc, of the operator and the place from others. So another key, argument, window or limit is another
 * meaning, and an alias or an exchange is not. Filters are left out: the state goes on where a filter changes. `exact` has them in, to tell
 * operators apart that are the same but for their filters.
 */
#include <stdio.h>

#include "base/hash.h"
#include "plan/physical.h"

struct meaning {
    struct arena *arena;
    struct plan_node *shadows; /* by id: copies whose columns are named by origin */
    struct text_builder text;
};

static uint64_t text_hash(const struct text_builder *text)
{
    return hash_bytes(text->bytes == NULL ? "" : text->bytes, text->length);
}

static enum status name_column(struct meaning *self, const struct plan_node *node, uint32_t column, const char *format, uint64_t number,
                               struct error *err)
{
    struct column *columns = (struct column *)self->shadows[node->id].schema->columns;
    char name[32];
    int length = snprintf(name, sizeof name, format, (unsigned long long)number);
    TRY_ALLOC(columns[column].name, arena_text(self->arena, name, (size_t)length), err);
    return STATUS_OK;
}

/* A copy of the node with columns of its own, over the copies of its inputs. */
static enum status make_shadow(struct meaning *self, const struct plan_node *node, struct error *err)
{
    struct plan_node *shadow = &self->shadows[node->id];
    struct schema *schema;
    *shadow = *node;
    TRY_ALLOC(schema, arena_copy(self->arena, node->schema, sizeof *schema), err);
    struct column *columns;
    TRY_ALLOC(columns, arena_alloc(self->arena, (schema->count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < schema->count; i++) {
        columns[i] = node->schema->columns[i];
    }
    schema->columns = columns;
    TRY_ALLOC(shadow->inputs, arena_alloc(self->arena, (node->input_count + 1) * sizeof(struct plan_node *)), err);
    shadow->schema = schema;
    for (uint32_t i = 0; i < node->input_count; i++) {
        shadow->inputs[i] = &self->shadows[node->inputs[i]->id];
    }
    if (node->operator== PLAN_JOIN) { /* how long rows are kept for is no part of what they mean */
        shadow->join.prune[0].present = shadow->join.prune[1].present = false;
    }
    return STATUS_OK;
}

static void pass_names(struct plan_node *shadow)
{
    struct column *columns = (struct column *)shadow->schema->columns;
    for (uint32_t i = 0; i < shadow->schema->count; i++) {
        columns[i].name = shadow->inputs[0]->schema->columns[i].name;
    }
}

static enum status mean_source(struct meaning *self, struct plan_node *node, struct error *err)
{
    text_append_text(&self->text, node->table);
    node->meaning = node->exact = text_hash(&self->text);
    for (uint32_t i = 0; i < node->schema->count; i++) {
        text_builder_clear(&self->text);
        text_append_format(&self->text, "%s.%s", node->table, node->schema->columns[i].name);
        TRY(name_column(self, node, i, "#%llx", text_hash(&self->text), err));
    }
    return STATUS_OK;
}

static enum status mean_calc(struct meaning *self, struct plan_node *node, struct error *err)
{
    struct plan_node *shadow = &self->shadows[node->id];
    const char **names;
    TRY_ALLOC(names, schema_names(self->arena, shadow->inputs[0]->schema), err);
    node->meaning = node->inputs[0]->meaning;
    node->exact = node->inputs[0]->exact;
    if (node->calc.condition != NULL) {
        expression_print(node->calc.condition, names, &self->text);
        node->exact = hash_combine(node->exact, text_hash(&self->text));
    }
    if (node->calc.expressions == NULL) {
        pass_names(shadow);
        return STATUS_OK;
    }
    struct column *columns = (struct column *)shadow->schema->columns;
    for (uint32_t i = 0; i < node->calc.expression_count; i++) {
        const struct expression *expression = node->calc.expressions[i];
        text_builder_clear(&self->text);
        expression_print(expression, names, &self->text);
        if (expression->kind == EXPRESSION_COLUMN) {
            columns[i].name = names[expression->index];
        } else {
            TRY(name_column(self, node, i, "#%llx", text_hash(&self->text), err));
        }
    }
    return STATUS_OK;
}

static enum status mean_union(struct meaning *self, struct plan_node *node, struct error *err)
{
    node->meaning = node->exact = 0;
    for (uint32_t k = 0; k < node->input_count; k++) {
        node->meaning = hash_combine(node->meaning, node->inputs[k]->meaning);
        node->exact = hash_combine(node->exact, node->inputs[k]->exact);
    }
    for (uint32_t i = 0; i < node->schema->count; i++) {
        text_builder_clear(&self->text);
        for (uint32_t k = 0; k < node->input_count; k++) {
            text_append_text(&self->text, self->shadows[node->inputs[k]->id].schema->columns[i].name);
        }
        TRY(name_column(self, node, i, "#%llx", text_hash(&self->text), err));
    }
    return STATUS_OK;
}

static enum status mean_pass(struct meaning *self, struct plan_node *node, struct error *err)
{
    (void)err;
    node->meaning = node->inputs[0]->meaning;
    node->exact = node->inputs[0]->exact;
    pass_names(&self->shadows[node->id]);
    return STATUS_OK;
}

static enum status mean_operator(struct meaning *self, struct plan_node *node, struct error *err)
{
    text_append_format(&self->text, "%s ", plan_operator_name(node->operator));
    plan_node_describe(&self->shadows[node->id], &self->text);
    node->meaning = node->exact = text_hash(&self->text);
    for (uint32_t k = 0; k < node->input_count; k++) {
        node->meaning = hash_combine(node->meaning, node->inputs[k]->meaning);
        node->exact = hash_combine(node->exact, node->inputs[k]->exact);
    }
    for (uint32_t i = 0; i < node->schema->count; i++) {
        TRY(name_column(self, node, i, "#%llx", hash_combine(node->meaning, i), err));
    }
    return STATUS_OK;
}

static enum status mean_node(struct meaning *self, struct plan_node *node, struct error *err)
{
    TRY(make_shadow(self, node, err));
    text_builder_clear(&self->text);
    switch (node->operator) {
    case PLAN_SOURCE:
        return mean_source(self, node, err);
    case PLAN_CALC:
        return mean_calc(self, node, err);
    case PLAN_UNION:
        return mean_union(self, node, err);
    case PLAN_EXCHANGE:
    case PLAN_WATERMARK:
    case PLAN_SINK:
    case PLAN_RESULT:
        return mean_pass(self, node, err);
    default:
        return mean_operator(self, node, err);
    }
}

enum status plan_mark_meaning(struct planner *planner, struct error *err)
{
    struct plan *plan = planner->plan;
    struct meaning self = {.arena = plan->arena};
    enum status status = STATUS_OK;
    TRY_ALLOC(self.shadows, arena_alloc(plan->arena, (plan->node_count + 1) * sizeof *self.shadows), err);
    for (uint32_t i = 0; i < plan->node_count && status == STATUS_OK; i++) {
        status = cancel_check(planner->context->bind.cancelled, err);
        status = status == STATUS_OK ? mean_node(&self, plan->nodes[i], err) : status;
    }
    if (status == STATUS_OK && self.text.failed) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for the meaning of operators");
    }
    text_builder_close(&self.text);
    return status;
}
