/* connectors/error_policy.h: what becomes of records that cannot be read.
 *
 * For         every source: an error_reporter per reader is the `fail` of its decode targets.
 * Shape       fail: the error names table, file or topic, line, field and first bytes, and ends the job. skip: counted.
 *             dead-letter: a row for the dead-letter table, queued here; the job drains the queue into that table's sink
 *             each tick (dead_letter_take).
 * Threads     A reporter is its reader's. A dead_letter may be filled by many threads and drained by one.
 */
#ifndef SPATE_CONNECTORS_ERROR_POLICY_H
#define SPATE_CONNECTORS_ERROR_POLICY_H

#include "connectors/source.h"
#include "connectors/table_options.h"

struct dead_letter; /* a queue of rows: payload BYTES, source STRING, position STRING, code STRING, message STRING */
enum status dead_letter_create(struct budget *budget, struct dead_letter **queue, struct error *err);
void dead_letter_destroy(struct dead_letter *queue); /* NULL is allowed */
enum status dead_letter_push(struct dead_letter *queue, struct text payload, struct text source, struct text position, struct text code,
                             struct text message, struct error *err);
/* Refuses a table that has none of the columns, or one of another type. */
enum status dead_letter_check_table(const struct type *row, const char *table, struct error *err);
/* What was queued, at most a chunk, as rows of the table (columns found by name, others NULL). batch->count == 0: nothing. */
enum status dead_letter_take(struct dead_letter *queue, struct budget *budget, const struct type *row, struct batch *batch,
                             struct error *err);

struct error_reporter {
    const struct source_context *context;
    int32_t policy;
    const char *source;  /* "file /data/a.json" */
    uint64_t byte, line; /* of the bytes given to the decoder: where they begin in the source, lines before them */
};
enum status error_reporter_init(struct error_reporter *reporter, const struct source_context *context, struct error *err);
/* decode_target.fail, the reporter as its owner. */
bool error_reporter_fail(void *owner, const struct decode_failure *failure, struct error *err);

#endif
