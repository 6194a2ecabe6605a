/* plan/properties.h: what is known of the rows that an operator gives.
 *
 * For         the choice of operators, exchanges, refusals, EXPLAIN.
 * Shape       changes      rows may be withdrawn (weights < 0); else append-only. With a unique key it is "upsert by key".
 *             ordered      rows of one worker come from one source partition, in its order.
 *             bounded      all sources below end.
 *             event_time   columns whose times the watermark is about: nothing comes later that is not late. A regular join,
 *                          aggregate, Top-N or deduplication ends that.
 *             keys         sets of columns that no two rows have equal (while they stand). A key of no columns: one row at most.
 *             window       rows belong to windows: their bounds are in these columns (equal ones where there are several).
 *             distribution which worker has a row: any, worker 0, the owner of the hash of these columns, or each has all (only between
 *                          an exchange to all and the join above it).
 * Ownership   The statement's arena; immutable once the operator is planned.
 */
#ifndef SPATE_PLAN_PROPERTIES_H
#define SPATE_PLAN_PROPERTIES_H

#include "plan/relations.h"

struct column_list {
    const uint32_t *columns;
    uint32_t count;
};
enum { PROPERTIES_KEYS_MAX = 8, WINDOW_COLUMNS_MAX = 4 };
struct window_property {
    bool present;
    struct window_spec spec; /* kind and sizes; its columns mean nothing here */
    uint32_t starts[WINDOW_COLUMNS_MAX], ends[WINDOW_COLUMNS_MAX], times[WINDOW_COLUMNS_MAX];
    uint32_t start_count, end_count, time_count; /* times: window_time */
};
enum distribution { DISTRIBUTION_ANY, DISTRIBUTION_ONE, DISTRIBUTION_HASH, DISTRIBUTION_ALL };
struct properties {
    bool changes, ordered, bounded;
    struct column_set event_time;
    struct column_list keys[PROPERTIES_KEYS_MAX];
    uint32_t key_count;
    struct window_property window;
    enum distribution distribution;
    struct column_list distribution_columns;
};

enum status properties_create(struct arena *arena, uint32_t column_count, struct properties *properties, struct error *err);
/* The same rows with other columns: `map` gives the new place of each old column, COLUMN_NONE where it is gone. */
enum status properties_map(struct arena *arena, const struct properties *from, uint32_t old_count, const uint32_t *map, uint32_t new_count,
                           struct properties *to, struct error *err);
/* A row may displace others that were given, and they are withdrawn whatever the watermark is by then: the columns' times are no event times
 * any more, and rows of a window come after it has closed. */
enum status properties_end_times(struct arena *arena, uint32_t column_count, struct properties *properties, struct error *err);
/* Appends a key unless there is no room for one more. */
void properties_add_key(struct properties *properties, struct column_list key);
bool properties_has_key_within(const struct properties *properties, const uint32_t *columns, uint32_t count);
bool window_property_has(const uint32_t *columns, uint32_t count, uint32_t column);

#endif
