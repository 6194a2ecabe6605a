/* storage/config_store.h: configuration in numbered versions that never change.
 *
 * Layout      jobs/<id>/config/<scope>/<version>.json, created if absent; config/<scope>/<version>.json for what is no job's (job NULL)
 * Scope       "job", or "processor/<id>"; "access" is the policy of access.h (no job's).
 * Invariants  Versions are 1, 2, 3...; a number is given once. Of two writers who both saw version n one makes n + 1, the other gets
 *             CONFLICT (if it said what it expected) or makes n + 2.
 * Secrets     A value whose name says that it is one (password, secret, token, ...) has to be a reference, ${env:NAME} or ${file:PATH}:
 *             anything else is refused here and never stored. secret_resolve turns references into values where they are used.
 */
#ifndef SPATE_STORAGE_CONFIG_STORE_H
#define SPATE_STORAGE_CONFIG_STORE_H

#include "storage/stores.h"

enum { CONFIG_LATEST = 0, CONFIG_EXPECT_ANY = -1, CONFIG_EXPECT_NONE = 0 };

struct config_version {
    int64_t version, at_us;
    const char *by;   /* who wrote it; NULL: not said */
    const char *text; /* JSON object */
};
/* ABSENT: no such version; with CONFIG_LATEST: none at all. */
enum status config_read(struct storage *storage, const char *job, const char *scope, int64_t version, struct arena *arena,
                        enum object_result *result, struct config_version *config, struct error *err);
/* `expect`: the version that this one replaces, or one of CONFIG_EXPECT_*. CONFLICT: another is there; *version is the newest then. */
enum status config_write(struct storage *storage, const char *job, const char *scope, const char *text, const char *by, int64_t expect,
                         enum object_result *result, int64_t *version, struct error *err);
/* Newest first; the version is the caller's until the next call. */
typedef enum status (*config_visit)(void *context, const struct config_version *config, bool *stop, struct error *err);
enum status config_history(struct storage *storage, const char *job, const char *scope, config_visit visit, void *context,
                           struct error *err);

/* "job", "processor/w1", ...; in the arena. */
enum status config_scopes(struct storage *storage, const char *job, struct arena *arena, const char *const **scopes, uint32_t *count,
                          struct error *err);

/* Is the value of an option of this name a secret? */
bool secret_is_name(const char *name);
/* The text with ${env:NAME} and ${file:PATH} replaced (a file's last line end is dropped); "$${" is a plain "${". */
enum status secret_resolve(const char *text, struct arena *arena, const char **resolved, struct error *err);

#endif
