#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "storage/http_store.h"

struct listing {
    struct http_store *store;
    const char *prefix, *after;
    object_visit visit;
    void *context;
    struct text_builder key, token, service_prefix, service_after; /* the latter two as the service names them */
    bool stop;
};

/* "2026-01-02T03:04:05.678Z" or the form of HTTP. */
static int64_t read_time(struct text text)
{
    struct tm time = {0};
    char copy[40];
    int millis = 0;
    snprintf(copy, sizeof copy, "%.*s", (int)(text.length < 39 ? text.length : 39), text.length == 0 ? "" : text.bytes);
    if (sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2d.%3d", &time.tm_year, &time.tm_mon, &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec,
               &millis) < 6) {
        return http_date_parse(text);
    }
    time.tm_year -= 1900;
    time.tm_mon -= 1;
    return (int64_t)timegm(&time) * 1000000 + millis * 1000;
}

/* The key of an entry below the store's prefix, in self->key. false: not a key of ours. */
static bool read_key(struct listing *self, struct text content, struct text attributes)
{
    struct text_builder name = {0}, plain = {0};
    struct error ignored;
    xml_append_text(&name, content);
    bool encoded = attributes.length > 0 && memmem(attributes.bytes, attributes.length, "\"true\"", 6) != NULL;
    if (encoded) { /* Azure's form of names that XML cannot hold */
        http_decode(&plain, (struct text){name.bytes, name.length});
    }
    struct text_builder *whole = encoded ? &plain : &name;
    text_builder_clear(&self->key);
    size_t prefix = strlen(self->store->prefix);
    bool ours = self->store->protocol->decode_key(&self->key, (struct text){whole->bytes, whole->length}) && self->key.length > prefix &&
                memcmp(self->key.bytes, self->store->prefix, prefix) == 0;
    if (ours) {
        self->key.length -= prefix;
        memmove(self->key.bytes, self->key.bytes + prefix, self->key.length + 1);
        ours = strlen(self->key.bytes) == self->key.length && object_key_check(self->key.bytes, &ignored) == STATUS_OK;
    }
    text_builder_close(&name);
    text_builder_close(&plain);
    return ours && strcmp(self->key.bytes, HTTP_PROBE_KEY) != 0;
}

static void read_info(const struct listing *self, struct text entry, struct object_info *info)
{
    const struct http_listing *names = &self->store->protocol->listing;
    uint32_t trailer = self->store->protocol->trailer_bytes;
    struct text_builder etag = {0};
    struct text bytes = xml_find(entry, names->bytes), crc = xml_find(entry, "spatecrc32c");
    uint64_t total = bytes.length == 0 ? 0 : strtoull(bytes.bytes, NULL, 10);
    xml_append_text(&etag, xml_find(entry, names->etag));
    bool quoted = etag.length > 0 && etag.bytes[0] == '"'; /* Azure leaves the quotes out here */
    *info = (struct object_info){.modified_us = read_time(xml_find(entry, names->modified)), .has_crc32c = crc.length == 8};
    info->crc32c = info->has_crc32c ? (uint32_t)strtoul(crc.bytes, NULL, 16) : 0;
    if (total >= trailer && etag.length > 0) {
        info->bytes = total - trailer;
        snprintf(info->etag, sizeof info->etag, quoted ? "%.90s" : "\"%.90s\"", etag.bytes);
    }
    text_builder_close(&etag);
}

static enum status visit_entry(struct listing *self, struct text entry, struct error *err)
{
    struct text content, attributes, rest = entry;
    struct object_info info;
    if (!xml_next(&rest, self->store->protocol->listing.name, &content, &attributes) || !read_key(self, content, attributes) ||
        strncmp(self->key.bytes, self->prefix, strlen(self->prefix)) != 0 ||
        (self->after != NULL && strcmp(self->key.bytes, self->after) <= 0)) {
        return STATUS_OK;
    }
    read_info(self, entry, &info);
    return self->visit(self->context, self->key.bytes, &info, &self->stop, err);
}

static enum status list_page(struct listing *self, struct http_response *response, struct error *err)
{
    struct http_request request = {.method = "GET"};
    const char *token = self->token.length == 0 ? "" : self->token.bytes;
    enum object_result verdict;
    text_append_text(&request.path, self->store->root[0] == '\0' ? "/" : self->store->root);
    self->store->protocol->add_list_query(&request, self->service_prefix.bytes, self->service_after.bytes, token);
    enum status status = http_store_call(self->store, &request, response, self->prefix, &verdict, err);
    if (status == STATUS_OK && verdict != OBJECT_OK) {
        status = error_set(err, ERROR_STORE_UNAVAILABLE, "%s answers %ld to a listing", self->store->endpoint, response->status);
    }
    http_request_close(&request);
    return status;
}

static enum status list_pages(struct listing *self, struct http_response *response, struct error *err)
{
    const struct http_listing *names = &self->store->protocol->listing;
    do {
        struct text entry, attributes;
        TRY(list_page(self, response, err));
        struct text rest = {response->body.bytes, response->body.length};
        while (!self->stop && xml_next(&rest, names->entry, &entry, &attributes)) {
            TRY(visit_entry(self, entry, err));
        }
        text_builder_clear(&self->token);
        xml_append_text(&self->token, xml_find((struct text){response->body.bytes, response->body.length}, names->next));
    } while (!self->stop && self->token.length > 0);
    return STATUS_OK;
}

/* How a service's name goes on may change its last bytes (a '.' at the end of a part): these are left to visit_entry. */
static void append_prefix(const struct http_store *store, const char *prefix, struct text_builder *out)
{
    size_t length = strlen(prefix);
    while (length > 0 && prefix[length - 1] == '.') {
        length--;
    }
    char *cut = strndup(prefix, length);
    out->failed = out->failed || cut == NULL;
    if (cut != NULL) {
        store->protocol->encode_key(out, cut);
    }
    free(cut);
}

enum status http_store_list(struct object_store *base, const char *prefix, const char *after, object_visit visit, void *context,
                            struct error *err)
{
    struct http_store *store = (struct http_store *)base;
    struct listing self = {.store = store, .prefix = prefix, .after = after, .visit = visit, .context = context};
    struct http_response response = {0};
    store->protocol->encode_key(&self.service_prefix, store->prefix);
    append_prefix(store, prefix, &self.service_prefix);
    text_append_text(&self.service_prefix, ""); /* not NULL */
    if (after != NULL) {
        store->protocol->encode_key(&self.service_after, store->prefix);
        store->protocol->encode_key(&self.service_after, after);
    }
    text_append_text(&self.service_after, "");
    enum status status = self.service_prefix.failed || self.service_after.failed
                             ? error_set(err, ERROR_BUDGET_SPENT, "no room for a listing")
                             : list_pages(&self, &response, err);
    http_response_close(&response);
    text_builder_close(&self.key);
    text_builder_close(&self.token);
    text_builder_close(&self.service_prefix);
    text_builder_close(&self.service_after);
    return status;
}
