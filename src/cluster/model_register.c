#include "cluster/model_register.h"

#include <stdio.h>
#include <unistd.h>

#include "cluster/value.h"

enum { NAME_BYTES = CLUSTER_NAME_MAX + 1, CHANGES_TRIED = 50, PAUSE_US = 100000 };

static void register_name(const struct model_register *self, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s/model", self->prefix);
}

enum status model_parse(const char *name, struct text json, const struct runner_stores *stores, struct budget *budget, struct arena *arena,
                        struct model **model, struct error *err)
{
    struct text body;
    TRY(model_read(name, json, budget, model, err));
    enum status status = STATUS_OK;
    if ((*model)->body_sha256[0] != '\0') {
        status = stores->get_body(stores->context, (*model)->body_sha256, arena, &body, err);
        status = status == STATUS_OK ? model_read_body(*model, (*model)->body_sha256, body, err) : status;
    }
    if (status != STATUS_OK) {
        model_unref(*model);
        *model = NULL;
    }
    return status;
}

enum status model_register_read(const struct model_register *self, struct arena *arena, enum cluster_result *result, struct model **model,
                                struct cluster_version *version, struct error *err)
{
    char name[NAME_BYTES];
    struct cluster_value value;
    struct text json;
    *model = NULL;
    register_name(self, name);
    TRY(self->session->driver->get(self->session, name, arena, result, &value, err));
    if (*result != CLUSTER_OK) {
        return STATUS_OK;
    }
    *version = value.version;
    TRY(value_unseal(name, value.bytes, &json, err));
    return model_parse(name, json, self->stores, self->budget, arena, model, err);
}

/* Whether a write whose answer was lost has been done: the nonce says. */
static enum status read_back(const struct model_register *self, struct arena *arena, const struct model *model, enum cluster_result *result,
                             struct error *err)
{
    struct model *found;
    struct cluster_version version;
    TRY(model_register_read(self, arena, result, &found, &version, err));
    *result = found != NULL && found->nonce == model->nonce ? CLUSTER_OK : CLUSTER_CONFLICT;
    model_unref(found);
    return STATUS_OK;
}

enum status model_register_put(const struct model_register *self, struct arena *arena, struct model *model,
                               const struct cluster_version *expect, enum cluster_result *result, struct error *err)
{
    char name[NAME_BYTES], sha256[MODEL_SHA256_BYTES];
    struct text json, body, value;
    struct cluster_version version;
    register_name(self, name);
    model->nonce = random_next(self->random);
    TRY(model_write(model, arena, &json, &body, sha256, err));
    if (body.length > 0) {
        TRY(self->stores->put_body(self->stores->context, sha256, body, err));
    }
    TRY(value_seal(json, arena, &value, err));
    TRY(self->session->driver->put(self->session, name, value, expect, result, &version, err));
    return *result == CLUSTER_UNKNOWN ? read_back(self, arena, model, result, err) : STATUS_OK;
}

static enum status change_once(const struct model_register *self, struct arena *arena, model_change change, void *context, bool *done,
                               enum cluster_result *result, struct error *err)
{
    struct model *read, *copy;
    struct cluster_version version;
    TRY(model_register_read(self, arena, result, &read, &version, err));
    if (*result != CLUSTER_OK) {
        *done = true;
        return STATUS_OK;
    }
    copy = model_copy(read, self->budget, err);
    model_unref(read);
    if (copy == NULL) {
        return err->status;
    }
    copy->rev++;
    enum status status = change(context, copy, done, err);
    if (status == STATUS_OK && !*done) {
        status = model_register_put(self, arena, copy, &version, result, err);
        *done = status == STATUS_OK && *result == CLUSTER_OK;
    }
    model_unref(copy);
    return status;
}

enum status model_register_change(const struct model_register *self, model_change change, void *context, enum cluster_result *result,
                                  struct error *err)
{
    struct arena *arena;
    bool done = false;
    enum status status = STATUS_OK;
    TRY_ALLOC(arena, arena_create(self->budget, "model"), err);
    for (uint32_t i = 0; i < CHANGES_TRIED && status == STATUS_OK && !done; i++) {
        if (i > 0) {
            usleep(PAUSE_US);
        }
        arena_reset(arena);
        status = change_once(self, arena, change, context, &done, result, err);
    }
    arena_destroy(arena);
    return status != STATUS_OK || done
               ? status
               : error_set(err, ERROR_CLUSTER_UNAVAILABLE, "'%s/model' changes too fast to be written", self->prefix);
}
