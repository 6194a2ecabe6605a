/* storage/http_store.h: what stores behind HTTP have in common: the calls of a driver, over a table of what differs.
 *
 * For         the drivers azure and s3 (modules).
 * Put         A body of up to 8 MiB goes in one request, a longer one in parts of that size that a last request makes an object. Each put
 *             has a number of its own (metadata `spateput`): when an answer was lost and the next attempt says that the condition fails,
 *             the object is read back, and the number tells whether it was us. If it was not, the result is UNKNOWN, not CONFLICT.
 * Checksums   CRC-32C in metadata (`spatecrc32c`), checked on whole reads. In flight, the service checks its own (MD5, SHA-256).
 * Trailer     Where etags depend on nothing but the bytes (S3), a line with the put's number is put behind the bytes, and taken off again:
 *             so an etag never returns.
 * Get         A body that breaks off is asked for from there on, if the object is still the same.
 * Open        Puts `.spate-probe` twice on a condition that fails, to see that it does; lists leave that key out.
 */
#ifndef SPATE_STORAGE_HTTP_STORE_H
#define SPATE_STORAGE_HTTP_STORE_H

#include "base/arena.h"
#include "storage/http_client.h"
#include "storage/xml_scan.h"

#define HTTP_PROBE_KEY ".spate-probe"

struct http_store;
/* A put on its way. */
struct http_put {
    const char *key, *etag;
    const char *lease; /* NULL, or the lease that the service holds the object under: a body of one request only */
    enum put_condition condition;
    char number[RANDOM_NAME_BYTES]; /* of the put */
    uint32_t crc32c, part_count;
    uint64_t bytes;                    /* of the body */
    struct text_builder upload, parts; /* the protocol's: identity of the upload, list of its parts */
};
/* The elements of a listing. */
struct http_listing {
    const char *entry, *name, *next, *etag, *bytes, *modified;
};
struct http_protocol {
    const struct object_driver *driver;
    const char *metadata;     /* "x-ms-meta-" */
    uint32_t trailer_bytes;   /* 0: etags are always new */
    bool metadata_goes_first; /* of a body in parts */
    bool removes_nothing;     /* a remove of what is not there says that it was done */
    struct http_listing listing;
    enum status (*sign)(void *store, struct http_request *request, struct error *err);
    /* A key's name in the service and back; false: no name of ours. */
    void (*encode_key)(struct text_builder *out, const char *key);
    bool (*decode_key)(struct text_builder *out, struct text name);
    void (*add_put_headers)(struct http_store *store, const struct http_put *put, struct http_request *request);
    enum status (*begin_parts)(struct http_store *store, struct http_put *put, struct error *err);
    enum status (*put_part)(struct http_store *store, struct http_put *put, const void *bytes, size_t length, struct error *err);
    /* The last request: method, query, and its body, which the caller closes after the call. */
    void (*finish_parts)(struct http_store *store, const struct http_put *put, struct http_request *request, struct text_builder *body);
    void (*drop_parts)(struct http_store *store, const struct http_put *put);
    /* Adds the query of one page. `token` "": the first one. */
    void (*add_list_query)(struct http_request *request, const char *prefix, const char *after, const char *token);
    /* Makes the container or bucket. */
    enum status (*create_root)(struct http_store *store, struct error *err);
};
struct http_store {
    struct object_store base;
    const struct http_protocol *protocol;
    struct http_client *client;
    const struct clock *clock;
    struct random_source random;
    struct budget budget;
    struct arena *arena;
    struct object_caps caps;
    const char *endpoint;    /* "https://host:port" */
    const char *root;        /* path of the container or bucket: "/c", encoded, no '/' at its end ("" for a bucket in the host's name) */
    const char *prefix;      /* of keys: "" or "a/b/" */
    const char *secret_hint; /* what to check when the service refuses */
};

/* The parts of "scheme://host/rest"; `host` is copied into the store's arena. */
enum status http_store_create(const struct http_protocol *protocol, size_t bytes, const struct object_environment *environment,
                              struct http_store **store, struct error *err);
/* After endpoint, root, prefix are set: opens the client, probes. `may_create`: makes the root if it is missing. */
enum status http_store_start(struct http_store *store, const struct http_settings *settings, bool may_create, struct error *err);
/* Keeps a prefix of keys: no '/' in front, one behind, "" for nothing. */
enum status http_store_set_prefix(struct http_store *store, const char *prefix, struct error *err);
/* Splits an endpoint into "https://host:port" and its path without '/' at the end. */
enum status http_store_set_endpoint(struct http_store *store, const char *url, const char **path, struct error *err);
void http_store_close(struct object_store *base);

void http_store_object_path(const struct http_store *store, const char *key, struct text_builder *path);
/* One request; *verdict is OK (2xx), ABSENT, CONFLICT or UNKNOWN ("ask again"); all else is an error. `what`: the key or so. */
enum status http_store_call(struct http_store *store, struct http_request *request, struct http_response *response, const char *what,
                            enum object_result *verdict, struct error *err);
enum status http_store_judge(struct http_store *store, const struct http_response *response, const char *what, enum object_result *verdict,
                             struct error *err);
/* Describes the object from the headers of an answer. `number`: of the put that made it, may be NULL. */
enum status http_store_describe(const struct http_store *store, const struct http_response *response, const char *key,
                                struct object_info *info, char number[RANDOM_NAME_BYTES], struct error *err);
enum status http_store_head_number(struct http_store *store, const char *key, enum object_result *result, struct object_info *info,
                                   char number[RANDOM_NAME_BYTES], struct error *err);

enum status http_store_put(struct object_store *base, const char *key, const struct object_source *source, enum put_condition condition,
                           const char *etag, enum object_result *result, struct object_info *info, struct error *err);
/* The same under a lease of the service (its identity); CONFLICT, too, when it is no more. */
enum status http_store_put_leased(struct object_store *base, const char *key, const struct object_source *source, const char *etag,
                                  const char *lease, enum object_result *result, struct object_info *info, struct error *err);
enum status http_store_get(struct object_store *base, const char *key, uint64_t offset, uint64_t length, const struct object_sink *sink,
                           enum object_result *result, struct object_info *info, struct error *err);
enum status http_store_head(struct object_store *base, const char *key, enum object_result *result, struct object_info *info,
                            struct error *err);
enum status http_store_remove(struct object_store *base, const char *key, const char *etag, enum object_result *result, struct error *err);
enum status http_store_list(struct object_store *base, const char *prefix, const char *after, object_visit visit, void *context,
                            struct error *err);
struct object_caps http_store_caps(const struct object_store *base);

#endif
