/* GROUPING SETS with the same set twice: its rows come twice. The aggregate is split so that each has every set once. */
#include "plan/rules.h"

static bool is_repeated(const struct aggregate_relation *aggregate, uint32_t set)
{
    for (uint32_t i = 0; i < set; i++) {
        if (aggregate->sets[i] == aggregate->sets[set]) {
            return true;
        }
    }
    return false;
}

/* The sets that stand there for the first time, or the others. */
static enum status with_sets(struct rewrite *rewrite, struct relation *relation, bool repeated, struct relation **result, struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    struct relation *copy;
    uint64_t *sets;
    TRY_ALLOC(copy, relation_copy(rewrite->arena, relation), err);
    TRY_ALLOC(sets, arena_alloc(rewrite->arena, (aggregate->set_count + 1) * sizeof *sets), err);
    copy->aggregate.sets = sets;
    copy->aggregate.set_count = 0;
    for (uint32_t i = 0; i < aggregate->set_count; i++) {
        if (is_repeated(aggregate, i) == repeated) {
            sets[copy->aggregate.set_count++] = aggregate->sets[i];
        }
    }
    *result = copy;
    return STATUS_OK;
}

static enum status split(struct rewrite *rewrite, struct relation *relation, void *context, struct relation **changed, struct error *err)
{
    (void)context;
    *changed = relation;
    if (relation->kind != RELATION_AGGREGATE || relation->aggregate.sets == NULL) {
        return STATUS_OK;
    }
    struct relation *first, *others, *both;
    TRY(with_sets(rewrite, relation, true, &others, err));
    if (others->aggregate.set_count == 0) {
        return STATUS_OK;
    }
    TRY(with_sets(rewrite, relation, false, &first, err));
    TRY(split(rewrite, others, context, &others, err));
    TRY_ALLOC(both, relation_new(rewrite->arena, RELATION_UNION, 0, 2), err);
    both->schema = relation->schema;
    both->set.all = true;
    both->inputs[0] = first;
    both->inputs[1] = others;
    *changed = both;
    return STATUS_OK;
}

enum status rule_split_sets(struct rewrite *rewrite, struct error *err)
{
    return rewrite_bottom_up(rewrite, split, NULL, err);
}
