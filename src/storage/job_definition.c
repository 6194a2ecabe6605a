#include "storage/job_definition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/artifacts.h"
#include "storage/config_store.h"
#include "storage/document.h"

enum { CHANGES_TRIED = 10 };
#define SQL_NAME "job.sql"
#define SCOPE    "run"

/* ---- the record ---- */

/* Sets what is given (config 0, sha256 NULL: left as it is), unless it is so already. */
static enum status record_change(struct storage *storage, const char *job, enum job_desired desired, int64_t config, const char *sha256,
                                 struct arena *arena, struct error *err)
{
    for (uint32_t attempt = 0; attempt < CHANGES_TRIED; attempt++) {
        struct job_record record;
        enum object_result result;
        TRY(job_record_read(storage, job, arena, &result, &record, err));
        if (result != OBJECT_OK) {
            return error_set(err, ERROR_STORE_MISSING, "the record of job %s is not there", job);
        }
        const char *artifacts = sha256 == NULL ? record.artifacts : arena_format(arena, "[\"%s\"]", sha256);
        bool same = record.desired == desired && (config == 0 || record.config == config) &&
                    (sha256 == NULL || (record.artifacts != NULL && strstr(record.artifacts, sha256) != NULL));
        if (same) {
            return STATUS_OK;
        }
        record.desired = desired;
        record.config = config == 0 ? record.config : config;
        record.artifacts = artifacts;
        TRY(job_record_write(storage, &record, arena, &result, err));
        if (result == OBJECT_OK) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE, "the record of job %s changes too fast to be written", job);
}

enum status job_record_mark(struct storage *storage, const char *job, enum job_desired desired, struct error *err)
{
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(NULL, "job record"), err);
    enum status status = record_change(storage, job, desired, 0, NULL, arena, err);
    arena_destroy(arena);
    return status;
}

/* ---- writing ---- */

static enum status text_to_file(const char *text, char *path, struct error *err)
{
    int file = mkstemp(path);
    size_t length = strlen(text), done = 0;
    if (file < 0) {
        return error_set(err, ERROR_FILE_UNWRITABLE, "cannot make the temporary file '%s': %s", path, strerror(errno));
    }
    while (done < length) {
        ssize_t written = write(file, text + done, length - done);
        if (written <= 0) {
            close(file);
            return error_set(err, ERROR_FILE_UNWRITABLE, "cannot write the temporary file '%s': %s", path, strerror(errno));
        }
        done += (size_t)written;
    }
    close(file);
    return STATUS_OK;
}

static enum status sql_write(struct storage *storage, const char *job, const char *sql, struct arena *arena, struct artifact *artifact,
                             struct error *err)
{
    const char *folder = getenv("TMPDIR");
    char path[1024];
    snprintf(path, sizeof path, "%s/spate-XXXXXX", folder == NULL || folder[0] == '\0' || strlen(folder) > 900 ? "/tmp" : folder);
    enum status status = text_to_file(sql, path, err);
    if (status == STATUS_OK) {
        status = artifact_put(storage, job, path, SQL_NAME, NULL, arena, artifact, err);
    }
    unlink(path);
    return status;
}

static bool is_plain_secret(const char *key, const char *value)
{
    return secret_is_name(key) && strncmp(value, "${", 2) != 0;
}

static enum status config_text(const struct job_definition *definition, struct arena *arena, struct text *text, struct error *err)
{
    json_t *settings = json_object(), *secrets = json_array();
    for (uint32_t i = 0; i < definition->setting_count; i++) {
        const char *setting = definition->settings[i], *equals = strchr(setting, '=');
        char *key = equals == NULL ? NULL : arena_text(arena, setting, (size_t)(equals - setting));
        if (key != NULL && is_plain_secret(key, equals + 1)) {
            json_array_append_new(secrets, json_string(key)); /* NOLINT: what is missing is asked for in vain, not lost */
        } else if (key != NULL) {
            json_object_set_new(settings, key, json_string(equals + 1)); /* NOLINT */
        }
    }
    json_t *object = json_pack("{s:i, s:s, s:o, s:o}", "v", 1, "folder", definition->folder, "settings", settings, "missing", secrets);
    if (object == NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "the working folder '%s' or a setting is not UTF-8", definition->folder);
    }
    return document_write(object, arena, text, err);
}

static enum status definition_write(struct storage *storage, const char *job, const struct job_definition *definition, struct arena *arena,
                                    struct error *err)
{
    struct artifact artifact;
    struct text text;
    struct config_version config;
    enum object_result result;
    TRY(sql_write(storage, job, definition->sql, arena, &artifact, err));
    TRY(config_text(definition, arena, &text, err));
    TRY(config_read(storage, job, SCOPE, CONFIG_LATEST, arena, &result, &config, err));
    int64_t version = result == OBJECT_OK ? config.version : 0;
    if (result != OBJECT_OK || strcmp(config.text, text.bytes) != 0) {
        TRY(config_write(storage, job, SCOPE, text.bytes, NULL, CONFIG_EXPECT_ANY, &result, &version, err));
    }
    return record_change(storage, job, DESIRED_RUNNING, version, artifact.sha256, arena, err);
}

enum status job_definition_write(struct storage *storage, const char *job, const struct job_definition *definition, struct error *err)
{
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(NULL, "job definition"), err);
    enum status status = definition_write(storage, job, definition, arena, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while storing the SQL and settings of job %s", job);
    }
    arena_destroy(arena);
    return status;
}

/* ---- reading ---- */

static enum status append_bytes(void *context, const void *bytes, size_t length, struct error *err)
{
    struct text_builder *text = context;
    text_append(text, bytes, length);
    return text->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the SQL of a job") : STATUS_OK;
}

static enum status sql_read(struct storage *storage, const char *job, struct arena *arena, enum object_result *result, const char **sql,
                            struct error *err)
{
    struct artifact artifact;
    struct text_builder text = {0};
    TRY(artifact_find(storage, job, SQL_NAME, arena, result, &artifact, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    const struct object_sink sink = {.write = append_bytes, .context = &text};
    enum status status = artifact_read(storage, job, &artifact, &sink, err);
    if (status == STATUS_OK) {
        *sql = arena_text(arena, text.bytes == NULL ? "" : text.bytes, text.length);
        status = *sql == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for the SQL of a job") : STATUS_OK;
    }
    text_builder_close(&text);
    return status;
}

static enum status config_parse(const char *text, struct arena *arena, struct job_definition *definition, struct error *err)
{
    struct document document;
    TRY(document_open("job", text_from(text), 1, arena, &document, err));
    const json_t *settings = document_member(&document, document.root, "settings", JSON_OBJECT, DOCUMENT_REQUIRED);
    const json_t *secrets = document_member(&document, document.root, "missing", JSON_ARRAY, DOCUMENT_REQUIRED);
    const char **pairs = arena_alloc(arena, (json_object_size(settings) + 1) * sizeof *pairs);
    const char **keys = arena_alloc(arena, (json_array_size(secrets) + 1) * sizeof *keys);
    definition->folder = document_text(&document, document.root, "folder", DOCUMENT_REQUIRED);
    definition->settings = pairs;
    definition->secrets = keys;
    for (void *at = json_object_iter((json_t *)settings); at != NULL && pairs != NULL; at = json_object_iter_next((json_t *)settings, at)) {
        const char *value = json_string_value(json_object_iter_value(at));
        pairs[definition->setting_count++] = arena_format(arena, "%s=%s", json_object_iter_key(at), value == NULL ? "" : value);
    }
    for (size_t i = 0; i < json_array_size(secrets) && keys != NULL; i++) {
        const char *key = json_string_value(json_array_get(secrets, i));
        keys[definition->secret_count++] = key == NULL ? "" : arena_text(arena, key, strlen(key));
    }
    document_close(&document);
    TRY(document_status(&document));
    return pairs == NULL || keys == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for the settings of a job") : STATUS_OK;
}

enum status job_definition_read(struct storage *storage, const char *job, struct arena *arena, enum object_result *result,
                                struct job_definition *definition, struct error *err)
{
    struct config_version config;
    *definition = (struct job_definition){0};
    TRY(sql_read(storage, job, arena, result, &definition->sql, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    TRY(config_read(storage, job, SCOPE, CONFIG_LATEST, arena, result, &config, err));
    return *result == OBJECT_OK ? config_parse(config.text, arena, definition, err) : STATUS_OK;
}
