#include "storage/document.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum status document_open(const char *name, struct text text, int64_t version, struct arena *arena, struct document *document,
                          struct error *err)
{
    json_error_t problem;
    *document = (struct document){.name = name, .arena = arena, .err = err};
    document->root = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, &problem);
    if (document->root == NULL) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is not a JSON document: %s at byte %d", name, problem.text, problem.position);
    }
    const json_t *v = json_object_get(document->root, "v");
    enum status status = STATUS_OK;
    if (!json_is_integer(v)) {
        status = error_set(err, ERROR_STORE_CORRUPT, "'%s' is no document of ours: it has no \"v\"", name);
    } else if (json_integer_value(v) > version) {
        status = error_set(err, ERROR_STORE_UNABLE,
                           "'%s' was written by a newer Spate (form %" JSON_INTEGER_FORMAT "; this one knows %" PRId64 ")", name,
                           json_integer_value(v), version);
    }
    if (status != STATUS_OK) {
        document_close(document);
    }
    return status;
}

void document_close(struct document *document)
{
    json_decref(document->root);
    document->root = NULL;
}

enum status document_status(const struct document *document)
{
    return document->failed ? document->err->status : STATUS_OK;
}

void document_complain(struct document *document, const char *member, const char *what)
{
    if (!document->failed) {
        document->failed = true;
        (void)error_set(document->err, ERROR_STORE_CORRUPT, "'%s' is wrong: \"%s\" %s", document->name, member, what);
    }
}

static bool is_absent(struct document *document, const json_t *value, const char *member, int required)
{
    if (value != NULL && !json_is_null(value)) {
        return false;
    }
    if (required != 0) {
        document_complain(document, member, "is missing");
    }
    return true;
}

static char *keep(struct document *document, const char *bytes, size_t length)
{
    char *copy = arena_text(document->arena, bytes, length);
    if (copy == NULL && !document->failed) {
        document->failed = true;
        (void)error_set(document->err, ERROR_BUDGET_SPENT, "no room for '%s'", document->name);
    }
    return copy;
}

const char *document_text(struct document *document, const json_t *object, const char *member, int required)
{
    const json_t *value = json_object_get(object, member);
    if (is_absent(document, value, member, required)) {
        return NULL;
    }
    if (!json_is_string(value)) {
        document_complain(document, member, "is not a text");
        return NULL;
    }
    return keep(document, json_string_value(value), json_string_length(value));
}

int64_t document_int(struct document *document, const json_t *object, const char *member, int required, int64_t absent)
{
    const json_t *value = json_object_get(object, member);
    if (is_absent(document, value, member, required)) {
        return absent;
    }
    if (!json_is_integer(value)) {
        document_complain(document, member, "is not a whole number");
        return absent;
    }
    return json_integer_value(value);
}

const json_t *document_member(struct document *document, const json_t *object, const char *member, json_type type, int required)
{
    const json_t *value = json_object_get(object, member);
    if (is_absent(document, value, member, required)) {
        return NULL;
    }
    if (json_typeof(value) != type) {
        document_complain(document, member, type == JSON_ARRAY ? "is not an array" : "is not an object");
        return NULL;
    }
    return value;
}

const char *document_json(struct document *document, const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    if (value == NULL || json_is_null(value)) {
        return NULL;
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *kept = text == NULL ? NULL : keep(document, text, strlen(text));
    free(text);
    return kept;
}

enum status document_set_json(json_t *object, const char *member, const char *text, struct error *err)
{
    json_error_t problem;
    if (text == NULL) {
        (void)json_object_del(object, member);
        return STATUS_OK;
    }
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &problem);
    if (value == NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "\"%s\" is not JSON: %s at byte %d of '%.60s'", member, problem.text, problem.position,
                         text);
    }
    return json_object_set_new(object, member, value) == 0 ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for \"%s\"", member);
}

enum status document_write(json_t *take, struct arena *arena, struct text *text, struct error *err)
{
    char *bytes = take == NULL ? NULL : json_dumps(take, JSON_COMPACT);
    json_decref(take);
    if (bytes == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "a document cannot be made: no room, or a text that is not UTF-8");
    }
    text->length = strlen(bytes);
    text->bytes = arena_text(arena, bytes, text->length);
    free(bytes);
    return text->bytes == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a document") : STATUS_OK;
}
