/* plan/rules/needs.h: which columns, and which fields of nested ones, are read of a relation.
 *
 * For         rules/prune.c.
 * Shape       One need per column: not used, used whole, or (for a ROW) used by fields. Parents come before children; what several
 *             parents need is united.
 * Ownership   The statement's arena.
 */
#ifndef SPATE_PLAN_RULES_NEEDS_H
#define SPATE_PLAN_RULES_NEEDS_H

#include "plan/rules.h"

struct need {
    bool used, whole;
    uint32_t child_count;
    struct need *children; /* NULL: none used yet */
};
struct needs {
    uint32_t count;
    struct need *columns;
};
enum status needs_create(struct arena *arena, uint32_t count, struct needs *needs, struct error *err);
void need_whole(struct need *need);
enum status need_merge(struct arena *arena, struct need *into, const struct need *from, struct error *err);
/* What the relation, of which `own` is needed, needs of its input. */
enum status needs_of_input(struct arena *arena, const struct relation *relation, const struct needs *own, uint32_t input,
                           struct needs *needs, struct error *err);

#endif
