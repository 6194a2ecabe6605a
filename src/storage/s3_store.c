/* The driver s3: Amazon S3 and what speaks as it does. Signed with version 4 of AWS's signature. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/module.h"
#include "base/option.h"
#include "build_id.h"
#include "storage/http_digest.h"
#include "storage/http_store.h"

enum { HEADERS_MAX = 32, TRAILER_BYTES = RANDOM_NAME_BYTES + 1, HEX_SHA256 = 2 * DIGEST_SHA256 + 1 };

struct s3_settings {
    const char *endpoint, *region, *access_key, *secret_key, *session_token, *ca_file;
    struct duration timeout;
    int32_t path_style;
    bool create_bucket;
};
struct s3_store {
    struct http_store http;
    const char *region, *access_key, *secret_key, *session_token; /* the last one NULL: none */
};

enum { PATH_STYLE_AUTO, PATH_STYLE_TRUE, PATH_STYLE_FALSE };
static const char *const path_styles[] = {"auto", "true", "false", NULL};
static const struct option_def s3_options[] = {
    {.name = "s3.endpoint",
     OPTION_TEXT(struct s3_settings, endpoint),
     .summary = "Of another service than Amazon's. Unset: https://s3.REGION.amazonaws.com."},
    {.name = "s3.region",
     OPTION_TEXT(struct s3_settings, region),
     .summary = "The bucket's region. Unset: AWS_REGION of the environment, else us-east-1."},
    {.name = "s3.access-key",
     OPTION_TEXT(struct s3_settings, access_key),
     .summary = "The identity of the key. Unset: AWS_ACCESS_KEY_ID of the environment."},
    {.name = "s3.secret-key",
     OPTION_TEXT(struct s3_settings, secret_key),
     .flags = OPTION_SECRET,
     .summary = "The key. Unset: AWS_SECRET_ACCESS_KEY of the environment."},
    {.name = "s3.session-token",
     OPTION_TEXT(struct s3_settings, session_token),
     .flags = OPTION_SECRET,
     .summary = "Of a key that is lent for a while. Unset: AWS_SESSION_TOKEN of the environment."},
    {.name = "s3.path.style.access",
     OPTION_CHOICE(struct s3_settings, path_style, path_styles),
     .initial = "auto",
     .summary = "Whether the bucket is in the path or in the host's name; 'auto': in the path where an endpoint is given."},
    {.name = "s3.ca-file", OPTION_TEXT(struct s3_settings, ca_file), .summary = "Certificates to trust, in PEM form. Unset: the system's."},
    {.name = "s3.timeout",
     OPTION_DURATION(struct s3_settings, timeout),
     .initial = "60 s",
     .summary = "How long a request is tried again before the store counts as unavailable."},
    {.name = "s3.create-bucket",
     OPTION_BOOL(struct s3_settings, create_bucket),
     .initial = "false",
     .summary = "Makes the bucket when the store is opened and it is not there."},
};

/* ---- signature ---- */

static int compare_queries(const void *left, const void *right)
{
    return strcmp(((const struct http_query *)left)->name, ((const struct http_query *)right)->name);
}

/* Names of queries are of letters and '-' alone: they sort encoded as they are. */
static void append_query(struct text_builder *out, const struct http_request *request)
{
    struct http_query sorted[HTTP_QUERY_MAX];
    memcpy(sorted, request->query, sizeof sorted);
    qsort(sorted, request->query_count, sizeof *sorted, compare_queries);
    for (uint32_t i = 0; i < request->query_count; i++) {
        text_append_text(out, i == 0 ? "" : "&");
        http_encode(out, text_from(sorted[i].name), false);
        text_append_char(out, '=');
        http_encode(out, text_from(sorted[i].value), false);
    }
}

/* Appends the canonical request; `names`: the signed headers, separated by ';'. */
static void append_canonical(struct text_builder *out, struct text_builder *names, const struct s3_store *store,
                             const struct http_request *request, const char *body_hash)
{
    struct text_builder headers = {0};
    struct header_line lines[HEADERS_MAX];
    text_append(&headers, request->headers.bytes, request->headers.length);
    text_append_format(&headers, "host: %s\n", strstr(store->http.endpoint, "://") + 3);
    size_t count = header_lines_sorted(&headers, lines, HEADERS_MAX);
    text_append_format(out, "%s\n%s\n", request->method, request->path.bytes);
    append_query(out, request);
    text_append_char(out, '\n');
    for (size_t i = 0; i < count; i++) {
        text_append_format(out, "%.*s:%.*s\n", (int)lines[i].name.length, lines[i].name.bytes, (int)lines[i].value.length,
                           lines[i].value.bytes);
        text_append_format(names, "%s%.*s", i == 0 ? "" : ";", (int)lines[i].name.length, lines[i].name.bytes);
    }
    text_append_format(out, "\n%s\n%s", names->bytes == NULL ? "" : names->bytes, body_hash);
    out->failed = out->failed || headers.failed || names->failed;
    text_builder_close(&headers);
}

/* The key of a day, a region and a service. */
static void signing_key(const struct s3_store *store, const char *day, uint8_t key[DIGEST_SHA256])
{
    char secret[300];
    snprintf(secret, sizeof secret, "AWS4%s", store->secret_key);
    digest_hmac_sha256(secret, strlen(secret), text_from(day), key);
    digest_hmac_sha256(key, DIGEST_SHA256, text_from(store->region), key);
    digest_hmac_sha256(key, DIGEST_SHA256, TEXT("s3"), key);
    digest_hmac_sha256(key, DIGEST_SHA256, TEXT("aws4_request"), key);
}

static void hash_hex(const void *bytes, size_t length, char hex[HEX_SHA256])
{
    uint8_t digest[DIGEST_SHA256];
    digest_sha256(bytes, length, digest);
    digest_hex(digest, sizeof digest, hex);
}

static void add_authorization(const struct s3_store *store, struct http_request *request, const char *date,
                              const struct text_builder *canonical, const char *names)
{
    char day[9], hash[HEX_SHA256], scope[100], message[400], signature[HEX_SHA256];
    uint8_t key[DIGEST_SHA256], digest[DIGEST_SHA256];
    snprintf(day, sizeof day, "%.8s", date);
    snprintf(scope, sizeof scope, "%s/%.60s/s3/aws4_request", day, store->region);
    hash_hex(canonical->bytes, canonical->length, hash);
    snprintf(message, sizeof message, "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, hash);
    signing_key(store, day, key);
    digest_hmac_sha256(key, sizeof key, text_from(message), digest);
    digest_hex(digest, sizeof digest, signature);
    http_header_add(request, "authorization", "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", store->access_key, scope,
                    names, signature);
}

static enum status s3_sign(void *context, struct http_request *request, struct error *err)
{
    const struct s3_store *store = context;
    struct text_builder canonical = {0}, names = {0};
    char date[20], body_hash[HEX_SHA256];
    time_t seconds = (time_t)(store->http.clock->wall_us(store->http.clock) / 1000000);
    struct tm time;
    gmtime_r(&seconds, &time);
    strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", &time);
    hash_hex(request->body_bytes == 0 ? "" : request->body, request->body_bytes, body_hash);
    http_header_add(request, "x-amz-content-sha256", "%s", body_hash);
    http_header_add(request, "x-amz-date", "%s", date);
    if (store->session_token != NULL) {
        http_header_add(request, "x-amz-security-token", "%s", store->session_token);
    }
    append_canonical(&canonical, &names, store, request, body_hash);
    bool failed = canonical.failed;
    if (!failed) {
        add_authorization(store, request, date, &canonical, names.bytes);
    }
    text_builder_close(&canonical);
    text_builder_close(&names);
    return failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a signature") : STATUS_OK;
}

/* ---- requests ---- */

static void s3_encode_key(struct text_builder *out, const char *key)
{
    text_append_text(out, key);
}

static bool s3_decode_key(struct text_builder *out, struct text name)
{
    text_append(out, name.bytes, name.length);
    return !out->failed;
}

static void s3_add_put_headers(struct http_store *store, const struct http_put *put, struct http_request *request)
{
    http_header_add(request, "content-type", "application/octet-stream");
}

/* A call whose verdict must be OK. */
static enum status must_call(struct http_store *store, struct http_request *request, struct http_response *response, const char *what,
                             struct error *err)
{
    enum object_result verdict;
    TRY(http_store_call(store, request, response, what, &verdict, err));
    return verdict == OBJECT_OK
               ? STATUS_OK
               : error_set(err, ERROR_STORE_UNAVAILABLE, "%s answers %ld to a part of '%.200s'", store->endpoint, response->status, what);
}

static enum status s3_begin_parts(struct http_store *store, struct http_put *put, struct error *err)
{
    struct http_request request = {.method = "POST"};
    struct http_response response = {0};
    http_store_object_path(store, put->key, &request.path);
    http_query_add(&request, "uploads", "");
    http_header_add(&request, "x-amz-meta-spatecrc32c", "%08x", put->crc32c);
    http_header_add(&request, "x-amz-meta-spateput", "%s", put->number);
    s3_add_put_headers(store, put, &request);
    enum status status = must_call(store, &request, &response, put->key, err);
    xml_append_text(&put->upload, xml_find((struct text){response.body.bytes, response.body.length}, "UploadId"));
    if (status == STATUS_OK && put->upload.length == 0) {
        status = error_set(err, ERROR_STORE_UNAVAILABLE, "%s begins no upload of '%.200s'", store->endpoint, put->key);
    }
    text_append_text(&put->parts, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    http_request_close(&request);
    http_response_close(&response);
    return status;
}

static enum status s3_put_part(struct http_store *store, struct http_put *put, const void *bytes, size_t length, struct error *err)
{
    struct http_request request = {.method = "PUT", .body = bytes, .body_bytes = length};
    struct http_response response = {0};
    char number[16];
    snprintf(number, sizeof number, "%u", put->part_count);
    http_store_object_path(store, put->key, &request.path);
    http_query_add(&request, "partNumber", number);
    http_query_add(&request, "uploadId", put->upload.bytes);
    enum status status = must_call(store, &request, &response, put->key, err);
    struct text etag = http_header_find(&response.headers, "etag");
    text_append_format(&put->parts, "<Part><PartNumber>%s</PartNumber><ETag>%.*s</ETag></Part>", number, (int)etag.length,
                       etag.length == 0 ? "" : etag.bytes);
    http_request_close(&request);
    http_response_close(&response);
    return status;
}

static void s3_finish_parts(struct http_store *store, const struct http_put *put, struct http_request *request, struct text_builder *body)
{
    text_append(body, put->parts.bytes, put->parts.length);
    text_append_text(body, "</CompleteMultipartUpload>");
    body->failed = body->failed || put->parts.failed;
    request->method = "POST";
    http_query_add(request, "uploadId", put->upload.bytes);
    http_header_add(request, "content-type", "application/xml");
}

static void s3_drop_parts(struct http_store *store, const struct http_put *put)
{
    struct http_request request = {.method = "DELETE"};
    struct http_response response = {0};
    struct error ignored;
    enum object_result verdict;
    http_store_object_path(store, put->key, &request.path);
    http_query_add(&request, "uploadId", put->upload.bytes);
    (void)!http_store_call(store, &request, &response, put->key, &verdict, &ignored); /* else the bucket's own rule removes them */
    http_request_close(&request);
    http_response_close(&response);
}

static void s3_add_list_query(struct http_request *request, const char *prefix, const char *after, const char *token)
{
    http_query_add(request, "list-type", "2");
    http_query_add(request, "prefix", prefix);
    if (token[0] != '\0') {
        http_query_add(request, "continuation-token", token);
    } else if (after[0] != '\0') {
        http_query_add(request, "start-after", after);
    }
}

static enum status s3_create_root(struct http_store *store, struct error *err)
{
    const struct s3_store *self = (const struct s3_store *)store;
    struct http_request request = {.method = "PUT"};
    struct http_response response = {0};
    struct text_builder body = {0};
    enum object_result verdict;
    if (strcmp(self->region, "us-east-1") != 0) {
        text_append_format(&body, "<CreateBucketConfiguration><LocationConstraint>%s</LocationConstraint></CreateBucketConfiguration>",
                           self->region);
    }
    request.body = body.bytes;
    request.body_bytes = body.length;
    text_append_text(&request.path, store->root[0] == '\0' ? "/" : store->root);
    enum status status = http_store_call(store, &request, &response, store->root, &verdict, err);
    http_request_close(&request);
    http_response_close(&response);
    text_builder_close(&body);
    return status;
}

/* ---- open ---- */

static const char *first_of(const char *left, const char *right)
{
    return left != NULL && left[0] != '\0' ? left : right != NULL && right[0] != '\0' ? right : NULL;
}

static enum status set_credentials(struct s3_store *store, const struct s3_settings *settings, struct error *err)
{
    struct arena *arena = store->http.arena;
    const char *access = first_of(settings->access_key, getenv("AWS_ACCESS_KEY_ID"));
    const char *secret = first_of(settings->secret_key, getenv("AWS_SECRET_ACCESS_KEY"));
    const char *token = first_of(settings->session_token, settings->access_key == NULL ? getenv("AWS_SESSION_TOKEN") : NULL);
    const char *region = first_of(first_of(settings->region, getenv("AWS_REGION")), "us-east-1");
    if (access == NULL || secret == NULL) {
        return error_set(err, ERROR_STORE_OPTION,
                         "'s3.access-key' and 's3.secret-key' are needed, or AWS_ACCESS_KEY_ID and "
                         "AWS_SECRET_ACCESS_KEY in the environment");
    }
    if (strlen(secret) > 200 || strlen(region) > 60) {
        return error_set(err, ERROR_INVALID_OPTION, "'s3.secret-key' or 's3.region' is too long to be one");
    }
    TRY_ALLOC(store->access_key, arena_format(arena, "%s", access), err);
    TRY_ALLOC(store->secret_key, arena_format(arena, "%s", secret), err);
    TRY_ALLOC(store->region, arena_format(arena, "%s", region), err);
    if (token != NULL) {
        TRY_ALLOC(store->session_token, arena_format(arena, "%s", token), err);
    }
    return STATUS_OK;
}

/* "s3://bucket/prefix" */
static enum status set_root(struct s3_store *store, const char *uri, const struct s3_settings *settings, struct error *err)
{
    struct arena *arena = store->http.arena;
    const char *bucket = uri + strlen("s3://"), *url = settings->endpoint, *path;
    size_t length = strncmp(uri, "s3://", 5) == 0 ? strcspn(bucket, "/") : 0;
    if (length == 0) {
        return error_set(err, ERROR_STORE_URI, "'%.300s' is not like s3://bucket/prefix", uri);
    }
    if (url == NULL || url[0] == '\0') {
        TRY_ALLOC(url, arena_format(arena, "https://s3.%s.amazonaws.com", store->region), err);
    }
    bool in_path = settings->path_style == PATH_STYLE_TRUE || (settings->path_style == PATH_STYLE_AUTO && settings->endpoint != NULL);
    if (!in_path) {
        const char *host = strstr(url, "://");
        size_t scheme = host == NULL ? 0 : (size_t)(host + 3 - url);
        TRY_ALLOC(url, arena_format(arena, "%.*s%.*s.%s", (int)scheme, url, (int)length, bucket, url + scheme), err);
    }
    TRY(http_store_set_endpoint(&store->http, url, &path, err));
    TRY_ALLOC(store->http.root, in_path ? arena_format(arena, "%s/%.*s", path, (int)length, bucket) : arena_format(arena, "%s", path), err);
    return http_store_set_prefix(&store->http, bucket[length] == '/' ? bucket + length + 1 : "", err);
}

static const struct http_protocol s3_protocol;

static enum status s3_open(const char *uri, const void *settings, const struct object_environment *environment,
                           struct object_store **opened, struct error *err)
{
    const struct s3_settings *options = settings;
    struct http_store *http;
    struct http_settings client = {.timeout_us = options->timeout.us};
    TRY(http_store_create(&s3_protocol, sizeof(struct s3_store), environment, &http, err));
    struct s3_store *store = (struct s3_store *)http;
    enum status status;
    http->secret_hint = "'s3.access-key', 's3.secret-key', 's3.region', and the rights the key gives";
    TRY_GOTO(failed, status, set_credentials(store, options, err));
    TRY_GOTO(failed, status, set_root(store, uri, options, err));
    client.ca_file = options->ca_file == NULL ? NULL : arena_format(http->arena, "%s", options->ca_file);
    TRY_GOTO(failed, status, http_store_start(http, &client, options->create_bucket, err));
    *opened = &http->base;
    return STATUS_OK;
failed:
    http_store_close(&http->base);
    return status;
}

static const struct object_driver s3_driver = {
    .abi = OBJECT_DRIVER_ABI,
    .scheme = "s3",
    .summary = "Amazon S3 and services with its interface: s3://bucket/prefix.",
    .options = s3_options,
    .option_count = ARRAY_LENGTH(s3_options),
    .settings_bytes = sizeof(struct s3_settings),
    .open = s3_open,
    .put = http_store_put,
    .get = http_store_get,
    .head = http_store_head,
    .remove = http_store_remove,
    .list = http_store_list,
    .caps = http_store_caps,
    .close = http_store_close,
};

static const struct http_protocol s3_protocol = {
    .driver = &s3_driver,
    .metadata = "x-amz-meta-",
    .trailer_bytes = TRAILER_BYTES,
    .metadata_goes_first = true,
    .removes_nothing = true,
    .listing = {"Contents", "Key", "NextContinuationToken", "ETag", "Size", "LastModified"},
    .sign = s3_sign,
    .encode_key = s3_encode_key,
    .decode_key = s3_decode_key,
    .add_put_headers = s3_add_put_headers,
    .begin_parts = s3_begin_parts,
    .put_part = s3_put_part,
    .finish_parts = s3_finish_parts,
    .drop_parts = s3_drop_parts,
    .add_list_query = s3_add_list_query,
    .create_root = s3_create_root,
};

static const void *const drivers[] = {&s3_driver, NULL};
static const struct module described = {.build_id = MODULE_BUILD_ID, .name = "s3", .types = {[MODULE_OBJECT_DRIVERS] = drivers}};

MODULE_EXPORT const struct module *module_describe(void)
{
    return &described;
}
