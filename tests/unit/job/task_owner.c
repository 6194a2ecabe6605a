#include "task_owner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct task_owner {
    struct cluster_session session; /* what its checkpoints call */
    struct task_world *world;
    struct checkpoint_task task;
    const char *const *settings;
    const char *sql;
    char life[24], prefix[300];
    pthread_t thread;
    /* under the world's mutex */
    bool goes, steps, thaws, frozen, dead, ended;
    enum owner_fault fault;
    uint32_t cut; /* calls that are still cut off */
    enum status status;
    char text[1100], message[400];
};

/* ---- the service, as this owner sees it ---- */

static enum status unavailable(struct error *err)
{
    return error_set(err, ERROR_STORE_UNAVAILABLE, "the service does not answer, as the test wants it");
}

static struct task_owner *owner_of(struct cluster_session *session)
{
    return (struct task_owner *)session;
}

/* With the mutex: until the owner is told to go on. */
static void freeze(struct task_owner *owner)
{
    owner->frozen = true;
    owner->thaws = false;
    pthread_cond_broadcast(&owner->world->changed);
    while (!owner->thaws && !owner->dead) {
        pthread_cond_wait(&owner->world->changed, &owner->world->mutex);
    }
    owner->frozen = owner->thaws = false;
    pthread_cond_broadcast(&owner->world->changed);
}

static bool is_cut_off(struct task_owner *owner)
{
    bool cut = owner->cut > 0 || owner->dead;
    owner->cut -= owner->cut > 0;
    return cut;
}

static enum status owner_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                             struct cluster_value *value, struct error *err)
{
    struct task_owner *owner = owner_of(session);
    struct cluster_session *inner = memory_session_of(owner->world->registers);
    pthread_mutex_lock(&owner->world->mutex);
    enum status status = is_cut_off(owner) ? unavailable(err) : inner->driver->get(inner, name, arena, result, value, err);
    pthread_mutex_unlock(&owner->world->mutex);
    return status;
}

static enum status put_with(struct task_owner *owner, enum owner_fault fault, const char *name, struct text value,
                            const struct cluster_version *expect, enum cluster_result *result, struct cluster_version *version,
                            struct error *err)
{
    struct cluster_session *inner = memory_session_of(owner->world->registers);
    if (fault == OWNER_FREEZES_BEFORE) {
        freeze(owner);
    }
    owner->cut += fault == OWNER_IS_CUT_OFF ? 2 : 0;
    if (is_cut_off(owner)) {
        return unavailable(err);
    }
    if (fault != OWNER_LOSES_UNDONE) {
        TRY(inner->driver->put(inner, name, value, expect, result, version, err));
    }
    if (fault == OWNER_FREEZES_AFTER) {
        freeze(owner);
    }
    if (fault == OWNER_LOSES_DONE || fault == OWNER_LOSES_UNDONE) {
        *result = CLUSTER_UNKNOWN;
    }
    return STATUS_OK;
}

static enum status owner_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                             enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    struct task_owner *owner = owner_of(session);
    pthread_mutex_lock(&owner->world->mutex);
    enum owner_fault fault = owner->fault;
    owner->fault = OWNER_FINE;
    enum status status = put_with(owner, fault, name, value, expect, result, version, err);
    pthread_mutex_unlock(&owner->world->mutex);
    return status;
}

static const struct cluster_driver owner_driver = {.abi = CLUSTER_DRIVER_ABI, .scheme = "owner", .get = owner_get, .put = owner_put};

/* ---- the process ---- */

/* false: it is to die. */
static bool wait_for_step(struct task_owner *owner)
{
    struct task_world *world = owner->world;
    pthread_mutex_lock(&world->mutex);
    owner->steps = false;
    pthread_cond_broadcast(&world->changed);
    while (!owner->goes && !owner->dead) {
        pthread_cond_wait(&world->changed, &world->mutex);
    }
    bool goes = owner->goes && !owner->dead;
    owner->goes = false;
    owner->steps = goes;
    pthread_mutex_unlock(&world->mutex);
    return goes;
}

static int run_steps(struct task_owner *owner, spate_session *session, const char *sql)
{
    size_t offset = 0, length = strlen(sql);
    while (offset < length) {
        spate_result *result;
        int step = SPATE_STEP_WORKED, done = spate_execute(session, sql, length, &offset, &result);
        if (done != SPATE_OK || result == NULL) {
            return done;
        }
        bool is_insert = spate_result_kind(result) == SPATE_RESULT_INSERT;
        if (is_insert) {
            strncpy(owner->message, spate_result_message(result), sizeof owner->message - 1);
        }
        while (is_insert && done == SPATE_OK && step != SPATE_STEP_ENDED && wait_for_step(owner)) {
            done = spate_result_step(result, 0, &step);
        }
        spate_result_close(result);
        if (done != SPATE_OK || (is_insert && step != SPATE_STEP_ENDED)) {
            return done;
        }
    }
    return SPATE_OK;
}

static void *owner_main(void *context)
{
    struct task_owner *owner = context;
    spate_session *session = NULL;
    int done = SPATE_OK;
    if (wait_for_step(owner)) {
        done = spate_session_open(owner->settings, &session);
        session->task = &owner->task;
        done = done == SPATE_OK ? run_steps(owner, session, owner->sql) : done;
    }
    pthread_mutex_lock(&owner->world->mutex);
    if (done != SPATE_OK) {
        owner->status = session->error.status;
        strncpy(owner->text, session->error.text, sizeof owner->text - 1);
    } else if (owner->dead) {
        owner->status = STATUS_CANCELLED;
    }
    pthread_mutex_unlock(&owner->world->mutex);
    spate_session_close(session);
    pthread_mutex_lock(&owner->world->mutex);
    owner->ended = true;
    pthread_cond_broadcast(&owner->world->changed);
    pthread_mutex_unlock(&owner->world->mutex);
    return NULL;
}

/* ---- what the test does ---- */

void task_world_open(struct task_world *world)
{
    world->registers = memory_session_create();
    pthread_mutex_init(&world->mutex, NULL);
    pthread_cond_init(&world->changed, NULL);
}

void task_world_close(struct task_world *world)
{
    for (uint32_t i = 0; i < OWNERS_MAX; i++) {
        if (world->owners[i] != NULL) {
            task_owner_kill(world->owners[i]);
        }
    }
    memory_session_destroy(world->registers);
    pthread_mutex_destroy(&world->mutex);
    pthread_cond_destroy(&world->changed);
}

struct task_owner *task_owner_create(struct task_world *world, const char *job, const char *task, uint64_t epoch,
                                     const char *const *settings, const char *sql)
{
    struct task_owner *owner = calloc(1, sizeof *owner);
    assert(owner != NULL);
    owner->session.driver = &owner_driver;
    owner->world = world;
    owner->settings = settings;
    owner->sql = sql;
    snprintf(owner->life, sizeof owner->life, "w%llu", (unsigned long long)epoch);
    snprintf(owner->prefix, sizeof owner->prefix, "jobs/%s", job);
    owner->task = (struct checkpoint_task){.name = task,
                                           .epoch = epoch,
                                           .life = {owner->life, epoch * 3 + 1},
                                           .session = &owner->session,
                                           .prefix = owner->prefix,
                                           .job = job};
    owner->steps = true;
    uint32_t place = 0;
    while (world->owners[place] != NULL) {
        place++;
        assert(place < OWNERS_MAX);
    }
    world->owners[place] = owner;
    int failed = pthread_create(&owner->thread, NULL, owner_main, owner);
    assert(failed == 0);
    (void)failed;
    return owner;
}

void task_owner_fail_next(struct task_owner *owner, enum owner_fault fault)
{
    pthread_mutex_lock(&owner->world->mutex);
    owner->fault = fault;
    pthread_mutex_unlock(&owner->world->mutex);
}

enum owner_state task_owner_state(const struct task_owner *owner)
{
    pthread_mutex_lock(&owner->world->mutex);
    enum owner_state state = owner->ended ? OWNER_ENDED : owner->frozen ? OWNER_FROZEN : OWNER_READY;
    pthread_mutex_unlock(&owner->world->mutex);
    return state;
}

/* With the mutex. */
static bool is_under_way(const struct task_owner *owner)
{
    return !owner->ended && (owner->goes || (owner->steps && !owner->frozen));
}

enum owner_state task_owner_step(struct task_owner *owner)
{
    struct task_world *world = owner->world;
    pthread_mutex_lock(&world->mutex);
    while (is_under_way(owner)) { /* it has just begun */
        pthread_cond_wait(&world->changed, &world->mutex);
    }
    if (owner->frozen) {
        owner->thaws = true;
    } else {
        owner->goes = !owner->ended;
    }
    pthread_cond_broadcast(&world->changed);
    while (owner->thaws || is_under_way(owner)) {
        pthread_cond_wait(&world->changed, &world->mutex);
    }
    pthread_mutex_unlock(&world->mutex);
    return task_owner_state(owner);
}

enum status task_owner_status(const struct task_owner *owner, const char **text)
{
    *text = owner->text;
    return owner->status;
}

const char *task_owner_message(const struct task_owner *owner)
{
    return owner->message;
}

void task_owner_kill(struct task_owner *owner)
{
    pthread_mutex_lock(&owner->world->mutex);
    owner->dead = true;
    pthread_cond_broadcast(&owner->world->changed);
    pthread_mutex_unlock(&owner->world->mutex);
    pthread_join(owner->thread, NULL);
    for (uint32_t i = 0; i < OWNERS_MAX; i++) {
        owner->world->owners[i] = owner->world->owners[i] == owner ? NULL : owner->world->owners[i];
    }
    free(owner);
}
