/* functions/aggregate.h: aggregate functions: accumulators by column, updated a batch at a time.
 *
 * For         group aggregates, windows, OVER. The operators know keys, slots and ticks; this knows sums.
 * Shape       A bound aggregate is a `struct accumulator`: a fixed-size state per group (zero bytes = empty), kept by the
 *             operator in one array per aggregate, and functions that take (states, slot[], value[], weight[]).
 *             What does not fit the fixed size (texts, multisets) is in a slab of the operator's, owned by the state.
 * Traits      bind is told whether the input can retract and whether rows have an order; it picks the smaller state
 *             (MIN over inserts only: one value; else an ordered multiset).
 * DISTINCT    and FILTER are the operator's: it passes only the rows that count (a value's first occurrence +1, its last
 *             retraction -1).
 * NULLs       update sees all selected rows; an accumulator that ignores NULLs does so itself.
 * Failures    A result that does not exist for now (a SUM out of its type's range) is reported per group by `result`
 *             through `fail`; the operator holds it back while the group may still change.
 */
#ifndef SPATE_FUNCTIONS_AGGREGATE_H
#define SPATE_FUNCTIONS_AGGREGATE_H

#include "base/slab.h"
#include "base/text.h"
#include "data/batch.h"
#include "functions/evaluation.h"
#include "functions/expression.h"

struct accumulator;

struct accumulate_call {
    const struct accumulator *accumulator;
    uint8_t *states; /* state of slot s: states + s * stride: an operator may keep all states of a group side by side */
    uint32_t stride;
    const uint32_t *slots; /* slots[k] belongs to the k-th selected row */
    struct selection rows;
    const struct vector *const *args;
    const int64_t *weights;    /* by physical row; NULL: all +1. Never 0 */
    const struct batch *batch; /* for ordinals: batch_ordinal when batch->ordered */
    struct slab *heap;         /* memory for the variable parts of states */
};
struct result_call {
    const struct accumulator *accumulator;
    const uint8_t *states; /* as above */
    uint32_t stride;
    const uint32_t *slots; /* result row k is of slot slots[k] */
    uint32_t count;
    struct vector *result; /* created by the caller with room, and with a validity bitmap when the result is nullable */
    struct string_heap *strings;
    const struct evaluation *evaluation;
    void (*fail)(void *owner, uint32_t k, enum error_code code, const char *text);
    void *owner;
};
struct accumulator {
    const struct aggregate_function *function;
    const struct type *result;
    uint32_t state_bytes; /* a multiple of 8; states are 8-byte aligned */
    bool mergeable;       /* merge works (slices, combining before an exchange) */
    bool invertible;      /* unmerge works: HOP may subtract slices */
    enum status (*update)(const struct accumulate_call *call, struct error *err);
    enum status (*value)(const struct result_call *call, struct error *err);
    /* into += from (weight +1) or -= (weight -1, when invertible). States of one accumulator. */
    enum status (*merge)(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                         struct error *err);
    void (*clear)(const struct accumulator *accumulator, void *state, struct slab *heap); /* NULL: nothing to free */
    /* The state as bytes that any later process understands, and back into a zeroed state. NULL, both: the state holds no pointer and is
     * its own bytes. load: STATE_CORRUPT when they are not such bytes; it reads none past `length`. A state that did not load is to be
     * cleared. Operators call accumulator_save and accumulator_load. */
    void (*save)(const struct accumulator *accumulator, const void *state, struct text_builder *out);
    enum status (*load)(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                        struct error *err);
    /* What a state holds, for whoever looks at it, where the value does not say it all: as `value`, of type `shown`. NULL, both: the value. */
    const struct type *shown;
    enum status (*show)(const struct result_call *call, struct error *err);
    const void *data;
};

/* Of every accumulator, with or without pointers in its state. A failing load leaves the state empty. */
void accumulator_save(const struct accumulator *accumulator, const void *state, struct text_builder *out);
enum status accumulator_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                             struct error *err);

struct aggregate_binding {
    struct arena *arena;
    const struct evaluation *evaluation;
    const struct aggregate_function *function;
    const struct expression **args; /* bind may coerce */
    uint32_t arg_count;
    bool retracts, ordered, distinct, ignore_nulls;
    /* ignore_nulls: IGNORE NULLS; for the JSON aggregates ABSENT ON NULL, which the binder makes explicit: JSON_ARRAYAGG's default, not
     * JSON_OBJECTAGG's. */
    bool merges;                    /* states will be merged (slices, sessions): rows do not come in their order */
    struct accumulator accumulator; /* out; .result is the type */
};
struct aggregate_function {
    const char *name, *syntax, *summary, *example;
    uint32_t min_args, max_args;
    /* Called by the binder for the type (retracts false), and again by the planner for the final accumulator. */
    enum status (*bind)(struct aggregate_binding *binding, struct error *err);
};
const struct aggregate_function *aggregate_find(struct text name);
const struct aggregate_function *const *aggregate_list(uint32_t *count);

#endif
