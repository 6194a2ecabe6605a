/* cluster/lease_register.h: a lease in a register: what drivers do whose service has no leases of its own, and the form of a lease's value.
 *
 * For         the driver local, a later s3; zookeeper and azure write the same value beside their own leases, for people.
 * Shape       The register holds {holder, fence, beat, ttl_us, nonce}. The holder rewrites it with another beat by CAS: that renews. A rival
 *             that has seen the same version for the holder's ttl, on its own clock, takes it by CAS with fence + 1; so does one who knows
 *             that the holder's process has ended. A released lease stays in its register, without a holder: fences go on from there.
 * Invariants  Each CAS writes a beat of its own, so reading back tells whether it was done. Only a CAS on the version that was read changes
 *             the holder: two rivals cannot both win. (Who deletes the register lets fences begin anew; nobody should.)
 * Ownership   A lease_register is part of its session, opened and closed with it. Leases end with lease_release, or with the session.
 * Threads     Any; of one lease one at a time.
 */
#ifndef SPATE_CLUSTER_LEASE_REGISTER_H
#define SPATE_CLUSTER_LEASE_REGISTER_H

#include <pthread.h>

#include "base/random.h"
#include "cluster/driver.h"

struct lease_value {
    char holder[CLUSTER_HOLDER_MAX]; /* "": nobody */
    char nonce[RANDOM_NAME_BYTES];   /* of the grant */
    int64_t fence, beat, ttl_us;
};
/* The value as a register's (cluster/value.h), in the arena. */
enum status lease_value_write(const struct lease_value *lease, struct arena *arena, struct text *bytes, struct error *err);
enum status lease_value_read(const char *name, struct text bytes, struct arena *arena, struct lease_value *lease, struct error *err);

enum { LEASE_SIGHTS_MAX = 1024 };
struct lease_sight { /* a version of a lease's register, and when this session saw it first */
    char *name;
    struct cluster_version version;
    int64_t since_us;
};
struct lease_register {
    struct cluster_session *session;
    const struct clock *clock;
    struct random_source random;
    pthread_mutex_t mutex; /* of what follows */
    struct lease_sight *sights;
    uint32_t sight_count;
    struct registered_lease *held;
};
void lease_register_open(struct lease_register *self, struct cluster_session *session, const struct clock *clock, uint64_t random_seed);
/* Leases that are still there are released, or left to end by their ttl. Before the session loses its registers. */
void lease_register_close(struct lease_register *self, bool release_leases);

enum status lease_register_acquire(struct lease_register *self, const char *name, const char *holder, int64_t ttl_us,
                                   enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                                   struct error *err);
enum status lease_register_renew(struct cluster_lease *lease, enum cluster_result *result, struct error *err);
enum status lease_register_release(struct cluster_lease *lease, struct error *err);

#endif
