/* connectors/feed_queue.h: a feed seen by its readers.
 *
 * For         feed.c, feed_source.c.
 */
#ifndef SPATE_CONNECTORS_FEED_QUEUE_H
#define SPATE_CONNECTORS_FEED_QUEUE_H

#include "connectors/feed.h"

struct feed_cursor {
    struct feed *feed;
    uint32_t partition;
    void *last; /* of a kept feed: the entry read last */
};
enum feed_state { FEED_ROWS, FEED_EMPTY, FEED_ENDED };
/* The next batch, as a reference, waiting up to wait_us for it. *first_row: its first row's number in the partition. */
enum status feed_take(struct feed_cursor *cursor, int64_t wait_us, struct batch *batch, int64_t *first_row, enum feed_state *state,
                      struct error *err);
struct budget *feed_budget(const struct feed *feed);
uint32_t feed_partition_count(const struct feed *feed);
bool feed_has_ended(struct feed *feed);

#endif
