/* storage/access.h: who may do what, checked by the stores themselves.
 *
 * For         calls made in someone's name: REST, SQL, the command line through a server. The storage that storage_open gives is the
 *             process's own and is bounded by the backend alone; storage_as gives a view whose every call is checked.
 * Policy      Configuration of scope "access" (config_store.h: versions, compare-and-set):
 *               {"grants": [{"principal": "user:ann", "role": "operator", "jobs": "orders*"}],
 *                "roles":  {"releaser": ["artifacts:write", "jobs:*"]},
 *                "groups": {"group:ops": ["user:ann", "user:ben"]}}
 *             A principal is user:, group:, token:, processor: or system: and a name. "jobs" is a pattern of job names; what belongs to no
 *             job takes a grant for "*". Without a policy nobody has any right.
 * Roles       viewer: reads all but secrets; operator: and appends control records and savepoints; developer: and artifacts,
 *             configuration, new jobs; admin: everything; processor: what a worker needs for its jobs; auditor: reads logs and audit.
 * Errors      STORE_DENIED with the missing `kind:right`. Each denial is a line of the audit, and so is each deletion and each change
 *             of the policy.
 * Threads     A view holds the policy as it was when the view was made: make one per request.
 */
#ifndef SPATE_STORAGE_ACCESS_H
#define SPATE_STORAGE_ACCESS_H

#include "storage/stores.h"

/* The kinds of stores, and what is guarded beside them. */
#define X(kind, name) ACCESS_##kind,
enum access_kind { STORE_KIND_LIST(X) ACCESS_CONTROL, ACCESS_SECRETS, ACCESS_ACCESS, ACCESS_KIND_COUNT };
#undef X
enum access_right { ACCESS_READ, ACCESS_APPEND, ACCESS_WRITE, ACCESS_DELETE, ACCESS_ADMIN, ACCESS_RIGHT_COUNT };
const char *access_kind_name(enum access_kind kind);
const char *access_right_name(enum access_right right);

/* `groups`: those that the authentication knows, beside the policy's; NULL with 0. Close the view before the storage. */
enum status storage_as(struct storage *storage, const char *principal, const char *const *groups, uint32_t group_count,
                       struct storage **view, struct error *err);
/* OK or STORE_DENIED; `job` is an id, or NULL for what is no job's. The stores call it; so do layers above for what they guard themselves
 * (control records, secrets). */
enum status storage_check(struct storage *storage, enum access_kind kind, enum access_right right, const char *job, struct error *err);
/* The same question, without error and audit. */
bool storage_may(const struct storage *storage, enum access_kind kind, enum access_right right, const char *job);

/* Adds (or removes) a grant by compare-and-set. CONFLICT: it is there already (or is not there). */
struct access_grant {
    const char *principal, *role, *jobs;
};
enum status access_grant_add(struct storage *storage, const struct access_grant *grant, const char *by, enum object_result *result,
                             struct error *err);
enum status access_grant_remove(struct storage *storage, const struct access_grant *grant, const char *by, enum object_result *result,
                                struct error *err);
typedef enum status (*access_grant_visit)(void *context, const struct access_grant *grant, struct error *err);
enum status access_grant_list(struct storage *storage, access_grant_visit visit, void *context, struct error *err);
/* The rights of a role as of the policy (built in or its own): bit 1 << right per kind. false: no such role. */
typedef uint8_t access_rights[ACCESS_KIND_COUNT];
bool access_role_find(const char *role, access_rights rights);
const char *access_role_name(uint32_t index); /* those built in; NULL: no more */

/* Audit: one line per event, oldest first. */
struct audit_line {
    int64_t at_us;
    const char *actor, *action, *job /* an id, or NULL */, *outcome /* "denied", "allowed" */;
};
enum status audit_append(struct storage *storage, const struct audit_line *line, struct error *err);
typedef enum status (*audit_visit)(void *context, const struct audit_line *line, bool *stop, struct error *err);
enum status audit_read(struct storage *storage, int64_t from_us, int64_t to_us, audit_visit visit, void *context, struct error *err);

#endif
