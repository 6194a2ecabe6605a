/* Who may do what: grants, the audit, and what the backend should allow so that it agrees. */
#include <stdio.h>
#include <string.h>

#include "api/public_error.h"
#include "api/storage_handle.h"
#include "storage/access.h"

static int finish(spate_storage *self, enum status status)
{
    return status == STATUS_OK ? SPATE_OK : public_error_set(&self->public_error, &self->error, status);
}

int spate_storage_grant(spate_storage *storage, const char *principal, const char *role, const char *jobs, bool revoke, bool *changed)
{
    struct access_grant grant = {principal, role, jobs};
    const char *by = storage->principal[0] == '\0' ? "system:local" : storage->principal;
    enum object_result result = OBJECT_CONFLICT;
    enum status status = revoke ? access_grant_remove(storage->storage, &grant, by, &result, &storage->error)
                                : access_grant_add(storage->storage, &grant, by, &result, &storage->error);
    *changed = status == STATUS_OK && result == OBJECT_OK;
    return finish(storage, status);
}

struct entry_target {
    spate_storage_entry entry;
    void *context;
};

static enum status grant_visit(void *context, const struct access_grant *grant, struct error *err)
{
    (void)err;
    const struct entry_target *target = context;
    char about[600];
    snprintf(about, sizeof about, "%.200s on '%.300s'", grant->role, grant->jobs);
    target->entry(target->context, grant->principal, about);
    return STATUS_OK;
}

int spate_storage_grants(spate_storage *storage, spate_storage_entry entry, void *context)
{
    struct entry_target target = {entry, context};
    return finish(storage, access_grant_list(storage->storage, grant_visit, &target, &storage->error));
}

static enum status audit_line_visit(void *context, const struct audit_line *line, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    const struct entry_target *target = context;
    char time[TIME_TEXT_BYTES], about[900];
    storage_time_text(line->at_us, time);
    snprintf(about, sizeof about, "%s %.200s %.100s %.300s", line->outcome, line->actor, line->action, line->job == NULL ? "-" : line->job);
    target->entry(target->context, time, about);
    return STATUS_OK;
}

int spate_storage_audit(spate_storage *storage, int64_t from_us, spate_storage_entry entry, void *context)
{
    struct entry_target target = {entry, context};
    return finish(storage, audit_read(storage->storage, from_us, INT64_MAX, audit_line_visit, &target, &storage->error));
}

/* ---- the backend's side ---- */

/* Where the objects of a kind are. */
static const struct {
    enum access_kind kind;
    const char *patterns;
} places[] = {
    {ACCESS_ARTIFACTS, "v1/blobs/*, v1/jobs/*/artifacts/*"},
    {ACCESS_CONFIG, "v1/jobs/*/config/*"},
    {ACCESS_LOGS, "v1/jobs/*/logs/*"},
    {ACCESS_METRICS, "v1/jobs/*/metrics/*"},
    {ACCESS_OFFSETS, "v1/jobs/*/offsets/*"},
    {ACCESS_CHECKPOINTS, "v1/jobs/*/checkpoints/*, v1/jobs/*/state/*"},
    {ACCESS_SAVEPOINTS, "v1/jobs/*/savepoints/*"},
    {ACCESS_JOBS, "v1/names/*, v1/jobs/*/job.json, v1/gc/*"},
    {ACCESS_AUDIT, "v1/audit/*"},
};
/* What the backends call a right, by the scheme of the place; admin is no right of theirs. */
static const struct {
    const char *scheme, *rights[ACCESS_RIGHT_COUNT];
    bool widest; /* one right holds the narrower ones */
} words[] = {
    {"s3", {"s3:GetObject s3:ListBucket", "s3:PutObject", "s3:PutObject", "s3:DeleteObject", ""}, false},
    {"azure", {"SAS r l", "SAS c w", "SAS c w", "SAS d", ""}, false},
    {"file", {"mode r-x", "mode rwx", "mode rwx", "mode rwx", ""}, true},
};

static size_t words_of(const char *uri)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LENGTH(words) &&
           (strncmp(uri, words[i].scheme, strlen(words[i].scheme)) != 0 || uri[strlen(words[i].scheme)] != ':')) {
        i++;
    }
    return i;
}

static void plan_line(const struct entry_target *target, const char *role, uint8_t rights, const char *uri, const char *patterns)
{
    char about[1500];
    int used = snprintf(about, sizeof about, "%.600s: %s: ", uri, patterns);
    const char *last = "";
    bool widest = words[words_of(uri)].widest && rights >> ACCESS_APPEND != 0;
    for (uint32_t right = widest ? ACCESS_APPEND : ACCESS_READ; right < ACCESS_RIGHT_COUNT; right++) {
        const char *word = words[words_of(uri)].rights[right];
        if ((rights >> right & 1) != 0 && word[0] != '\0' && strcmp(word, last) != 0) {
            used += snprintf(about + used, sizeof about - (size_t)used, "%s%s", last[0] == '\0' ? "" : ", ", word);
            last = word;
        }
    }
    target->entry(target->context, role, about);
}

int spate_storage_access_plan(spate_storage *storage, spate_storage_entry entry, void *context)
{
    struct entry_target target = {entry, context};
    enum status status = storage_check(storage->storage, ACCESS_ACCESS, ACCESS_READ, NULL, &storage->error);
    for (uint32_t i = 0; status == STATUS_OK && access_role_name(i) != NULL; i++) {
        access_rights rights;
        (void)access_role_find(access_role_name(i), rights);
        for (size_t place = 0; place < ARRAY_LENGTH(places); place++) {
            enum access_kind kind = places[place].kind;
            if (rights[kind] != 0) { /* the kinds of stores come first in both lists */
                plan_line(&target, access_role_name(i), rights[kind], storage_uri(storage->own, (enum store_kind)kind),
                          places[place].patterns);
            }
        }
        if (rights[ACCESS_ACCESS] != 0) {
            plan_line(&target, access_role_name(i),
                      (uint8_t)(rights[ACCESS_ACCESS] | (rights[ACCESS_ACCESS] >> ACCESS_ADMIN & 1) << ACCESS_WRITE),
                      storage_uri(storage->own, STORE_CONFIG), "v1/config/access/*");
        }
    }
    return finish(storage, status);
}
