#include "storage/artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "storage/artifacts_internal.h"
#include "storage/document.h"
#include "storage/stores_internal.h"

enum { ARTIFACT_FORM = 1, BLOCK_BYTES = 256 << 10, CHANGES_TRIED = 20, BEFORE_MAX = 100, NONCE_LETTERS = 16 };
#define BLOB_YOUNG_US (INT64_C(3600) * 1000000) /* below any grace of a sweep */

#define X(kind, name) [ARTIFACT_##kind] = name,
static const char *const kind_names[] = {ARTIFACT_KIND_LIST(X)};
#undef X

const char *artifact_kind_name(enum artifact_kind kind)
{
    return kind_names[kind];
}

enum artifact_kind artifact_kind_of(const char *file_name)
{
    static const struct {
        const char *ending;
        enum artifact_kind kind;
    } endings[] = {{".jar", ARTIFACT_JAR},     {".whl", ARTIFACT_WHEEL},  {".so", ARTIFACT_SO},      {".sql", ARTIFACT_SQL},
                   {".zip", ARTIFACT_ZIP},     {".tar", ARTIFACT_ZIP},    {".tar.gz", ARTIFACT_ZIP}, {".tgz", ARTIFACT_ZIP},
                   {".tar.zst", ARTIFACT_ZIP}, {".tar.xz", ARTIFACT_ZIP}, {".tar.bz2", ARTIFACT_ZIP}};
    size_t length = strlen(file_name);
    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
        size_t ending = strlen(endings[i].ending);
        if (length > ending && strcmp(file_name + length - ending, endings[i].ending) == 0) {
            return endings[i].kind;
        }
    }
    return ARTIFACT_FILE;
}

static enum status blob_key(const char *sha256, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    char first[3] = {sha256[0], sha256[1], '\0'};
    return store_key(key, err, "blobs", first, sha256, NULL);
}

static enum status name_key(const char *job, const char *name, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    char file[300];
    if (name[0] == '\0' || strlen(name) > 200) {
        return error_set(err, ERROR_INVALID_OPTION, "'%.100s' cannot be an artifact's name: it has to have 1 to 200 bytes", name);
    }
    snprintf(file, sizeof file, "%s.json", name);
    return store_key(key, err, "jobs", job, "artifacts", file, NULL);
}

/* ---- the file that is put ---- */

struct file_source {
    int fd;
    const char *path;
};

static enum status file_read(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    const struct file_source *self = context;
    ssize_t got;
    do {
        got = pread(self->fd, buffer, capacity, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    *length = got < 0 ? 0 : (size_t)got;
    return got < 0 ? error_set(err, ERROR_FILE_UNREADABLE, "cannot read '%s': %s", self->path, strerror(errno)) : STATUS_OK;
}

enum status artifact_sum_file(int fd, const char *path, struct content *content, struct error *err)
{
    struct file_source file = {fd, path};
    struct digest_state digest;
    uint8_t sum[DIGEST_BYTES_MAX];
    char *block;
    size_t got = 1;
    enum status status = STATUS_OK;
    TRY_ALLOC(block, malloc(BLOCK_BYTES), err);
    digest_begin(&digest, DIGEST_SHA256);
    *content = (struct content){0};
    while (status == STATUS_OK && got > 0) {
        status = file_read(&file, content->bytes, block, BLOCK_BYTES, &got, err);
        digest_update(&digest, block, got);
        content->crc32c = crc32c_extend(content->crc32c, block, got);
        content->bytes += got;
    }
    free(block);
    digest_text(sum, digest_finish(&digest, sum), content->sha256);
    return status;
}

/* Nothing is sent when the blob is there: it was checked when it came. An old one is sent again all the same, since a sweep may be about to
 * remove what nobody refers to; a new etag keeps it (retention.h). */
static enum status blob_upload(struct storage *storage, int fd, const char *path, struct content *content, struct error *err)
{
    struct object_store *store = storage_objects(storage, STORE_ARTIFACTS);
    struct file_source file = {fd, path};
    char key[OBJECT_KEY_MAX + 1];
    struct object_info info = {0};
    enum object_result result;
    struct content sent;
    TRY(artifact_sum_file(fd, path, content, err));
    TRY(blob_key(content->sha256, key, err));
    TRY(store->driver->head(store, key, &result, &info, err));
    bool is_young = info.modified_us > storage_clock(storage)->wall_us(storage_clock(storage)) - BLOB_YOUNG_US;
    if (result == OBJECT_OK && info.bytes == content->bytes && is_young) {
        return STATUS_OK;
    }
    enum put_condition condition = result == OBJECT_OK ? PUT_ANY : PUT_IF_ABSENT;
    struct object_source source = {content->bytes, file_read, &file, &content->crc32c};
    TRY(content_put(store, key, &source, condition, &result, &sent, err));
    if (result == OBJECT_OK && strcmp(sent.sha256, content->sha256) != 0) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' changed while it was being uploaded", path);
    }
    return STATUS_OK; /* CONFLICT: another uploaded the same content meanwhile */
}

/* ---- the name's document ---- */

static enum status document_put(struct storage *storage, const char *job, const struct artifact *artifact, const char *etag,
                                struct arena *arena, enum object_result *result, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1], nonce[NONCE_LETTERS + 1];
    struct object_info info;
    struct text text;
    json_t *before = json_array();
    for (uint32_t i = 0; i < artifact->before_count; i++) {
        json_array_append_new(before, json_string(artifact->before[i])); /* NOLINT: hashes are ASCII */
    }
    storage_random_text(storage, nonce, NONCE_LETTERS);
    TRY(name_key(job, artifact->name, key, err));
    TRY(document_write(json_pack("{s:i, s:s, s:s, s:I, s:s, s:s, s:I, s:o, s:s}", "v", ARTIFACT_FORM, "name", artifact->name, "sha256",
                                 artifact->sha256, "size", (json_int_t)artifact->bytes, "kind", kind_names[artifact->kind], "target",
                                 artifact->target, "at_us", (json_int_t)artifact->at_us, "before", before, "nonce", nonce),
                       arena, &text, err));
    return store_put(storage_objects(storage, STORE_ARTIFACTS), key, text.bytes, text.length, etag == NULL ? PUT_IF_ABSENT : PUT_IF_MATCH,
                     etag, result, &info, err);
}

static void kind_read(struct document *document, struct artifact *artifact)
{
    const char *name = document_text(document, document->root, "kind", DOCUMENT_REQUIRED);
    for (uint32_t i = 0; i < ARTIFACT_KIND_COUNT && name != NULL; i++) {
        if (strcmp(name, kind_names[i]) == 0) {
            artifact->kind = (enum artifact_kind)i;
            return;
        }
    }
    document_complain(document, "kind", "is none that this build knows");
}

static void before_read(struct document *document, struct artifact *artifact)
{
    const json_t *before = document_member(document, document->root, "before", JSON_ARRAY, DOCUMENT_OPTIONAL);
    const char **list = arena_alloc(document->arena, (json_array_size(before) + 1) * sizeof *list);
    artifact->before = list;
    for (size_t i = 0; list != NULL && i < json_array_size(before); i++) {
        const char *hash = json_string_value(json_array_get(before, i));
        if (hash == NULL || strlen(hash) != 64) {
            document_complain(document, "before", "is not an array of hashes");
            return;
        }
        list[artifact->before_count++] = arena_text(document->arena, hash, 64);
    }
}

static enum status document_get(struct storage *storage, const char *job, const char *name, struct arena *arena, enum object_result *result,
                                struct artifact *artifact, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct object_info info;
    struct text text;
    struct document document;
    TRY(name_key(job, name, key, err));
    TRY(store_get(storage_objects(storage, STORE_ARTIFACTS), key, arena, result, &text, &info, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    TRY(document_open(key, text, ARTIFACT_FORM, arena, &document, err));
    *artifact = (struct artifact){.name = document_text(&document, document.root, "name", DOCUMENT_REQUIRED),
                                  .target = document_text(&document, document.root, "target", DOCUMENT_REQUIRED),
                                  .bytes = (uint64_t)document_int(&document, document.root, "size", DOCUMENT_REQUIRED, 0),
                                  .at_us = document_int(&document, document.root, "at_us", DOCUMENT_OPTIONAL, 0)};
    const char *hash = document_text(&document, document.root, "sha256", DOCUMENT_REQUIRED);
    if (hash != NULL && strlen(hash) != 64) {
        document_complain(&document, "sha256", "is not 64 hexadecimal digits");
    }
    snprintf(artifact->sha256, sizeof artifact->sha256, "%s", hash == NULL ? "" : hash);
    kind_read(&document, artifact);
    before_read(&document, artifact);
    memcpy(artifact->etag, info.etag, sizeof artifact->etag);
    document_close(&document);
    return document_status(&document);
}

static enum status before_add(struct artifact *artifact, const struct artifact *old, struct arena *arena, struct error *err)
{
    const char **list;
    artifact->before = old->before;
    artifact->before_count = old->before_count;
    if (strcmp(old->sha256, artifact->sha256) == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(list, arena_alloc(arena, (old->before_count + 1) * sizeof *list), err);
    TRY_ALLOC(list[0], arena_text(arena, old->sha256, 64), err);
    artifact->before_count = old->before_count < BEFORE_MAX ? old->before_count + 1 : BEFORE_MAX;
    memcpy(list + 1, old->before, (artifact->before_count - 1) * sizeof *list);
    artifact->before = list;
    return STATUS_OK;
}

static enum status name_set(struct storage *storage, const char *job, struct artifact *artifact, struct arena *arena, struct error *err)
{
    for (uint32_t attempt = 0; attempt < CHANGES_TRIED; attempt++) {
        struct artifact old;
        enum object_result result;
        TRY(document_get(storage, job, artifact->name, arena, &result, &old, err));
        bool there = result == OBJECT_OK;
        if (there) {
            TRY(before_add(artifact, &old, arena, err));
        }
        TRY(document_put(storage, job, artifact, there ? old.etag : NULL, arena, &result, err));
        if (result == OBJECT_OK) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE, "artifact '%s' changes too fast to be written", artifact->name);
}

/* A target below the local folder, in plain parts. */
static enum status target_check(const char *target, struct error *err)
{
    for (const char *part = target; *part != '\0';) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length <= 2 && strncmp(part, "..", length) == 0)) {
            return error_set(err, ERROR_INVALID_OPTION,
                             "'%.100s' cannot be an artifact's target: it has to be a path below the job's folder", target);
        }
        part += length + (part[length] == '/');
    }
    return STATUS_OK;
}

enum status artifact_put(struct storage *storage, const char *job, const char *path, const char *name, const char *target,
                         struct arena *arena, struct artifact *artifact, struct error *err)
{
    struct content content;
    const struct clock *clock = storage_clock(storage);
    TRY(storage_check(storage, ACCESS_ARTIFACTS, ACCESS_WRITE, job, err));
    TRY(target_check(target == NULL ? "" : target, err));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return error_set(err, ERROR_FILE_UNREADABLE, "cannot open '%s': %s", path, strerror(errno));
    }
    enum status status = blob_upload(storage, fd, path, &content, err);
    close(fd);
    TRY(status);
    *artifact = (struct artifact){.kind = artifact_kind_of(path), .bytes = content.bytes, .at_us = clock->wall_us(clock)};
    memcpy(artifact->sha256, content.sha256, sizeof content.sha256);
    TRY_ALLOC(artifact->name, arena_text(arena, name, strlen(name)), err);
    TRY_ALLOC(artifact->target, arena_text(arena, target == NULL ? "" : target, target == NULL ? 0 : strlen(target)), err);
    return name_set(storage, job, artifact, arena, err);
}

/* ---- finding, reading, forgetting ---- */

enum status artifact_find(struct storage *storage, const char *job, const char *name, struct arena *arena, enum object_result *result,
                          struct artifact *artifact, struct error *err)
{
    TRY(storage_check(storage, ACCESS_ARTIFACTS, ACCESS_READ, job, err));
    return document_get(storage, job, name, arena, result, artifact, err);
}

/* CRC-32C is the store's; the name is the SHA-256. */
enum status artifact_read(struct storage *storage, const char *job, const struct artifact *artifact, const struct object_sink *sink,
                          struct error *err)
{
    struct object_store *store = storage_objects(storage, STORE_ARTIFACTS);
    char key[OBJECT_KEY_MAX + 1];
    struct content expected = {.bytes = artifact->bytes, .any_crc32c = true};
    TRY(storage_check(storage, ACCESS_ARTIFACTS, ACCESS_READ, job, err));
    TRY(blob_key(artifact->sha256, key, err));
    memcpy(expected.sha256, artifact->sha256, sizeof expected.sha256);
    enum status status = content_get(store, key, key + STORAGE_PREFIX_BYTES, &expected, sink, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while reading artifact '%s' of job %s", artifact->name, job);
    }
    return status;
}

enum status artifact_list(struct storage *storage, const char *job, artifact_visit visit, void *context, struct error *err)
{
    char prefix[OBJECT_KEY_MAX + 1];
    struct store_names names = {0};
    bool stop = false;
    TRY(storage_check(storage, ACCESS_ARTIFACTS, ACCESS_READ, job, err));
    TRY(store_key(prefix, err, "jobs", job, "artifacts", "", NULL));
    struct arena *arena = arena_create(NULL, "list of artifacts");
    TRY_ALLOC(arena, arena, err);
    enum status status = store_list_names(storage_objects(storage, STORE_ARTIFACTS), prefix, arena, &names, err);
    for (uint32_t i = 0; i < names.count && status == STATUS_OK && !stop; i++) {
        struct artifact artifact;
        enum object_result result;
        char name[OBJECT_KEY_MAX + 1];
        size_t length = strlen(names.names[i]);
        if (length <= 5 || strcmp(names.names[i] + length - 5, ".json") != 0) {
            continue; /* not ours */
        }
        snprintf(name, sizeof name, "%.*s", (int)length - 5, names.names[i]);
        status = document_get(storage, job, name, arena, &result, &artifact, err);
        if (status == STATUS_OK && result == OBJECT_OK) {
            status = visit(context, &artifact, &stop, err);
        }
    }
    arena_destroy(arena);
    return status;
}

enum status artifact_release(struct storage *storage, const char *job, const char *name, enum object_result *result, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_ARTIFACTS, ACCESS_DELETE, job, err));
    TRY(name_key(job, name, key, err));
    return store_remove(storage_objects(storage, STORE_ARTIFACTS), key, NULL, result, err);
}
