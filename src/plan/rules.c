/* The table of rules, and the walk that most of them use. */
#include "plan/rules.h"

static const struct rule rules[] = {
    {"subqueries become joins", rule_decorrelate},
    {"repeated grouping sets are split", rule_split_sets},
    {"equal subtrees are shared", rule_share},
    {"constants are folded", rule_fold},
    {"sorts that nobody sees are dropped", rule_drop_sorts},
    {"filters move to their inputs", rule_push_filters},
    {"projections are merged", rule_merge_projections},
    {"columns that nobody reads are dropped", rule_prune},
    {"projections are merged", rule_merge_projections},
    {"equal subtrees are shared", rule_share},
};

enum { REWRITE_STEPS_MAX = 4 * 1000 * 1000 };

enum status rewrite_step(struct rewrite *rewrite, struct error *err)
{
    if (++rewrite->steps > REWRITE_STEPS_MAX) {
        return error_set(err, ERROR_TOO_MANY,
                         "planning the statement takes more than %d steps: it has too many tables, or subqueries with columns of the outer "
                         "query that read each other several times over",
                         REWRITE_STEPS_MAX);
    }
    return cancel_check(rewrite->cancelled, err);
}

enum status rules_apply(struct rewrite *rewrite, struct error *err)
{
    rewrite->outer.arena = rewrite->arena;
    for (uint32_t i = 0; i < ARRAY_LENGTH(rules); i++) {
        TRY(rules[i].apply(rewrite, err));
    }
    return STATUS_OK;
}

struct walk {
    struct rewrite *rewrite;
    struct pointer_map done;
    rewrite_change_fn *change;
    void *context;
};

static enum status walk(struct walk *self, struct relation *relation, struct relation **changed, struct error *err)
{
    *changed = pointer_map_get(&self->done, relation);
    if (*changed != NULL) {
        return STATUS_OK;
    }
    TRY(rewrite_step(self->rewrite, err));
    struct relation *copy = relation;
    for (uint32_t i = 0; i < relation->input_count; i++) {
        struct relation *input;
        TRY(walk(self, relation->inputs[i], &input, err));
        if (input != relation->inputs[i] && copy == relation) {
            TRY_ALLOC(copy, relation_copy(self->rewrite->arena, relation), err);
        }
        copy->inputs[i] = input;
    }
    TRY(self->change(self->rewrite, copy, self->context, changed, err));
    return pointer_map_put(&self->done, relation, *changed, err);
}

enum status rewrite_bottom_up(struct rewrite *rewrite, rewrite_change_fn *change, void *context, struct error *err)
{
    struct walk self = {rewrite, {.arena = rewrite->arena}, change, context};
    for (uint32_t i = 0; i < rewrite->root_count; i++) {
        TRY(walk(&self, rewrite->roots[i], &rewrite->roots[i], err));
    }
    return STATUS_OK;
}
