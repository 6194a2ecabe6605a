/* circuit/operators/join_core.h: the part that regular, interval and window joins share.
 *
 * For         join_node.c, interval_join.c, window_join.c.
 * Shape       join_absorb stores a chunk of one side and meets it with what the other side has: the sum over both sides' chunks is the
 *             exact change of the join, in whatever order they come. Pairs that pass the condition are emitted in chunks; what tracked
 *             rows show by themselves (padded, semi, anti) is settled once a tick by join_settle, so a row that got and lost its match in
 *             one tick emits nothing.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_JOIN_CORE_H
#define SPATE_CIRCUIT_OPERATORS_JOIN_CORE_H

#include "circuit/circuit_cold.h"
#include "circuit/held_errors.h"
#include "circuit/operators/join_state.h"
#include "circuit/operators/time_heap.h"
#include "functions/program.h"

/* Candidate pairs of one chunk with the other side. */
struct join_pairs {
    uint32_t count, limit;
    bool weighted;
    uint16_t rows[CHUNK_ROWS]; /* of the chunk */
    uint32_t own[CHUNK_ROWS];  /* its entry; 0: an older entry, whose matches are counted already */
    uint32_t other[CHUNK_ROWS];
    int64_t weights[CHUNK_ROWS];
};

/* Rows of one side on their way out by themselves. */
struct join_lone {
    uint32_t count;
    bool weighted;
    row_handle rows[CHUNK_ROWS];
    int64_t weights[CHUNK_ROWS];
};

struct join {
    struct node node;
    const struct join_spec *spec;
    struct join_state state;
    bool emits_pairs;        /* not SEMI, ANTI */
    bool defers;             /* unmatched rows are shown only when they expire */
    bool expires;            /* rows stay until join_expire, also with weight zero */
    bool lookup;             /* left rows only pass by (join_lookup) */
    bool spills;             /* asked for before join_open: keys may leave memory (join_cold.c) */
    struct cold_table *cold; /* NULL: no database */
    bool changes;            /* an input may retract: failing conditions are held back */
    bool lossy;              /* rows may be withdrawn that are forgotten: the withdrawal meets what is there, and leaves nothing */
    uint32_t arrived;        /* with a time-to-live: rows of this tick */
    uint8_t *matched;        /* lookup: by row of the chunk, set to 1 for each pair; NULL: not asked for */
    uint32_t left_columns, right_columns, output_columns;
    /* the condition, its columns by side, and where a column of the input lies among the kept ones */
    struct program *condition;
    uint32_t *used[2], used_count[2];
    uint32_t *position[2];
    uint32_t *sent[2], sent_count[2]; /* columns that go out, of the kept ones */
    const char **names;
    struct held_errors *held;
    struct row_failures failures;
    /* checkpoints (join_save.h) */
    uint32_t *loose[2], loose_count[2]; /* keys that are not among the kept columns */
    uint32_t *saved_keys[2];            /* by key: the column of the state table */
    uint32_t totals_table, held_table;  /* 0: none */
    /* expires (join_ends.h) */
    struct time_heap ends[2]; /* entries by the time at which they are over */
    uint32_t stale[2];        /* items of entries that have left memory */
    int64_t passed[2];        /* rows up to this end are gone */
    /* null_aware */
    int64_t right_total, right_nulls;
    uint32_t null_mode;
    int64_t violations;
    /* scratch of a chunk */
    struct vector *vectors;
    uint32_t *scratch_columns;
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS], entries[CHUNK_ROWS];
    uint8_t fresh[CHUNK_ROWS];
    uint16_t keyed[CHUNK_ROWS], unkeyed[CHUNK_ROWS], kept[CHUNK_ROWS], stored[CHUNK_ROWS];
    row_handle handles[CHUNK_ROWS];
    struct row_probe *probe; /* made when it is needed first */
    struct selection absorbed;
    struct join_pairs pairs;
    struct join_lone lone;
};

/* Sets up what is after `node` in a struct join that is zero; expires: rows are freed by join_expire, so both sides can unlink them. */
enum status join_open(struct join *self, struct circuit *circuit, const struct join_spec *spec, bool expires, struct error *err);
void join_close(struct join *self);
/* Stores the rows and emits what they make with the other side. */
enum status join_absorb(struct join *self, uint32_t side, const struct batch *batch, struct error *err);
/* The kept columns of a side's rows, lent until the next call. */
struct batch join_kept_columns(struct join *self, uint32_t side, const struct batch *view);
/* What the last join_absorb stored on a side whose rows expire: entries of the rows that had a key. */
struct join_absorbed {
    struct selection rows;   /* of the batch */
    const uint32_t *entries; /* by the k-th of them */
    const uint8_t *fresh;    /* a new entry */
};
struct join_absorbed join_absorbed(const struct join *self);
/* Emits what the rows of a left chunk make with the right side, without storing them (INNER, LEFT). */
enum status join_lookup(struct join *self, const struct batch *batch, struct error *err);
/* No match will come for this entry any more. */
enum status join_expire(struct join *self, uint32_t side, uint32_t entry, struct error *err);
/* `single`: keeps count of left rows with more than one match. */
void join_count_multiple(struct join *self, struct join_extra *extra);
/* null_aware: what the totals say about the right. */
uint32_t join_null_mode(const struct join *self);
/* The end of a tick for the touched entries: they are listed for the next checkpoint; those that are gone are freed. */
enum status join_settle_touched(struct join *self, uint32_t side, struct error *err);
/* Emits what changed in the rows that stand by themselves; frees what is gone. */
enum status join_settle_sides(struct join *self, struct error *err);
/* Once a tick: that, and checks what is held back. */
enum status join_settle(struct join *self, const struct tick *tick, struct error *err);
void join_count_state(struct node *node); /* the join is the node's first member */

/* ---- a database (join_cold.c) ---- */

bool join_can_spill(const struct join *self);
enum status join_open_cold(struct node *node, struct error *err);
/* The slots of a chunk are found: their units will change. */
enum status join_note_slots(struct join *self, uint32_t which, uint32_t count, struct error *err);
/* Before join_side_remove: if the entry is the last of its key, the key is gone. */
enum status join_forget_key(struct join *self, uint32_t which, uint32_t entry, struct error *err);

#endif
