#include "storage/config_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/access.h"
#include "storage/document.h"
#include "storage/stores_internal.h"

enum { CONFIG_FORM = 1, SCOPE_MAX = 300, NONCE_LETTERS = 16, WRITES_TRIED = 100 };

/* The kind whose rights count: the policy is not configuration like any other. */
static enum access_kind scope_kind(const char *job, const char *scope)
{
    return job == NULL && strcmp(scope, "access") == 0 ? ACCESS_ACCESS : ACCESS_CONFIG;
}

static enum status scope_key(const char *job, const char *scope, const char *name, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    char first[SCOPE_MAX];
    const char *slash = strchr(scope, '/');
    if (scope[0] == '\0' || strlen(scope) >= SCOPE_MAX || (slash != NULL && (slash[1] == '\0' || strchr(slash + 1, '/') != NULL))) {
        return error_set(err, ERROR_INVALID_OPTION, "'%.100s' is no scope of configuration: write job or processor/ID", scope);
    }
    snprintf(first, sizeof first, "%.*s", (int)(slash == NULL ? strlen(scope) : (size_t)(slash - scope)), scope);
    if (job == NULL) {
        return slash == NULL ? store_key(key, err, "config", first, name, NULL)
                             : store_key(key, err, "config", first, slash + 1, name, NULL);
    }
    return slash == NULL ? store_key(key, err, "jobs", job, "config", first, name, NULL)
                         : store_key(key, err, "jobs", job, "config", first, slash + 1, name, NULL);
}

static enum status version_key(const char *job, const char *scope, int64_t version, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    char name[40];
    snprintf(name, sizeof name, "%" PRId64 ".json", version);
    return scope_key(job, scope, name, key, err);
}

/* ---- which versions there are ---- */

struct version_list {
    struct arena *arena;
    size_t prefix_length;
    int64_t *versions;
    uint32_t count, capacity;
};

static enum status version_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    (void)stop;
    struct version_list *self = context;
    char *end;
    int64_t version = strtoll(key + self->prefix_length, &end, 10);
    if (version <= 0 || strcmp(end, ".json") != 0) {
        return STATUS_OK; /* not ours, or of a scope below */
    }
    TRY_ALLOC(self->versions, arena_grow(self->arena, self->versions, &self->capacity, self->count + 1, sizeof *self->versions), err);
    self->versions[self->count++] = version;
    return STATUS_OK;
}

static int compare_versions(const void *left, const void *right)
{
    int64_t l = *(const int64_t *)left, r = *(const int64_t *)right;
    return (l > r) - (l < r);
}

static enum status versions_list(struct storage *storage, const char *job, const char *scope, struct arena *arena,
                                 struct version_list *list, struct error *err)
{
    struct object_store *store = storage_objects(storage, STORE_CONFIG);
    char prefix[OBJECT_KEY_MAX + 1];
    TRY(scope_key(job, scope, "", prefix, err));
    *list = (struct version_list){.arena = arena, .prefix_length = strlen(prefix)};
    TRY(store->driver->list(store, prefix, NULL, version_visit, list, err));
    if (list->count > 0) {
        qsort(list->versions, list->count, sizeof *list->versions, compare_versions);
    }
    return STATUS_OK;
}

static enum status latest_find(struct storage *storage, const char *job, const char *scope, int64_t *latest, struct error *err)
{
    struct arena *arena = arena_create(NULL, "versions of configuration");
    struct version_list list;
    TRY_ALLOC(arena, arena, err);
    enum status status = versions_list(storage, job, scope, arena, &list, err);
    *latest = status == STATUS_OK && list.count > 0 ? list.versions[list.count - 1] : 0;
    arena_destroy(arena);
    return status;
}

/* ---- reading ---- */

static enum status version_read(struct storage *storage, const char *job, const char *scope, int64_t version, struct arena *arena,
                                enum object_result *result, struct config_version *config, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct text text;
    struct document document;
    TRY(version_key(job, scope, version, key, err));
    TRY(store_get(storage_objects(storage, STORE_CONFIG), key, arena, result, &text, NULL, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    TRY(document_open(key, text, CONFIG_FORM, arena, &document, err));
    (void)document_member(&document, document.root, "config", JSON_OBJECT, DOCUMENT_REQUIRED);
    *config = (struct config_version){.version = document_int(&document, document.root, "version", DOCUMENT_REQUIRED, 0),
                                      .at_us = document_int(&document, document.root, "at_us", DOCUMENT_OPTIONAL, 0),
                                      .by = document_text(&document, document.root, "by", DOCUMENT_OPTIONAL),
                                      .text = document_json(&document, document.root, "config")};
    if (!document.failed && config->version != version) {
        document_complain(&document, "version", "is another one's: the object was moved or copied");
    }
    document_close(&document);
    return document_status(&document);
}

enum status config_read_unchecked(struct storage *storage, const char *job, const char *scope, int64_t version, struct arena *arena,
                                  enum object_result *result, struct config_version *config, struct error *err)
{
    if (version == CONFIG_LATEST) {
        TRY(latest_find(storage, job, scope, &version, err));
    }
    if (version <= 0) {
        *result = OBJECT_ABSENT;
        return STATUS_OK;
    }
    return version_read(storage, job, scope, version, arena, result, config, err);
}

enum status config_read(struct storage *storage, const char *job, const char *scope, int64_t version, struct arena *arena,
                        enum object_result *result, struct config_version *config, struct error *err)
{
    TRY(storage_check(storage, scope_kind(job, scope), ACCESS_READ, job, err));
    return config_read_unchecked(storage, job, scope, version, arena, result, config, err);
}

enum status config_history(struct storage *storage, const char *job, const char *scope, config_visit visit, void *context,
                           struct error *err)
{
    TRY(storage_check(storage, scope_kind(job, scope), ACCESS_READ, job, err));
    struct arena *arena = arena_create(NULL, "history of configuration"), *each = arena_create(NULL, "version of configuration");
    struct version_list list = {0};
    bool stop = false;
    enum status status = arena == NULL || each == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a history")
                                                       : versions_list(storage, job, scope, arena, &list, err);
    for (uint32_t i = list.count; status == STATUS_OK && i > 0 && !stop; i--) {
        struct config_version config;
        enum object_result result;
        arena_reset(each);
        status = version_read(storage, job, scope, list.versions[i - 1], each, &result, &config, err);
        if (status == STATUS_OK && result == OBJECT_OK) {
            status = visit(context, &config, &stop, err);
        }
    }
    arena_destroy(arena);
    arena_destroy(each);
    return status;
}

/* A name below "config/" that has documents is a scope; "processor" has names below it that are. */
static enum status scopes_below(struct storage *storage, const char *prefix, const char *before, struct arena *arena,
                                struct store_names *scopes, struct error *err)
{
    struct store_names names;
    TRY(store_list_names(storage_objects(storage, STORE_CONFIG), prefix, arena, &names, err));
    for (uint32_t i = 0; i < names.count; i++) {
        TRY_ALLOC(scopes->names, arena_grow(arena, scopes->names, &scopes->capacity, scopes->count + 1, sizeof *scopes->names), err);
        TRY_ALLOC(scopes->names[scopes->count], arena_format(arena, "%s%s", before, names.names[i]), err);
        scopes->count++;
    }
    return STATUS_OK;
}

enum status config_scopes(struct storage *storage, const char *job, struct arena *arena, const char *const **scopes, uint32_t *count,
                          struct error *err)
{
    struct store_names list = {0}, all = {0};
    char prefix[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_CONFIG, ACCESS_READ, job, err));
    TRY(job == NULL ? store_key(prefix, err, "config", "", NULL) : store_key(prefix, err, "jobs", job, "config", "", NULL));
    TRY(scopes_below(storage, prefix, "", arena, &list, err));
    for (uint32_t i = 0; i < list.count; i++) {
        if (strcmp(list.names[i], "processor") == 0) {
            TRY(scope_key(job, "processor", "", prefix, err));
            TRY(scopes_below(storage, prefix, "processor/", arena, &all, err));
            continue;
        }
        TRY_ALLOC(all.names, arena_grow(arena, all.names, &all.capacity, all.count + 1, sizeof *all.names), err);
        all.names[all.count++] = list.names[i];
    }
    *scopes = all.names;
    *count = all.count;
    return STATUS_OK;
}

/* ---- writing ---- */

static enum status secrets_check(const json_t *value, const char *name, struct error *err)
{
    const char *member;
    json_t *inner;
    size_t index;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, member, inner)
        {
            TRY(secrets_check(inner, member, err));
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, index, inner)
        {
            TRY(secrets_check(inner, name, err));
        }
    } else if (json_is_string(value) && name != NULL && secret_is_name(name) && json_string_length(value) > 0 &&
               strstr(json_string_value(value), "${env:") != json_string_value(value) &&
               strstr(json_string_value(value), "${file:") != json_string_value(value)) {
        return error_set(err, ERROR_INVALID_OPTION,
                         "'%.100s' is a secret: it has to be a reference, ${env:NAME} or ${file:PATH}, and is not stored", name);
    }
    return STATUS_OK;
}

static enum status version_text(struct storage *storage, const char *text, const char *by, int64_t version, struct arena *arena,
                                struct text *out, struct error *err)
{
    char nonce[NONCE_LETTERS + 1];
    json_error_t problem;
    const struct clock *clock = storage_clock(storage);
    json_t *config = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    if (!json_is_object(config)) {
        json_decref(config);
        return error_set(err, ERROR_INVALID_OPTION, "a configuration has to be a JSON object: %s, line %d, column %d", problem.text,
                         problem.line, problem.column);
    }
    enum status status = secrets_check(config, NULL, err);
    if (status != STATUS_OK) {
        json_decref(config);
        return status;
    }
    storage_random_text(storage, nonce, NONCE_LETTERS);
    return document_write(json_pack("{s:i, s:I, s:I, s:s*, s:s, s:o}", "v", CONFIG_FORM, "version", (json_int_t)version, "at_us",
                                    (json_int_t)clock->wall_us(clock), "by", by, "nonce", nonce, "config", config),
                          arena, out, err);
}

static enum status version_write(struct storage *storage, const char *job, const char *scope, const char *text, const char *by,
                                 int64_t version, enum object_result *result, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct object_info info;
    struct text document;
    struct arena *arena = arena_create(NULL, "version of configuration");
    TRY_ALLOC(arena, arena, err);
    enum status status;
    TRY_GOTO(done, status, version_key(job, scope, version, key, err));
    TRY_GOTO(done, status, version_text(storage, text, by, version, arena, &document, err));
    status =
        store_put(storage_objects(storage, STORE_CONFIG), key, document.bytes, document.length, PUT_IF_ABSENT, NULL, result, &info, err);
done:
    arena_destroy(arena);
    return status;
}

enum status config_write(struct storage *storage, const char *job, const char *scope, const char *text, const char *by, int64_t expect,
                         enum object_result *result, int64_t *version, struct error *err)
{
    enum access_kind kind = scope_kind(job, scope);
    TRY(storage_check(storage, kind, kind == ACCESS_ACCESS ? ACCESS_ADMIN : ACCESS_WRITE, job, err));
    for (uint32_t attempt = 0; attempt < WRITES_TRIED; attempt++) {
        TRY(latest_find(storage, job, scope, version, err));
        if (expect != CONFIG_EXPECT_ANY && *version != expect) {
            *result = OBJECT_CONFLICT;
            return STATUS_OK;
        }
        TRY(version_write(storage, job, scope, text, by, *version + 1, result, err));
        if (*result == OBJECT_OK) {
            ++*version;
            return STATUS_OK;
        }
        /* someone else has made it: look again */
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE, "configuration '%s' changes too fast to be written", scope);
}
