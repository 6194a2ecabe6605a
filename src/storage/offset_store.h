/* storage/offset_store.h: how far a task has come, outside of checkpoints: the newest record and those before it.
 *
 * Layout      jobs/<id>/offsets/<task>/current (by compare-and-set); jobs/<id>/offsets/<task>/<seq, 20 digits>: records before it
 * Invariants  Records have seqs 1, 2, 3... Epochs never fall: a writer with a lower one than the newest record's gets CONFLICT, and so
 *             does one whose record was overtaken between its read and its write. A record is archived before it is replaced, so a
 *             crash leaves all of them.
 * Keys        Texts that sort by bytes (a tick with leading zeros, a time); a record's key may be read again as long as it is kept.
 */
#ifndef SPATE_STORAGE_OFFSET_STORE_H
#define SPATE_STORAGE_OFFSET_STORE_H

#include "storage/stores.h"

struct offset_record {
    uint64_t seq, epoch;
    const char *key, *value; /* UTF-8 */
    int64_t at_us;
};
/* Makes the next record. CONFLICT: the writer is fenced (or raced with itself). */
enum status offsets_append(struct storage *storage, const char *job, const char *task, const char *key, const char *value, uint64_t epoch,
                           enum object_result *result, struct error *err);
/* The newest record. */
enum status offsets_last(struct storage *storage, const char *job, const char *task, struct arena *arena, enum object_result *result,
                         struct offset_record *record, struct error *err);
/* The newest record with this key. */
enum status offsets_read(struct storage *storage, const char *job, const char *task, const char *key, struct arena *arena,
                         enum object_result *result, struct offset_record *record, struct error *err);
/* Names of the tasks that have any; in the arena. */
enum status offsets_tasks(struct storage *storage, const char *job, struct arena *arena, const char *const **names, uint32_t *count,
                          struct error *err);

#endif
