/* plan/rules.h: rewrites of relations: small named rules, one function each, run in the order of one table.
 *
 * For         plan_make_*; EXPLAIN prints the trees before and after.
 * Shape       A rule takes the roots of a statement (one per INSERT) and replaces them. Relations read twice (the same pointer) stay
 *             so: rules keep a map from old to new, and do not push into what others read too.
 * Ownership   The statement's arena; old relations stay as they are.
 */
#ifndef SPATE_PLAN_RULES_H
#define SPATE_PLAN_RULES_H

#include "base/cancel.h"
#include "functions/evaluation.h"
#include "plan/relations.h"

struct rewrite {
    struct arena *arena;
    const struct evaluation *evaluation;
    struct relation **roots;
    uint32_t root_count;
    bool keeps_order;             /* the order of the root's rows is seen (a query, not an INSERT) */
    const atomic_bool *cancelled; /* NULL: nobody can ask */
    uint64_t steps;               /* relations looked at so far, by all rules */
    struct pointer_map outer;     /* relation_has_outer's answers */
};
/* At each relation that a rule looks at: CANCELLED; TOO_MANY when a statement's relations grow without end. What is read twice is one
 * relation, and stays one. Only a correlated subquery is computed anew for each of its readers, and so on below it. */
enum status rewrite_step(struct rewrite *rewrite, struct error *err);
struct rule {
    const char *name;
    enum status (*apply)(struct rewrite *rewrite, struct error *err);
};
enum status rules_apply(struct rewrite *rewrite, struct error *err);

enum status rule_decorrelate(struct rewrite *rewrite, struct error *err);
enum status rule_split_sets(struct rewrite *rewrite, struct error *err);
enum status rule_share(struct rewrite *rewrite, struct error *err);
enum status rule_push_filters(struct rewrite *rewrite, struct error *err);
enum status rule_fold(struct rewrite *rewrite, struct error *err);
enum status rule_drop_sorts(struct rewrite *rewrite, struct error *err);
enum status rule_merge_projections(struct rewrite *rewrite, struct error *err);
enum status rule_prune(struct rewrite *rewrite, struct error *err);

/* Rebuilds every relation bottom-up, each once: `change` gets a relation with new inputs (a copy if any changed). */
typedef enum status rewrite_change_fn(struct rewrite *rewrite, struct relation *relation, void *context, struct relation **changed,
                                      struct error *err);
enum status rewrite_bottom_up(struct rewrite *rewrite, rewrite_change_fn *change, void *context, struct error *err);

/* May the expressions of an inner projection be put in place of the columns that read them? Not what is volatile, and (unless trivial, or
 * read once by an only reader) not what would then be computed more often or grow the text beyond bounds. `condition`: the reader is a
 * condition beside the projection, so only cheap expressions may be there twice. */
bool projection_can_merge(const struct expression *const *readers, uint32_t reader_count, const struct expression *const *inner,
                          uint32_t inner_count, bool condition);
/* Is the condition never TRUE when all columns in [first, first + count) are NULL? */
bool condition_rejects_null(const struct expression *condition, uint32_t first, uint32_t count);
bool expression_reads_watermark(const struct expression *expression);

#endif
