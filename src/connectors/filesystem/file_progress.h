/* connectors/filesystem/file_progress.h: how far the files of a followed folder were read, as of the rows that are in ticks.
 *
 * For         filesystem_reader.c: the history beside its places (connectors/source.h), so that a later process goes on in each file.
 * Shape       The reader records what it has taken of a file each time it leaves it, with the number of the read() in which that was. As
 *             reads are passed (reader.passed), their records are merged into a table. A file counts by the hash of its path below the
 *             table's folder: 1 line of some 40 bytes each in a saved history, "HASH TAKEN LINES SEEN", in hexadecimal digits.
 * Threads     The reader records; whoever saves the job writes, at the same time.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_FILE_PROGRESS_H
#define SPATE_CONNECTORS_FILESYSTEM_FILE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

struct file_progress {
    uint64_t hash;
    uint64_t taken_bytes, taken_lines, seen_bytes; /* of struct file_entry; all 0: the file is forgotten */
    bool stands;                                   /* see progress_log_prune */
};
struct progress_log;
/* `passed`: reads up to this one are in ticks. */
enum status progress_log_create(const _Atomic uint64_t *passed, struct progress_log **log, struct error *err);
void progress_log_destroy(struct progress_log *log); /* NULL is allowed */
enum status progress_log_record(struct progress_log *log, uint64_t read, const struct file_progress *progress, struct error *err);
/* Appends the history as of the reads that are passed. */
enum status progress_log_write(struct progress_log *log, struct text_builder *out, struct error *err);
/* Begins with a history, before anything is recorded. */
enum status progress_log_read(struct progress_log *log, struct text history, struct error *err);
/* Before anything is recorded: what the history says of a file (NULL: nothing), and, when the caller has set `stands` on those that it found
 * as they should be, an end to the others: they are forgotten. */
struct file_progress *progress_log_find(const struct progress_log *log, uint64_t hash);
void progress_log_prune(struct progress_log *log);
uint64_t progress_hash(const char *relative_path);

#endif
