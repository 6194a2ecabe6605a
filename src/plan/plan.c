/* Making a plan: rules, operators, outputs; and what is asked of it afterwards. */
#include <assert.h>

#include "connectors/dead_letter.h"
#include "connectors/sink.h"
#include "connectors/table_options.h"
#include "plan/physical.h"
#include "plan/rules.h"

static void watermark_visit(const struct expression *expression, void *context)
{
    bool *found = context;
    *found = *found || expression_reads_watermark(expression);
}

static enum status look_for_watermarks(struct rewrite *rewrite, struct relation *relation, void *context, struct relation **changed,
                                       struct error *err)
{
    (void)rewrite;
    (void)err;
    *changed = relation;
    relation_walk_expressions(relation, watermark_visit, context);
    return STATUS_OK;
}

static char *relations_text(struct arena *arena, struct relation *const *roots, uint32_t count)
{
    struct text_builder builder = {0};
    relations_print(roots, count, &builder);
    char *text = builder.failed ? NULL : arena_text(arena, builder.bytes != NULL ? builder.bytes : "", builder.length);
    text_builder_close(&builder);
    return text;
}

enum status plan_start(const struct plan_context *context, struct plan **plan, struct planner *planner, struct error *err)
{
    struct arena *arena = context->bind.arena;
    TRY_ALLOC(*plan, arena_alloc(arena, sizeof **plan), err);
    (*plan)->arena = arena;
    (*plan)->context_copy = *context;
    (*plan)->context = &(*plan)->context_copy;
    *planner = (struct planner){.plan = *plan, .arena = arena, .context = (*plan)->context, .memo.arena = arena, .parents.arena = arena};
    return STATUS_OK;
}

enum status plan_rewrite_all(struct planner *planner, struct relation **roots, uint32_t count, bool keeps_order, struct error *err)
{
    struct rewrite rewrite = {.arena = planner->arena,
                              .evaluation = planner->context->bind.evaluation,
                              .roots = roots,
                              .root_count = count,
                              .keeps_order = keeps_order,
                              .cancelled = planner->context->bind.cancelled};
    TRY_ALLOC(planner->plan->before, relations_text(planner->arena, roots, count), err);
    TRY(rules_apply(&rewrite, err));
    TRY_ALLOC(planner->plan->after, relations_text(planner->arena, roots, count), err);
    TRY(rewrite_bottom_up(&rewrite, look_for_watermarks, &planner->watermarks_read, err));
    return relation_count_parents(roots, count, &planner->parents, err);
}

static void mark_used(struct plan_node *node)
{
    if (node->consumers++ > 0) {
        return;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        mark_used(node->inputs[i]);
    }
}

enum status plan_finish(struct planner *planner, struct error *err)
{
    struct plan *plan = planner->plan;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < plan->output_count; i++) {
        mark_used(plan->outputs[i]);
    }
    plan->bounded = true;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        struct plan_node *node = plan->nodes[i];
        if (node->consumers == 0) {
            continue;
        }
        node->id = kept;
        plan->nodes[kept++] = node;
        plan->bounded = plan->bounded && node->properties.bounded;
        TRY_ALLOC(node->running, arena_alloc(plan->arena, (plan->context->settings.parallelism + 1) * sizeof *node->running), err);
    }
    plan->node_count = kept;
    TRY(plan_narrow_joins(planner, err));
    return plan_mark_meaning(planner, err);
}

static const struct relation *find_top_sort(const struct relation *root)
{
    while (root->kind == RELATION_PROJECT || root->kind == RELATION_FILTER) {
        root = root->inputs[0];
    }
    return root->kind == RELATION_SORT && root->sort.key_count > 0 ? root : NULL;
}

static enum status make_query(struct planner *planner, struct relation *relation, struct result_queue *queue, struct error *err)
{
    struct plan_node *top;
    planner->plan->schema = &relation->schema;
    TRY(plan_rewrite_all(planner, &relation, 1, true, err));
    planner->top_sort = find_top_sort(relation);
    TRY(plan_relation(planner, relation, &top, err));
    TRY(plan_result(planner, top, queue, planner->top_sort != NULL, err));
    TRY(plan_dead_letters(planner, err));
    return plan_finish(planner, err);
}

enum status plan_make_query(const struct plan_context *context, struct relation *relation, struct result_queue *queue, struct plan **plan,
                            struct error *err)
{
    struct planner planner;
    TRY(plan_start(context, plan, &planner, err));
    enum status status = make_query(&planner, relation, queue, err);
    if (status != STATUS_OK) {
        plan_close(*plan);
        *plan = NULL;
    }
    return status;
}

static enum status make_inserts(struct planner *planner, const struct bound_insert *inserts, uint32_t count, struct error *err)
{
    struct relation **roots;
    TRY_ALLOC(roots, arena_alloc(planner->arena, (count + 1) * sizeof *roots), err);
    for (uint32_t i = 0; i < count; i++) {
        roots[i] = inserts[i].relation;
    }
    TRY(plan_rewrite_all(planner, roots, count, false, err));
    for (uint32_t i = 0; i < count; i++) {
        struct plan_node *top;
        TRY(plan_relation(planner, roots[i], &top, err));
        TRY(plan_sink(planner, top, &inserts[i], i, err));
    }
    TRY(plan_check_overwrites(planner, inserts, count, err));
    TRY(plan_dead_letters(planner, err));
    TRY(plan_finish(planner, err));
    return planner->context->settings.pieces == 0 ? STATUS_OK : plan_check_piece(planner->plan, err);
}

enum status plan_make_inserts(const struct plan_context *context, const struct bound_insert *inserts, uint32_t count, struct plan **plan,
                              struct error *err)
{
    struct planner planner;
    assert(context->settings.pieces == 0 || context->settings.piece < context->settings.pieces);
    TRY(plan_start(context, plan, &planner, err));
    enum status status = make_inserts(&planner, inserts, count, err);
    if (status != STATUS_OK) {
        plan_close(*plan);
        *plan = NULL;
    }
    return status;
}

void plan_close(struct plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (uint32_t i = 0; i < plan->group_count; i++) {
        exchange_group_destroy(plan->groups[i]);
    }
    for (uint32_t i = plan->source_count; i-- > 0;) {
        source_close(plan->sources[i]);
    }
    for (uint32_t i = 0; i < plan->route_count; i++) {
        dead_letter_destroy(plan->routes[i].queue);
    }
    plan->group_count = plan->source_count = plan->route_count = 0;
}

void plan_abort(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->group_count; i++) {
        exchange_group_abort(plan->groups[i]);
    }
}

bool plan_is_bounded(const struct plan *plan)
{
    return plan->bounded;
}

static const struct sink_type *sink_of(const struct plan_node *node)
{
    const char *connector = node->operator== PLAN_SINK ? table_options_get(node->sink.context->options, "connector") : NULL;
    return connector == NULL ? NULL : sink_type_find(connector);
}

bool plan_has_unfenced_sink(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct sink_type *type = sink_of(plan->nodes[i]);
        if (type != NULL && type->commit == NULL && !type->keeps_nothing) {
            return true;
        }
    }
    return false;
}

bool plan_loses_by_a_crash(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct plan_node *node = plan->nodes[i];
        if (plan_operator_state(node->operator) != NULL) {
            return true;
        }
        const struct sink_type *type = sink_of(node);
        if (type != NULL && type->commit != NULL) {
            return true;
        }
    }
    return false;
}

/* Is it the first of its kind whose state cannot leave memory? */
static bool is_first_resident(const struct plan *plan, uint32_t at)
{
    const struct plan_node *node = plan->nodes[at];
    bool told = plan_operator_state(node->operator) == NULL || node->running[0]->type->open_cold != NULL;
    for (uint32_t i = 0; i < at && !told; i++) {
        told = plan->nodes[i]->operator== node->operator;
    }
    return !told;
}

void plan_list_resident(const struct plan *plan, struct text_builder *out)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        if (is_first_resident(plan, i)) {
            text_append_format(out, "%s%s", out->length > 0 ? ", " : "", plan_operator_name(plan->nodes[i]->operator));
        }
    }
}

enum status plan_list_leavings(const struct plan *plan, const char ***places, uint32_t *count, struct error *err)
{
    *count = 0;
    TRY_ALLOC(*places, arena_alloc(plan->arena, (plan->node_count + 1) * sizeof **places), err);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct sink_type *type = sink_of(plan->nodes[i]);
        const char *place;
        if (type == NULL || type->leaves == NULL || plan->nodes[i]->sink.context->owner == NULL) {
            continue;
        }
        TRY(type->leaves(plan->nodes[i]->sink.context, &place, err));
        TRY_ALLOC((*places)[*count], arena_format(plan->arena, "%s %s", type->name, place), err);
        (*count)++;
    }
    return STATUS_OK;
}

bool plan_is_insert_only(const struct plan *plan)
{
    return plan->insert_only;
}

bool plan_is_ordered(const struct plan *plan)
{
    return plan->ordered;
}

const struct schema *plan_schema(const struct plan *plan)
{
    return plan->schema;
}

static void progress_of_nodes(const struct plan *plan, struct plan_progress *progress)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct plan_node *node = plan->nodes[i];
        int64_t watermark = WATERMARK_END;
        for (uint32_t w = 0; w < plan->context->settings.parallelism && node->running[w] != NULL; w++) {
            progress->late += node->running[w]->metrics.late;
            progress->null_time += node->running[w]->metrics.null_time;
            watermark = node->running[w]->watermark < watermark ? node->running[w]->watermark : watermark;
        }
        if (node->operator== PLAN_WATERMARK && watermark<progress->watermark_us) {
            progress->watermark_us = watermark;
            progress->held_by = node->table;
        }
    }
}

void plan_progress_read(const struct plan *plan, struct plan_progress *progress)
{
    *progress = (struct plan_progress){.watermark_us = WATERMARK_END};
    for (uint32_t i = 0; i < plan->node_count; i++) {
        if (plan->nodes[i]->operator== PLAN_SOURCE) {
            const struct source_counters *counters = &plan->nodes[i]->read->counters;
            progress->rows_read += counters->rows;
            progress->bytes_read += counters->bytes;
            progress->bytes_total += counters->bytes_total;
            progress->failed += counters->failed;
            progress->dropped += counters->dropped;
            progress->dead_lettered += counters->dead_lettered;
        }
    }
    progress_of_nodes(plan, progress);
    if (progress->held_by == NULL) {
        progress->watermark_us = WATERMARK_NONE;
    }
}
