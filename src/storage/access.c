#include "storage/access.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "storage/access_internal.h"
#include "storage/document.h"
#include "storage/job_records.h"
#include "storage/stores_internal.h"

const char *access_principal_fault(const char *principal)
{
    static const char *const sorts[] = {"user:", "group:", "token:", "processor:", "system:"};
    for (size_t i = 0; i < ARRAY_LENGTH(sorts); i++) {
        size_t length = strlen(sorts[i]);
        if (strncmp(principal, sorts[i], length) == 0) {
            return principal[length] == '\0' ? "it has no name after the ':'" : NULL;
        }
    }
    return "it does not begin with user:, group:, token:, processor: or system:";
}

/* ---- making a view ---- */

struct view_maker {
    struct storage *view;
    const struct document *policy;
    const char *const *groups;
    uint32_t group_count;
    struct error *err;
};

static bool policy_has_member(const struct view_maker *self, const char *group)
{
    const json_t *members = json_object_get(json_object_get(self->policy->root, "groups"), group), *member;
    size_t i;
    json_array_foreach(members, i, member)
    {
        const char *name = json_string_value(member);
        if (name != NULL && strcmp(name, self->view->principal) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_meant(const struct view_maker *self, const char *principal)
{
    if (strcmp(principal, self->view->principal) == 0) {
        return true;
    }
    for (uint32_t i = 0; i < self->group_count; i++) {
        if (strcmp(principal, self->groups[i]) == 0) {
            return true;
        }
    }
    return strncmp(principal, "group:", 6) == 0 && policy_has_member(self, principal);
}

/* A role of the policy's own comes before a built-in one of the same name. What is no right gives none: a policy cannot be widened by a
 * slip of the pen. */
static bool role_rights(const json_t *policy, const char *role, access_rights rights)
{
    const json_t *own = json_object_get(json_object_get(policy, "roles"), role), *right;
    size_t i;
    if (own == NULL) {
        return access_role_find(role, rights);
    }
    memset(rights, 0, sizeof(access_rights));
    json_array_foreach(own, i, right)
    {
        if (json_is_string(right)) {
            (void)access_rights_apply(rights, json_string_value(right), json_string_length(right));
        }
    }
    return true;
}

static enum status grant_take(struct view_maker *self, const json_t *grant)
{
    struct storage *view = self->view;
    const char *principal = json_string_value(json_object_get(grant, "principal"));
    const char *role = json_string_value(json_object_get(grant, "role")), *jobs = json_string_value(json_object_get(grant, "jobs"));
    access_rights rights;
    if (principal == NULL || role == NULL || jobs == NULL) {
        return error_set(self->err, ERROR_STORE_CORRUPT, "a grant of the access policy lacks its principal, role or jobs");
    }
    if (!is_meant(self, principal) || !role_rights(self->policy->root, role, rights)) {
        return STATUS_OK;
    }
    TRY_ALLOC(view->entries,
              arena_grow(view->view_arena, view->entries, &view->entry_capacity, view->entry_count + 1, sizeof *view->entries), self->err);
    struct access_entry *entry = &view->entries[view->entry_count++];
    memcpy(entry->rights, rights, sizeof rights);
    TRY_ALLOC(entry->jobs, arena_text(view->view_arena, jobs, strlen(jobs)), self->err);
    return STATUS_OK;
}

static enum status view_fill(struct storage *view, const char *const *groups, uint32_t group_count, struct error *err)
{
    struct config_version policy;
    struct document document;
    enum object_result result;
    struct storage own = {.core = view->core};
    TRY(config_read_unchecked(&own, NULL, "access", CONFIG_LATEST, view->view_arena, &result, &policy, err));
    if (result != OBJECT_OK) {
        return STATUS_OK; /* no policy, no rights */
    }
    document = (struct document){.name = "the access policy", .arena = view->view_arena, .err = err};
    document.root = json_loads(policy.text, 0, NULL);
    struct view_maker maker = {view, &document, groups, group_count, err};
    const json_t *grants = document_member(&document, document.root, "grants", JSON_ARRAY, DOCUMENT_OPTIONAL), *grant;
    enum status status = document_status(&document);
    size_t i;
    json_array_foreach(grants, i, grant)
    {
        if (status == STATUS_OK) {
            status = grant_take(&maker, grant);
        }
    }
    document_close(&document);
    return status;
}

enum status storage_as(struct storage *storage, const char *principal, const char *const *groups, uint32_t group_count,
                       struct storage **view, struct error *err)
{
    const char *fault = access_principal_fault(principal);
    *view = NULL;
    if (fault != NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "'%.100s' is no principal: %s", principal, fault);
    }
    struct arena *arena = arena_create(NULL, "view of a storage");
    TRY_ALLOC(arena, arena, err);
    struct storage *self = arena_alloc(arena, sizeof *self);
    const char *name = arena_text(arena, principal, strlen(principal));
    enum status status = STATUS_OK;
    if (self == NULL || name == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for a view of a storage");
    } else {
        *self = (struct storage){.core = storage->core, .view_arena = arena, .principal = name};
        status = view_fill(self, groups, group_count, err);
    }
    if (status != STATUS_OK) {
        arena_destroy(arena);
        return status;
    }
    *view = self;
    return STATUS_OK;
}

/* ---- checking ---- */

static void job_name_of(const char *id, char name[JOB_ID_MAX + 1])
{
    size_t length = strlen(id);
    snprintf(name, JOB_ID_MAX + 1, "%.*s", (int)(length > JOB_ID_TAIL ? length - JOB_ID_TAIL : length), id);
}

bool storage_may(const struct storage *storage, enum access_kind kind, enum access_right right, const char *job)
{
    char name[JOB_ID_MAX + 1] = "";
    if (storage->view_arena == NULL) {
        return true;
    }
    if (job != NULL) {
        job_name_of(job, name);
    }
    for (uint32_t i = 0; i < storage->entry_count; i++) {
        const struct access_entry *entry = &storage->entries[i];
        bool fits = job == NULL ? strcmp(entry->jobs, "*") == 0 : fnmatch(entry->jobs, name, 0) == 0;
        if (fits && (entry->rights[kind] >> right & 1) != 0) {
            return true;
        }
    }
    return false;
}

enum status storage_check(struct storage *storage, enum access_kind kind, enum access_right right, const char *job, struct error *err)
{
    if (storage->view_arena == NULL) {
        return STATUS_OK;
    }
    bool allowed = storage_may(storage, kind, right, job);
    if (allowed && right != ACCESS_DELETE && right != ACCESS_ADMIN) {
        return STATUS_OK;
    }
    char action[64], name[JOB_ID_MAX + 1] = "";
    snprintf(action, sizeof action, "%s:%s", access_kind_name(kind), access_right_name(right));
    const struct audit_line line = {.actor = storage->principal, .action = action, .job = job, .outcome = allowed ? "allowed" : "denied"};
    struct storage own = {.core = storage->core};
    if (allowed) {
        return audit_append(&own, &line, err); /* what cannot be written down is not done */
    }
    struct error audit_error;
    enum status audited = audit_append(&own, &line, &audit_error);
    if (job != NULL) {
        job_name_of(job, name);
    }
    (void)error_set(err, ERROR_STORE_DENIED, "%s has not the right %s%s%s%s", storage->principal, action, job == NULL ? "" : " on job '",
                    name, job == NULL ? "" : "'");
    if (audited != STATUS_OK) {
        error_add_context(err, "and this denial could not be written to the audit: %.300s", audit_error.text);
    }
    return err->status;
}
