/* connectors/source.h: where rows come from.
 *
 * For         tables that are read. One source_type per connector name; a source is one use of a table in a plan.
 * Shape       A source has partitions, each read in its order by one reader. read() returns decoded rows: dense, `ordered`,
 *             ordinals counting from 0 over the partition, `partition` set.
 * Threads     open and the partition list: the planning thread. A reader belongs to one thread (circuit/source_node.h runs
 *             it ahead in a thread of its own); readers of one source may run at once.
 * Positions   A source that has position() can be read again from any place between two read()s: a new reader, perhaps of another process,
 *             that was told to seek() there gives the rows that the first one would have given next, with the same ordinals. What seek()
 *             finds changed (a file that is gone, shorter, other) it refuses; it never skips or repeats a row instead.
 * Leading     A source whose parts (files that come) have no order of their own but that in which a reader happened to find them says which part
 *             the rows just read are of (reader.part). A reader that is led is told before each read() which part the rows are of
 *             that another reader got there, and that they are there: it does not wait for its clock. So it gives the same rows.
 * Pieces      A source with divide() can be read by several processes, each its piece of it (context.piece of context.pieces). What a piece has
 *             follows from the definition of the table and from the part alone (a file's name, the values of its partition columns), so all
 *             processes agree on it at every moment, whatever each of them has found so far: each part is of exactly one piece, and all
 *             pieces together are the whole. A piece that has nothing ends like an empty source.
 * Errors      A record that cannot be read follows 'scan.error-policy' (connectors/error_policy.h, used by every source).
 */
#ifndef SPATE_CONNECTORS_SOURCE_H
#define SPATE_CONNECTORS_SOURCE_H

#include "base/clock.h"
#include "formats/format.h"
#include "storage/stores.h"

enum source_traits {
    SOURCE_BOUNDED = 1,    /* ends by itself (may depend on options: see source.bounded) */
    SOURCE_REPLAYABLE = 2, /* can be read again from a position: position() and seek() are there */
    SOURCE_LOOKUP = 4,     /* bounded: may be the right side of a lookup join */
    SOURCE_INLINE = 8,     /* rows are already in columns: read in the tick's thread, no thread of its own */
};

struct source_column {
    const char *name;
    const struct type *type;
    const char *metadata_key; /* NULL: a physical column */
};
struct source_counters { /* updated by readers, read by anyone */
    _Atomic uint64_t rows, bytes, failed, dropped, dead_lettered;
    _Atomic uint64_t bytes_total; /* of bounded input, for progress; 0: unknown */
};
struct dead_letter; /* connectors/dead_letter.h */
struct schema;      /* sql/relation.h */
struct source_context {
    struct arena *arena; /* as long as the source */
    struct budget *budget;
    const struct clock *clock;
    const struct time_zone *zone;
    const char *table;
    const struct source_column *columns; /* those read, in output order */
    uint32_t column_count;
    const struct type *physical; /* ROW of all physical columns of the table in its order (partition columns too): csv and raw go by
                                  * position. NULL: `columns` holds them all */
    const struct projection *projections; /* per column; NULL: all whole */
    const char *const *partition_columns; /* PARTITIONED BY: names */
    const struct type *const *partition_types;
    uint32_t partition_count;
    const struct table_options *options;    /* connectors/table_options.h: all of WITH (...) */
    void *attachment;                       /* catalog_table.attachment */
    const struct storage_settings *storage; /* the session's; lent for the call of open */
    struct source_counters *counters;
    uint32_t piece, pieces;          /* only this piece is read; pieces 0: all. Sources without divide() read all */
    bool until_end;                  /* an unbounded source ends where it stands when it is opened, or is refused */
    struct dead_letter *dead_letter; /* where the dead-letter policy puts records; not NULL when that policy is set */
};

struct source {
    const struct source_type *type;
    uint32_t partition_count;
    uint32_t piece, pieces; /* as in the context, of a source with divide(); set by source_open */
    bool bounded;
    bool changes;            /* rows may have weights other than +1 */
    const char *other_again; /* why the same place gives other rows when it is read again (a clock, chance); NULL: it gives the same */
};
enum read_state {
    READ_ROWS, /* batch holds 1..row_limit rows; of a source of changes up to 2 at least: an update is not cut */
    READ_IDLE, /* nothing now; call again after wait_us */
    READ_END,
};
struct reader {
    struct source *source;
    uint32_t partition;
    struct text part;        /* of the rows just read; lent until the next read() */
    uint64_t reads;          /* read()s begun; counted by the caller, from 1 */
    _Atomic uint64_t passed; /* all that came of the read()s up to this one is in ticks; set by whoever takes the rows */
};
/* How a source can be read in pieces. */
struct source_division {
    const char *whole; /* why it cannot, as the rest of "orders ..."; NULL: it can */
    const char *parts; /* what a piece has some of: "files" */
    bool by_values;    /* rows with equal values in all PARTITIONED BY columns are in one piece */
    bool grows;        /* parts come later: their number of now says nothing */
    uint32_t count;    /* parts that are there (by_values: different values); of a source that was opened for all pieces */
};
struct source_position {
    struct text place;   /* connectors/position.h: "filesystem/1 rows=7 byte=120 ..." */
    struct text history; /* beside it: history() of the same read; empty where the source has none */
};
struct source_type {
    const char *name, *summary;
    const struct option_def *options;
    size_t option_count, settings_bytes;
    uint32_t traits;
    enum status (*open)(const struct source_context *context, const void *settings, struct source **source, struct error *err);
    enum status (*reader_open)(struct source *source, uint32_t partition, struct reader **reader, struct error *err);
    /* Initialises batch when READ_ROWS. May block up to about 100 ms. */
    enum status (*read)(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                        struct error *err);
    void (*reader_close)(struct reader *reader);
    void (*close)(struct source *source);
    /* Appends the place where the next read() begins: short, for it is asked after each read. NULL: not replayable. */
    enum status (*position)(struct reader *reader, struct text_builder *place, struct error *err);
    /* Appends what the place behind the read() `passed` needs beside it: may be long. From any thread while the reader reads. NULL: nothing. */
    enum status (*history)(struct reader *reader, struct text_builder *out, struct error *err);
    /* Once, before the first read(). Both texts are only lent. */
    enum status (*seek)(struct reader *reader, const struct source_position *position, struct error *err);
    /* The columns that a table without any gets, in the arena. NULL: its definition has to name them. */
    enum status (*infer)(const struct storage_settings *storage, const void *settings, struct arena *arena, struct budget *budget,
                         const struct schema **schema, struct error *err);
    /* Instead of seek, for a job that has lost its state and does not look back: the reader begins with what comes from now on. `from`: where
     * an earlier one was (NULL: none). Appends a line that says what lies between, if anything does. No function: seek(). */
    enum status (*present)(struct reader *reader, const struct source_position *from, struct text_builder *skipped, struct error *err);
    /* Before each read() that is led: the part ("" where there are none). NULL: the reader goes on by itself. No function: nothing to do. */
    enum status (*lead)(struct reader *reader, const struct text *part, struct error *err);
    /* After open. NULL: the source is read by one process. */
    enum status (*divide)(struct source *source, struct source_division *division, struct error *err);
};

/* connectors/registry.c: the one list. NULL: unknown. */
const struct source_type *source_type_find(const char *name);
const struct source_type *const *source_type_list(uint32_t *count);
/* Checks all of WITH (...) against the connector's, the format's and the common options, then opens. Errors name the table. */
enum status source_open(const struct source_context *context, struct source **source, struct error *err);
void source_close(struct source *source);
/* For a table that is defined without columns: *schema NULL when its connector finds none by itself. */
enum status source_infer(const struct source_context *context, const struct schema **schema, struct error *err);

#endif
