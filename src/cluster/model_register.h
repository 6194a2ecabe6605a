/* cluster/model_register.h: the register "model" as whoever is not its leader reads and changes it: submit, stop, kill, restart, `spate coord`.
 *
 * Rules       It changes by compare-and-set on the version that was read, like a leader's writes; so a change meets a leader's as two
 *             leaders' would: one of them is refused and reads again. model_register_change makes something so, however often that takes.
 * Ownership   The session, the stores (bodies of long models) and the prefix ("jobs/<id>") are lent.
 * Errors      Of the driver; STORE_CORRUPT for a register that is no model: it is never overwritten here.
 */
#ifndef SPATE_CLUSTER_MODEL_REGISTER_H
#define SPATE_CLUSTER_MODEL_REGISTER_H

#include "base/random.h"
#include "cluster/driver.h"
#include "cluster/runner.h"

struct model_register {
    struct cluster_session *session;
    const char *prefix;
    const struct runner_stores *stores;
    struct budget *budget;
    struct random_source *random; /* of nonces */
};
/* What a register's JSON (unsealed) says, with the body that it names; *model's reference is the caller's. */
enum status model_parse(const char *name, struct text json, const struct runner_stores *stores, struct budget *budget, struct arena *arena,
                        struct model **model, struct error *err);
/* OK: *model, whose reference is the caller's; ABSENT. */
enum status model_register_read(const struct model_register *self, struct arena *arena, enum cluster_result *result, struct model **model,
                                struct cluster_version *version, struct error *err);
/* expect NULL: it must be absent. OK, CONFLICT. UNKNOWN has been read back; that it cannot be told is an error. Sets the model's nonce. */
enum status model_register_put(const struct model_register *self, struct arena *arena, struct model *model,
                               const struct cluster_version *expect, enum cluster_result *result, struct error *err);
/* Reads, lets `change` edit a copy (rev is raised already), writes; again when another was faster. change: *done true: nothing is to be
 * written (any more). ABSENT is a result. */
typedef enum status (*model_change)(void *context, struct model *model, bool *done, struct error *err);
enum status model_register_change(const struct model_register *self, model_change change, void *context, enum cluster_result *result,
                                  struct error *err);

#endif
