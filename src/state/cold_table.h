/* state/cold_table.h: a key table as a write-back cache of units in a database (state/cold_rows.h).
 *
 * For         keyed operators, under a database: what does not fit in memory is written to it, dropped, and fetched when its key comes again.
 *             A slot may have a unit in each of up to three state tables, parts 0, 1, 2: the sides of a join, what OVER has of a partition.
 * Marks       Per slot, and part: STORED, the database has the unit; DIRTY, not as it is now. USED: touched since the clock's hand last passed.
 *             A slot of neither STORED nor DIRTY is not in use, or its operator keeps it out of the database.
 * Invariants  A key that is not in the key table has in the database what it had when it was evicted; one that is there is so with all parts. `stored` counts the units there, `out`
 *             those that are in no slot. So with out == 0 no key need be asked for: state that fits costs the marks and no more.
 *             A key that the filter does not have is not in the database: it is not asked for. After a restart the filter is filled in pieces.
 *             Before a key is inserted it is fetched (cold_table_fetch), before it is removed it is forgotten (cold_table_forget).
 * Scope       An operator may have many key tables whose units are of one state table: one per window. The first columns of the layout's keys
 *             then tell them apart; a cold table has their bytes, and its key table not these columns.
 * Spilled     Until a unit is written the database knows nothing of the table, and its owner may save its rows as if there were none. `spilled`
 *             stays until cold_table_write finds that nothing is left there.
 * Owner       The operator: it knows how a slot's rows look and how they come back.
 *                 keys   the layout's key (without the scope) and `more` columns of some slots, at their places in a batch that is initialised and otherwise empty;
 *                        NULL: they are the columns of the key table
 *                 columns  where a slot has one row: the rows of some slots, in the layout's form, into an initialised batch
 *                 rows   else: the rows of some slots, in the layout's form, slot after slot, through cold_table_put; a slot without a row has no unit
 *                 add    rows, in the layout's form, back into memory; slots: of each row, SLOT_NONE for one that the owner does not want
 *                 drop   forgets slots: state and key; after that they are free
 *                 pinned may the slot not leave now? NULL: all may
 *                 due    of a slot that is written: when it is wanted back (cold_table_fetch_due); INT64_MAX: when its key comes
 *                 heap   the largest slab beside the key table, NULL: none; emptied: no slot is in use any more, memory beside the key
 *                        table may be given back
 * Ownership   The operator's; the key table and the database are lent, and so is the place of the scratch memory, which tables that are not used
 *             at once share: cold_scratch_free. Zero with `budget` and `scratch` set is closed.
 * Errors      NO_MEMORY, STATE_CORRUPT, those of the driver. After one of them the job stops.
 * Threads     One task.
 */
#ifndef SPATE_STATE_COLD_TABLE_H
#define SPATE_STATE_COLD_TABLE_H

#include "base/slab.h"
#include "state/cold_filter.h"
#include "state/cold_rows.h"
#include "state/cold_timers.h"
#include "state/key_table.h"
#include "state/time_to_live.h"

enum { COLD_PARTS = 3 };
enum cold_mark { COLD_STORED = 1, COLD_DIRTY = 2, COLD_PART_BITS = 2, COLD_USED = 64 }; /* part p: STORED and DIRTY << COLD_PART_BITS * p */

struct cold_table;
struct cold_owner {
    void *context;
    enum status (*keys)(void *context, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err);
    enum status (*columns)(void *context, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err);
    enum status (*rows)(void *context, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err);
    enum status (*add)(void *context, struct batch *batch, uint32_t *slots, struct error *err);
    enum status (*drop)(void *context, const uint32_t *slots, uint32_t count, struct error *err);
    bool (*pinned)(const void *context, uint32_t slot);
    int64_t (*due)(const void *context, uint32_t slot);
    const struct slab *(*heap)(const void *context);
    void (*emptied)(void *context);
};
struct cold_counters {
    uint64_t hits, misses, absent;            /* rows whose key was in memory; keys that the database was asked for, and need not be */
    uint64_t fetched, spilled, spilled_bytes; /* units found there; units written, their bytes */
};
struct cold_table {
    struct budget *budget;
    struct cold_db *db;
    struct cold_layout layouts[COLD_PARTS];
    uint32_t part_count, part; /* part: while the owner is asked for rows, or given some */
    struct cold_owner owner;
    struct key_table *keys;
    uint32_t *key_columns[COLD_PARTS]; /* the layout's keys, then `more` */
    uint8_t *marks;                    /* by slot */
    uint32_t mark_count, hand;
    uint64_t stored[COLD_PARTS], out_of[COLD_PARTS], out; /* out: of all parts */
    bool spilled;                                         /* the database has, or counts, units */
    struct cold_filter filter;
    bool is_filled;                /* the filter has all units that are stored */
    struct text_builder filled_to; /* if not: up to this key it has */
    struct cold_counters counters;
    struct cold_scratch **scratch;         /* made when first needed */
    struct text scope;                     /* owned */
    struct cold_timers timers[COLD_PARTS]; /* of those that have a time: of all parts, or of each */
    uint32_t timer_count;                  /* 0: none has */
    struct cold_table *next, *before;      /* for whoever lists them */
};
/* Takes up a database that may hold units of the layouts already, one layout a part. Keys that are in the table count as DIRTY. */
enum status cold_table_open(struct cold_table *cold, struct cold_db *db, const struct cold_layout *layouts, uint32_t part_count,
                            const struct cold_owner *owner, struct key_table *keys, struct error *err);
/* Of one part, and a layout with a scope, of which the database may have `units`. */
enum status cold_table_open_scope(struct cold_table *cold, struct cold_db *db, const struct cold_layout *layout, struct text scope,
                                  uint64_t units, const struct cold_owner *owner, struct key_table *keys, struct error *err);
/* After that `due` is asked, of an owner that has it. count: 1: a slot has one time; as many as there are parts: one in each (`part` says which
 * is asked for). width_us: how many keys share a place in memory (state/cold_timers.h). Without a scope. */
enum status cold_table_open_timers(struct cold_table *cold, uint32_t count, int64_t width_us, struct error *err);
void cold_table_close(struct cold_table *cold);
void cold_scratch_free(struct cold_scratch *scratch, struct budget *budget); /* of closed tables; NULL is allowed */

/* Of the selected rows of a batch those whose slot is SLOT_NONE are looked for in the database and put into the key table; *added: some were
 * found (slots are as before: look again). columns: of the batch, the layout's keys, then `more`. */
enum status cold_table_fetch(struct cold_table *cold, const struct batch *batch, const uint32_t *columns, const uint32_t *slots,
                             bool *added, struct error *err);
/* The same from keys and hashes: looks into the key table, by its columns `keys`, first. Free while out == 0. */
enum status cold_table_fetch_keys(struct cold_table *cold, const struct batch *batch, const uint32_t *keys, const uint64_t *hashes,
                                  bool *added, struct error *err);
/* Keys that are due by `until` come back into memory, up to a chunk of them. *count: how many were due; some of them may be gone, or due later by
 * now. slots: where they are, SLOT_NONE: gone; NULL: nobody asks. */
enum status cold_table_fetch_due(struct cold_table *cold, uint32_t timer, int64_t until, uint32_t *slots, uint32_t *count,
                                 struct error *err);
/* Of keys whose owner's `due` is ttl_expires_us: those that are due and have expired come back, for the owner to remove, and are forgotten by the ttl. A part, at most a chunk;
 * *more: there may be others. */
enum status cold_table_fetch_expired(struct cold_table *cold, struct time_to_live *ttl, uint32_t *slots, uint32_t *count, bool *more,
                                     struct error *err);
/* Nothing is due before this. INT64_MAX: never. */
static inline int64_t cold_table_next_due(const struct cold_table *cold, uint32_t timer)
{
    return timer < cold->timer_count ? cold->timers[timer].next_us : INT64_MAX;
}
/* Marks for slots that the key table has: before cold_table_touch. */
enum status cold_table_reserve(struct cold_table *cold, struct error *err);
static inline void cold_table_touch(struct cold_table *cold, uint32_t slot, uint32_t part)
{
    cold->marks[slot] |= (uint8_t)(COLD_USED | COLD_DIRTY << COLD_PART_BITS * part);
}
/* Reserves, and touches the slots; SLOT_NONE is passed over. */
enum status cold_table_changed(struct cold_table *cold, const uint32_t *slots, uint32_t count, uint32_t part, struct error *err);
/* The slots will be removed: units that the database has of them are removed there. */
enum status cold_table_forget(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err);
/* All that is DIRTY is written; it stays in memory. Then the count of units. */
enum status cold_table_write(struct cold_table *cold, struct error *err);
/* Slots leave memory: `most` of them, those first that were not used for long; all: used or not. *evicted: how many did. */
enum status cold_table_evict(struct cold_table *cold, uint32_t most, bool all, uint32_t *evicted, struct error *err);
/* Will the next chunk make the table larger? */
bool cold_table_is_full(const struct cold_table *cold);
/* These slots, which are not pinned. */
enum status cold_table_evict_slots(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err);

/* All units of a table none of whose keys is in memory, in the order of their bytes. take may use the database, not the table. */
typedef enum status cold_take(void *context, struct batch *batch, struct error *err);
enum status cold_table_scan(struct cold_table *cold, cold_take *take, void *context, struct error *err);
/* The units of the scope are removed from the database, those of other tables with it as well; what is in memory is not DIRTY any more. */
enum status cold_table_remove_scope(struct cold_table *cold, struct error *err);

/* For owner.rows: units[k] is the place of row k's slot among the slots asked for; ascending, also from call to call. */
enum status cold_table_put(struct cold_table *cold, const struct batch *batch, const uint32_t *units, struct error *err);

#endif
