/* storage/body_store.h: texts that are too long for a register, kept under their SHA-256.
 *
 * For         the model of a job with thousands of tasks (cluster/model.h), snapshots of its control log.
 * Layout      jobs/<id>/bodies/<sha256>
 * Invariants  A body never changes: putting it again does nothing. Reading checks the hash.
 */
#ifndef SPATE_STORAGE_BODY_STORE_H
#define SPATE_STORAGE_BODY_STORE_H

#include "base/text.h"
#include "storage/stores.h"

enum status body_put(struct storage *storage, const char *job, const char *sha256, struct text body, struct error *err);
/* Absent: STORE_MISSING. */
enum status body_get(struct storage *storage, const char *job, const char *sha256, struct arena *arena, struct text *body,
                     struct error *err);

#endif
