#include "storage/http_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKEW_NOTICED_US = 300 * 1000000 };

void http_store_object_path(const struct http_store *store, const char *key, struct text_builder *path)
{
    struct text_builder name = {0};
    store->protocol->encode_key(&name, store->prefix);
    store->protocol->encode_key(&name, key);
    text_append_text(path, store->root);
    text_append_char(path, '/');
    http_encode(path, (struct text){name.bytes, name.length}, true);
    path->failed = path->failed || name.failed;
    text_builder_close(&name);
}

/* What the service calls the failure: of its header or its XML. */
static void error_code_of(const struct http_response *response, char code[64], char message[300])
{
    struct text body = {response->body.bytes, response->body.length};
    struct text header = http_header_find(&response->headers, "x-ms-error-code");
    struct text name = header.length > 0 ? header : xml_find(body, "Code"), words = xml_find(body, "Message");
    snprintf(code, 64, "%.*s", (int)(name.length < 63 ? name.length : 63), name.length == 0 ? "" : name.bytes);
    snprintf(message, 300, "%.*s", (int)(words.length < 299 ? words.length : 299), words.length == 0 ? "" : words.bytes);
    message[strcspn(message, "\r\n")] = '\0';
}

/* Minutes by which this machine's clock is ahead of the service's. */
static int64_t minutes_ahead(const struct http_store *store, const struct http_response *response)
{
    int64_t theirs = http_date_parse(http_header_find(&response->headers, "date"));
    int64_t ours = store->clock->wall_us(store->clock);
    return theirs < 0 || llabs(ours - theirs) < SKEW_NOTICED_US ? 0 : (ours - theirs) / 60000000;
}

static enum status refused(const struct http_store *store, const struct http_response *response, const char *what, const char *code,
                           const char *message, struct error *err)
{
    int64_t ahead = minutes_ahead(store, response);
    if (ahead != 0) {
        return error_set(err, ERROR_STORE_CLOCK,
                         "%s refuses '%.200s' (%ld %s): this machine's clock is %" PRId64 " minutes %s the service's, which allows 15",
                         store->endpoint, what, response->status, code, (int64_t)llabs(ahead), ahead > 0 ? "ahead of" : "behind");
    }
    return error_set(err, ERROR_STORE_DENIED, "%s refuses '%.200s' (%ld %s): check %s; %s", store->endpoint, what, response->status, code,
                     store->secret_hint, message);
}

struct judgement {
    long status;
    const char *code; /* NULL: whatever */
    enum { JUDGE_ABSENT, JUDGE_CONFLICT, JUDGE_AGAIN, JUDGE_DENIED, JUDGE_CORRUPT, JUDGE_FULL, JUDGE_NO_ROOT } judgement;
};
/* The first that fits. A status of 0 fits every one. */
static const struct judgement judgements[] = {
    {0, "ContainerNotFound", JUDGE_NO_ROOT},
    {0, "NoSuchBucket", JUDGE_NO_ROOT},
    {0, "QuotaExceeded", JUDGE_FULL},
    {0, "InsufficientStorage", JUDGE_FULL},
    {0, "XMinioStorageFull", JUDGE_FULL},
    {0, "AccountUsageExceeded", JUDGE_FULL},
    {507, NULL, JUDGE_FULL},
    {413, NULL, JUDGE_FULL},
    {0, "Md5Mismatch", JUDGE_CORRUPT},
    {0, "BadDigest", JUDGE_CORRUPT},
    {0, "XAmzContentSHA256Mismatch", JUDGE_CORRUPT},
    {0, "InternalError", JUDGE_AGAIN},
    {0, "SlowDown", JUDGE_AGAIN},
    {0, "ConditionalRequestConflict", JUDGE_AGAIN},
    {0, "OperationAborted", JUDGE_AGAIN},
    {0, "ContainerBeingDeleted", JUDGE_AGAIN},
    {0, "LeaseIdMissing", JUDGE_DENIED},
    {0, "PermanentRedirect", JUDGE_DENIED}, /* another region's */
    {0, "AuthorizationHeaderMalformed", JUDGE_DENIED},
    {401, NULL, JUDGE_DENIED},
    {403, NULL, JUDGE_DENIED},
    {404, NULL, JUDGE_ABSENT},
    {409, "BlobAlreadyExists", JUDGE_CONFLICT},
    {409, "ContainerAlreadyExists", JUDGE_CONFLICT},
    {409, "BucketAlreadyExists", JUDGE_CONFLICT},
    {409, "BucketAlreadyOwnedByYou", JUDGE_CONFLICT},
    {409, "LeaseAlreadyPresent", JUDGE_CONFLICT},
    {409, "LeaseIdMismatchWithLeaseOperation", JUDGE_CONFLICT},
    {409, "LeaseNotPresentWithLeaseOperation", JUDGE_CONFLICT},
    {409, "LeaseIsBrokenAndCannotBeRenewed", JUDGE_CONFLICT},
    {409, "LeaseIsBreakingAndCannotBeAcquired", JUDGE_CONFLICT},
    {400, "InvalidBlockList", JUDGE_CONFLICT}, /* another put's end took our blocks away */
    {412, NULL, JUDGE_CONFLICT},
};

static const struct judgement *judge(long status, const char *code)
{
    for (size_t i = 0; i < ARRAY_LENGTH(judgements); i++) {
        const struct judgement *at = &judgements[i];
        if ((at->status == 0 || at->status == status) && (at->code == NULL || strcmp(at->code, code) == 0)) {
            return at;
        }
    }
    return NULL;
}

enum status http_store_judge(struct http_store *store, const struct http_response *response, const char *what, enum object_result *verdict,
                             struct error *err)
{
    char code[64], message[300];
    error_code_of(response, code, message);
    bool fine = response->status >= 200 && response->status < 300;
    *verdict = OBJECT_OK;
    if (fine && xml_find((struct text){response->body.bytes, response->body.length}, "Error").length == 0) {
        return STATUS_OK; /* an error may hide in a 200 that was begun before it was known */
    }
    const struct judgement *found = judge(response->status, code);
    switch (found == NULL ? -1 : (int)found->judgement) {
    case JUDGE_ABSENT:
        *verdict = OBJECT_ABSENT;
        return STATUS_OK;
    case JUDGE_CONFLICT:
        *verdict = OBJECT_CONFLICT;
        return STATUS_OK;
    case JUDGE_AGAIN:
        *verdict = OBJECT_UNKNOWN;
        return STATUS_OK;
    case JUDGE_DENIED:
        return refused(store, response, what, code, message, err);
    case JUDGE_CORRUPT:
        return error_set(err, ERROR_STORE_CORRUPT, "'%.200s' was damaged on its way to %s (%s)", what, store->endpoint, code);
    case JUDGE_FULL:
        return error_set(err, ERROR_STORE_FULL, "%s has no room for '%.200s' (%ld %s): %s", store->endpoint, what, response->status, code,
                         message);
    case JUDGE_NO_ROOT:
        return error_set(err, ERROR_STORE_URI, "%s%s does not exist (%s); create it, or set the option that does", store->endpoint,
                         store->root, code);
    default: /* of what is the request's fault, none is worth another try */
        return error_set(err, response->status >= 400 && response->status < 500 ? ERROR_STORE_UNABLE : ERROR_STORE_UNAVAILABLE,
                         "%s answers %ld %s to '%.200s': %s", store->endpoint, response->status, code, what, message);
    }
}

enum status http_store_call(struct http_store *store, struct http_request *request, struct http_response *response, const char *what,
                            enum object_result *verdict, struct error *err)
{
    enum status status = http_call(store->client, request, response, err);
    if (status != STATUS_OK || response->broken) {
        return status;
    }
    return http_store_judge(store, response, what, verdict, err);
}

static void copy_text(char *out, size_t capacity, struct text text)
{
    snprintf(out, capacity, "%.*s", (int)(text.length < capacity ? text.length : capacity - 1), text.length == 0 ? "" : text.bytes);
}

static struct text metadata_of(const struct http_store *store, const struct http_response *response, const char *name)
{
    char header[64];
    snprintf(header, sizeof header, "%s%s", store->protocol->metadata, name);
    return http_header_find(&response->headers, header);
}

/* The object's bytes with its trailer: behind '/' of a Content-Range, else of Content-Length. */
static uint64_t total_bytes(const struct http_response *response)
{
    struct text range = http_header_find(&response->headers, "content-range");
    const char *slash = range.length == 0 ? NULL : memchr(range.bytes, '/', range.length);
    struct text length = http_header_find(&response->headers, "content-length");
    return strtoull(slash != NULL ? slash + 1 : length.length > 0 ? length.bytes : "0", NULL, 10);
}

enum status http_store_describe(const struct http_store *store, const struct http_response *response, const char *key,
                                struct object_info *info, char number[RANDOM_NAME_BYTES], struct error *err)
{
    struct text crc = metadata_of(store, response, "spatecrc32c");
    uint64_t total = total_bytes(response);
    *info = (struct object_info){.has_crc32c = crc.length == 8};
    copy_text(info->etag, sizeof info->etag, http_header_find(&response->headers, "etag"));
    info->modified_us = http_date_parse(http_header_find(&response->headers, "last-modified"));
    info->crc32c = info->has_crc32c ? (uint32_t)strtoul(crc.bytes, NULL, 16) : 0;
    if (number != NULL) {
        copy_text(number, RANDOM_NAME_BYTES, metadata_of(store, response, "spateput"));
    }
    if (store->protocol->trailer_bytes > 0 && (!info->has_crc32c || total < store->protocol->trailer_bytes)) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%.200s' in %s%s was not written by Spate", key, store->endpoint, store->root);
    }
    info->bytes = total - store->protocol->trailer_bytes;
    return STATUS_OK;
}

enum status http_store_head_number(struct http_store *store, const char *key, enum object_result *result, struct object_info *info,
                                   char number[RANDOM_NAME_BYTES], struct error *err)
{
    struct http_request request = {.method = "HEAD"};
    struct http_response response = {0};
    http_store_object_path(store, key, &request.path);
    enum status status = http_store_call(store, &request, &response, key, result, err);
    if (status == STATUS_OK && *result == OBJECT_OK) {
        status = http_store_describe(store, &response, key, info, number, err);
    }
    http_request_close(&request);
    http_response_close(&response);
    return status;
}

enum status http_store_head(struct object_store *base, const char *key, enum object_result *result, struct object_info *info,
                            struct error *err)
{
    TRY(object_key_check(key, err));
    return http_store_head_number((struct http_store *)base, key, result, info, NULL, err);
}

/* What the service does not say about a remove. */
static enum status look_before_remove(struct http_store *store, const char *key, const char *etag, enum object_result *result,
                                      struct error *err)
{
    struct object_info info;
    enum status status = http_store_head_number(store, key, result, &info, NULL, err);
    if (status == STATUS_CORRUPT && etag == NULL) {
        *result = OBJECT_OK; /* a foreign object can be removed */
        return STATUS_OK;
    }
    if (status == STATUS_OK && *result == OBJECT_OK && etag != NULL && strcmp(info.etag, etag) != 0) {
        *result = OBJECT_CONFLICT;
    }
    return status;
}

enum status http_store_remove(struct object_store *base, const char *key, const char *etag, enum object_result *result, struct error *err)
{
    struct http_store *store = (struct http_store *)base;
    TRY(object_key_check(key, err));
    if (store->protocol->removes_nothing || etag != NULL) { /* 412 does not tell another etag from nothing at all */
        TRY(look_before_remove(store, key, etag, result, err));
        if (*result != OBJECT_OK) {
            return STATUS_OK;
        }
    }
    struct http_request request = {.method = "DELETE"};
    struct http_response response = {0};
    http_store_object_path(store, key, &request.path);
    if (etag != NULL) {
        http_header_add(&request, "if-match", "%s", etag);
    }
    enum status status = http_store_call(store, &request, &response, key, result, err);
    if (response.may_be_done && (status == STATUS_UNAVAILABLE || (status == STATUS_OK && *result != OBJECT_OK))) {
        *result = etag == NULL && status == STATUS_OK && *result == OBJECT_ABSENT ? OBJECT_OK : OBJECT_UNKNOWN;
        status = STATUS_OK;
    }
    http_request_close(&request);
    http_response_close(&response);
    return status;
}

struct object_caps http_store_caps(const struct object_store *base)
{
    return ((const struct http_store *)base)->caps;
}
