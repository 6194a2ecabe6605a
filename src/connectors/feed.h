/* connectors/feed.h: a table fed by the caller of the library.
 *
 * For         spate_feed_*: the feed is the attachment of a table with 'connector' = 'feed'.
 * Shape       A queue of batches per partition. A reader takes what is there and waits for more until feed_end. With
 *             feed_keep batches stay, and every statement that reads the table gets them from the first on; else each goes to the
 *             statement that takes it first.
 * Ownership   Counted: the caller, the catalog's table and each open source hold a reference.
 * Threads     Any.
 * Errors      feed_push: what arrow_import_open refuses; MISUSE after feed_end or for a partition that is not there.
 */
#ifndef SPATE_CONNECTORS_FEED_H
#define SPATE_CONNECTORS_FEED_H

#include "data/batch.h"
#include "spate/arrow.h"

struct feed;
/* `row`: the physical columns; copied. */
enum status feed_create(struct budget *budget, const struct type *row, uint32_t partition_count, struct feed **feed, struct error *err);
struct feed *feed_ref(struct feed *feed);
void feed_unref(struct feed *feed); /* NULL is allowed */
const struct type *feed_row(const struct feed *feed);
/* Takes the array, also when it fails. */
enum status feed_push(struct feed *feed, uint32_t partition, struct ArrowArray *array, struct error *err);
/* Takes the batch (dense, at most CHUNK_ROWS rows), also when it fails. */
enum status feed_push_batch(struct feed *feed, uint32_t partition, struct batch *batch, struct error *err);
void feed_keep(struct feed *feed, bool keep);
void feed_end(struct feed *feed);

#endif
