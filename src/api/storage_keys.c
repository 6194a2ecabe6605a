/* Keys of configuration, in jobs and outside; jobs and the audit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/storage_handle.h"
#include "storage/access.h"
#include "storage/config_store.h"

/* ---- config/SCOPE[/VERSION] ---- */

struct scope_walk {
    const struct storage_request *request;
    const char *scope;
};

static enum status version_entry(void *context, const struct config_version *config, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    const struct scope_walk *self = context;
    char name[400], time[TIME_TEXT_BYTES];
    storage_time_text(config->at_us, time);
    snprintf(name, sizeof name, "%.300s/%" PRId64, self->scope, config->version);
    storage_entry_tell(self->request, name, "%s by %s", time, config->by == NULL ? "-" : config->by);
    return STATUS_OK;
}

enum status storage_config_list(const struct storage_request *request, struct error *err)
{
    const char *const *scopes;
    uint32_t count;
    TRY(config_scopes(request->storage, request->job, request->arena, &scopes, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        struct scope_walk walk = {request, scopes[i]};
        TRY(config_history(request->storage, request->job, scopes[i], version_entry, &walk, err));
    }
    return STATUS_OK;
}

enum status storage_config_read(const struct storage_request *request, struct error *err)
{
    struct config_version config;
    enum object_result result;
    const char *slash = strrchr(request->name, '/'), *scope = request->name;
    char *end;
    int64_t version = slash == NULL ? CONFIG_LATEST : strtoll(slash + 1, &end, 10);
    if (slash != NULL && (end == slash + 1 || *end != '\0' || version <= 0)) {
        version = CONFIG_LATEST; /* "processor/w1": the '/' is the scope's */
    } else if (slash != NULL) {
        TRY_ALLOC(scope, arena_text(request->arena, request->name, (size_t)(slash - request->name)), err);
    }
    TRY(config_read(request->storage, request->job, scope, version, request->arena, &result, &config, err));
    if (result != OBJECT_OK) {
        return storage_no_such(request, err);
    }
    request->bytes(request->context, config.text, strlen(config.text));
    request->bytes(request->context, "\n", 1);
    return STATUS_OK;
}

enum status storage_config_write(const struct storage_request *request, struct error *err)
{
    char *text, name[400];
    enum object_result result;
    int64_t version;
    TRY(storage_file_read(request->path, request->arena, &text, err));
    TRY(config_write(request->storage, request->job, request->name, text, request->by, CONFIG_EXPECT_ANY, &result, &version, err));
    snprintf(name, sizeof name, "%.300s/%" PRId64, request->name, version);
    storage_entry_tell(request, name, "written");
    return STATUS_OK;
}

/* ---- jobs/NAME ---- */

static enum status job_entry(void *context, const struct job_record *record, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    char time[TIME_TEXT_BYTES];
    storage_time_text(record->created_us, time);
    storage_entry_tell(context, record->name, "%s %s id %s", time, job_desired_name(record->desired), record->id);
    return STATUS_OK;
}

static enum status jobs_list(const struct storage_request *request, struct error *err)
{
    return job_record_list(request->storage, NULL, job_entry, (void *)request, err);
}

static enum status jobs_read(const struct storage_request *request, struct error *err)
{
    char id[JOB_ID_MAX + 1];
    struct job_record record;
    enum object_result result;
    TRY(job_record_find(request->storage, request->name, &result, id, err));
    if (result == OBJECT_OK) {
        TRY(job_record_read(request->storage, id, request->arena, &result, &record, err));
    }
    if (result != OBJECT_OK) {
        return storage_no_such(request, err);
    }
    request->bytes(request->context, record.document, strlen(record.document));
    request->bytes(request->context, "\n", 1);
    return STATUS_OK;
}

/* ---- audit/DAY ---- */

struct days {
    const struct storage_request *request;
    char day[TIME_TEXT_BYTES];
    uint64_t lines;
};

static void day_tell(const struct days *self)
{
    if (self->lines > 0) {
        storage_entry_tell(self->request, self->day, "%" PRIu64 " lines", self->lines);
    }
}

static enum status day_count(void *context, const struct audit_line *line, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    struct days *self = context;
    char time[TIME_TEXT_BYTES];
    storage_time_text(line->at_us, time);
    if (strncmp(time, self->day, 10) != 0) {
        day_tell(self);
        snprintf(self->day, sizeof self->day, "%.10s", time);
        self->lines = 0;
    }
    self->lines++;
    return STATUS_OK;
}

static enum status audit_list(const struct storage_request *request, struct error *err)
{
    struct days days = {.request = request};
    TRY(audit_read(request->storage, 0, INT64_MAX, day_count, &days, err));
    day_tell(&days);
    return STATUS_OK;
}

static enum status audit_print(void *context, const struct audit_line *line, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    const struct storage_request *request = context;
    char time[TIME_TEXT_BYTES], text[1200];
    storage_time_text(line->at_us, time);
    int length = snprintf(text, sizeof text, "%s %s %.200s %.100s %.300s\n", time, line->outcome, line->actor, line->action,
                          line->job == NULL ? "-" : line->job);
    request->bytes(request->context, text, (size_t)length);
    return STATUS_OK;
}

static enum status audit_cat(const struct storage_request *request, struct error *err)
{
    int64_t from_us = 0, to_us = INT64_MAX;
    if (request->name[0] != '\0' && !storage_time_range(request->name, &from_us, &to_us)) {
        return error_set(err, ERROR_STORE_NO_SUCH_KEY, "'audit/%.100s' is no day: write audit or audit/2026-11-30", request->name);
    }
    return audit_read(request->storage, from_us, to_us, audit_print, (void *)request, err);
}

const struct storage_key_type storage_root_keys[] = {
    {"jobs", ACCESS_KIND_COUNT, jobs_list, jobs_read, NULL, NULL, "a job is made by submitting it",
     "it goes when it was stopped and storage.jobs.retain has passed"},
    {"config", ACCESS_CONFIG, storage_config_list, storage_config_read, storage_config_write, NULL, NULL,
     "its versions are its history; put a new one, old ones expire"},
    {"audit", ACCESS_AUDIT, audit_list, audit_cat, NULL, NULL, "only the stores write it", "it goes when storage.audit.retain has passed"},
    {0},
};
