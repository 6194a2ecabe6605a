/* functions/program.h: expressions compiled into a flat program over column registers.
 *
 * For         projections, filters, join conditions, computed columns, aggregate arguments: every evaluation.
 * Shape       compile: common subexpressions shared, constants in registers of their own, one step per node; lazy kinds become
 *             steps under a narrowed selection. run: steps in order over one chunk.
 * Rules       A branch that a row does not take is never evaluated for it. Under a selection only its rows are evaluated
 *             (TOTAL kernels may run over all). Constants are folded by the same kernels (program_fold).
 * Failures    A row that fails does not stop the run: its number is set in `failures`, its results are unspecified. The caller
 *             decides: raise, hold back (changing input), or skip.
 * Ownership   The program owns registers. Results are lent until the next run: vector_ref what outlives it (registers
 *             with other references are replaced, not overwritten, by the next run).
 * Threads     One at a time; each worker compiles its own.
 */
#ifndef SPATE_FUNCTIONS_PROGRAM_H
#define SPATE_FUNCTIONS_PROGRAM_H

#include "data/batch.h"
#include "functions/evaluation.h"
#include "functions/expression.h"

struct row_failures {
    uint32_t count;                  /* rows that failed */
    uint64_t failed[VALIDITY_WORDS]; /* meaningful when count > 0 */
    uint32_t first_row;
    struct error first;
};
static inline bool row_failures_has(const struct row_failures *failures, uint32_t row)
{
    return failures->count > 0 && ((failures->failed[row / 64] >> (row % 64)) & 1) != 0;
}

struct program;
/* `names` (may be NULL) are the input's column names, for messages. */
enum status program_create(struct arena *arena, const struct evaluation *evaluation, const struct expression *const *expressions,
                           uint32_t count, struct program **program, struct error *err);
void program_destroy(struct program *program);
/* Evaluates all expressions for the batch's selected rows. Other rows of the results are unspecified.
 * Status other than OK: no memory or a fault; failing rows are only in `failures` (reset here). */
enum status program_run(struct program *program, const struct batch *batch, struct row_failures *failures, struct error *err);
const struct vector *program_result(const struct program *program, uint32_t index);
/* Runs expression 0, a BOOLEAN, and keeps the selected rows where it is TRUE (failed rows are not kept). */
enum status program_filter(struct program *program, const struct batch *batch, uint16_t *kept, uint32_t *kept_count,
                           struct row_failures *failures, struct error *err);
/* Turns a failing row into an error: what failed, the row's values by column name. */
enum status row_failures_raise(const struct row_failures *failures, const struct batch *batch, const char *const *names,
                               const struct time_zone *zone, struct error *err);

/* Evaluates a constant expression; the result has one row and lives in the arena. A failing evaluation is an error. */
enum status program_evaluate_constant(struct arena *arena, const struct evaluation *evaluation, const struct expression *expression,
                                      const struct vector **constant, struct error *err);
/* Replaces constant subtrees by constants, except those whose evaluation fails (they fail for a row, if one comes). */
enum status program_fold(struct arena *arena, const struct evaluation *evaluation, const struct expression *expression,
                         const struct expression **folded, struct error *err);

#endif
