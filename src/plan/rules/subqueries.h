/* plan/rules/subqueries.h: the parts of the rule that turns subqueries into joins.
 *
 * For         rules/decorrelate*.c.
 * Shape       A subquery's relation Q has no subqueries of its own left, but EXPRESSION_OUTER columns: depth 1 is a column of the
 *             relation X it is attached to. Two ways to take them out:
 *
 *             pull     conditions that read outer columns move up through filters, projections, inner joins and aggregates (as more
 *                      keys) until they are conditions of the join between X and Q. Cheap; fails when an outer column is read elsewhere.
 *             depend   D = the distinct values of the outer columns; Q is computed for all of D at once: D joins the leaves, and its columns
 *                      become keys, partitions and join conditions on the way up. Always possible.
 *
 * Rules       An aggregate without keys over no rows has a row (COUNT is 0): `pull` leaves it to the scalar case, `depend` joins it back
 *             to D.
 */
#ifndef SPATE_PLAN_RULES_SUBQUERIES_H
#define SPATE_PLAN_RULES_SUBQUERIES_H

#include "plan/rules.h"

struct pulled {
    struct relation *relation;    /* Q's columns first, then those that the conditions need */
    struct conditions conditions; /* over its columns, and EXPRESSION_OUTER */
};
bool expression_has_outer(const struct expression *expression);
bool expression_has_subquery(const struct expression *expression);
/* Answers are kept: relations must be whole when they are asked about. */
enum status relation_has_outer(struct rewrite *rewrite, const struct relation *relation, bool *found, struct error *err);
/* *done false: an outer column is read where it cannot be taken out. */
enum status subquery_pull(struct rewrite *rewrite, struct relation *query, struct pulled *pulled, bool *done, struct error *err);
/* The same for an aggregate; `joined_back`: the caller gives rows without a match the aggregate's value over no rows, so one without keys
 * may get some. */
enum status subquery_pull_aggregate(struct rewrite *rewrite, struct relation *query, bool joined_back, struct pulled *pulled, bool *done,
                                    struct error *err);
/* `columns`: of X, those that Q reads. The result has one column per entry of `columns`, then Q's. */
enum status subquery_depend(struct rewrite *rewrite, struct relation *query, struct relation *outer, const uint32_t *columns,
                            uint32_t count, struct relation **result, struct error *err);
/* The columns of X that Q reads. */
enum status subquery_outer_columns(struct rewrite *rewrite, const struct relation *query, uint32_t outer_count, uint32_t **columns,
                                   uint32_t *count, struct error *err);
/* Outer columns become columns of X at `column of X`, own columns move by `shift`, columns of further out come one level nearer. */
enum status expression_attach(struct rewrite *rewrite, const struct expression *expression, uint32_t shift,
                              const struct expression **result, struct error *err);
/* A relation without depth 1: what is further out comes one level nearer. */
enum status relation_lower(struct rewrite *rewrite, struct relation *relation, struct relation **result, struct error *err);
/* The value an aggregate has over no rows, instead of the NULL of a padded row. */
enum status aggregate_or_empty(struct rewrite *rewrite, const struct aggregate_call *call, const struct expression *value,
                               const struct expression **result, struct error *err);
enum status call_named(struct rewrite *rewrite, const char *name, const struct expression *left, const struct expression *right,
                       const struct expression **result, struct error *err);

/* X with a subquery's value: *relation has X's columns first; *value is over its columns. */
enum status attach_scalar(struct rewrite *rewrite, struct relation **relation, struct relation *query, const struct expression **value,
                          struct error *err);
enum status attach_lateral(struct rewrite *rewrite, struct relation *join, struct relation **result, struct error *err);
/* X restricted to rows with (or without) a match; same columns. `args` NULL: EXISTS. */
enum status attach_semi(struct rewrite *rewrite, struct relation **relation, const struct expression *subquery, bool negated,
                        struct error *err);
/* Replaces all subqueries inside an expression over X by values. */
enum status attach_all(struct rewrite *rewrite, struct relation **relation, const struct expression *expression,
                       const struct expression **result, struct error *err);

#endif
