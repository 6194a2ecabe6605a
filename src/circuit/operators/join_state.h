/* circuit/operators/join_state.h: what a join keeps of its two sides.
 *
 * For         join_node.c, interval_join.c, window_join.c.
 * Shape       One key table for both sides; a key has the heads of two lists of entries. An entry is a stored row with its weight.
 *             A side that only grows is a log (state/row_log.h): an entry is the number of a row, and rows that came while the other side
 *             was quiet may wait without being in a list (join_log.h). Sides that are tracked (outer, semi, anti), that change, or whose
 *             rows expire keep their rows in a row store, and entries of two parts for them.
 *             So do sides with a time-to-live: an entry that has expired is still in its list until it is swept, and meets nothing; when its
 *             row comes again it begins anew (`fresh`). A match of a tracked entry is a write of it.
 *             `matches` of a tracked entry is the summed weight of what it meets on the other side; `shown` is the weight with which
 *             the row stands in the output by itself (padded with NULLs, or as the row of a semi or anti join), as emitted so far.
 * Invariants  Either log or rows is NULL. Entries are numbered from 1 and do not move. Equal rows of an indexed side share one entry. An entry that was
 *             touched is looked at once at the end of the tick (join_side_settle), and freed there when its weight is zero.
 * Ownership   The state owns rows, entries and keys. Lives until join_state_close.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_JOIN_STATE_H
#define SPATE_CIRCUIT_OPERATORS_JOIN_STATE_H

#include "circuit/operators/specs.h"
#include "state/dirty_slots.h"
#include "state/key_table.h"
#include "state/row_log.h"
#include "state/row_store.h"
#include "state/time_to_live.h"

enum { ENTRY_PAGE_ROWS = 4096 };

struct join_entry {
    row_handle row;
    uint32_t next;
};

enum join_entry_flags {
    ENTRY_TOUCHED = 1,  /* is in the list of this tick */
    ENTRY_EXPIRED = 2,  /* its time is over: no match will come */
    ENTRY_MULTIPLE = 4, /* counted in `violations` */
    ENTRY_FREE = 8,
    ENTRY_NULL_KEY = 16, /* NOT IN: the left value is NULL */
};
struct join_extra {
    int64_t weight, matches, shown;
    uint32_t previous, slot;
    uint32_t flags;
};

/* An array in pages: elements do not move. */
struct paged {
    struct budget *budget;
    uint8_t **pages;
    uint32_t page_count, page_capacity;
    uint32_t element_bytes;
};

/* Finds an entry by its row: open addressing, upper half of a cell 32 bits of the row's hash, lower half the entry. */
struct entry_index {
    struct budget *budget;
    uint64_t *cells;
    uint32_t capacity, used;
};

struct uint32_list {
    uint32_t *items;
    uint32_t count, capacity;
};

struct join_side {
    const struct input_spec *input;
    const uint32_t *keys;
    const uint32_t *kept; /* input columns that are stored, in order */
    uint32_t kept_count;
    bool tracked, indexed;
    bool spills;                    /* keys may leave memory: rows are kept one by one */
    const struct join_prune *prune; /* of a log; NULL: its rows stay */
    struct row_log *log;
    bool may_wait, waits;   /* of a log: rows need not be in a list at once; rows that come now are not */
    uint64_t rent, quiet;   /* scan work spent on the rows that wait; rows since the other side came last */
    uint32_t time_position; /* pruned: among the kept columns */
    int64_t dropped_to;     /* pruned: rows up to this time meet nothing that is still to come */
    struct row_store *rows;
    struct paged entries, extras;
    struct paged ends; /* when rows are over: of a side that spills and whose rows expire */
    uint32_t entry_count, free_entry;
    struct entry_index index;
    struct uint32_list touched;
    struct time_to_live ttl;
    bool follows;             /* checkpoints hold changes: */
    struct dirty_slots dirty; /* entries that came, changed or went */
};

struct join_state {
    struct budget *budget;
    uint32_t key_count;
    struct key_table *keys; /* NULL: no keys, all entries hang on `single_heads` */
    uint32_t single_heads[2];
    struct join_side sides[2];
};

/* No one asks for single rows: they could be a log. */
static inline bool join_side_only_grows(const struct join_side *side, bool expires)
{
    return !expires && !side->tracked && !side->indexed;
}
static inline bool join_side_is_log(const struct join_side *side, bool expires)
{
    return join_side_only_grows(side, expires) && !ttl_is_set(&side->ttl) && !side->spills;
}
/* `expires`: rows are freed one by one. key_positions: of the keys among the kept columns. */
enum status join_side_open(struct join_side *side, struct budget *budget, struct arena *arena, bool expires, const uint32_t *key_positions,
                           uint32_t key_count, struct error *err);
enum status join_state_open(struct join_state *state, struct arena *arena, const struct type *const *key_types, struct error *err);
void join_state_close(struct join_state *state);
/* A side with a row store that has no entry: its memory is given back. */
void join_side_clear(struct join_side *side);
size_t join_state_bytes(const struct join_state *state);

static inline struct join_entry *join_entry_at(const struct join_side *side, uint32_t entry)
{
    return (struct join_entry *)side->entries.pages[entry / ENTRY_PAGE_ROWS] + entry % ENTRY_PAGE_ROWS;
}
static inline struct join_extra *join_extra_at(const struct join_side *side, uint32_t entry)
{
    return (struct join_extra *)side->extras.pages[entry / ENTRY_PAGE_ROWS] + entry % ENTRY_PAGE_ROWS;
}
static inline int64_t *join_entry_end(const struct join_side *side, uint32_t entry)
{
    return (int64_t *)side->ends.pages[entry / ENTRY_PAGE_ROWS] + entry % ENTRY_PAGE_ROWS;
}
static inline int64_t join_entry_weight(const struct join_side *side, uint32_t entry)
{
    return side->log != NULL ? row_log_weight(side->log, entry) : join_extra_at(side, entry)->weight;
}
static inline uint32_t join_entry_next(const struct join_side *side, uint32_t entry)
{
    return side->log != NULL ? *row_log_next(side->log, entry) : join_entry_at(side, entry)->next;
}
/* What its row is fetched by: a handle of the row store, or the number in the log. */
static inline row_handle join_entry_row(const struct join_side *side, uint32_t entry)
{
    return side->log != NULL ? entry : join_entry_at(side, entry)->row;
}
static inline void join_entry_prefetch(const struct join_side *side, uint32_t entry)
{
    if (side->log != NULL) {
        __builtin_prefetch(row_log_next(side->log, entry));
    } else {
        __builtin_prefetch(join_entry_at(side, entry));
    }
}
static inline enum status join_rows_gather(const struct join_side *side, const row_handle *rows, uint32_t count, const uint32_t *columns,
                                           uint32_t column_count, struct vector *vectors, struct error *err)
{
    return side->log != NULL ? row_log_gather(side->log, rows, count, columns, column_count, vectors, err)
                             : row_store_gather(side->rows, rows, count, columns, column_count, vectors, err);
}
/* The two list heads of a key, left and right. */
static inline uint32_t *join_heads(struct join_state *state, uint32_t slot)
{
    return state->keys == NULL ? state->single_heads : (uint32_t *)key_table_values(state->keys, 0) + (size_t)slot * 2;
}

/* Of a side with a row store: adds the weight of each selected row of `batch` (the kept columns of the side). slots: by the k-th selected row.
 * entries[k] gets its entry; fresh[k]: it is a new one. written: of a checkpoint, by row, when they were written; NULL: they are now. */
enum status join_side_add(struct join_state *state, uint32_t side, const struct batch *batch, const uint32_t *slots,
                          const struct vector *written, uint32_t *entries, uint8_t *fresh, struct error *err);
/* Lists an entry for the end of the tick. */
enum status join_side_touch(struct join_side *side, uint32_t entry, struct error *err);
/* Unlinks and frees an entry and its row; a key without entries goes too. */
void join_side_remove(struct join_state *state, uint32_t side, uint32_t entry);

#endif
