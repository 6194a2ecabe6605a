/* plan/relations.h: making relations and looking into their expressions: the vocabulary of the rules.
 *
 * For         plan/rules/, and the choice of operators.
 * Shape       Makers give a new node in the arena; nothing is changed in place.
 * Ownership   The statement's arena.
 * Errors      NO_MEMORY only, by the makers' NULL: callers use TRY_ALLOC.
 */
#ifndef SPATE_PLAN_RELATIONS_H
#define SPATE_PLAN_RELATIONS_H

#include "base/error.h"
#include "base/pointer_map.h"
#include "sql/relation.h"

#define COLUMN_NONE UINT32_MAX

/* A set of column indices. */
struct column_set {
    uint32_t count;
    uint64_t *words;
};
enum status column_set_create(struct arena *arena, uint32_t count, struct column_set *set, struct error *err);
static inline void column_set_add(struct column_set *set, uint32_t column)
{
    set->words[column / 64] |= (uint64_t)1 << (column % 64);
}
static inline bool column_set_has(const struct column_set *set, uint32_t column)
{
    return column < set->count && ((set->words[column / 64] >> (column % 64)) & 1) != 0;
}
uint32_t column_set_size(const struct column_set *set);

/* The conjuncts of a condition, in order. */
struct conditions {
    struct arena *arena;
    const struct expression **items;
    uint32_t count, capacity;
};
enum status conditions_add(struct conditions *list, const struct expression *condition, struct error *err);
/* Adds the conjuncts of a condition (NULL: none). */
enum status conditions_split(struct conditions *list, const struct expression *condition, struct error *err);
/* The AND of all; NULL when there is none. */
enum status conditions_join(const struct conditions *list, const struct expression **condition, struct error *err);

/* Adds the columns that an expression reads. */
void expression_columns(const struct expression *expression, struct column_set *set);
/* Does it read a column in [first, first + count)? */
bool expression_reads(const struct expression *expression, uint32_t first, uint32_t count);
uint32_t expression_size(const struct expression *expression, uint32_t limit); /* nodes, at most about `limit` are counted */
bool expression_is_call(const struct expression *expression, const char *function);
/* A copy of a node with other arguments. */
const struct expression *expression_with_args(struct arena *arena, const struct expression *expression,
                                              const struct expression *const *args);
/* Columns moved by `delta`, replaced by `values[column]`, or renumbered by `map[column]`. */
const struct expression *expression_shift(struct arena *arena, const struct expression *expression, int32_t delta);
const struct expression *expression_substitute(struct arena *arena, const struct expression *expression,
                                               const struct expression *const *values);
const struct expression *expression_renumber(struct arena *arena, const struct expression *expression, const uint32_t *map);
/* Applies `change` to each node, parents first: its result replaces the node when it is not NULL, else the arguments are
 * visited. `failed` is set when the arena has no room. */
struct expression_change {
    struct arena *arena;
    const struct expression *(*change)(const struct expression *node, void *context, bool *failed);
    void *context;
    bool failed;
};
const struct expression *expression_apply(struct expression_change *change, const struct expression *expression);

/* Makers. Column texts, types and time attributes are taken from the inputs. */
struct relation *relation_new(struct arena *arena, enum relation_kind kind, uint32_t column_count, uint32_t input_count);
struct relation *relation_copy(struct arena *arena, const struct relation *relation); /* shallow, own array of inputs */
struct relation *relation_filter(struct arena *arena, struct relation *input, const struct expression *condition);
struct relation *relation_project(struct arena *arena, struct relation *input, uint32_t count, const struct expression *const *expressions,
                                  const struct column *columns);
/* A projection to some columns of the input. */
struct relation *relation_select(struct arena *arena, struct relation *input, const uint32_t *columns, uint32_t count);
struct relation *relation_join(struct arena *arena, enum join_kind kind, struct relation *left, struct relation *right,
                               const struct expression *condition);
/* GROUP BY keys (columns) with calls. */
struct relation *relation_aggregate(struct arena *arena, struct relation *input, const uint32_t *keys, uint32_t key_count,
                                    const struct aggregate_call *calls, uint32_t call_count);
const struct expression *relation_column(struct arena *arena, const struct relation *relation, uint32_t index);
bool join_keeps_right(enum join_kind kind); /* not SEMI, ANTI */

/* Calls `visit` for each expression of a relation's own. */
void relation_walk_expressions(const struct relation *relation, void (*visit)(const struct expression *expression, void *context),
                               void *context);
/* A copy of the relation with each of its own expressions replaced; failing status stops. */
typedef enum status relation_change_fn(const struct expression *expression, void *context, const struct expression **changed,
                                       struct error *err);
enum status relation_change_expressions(struct arena *arena, struct relation *relation, relation_change_fn *change, void *context,
                                        struct relation **changed, struct error *err);
/* How many parents each relation below the roots has (a map to counts, as uintptr_t). */
enum status relation_count_parents(struct relation *const *roots, uint32_t count, struct pointer_map *parents, struct error *err);
static inline bool relation_is_shared(const struct pointer_map *parents, const struct relation *relation)
{
    return (uintptr_t)pointer_map_get(parents, relation) > 1;
}

#endif
