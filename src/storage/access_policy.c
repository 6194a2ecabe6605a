/* Changes of the policy: read, change, write with what was read as expectation, again when another was faster. */
#include <string.h>

#include "storage/access_internal.h"
#include "storage/document.h"
#include "storage/stores_internal.h"

enum { CHANGES_TRIED = 20 };

static const char *grant_text(const json_t *grant, const char *member)
{
    const char *text = json_string_value(json_object_get(grant, member));
    return text == NULL ? "" : text;
}

static size_t grant_find(const json_t *grants, const struct access_grant *grant)
{
    size_t i = 0;
    for (; i < json_array_size(grants); i++) {
        const json_t *each = json_array_get(grants, i);
        if (strcmp(grant_text(each, "principal"), grant->principal) == 0 && strcmp(grant_text(each, "role"), grant->role) == 0 &&
            strcmp(grant_text(each, "jobs"), grant->jobs) == 0) {
            break;
        }
    }
    return i;
}

static enum status policy_read(struct storage *storage, struct arena *arena, json_t **policy, int64_t *version, struct error *err)
{
    struct config_version config;
    enum object_result result;
    TRY(config_read(storage, NULL, "access", CONFIG_LATEST, arena, &result, &config, err));
    *version = result == OBJECT_OK ? config.version : 0;
    *policy = result == OBJECT_OK ? json_loads(config.text, 0, NULL) : json_object();
    if (*policy == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the access policy");
    }
    if (!json_is_array(json_object_get(*policy, "grants"))) {
        json_object_set_new(*policy, "grants", json_array());
    }
    return STATUS_OK;
}

static enum status grant_check(const json_t *policy, const struct access_grant *grant, struct error *err)
{
    const char *fault = access_principal_fault(grant->principal);
    access_rights rights;
    if (fault != NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "'%.100s' is no principal: %s", grant->principal, fault);
    }
    if (json_object_get(json_object_get(policy, "roles"), grant->role) == NULL && !access_role_find(grant->role, rights)) {
        return error_set(err, ERROR_INVALID_OPTION,
                         "there is no role '%.100s': built in are viewer, operator, developer, admin, processor, auditor; the policy may "
                         "define more",
                         grant->role);
    }
    return STATUS_OK;
}

/* *result CONFLICT: nothing to change. */
static enum status policy_edit(json_t *policy, const struct access_grant *grant, bool add, enum object_result *result, struct error *err)
{
    json_t *grants = json_object_get(policy, "grants");
    size_t at = grant_find(grants, grant);
    bool there = at < json_array_size(grants);
    *result = there == add ? OBJECT_CONFLICT : OBJECT_OK;
    if (there == add) {
        return STATUS_OK;
    }
    if (!add) {
        return json_array_remove(grants, at) == 0 ? STATUS_OK : error_set(err, ERROR_INTERNAL, "a grant cannot be removed");
    }
    TRY(grant_check(policy, grant, err));
    json_t *object = json_pack("{s:s, s:s, s:s}", "principal", grant->principal, "role", grant->role, "jobs", grant->jobs);
    return json_array_append_new(grants, object) == 0 ? STATUS_OK : error_set(err, ERROR_INVALID_OPTION, "a grant has to be text in UTF-8");
}

static enum status policy_change(struct storage *storage, const struct access_grant *grant, bool add, const char *by, struct arena *arena,
                                 enum object_result *result, struct error *err)
{
    for (uint32_t attempt = 0; attempt < CHANGES_TRIED; attempt++) {
        json_t *policy = NULL;
        int64_t version;
        struct text text;
        enum status status = policy_read(storage, arena, &policy, &version, err);
        if (status == STATUS_OK) {
            status = policy_edit(policy, grant, add, result, err);
        }
        if (status != STATUS_OK || *result == OBJECT_CONFLICT) {
            json_decref(policy);
            return status;
        }
        TRY(document_write(policy, arena, &text, err));
        TRY(config_write(storage, NULL, "access", text.bytes, by, version, result, &version, err));
        if (*result == OBJECT_OK) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE, "the access policy changes too fast to be written");
}

static enum status grant_change(struct storage *storage, const struct access_grant *grant, bool add, const char *by,
                                enum object_result *result, struct error *err)
{
    struct arena *arena = arena_create(NULL, "access policy");
    TRY_ALLOC(arena, arena, err);
    enum status status = policy_change(storage, grant, add, by, arena, result, err);
    arena_destroy(arena);
    TRY(status);
    if (*result == OBJECT_OK && storage->view_arena == NULL) { /* a view's has been written down by the check */
        struct audit_line line = {.actor = by, .action = "access:admin", .outcome = "allowed"};
        return audit_append(storage, &line, err);
    }
    return STATUS_OK;
}

enum status access_grant_add(struct storage *storage, const struct access_grant *grant, const char *by, enum object_result *result,
                             struct error *err)
{
    return grant_change(storage, grant, true, by, result, err);
}

enum status access_grant_remove(struct storage *storage, const struct access_grant *grant, const char *by, enum object_result *result,
                                struct error *err)
{
    return grant_change(storage, grant, false, by, result, err);
}

enum status access_grant_list(struct storage *storage, access_grant_visit visit, void *context, struct error *err)
{
    struct arena *arena = arena_create(NULL, "access policy");
    json_t *policy = NULL, *each;
    int64_t version;
    size_t i;
    TRY_ALLOC(arena, arena, err);
    enum status status = policy_read(storage, arena, &policy, &version, err);
    json_array_foreach(json_object_get(policy, "grants"), i, each)
    {
        struct access_grant grant = {grant_text(each, "principal"), grant_text(each, "role"), grant_text(each, "jobs")};
        if (status == STATUS_OK) {
            status = visit(context, &grant, err);
        }
    }
    json_decref(policy);
    arena_destroy(arena);
    return status;
}
