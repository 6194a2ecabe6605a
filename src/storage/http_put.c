#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "storage/http_store.h"

enum { FINISH_ATTEMPTS = 8, PARTS_MAX = 10000 };

/* The body and its trailer as one run of bytes. */
struct reader {
    const struct object_source *source;
    const struct http_store *store;
    struct http_put *put;
    uint64_t taken; /* bytes of the body, then of the trailer */
};

/* Fills the block to its end, or to the end of body and trailer. */
static enum status read_block(struct reader *self, char *block, size_t capacity, size_t *length, struct error *err)
{
    size_t filled = 0;
    while (filled < capacity && self->taken < self->source->bytes) {
        size_t got, want = capacity - filled;
        TRY(self->source->read(self->source->context, self->taken, block + filled, want, &got, err));
        if (got == 0 || got > self->source->bytes - self->taken) {
            return error_set(err, ERROR_STORE_CORRUPT, "a body of %" PRIu64 " bytes has %" PRIu64, self->source->bytes, self->taken + got);
        }
        self->put->crc32c = crc32c_extend(self->put->crc32c, block + filled, got);
        self->taken += got;
        filled += got;
    }
    char trailer[RANDOM_NAME_BYTES + 2];
    snprintf(trailer, sizeof trailer, "\n%s\n", self->put->number);
    uint64_t end = self->source->bytes + self->store->protocol->trailer_bytes;
    while (filled < capacity && self->taken >= self->source->bytes && self->taken < end) {
        block[filled++] = trailer[self->taken++ - self->source->bytes];
    }
    *length = filled;
    return STATUS_OK;
}

static enum status check_expected(const struct object_source *source, const struct http_put *put, struct error *err)
{
    if (source->expected_crc32c != NULL && *source->expected_crc32c != put->crc32c) {
        return error_set(err, ERROR_STORE_CORRUPT, "the body has the CRC-32C %08x; %08x was expected", put->crc32c,
                         *source->expected_crc32c);
    }
    return STATUS_OK;
}

static void add_condition(struct http_request *request, const struct http_put *put)
{
    if (put->condition == PUT_IF_ABSENT) {
        http_header_add(request, "if-none-match", "*");
    } else if (put->condition == PUT_IF_MATCH) {
        http_header_add(request, "if-match", "%s", put->etag);
    }
}

/* An attempt may have been done, and the next one was refused: whose object is there? OK: this put's; else UNKNOWN. */
static void read_back(struct http_store *store, const struct http_put *put, enum object_result *result, struct object_info *info)
{
    char number[RANDOM_NAME_BYTES];
    struct error unseen;
    bool ours = http_store_head_number(store, put->key, result, info, number, &unseen) == STATUS_OK && *result == OBJECT_OK &&
                strcmp(number, put->number) == 0;
    *result = ours ? OBJECT_OK : OBJECT_UNKNOWN;
}

static void fill_info(const struct http_store *store, const struct http_put *put, const struct http_response *response,
                      struct object_info *info)
{
    struct text etag = http_header_find(&response->headers, "etag");
    struct text_builder decoded = {0};
    if (etag.length == 0) { /* of a body in parts S3 tells it in the answer's body */
        xml_append_text(&decoded, xml_find((struct text){response->body.bytes, response->body.length}, "ETag"));
        etag = (struct text){decoded.bytes, decoded.length};
    }
    *info = (struct object_info){.bytes = put->bytes, .crc32c = put->crc32c, .has_crc32c = true};
    snprintf(info->etag, sizeof info->etag, "%.*s", (int)etag.length, etag.length == 0 ? "" : etag.bytes);
    info->modified_us = http_date_parse(http_header_find(&response->headers, "last-modified"));
    if (info->modified_us < 0) {
        info->modified_us = http_date_parse(http_header_find(&response->headers, "date"));
    }
    if (info->modified_us < 0) {
        info->modified_us = store->clock->wall_us(store->clock);
    }
    text_builder_close(&decoded);
}

static void pause_before(uint32_t attempt)
{
    struct timespec pause = {.tv_nsec = 20000000L << (attempt < 5 ? attempt : 5)};
    nanosleep(&pause, NULL);
}

/* The request that makes the object seen. */
static enum status finish(struct http_store *store, const struct http_put *put, struct http_request *request, enum object_result *result,
                          struct object_info *info, struct error *err)
{
    struct http_response response = {0};
    enum status status = STATUS_OK;
    bool may_be_done = false;
    for (uint32_t attempt = 0; attempt < FINISH_ATTEMPTS; attempt++) {
        status = http_store_call(store, request, &response, put->key, result, err);
        may_be_done = may_be_done || response.may_be_done;
        if (status != STATUS_OK || *result != OBJECT_UNKNOWN) {
            break;
        }
        pause_before(attempt); /* "ask again": somebody else's put was under way */
    }
    if (status == STATUS_OK && *result == OBJECT_CONFLICT && put->condition == PUT_ANY) {
        *result = OBJECT_UNKNOWN;
    }
    if (status == STATUS_OK && *result == OBJECT_OK) {
        fill_info(store, put, &response, info);
    } else if (may_be_done && status == STATUS_OK) {
        read_back(store, put, result, info);
    } else if (may_be_done && status == STATUS_UNAVAILABLE) {
        *result = OBJECT_UNKNOWN;
        status = STATUS_OK;
    } else if (status == STATUS_OK && *result == OBJECT_ABSENT) {
        *result = OBJECT_CONFLICT; /* if match, and nothing is there */
    } else if (status == STATUS_OK && *result == OBJECT_UNKNOWN) {
        status = error_set(err, ERROR_STORE_UNAVAILABLE, "%s is busy with other puts of '%.200s'", store->endpoint, put->key);
    }
    http_response_close(&response);
    return status;
}

static void add_metadata(const struct http_store *store, const struct http_put *put, struct http_request *request)
{
    char name[64];
    snprintf(name, sizeof name, "%sspatecrc32c", store->protocol->metadata);
    http_header_add(request, name, "%08x", put->crc32c);
    snprintf(name, sizeof name, "%sspateput", store->protocol->metadata);
    http_header_add(request, name, "%s", put->number);
}

static enum status put_whole(struct http_store *store, struct reader *reader, char *block, enum object_result *result,
                             struct object_info *info, struct error *err)
{
    struct http_put *put = reader->put;
    struct http_request request = {.method = "PUT", .body = block};
    TRY(read_block(reader, block, OBJECT_PART_BYTES, &request.body_bytes, err));
    TRY(check_expected(reader->source, put, err));
    http_store_object_path(store, put->key, &request.path);
    add_metadata(store, put, &request);
    add_condition(&request, put);
    store->protocol->add_put_headers(store, put, &request);
    enum status status = finish(store, put, &request, result, info, err);
    http_request_close(&request);
    return status;
}

/* Reads the body once to know its checksum. */
static enum status checksum_first(struct reader *reader, char *block, size_t capacity, struct error *err)
{
    size_t length;
    do {
        TRY(read_block(reader, block, capacity, &length, err));
    } while (length > 0);
    reader->taken = 0;
    return check_expected(reader->source, reader->put, err);
}

static enum status put_parts(struct http_store *store, struct reader *reader, char *block, size_t part_bytes, struct error *err)
{
    struct http_put *put = reader->put;
    uint32_t crc32c = put->crc32c;
    put->crc32c = 0;
    for (size_t length;;) {
        TRY(read_block(reader, block, part_bytes, &length, err));
        if (length == 0) {
            break;
        }
        put->part_count++;
        TRY(store->protocol->put_part(store, put, block, length, err));
    }
    if (store->protocol->metadata_goes_first && put->crc32c != crc32c) {
        return error_set(err, ERROR_STORE_CORRUPT, "the body of '%.200s' changed while it was put", put->key);
    }
    return check_expected(reader->source, put, err);
}

static enum status put_in_parts(struct http_store *store, struct reader *reader, char *block, size_t part_bytes, enum object_result *result,
                                struct object_info *info, struct error *err)
{
    struct http_put *put = reader->put;
    struct http_request request = {.method = "PUT"};
    struct text_builder body = {0};
    enum status status = STATUS_OK;
    if (store->protocol->metadata_goes_first) {
        TRY(checksum_first(reader, block, part_bytes, err));
    }
    TRY(store->protocol->begin_parts(store, put, err));
    TRY_GOTO(failed, status, put_parts(store, reader, block, part_bytes, err));
    http_store_object_path(store, put->key, &request.path);
    if (!store->protocol->metadata_goes_first) {
        add_metadata(store, put, &request);
    }
    add_condition(&request, put);
    store->protocol->finish_parts(store, put, &request, &body);
    request.body = body.bytes;
    request.body_bytes = body.length;
    status =
        body.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a list of parts") : finish(store, put, &request, result, info, err);
    http_request_close(&request);
    text_builder_close(&body);
    if (status == STATUS_OK && (*result == OBJECT_OK || *result == OBJECT_UNKNOWN)) {
        return STATUS_OK;
    }
failed:
    store->protocol->drop_parts(store, put);
    return status;
}

static enum status put_source(struct http_store *store, const struct object_source *source, struct http_put *put,
                              enum object_result *result, struct object_info *info, struct error *err)
{
    struct reader reader = {.source = source, .store = store, .put = put};
    uint64_t total = source->bytes + store->protocol->trailer_bytes, share = (total + PARTS_MAX - 1) / PARTS_MAX;
    size_t part_bytes = share > OBJECT_PART_BYTES ? (size_t)share : OBJECT_PART_BYTES;
    char *block;
    assert((put->condition == PUT_IF_MATCH) == (put->etag != NULL) && (put->lease == NULL || total <= OBJECT_PART_BYTES));
    TRY(object_key_check(put->key, err));
    TRY_ALLOC(block, malloc(total < part_bytes ? (size_t)total + 1 : part_bytes), err);
    random_name(&store->random, put->number);
    enum status status = total <= OBJECT_PART_BYTES ? put_whole(store, &reader, block, result, info, err)
                                                    : put_in_parts(store, &reader, block, part_bytes, result, info, err);
    text_builder_close(&put->upload);
    text_builder_close(&put->parts);
    free(block);
    return status;
}

enum status http_store_put(struct object_store *base, const char *key, const struct object_source *source, enum put_condition condition,
                           const char *etag, enum object_result *result, struct object_info *info, struct error *err)
{
    struct http_put put = {.key = key, .condition = condition, .etag = etag, .bytes = source->bytes};
    return put_source((struct http_store *)base, source, &put, result, info, err);
}

enum status http_store_put_leased(struct object_store *base, const char *key, const struct object_source *source, const char *etag,
                                  const char *lease, enum object_result *result, struct object_info *info, struct error *err)
{
    struct http_put put = {.key = key, .condition = PUT_IF_MATCH, .etag = etag, .lease = lease, .bytes = source->bytes};
    return put_source((struct http_store *)base, source, &put, result, info, err);
}
