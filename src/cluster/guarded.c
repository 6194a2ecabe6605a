#include "cluster/guarded.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cluster/value.h"
#include "formats/text_values.h"
#include "storage/document.h"

enum { GUARDED_FORM = 1, ATTEMPTS = 100 };

/* A register's content. */
struct content {
    uint64_t fence;
    const char *nonce, *written; /* written NULL: there is no value */
    struct text bytes;
    bool absent; /* the register, not only its value */
    struct cluster_version version;
};

/* ---- the form ---- */

static enum status set_bytes(json_t *root, struct text bytes, struct error *err)
{
    bool plain = utf8_valid_length(bytes.bytes, bytes.length) == bytes.length && memchr(bytes.bytes, 0, bytes.length) == NULL;
    int failed = 0;
    if (plain) {
        failed = json_object_set_new(root, "text", json_stringn(bytes.bytes, bytes.length));
    } else {
        struct text_builder text = {0};
        text_append_base64(&text, bytes);
        failed = text.failed || json_object_set_new(root, "base64", json_stringn(text.bytes, text.length)) != 0;
        text_builder_close(&text);
    }
    return failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a guarded register") : STATUS_OK;
}

static enum status write_form(const struct content *content, struct arena *arena, struct text *value, struct error *err)
{
    struct text json;
    json_t *root = json_pack("{s:i, s:I, s:s}", "v", GUARDED_FORM, "fence", (json_int_t)content->fence, "nonce", content->nonce);
    enum status status = root == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a guarded register") : STATUS_OK;
    if (status == STATUS_OK && content->written != NULL) {
        json_object_set_new(root, "written", json_string(content->written));
        status = set_bytes(root, content->bytes, err);
    }
    if (status != STATUS_OK) {
        json_decref(root);
        return status;
    }
    TRY(document_write(root, arena, &json, err));
    return value_seal(json, arena, value, err);
}

static void take_bytes(struct document *document, struct content *content)
{
    const char *text = document_text(document, document->root, "text", DOCUMENT_OPTIONAL);
    const char *coded = document_text(document, document->root, "base64", DOCUMENT_OPTIONAL);
    content->bytes = text == NULL ? (struct text){"", 0} : text_from(text);
    if (coded != NULL) {
        size_t length = strlen(coded), bytes = 0;
        char *out = arena_alloc(document->arena, length / 4 * 3 + 1);
        if (out == NULL || !text_decode_base64((struct text){coded, length}, out, &bytes)) {
            document_complain(document, "base64", "is not in base 64");
        }
        content->bytes = (struct text){out, bytes};
    }
    if (content->written != NULL && text == NULL && coded == NULL) {
        document_complain(document, "text", "is missing");
    }
}

static enum status read_form(const char *name, struct text value, struct arena *arena, struct content *content, struct error *err)
{
    struct document document;
    struct text json;
    TRY(value_unseal(name, value, &json, err));
    TRY(document_open(name, json, GUARDED_FORM, arena, &document, err));
    content->fence = (uint64_t)document_int(&document, document.root, "fence", DOCUMENT_REQUIRED, 0);
    content->nonce = document_text(&document, document.root, "nonce", DOCUMENT_REQUIRED);
    content->written = document_text(&document, document.root, "written", DOCUMENT_OPTIONAL);
    take_bytes(&document, content);
    enum status status = document_status(&document);
    document_close(&document);
    return status;
}

/* ---- calls ---- */

static enum status fetch(const struct guarded *self, struct arena *arena, struct content *content, struct error *err)
{
    enum cluster_result result;
    struct cluster_value value;
    *content = (struct content){.nonce = ""};
    TRY(self->session->driver->get(self->session, self->name, arena, &result, &value, err));
    content->absent = result != CLUSTER_OK;
    if (content->absent) {
        return STATUS_OK;
    }
    content->version = value.version;
    return read_form(self->name, value.bytes, arena, content, err);
}

static enum status store(const struct guarded *self, struct arena *arena, const struct content *there, const struct content *next,
                         enum cluster_result *result, struct error *err)
{
    struct text bytes;
    struct cluster_version version;
    TRY(write_form(next, arena, &bytes, err));
    return self->session->driver->put(self->session, self->name, bytes, there->absent ? NULL : &there->version, result, &version, err);
}

static void give(const struct content *content, enum guarded_result *result, struct guarded_value *value)
{
    *result = content->written == NULL ? GUARDED_ABSENT : GUARDED_OK;
    *value = (struct guarded_value){content->fence, content->bytes};
}

enum status guarded_look(const struct guarded *self, struct arena *arena, enum guarded_result *result, struct guarded_value *value,
                         struct error *err)
{
    struct content content;
    TRY(fetch(self, arena, &content, err));
    give(&content, result, value);
    return STATUS_OK;
}

static enum status too_busy(const struct guarded *self, struct error *err)
{
    return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the register '%s' was changed by others each of %d times that it was tried",
                     self->name, ATTEMPTS);
}

enum status guarded_read(const struct guarded *self, uint64_t fence, struct arena *arena, enum guarded_result *result,
                         struct guarded_value *value, struct error *err)
{
    char nonce[RANDOM_NAME_BYTES];
    enum cluster_result put;
    random_name(self->random, nonce);
    for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct content there;
        TRY(fetch(self, arena, &there, err));
        if (there.fence > fence) {
            *result = GUARDED_OUTDATED;
            return STATUS_OK;
        }
        struct content next = there;
        next.fence = fence;
        next.nonce = nonce;
        put = CLUSTER_OK;
        if (strcmp(there.nonce, nonce) != 0) { /* else: written by a try whose answer was lost */
            TRY(store(self, arena, &there, &next, &put, err));
        }
        if (put == CLUSTER_OK) {
            give(&there, result, value);
            value->fence = fence;
            return STATUS_OK;
        }
    }
    return too_busy(self, err);
}

/* One try. *done: result is set. *lost: an answer was lost, in this try or before. */
static enum status try_update(const struct guarded *self, const struct content *next, struct arena *arena, bool *lost, bool *done,
                              enum guarded_result *result, struct error *err)
{
    struct content there;
    enum cluster_result put;
    *done = true;
    TRY(fetch(self, arena, &there, err));
    if (*lost && there.written != NULL && strcmp(there.written, next->written) == 0) {
        *result = GUARDED_OK;
        return STATUS_OK;
    }
    if (there.fence > next->fence) {
        *result = *lost ? GUARDED_UNKNOWN : GUARDED_OUTDATED;
        return STATUS_OK;
    }
    TRY(store(self, arena, &there, next, &put, err));
    *lost = *lost || put == CLUSTER_UNKNOWN;
    *done = put == CLUSTER_OK;
    *result = GUARDED_OK;
    return STATUS_OK;
}

enum status guarded_update(const struct guarded *self, uint64_t fence, struct text value, enum guarded_result *result, struct error *err)
{
    char nonce[RANDOM_NAME_BYTES];
    struct budget budget;
    struct arena *arena;
    bool lost = false, done = false;
    enum status status = STATUS_OK;
    random_name(self->random, nonce);
    const struct content next = {.fence = fence, .nonce = nonce, .written = nonce, .bytes = value};
    budget_init(&budget, NULL, "a guarded register", BUDGET_UNLIMITED);
    TRY_ALLOC(arena, arena_create(&budget, "a guarded register"), err);
    for (uint32_t attempt = 0; attempt < ATTEMPTS && status == STATUS_OK && !done; attempt++) {
        arena_reset(arena);
        status = try_update(self, &next, arena, &lost, &done, result, err);
    }
    arena_destroy(arena);
    if (status == STATUS_OK && !done) {
        status = too_busy(self, err);
    }
    if (status != STATUS_OK && lost) {
        *result = GUARDED_UNKNOWN; /* an error now says nothing of what was sent before */
        return STATUS_OK;
    }
    return status;
}
