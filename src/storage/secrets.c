/* Secrets are named in configuration and read where they are used. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "storage/config_store.h"

enum { SECRET_BYTES_MAX = 64 << 10, REFERENCE_MAX = 1000 };

bool secret_is_name(const char *name)
{
    static const char *const parts[] = {"password", "secret",     "token",       "connection-string",
                                        "sas",      "access-key", "account-key", "credential"};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        const char *found = strcasestr(name, parts[i]);
        if (found == NULL) {
            continue;
        }
        /* "sas" as a word only: not in "disaster" */
        bool starts = found == name || strchr("._-", found[-1]) != NULL,
             ends = strchr("._-", found[strlen(parts[i])]) != NULL; /* also the NUL */
        if (strlen(parts[i]) > 3 || (starts && ends)) {
            return true;
        }
    }
    return false;
}

static enum status file_append(const char *path, struct text_builder *out, struct error *err)
{
    char bytes[4096];
    size_t got, total = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return error_set(err, ERROR_FILE_UNREADABLE, "the secret of ${file:%s} cannot be read: %s", path, strerror(errno));
    }
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0 && total <= SECRET_BYTES_MAX) {
        text_append(out, bytes, got);
        total += got;
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed || total > SECRET_BYTES_MAX) {
        return error_set(err, ERROR_FILE_UNREADABLE, "the secret of ${file:%s} cannot be read, or has more than 64 KiB", path);
    }
    if (total > 0 && out->bytes[out->length - 1] == '\n') {
        out->bytes[--out->length] = '\0';
    }
    return STATUS_OK;
}

/* `reference` is what is between the braces. */
static enum status reference_append(const char *reference, struct text_builder *out, struct error *err)
{
    if (strncmp(reference, "file:", 5) == 0) {
        return file_append(reference + 5, out, err);
    }
    if (strncmp(reference, "env:", 4) != 0) {
        return error_set(err, ERROR_INVALID_OPTION, "${%s} is no reference to a secret: write ${env:NAME} or ${file:PATH}", reference);
    }
    const char *value = getenv(reference + 4);
    if (value == NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "${%s}: the environment has no such variable", reference);
    }
    text_append_text(out, value);
    return STATUS_OK;
}

static enum status resolve_into(const char *text, struct text_builder *out, struct error *err)
{
    for (const char *at = text; *at != '\0';) {
        char reference[REFERENCE_MAX];
        if (strncmp(at, "$${", 3) == 0) {
            text_append_text(out, "${");
            at += 3;
            continue;
        }
        if (strncmp(at, "${", 2) != 0) {
            text_append_char(out, *at++);
            continue;
        }
        const char *end = strchr(at, '}');
        if (end == NULL || end - at >= REFERENCE_MAX) {
            return error_set(err, ERROR_INVALID_OPTION, "a reference to a secret has no end: '%.60s'", at);
        }
        snprintf(reference, sizeof reference, "%.*s", (int)(end - at - 2), at + 2);
        TRY(reference_append(reference, out, err));
        at = end + 1;
    }
    return STATUS_OK;
}

enum status secret_resolve(const char *text, struct arena *arena, const char **resolved, struct error *err)
{
    struct text_builder out = {0};
    enum status status = resolve_into(text, &out, err);
    *resolved = status != STATUS_OK || out.failed ? NULL : arena_text(arena, out.bytes == NULL ? "" : out.bytes, out.length);
    if (out.bytes != NULL) {
        explicit_bzero(out.bytes, out.capacity);
    }
    text_builder_close(&out);
    return status != STATUS_OK || *resolved != NULL ? status : error_set(err, ERROR_BUDGET_SPENT, "no room for a secret");
}
