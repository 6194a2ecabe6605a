/* storage/batch_store.h: compressed batches by day and hour: what logs and metrics have in common.
 *
 * For         log_*.c and metric_*.c only.
 * Layout      <folder>/<day>/<hour>/<processor>-<incarnation>-<seq><ending>; without hours where `by_hour` is not set
 */
#ifndef SPATE_STORAGE_BATCH_STORE_H
#define SPATE_STORAGE_BATCH_STORE_H

#include "base/text.h"
#include "storage/stores_internal.h"

enum { BATCH_BYTES_MAX = 256 << 20 };

struct batch_name {
    enum store_kind kind;
    const char *job, *resolution /* NULL: none */, *processor, *incarnation, *ending;
    bool by_hour;
};
/* Compresses and puts under the next free number from *seq on. */
enum status batch_put(struct storage *storage, const struct batch_name *name, int64_t at_us, uint64_t *seq, const void *bytes,
                      size_t length, struct error *err);
/* Gets and expands; the bytes are in the arena. ABSENT: swept meanwhile. */
enum status batch_get(struct storage *storage, enum store_kind kind, const char *key, struct arena *arena, enum object_result *result,
                      struct text *text, struct error *err);

#endif
