/* Raw registers of a coordinator, for tests that damage, copy or wipe them: what no program of ours does.
 *
 * usage: registers URI list PREFIX | get NAME | put NAME | wipe PREFIX      the value: standard input or output
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/driver.h"

static struct budget budget;
static struct arena *arena;
static struct error err;

/* A leader's lease keeps its blob from being removed (azure): it ends with the leader, and holds nothing that anybody decides by. */
static enum status remove_register(struct cluster_session *session, const char *name, const struct cluster_version *version)
{
    static const char lease[] = "/leader";
    enum cluster_result result;
    size_t length = strlen(name);
    enum status status = session->driver->del(session, name, version, &result, &err);
    bool of_lease = length >= sizeof lease - 1 && strcmp(name + length - (sizeof lease - 1), lease) == 0;
    return status == STATUS_DENIED && of_lease ? STATUS_OK : status;
}

static enum status list(struct cluster_session *session, const char *prefix, bool wipe)
{
    struct cluster_names names;
    TRY(session->driver->list(session, prefix, arena, &names, &err));
    for (uint32_t i = 0; i < names.count; i++) {
        struct cluster_value value;
        enum cluster_result result;
        if (!wipe) {
            puts(names.names[i]);
            continue;
        }
        TRY(session->driver->get(session, names.names[i], arena, &result, &value, &err));
        if (result == CLUSTER_OK) {
            TRY(remove_register(session, names.names[i], &value.version));
        }
    }
    return STATUS_OK;
}

static enum status get(struct cluster_session *session, const char *name)
{
    struct cluster_value value;
    enum cluster_result result;
    TRY(session->driver->get(session, name, arena, &result, &value, &err));
    if (result != CLUSTER_OK) {
        return error_set(&err, ERROR_UNKNOWN_NAME, "there is no register %s", name);
    }
    fwrite(value.bytes.bytes, 1, value.bytes.length, stdout);
    return STATUS_OK;
}

/* Over whatever is there, however often that changes meanwhile. */
static enum status put(struct cluster_session *session, const char *name)
{
    static char bytes[CLUSTER_VALUE_MAX];
    struct text value = {bytes, fread(bytes, 1, sizeof bytes, stdin)};
    enum cluster_result result = CLUSTER_CONFLICT;
    for (uint32_t i = 0; i < 1000 && result != CLUSTER_OK; i++) {
        struct cluster_value old;
        struct cluster_version version;
        TRY(session->driver->get(session, name, arena, &result, &old, &err));
        TRY(session->driver->put(session, name, value, result == CLUSTER_OK ? &old.version : NULL, &result, &version, &err));
    }
    return result == CLUSTER_OK ? STATUS_OK : error_set(&err, ERROR_UNKNOWN_NAME, "register %s changes too fast", name);
}

int main(int argument_count, char **arguments)
{
    struct cluster_session *session;
    if (argument_count != 4) {
        fprintf(stderr, "usage: registers URI list|get|put|wipe NAME\n");
        return 2;
    }
    budget_init(&budget, NULL, "registers", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "registers");
    enum status status = cluster_open(arguments[1], NULL, 0, NULL, &session, &err);
    if (status == STATUS_OK) {
        const char *verb = arguments[2], *name = arguments[3];
        status = strcmp(verb, "get") == 0   ? get(session, name)
                 : strcmp(verb, "put") == 0 ? put(session, name)
                                            : list(session, name, strcmp(verb, "wipe") == 0);
        cluster_close(session, true);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    arena_destroy(arena);
    return status == STATUS_OK ? 0 : 1;
}
