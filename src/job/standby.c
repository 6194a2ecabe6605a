#include "job/standby.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/growing_array.h"
#include "cluster/commit_record.h"
#include "job/state_copies.h"

#define KEPT_US     INT64_C(300000000)
#define FOLDER_HEAD "spate-standby-"

struct followed {
    uint64_t task, seq; /* the checkpoint that is here; 0: none */
    bool wanted;
    int64_t since_us; /* not wanted */
};
struct standby {
    struct standby_config config;
    char folder[STANDBY_PATH_BYTES - TASK_TEXT_BYTES - 2];
    pthread_t thread;
    bool started, closing;
    pthread_mutex_t mutex; /* guards closing and the list */
    pthread_cond_t changed;
    struct followed *list;
    uint32_t count, capacity;
};

static int64_t now_us(void)
{
    return clock_system.monotonic_us(&clock_system);
}

void standby_folder(const struct standby *standby, uint64_t task, char path[STANDBY_PATH_BYTES])
{
    char name[TASK_TEXT_BYTES];
    snprintf(path, STANDBY_PATH_BYTES, "%s/%s", standby->folder, task_text(task, name));
}

/* With the mutex; NULL: none. */
static struct followed *find(struct standby *self, uint64_t task)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->list[i].task == task) {
            return &self->list[i];
        }
    }
    return NULL;
}

void standby_follow(struct standby *self, uint64_t task, bool follow)
{
    pthread_mutex_lock(&self->mutex);
    struct followed *found = find(self, task);
    if (found == NULL && follow && growing_array_reserve(&self->list, &self->capacity, self->count + 1, sizeof *self->list)) {
        found = &self->list[self->count++];
        *found = (struct followed){.task = task};
    }
    if (found != NULL) {
        found->wanted = follow;
        found->since_us = now_us();
    }
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    if (!follow) {
        self->config.tell(self->config.context, task, false, 0, 0);
    }
}

/* ---- the thread ---- */

/* *seq: what is here, then what is there. */
static enum status catch_up(struct standby *self, uint64_t task, uint64_t *seq, struct arena *arena, struct error *err)
{
    const struct standby_config *config = &self->config;
    struct commit_record record;
    struct checkpoint_manifest manifest;
    enum object_result result;
    bool found;
    char name[TASK_TEXT_BYTES], folder[STANDBY_PATH_BYTES];
    TRY(commit_record_read(config->session, config->prefix, task, arena, &found, &record, err));
    if (!found || record.seq == 0 || record.seq == *seq) {
        return STATUS_OK;
    }
    TRY(checkpoint_read_manifest(config->storage, config->job_id, task_text(task, name), record.seq, arena, &result, &manifest, err));
    if (result != OBJECT_OK) {
        return STATUS_OK; /* a newer one has taken its place meanwhile */
    }
    standby_folder(self, task, folder);
    config->tell(config->context, task, true, state_copies_missing(folder, &manifest), *seq);
    TRY(state_copies_update(folder, config->storage, &manifest, err));
    *seq = record.seq;
    config->tell(config->context, task, true, 0, *seq);
    return STATUS_OK;
}

/* With the mutex: the next to be looked at from `at` on; those that nobody has wanted for long go. false: no more. */
static bool take_next(struct standby *self, uint32_t *at, struct followed *next)
{
    while (*at < self->count) {
        struct followed *entry = &self->list[*at];
        if (entry->wanted) {
            *next = *entry;
            (*at)++;
            return true;
        }
        if (now_us() - entry->since_us < KEPT_US) {
            (*at)++;
            continue;
        }
        char folder[STANDBY_PATH_BYTES];
        standby_folder(self, entry->task, folder);
        state_copies_remove(folder);
        *entry = self->list[--self->count];
    }
    return false;
}

static void look(struct standby *self, struct arena *arena)
{
    struct followed next;
    uint32_t at = 0;
    pthread_mutex_lock(&self->mutex);
    while (!self->closing && take_next(self, &at, &next)) {
        struct error ignored; /* the next look finds out */
        pthread_mutex_unlock(&self->mutex);
        arena_reset(arena);
        (void)!catch_up(self, next.task, &next.seq, arena, &ignored);
        pthread_mutex_lock(&self->mutex);
        struct followed *entry = find(self, next.task);
        if (entry != NULL) {
            entry->seq = next.seq;
        }
    }
    pthread_mutex_unlock(&self->mutex);
}

static void *standby_main(void *context)
{
    struct standby *self = context;
    struct arena *arena = arena_create(NULL, "standby");
    pthread_mutex_lock(&self->mutex);
    while (!self->closing && arena != NULL) {
        pthread_mutex_unlock(&self->mutex);
        look(self, arena);
        pthread_mutex_lock(&self->mutex);
        if (!self->closing) {
            condition_wait_us(&self->changed, &self->mutex, self->config.poll_us);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    if (arena != NULL) {
        arena_destroy(arena);
    }
    return NULL;
}

/* ---- the whole ---- */

static void remove_folder(const char *folder)
{
    DIR *listing = opendir(folder);
    for (const struct dirent *at; listing != NULL && (at = readdir(listing)) != NULL;) {
        char path[STANDBY_PATH_BYTES];
        if (at->d_name[0] != '.' && snprintf(path, sizeof path, "%s/%s", folder, at->d_name) < (int)sizeof path) {
            state_copies_remove(path);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    (void)rmdir(folder);
}

/* What processes that were killed have left. */
static void remove_orphans(const char *parent)
{
    DIR *listing = opendir(parent);
    for (const struct dirent *at; listing != NULL && (at = readdir(listing)) != NULL;) {
        char path[STANDBY_PATH_BYTES];
        int pid;
        if (sscanf(at->d_name, FOLDER_HEAD "%d-", &pid) == 1 && kill(pid, 0) != 0 && errno == ESRCH &&
            snprintf(path, sizeof path, "%s/%s", parent, at->d_name) < (int)sizeof path) {
            remove_folder(path);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
}

enum status standby_open(const struct standby_config *config, struct standby **standby, struct error *err)
{
    struct standby *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->config = *config;
    pthread_mutex_init(&self->mutex, NULL);
    condition_init(&self->changed);
    remove_orphans(config->parent);
    int length = snprintf(self->folder, sizeof self->folder, "%s/" FOLDER_HEAD "%d-%s", config->parent, (int)getpid(), config->job_id);
    enum status status = STATUS_OK;
    if (length >= (int)sizeof self->folder || (mkdir(self->folder, 0700) != 0 && errno != EEXIST)) {
        status = error_set(err, ERROR_STATE_DISK, "cannot make the folder '%s': %s", self->folder, strerror(errno));
    } else if (pthread_create(&self->thread, NULL, standby_main, self) != 0) {
        status = error_set(err, ERROR_THREAD, "no thread for standbys");
    }
    self->started = status == STATUS_OK;
    if (status != STATUS_OK) {
        standby_close(self);
        return status;
    }
    (void)pthread_setname_np(self->thread, "standbys");
    *standby = self;
    return STATUS_OK;
}

void standby_close(struct standby *self)
{
    if (self == NULL) {
        return;
    }
    pthread_mutex_lock(&self->mutex);
    self->closing = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    if (self->started) {
        pthread_join(self->thread, NULL);
    }
    for (uint32_t i = 0; i < self->count; i++) {
        char folder[STANDBY_PATH_BYTES];
        standby_folder(self, self->list[i].task, folder);
        state_copies_remove(folder);
    }
    (void)rmdir(self->folder);
    free(self->list);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}
