#include "storage/object.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* NULL, or what is wrong with the key. */
static const char *key_fault(const char *key)
{
    size_t length = strlen(key);
    if (length == 0 || length > OBJECT_KEY_MAX) {
        return length == 0 ? "it is empty" : "it is longer than 900 bytes";
    }
    if (utf8_valid_length(key, length) != length) {
        return "it is not UTF-8";
    }
    for (const char *part = key;; part++) {
        size_t bytes = strcspn(part, "/");
        if (bytes == 0) {
            return "a part is empty: it begins or ends with '/', or has '//'";
        }
        if (strncmp(part, "..", bytes) == 0 && bytes <= 2) {
            return "a part is '.' or '..'";
        }
        part += bytes;
        if (*part == '\0') {
            return NULL;
        }
    }
}

enum status object_key_check(const char *key, struct error *err)
{
    const char *fault = key_fault(key);
    return fault == NULL ? STATUS_OK : error_set(err, ERROR_STORE_KEY, "'%.200s' cannot be the key of an object: %s", key, fault);
}

struct bytes_source {
    const char *bytes;
    size_t length;
};

static enum status bytes_read(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    const struct bytes_source *self = context;
    size_t left = offset >= self->length ? 0 : self->length - offset;
    *length = left < capacity ? left : capacity;
    memcpy(buffer, self->bytes + (left == 0 ? 0 : offset), *length);
    return STATUS_OK;
}

enum status object_put_bytes(struct object_store *store, const char *key, const void *bytes, size_t length, enum put_condition condition,
                             const char *etag, enum object_result *result, struct object_info *info, struct error *err)
{
    struct bytes_source context = {length == 0 ? "" : bytes, length};
    struct object_source source = {.bytes = length, .read = bytes_read, .context = &context};
    return store->driver->put(store, key, &source, condition, etag, result, info, err);
}

struct bytes_sink {
    char *bytes;
    size_t length, capacity, limit;
};

static enum status bytes_write(void *context, const void *bytes, size_t length, struct error *err)
{
    struct bytes_sink *self = context;
    if (length > self->limit - self->length) {
        return error_set(err, ERROR_TOO_MANY, "the object has more than the %zu bytes that are expected here", self->limit);
    }
    size_t need = self->length + length + 1;
    if (need > self->capacity) {
        size_t capacity = need < 2 * self->capacity ? 2 * self->capacity : need;
        char *grown = realloc(self->bytes, capacity);
        if (grown == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for %zu bytes of an object", capacity);
        }
        self->bytes = grown;
        self->capacity = capacity;
    }
    memcpy(self->bytes + self->length, bytes, length);
    self->length += length;
    self->bytes[self->length] = '\0';
    return STATUS_OK;
}

enum status object_get_bytes(struct object_store *store, const char *key, size_t limit, enum object_result *result, char **bytes,
                             size_t *length, struct object_info *info, struct error *err)
{
    struct bytes_sink context = {.limit = limit};
    struct object_sink sink = {.write = bytes_write, .context = &context};
    *bytes = NULL;
    enum status status = bytes_write(&context, "", 0, err);
    TRY_GOTO(failed, status, store->driver->get(store, key, 0, UINT64_MAX, &sink, result, info, err));
    if (*result != OBJECT_OK) {
        free(context.bytes);
        return STATUS_OK;
    }
    *bytes = context.bytes;
    *length = context.length;
    return STATUS_OK;
failed:
    free(context.bytes);
    return status;
}
