/* circuit/operators/join_log.h: the sides of a join that are logs: when their rows get into lists, and when they go. Internal to join_core.c.
 *
 * Waiting     A row that comes need not be found by its key at once: it may never be asked for. While a side `waits`, its rows are only
 *             appended. When rows of the other side come, the keys of those that wait are scanned (join_log_scan) as long as that is
 *             cheap: once the scans would have cost a part of what lists cost (RENT_*, per waiting row), all of them are put into lists
 *             (join_log_prepare), and so are the rows that come from then on. After a long time without rows of the other side the side
 *             waits again.
 * Dropping    With a join_prune (specs.h), rows that nothing can meet any more are given up by the chunk (join_log_drop), and not stored
 *             in the first place (join_log_store).
 * Exactness   The pairs are the same whatever is decided here.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_JOIN_LOG_H
#define SPATE_CIRCUIT_OPERATORS_JOIN_LOG_H

#include "circuit/operators/join_core.h"

/* Before the rows of the view look for partners on the side: puts what waits there into lists, if scanning is no longer the cheaper. */
enum status join_log_prepare(struct join *self, uint32_t side, const struct batch *view, struct error *err);
/* Puts all rows that wait into lists. */
enum status join_log_link(struct join *self, uint32_t side, struct error *err);
/* Decides whether the side waits, and which rows of the view are worth storing: `stored` becomes the view or a selection of it. */
void join_log_choose(struct join *self, uint32_t side, const struct batch *view, struct batch *stored);
/* Stores them. slots: of their keys, if they are known (join_core.h, self->slots, by the k-th row). */
enum status join_log_store(struct join *self, uint32_t side, const struct batch *stored, bool slots_known, struct error *err);
/* Ties rows that were just appended into the lists of their keys. */
void join_log_link_rows(struct join *self, uint32_t side, const uint32_t *numbers, const uint32_t *slots, uint32_t count);
/* Pairs of the rows of `view` (of the other side) with those that wait. */
enum status join_log_scan(struct join *self, uint32_t side, const struct batch *view, struct error *err);
/* At the end of a tick: gives up what the other side's watermark has passed. */
enum status join_log_drop(struct join *self, uint32_t side, struct error *err);

#endif
