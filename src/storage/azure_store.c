/* The driver azure: block blobs of Azure Blob Storage. Signed with the account's key (SharedKey), or a shared access signature. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/azure_store.h"
#include "storage/http_digest.h"

#define AZURE_VERSION "2021-12-02"
enum { KEY_MAX = 128, HEADERS_MAX = 32 };

struct azure_store {
    struct http_store http;
    const char *account;
    uint8_t key[KEY_MAX];
    size_t key_bytes; /* 0: a shared access signature */
};

const struct option_def azure_options[AZURE_OPTIONS] = {
    {.name = "azure.call-timeout",
     OPTION_DURATION(struct azure_settings, timeout),
     .initial = "5 s",
     .summary = "How long a call of coordination is tried again before the service counts as unavailable."},
    {.name = "azure.connection-string",
     OPTION_TEXT(struct azure_settings, connection_string),
     .flags = OPTION_SECRET,
     .summary = "As the portal gives it (AccountKey or SharedAccessSignature, BlobEndpoint). Unset: AZURE_STORAGE_CONNECTION_STRING of the "
                "environment."},
    {.name = "azure.account-key",
     OPTION_TEXT(struct azure_settings, account_key),
     .flags = OPTION_SECRET,
     .summary = "The key of the storage account."},
    {.name = "azure.sas-token",
     OPTION_TEXT(struct azure_settings, sas_token),
     .flags = OPTION_SECRET,
     .summary =
         "A shared access signature (sv=...&sig=...); it needs the rights read, write, delete, list, or fewer for a store that is only "
         "read."},
    {.name = "azure.endpoint",
     OPTION_TEXT(struct azure_settings, endpoint),
     .summary = "Where the account's blobs are. Unset: https://ACCOUNT.blob.core.windows.net."},
    {.name = "azure.ca-file",
     OPTION_TEXT(struct azure_settings, ca_file),
     .summary = "Certificates to trust, in PEM form. Unset: the system's."},
    {.name = "azure.create-container",
     OPTION_BOOL(struct azure_settings, create_container),
     .initial = "false",
     .summary = "Makes the container when the store is opened and it is not there."},
    {.name = "azure.timeout",
     OPTION_DURATION(struct azure_settings, timeout),
     .initial = "60 s",
     .summary = "How long a request is tried again before the store counts as unavailable."},
};

/* ---- signature ---- */

static void append_header(struct text_builder *out, const struct http_request *request, const char *name)
{
    struct text value = http_header_find(&request->headers, name);
    if (value.length > 0) {
        text_append(out, value.bytes, value.length);
    }
    text_append_char(out, '\n');
}

static int compare_queries(const void *left, const void *right)
{
    return strcmp(((const struct http_query *)left)->name, ((const struct http_query *)right)->name);
}

static void append_resource(struct text_builder *out, const struct azure_store *store, const struct http_request *request)
{
    struct http_query sorted[HTTP_QUERY_MAX];
    memcpy(sorted, request->query, sizeof sorted);
    qsort(sorted, request->query_count, sizeof *sorted, compare_queries);
    text_append_format(out, "/%s%s", store->account, request->path.bytes);
    for (uint32_t i = 0; i < request->query_count; i++) {
        text_append_format(out, "\n%s:%s", sorted[i].name, sorted[i].value);
    }
}

static void append_string_to_sign(struct text_builder *out, const struct azure_store *store, const struct http_request *request)
{
    static const char *const standard[] = {"content-md5",   "content-type",        "date", "if-modified-since", "if-match",
                                           "if-none-match", "if-unmodified-since", "range"};
    struct header_line lines[HEADERS_MAX];
    size_t count = header_lines_sorted(&request->headers, lines, HEADERS_MAX);
    text_append_format(out, "%s\n\n\n", request->method); /* no Content-Encoding, no Content-Language */
    if (request->body_bytes > 0) {
        text_append_format(out, "%zu", request->body_bytes);
    }
    text_append_char(out, '\n');
    for (size_t i = 0; i < ARRAY_LENGTH(standard); i++) {
        append_header(out, request, standard[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (lines[i].name.length > 5 && memcmp(lines[i].name.bytes, "x-ms-", 5) == 0) {
            text_append_format(out, "%.*s:%.*s\n", (int)lines[i].name.length, lines[i].name.bytes, (int)lines[i].value.length,
                               lines[i].value.bytes);
        }
    }
    append_resource(out, store, request);
}

static enum status azure_sign(void *context, struct http_request *request, struct error *err)
{
    const struct azure_store *store = context;
    struct text_builder message = {0};
    uint8_t digest[DIGEST_SHA256];
    char date[32], signature[BASE64_MAX];
    http_date_format(store->http.clock->wall_us(store->http.clock), date);
    http_header_add(request, "x-ms-date", "%s", date);
    http_header_add(request, "x-ms-version", AZURE_VERSION);
    if (store->key_bytes == 0) {
        return STATUS_OK;
    }
    append_string_to_sign(&message, store, request);
    if (message.failed) {
        text_builder_close(&message);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a signature");
    }
    digest_hmac_sha256(store->key, store->key_bytes, (struct text){message.bytes, message.length}, digest);
    base64_encode(digest, sizeof digest, signature);
    http_header_add(request, "authorization", "SharedKey %s:%s", store->account, signature);
    text_builder_close(&message);
    return STATUS_OK;
}

/* ---- requests ---- */

/* What Azure would change or cannot name: a '.' at the end of a part, '\', control characters; and so '%' itself. */
static void azure_encode_key(struct text_builder *out, const char *key)
{
    for (const char *at = key; *at != '\0'; at++) {
        bool last_dot = *at == '.' && (at[1] == '/' || at[1] == '\0');
        if (last_dot || *at == '%' || *at == '\\' || (unsigned char)*at < 0x20 || *at == 0x7f) {
            text_append_format(out, "%%%02X", (unsigned char)*at);
        } else {
            text_append_char(out, *at);
        }
    }
}

/* A name that its key would not be encoded to is not ours. */
static bool azure_decode_key(struct text_builder *out, struct text name)
{
    struct text_builder again = {0};
    http_decode(out, name);
    if (out->length == 0 || out->failed) {
        return false;
    }
    azure_encode_key(&again, out->bytes);
    bool same = text_equal((struct text){again.bytes, again.length}, name);
    text_builder_close(&again);
    return same;
}

static void add_md5(struct http_request *request)
{
    uint8_t digest[DIGEST_MD5];
    char text[BASE64_MAX];
    digest_md5(request->body_bytes == 0 ? "" : request->body, request->body_bytes, digest);
    base64_encode(digest, sizeof digest, text);
    http_header_add(request, "content-md5", "%s", text);
    http_header_add(request, "content-type", "application/octet-stream");
}

static void azure_add_put_headers(struct http_store *store, const struct http_put *put, struct http_request *request)
{
    http_header_add(request, "x-ms-blob-type", "BlockBlob");
    if (put->lease != NULL) {
        http_header_add(request, "x-ms-lease-id", "%s", put->lease);
    }
    add_md5(request);
}

static enum status azure_begin_parts(struct http_store *store, struct http_put *put, struct error *err)
{
    text_append_text(&put->parts, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    return STATUS_OK;
}

/* Identities of blocks: of one length for all puts of a blob, and of this put alone. */
static enum status azure_put_part(struct http_store *store, struct http_put *put, const void *bytes, size_t length, struct error *err)
{
    struct http_request request = {.method = "PUT", .body = bytes, .body_bytes = length};
    struct http_response response = {0};
    enum object_result verdict;
    char plain[48], id[BASE64_MAX];
    snprintf(plain, sizeof plain, "%s%05u", put->number, put->part_count % 100000);
    base64_encode(plain, strlen(plain), id);
    http_store_object_path(store, put->key, &request.path);
    http_query_add(&request, "comp", "block");
    http_query_add(&request, "blockid", id);
    add_md5(&request);
    enum status status = http_store_call(store, &request, &response, put->key, &verdict, err);
    if (status == STATUS_OK && verdict != OBJECT_OK) {
        status =
            error_set(err, ERROR_STORE_UNAVAILABLE, "%s answers %ld to a block of '%.200s'", store->endpoint, response.status, put->key);
    }
    text_append_format(&put->parts, "<Uncommitted>%s</Uncommitted>", id);
    http_request_close(&request);
    http_response_close(&response);
    return status;
}

static void azure_finish_parts(struct http_store *store, const struct http_put *put, struct http_request *request,
                               struct text_builder *body)
{
    text_append(body, put->parts.bytes, put->parts.length);
    text_append_text(body, "</BlockList>");
    body->failed = body->failed || put->parts.failed;
    http_query_add(request, "comp", "blocklist");
    http_header_add(request, "x-ms-blob-content-type", "application/octet-stream");
}

static void azure_drop_parts(struct http_store *store, const struct http_put *put)
{
    /* Azure forgets blocks that no list names after a week, and cannot be asked to do so before. */
}

static void azure_add_list_query(struct http_request *request, const char *prefix, const char *after, const char *token)
{
    http_query_add(request, "restype", "container");
    http_query_add(request, "comp", "list");
    http_query_add(request, "include", "metadata");
    if (prefix[0] != '\0') {
        http_query_add(request, "prefix", prefix);
    }
    if (token[0] != '\0') {
        http_query_add(request, "marker", token);
    }
}

static enum status azure_create_root(struct http_store *store, struct error *err)
{
    struct http_request request = {.method = "PUT"};
    struct http_response response = {0};
    enum object_result verdict;
    text_append_text(&request.path, store->root);
    http_query_add(&request, "restype", "container");
    enum status status = http_store_call(store, &request, &response, store->root, &verdict, err);
    http_request_close(&request);
    http_response_close(&response);
    return status;
}

/* ---- open ---- */

/* The value of a name in "Name=value;Name=value", in the arena; NULL: none. */
static const char *connection_value(struct arena *arena, const char *connection, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = connection; at != NULL && *at != '\0'; at += strcspn(at, ";"), at += *at == ';') {
        if (strncasecmp(at, name, length) == 0 && at[length] == '=') {
            return arena_text(arena, at + length + 1, strcspn(at + length + 1, ";"));
        }
    }
    return NULL;
}

static const char *first_of(const char *left, const char *right)
{
    return left != NULL && left[0] != '\0' ? left : right != NULL && right[0] != '\0' ? right : NULL;
}

/* "azure://account/container/prefix" */
static enum status read_uri(struct azure_store *store, const char *uri, const char **container, struct error *err)
{
    const char *account = uri + strlen("azure://"), *slash = strchr(account, '/');
    if (strncmp(uri, "azure://", 8) != 0 || slash == NULL || slash == account || slash[1] == '/' || slash[1] == '\0') {
        return error_set(err, ERROR_STORE_URI, "'%.300s' is not like azure://account/container/prefix", uri);
    }
    size_t length = strcspn(slash + 1, "/");
    TRY_ALLOC(store->account, arena_text(store->http.arena, account, (size_t)(slash - account)), err);
    TRY_ALLOC(*container, arena_text(store->http.arena, slash + 1, length), err);
    return http_store_set_prefix(&store->http, slash[1 + length] == '/' ? slash + 2 + length : "", err);
}

static enum status set_root(struct azure_store *store, const char *connection, const struct azure_settings *settings, const char *container,
                            struct error *err)
{
    struct arena *arena = store->http.arena;
    const char *endpoint = first_of(settings->endpoint, connection_value(arena, connection, "BlobEndpoint")), *path;
    if (endpoint == NULL) {
        const char *protocol = first_of(connection_value(arena, connection, "DefaultEndpointsProtocol"), "https");
        const char *suffix = first_of(connection_value(arena, connection, "EndpointSuffix"), "core.windows.net");
        TRY_ALLOC(endpoint, arena_format(arena, "%s://%s.blob.%s", protocol, store->account, suffix), err);
    }
    TRY(http_store_set_endpoint(&store->http, endpoint, &path, err));
    TRY_ALLOC(store->http.root, arena_format(arena, "%s/%s", path, container), err);
    return STATUS_OK;
}

static enum status set_credentials(struct azure_store *store, const char *connection, const struct azure_settings *settings,
                                   const char **sas, struct error *err)
{
    struct arena *arena = store->http.arena;
    const char *account = connection_value(arena, connection, "AccountName");
    const char *key = first_of(settings->account_key, connection_value(arena, connection, "AccountKey"));
    *sas = first_of(settings->sas_token, connection_value(arena, connection, "SharedAccessSignature"));
    if (account != NULL && strcmp(account, store->account) != 0) {
        return error_set(err, ERROR_STORE_URI, "the connection string is for the account '%.60s', the URI for '%.60s'", account,
                         store->account);
    }
    if (key == NULL && *sas == NULL) {
        return error_set(err, ERROR_STORE_OPTION, "one of 'azure.connection-string', 'azure.account-key', 'azure.sas-token' is needed");
    }
    if (key != NULL && settings->sas_token == NULL) {
        *sas = NULL;
        return base64_decode(key, store->key, sizeof store->key, &store->key_bytes)
                   ? STATUS_OK
                   : error_set(err, ERROR_INVALID_OPTION, "the account key is not base64 text as the portal shows it");
    }
    TRY_ALLOC(*sas, arena_format(arena, "%s", **sas == '?' ? *sas + 1 : *sas), err);
    return STATUS_OK;
}

static const struct http_protocol azure_protocol;

static enum status azure_open(const char *uri, const void *settings, const struct object_environment *environment,
                              struct object_store **opened, struct error *err)
{
    const struct azure_settings *options = settings;
    const char *connection = first_of(options->connection_string, getenv("AZURE_STORAGE_CONNECTION_STRING")), *container, *sas;
    struct http_store *http;
    struct http_settings client = {.timeout_us = options->timeout.us};
    TRY(http_store_create(&azure_protocol, sizeof(struct azure_store), environment, &http, err));
    struct azure_store *store = (struct azure_store *)http;
    enum status status;
    http->secret_hint = "'azure.connection-string', 'azure.account-key' or 'azure.sas-token', and the rights it gives";
    TRY_GOTO(failed, status, read_uri(store, uri, &container, err));
    TRY_GOTO(failed, status, set_root(store, connection, options, container, err));
    TRY_GOTO(failed, status, set_credentials(store, connection, options, &sas, err));
    client.raw_query = sas;
    client.ca_file = options->ca_file == NULL ? NULL : arena_format(http->arena, "%s", options->ca_file);
    TRY_GOTO(failed, status, http_store_start(http, &client, options->create_container, err));
    *opened = &http->base;
    return STATUS_OK;
failed:
    http_store_close(&http->base);
    return status;
}

const struct object_driver azure_object_driver = {
    .abi = OBJECT_DRIVER_ABI,
    .scheme = "azure",
    .summary = "Block blobs of Azure Blob Storage: azure://account/container/prefix.",
    .options = azure_options + AZURE_STORE_FROM,
    .option_count = AZURE_OPTIONS - AZURE_STORE_FROM,
    .settings_bytes = sizeof(struct azure_settings),
    .open = azure_open,
    .put = http_store_put,
    .get = http_store_get,
    .head = http_store_head,
    .remove = http_store_remove,
    .list = http_store_list,
    .caps = http_store_caps,
    .close = http_store_close,
};

static const struct http_protocol azure_protocol = {
    .driver = &azure_object_driver,
    .metadata = "x-ms-meta-",
    .listing = {"Blob", "Name", "NextMarker", "Etag", "Content-Length", "Last-Modified"},
    .sign = azure_sign,
    .encode_key = azure_encode_key,
    .decode_key = azure_decode_key,
    .add_put_headers = azure_add_put_headers,
    .begin_parts = azure_begin_parts,
    .put_part = azure_put_part,
    .finish_parts = azure_finish_parts,
    .drop_parts = azure_drop_parts,
    .add_list_query = azure_add_list_query,
    .create_root = azure_create_root,
};
