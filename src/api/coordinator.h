/* api/coordinator.h: the coordination service of a session: 'coordinator.uri' and what its driver needs.
 *
 * For         jobs on several processes, control logs, `spate coord`.
 * Ownership   What is opened is the caller's to close, with cluster_close.
 */
#ifndef SPATE_API_COORDINATOR_H
#define SPATE_API_COORDINATOR_H

#include "api/session.h"
#include "cluster/driver.h"

/* `what` needs it, for the message when 'coordinator.uri' is not set: "a job on several processes". environment NULL: the system's. */
enum status coordinator_open(spate_session *session, const char *what, const struct cluster_environment *environment,
                             struct cluster_session **opened, struct error *err);
/* Another one, with the session's options. */
enum status coordinator_open_at(spate_session *session, const char *uri, const struct cluster_environment *environment,
                                struct cluster_session **opened, struct error *err);

#endif
