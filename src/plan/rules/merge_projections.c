/* A projection over a projection becomes one, and one that changes nothing vanishes. */
#include <string.h>

#include "plan/rules.h"

enum { MERGED_SIZE_MAX = 400, CHEAP_SIZE = 3 };

struct uses {
    uint32_t *counts;
    uint32_t count;
};

static bool uses_visit(const struct expression *node, void *context)
{
    struct uses *uses = context;
    if (node->kind == EXPRESSION_COLUMN && node->index < uses->count) {
        uses->counts[node->index]++;
    }
    return true;
}

static bool is_trivial(const struct expression *expression)
{
    return expression->kind == EXPRESSION_COLUMN || expression->kind == EXPRESSION_CONSTANT ||
           (expression->kind == EXPRESSION_FIELD && is_trivial(expression->args[0]));
}

bool projection_can_merge(const struct expression *const *readers, uint32_t reader_count, const struct expression *const *inner,
                          uint32_t inner_count, bool condition)
{
    enum { ON_STACK = 512 };
    uint32_t counts[ON_STACK] = {0};
    if (inner_count > ON_STACK) {
        return false;
    }
    struct uses uses = {counts, inner_count};
    for (uint32_t i = 0; i < reader_count; i++) {
        expression_walk(readers[i], uses_visit, &uses);
    }
    uint64_t size = 0;
    for (uint32_t c = 0; c < inner_count; c++) {
        if (counts[c] == 0 || is_trivial(inner[c])) {
            continue;
        }
        uint32_t one = expression_size(inner[c], MERGED_SIZE_MAX);
        size += (uint64_t)one * counts[c];
        if (!expression_is_deterministic(inner[c]) || expression_reads_watermark(inner[c])) {
            return false;
        }
        if (condition && (one > CHEAP_SIZE || expression_can_fail(inner[c]))) {
            return false;
        }
    }
    return size <= MERGED_SIZE_MAX;
}

static bool reads_watermark_visit(const struct expression *node, void *context)
{
    bool *found = context;
    *found = *found || expression_is_call(node, "CURRENT_WATERMARK");
    return !*found;
}

bool expression_reads_watermark(const struct expression *expression)
{
    bool found = false;
    expression_walk(expression, reads_watermark_visit, &found);
    return found;
}

static bool is_identity(const struct relation *project)
{
    const struct relation *input = project->inputs[0];
    bool same = project->schema.count == input->schema.count;
    for (uint32_t i = 0; same && i < project->schema.count; i++) {
        const struct expression *expression = project->project.expressions[i];
        same = expression->kind == EXPRESSION_COLUMN && expression->index == i &&
               project->schema.columns[i].time == input->schema.columns[i].time;
    }
    return same;
}

static enum status merge_relation(struct rewrite *rewrite, struct relation *relation, void *context, struct relation **changed,
                                  struct error *err)
{
    const struct pointer_map *parents = context;
    *changed = relation;
    if (relation->kind != RELATION_PROJECT) {
        return STATUS_OK;
    }
    if (is_identity(relation)) {
        *changed = relation->inputs[0];
        return STATUS_OK;
    }
    const struct relation *below = relation->inputs[0];
    uint32_t count = relation->schema.count;
    if (below->kind != RELATION_PROJECT || relation_is_shared(parents, below) ||
        !projection_can_merge(relation->project.expressions, count, below->project.expressions, below->schema.count, false)) {
        return STATUS_OK;
    }
    const struct expression **expressions;
    TRY_ALLOC(expressions, arena_alloc(rewrite->arena, (count + 1) * sizeof *expressions), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY_ALLOC(expressions[i], expression_substitute(rewrite->arena, relation->project.expressions[i], below->project.expressions), err);
    }
    TRY_ALLOC(*changed, relation_project(rewrite->arena, below->inputs[0], count, expressions, relation->schema.columns), err);
    return STATUS_OK;
}

enum status rule_merge_projections(struct rewrite *rewrite, struct error *err)
{
    struct pointer_map parents = {.arena = rewrite->arena};
    TRY(relation_count_parents(rewrite->roots, rewrite->root_count, &parents, err));
    return rewrite_bottom_up(rewrite, merge_relation, &parents, err);
}
