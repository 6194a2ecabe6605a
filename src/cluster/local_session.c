#include <stdlib.h>

#include "cluster/local.h"

enum status local_session_create(const struct cluster_driver *driver, const struct cluster_environment *environment,
                                 struct local_session **session, struct error *err)
{
    struct local_session *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->base.driver = driver;
    pthread_mutex_init(&self->mutex, NULL);
    lease_register_open(&self->leases, &self->base, environment->clock, environment->random_seed);
    *session = self;
    return STATUS_OK;
}

void local_session_free(struct local_session *session)
{
    pthread_mutex_destroy(&session->mutex);
    free(session);
}

enum status local_lease_acquire(struct cluster_session *session, const char *name, const char *holder, int64_t ttl_us,
                                enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                                struct error *err)
{
    struct local_session *self = (struct local_session *)session;
    TRY(cluster_lease_check(name, holder, ttl_us, err));
    if (self->presence != NULL) {
        local_presence_show(self->presence, holder);
    }
    return lease_register_acquire(&self->leases, name, holder, ttl_us, result, lease, held_by, err);
}
