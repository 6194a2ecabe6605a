#include "storage/checkpoint_extra.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/document.h"

static bool read_flag(struct document *document, const char *member)
{
    const json_t *value = json_object_get(document->root, member);
    if (value != NULL && !json_is_boolean(value)) {
        document_complain(document, member, "is neither true nor false");
    }
    return json_is_true(value);
}

static uint64_t read_number(struct document *document, const char *member, uint64_t most)
{
    int64_t value = document_int(document, document->root, member, DOCUMENT_OPTIONAL, 0);
    if (value < 0 || (uint64_t)value > most) {
        document_complain(document, member, "is a number that cannot be");
        return 0;
    }
    return (uint64_t)value;
}

/* 16 hexadecimal digits. */
static uint64_t read_identity(struct document *document, const char *member)
{
    const char *text = document_text(document, document->root, member, DOCUMENT_OPTIONAL);
    if (text != NULL && (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)) {
        document_complain(document, member, "is not 16 hexadecimal digits");
        return 0;
    }
    return text == NULL ? 0 : strtoull(text, NULL, 16);
}

enum status checkpoint_extra_read(const struct checkpoint_manifest *manifest, struct arena *arena, struct checkpoint_extra *extra,
                                  struct error *err)
{
    char name[64];
    struct document document = {.name = name, .arena = arena, .err = err};
    *extra = (struct checkpoint_extra){0};
    if (manifest->extra == NULL) {
        return STATUS_OK;
    }
    snprintf(name, sizeof name, "\"extra\" of checkpoint %" PRIu64, manifest->seq);
    document.root = json_loads(manifest->extra, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(document.root)) {
        document_close(&document);
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is no JSON object", name);
    }
    *extra = (struct checkpoint_extra){.ended = read_flag(&document, "ended"),
                                       .policy = document_text(&document, document.root, "policy", DOCUMENT_OPTIONAL),
                                       .lineage = (uint32_t)read_number(&document, "lineage", UINT32_MAX),
                                       .workers = (uint32_t)read_number(&document, "workers", UINT32_MAX),
                                       .ticks = read_number(&document, "ticks", INT64_MAX),
                                       .edits = read_number(&document, "ctl_rank", INT64_MAX),
                                       .databases = read_identity(&document, "databases"),
                                       .counted = read_number(&document, "counted", INT64_MAX)};
    document_close(&document);
    return document_status(&document);
}

enum status checkpoint_extra_write(const struct checkpoint_extra *extra, struct arena *arena, const char **text, struct error *err)
{
    char databases[17];
    struct text written;
    snprintf(databases, sizeof databases, "%016" PRIx64, extra->databases);
    json_t *object = json_pack("{s:s, s:b, s:I, s:s*, s:I, s:I}", "databases", databases, "ended", (int)extra->ended, "lineage",
                               (json_int_t)extra->lineage, "policy", extra->policy, "ticks", (json_int_t)extra->ticks, "workers",
                               (json_int_t)extra->workers);
    if (extra->edits != 0) {
        json_object_set_new(object, "ctl_rank", json_integer((json_int_t)extra->edits));
    }
    if (extra->counted != 0) {
        json_object_set_new(object, "counted", json_integer((json_int_t)extra->counted));
    }
    TRY(document_write(object, arena, &written, err));
    *text = written.bytes;
    return STATUS_OK;
}
