#include "storage/content.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "storage/stores_internal.h"

/* Size and both sums of what was seen so far. */
struct tally {
    struct digest_state sha256;
    uint64_t bytes;
    uint32_t crc32c;
};

static void tally_begin(struct tally *tally)
{
    digest_begin(&tally->sha256, DIGEST_SHA256);
    tally->bytes = 0;
    tally->crc32c = 0;
}

static void tally_take(struct tally *tally, const void *bytes, size_t length)
{
    digest_update(&tally->sha256, bytes, length);
    tally->crc32c = crc32c_extend(tally->crc32c, bytes, length);
    tally->bytes += length;
}

static void tally_end(struct tally *tally, struct content *content)
{
    uint8_t digest[DIGEST_BYTES_MAX];
    content->bytes = tally->bytes;
    content->crc32c = tally->crc32c;
    digest_text(digest, digest_finish(&tally->sha256, digest), content->sha256);
}

/* A source that is summed while a driver reads it: bytes count when they are first reached in order, so that a driver may go back. */
struct summed_source {
    const struct object_source *inner;
    struct tally tally;
};

static enum status summed_advance(struct summed_source *self, uint64_t until, struct error *err)
{
    uint8_t buffer[4096];
    while (self->tally.bytes < until) {
        size_t want = until - self->tally.bytes < sizeof buffer ? (size_t)(until - self->tally.bytes) : sizeof buffer, got;
        TRY(self->inner->read(self->inner->context, self->tally.bytes, buffer, want, &got, err));
        if (got == 0) {
            return error_set(err, ERROR_STORE_CORRUPT, "a body of %" PRIu64 " bytes ends after %" PRIu64, self->inner->bytes,
                             self->tally.bytes);
        }
        tally_take(&self->tally, buffer, got);
    }
    return STATUS_OK;
}

static enum status summed_read(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    struct summed_source *self = context;
    TRY(summed_advance(self, offset < self->inner->bytes ? offset : self->inner->bytes, err));
    TRY(self->inner->read(self->inner->context, offset, buffer, capacity, length, err));
    if (offset + *length > self->tally.bytes) {
        size_t seen = (size_t)(self->tally.bytes - offset);
        tally_take(&self->tally, (const uint8_t *)buffer + seen, *length - seen);
    }
    return STATUS_OK;
}

static bool is_ours(const struct object_info *info, const struct content *content)
{
    return info->bytes == content->bytes && (!info->has_crc32c || info->crc32c == content->crc32c);
}

/* After a put that may have been done: what is there? */
static enum status content_look(struct object_store *store, const char *key, const struct content *content, enum object_result *result,
                                struct error *err)
{
    struct object_info info;
    TRY(store->driver->head(store, key, result, &info, err));
    if (*result == OBJECT_OK && !is_ours(&info, content)) {
        *result = OBJECT_CONFLICT;
    }
    return STATUS_OK;
}

enum status content_put(struct object_store *store, const char *key, const struct object_source *source, enum put_condition condition,
                        enum object_result *result, struct content *content, struct error *err)
{
    struct summed_source summed = {.inner = source};
    struct object_source outer = {source->bytes, summed_read, &summed, source->expected_crc32c};
    struct object_info info;
    if (!store->driver->caps(store).conditional_put) {
        condition = PUT_ANY; /* names are their writers' alone */
    }
    tally_begin(&summed.tally);
    for (uint32_t attempt = 0; attempt < STORE_ATTEMPTS; attempt++) {
        TRY(store->driver->put(store, key, &outer, condition, NULL, result, &info, err));
        if (*result == OBJECT_CONFLICT && attempt == 0) {
            return STATUS_OK;
        }
        TRY(summed_advance(&summed, source->bytes, err));
        struct tally end = summed.tally;
        tally_end(&end, content);
        if (*result == OBJECT_OK) {
            if (!is_ours(&info, content)) {
                return error_set(err, ERROR_STORE_CORRUPT, "'%s' was damaged on its way: the store has another checksum", key);
            }
            return STATUS_OK;
        }
        TRY(content_look(store, key, content, result, err));
        if (*result != OBJECT_ABSENT) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE, "'%s' could not be written: no reply came, and it is not there", key);
}

/* ---- reading ---- */

struct summed_sink {
    const struct object_sink *inner; /* NULL: only sums */
    struct tally tally;
};

static enum status summed_write(void *context, const void *bytes, size_t length, struct error *err)
{
    struct summed_sink *self = context;
    tally_take(&self->tally, bytes, length);
    return self->inner == NULL ? STATUS_OK : self->inner->write(self->inner->context, bytes, length, err);
}

static enum status content_compare(const char *name, const struct content *expected, const struct content *found, struct error *err)
{
    if (found->bytes != expected->bytes) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is corrupt: it has %" PRIu64 " bytes instead of %" PRIu64, name, found->bytes,
                         expected->bytes);
    }
    if (!expected->any_crc32c && found->crc32c != expected->crc32c) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is corrupt: its CRC-32C is %08" PRIx32 " instead of %08" PRIx32, name,
                         found->crc32c, expected->crc32c);
    }
    if (expected->sha256[0] != '\0' && strcmp(found->sha256, expected->sha256) != 0) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is corrupt: its SHA-256 is %s instead of %s", name, found->sha256,
                         expected->sha256);
    }
    return STATUS_OK;
}

enum status content_get(struct object_store *store, const char *key, const char *name, const struct content *expected,
                        const struct object_sink *sink, struct error *err)
{
    struct summed_sink summed = {.inner = sink};
    struct object_sink outer = {summed_write, &summed};
    struct object_info info;
    struct content found;
    enum object_result result;
    tally_begin(&summed.tally);
    enum status status = store->driver->get(store, key, 0, UINT64_MAX, &outer, &result, &info, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while reading '%s'", name);
        return status;
    }
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "'%s' is not there", name);
    }
    tally_end(&summed.tally, &found);
    return content_compare(name, expected, &found, err);
}

/* ---- copying ---- */

/* Pulls ranges: a driver asks for the body in pieces. A range that was fetched serves several reads. */
struct range_source {
    struct object_store *store;
    const char *key, *name;
    uint64_t start;
    size_t length, capacity;
    uint8_t *bytes;
};

static enum status range_write(void *context, const void *bytes, size_t length, struct error *err)
{
    struct range_source *self = context;
    if (length > self->capacity - self->length) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s': a range came back longer than was asked for", self->name);
    }
    memcpy(self->bytes + self->length, bytes, length);
    self->length += length;
    return STATUS_OK;
}

static enum status range_read(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    struct range_source *self = context;
    if (offset < self->start || offset >= self->start + self->length) {
        struct object_sink sink = {range_write, self};
        struct object_info info;
        enum object_result result;
        self->start = offset;
        self->length = 0;
        TRY(self->store->driver->get(self->store, self->key, offset, self->capacity, &sink, &result, &info, err));
        if (result != OBJECT_OK) {
            return error_set(err, ERROR_STORE_MISSING, "'%s' is not there", self->name);
        }
    }
    size_t at = (size_t)(offset - self->start), left = self->length - at;
    *length = left < capacity ? left : capacity;
    memcpy(buffer, self->bytes + at, *length);
    return STATUS_OK;
}

enum status content_copy(struct object_store *from, const char *from_key, const char *name, const struct content *expected,
                         struct object_store *to, const char *to_key, struct error *err)
{
    struct range_source range = {.store = from, .key = from_key, .name = name, .capacity = 1 << 20};
    struct object_source source = {expected->bytes, range_read, &range, &expected->crc32c};
    struct content copied;
    enum object_result result;
    TRY_ALLOC(range.bytes, malloc(range.capacity), err);
    enum status status = content_put(to, to_key, &source, PUT_IF_ABSENT, &result, &copied, err);
    free(range.bytes);
    TRY(status);
    if (result == OBJECT_CONFLICT) {
        return error_set(err, ERROR_STORE_CONFLICT, "'%s' is already there", to_key);
    }
    return content_compare(name, expected, &copied, err);
}
