/* cluster/guarded.h: registers that only the latest holder of a lease can change.
 *
 * For         DistributedLock's update, and the same for a leader.
 * Form        {"v", "fence", "nonce", "written", "text" or "base64"} (cluster/value.h). `fence`: of the latest holder that has read or written
 *             it; `nonce`: of its last write; `written`: the nonce of the update that wrote the value. Without a value: read by a
 *             holder, never written.
 * Invariants  Who comes with a fence below the register's is refused, and nothing is changed. A holder's read writes the register by CAS,
 *             with its fence, before it gives the value: what it has read cannot be changed any more by a write that was sent before, be
 *             it of an earlier holder that wakes up or its own, whose answer was lost and which it took for not done. So read, compute,
 *             update loses nothing. Reading keeps value and `written`.
 *             Nothing here looks at a clock.
 * Results     OUTDATED: a later holder has been there; nothing of this call was written. UNKNOWN: an answer was lost, and when it could be
 *             looked up, a later holder had written over what was there.
 *             An update that met UNKNOWN is looked up by its nonce and, if it was not done, tried again on the version that is there; the
 *             first and the second cannot both be done.
 * Threads     Any; updates with one fence of one register one at a time.
 */
#ifndef SPATE_CLUSTER_GUARDED_H
#define SPATE_CLUSTER_GUARDED_H

#include "base/random.h"
#include "cluster/driver.h"

enum guarded_result { GUARDED_OK, GUARDED_ABSENT, GUARDED_OUTDATED, GUARDED_UNKNOWN };
struct guarded_value {
    uint64_t fence;
    struct text bytes; /* in the arena given */
};
struct guarded {
    struct cluster_session *session;
    struct random_source *random;
    const char *name; /* of the register */
};

/* Anyone: the value as it is. OK or ABSENT. */
enum status guarded_look(const struct guarded *self, struct arena *arena, enum guarded_result *result, struct guarded_value *value,
                         struct error *err);
/* A holder: the value as no earlier holder can change it any more. OK, ABSENT or OUTDATED. */
enum status guarded_read(const struct guarded *self, uint64_t fence, struct arena *arena, enum guarded_result *result,
                         struct guarded_value *value, struct error *err);
/* OK, OUTDATED or UNKNOWN. */
enum status guarded_update(const struct guarded *self, uint64_t fence, struct text value, enum guarded_result *result, struct error *err);

#endif
