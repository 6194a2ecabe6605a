#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "storage/http_store.h"

/* A get on its way: the sink of its requests. */
struct getting {
    struct http_store *store;
    const char *key;
    const struct object_sink *sink;
    const struct http_response *response;
    struct object_info *info;
    uint64_t at;  /* where the next byte of the answer is in the object */
    uint64_t end; /* what is wanted ends here, or at the object's end */
    bool described;
    uint32_t crc32c;
};

static enum status describe(struct getting *self, struct error *err)
{
    if (!self->described) {
        TRY(http_store_describe(self->store, self->response, self->key, self->info, NULL, err));
        self->described = true;
        self->end = self->end < self->info->bytes ? self->end : self->info->bytes;
    }
    return STATUS_OK;
}

static enum status pass_on(void *context, const void *bytes, size_t length, struct error *err)
{
    struct getting *self = context;
    TRY(describe(self, err));
    uint64_t left = self->at < self->end ? self->end - self->at : 0;
    size_t wanted = left < length ? (size_t)left : length; /* the rest is the trailer */
    self->at += length;
    if (wanted == 0) {
        return STATUS_OK;
    }
    self->crc32c = crc32c_extend(self->crc32c, bytes, wanted);
    return self->sink->write(self->sink->context, bytes, wanted, err);
}

/* Asks for [at, end). */
static enum status ask(struct getting *self, struct http_response *response, enum object_result *result, struct error *err)
{
    struct object_sink sink = {.write = pass_on, .context = self};
    struct http_request request = {.method = "GET", .sink = &sink};
    http_store_object_path(self->store, self->key, &request.path);
    if (self->at > 0 || self->end != UINT64_MAX) {
        char last[24] = "";
        if (self->end != UINT64_MAX) {
            snprintf(last, sizeof last, "%" PRIu64, self->end - 1);
        }
        http_header_add(&request, "range", "bytes=%" PRIu64 "-%s", self->at, last);
    }
    if (self->described) {
        http_header_add(&request, "if-match", "%s", self->info->etag);
    }
    self->response = response;
    enum status status = http_call(self->store->client, &request, response, err);
    if (status == STATUS_OK && !response->broken && response->status != 416) {
        struct http_response judged = *response;
        judged.body = response->status < 300 ? (struct text_builder){0} : response->body;
        status = http_store_judge(self->store, &judged, self->key, result, err);
    }
    http_request_close(&request);
    return status;
}

static enum status finish(struct getting *self, uint64_t offset, struct error *err)
{
    TRY(describe(self, err));
    if (self->at < self->end) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "'%.200s' ended after %" PRIu64 " bytes of %" PRIu64, self->key, self->at,
                         self->end);
    }
    if (offset == 0 && self->end == self->info->bytes && self->info->has_crc32c && self->crc32c != self->info->crc32c) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%.200s' from %s has the CRC-32C %08x; %08x was put", self->key, self->store->endpoint,
                         self->crc32c, self->info->crc32c);
    }
    return STATUS_OK;
}

enum status http_store_get(struct object_store *base, const char *key, uint64_t offset, uint64_t length, const struct object_sink *sink,
                           enum object_result *result, struct object_info *info, struct error *err)
{
    struct http_store *store = (struct http_store *)base;
    struct getting self = {.store = store, .key = key, .sink = sink, .info = info, .at = offset};
    struct http_response response = {0};
    enum status status;
    TRY(object_key_check(key, err));
    if (length == 0) {
        return http_store_head(base, key, result, info, err);
    }
    self.end = length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
    do {
        *result = OBJECT_OK;
        TRY_GOTO(done, status, ask(&self, &response, result, err));
    } while (response.broken && (self.at < self.end || !self.described));
    if (response.status == 416) { /* nothing is there: how much is there? */
        status = http_store_head(base, key, result, info, err);
    } else if (*result == OBJECT_CONFLICT || (*result == OBJECT_ABSENT && self.described)) {
        status = error_set(err, ERROR_STORE_UNAVAILABLE, "'%.200s' was replaced while it was read; read it again", key);
    } else if (*result == OBJECT_UNKNOWN) {
        status = error_set(err, ERROR_STORE_UNAVAILABLE, "%s is busy", store->endpoint);
    } else if (*result == OBJECT_OK) {
        status = finish(&self, offset, err);
    }
done:
    http_response_close(&response);
    return status;
}
