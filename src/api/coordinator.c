#include "api/coordinator.h"

enum status coordinator_open_at(spate_session *session, const char *uri, const struct cluster_environment *environment,
                                struct cluster_session **opened, struct error *err)
{
    struct arena *arena;
    const struct cluster_option *options;
    size_t count;
    TRY_ALLOC(arena, arena_create(&session->budget, "coordination options"), err);
    enum status status = settings_coordination(&session->settings, arena, &options, &count, err);
    if (status == STATUS_OK) {
        status = cluster_open(uri, options, count, environment, opened, err);
    }
    arena_destroy(arena);
    return status;
}

enum status coordinator_open(spate_session *session, const char *what, const struct cluster_environment *environment,
                             struct cluster_session **opened, struct error *err)
{
    const char *uri = session->settings.values.coordinator_uri;
    if (uri == NULL) {
        return error_set(err, ERROR_MISSING_OPTION, "where %s is coordinated must be said: --coordinator URI, or 'coordinator.uri'", what);
    }
    return coordinator_open_at(session, uri, environment, opened, err);
}
