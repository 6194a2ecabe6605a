/* connectors/error_policy.h: what becomes of records that cannot be read.
 *
 * For         every source: an error_reporter per reader is the `fail` of its decode targets.
 * Shape       fail: the error names table, file or topic, line, field and first bytes, and ends the job. skip: counted.
 *             dead-letter: a row for the dead-letter table, queued (connectors/dead_letter.h): the record's bytes, "file /data/a.json",
 *             "line 3, byte 17", "SPATE-3001", what is wrong with which field.
 * Threads     A reporter is its reader's.
 */
#ifndef SPATE_CONNECTORS_ERROR_POLICY_H
#define SPATE_CONNECTORS_ERROR_POLICY_H

#include "connectors/source.h"
#include "connectors/table_options.h"

struct error_reporter {
    const struct source_context *context;
    int32_t policy;
    const char *source;          /* "file /data/a.json" */
    const struct reader *reader; /* set by the reader that has a number of its read()s */
    uint32_t letters;            /* since the read() began; the reader sets it to 0 and waits (dead_letter_wait) before */
    uint64_t byte, line;         /* of the bytes given to the decoder: where they begin in the source, lines before them */
};
enum status error_reporter_init(struct error_reporter *reporter, const struct source_context *context, struct error *err);
/* decode_target.fail, the reporter as its owner. */
bool error_reporter_fail(void *owner, const struct decode_failure *failure, struct error *err);

#endif
