/* cluster/plugin.h: drivers of users (include/spate/driver.h) behind the interface of ours: what a plugin does not have, leases and an error's
 * form, is added here.
 *
 * For         the registry: schemes that no driver of ours has.
 */
#ifndef SPATE_CLUSTER_PLUGIN_H
#define SPATE_CLUSTER_PLUGIN_H

#include "cluster/driver.h"

/* *found false: there is no shared object for the scheme. */
enum status plugin_open(struct text scheme, const char *uri, const struct cluster_option *options, size_t option_count,
                        const struct cluster_environment *environment, bool *found, struct cluster_session **session, struct error *err);

#endif
