/* connectors/dead_letter.h: records on their way to a dead-letter table.
 *
 * For         'scan.error-policy' = 'dead-letter': readers put records that cannot be read here, the job writes them into the table
 *             at the end of each tick (circuit/operators/dead_letter_node.c).
 * Shape       One queue per dead-letter table of a job, whatever the number of sources. The table's columns are found by name:
 *             payload BYTES, source STRING, position STRING, code STRING, message STRING; those present are filled.
 * Limits      While a job serves the queue, dead_letter_wait holds a reader's thread, between two read()s, when much is queued; a read()
 *             ends after DEAD_LETTERS_PER_READ of them. Who ends ticks must not wait.
 * Restart     A letter is queued when its record is read, which is ahead of the tick that takes the rows around it. It is given out only
 *             when its reader's `passed` has reached the read() that it came of: in the same tick as those rows, on the same side of
 *             every checkpoint, whose position reads what was not given out again.
 * Lifetime    A job calls serve before its readers start and stop before it joins them; the queue outlives both.
 * Threads     Filled by many threads, drained by one.
 */
#ifndef SPATE_CONNECTORS_DEAD_LETTER_H
#define SPATE_CONNECTORS_DEAD_LETTER_H

#include "base/wakeup.h"
#include "connectors/source.h"

enum { LETTER_FIELDS = 5, DEAD_LETTERS_PER_READ = 1000 };
/* In this order; a payload whose bytes are NULL is NULL. Texts must be valid UTF-8. */
struct letter_fields {
    struct text payload, source, position, code, message;
    const struct reader *reader; /* who reads it now; NULL: it may be given out at once */
};

struct dead_letter;
enum status dead_letter_create(struct budget *budget, struct dead_letter **queue, struct error *err);
void dead_letter_destroy(struct dead_letter *queue); /* NULL is allowed */
/* Signals `wakeup` when letters come; `limited`: dead_letter_wait waits while more than a MiB is queued. */
void dead_letter_serve(struct dead_letter *queue, struct wakeup *wakeup, bool limited);
void dead_letter_stop(struct dead_letter *queue); /* nobody waits any more; further letters are refused (CANCELLED) */
void dead_letter_wait(struct dead_letter *queue);
enum status dead_letter_push(struct dead_letter *queue, const struct letter_fields *fields, struct error *err);
/* The reader closes: its letters wait for nobody any more. */
void dead_letter_let_go(struct dead_letter *queue, const struct reader *reader);
/* Refuses a table whose physical columns are not (some of) the five, or of another type. */
enum status dead_letter_check_table(const struct type *row, const char *table, struct error *err);
uint64_t dead_letter_count(struct dead_letter *queue); /* letters that may be given out now */
/* These letters, at most `row_limit`, as rows of the table. batch->count == 0: nothing. */
enum status dead_letter_take(struct dead_letter *queue, uint32_t row_limit, const struct type *row, struct batch *batch, struct error *err);

#endif
