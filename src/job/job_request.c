/* Requests to the process that runs a job: files beside its lock, or, where storage is no folder, messages in the storage itself. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "job/job_lock.h"
#include "storage/job_messages.h"

enum { FILE_POLL_US = 20000, MESSAGE_POLL_US = 500000, ANSWER_PATIENCE_US = 2000000, PATH_BYTES = 4096, REQUEST_BYTES = 8192 };

static const char request_name[] = "request", reply_name[] = "reply";

/* ---- one message ---- */

static void message_path(const struct storage *storage, const char *id, const char *name, char *path)
{
    char lock[PATH_BYTES - 32];
    job_lock_name(storage, id, lock, sizeof lock);
    snprintf(path, PATH_BYTES, "%s.%s", lock, name);
}

/* Whole or not at all: written beside, then renamed. */
static enum status file_write(const char *path, const char *text, struct error *err)
{
    char beside[PATH_BYTES + 16];
    snprintf(beside, sizeof beside, "%s.%d", path, (int)getpid());
    FILE *file = fopen(beside, "we");
    bool written = file != NULL && fputs(text, file) >= 0;
    written = file != NULL && fclose(file) == 0 && written;
    if (!written || rename(beside, path) != 0) {
        enum status status = error_set(err, ERROR_STORE_UNAVAILABLE, "cannot write '%s': %s", path, strerror(errno));
        unlink(beside);
        return status;
    }
    return STATUS_OK;
}

static enum status message_write(struct storage *storage, const char *id, const char *name, const char *text, struct error *err)
{
    char path[PATH_BYTES];
    if (!job_lock_is_possible(storage)) {
        return job_message_put(storage, id, name, text, err);
    }
    message_path(storage, id, name, path);
    return file_write(path, text, err);
}

static void message_remove(struct storage *storage, const char *id, const char *name)
{
    char path[PATH_BYTES];
    struct error ignored; /* one that stays is of a token that nobody waits for any more */
    if (!job_lock_is_possible(storage)) {
        (void)!job_message_remove(storage, id, name, &ignored);
        return;
    }
    message_path(storage, id, name, path);
    unlink(path);
}

/* NULL: there is none, or it cannot be read now. */
static const char *message_text(struct storage *storage, const char *id, const char *name, struct arena *arena)
{
    char path[PATH_BYTES], text[REQUEST_BYTES];
    if (!job_lock_is_possible(storage)) {
        enum object_result result;
        const char *got;
        struct error ignored;
        return job_message_get(storage, id, name, arena, &result, &got, &ignored) == STATUS_OK ? got : NULL;
    }
    message_path(storage, id, name, path);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return NULL;
    }
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    return arena_text(arena, text, length);
}

/* Three lines, in the arena; false: there is no message. */
static bool message_read(struct storage *storage, const char *id, const char *name, struct arena *arena, const char **lines)
{
    const char *at = message_text(storage, id, name, arena);
    for (uint32_t i = 0; i < 3 && at != NULL; i++) {
        size_t line = i < 2 ? strcspn(at, "\n") : strlen(at);
        lines[i] = arena_text(arena, at, line);
        at = lines[i] == NULL ? NULL : at + line + (at[line] == '\n');
    }
    return at != NULL;
}

/* ---- who asks ---- */

#define X(ask, name) name,
static const char *const asks[JOB_ASK_COUNT] = {JOB_ASK_LIST(X)};
#undef X

struct asked {
    struct storage *storage;
    const char *id, *token, *what;
    int pid; /* 0: not known */
    int64_t until_us;
    int64_t gone_us; /* since when nobody holds the lock; 0: somebody does */
};

static bool find_reply(const struct asked *asked, struct arena *arena, const char **lines)
{
    return message_read(asked->storage, asked->id, reply_name, arena, lines) && strcmp(lines[0], asked->token) == 0;
}

static int64_t now_us(const struct asked *asked)
{
    const struct clock *clock = storage_clock(asked->storage);
    return clock->monotonic_us(clock);
}

static bool is_late(const struct asked *asked)
{
    return now_us(asked) > asked->until_us;
}

/* Nobody has let go of the lock, if there is one. */
static bool is_held(const struct asked *asked)
{
    int pid;
    return job_lock_look(asked->storage, asked->id, &pid) != JOB_RUNNING_NOWHERE;
}

/* A process answers after it has let go of the job. */
static bool is_gone(struct asked *asked)
{
    bool held = is_held(asked);
    asked->gone_us = held ? 0 : asked->gone_us != 0 ? asked->gone_us : now_us(asked);
    return !held && now_us(asked) - asked->gone_us > ANSWER_PATIENCE_US;
}

static enum status wait_for_reply(struct asked *asked, struct arena *arena, const char **where, struct error *err)
{
    const char *lines[3];
    while (!find_reply(asked, arena, lines)) {
        if (is_gone(asked)) {
            return error_set(err, ERROR_STORE_UNAVAILABLE, "the process that runs job %s ended before it had answered (%s)", asked->id,
                             asked->what);
        }
        if (is_late(asked) && asked->pid == 0) {
            return error_set(err, ERROR_STORE_UNAVAILABLE, "no process that runs job %s answered in time (%s)", asked->id, asked->what);
        }
        if (is_late(asked)) {
            return error_set(err, ERROR_STORE_UNAVAILABLE, "process %d, which runs job %s, did not answer in time (%s)", asked->pid,
                             asked->id, asked->what);
        }
        usleep(asked->pid == 0 ? MESSAGE_POLL_US : FILE_POLL_US);
    }
    if (strcmp(lines[1], "ok") != 0) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "the process that runs job %s could not do it (%s): %s", asked->id, asked->what,
                         lines[2]);
    }
    *where = lines[2];
    return STATUS_OK;
}

static enum status wait_for_end(const struct asked *asked, struct error *err)
{
    while (asked->pid != 0 && is_held(asked)) {
        if (is_late(asked)) {
            return error_set(err, ERROR_STORE_UNAVAILABLE, "process %d has ended job %s, but not let go of it in time", asked->pid,
                             asked->id);
        }
        usleep(FILE_POLL_US);
    }
    return STATUS_OK;
}

static enum status write_request(const struct asked *asked, const char *place, struct error *err)
{
    char text[REQUEST_BYTES];
    int length = snprintf(text, sizeof text, "%s\n%s\n%s", asked->token, asked->what, place == NULL ? "" : place);
    return length < (int)sizeof text ? message_write(asked->storage, asked->id, request_name, text, err)
                                     : error_set(err, ERROR_INVALID_OPTION, "the place of the savepoint is too long");
}

enum status job_request_send(struct storage *storage, const char *id, enum job_ask ask, const char *place, int64_t timeout_us,
                             struct arena *arena, const char **where, struct error *err)
{
    char token[RANDOM_NAME_BYTES];
    const struct clock *clock = storage_clock(storage);
    int pid;
    enum job_running running = job_lock_look(storage, id, &pid);
    if (running == JOB_RUNNING_NOWHERE || (job_lock_is_possible(storage) && pid <= 0)) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "no process that runs job %s can be asked", id);
    }
    struct random_source random;
    random_open(&random, 0);
    random_name(&random, token);
    struct asked asked = {storage, id, token, asks[ask], pid, clock->monotonic_us(clock) + timeout_us, 0};
    TRY(write_request(&asked, place, err));
    enum status status = pid == 0 || kill(pid, SIGUSR1) == 0
                             ? wait_for_reply(&asked, arena, where, err)
                             : error_set(err, ERROR_STORE_UNAVAILABLE, "process %d, which runs job %s, cannot be asked from here: %s", pid,
                                         id, strerror(errno));
    message_remove(storage, id, request_name);
    message_remove(storage, id, reply_name);
    return status != STATUS_OK || ask == JOB_ASK_SAVEPOINT ? status : wait_for_end(&asked, err);
}

/* ---- who is asked ---- */

bool job_request_is_there(struct storage *storage, const char *id)
{
    struct arena *arena = arena_create(NULL, "request to a job");
    bool there = arena != NULL && !job_lock_is_possible(storage) && message_text(storage, id, request_name, arena) != NULL;
    arena_destroy(arena);
    return there;
}

bool job_request_find(struct storage *storage, const char *id, struct arena *arena, struct job_request *request)
{
    const char *lines[3];
    if (!message_read(storage, id, request_name, arena, lines)) {
        return false;
    }
    for (uint32_t ask = 0; ask < JOB_ASK_COUNT; ask++) {
        if (strcmp(asks[ask], lines[1]) == 0) {
            *request = (struct job_request){(enum job_ask)ask, lines[0], lines[2]};
            return true;
        }
    }
    return false;
}

void job_request_answer(struct storage *storage, const char *id, const struct job_request *request, const char *where, const char *failure)
{
    char text[REQUEST_BYTES];
    struct error ignored;
    message_remove(storage, id, request_name);
    snprintf(text, sizeof text, "%s\n%s\n%s", request->token, failure == NULL ? "ok" : "error", failure == NULL ? where : failure);
    (void)!message_write(storage, id, reply_name, text, &ignored);
}
