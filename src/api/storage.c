#include "api/storage_handle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/public_error.h"
#include "storage/access.h"
#include "storage/retention.h"

enum { OPTIONS_MAX = 256, FILE_BYTES_MAX = 16 << 20 };

static int finish(spate_storage *self, enum status status)
{
    return status == STATUS_OK ? SPATE_OK : public_error_set(&self->public_error, &self->error, status);
}

/* ---- opening ---- */

static enum status options_split(const char *const *texts, struct arena *arena, struct object_option *options, size_t *count,
                                 struct error *err)
{
    *count = 0;
    for (; texts != NULL && *texts != NULL; texts++) {
        const char *equals = strchr(*texts, '=');
        if (equals == NULL || equals == *texts) {
            return error_set(err, ERROR_INVALID_OPTION, "'%.100s' is no option: write key=value", *texts);
        }
        if (*count == OPTIONS_MAX) {
            return error_set(err, ERROR_TOO_MANY, "more than %d options of a storage", OPTIONS_MAX);
        }
        char *name;
        TRY_ALLOC(name, arena_text(arena, *texts, (size_t)(equals - *texts)), err);
        options[(*count)++] = (struct object_option){name, equals + 1};
    }
    return STATUS_OK;
}

static enum status open_all(spate_storage *self, const char *const *texts, const char *principal, struct error *err)
{
    struct object_option options[OPTIONS_MAX];
    struct storage_settings settings = {.options = options};
    struct arena *arena = arena_create(NULL, "options of a storage");
    TRY_ALLOC(arena, arena, err);
    enum status status = options_split(texts, arena, options, &settings.option_count, err);
    if (status == STATUS_OK) {
        status = storage_open(&settings, &self->own, err);
    }
    self->storage = self->own;
    if (status == STATUS_OK && principal != NULL) {
        snprintf(self->principal, sizeof self->principal, "%s", principal);
        status = storage_as(self->own, principal, NULL, 0, &self->storage, err);
    }
    arena_destroy(arena);
    return status;
}

int spate_storage_open(const char *const *options, const char *principal, spate_storage **storage)
{
    spate_storage *self = calloc(1, sizeof *self);
    *storage = self;
    return self == NULL ? SPATE_ERROR_LIMIT : finish(self, open_all(self, options, principal, &self->error));
}

void spate_storage_close(spate_storage *storage)
{
    if (storage == NULL) {
        return;
    }
    if (storage->storage != storage->own) {
        storage_close(storage->storage);
    }
    storage_close(storage->own);
    free(storage);
}

const struct spate_error *spate_storage_error(const spate_storage *storage)
{
    return &storage->public_error;
}

/* ---- what handlers share ---- */

enum status storage_no_such(const struct storage_request *request, struct error *err)
{
    return error_set(err, ERROR_STORE_NO_SUCH_KEY, "there is no '%s/%.300s'%s%s", request->kind, request->name,
                     request->job == NULL ? "" : " in job ", request->job == NULL ? "" : request->job);
}

void storage_entry_tell(const struct storage_request *request, const char *name, const char *format, ...)
{
    char key[1200], about[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(about, sizeof about, format, arguments);
    va_end(arguments);
    snprintf(key, sizeof key, "%s/%s", request->kind, name);
    if (request->path != NULL || strncmp(key, request->name, strlen(request->name)) == 0) { /* a list's name is the prefix */
        request->entry(request->context, key, about);
    }
}

void storage_time_text(int64_t at_us, char text[TIME_TEXT_BYTES])
{
    time_t seconds = (time_t)(at_us / 1000000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(text, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

bool storage_time_range(const char *text, int64_t *from_us, int64_t *to_us)
{
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%d", &utc);
    int64_t seconds = 86400;
    if (end != NULL && *end == '/') {
        end = strptime(end + 1, "%H", &utc);
        seconds = 3600;
    }
    if (end == NULL || *end != '\0') {
        return false;
    }
    *from_us = (int64_t)timegm(&utc) * 1000000;
    *to_us = *from_us + seconds * 1000000;
    return true;
}

enum status storage_file_read(const char *path, struct arena *arena, char **text, struct error *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return error_set(err, ERROR_FILE_UNREADABLE, "cannot open '%s': %s", path, strerror(errno));
    }
    *text = arena_alloc(arena, FILE_BYTES_MAX);
    size_t length = *text == NULL ? 0 : fread(*text, 1, FILE_BYTES_MAX, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (*text == NULL || failed || length == FILE_BYTES_MAX) {
        return error_set(err, ERROR_FILE_UNREADABLE, "'%s' cannot be read, or has 16 MiB or more", path);
    }
    return STATUS_OK;
}

/* ---- keys ---- */

static enum status job_find(struct storage *storage, const char *name, char id[JOB_ID_MAX + 1], struct error *err)
{
    enum object_result result;
    TRY(job_record_find(storage, name, &result, id, err));
    return result == OBJECT_OK ? STATUS_OK : error_set(err, ERROR_STORE_NO_SUCH_KEY, "there is no job '%.200s' in this storage", name);
}

static enum status list_all(struct storage_request *request, const char *prefix, struct error *err)
{
    const struct storage_key_type *types = request->job == NULL ? storage_root_keys : storage_job_keys;
    request->name = prefix;
    for (; types->kind != NULL; types++) {
        size_t kind = strlen(types->kind), given = strlen(prefix), length = kind < given ? kind : given;
        /* a list of everything shows what may be seen; who asks for a kind is told when it may not be */
        bool may =
            given >= kind || types->access == ACCESS_KIND_COUNT || storage_may(request->storage, types->access, ACCESS_READ, request->job);
        if (may && strncmp(types->kind, prefix, length) == 0) {
            request->kind = types->kind;
            TRY(types->list(request, err));
        }
    }
    return STATUS_OK;
}

enum key_verb { KEY_READ, KEY_WRITE, KEY_REMOVE };

static enum status key_do(struct storage_request *request, const char *key, enum key_verb verb, struct error *err)
{
    const struct storage_key_type *types = request->job == NULL ? storage_root_keys : storage_job_keys;
    size_t length = strcspn(key, "/");
    for (; types->kind != NULL; types++) {
        if (strlen(types->kind) != length || memcmp(types->kind, key, length) != 0) {
            continue;
        }
        request->kind = types->kind;
        request->name = key[length] == '/' ? key + length + 1 : "";
        if (verb == KEY_READ) {
            return types->read(request, err);
        }
        const char *why_not = verb == KEY_WRITE ? types->why_not_write : types->why_not_remove;
        if (why_not != NULL) {
            return error_set(err, ERROR_STORE_REFUSED, "'%.300s' cannot be %s: %s", key, verb == KEY_WRITE ? "put" : "removed", why_not);
        }
        return verb == KEY_WRITE ? types->write(request, err) : types->remove(request, err);
    }
    return error_set(err, ERROR_STORE_NO_SUCH_KEY, "'%.300s' is no key %s", key,
                     request->job == NULL ? "outside of jobs: write jobs/NAME, config/SCOPE or audit/DAY, or say which job"
                                          : "of a job: write artifacts/, config/, checkpoints/, savepoints/, offsets/, logs/ or metrics/ "
                                            "and a name");
}

/* Runs with an arena and the job's id. `key` NULL: a list with a prefix. */
static int request_run(spate_storage *self, struct storage_request *request, const char *job, const char *key, const char *prefix,
                       enum key_verb verb)
{
    char id[JOB_ID_MAX + 1];
    struct error *err = &self->error;
    enum status status = STATUS_OK;
    request->storage = self->storage;
    request->by = self->principal[0] == '\0' ? NULL : self->principal;
    request->arena = arena_create(NULL, "request to a storage");
    if (request->arena == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for a request");
    }
    if (status == STATUS_OK && job != NULL) {
        status = job_find(self->storage, job, id, err);
        request->job = id;
    }
    if (status == STATUS_OK) {
        status = key == NULL ? list_all(request, prefix == NULL ? "" : prefix, err) : key_do(request, key, verb, err);
    }
    arena_destroy(request->arena);
    request->job = NULL; /* the id is this call's */
    return finish(self, status);
}

int spate_storage_list(spate_storage *storage, const char *job, const char *prefix, spate_storage_entry entry, void *context)
{
    struct storage_request request = {.entry = entry, .context = context};
    return request_run(storage, &request, job, NULL, prefix, KEY_READ);
}

int spate_storage_read(spate_storage *storage, const char *job, const char *key, spate_storage_bytes bytes, void *context)
{
    struct storage_request request = {.bytes = bytes, .context = context};
    return request_run(storage, &request, job, key, NULL, KEY_READ);
}

int spate_storage_write(spate_storage *storage, const char *job, const char *key, const char *path, spate_storage_entry about,
                        void *context)
{
    struct storage_request request = {.entry = about, .context = context, .path = path};
    return request_run(storage, &request, job, key, NULL, KEY_WRITE);
}

int spate_storage_remove(spate_storage *storage, const char *job, const char *key)
{
    struct storage_request request = {0};
    return request_run(storage, &request, job, key, NULL, KEY_REMOVE);
}

/* ---- tending ---- */

struct entry_target {
    spate_storage_entry entry;
    void *context;
};

static void sweep_tell_entry(void *context, enum sweep_action action, enum store_kind kind, const char *key, uint64_t bytes)
{
    static const char *const abouts[] = {[SWEEP_EXPIRES] = "expires", [SWEEP_PLANS] = "planned", [SWEEP_DELETES] = "deleted"};
    const struct entry_target *target = context;
    (void)kind;
    (void)bytes;
    target->entry(target->context, key, abouts[action]);
}

int spate_storage_gc(spate_storage *storage, bool dry_run, spate_storage_entry entry, void *context, struct spate_storage_sweep *report)
{
    struct entry_target target = {entry, context};
    struct sweep_request request = {dry_run, sweep_tell_entry, &target};
    struct sweep_report inner;
    enum status status = storage_sweep(storage->storage, &request, &inner, &storage->error);
    struct spate_storage_sweep outer = {report->size, inner.expired, inner.planned, inner.deleted, inner.deleted_bytes, inner.plan_due_us};
    memcpy(report, &outer, report->size < sizeof outer ? report->size : sizeof outer);
    return finish(storage, status);
}

static void fsck_tell_entry(void *context, const char *key, const char *problem)
{
    const struct entry_target *target = context;
    target->entry(target->context, key, problem);
}

int spate_storage_fsck(spate_storage *storage, const char *job, spate_storage_entry entry, void *context,
                       struct spate_storage_check *report)
{
    struct entry_target target = {entry, context};
    struct fsck_report inner = {0};
    char id[JOB_ID_MAX + 1];
    enum status status = job == NULL ? STATUS_OK : job_find(storage->storage, job, id, &storage->error);
    if (status == STATUS_OK) {
        status = storage_fsck(storage->storage, job == NULL ? NULL : id, fsck_tell_entry, &target, &inner, &storage->error);
    }
    struct spate_storage_check outer = {report->size, inner.documents, inner.files, inner.bytes, inner.problems};
    memcpy(report, &outer, report->size < sizeof outer ? report->size : sizeof outer);
    return finish(storage, status);
}
