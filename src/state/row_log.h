/* state/row_log.h: rows kept in the order in which they came, by column.
 *
 * For         sides of joins that only grow: rows are added by the chunk, found by a scan or by lists, fetched by the column.
 * Shape       Chunks of up to LOG_CHUNK_ROWS rows (the first ones are smaller), each an array per column, with the long strings of its rows
 *             beside them. A row has a number (1 and up, 0: none) that it keeps until it is dropped: chunk and place follow from it. Beside
 *             its columns lie a tag (part of the hash of its keys), a weight, and `next`, with which the owner may tie rows into lists.
 *             Rows 0..linked-1 of a chunk are in such lists; the others, `waiting` in all, are found by a scan only: row_probe_set
 *             takes the rows of a batch that look for partners, row_log_candidates gives the waiting rows of a chunk whose tags may be
 *             among them, row_probe_match compares keys (data/order.h: NULL equals NULL).
 *             Nested values are kept as encoded bytes (data/value_codec.h); keys must not be nested.
 * Dropping    A log that was given a time column knows the latest time of each chunk, and gives up whole chunks; their numbers come again.
 *             Strings that are fetched from it are copies. A log without time column keeps all rows; strings that are fetched are views
 *             into it, and keep its strings alive, all of them, also after row_log_destroy.
 * Invariants  count <= capacity, linked <= count. A chunk that is not being filled and has no rows is in the list of free ones. waiting is
 *             the sum of count - linked. Values are kept as they came (-0.0 stays).
 * To save it  A row is saved with its number (row_log_gather), and added again; those behind `saved` of their chunk are new.
 * Ownership   The log owns its rows; batches are copied in.
 * Errors      NO_MEMORY when the budget is spent; a part of the batch may have been added then. TOO_MANY past UINT32_MAX rows.
 * Threads     One task. Strings that were fetched may be read in any.
 */
#ifndef SPATE_STATE_ROW_LOG_H
#define SPATE_STATE_ROW_LOG_H

#include "base/slab.h"
#include "data/order.h"

enum { LOG_CHUNK_ROWS = 2048 };
#define ROW_LOG_NO_TIME UINT32_MAX
#define ROW_PROBE_END   UINT32_MAX

struct log_block; /* of long strings */
struct log_chunk {
    uint32_t count, capacity, linked;
    uint32_t saved; /* rows that are in a checkpoint: the owner's, 0 when the chunk is filled anew */
    int64_t latest; /* with a time column: the largest time */
    uint32_t *tags, *next;
    int64_t *weights; /* NULL: all 1 */
    struct log_block *blocks;
    uint8_t *heap, *heap_end; /* room in the newest block */
};
struct log_column {
    const struct type *type;
    enum physical physical;
    uint32_t width;
    bool text, encoded;
    uint8_t **values;    /* by chunk */
    uint64_t **validity; /* by chunk; NULL: no row of it is NULL */
};
struct row_log {
    struct budget *budget;
    struct slab slab;         /* all but the strings */
    struct log_heap *strings; /* owned by `root` */
    struct buffer *root;      /* what fetched strings hold on to */
    struct log_column *columns;
    uint32_t column_count, key_count, time_column;
    uint32_t *keys;
    struct log_chunk *chunks;
    uint32_t chunk_count, chunk_capacity, current; /* current: being filled */
    uint32_t *free_chunks, free_count;
    uint32_t block_bytes;
    uint64_t rows, waiting;
    int64_t next_drop; /* no chunk's latest time is below this */
    struct text_builder encoded;
};

/* keys: which columns are compared. time_column: a TIMESTAMP of 64 bits, never NULL, or ROW_LOG_NO_TIME: no chunk will be dropped. */
enum status row_log_create(struct budget *budget, const struct type *const *types, uint32_t column_count, const uint32_t *keys,
                           uint32_t key_count, uint32_t time_column, struct row_log **log, struct error *err);
void row_log_destroy(struct row_log *log);
size_t row_log_bytes(const struct row_log *log);
/* Adds the selected rows of the batch (all its columns); numbers[k] for the k-th. hashes: of the keys, by physical row; NULL: no keys.
 * linked: the caller ties them into its lists now; no row may be waiting then. */
enum status row_log_append(struct row_log *log, const struct batch *batch, const uint64_t *hashes, bool linked, uint32_t *numbers,
                           struct error *err);
/* Rows as columns, as row_store_gather does; number 0 gives NULL. */
enum status row_log_gather(const struct row_log *log, const uint64_t *numbers, uint32_t count, const uint32_t *columns,
                           uint32_t column_count, struct vector *vectors, struct error *err);
/* All rows of a chunk as a batch over lent memory (nested columns are left out: NULL); `view` was made by batch_init. */
void row_log_view(const struct row_log *log, uint32_t chunk, struct batch *view);
/* Rows `from` to `to` of a chunk as new columns over lent memory, which stays as it is until the log is destroyed, whatever is appended.
 * Not for a log with a time column, whose chunks are filled anew, nor with nested columns: row_log_can_lend. */
bool row_log_can_lend(const struct row_log *log);
enum status row_log_lend(const struct row_log *log, uint32_t chunk, uint32_t from, uint32_t to, struct vector *columns, struct error *err);
/* The waiting rows of the chunk are in lists from now on. */
void row_log_set_linked(struct row_log *log, uint32_t chunk);
/* A chunk with rows of which none is later than `bound`, from `chunk` on; chunk_count: none. */
uint32_t row_log_find_droppable(const struct row_log *log, uint32_t chunk, int64_t bound);
/* Gives up the rows of the chunk: no list may lead to them any more. */
void row_log_drop(struct row_log *log, uint32_t chunk);
/* After dropping what could be: sets next_drop. */
void row_log_note_dropped(struct row_log *log);

static inline uint32_t row_log_number(uint32_t chunk, uint32_t row)
{
    return chunk * LOG_CHUNK_ROWS + row + 1;
}
static inline uint32_t *row_log_next(const struct row_log *log, uint32_t number)
{
    return &log->chunks[(number - 1) / LOG_CHUNK_ROWS].next[(number - 1) % LOG_CHUNK_ROWS];
}
static inline int64_t row_log_weight(const struct row_log *log, uint32_t number)
{
    const int64_t *weights = log->chunks[(number - 1) / LOG_CHUNK_ROWS].weights;
    return weights == NULL ? 1 : weights[(number - 1) % LOG_CHUNK_ROWS];
}

enum { PROBE_FILTER_BITS = 65536, PROBE_HEADS = 4096 };
/* Rows of a batch that look for partners. */
struct row_probe {
    const struct batch *batch;
    const uint32_t *keys;
    uint32_t key_count;
    uint64_t filter[PROBE_FILTER_BITS / 64]; /* by the upper half of the tag */
    uint16_t heads[PROBE_HEADS];             /* by the lower bits of the tag: 1 + k */
    uint16_t next[CHUNK_ROWS];               /* by k: 1 + k */
    uint32_t tags[CHUNK_ROWS];               /* by k */
};
/* The batch and its selection stay the caller's, for as long as the probe is used. hashes: by physical row. */
void row_probe_set(struct row_probe *probe, const struct batch *batch, const uint32_t *keys, uint32_t key_count, const uint64_t *hashes);
/* rows: waiting rows of the chunk that may have a partner (room for LOG_CHUNK_ROWS); returns how many. */
uint32_t row_log_candidates(const struct row_log *log, uint32_t chunk, const struct row_probe *probe, uint16_t *rows);
/* The next k after `after` (ROW_PROBE_END: the first) whose keys equal those of the row; ROW_PROBE_END: there is none. */
uint32_t row_probe_match(const struct row_probe *probe, const struct row_log *log, uint32_t chunk, uint32_t row, uint32_t after);

#endif
