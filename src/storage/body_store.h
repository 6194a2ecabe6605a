/* storage/body_store.h: texts that are too long for a register, kept under their SHA-256.
 *
 * For         the model of a job with thousands of tasks (cluster/model.h), snapshots of its control log.
 * Layout      jobs/<id>/bodies/<sha256>
 * Invariants  A body never changes: putting it again only makes it the newest. Reading checks the hash.
 * Retention   Registers are not in the storage: nothing here can tell what they name. So the newest BODIES_KEPT of a job stay, and all that
 *             are younger than "storage.gc.grace".
 */
#ifndef SPATE_STORAGE_BODY_STORE_H
#define SPATE_STORAGE_BODY_STORE_H

#include "base/text.h"
#include "storage/stores.h"

enum { BODIES_KEPT = 64 };
enum status body_put(struct storage *storage, const char *job, const char *sha256, struct text body, struct error *err);
/* Absent: STORE_MISSING. */
enum status body_get(struct storage *storage, const char *job, const char *sha256, struct arena *arena, struct text *body,
                     struct error *err);

#endif
