/* state/snapshot.h: what a checkpoint holds of the operators of one worker: state tables, as rows.
 *
 * For         the save and restore of circuit/node.h; job/ moves the bytes. docs/state-format.md describes them.
 * Shape       An operator declares its state tables: a name and typed columns. A row has an id, a number that is the row's own as long as it
 *             lives (a slot, an entry); a later row of the same id takes its place, snapshot_remove ends it. A checkpoint is a chain of
 *             files of one worker: a full one, then changes. A file is a sequence of blocks, each about one table.
 * Restore     Files of a chain are read from the newest to the oldest and a row is given to its operator only if no newer file had its id, so
 *             operators see what was there at the end, each row once, and only add. The order of tables is not that of the file, but a table
 *             with `after_others` comes when all the others are complete. Rows go to the worker that owns them in the restoring plan
 *             (`place`), whatever the parallelism was before.
 * Expiry      A table may have a column of BIGINT by which rows die without being listed: snapshot_expire gives a bound, and rows of older
 *             files that are below it are gone.
 * Cost        A checkpoint stops ticks while rows are handed to the writer, so operators hand over batches as they are (snapshot_keep); they
 *             are encoded, packed and summed when the file is put, in another thread.
 * Later       A writer that defers gets of a large table a note of the rows at first (struct snapshot_deferred), and the rows, as they were
 *             then, a part at a time between later ticks. Who changes such a row before its turn hands it over first.
 * Ownership   The writer owns its blocks until snapshot_writer_destroy. Batches and ids are lent, unless said otherwise.
 * Threads     A writer is filled by its worker, then read by one other thread.
 * Errors      A block that is torn, of another version or whose checksum differs is BAD_RECORD and names the place in the file.
 */
#ifndef SPATE_STATE_SNAPSHOT_H
#define SPATE_STATE_SNAPSHOT_H

#include "data/batch.h"
#include "sql/relation.h"

enum { SNAPSHOT_VERSION = 2, SNAPSHOT_ID_MAX = 64 };

enum snapshot_place {
    SNAPSHOT_ONE,   /* worker 0 */
    SNAPSHOT_HASH,  /* the worker of the hash of `place_columns` */
    SNAPSHOT_EVERY, /* all workers see the row; the operator takes what is its own */
};
struct snapshot_table {
    const char *name;
    const struct schema *schema;
    enum snapshot_place place;
    const uint32_t *place_columns;
    uint32_t place_count;
    int32_t expiry;             /* column, -1: none */
    const char *const *layouts; /* by column: how its BYTES are to be read (state/state_layout.h), NULL: not said. NULL: of none */
    bool after_others;
};

/* ---- writing ---- */

struct snapshot_writer;
/* full: all rows; else what has changed since the last writer of this worker. */
enum status snapshot_writer_create(struct budget *budget, bool full, uint64_t checkpoint, struct snapshot_writer **writer,
                                   struct error *err);
void snapshot_writer_destroy(struct snapshot_writer *writer);
/* Whose rows these are; unless set, those of a job with one worker. */
void snapshot_set_worker(struct snapshot_writer *writer, uint32_t worker, uint32_t worker_count, uint32_t max_parallelism);
bool snapshot_is_full(const struct snapshot_writer *writer);
uint64_t snapshot_checkpoint(const struct snapshot_writer *writer); /* its number */
/* The tables that follow are of this operator. */
enum status snapshot_begin(struct snapshot_writer *writer, const char *operator_id, const struct snapshot_table *tables, uint32_t count,
                           struct error *err);
/* ids: by the k-th selected row. Weights are not looked at. */
enum status snapshot_write(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, const struct batch *batch,
                           struct error *err);
/* The same without the work: the batch becomes the writer's, also after an error, and is encoded when the file is put. Until then nobody
 * may change or free what its columns point to: counted buffers, or memory that stays as it is for as long as the writer lives. ids are
 * copied; NULL: first_id and up. */
enum status snapshot_keep(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, uint64_t first_id, struct batch *batch,
                          struct error *err);
/* The same, with columns that are left empty until the file is put: then `fill`, in whatever thread, makes them of `bytes` bytes that the
 * caller writes to *raw now. It is given nothing else, so they must say all. The owner lives as long as the writer. */
struct snapshot_raw {
    enum status (*fill)(void *owner, const void *raw, uint32_t count, struct batch *batch, struct error *err);
    void *owner;
    size_t bytes;
};
enum status snapshot_keep_raw(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, struct batch *batch,
                              const struct snapshot_raw *raw, void **to, struct error *err);
enum status snapshot_remove(struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, uint32_t count, struct error *err);
/* What older files hold of the table is void: this file has all of it. Before its first row. */
enum status snapshot_replace(struct snapshot_writer *writer, uint32_t table, struct error *err);
enum status snapshot_expire(struct snapshot_writer *writer, uint32_t table, int64_t bound, struct error *err);
/* Rows that a table is still to hand over: of its owner, until `take` says that there are no more, or `drop`. */
struct snapshot_deferred {
    struct snapshot_deferred *next;
    enum status (*take)(struct snapshot_deferred *self, bool *more, struct error *err); /* a part, of at most CHUNK_ROWS */
    void (*drop)(struct snapshot_deferred *self);                                       /* the writer ends without them */
};
void snapshot_allow_deferred(struct snapshot_writer *writer);
bool snapshot_defers(const struct snapshot_writer *writer);
/* In `save`. *first_table: for snapshot_resume, before the rows are handed over. */
void snapshot_defer(struct snapshot_writer *writer, struct snapshot_deferred *deferred, uint32_t *first_table);
/* The next part. *more: there is another; not before the last one may the file be put. */
enum status snapshot_take_deferred(struct snapshot_writer *writer, bool *more, struct error *err);
/* What follows is of the operator whose first table had this number. */
void snapshot_resume(struct snapshot_writer *writer, uint32_t first_table);
uint64_t snapshot_rows(const struct snapshot_writer *writer);
/* So many rows more would a full file have: what tells when the files of a chain are worth merging. */
void snapshot_note_live(struct snapshot_writer *writer, uint64_t rows);
uint64_t snapshot_live(const struct snapshot_writer *writer);
/* The file, a piece at a time: encodes and sums as it goes, and frees what was put. put is called in order. */
typedef enum status snapshot_put(void *context, const void *bytes, size_t length, struct error *err);
enum status snapshot_finish(struct snapshot_writer *writer, snapshot_put *put, void *context, struct error *err);

/* From now on, and before anything else: blocks are put as they come instead of being kept; snapshot_finish puts the end. */
enum status snapshot_stream(struct snapshot_writer *writer, snapshot_put *put, void *context, struct error *err);

/* The rows of a chain as one full file with the same ids, for a writer that streams. */
struct snapshot_operator {
    const char *id;
    const struct snapshot_table *tables;
    uint32_t table_count;
};
struct snapshot_chain {
    const char *const *files; /* names, from the oldest to the newest */
    uint32_t file_count;
    /* Streams the bytes of a file. */
    enum status (*read)(void *context, uint32_t file, snapshot_put *put, void *put_context, struct error *err);
    void *context;
};
enum status snapshot_merge(const struct snapshot_operator *operators, uint32_t operator_count, const struct snapshot_chain *chain,
                           struct snapshot_writer *writer, struct budget *budget, struct error *err);

/* A table with few rows of numbers and bytes: a row at a time. The columns are BIGINT NOT NULL or BYTES NOT NULL. */
struct snapshot_cell {
    int64_t number;
    struct text bytes;
};
enum status snapshot_write_cells(struct snapshot_writer *writer, uint32_t table, uint64_t id, const struct snapshot_cell *cells,
                                 struct error *err);
/* The cell of a restored row. */
static inline int64_t snapshot_number(const struct batch *batch, uint32_t row, uint32_t column)
{
    return vector_int64(&batch->columns[column])[row];
}
static inline struct text snapshot_text(const struct batch *batch, uint32_t row, uint32_t column)
{
    return vector_get_text(&batch->columns[column], row);
}

/* ---- reading ---- */

struct snapshot_rows {
    const struct batch *batch; /* dense */
    const uint64_t *ids;       /* by row; unique within the chain */
    uint32_t chain;            /* which one: ids of different chains have nothing to do with each other */
    uint32_t stored_bytes;     /* of the block that they came in */
};
struct snapshot_target { /* who takes the rows */
    /* The table of an operator by their names: its declaration; NULL: nobody knows it. */
    const struct snapshot_table *(*find)(void *context, const char *operator_id, const char *table, void **handle);
    /* Instead of `find`, for a reader that knows no operators: the table with the columns that the file names, a line each: name, tab,
     * type. NULL: its rows are not wanted. */
    const struct snapshot_table *(*describe)(void *context, const char *operator_id, const char *table, struct text columns, void **handle);
    enum status (*take)(void *context, void *handle, const struct snapshot_table *table, const struct snapshot_rows *rows,
                        struct error *err);
    void *context;
    struct budget *budget;
    uint32_t worker, worker_count, max_parallelism;
    bool ignore_unclaimed; /* else a table that nobody knows is an error */
};
struct snapshot_reader; /* one chain, for one worker */
enum status snapshot_reader_create(const struct snapshot_target *target, uint32_t chain, struct snapshot_reader **reader,
                                   struct error *err);
void snapshot_reader_destroy(struct snapshot_reader *reader);
/* The next file, from the newest to the oldest; name: for messages. Then its bytes, in pieces of any size; then the end. */
void snapshot_file_begin(struct snapshot_reader *reader, const char *name, bool oldest);
enum status snapshot_file_bytes(struct snapshot_reader *reader, const void *bytes, size_t length, struct error *err);
enum status snapshot_file_end(struct snapshot_reader *reader, struct error *err);
/* After the oldest: true when some table has `after_others`: then all files come a second time, from the newest again. */
bool snapshot_wants_second_pass(struct snapshot_reader *reader);

#endif
