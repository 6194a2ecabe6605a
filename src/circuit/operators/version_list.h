/* circuit/operators/version_list.h: the versions of one key by time.
 *
 * For         temporal_join.c.
 * Shape       An array by time, at most one version of a time: what comes later replaces it. A version whose row was deleted stays as
 *             `ended`: from its time on the key has none. An update is a withdrawal and a new row of one tick: the old version is then
 *             not ended, it holds until the new one begins.
 * Ownership   Zero is empty. Rows belong to the store, which every call gets; those that it frees are marked as touched.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_VERSION_LIST_H
#define SPATE_CIRCUIT_OPERATORS_VERSION_LIST_H

#include "circuit/operators/row_state.h"

struct version_rows { /* of all lists of an operator */
    struct budget *budget;
    struct row_store *store;
    struct touched_rows touched;
};
struct version {
    int64_t time;
    row_handle row; /* 0: only its end is known */
    bool ended;
};
struct version_list {
    struct version *items;
    uint32_t count, capacity;
    uint64_t ended_tick; /* when a version was last ended, and its time */
    int64_t ended_time;
};
enum status version_list_add(struct version_list *list, struct version_rows *rows, int64_t time, row_handle row, uint64_t tick,
                             struct error *err);
/* `row` only says which version ends; it is freed, or kept as the version. */
enum status version_list_end(struct version_list *list, struct version_rows *rows, int64_t time, row_handle row, uint64_t tick,
                             struct error *err);
/* As it was saved. */
enum status version_list_restore(struct version_list *list, struct version_rows *rows, const struct version *version, struct error *err);
row_handle version_list_at(const struct version_list *list, int64_t time); /* 0: none is valid then */
/* Forgets what no time after the watermark can see. */
enum status version_list_forget(struct version_list *list, struct version_rows *rows, int64_t watermark, struct error *err);
void version_list_release(struct version_list *list, struct budget *budget);

#endif
