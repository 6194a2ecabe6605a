/* Keys of what is in a job. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/storage_handle.h"
#include "storage/artifacts.h"
#include "storage/checkpoints.h"
#include "storage/log_store.h"
#include "storage/metric_store.h"
#include "storage/offset_store.h"
#include "storage/savepoints.h"

static enum status pass_bytes(void *context, const void *bytes, size_t length, struct error *err)
{
    (void)err;
    const struct storage_request *request = context;
    request->bytes(request->context, bytes, length);
    return STATUS_OK;
}

static void pass_text(const struct storage_request *request, const char *text)
{
    request->bytes(request->context, text, strlen(text));
}

/* ---- artifacts/NAME ---- */

static enum status artifact_entry(void *context, const struct artifact *artifact, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    char time[TIME_TEXT_BYTES];
    storage_time_text(artifact->at_us, time);
    storage_entry_tell(context, artifact->name, "%s %" PRIu64 " bytes %s sha256 %s", time, artifact->bytes,
                       artifact_kind_name(artifact->kind), artifact->sha256);
    return STATUS_OK;
}

static enum status artifacts_list(const struct storage_request *request, struct error *err)
{
    return artifact_list(request->storage, request->job, artifact_entry, (void *)request, err);
}

static enum status artifacts_read(const struct storage_request *request, struct error *err)
{
    struct artifact artifact;
    enum object_result result;
    struct object_sink sink = {pass_bytes, (void *)request};
    TRY(artifact_find(request->storage, request->job, request->name, request->arena, &result, &artifact, err));
    return result == OBJECT_OK ? artifact_read(request->storage, request->job, &artifact, &sink, err) : storage_no_such(request, err);
}

static enum status artifacts_write(const struct storage_request *request, struct error *err)
{
    struct artifact artifact;
    bool stop;
    TRY(artifact_put(request->storage, request->job, request->path, request->name, NULL, request->arena, &artifact, err));
    return artifact_entry((void *)request, &artifact, &stop, err);
}

static enum status artifacts_remove(const struct storage_request *request, struct error *err)
{
    enum object_result result;
    TRY(artifact_release(request->storage, request->job, request->name, &result, err));
    return result == OBJECT_OK ? STATUS_OK : storage_no_such(request, err);
}

/* ---- checkpoints/TASK/SEQ ---- */

static void manifest_size(const struct checkpoint_manifest *manifest, uint64_t *files, uint64_t *bytes)
{
    *files = *bytes = 0;
    for (uint32_t i = 0; i < manifest->table_count; i++) {
        for (uint32_t j = 0; j < manifest->tables[i].file_count; j++) {
            ++*files;
            *bytes += manifest->tables[i].files[j].bytes;
        }
    }
}

struct checkpoint_walk {
    const struct storage_request *request;
    const char *task;
};

static enum status checkpoint_entry(void *context, uint64_t seq, bool *stop, struct error *err)
{
    (void)stop;
    const struct checkpoint_walk *self = context;
    const struct storage_request *request = self->request;
    struct checkpoint_manifest manifest;
    enum object_result result;
    char name[OBJECT_KEY_MAX + 40], time[TIME_TEXT_BYTES];
    uint64_t files, bytes;
    snprintf(name, sizeof name, "%s/%" PRIu64, self->task, seq);
    enum status status = checkpoint_read_manifest(request->storage, request->job, self->task, seq, request->arena, &result, &manifest, err);
    if (status == STATUS_CORRUPT) {
        storage_entry_tell(request, name, "unreadable: %s", err->text); /* a list shows what is wrong, too */
        return STATUS_OK;
    }
    TRY(status);
    if (result == OBJECT_OK) {
        manifest_size(&manifest, &files, &bytes);
        storage_time_text(manifest.created_us, time);
        storage_entry_tell(request, name, "%s %" PRIu64 " files %" PRIu64 " bytes epoch %" PRIu64 " by %s", time, files, bytes,
                           manifest.epoch, manifest.incarnation);
    }
    return STATUS_OK;
}

static enum status checkpoints_list(const struct storage_request *request, struct error *err)
{
    const char *const *tasks;
    uint32_t count;
    TRY(checkpoint_tasks(request->storage, request->job, request->arena, &tasks, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        struct checkpoint_walk walk = {request, tasks[i]};
        TRY(checkpoint_list(request->storage, request->job, tasks[i], checkpoint_entry, &walk, err));
    }
    return STATUS_OK;
}

/* Splits "TASK/NUMBER" at its last '/'. */
static enum status name_split(const struct storage_request *request, char **first, uint64_t *number, struct error *err)
{
    const char *slash = strrchr(request->name, '/');
    char *end = NULL;
    *first = NULL;
    *number = slash == NULL ? 0 : strtoull(slash + 1, &end, 10);
    if (slash == NULL || end == slash + 1 || *end != '\0') {
        return storage_no_such(request, err);
    }
    TRY_ALLOC(*first, arena_text(request->arena, request->name, (size_t)(slash - request->name)), err);
    return STATUS_OK;
}

static void manifest_print(const struct storage_request *request, const struct checkpoint_manifest *manifest)
{
    char *line =
        arena_format(request->arena,
                     "task %s\nseq %" PRIu64 "\nepoch %" PRIu64 "\nplan %" PRId64 "\nincarnation %s\nbuild %s\nkey groups %u to "
                     "%u\ncontrol rank %" PRId64 "\n",
                     manifest->task, manifest->seq, manifest->epoch, manifest->plan, manifest->incarnation,
                     manifest->build == NULL ? "-" : manifest->build, manifest->key_groups[0], manifest->key_groups[1], manifest->ctl_rank);
    pass_text(request, line == NULL ? "" : line);
    const char *const members[][2] = {
        {"inputs", manifest->inputs}, {"outputs", manifest->outputs}, {"timers", manifest->timers}, {"extra", manifest->extra}};
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        line = members[i][1] == NULL ? NULL : arena_format(request->arena, "%s %s\n", members[i][0], members[i][1]);
        pass_text(request, line == NULL ? "" : line);
    }
    for (uint32_t i = 0; i < manifest->table_count; i++) {
        const struct checkpoint_table *table = &manifest->tables[i];
        for (uint32_t j = 0; j < table->file_count; j++) {
            line = arena_format(request->arena, "table %s %s %s %" PRIu64 " bytes %" PRIu64 " rows\n", table->name, table->kind,
                                table->files[j].key, table->files[j].bytes, table->files[j].rows);
            pass_text(request, line == NULL ? "" : line);
        }
    }
}

static enum status checkpoints_read(const struct storage_request *request, struct error *err)
{
    struct checkpoint_manifest manifest;
    enum object_result result;
    char *task = NULL;
    uint64_t seq;
    TRY(name_split(request, &task, &seq, err));
    TRY(checkpoint_read_manifest(request->storage, request->job, task, seq, request->arena, &result, &manifest, err));
    if (result != OBJECT_OK) {
        return storage_no_such(request, err);
    }
    manifest_print(request, &manifest);
    return STATUS_OK;
}

static enum status newest_note(void *context, uint64_t seq, bool *stop, struct error *err)
{
    (void)err;
    *(uint64_t *)context = seq;
    *stop = true;
    return STATUS_OK;
}

/* The newest one is what the job goes on from. */
static enum status checkpoints_remove(const struct storage_request *request, struct error *err)
{
    enum object_result result;
    char *task = NULL;
    uint64_t seq, newest = 0;
    TRY(name_split(request, &task, &seq, err));
    TRY(checkpoint_list(request->storage, request->job, task, newest_note, &newest, err));
    if (seq == newest) {
        return error_set(err, ERROR_STORE_REFUSED, "checkpoint '%s' is the newest, from which the job goes on: it cannot be removed",
                         request->name);
    }
    TRY(checkpoint_remove(request->storage, request->job, task, seq, &result, err));
    return result == OBJECT_OK ? STATUS_OK : storage_no_such(request, err);
}

/* ---- savepoints/NAME ---- */

static enum status savepoints_list(const struct storage_request *request, struct error *err)
{
    const char *const *names;
    uint32_t count;
    TRY(savepoint_list(request->storage, request->job, request->arena, &names, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        struct savepoint savepoint;
        enum object_result result;
        char time[TIME_TEXT_BYTES];
        TRY(savepoint_open(request->storage, request->job, names[i], request->arena, &result, &savepoint, err));
        storage_time_text(savepoint.created_us, time);
        if (result == OBJECT_OK) {
            storage_entry_tell(request, names[i], "%s %u tasks", time, savepoint.count);
        } else {
            storage_entry_tell(request, names[i], "not complete");
        }
        savepoint_close(&savepoint);
    }
    return STATUS_OK;
}

static enum status savepoints_read(const struct storage_request *request, struct error *err)
{
    struct savepoint savepoint;
    enum object_result result;
    TRY(savepoint_open(request->storage, request->job, request->name, request->arena, &result, &savepoint, err));
    if (result != OBJECT_OK) {
        return storage_no_such(request, err);
    }
    for (uint32_t i = 0; i < savepoint.count; i++) {
        manifest_print(request, &savepoint.manifests[i]);
    }
    savepoint_close(&savepoint);
    return STATUS_OK;
}

static enum status savepoints_remove(const struct storage_request *request, struct error *err)
{
    enum object_result result;
    TRY(savepoint_delete(request->storage, request->job, request->name, &result, err));
    return result == OBJECT_OK ? STATUS_OK : storage_no_such(request, err);
}

/* ---- offsets/TASK ---- */

static enum status offsets_list(const struct storage_request *request, struct error *err)
{
    const char *const *tasks;
    uint32_t count;
    TRY(offsets_tasks(request->storage, request->job, request->arena, &tasks, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        struct offset_record record;
        enum object_result result;
        char time[TIME_TEXT_BYTES];
        TRY(offsets_last(request->storage, request->job, tasks[i], request->arena, &result, &record, err));
        if (result == OBJECT_OK) {
            storage_time_text(record.at_us, time);
            storage_entry_tell(request, tasks[i], "%s %" PRIu64 " records epoch %" PRIu64 " key %s", time, record.seq, record.epoch,
                               record.key);
        }
    }
    return STATUS_OK;
}

static enum status offsets_cat(const struct storage_request *request, struct error *err)
{
    struct offset_record record;
    enum object_result result;
    TRY(offsets_last(request->storage, request->job, request->name, request->arena, &result, &record, err));
    if (result != OBJECT_OK) {
        return storage_no_such(request, err);
    }
    pass_text(request, record.value);
    pass_text(request, "\n");
    return STATUS_OK;
}

/* ---- logs/DAY[/HOUR] ---- */

struct hours {
    const struct storage_request *request;
    int64_t hour;
    uint64_t lines;
};

static void hour_tell(const struct hours *self)
{
    char time[TIME_TEXT_BYTES], name[TIME_TEXT_BYTES];
    if (self->lines > 0) {
        storage_time_text(self->hour * INT64_C(3600000000), time);
        snprintf(name, sizeof name, "%.10s/%.2s", time, time + 11);
        storage_entry_tell(self->request, name, "%" PRIu64 " lines", self->lines);
    }
}

static enum status hour_count(void *context, const struct log_line *line, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    struct hours *self = context;
    int64_t hour = line->at_us / INT64_C(3600000000);
    if (hour != self->hour) {
        hour_tell(self);
        self->hour = hour;
        self->lines = 0;
    }
    self->lines++;
    return STATUS_OK;
}

static enum status logs_list(const struct storage_request *request, struct error *err)
{
    struct hours hours = {.request = request};
    struct log_filter filter = {0};
    TRY(log_read(request->storage, request->job, &filter, hour_count, &hours, err));
    hour_tell(&hours);
    return STATUS_OK;
}

static enum status line_print(void *context, const struct log_line *line, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    const struct storage_request *request = context;
    char time[TIME_TEXT_BYTES], text[4000];
    storage_time_text(line->at_us, time);
    snprintf(text, sizeof text, "%s %-5s %s %s %s %s\n", time, log_level_name(line->level), line->processor == NULL ? "-" : line->processor,
             line->task == NULL ? "-" : line->task, line->event, line->fields == NULL ? "" : line->fields);
    pass_text(request, text);
    return STATUS_OK;
}

static enum status logs_read(const struct storage_request *request, struct error *err)
{
    struct log_filter filter = {0};
    if (request->name[0] != '\0' && !storage_time_range(request->name, &filter.from_us, &filter.to_us)) {
        return error_set(err, ERROR_STORE_NO_SUCH_KEY, "'logs/%.100s' is no day or hour: write logs, logs/2026-11-30 or logs/2026-11-30/09",
                         request->name);
    }
    return log_read(request->storage, request->job, &filter, line_print, (void *)request, err);
}

/* ---- metrics[/NAME] ---- */

#define METRICS_LIST_US (INT64_C(7) * 86400 * 1000000) /* series seen in so long are listed */
#define METRICS_CAT_US  (INT64_C(86400) * 1000000)     /* and so much of one is printed, by the minute */

static enum status metrics_run(const struct storage_request *request, const char *name, int64_t back_us, int64_t step_us,
                               metric_visit visit, struct error *err)
{
    const struct clock *clock = storage_clock(request->storage);
    int64_t now_us = clock->wall_us(clock);
    struct metric_query query = {name, NULL, now_us - back_us, now_us + 1, step_us, METRIC_LAST};
    return metrics_query(request->storage, request->job, &query, visit, (void *)request, err);
}

static enum status series_entry(void *context, const struct metric_value *value, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    storage_entry_tell(context, value->name, "{%s} %.17g", value->labels, value->value);
    return STATUS_OK;
}

/* One step spans all: each series once, with its last value. */
static enum status metrics_list(const struct storage_request *request, struct error *err)
{
    return metrics_run(request, NULL, METRICS_LIST_US, INT64_MAX, series_entry, err);
}

static enum status value_print(void *context, const struct metric_value *value, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    char time[TIME_TEXT_BYTES], text[4200];
    storage_time_text(value->at_us, time);
    snprintf(text, sizeof text, "%s %s{%s} %.17g\n", time, value->name, value->labels, value->value);
    pass_text(context, text);
    return STATUS_OK;
}

static enum status metrics_cat(const struct storage_request *request, struct error *err)
{
    return metrics_run(request, request->name[0] == '\0' ? NULL : request->name, METRICS_CAT_US, INT64_C(60000000), value_print, err);
}

const struct storage_key_type storage_job_keys[] = {
    {"artifacts", ACCESS_ARTIFACTS, artifacts_list, artifacts_read, artifacts_write, artifacts_remove, NULL, NULL},
    {"config", ACCESS_CONFIG, storage_config_list, storage_config_read, storage_config_write, NULL, NULL,
     "its versions are its history; put a new one, old ones expire"},
    {"checkpoints", ACCESS_CHECKPOINTS, checkpoints_list, checkpoints_read, NULL, checkpoints_remove,
     "only a running job writes checkpoints", NULL},
    {"savepoints", ACCESS_SAVEPOINTS, savepoints_list, savepoints_read, NULL, savepoints_remove, "only a job writes savepoints", NULL},
    {"offsets", ACCESS_OFFSETS, offsets_list, offsets_cat, NULL, NULL, "only a running job writes offsets", "the job goes on from them"},
    {"logs", ACCESS_LOGS, logs_list, logs_read, NULL, NULL, "only processors write logs", "logs go when storage.logs.retain has passed"},
    {"metrics", ACCESS_METRICS, metrics_list, metrics_cat, NULL, NULL, "only processors write metrics",
     "metrics go when storage.metrics.retain has passed"},
    {0},
};
