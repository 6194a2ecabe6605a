#include "storage/job_outputs.h"

#include <string.h>

#include "storage/config_store.h"
#include "storage/document.h"

#define SCOPE "outputs"
enum { ATTEMPTS = 100 };

static enum status places_of(const json_t *root, struct arena *arena, struct job_outputs *outputs, struct error *err)
{
    const json_t *places = json_object_get(root, "places");
    size_t count = json_array_size(places);
    TRY_ALLOC(outputs->places, arena_alloc(arena, (count + 1) * sizeof *outputs->places), err);
    for (size_t i = 0; i < count; i++) {
        const json_t *place = json_array_get(places, i);
        if (json_is_string(place)) {
            TRY_ALLOC(outputs->places[outputs->count], arena_text(arena, json_string_value(place), json_string_length(place)), err);
            outputs->count++;
        }
    }
    return STATUS_OK;
}

static enum status read_version(struct storage *storage, const char *job, struct arena *arena, struct job_outputs *outputs,
                                int64_t *version, struct error *err)
{
    enum object_result result;
    struct config_version config;
    *outputs = (struct job_outputs){0};
    *version = CONFIG_EXPECT_NONE;
    TRY(config_read(storage, job, SCOPE, CONFIG_LATEST, arena, &result, &config, err));
    if (result != OBJECT_OK) {
        return STATUS_OK;
    }
    *version = config.version;
    json_error_t problem;
    json_t *root = json_loads(config.text, 0, &problem);
    if (root == NULL) {
        return error_set(err, ERROR_STORE_CORRUPT, "the list of outputs of job %s is no JSON: %s", job, problem.text);
    }
    enum status status = places_of(root, arena, outputs, err);
    json_decref(root);
    return status;
}

enum status job_outputs_read(struct storage *storage, const char *job, struct arena *arena, struct job_outputs *outputs, struct error *err)
{
    int64_t version;
    return read_version(storage, job, arena, outputs, &version, err);
}

static bool has(const struct job_outputs *outputs, const char *place)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (strcmp(outputs->places[i], place) == 0) {
            return true;
        }
    }
    return false;
}

static enum status write_places(struct storage *storage, const char *job, const struct job_outputs *outputs, int64_t expect,
                                struct arena *arena, bool *done, struct error *err)
{
    struct text text;
    enum object_result result;
    int64_t version;
    json_t *places = json_array();
    for (uint32_t i = 0; i < outputs->count; i++) {
        json_array_append_new(places, json_string(outputs->places[i])); /* NOLINT: one that is no UTF-8 is left out */
    }
    json_t *root = json_pack("{s:i, s:o}", "v", 1, "places", places);
    if (root == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the list of outputs");
    }
    TRY(document_write(root, arena, &text, err));
    TRY(config_write(storage, job, SCOPE, text.bytes, NULL, expect, &result, &version, err));
    *done = result == OBJECT_OK;
    return STATUS_OK;
}

/* *done false: another task has written meanwhile. */
static enum status add(struct storage *storage, const char *job, const struct job_outputs *outputs, struct arena *arena, bool *done,
                       struct error *err)
{
    struct job_outputs all;
    int64_t version;
    TRY(read_version(storage, job, arena, &all, &version, err));
    uint32_t before = all.count;
    const char **places;
    TRY_ALLOC(places, arena_alloc(arena, (before + outputs->count + 1) * sizeof *places), err);
    for (uint32_t i = 0; i < before; i++) {
        places[i] = all.places[i];
    }
    all.places = places;
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (!has(&all, outputs->places[i])) {
            places[all.count++] = outputs->places[i];
        }
    }
    *done = all.count == before;
    return *done ? STATUS_OK : write_places(storage, job, &all, version, arena, done, err);
}

enum status job_outputs_add(struct storage *storage, const char *job, const struct job_outputs *outputs, struct error *err)
{
    struct arena *arena;
    if (outputs->count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(arena, arena_create(NULL, "outputs of a job"), err);
    bool done = false;
    enum status status = STATUS_OK;
    for (uint32_t attempt = 0; attempt < ATTEMPTS && status == STATUS_OK && !done; attempt++) {
        arena_reset(arena);
        status = add(storage, job, outputs, arena, &done, err);
    }
    if (status == STATUS_OK && !done) {
        status = error_set(err, ERROR_STORE_UNAVAILABLE, "others wrote it each of %d times that it was tried", ATTEMPTS);
    }
    if (status != STATUS_OK) {
        error_add_context(err, "while noting the outputs of job %s", job);
    }
    arena_destroy(arena);
    return status;
}
