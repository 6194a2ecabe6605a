/* circuit/operators/version_list.h: the versions of one key by time.
 *
 * For         temporal_join.c.
 * Shape       An array by time. A version is known from `from` on: its time, or the watermark of its table when it came, if that had passed
 *             its time (it was late). So whoever asks for a moment gets the same answer however late others came: of what was known by then
 *             the version with the latest time. Of one time what comes later replaces what nobody can ask for any more; else both stay, by
 *             `from`. A version whose row was deleted is `ended`, from the moment at which that was known: from then on the key has none.
 * Updates     A withdrawal and a newer row. If the watermark has not moved between them, nobody can have missed the version: it is then not
 *             ended, it holds until the new one begins.
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
enum version_state {
    VERSION_HOLDS,
    VERSION_ENDED,
    VERSION_JUST_ENDED, /* by the last change of its key: the next one may make it an update */
};
struct version {
    int64_t time, from;
    row_handle row;
    enum version_state state;
};
struct version_list {
    struct version *items;
    uint32_t count, capacity;
    bool changed;    /* the owner's: in this tick */
    bool just_ended; /* the last one of ended_time is, if it is still there */
    int64_t ended_time;
};
/* watermark: that of the version's table before the row came. */
enum status version_list_add(struct version_list *list, struct version_rows *rows, int64_t time, int64_t watermark, row_handle row,
                             struct error *err);
/* `row` says which version ends; it is freed, or kept with the end. */
enum status version_list_end(struct version_list *list, struct version_rows *rows, int64_t time, int64_t watermark, row_handle row,
                             struct error *err);
/* As it was saved. */
enum status version_list_restore(struct version_list *list, struct version_rows *rows, const struct version *version, struct error *err);
/* Asks at the moment `at` for the version that is valid then; 0: none is, or it began after `time`. */
row_handle version_list_find(const struct version_list *list, int64_t time, int64_t at);
/* Forgets what no moment from the watermark on can see. */
enum status version_list_forget(struct version_list *list, struct version_rows *rows, int64_t watermark, struct error *err);
void version_list_release(struct version_list *list, struct budget *budget);

#endif
