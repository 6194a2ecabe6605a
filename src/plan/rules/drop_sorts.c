/* An ORDER BY without a limit means nothing to whom reads the rows as a set: only that of the statement itself stays. LIMIT 0 is no rows.
 */
#include "plan/rules.h"

/* The sort whose order is the result's: below projections and filters only. */
static const struct relation *seen_sort(const struct rewrite *rewrite)
{
    if (rewrite->root_count != 1 || !rewrite->keeps_order) {
        return NULL;
    }
    const struct relation *relation = rewrite->roots[0];
    while (relation->kind == RELATION_PROJECT || relation->kind == RELATION_FILTER) {
        relation = relation->inputs[0];
    }
    return relation->kind == RELATION_SORT ? relation : NULL;
}

struct seen {
    const struct sort_key *keys;
};

static enum status drop_sort(struct rewrite *rewrite, struct relation *relation, void *context, struct relation **changed,
                             struct error *err)
{
    const struct seen *seen = context;
    *changed = relation;
    if (relation->kind == RELATION_SORT && relation->sort.fetch < 0 && relation->sort.offset == 0 && relation->sort.keys != seen->keys) {
        *changed = relation->inputs[0];
    }
    if (relation->kind == RELATION_SORT && relation->sort.fetch == 0) {
        TRY_ALLOC(*changed, relation_new(rewrite->arena, RELATION_VALUES, 0, 0), err);
        (*changed)->schema = relation->schema;
    }
    return STATUS_OK;
}

enum status rule_drop_sorts(struct rewrite *rewrite, struct error *err)
{
    const struct relation *sort = seen_sort(rewrite);
    struct seen seen = {sort != NULL ? sort->sort.keys : NULL};
    return rewrite_bottom_up(rewrite, drop_sort, &seen, err);
}
