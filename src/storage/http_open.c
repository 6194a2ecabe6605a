#include <stdlib.h>
#include <string.h>

#include "storage/http_store.h"

enum status http_store_create(const struct http_protocol *protocol, size_t bytes, const struct object_environment *environment,
                              struct http_store **store, struct error *err)
{
    struct http_store *created;
    TRY_ALLOC(created, calloc(1, bytes), err);
    created->base.driver = protocol->driver;
    created->protocol = protocol;
    created->clock = environment->clock;
    random_open(&created->random, environment->random_seed);
    budget_init(&created->budget, NULL, "a store", BUDGET_UNLIMITED);
    created->arena = arena_create(&created->budget, "a store");
    if (created->arena == NULL) {
        free(created);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a store");
    }
    *store = created;
    return STATUS_OK;
}

void http_store_close(struct object_store *base)
{
    struct http_store *store = (struct http_store *)base;
    http_client_close(store->client);
    arena_destroy(store->arena);
    free(store);
}

enum status http_store_set_prefix(struct http_store *store, const char *prefix, struct error *err)
{
    size_t length = strlen(prefix);
    while (length > 0 && prefix[length - 1] == '/') {
        length--;
    }
    TRY_ALLOC(store->prefix, arena_format(store->arena, "%.*s%s", (int)length, prefix, length > 0 ? "/" : ""), err);
    if (length > 0) {
        const char *as_key;
        TRY_ALLOC(as_key, arena_text(store->arena, prefix, length), err);
        TRY(object_key_check(as_key, err));
    }
    return STATUS_OK;
}

enum status http_store_set_endpoint(struct http_store *store, const char *url, const char **path, struct error *err)
{
    size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    size_t end = strlen(url), host = 0;
    while (scheme > 0 && scheme + host < end && strchr("/?#", url[scheme + host]) == NULL) {
        host++;
    }
    if (host == 0 || strpbrk(url, "?# ") != NULL || memchr(url + scheme, '@', host) != NULL) {
        return error_set(err, ERROR_STORE_URI, "the endpoint '%.200s' is not like https://host or http://host:port/path", url);
    }
    while (end > scheme + host && url[end - 1] == '/') {
        end--;
    }
    TRY_ALLOC(store->endpoint, arena_text(store->arena, url, scheme + host), err);
    TRY_ALLOC(*path, arena_text(store->arena, url + scheme + host, end - scheme - host), err);
    return STATUS_OK;
}

static enum status probe_put(struct http_store *store, enum put_condition condition, const char *etag, enum object_result *result,
                             struct error *err)
{
    struct object_info info;
    return object_put_bytes(&store->base, HTTP_PROBE_KEY, "", 0, condition, etag, result, &info, err);
}

static enum status stop_at_first(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    *stop = true;
    return STATUS_OK;
}

/* Both conditions must fail where they do not hold. One who may only read may still list. */
static enum status probe(struct http_store *store, struct error *err)
{
    enum object_result absent, match;
    struct error reading;
    enum status status = probe_put(store, PUT_IF_ABSENT, NULL, &absent, err);
    if (status == STATUS_DENIED && err->code != ERROR_STORE_CLOCK &&
        store->base.driver->list(&store->base, "", NULL, stop_at_first, NULL, &reading) == STATUS_OK) {
        return STATUS_OK;
    }
    TRY(status);
    if (absent == OBJECT_OK) { /* the first time here */
        TRY(probe_put(store, PUT_IF_ABSENT, NULL, &absent, err));
    }
    TRY(probe_put(store, PUT_IF_MATCH, "\"0x1\"", &match, err));
    store->caps.conditional_put = absent == OBJECT_CONFLICT && match == OBJECT_CONFLICT;
    return STATUS_OK;
}

enum status http_store_start(struct http_store *store, const struct http_settings *settings, bool may_create, struct error *err)
{
    struct http_settings own = *settings;
    own.endpoint = store->endpoint;
    own.clock = store->clock;
    own.random = &store->random;
    own.sign = store->protocol->sign;
    own.context = store;
    TRY(http_client_open(&own, &store->client, err));
    if (may_create) {
        TRY(store->protocol->create_root(store, err));
    }
    return probe(store, err);
}
