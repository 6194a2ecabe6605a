#include "connectors/filesystem/partition_commit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/filesystem/part_file.h"
#include "connectors/filesystem/partition_time.h"
#include "connectors/position.h"
#include "data/batch.h"

struct entry {
    char *folder;
    int64_t created_us, time_us; /* wall time of the first file; of the partition (partition-time) */
    uint64_t unshown;            /* files, of all workers */
    bool dirty;                  /* something was shown since it was committed last */
};
struct partition_commit {
    pthread_mutex_t mutex;
    struct partition_commit **slot; /* the INSERT's */
    uint32_t references, worker_count;
    const struct clock *clock;
    const struct file_system *files;
    const char *root, *success_name;
    enum commit_trigger trigger;
    int64_t delay_us;
    bool waits_for_all;
    struct partition_time *time;
    int64_t *watermarks; /* by worker */
    struct entry *entries;
    size_t entry_count, entry_capacity, last;
    struct arena *arena;
};

static enum status make(const struct sink_context *context, const struct filesystem_settings *settings, const char *root,
                        struct partition_commit **commit, struct error *err)
{
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(context->budget, "partitions"), err);
    struct partition_commit *made = arena_alloc(arena, sizeof *made);
    enum status status = STATUS_OK;
    if (made != NULL) {
        *made = (struct partition_commit){.worker_count = context->worker_count,
                                          .clock = context->clock,
                                          .files = context->files == NULL ? &file_system_real : context->files,
                                          .trigger = (enum commit_trigger)settings->commit_trigger,
                                          .delay_us = settings->commit_delay.us,
                                          .waits_for_all = context->owner != NULL || settings->commit_trigger == COMMIT_PARTITION_TIME,
                                          .arena = arena};
        made->root = arena_text(arena, root, strlen(root));
        made->success_name = arena_text(arena, settings->commit_success_name, strlen(settings->commit_success_name));
        made->watermarks = arena_alloc(arena, context->worker_count * sizeof *made->watermarks);
    }
    if (made == NULL || made->root == NULL || made->success_name == NULL || made->watermarks == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for a table's partitions");
    } else if (made->trigger == COMMIT_PARTITION_TIME) {
        status = partition_time_open(arena, context, settings, &made->time, err);
    }
    if (status != STATUS_OK) {
        arena_destroy(arena);
        return status;
    }
    for (uint32_t i = 0; i < context->worker_count; i++) {
        made->watermarks[i] = WATERMARK_NONE;
    }
    pthread_mutex_init(&made->mutex, NULL);
    *commit = made;
    return STATUS_OK;
}

enum status partition_commit_check(const struct sink_context *context, const struct filesystem_settings *settings, struct error *err)
{
    static const char *const keys[] = {"sink.partition-commit.delay", "sink.partition-commit.watermark-time-zone",
                                       "partition.time-extractor.timestamp-pattern", "partition.time-extractor.timestamp-formatter"};
    const char *policy = settings->commit_policy;
    if (policy != NULL) {
        return strcmp(policy, "success-file") == 0
                   ? STATUS_OK
                   : error_set(err, ERROR_NOT_SUPPORTED, "option 'sink.partition-commit.policy.kind' is 'success-file', not '%s'", policy);
    }
    const char *idle = settings->commit_trigger == COMMIT_PARTITION_TIME ? "sink.partition-commit.trigger" : NULL;
    for (uint32_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        idle = table_options_get(context->options, keys[i]) != NULL ? keys[i] : idle;
    }
    return idle == NULL
               ? STATUS_OK
               : error_set(err, ERROR_MISSING_OPTION,
                           "the option 'sink.partition-commit.policy.kind' is missing: without it no partition is committed, and '%s' "
                           "does nothing",
                           idle);
}

const char *partition_commit_alone(const struct sink_context *context)
{
    if (context->overwrite) {
        return "is overwritten: that removes what others have written";
    }
    return table_options_get(context->options, "sink.partition-commit.policy.kind") == NULL
               ? NULL
               : "marks partitions that are complete ('sink.partition-commit.policy.kind'), which takes one who writes them all";
}

enum status partition_commit_open(const struct sink_context *context, const struct filesystem_settings *settings, const char *root,
                                  struct partition_commit **commit, struct error *err)
{
    *commit = NULL;
    if (settings->commit_policy == NULL || context->partition_count == 0) {
        return STATUS_OK;
    }
    struct partition_commit **slot = (struct partition_commit **)context->shared;
    if (slot == NULL || *slot == NULL) {
        TRY(make(context, settings, root, commit, err));
        (*commit)->slot = slot;
    } else {
        *commit = *slot;
    }
    if (slot != NULL) {
        *slot = *commit;
    }
    (*commit)->references++;
    return STATUS_OK;
}

void partition_commit_close(struct partition_commit *commit)
{
    if (commit == NULL || --commit->references > 0) {
        return;
    }
    if (commit->slot != NULL) {
        *commit->slot = NULL;
    }
    for (size_t i = 0; i < commit->entry_count; i++) {
        free(commit->entries[i].folder);
    }
    free(commit->entries);
    pthread_mutex_destroy(&commit->mutex);
    arena_destroy(commit->arena);
}

static struct entry *find(struct partition_commit *commit, const char *folder)
{
    if (commit->last < commit->entry_count && strcmp(commit->entries[commit->last].folder, folder) == 0) {
        return &commit->entries[commit->last];
    }
    for (size_t i = 0; i < commit->entry_count; i++) {
        if (strcmp(commit->entries[i].folder, folder) == 0) {
            commit->last = i;
            return &commit->entries[i];
        }
    }
    return NULL;
}

static enum status find_or_add(struct partition_commit *commit, const char *folder, struct entry **found, struct error *err)
{
    *found = find(commit, folder);
    if (*found != NULL) {
        return STATUS_OK;
    }
    if (commit->entry_count == commit->entry_capacity) {
        size_t larger = commit->entry_capacity == 0 ? 16 : commit->entry_capacity * 2;
        struct entry *moved;
        TRY_ALLOC(moved, realloc(commit->entries, larger * sizeof *moved), err);
        commit->entries = moved;
        commit->entry_capacity = larger;
    }
    struct entry added = {.created_us = commit->clock->wall_us(commit->clock)};
    if (commit->time != NULL) {
        TRY(partition_time_of(commit->time, commit->root, folder, &added.time_us, err));
    }
    TRY_ALLOC(added.folder, strdup(folder), err);
    *found = &commit->entries[commit->entry_count];
    commit->entries[commit->entry_count++] = added;
    return STATUS_OK;
}

enum status partition_commit_opened(struct partition_commit *commit, const char *folder, struct error *err)
{
    if (commit == NULL) {
        return STATUS_OK;
    }
    struct entry *entry;
    pthread_mutex_lock(&commit->mutex);
    enum status status = find_or_add(commit, folder, &entry, err);
    if (status == STATUS_OK) {
        entry->unshown++;
    }
    pthread_mutex_unlock(&commit->mutex);
    return status;
}

void partition_commit_shown(struct partition_commit *commit, const char *folder)
{
    if (commit == NULL) {
        return;
    }
    pthread_mutex_lock(&commit->mutex);
    struct entry *entry = find(commit, folder);
    entry->unshown--;
    entry->dirty = true;
    pthread_mutex_unlock(&commit->mutex);
}

enum status partition_commit_restored(struct partition_commit *commit, const char *folder, int64_t created_us, struct error *err)
{
    if (commit == NULL) {
        return STATUS_OK;
    }
    struct entry *entry;
    pthread_mutex_lock(&commit->mutex);
    enum status status = find_or_add(commit, folder, &entry, err);
    if (status == STATUS_OK) {
        entry->dirty = true;
        entry->created_us = created_us > 0 && created_us < entry->created_us ? created_us : entry->created_us;
    }
    pthread_mutex_unlock(&commit->mutex);
    return status;
}

void partition_commit_advance(struct partition_commit *commit, uint32_t worker, int64_t watermark_us)
{
    if (commit != NULL) {
        pthread_mutex_lock(&commit->mutex);
        commit->watermarks[worker] = watermark_us;
        pthread_mutex_unlock(&commit->mutex);
    }
}

static bool is_due(const struct partition_commit *commit, const struct entry *entry)
{
    int64_t watermark = WATERMARK_END;
    for (uint32_t i = 0; i < commit->worker_count; i++) {
        watermark = commit->watermarks[i] < watermark ? commit->watermarks[i] : watermark;
    }
    if (watermark == WATERMARK_END) {
        return true;
    }
    return commit->trigger == COMMIT_PARTITION_TIME ? watermark > entry->time_us + commit->delay_us
                                                    : commit->clock->wall_us(commit->clock) >= entry->created_us + commit->delay_us;
}

bool partition_commit_is_due(struct partition_commit *commit, const char *folder)
{
    if (commit == NULL || !commit->waits_for_all) {
        return false;
    }
    pthread_mutex_lock(&commit->mutex);
    const struct entry *entry = find(commit, folder);
    bool due = entry != NULL && is_due(commit, entry);
    pthread_mutex_unlock(&commit->mutex);
    return due;
}

/* Entries without files and with nothing to commit are forgotten: their number is that of the partitions being written. */
static enum status run(struct partition_commit *commit, struct error *err)
{
    size_t kept = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < commit->entry_count; i++) {
        struct entry *entry = &commit->entries[i];
        bool complete = entry->unshown == 0 || !commit->waits_for_all;
        if (status == STATUS_OK && entry->dirty && complete && is_due(commit, entry)) {
            status = folder_put_file(commit->files, entry->folder, commit->success_name, err);
            entry->dirty = status != STATUS_OK;
        }
        if (entry->dirty || entry->unshown > 0) {
            struct entry moved = *entry;
            commit->entries[kept++] = moved;
        } else {
            free(entry->folder);
        }
    }
    commit->entry_count = kept;
    return status;
}

enum status partition_commit_run(struct partition_commit *commit, struct error *err)
{
    if (commit == NULL) {
        return STATUS_OK;
    }
    pthread_mutex_lock(&commit->mutex);
    enum status status = run(commit, err);
    pthread_mutex_unlock(&commit->mutex);
    return status;
}

void partition_commit_save(struct partition_commit *commit, struct text_builder *state)
{
    if (commit == NULL) {
        return;
    }
    struct text_builder text = {0};
    pthread_mutex_lock(&commit->mutex);
    for (size_t i = 0; i < commit->entry_count; i++) {
        const struct entry *entry = &commit->entries[i];
        if (entry->dirty || entry->unshown > 0) {
            text_builder_clear(&text);
            text_append_text(&text, "commit/1");
            position_put_text(&text, "folder", text_from(entry->folder + strlen(commit->root)));
            position_put_number(&text, "created", entry->created_us);
            position_put_text(state, "commit", (struct text){text.bytes, text.length});
        }
    }
    pthread_mutex_unlock(&commit->mutex);
    state->failed = state->failed || text.failed;
    text_builder_close(&text);
}

enum status partition_commit_restore(struct partition_commit *commit, struct text entry, struct error *err)
{
    struct text folder, path;
    struct text_builder whole = {0};
    int64_t created_us;
    TRY(position_check(entry, "commit/1", err));
    TRY(position_get_text(entry, "folder", &folder, err));
    TRY(position_get_number(entry, "created", &created_us, err));
    if (commit == NULL) { /* the policy was taken out of the table's options */
        return STATUS_OK;
    }
    text_append_format(&whole, "%s%.*s", commit->root, (int)folder.length, folder.bytes);
    path = (struct text){whole.bytes, whole.length};
    enum status status = whole.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a path")
                                      : partition_commit_restored(commit, path.bytes, created_us, err);
    text_builder_close(&whole);
    return status;
}
