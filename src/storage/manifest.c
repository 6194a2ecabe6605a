#include "storage/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *file_write(const struct checkpoint_file *file)
{
    char crc[9];
    snprintf(crc, sizeof crc, "%08" PRIx32, file->crc32c);
    return json_pack("{s:s, s:I, s:s, s:s, s:I, s:s*}", "key", file->key, "size", (json_int_t)file->bytes, "crc32c", crc, "sha256",
                     file->sha256, "rows", (json_int_t)file->rows, "name", file->name);
}

static enum status table_write(const struct checkpoint_table *table, json_t *tables, struct error *err)
{
    json_t *object = json_pack("{s:s, s:s}", "name", table->name, "kind", table->kind), *files = json_array();
    enum status status = STATUS_OK;
    if (table->schema != NULL) {
        status = document_set_json(object, "schema", table->schema, err);
    }
    for (uint32_t i = 0; i < table->file_count; i++) {
        json_array_append_new(files, file_write(&table->files[i])); /* NOLINT: a failure leaves a shorter array, found below */
    }
    bool whole = json_array_size(files) == table->file_count;
    if (json_object_set_new(object, "files", files) != 0 || json_array_append_new(tables, object) != 0 || !whole) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the manifest's table '%s'", table->name);
    }
    return status;
}

static enum status members_write(const struct checkpoint_manifest *manifest, json_t *object, struct error *err)
{
    const struct {
        const char *name, *text;
    } members[] = {{"timers", manifest->timers}, {"inputs", manifest->inputs}, {"outputs", manifest->outputs}, {"extra", manifest->extra}};
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        if (members[i].text != NULL) {
            TRY(document_set_json(object, members[i].name, members[i].text, err));
        }
    }
    return STATUS_OK;
}

enum status manifest_write(const struct checkpoint_manifest *manifest, json_t **object, struct error *err)
{
    json_t *tables = json_array();
    enum status status = STATUS_OK;
    *object = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:[i, i], s:o?, s:O, s:I, s:o?, s:s*}", "v", 1, "job", manifest->job,
                        "task", manifest->task, "inc", manifest->incarnation, "created_us", (json_int_t)manifest->created_us, "epoch",
                        (json_int_t)manifest->epoch, "seq", (json_int_t)manifest->seq, "plan", (json_int_t)manifest->plan, "key_groups",
                        (int)manifest->key_groups[0], (int)manifest->key_groups[1], "base",
                        manifest->base < 0 ? NULL : json_integer(manifest->base), "tables", tables, "ctl_rank",
                        (json_int_t)manifest->ctl_rank, "watermark_ms",
                        manifest->watermark_ms == INT64_MIN ? NULL : json_integer(manifest->watermark_ms), "build", manifest->build);
    if (*object == NULL) {
        status = error_set(err, ERROR_INVALID_OPTION, "a manifest cannot be written: a name in it is missing or not UTF-8");
    }
    for (uint32_t i = 0; i < manifest->table_count && status == STATUS_OK; i++) {
        status = table_write(&manifest->tables[i], tables, err);
    }
    if (status == STATUS_OK) {
        status = members_write(manifest, *object, err);
    }
    json_decref(tables);
    if (status != STATUS_OK) {
        json_decref(*object);
        *object = NULL;
    }
    return status;
}

/* ---- reading ---- */

static uint64_t read_count(struct document *document, const json_t *object, const char *member)
{
    int64_t value = document_int(document, object, member, DOCUMENT_REQUIRED, 0);
    if (value < 0) {
        document_complain(document, member, "is negative");
    }
    return (uint64_t)value;
}

static uint32_t read_crc(struct document *document, const json_t *object)
{
    const char *text = document_text(document, object, "crc32c", DOCUMENT_REQUIRED);
    char *end = NULL;
    unsigned long value = text == NULL ? 0 : strtoul(text, &end, 16);
    if (text != NULL && (strlen(text) != 8 || *end != '\0')) {
        document_complain(document, "crc32c", "is not eight hexadecimal digits");
    }
    return (uint32_t)value;
}

static void *read_array(struct document *document, const json_t *array, size_t element_bytes)
{
    void *room = arena_alloc(document->arena, (json_array_size(array) + 1) * element_bytes);
    if (room == NULL && !document->failed) {
        document->failed = true;
        (void)error_set(document->err, ERROR_BUDGET_SPENT, "no room for '%s'", document->name);
    }
    return room;
}

static void table_read(struct document *document, const json_t *object, struct checkpoint_table *table)
{
    table->name = document_text(document, object, "name", DOCUMENT_REQUIRED);
    table->kind = document_text(document, object, "kind", DOCUMENT_REQUIRED);
    table->schema = document_json(document, object, "schema");
    const json_t *files = document_member(document, object, "files", JSON_ARRAY, DOCUMENT_REQUIRED);
    struct checkpoint_file *list = read_array(document, files, sizeof *list);
    table->files = list;
    table->file_count = list == NULL ? 0 : (uint32_t)json_array_size(files);
    for (uint32_t i = 0; i < table->file_count; i++) {
        const json_t *file = json_array_get(files, i);
        list[i].key = document_text(document, file, "key", DOCUMENT_REQUIRED);
        list[i].sha256 = document_text(document, file, "sha256", DOCUMENT_REQUIRED);
        list[i].name = document_text(document, file, "name", DOCUMENT_OPTIONAL);
        list[i].bytes = read_count(document, file, "size");
        list[i].rows = read_count(document, file, "rows");
        list[i].crc32c = read_crc(document, file);
        if (list[i].sha256 != NULL && strlen(list[i].sha256) != 64) {
            document_complain(document, "sha256", "is not 64 hexadecimal digits");
        }
    }
}

static void tables_read(struct document *document, const json_t *object, struct checkpoint_manifest *manifest)
{
    const json_t *tables = document_member(document, object, "tables", JSON_ARRAY, DOCUMENT_REQUIRED);
    struct checkpoint_table *list = read_array(document, tables, sizeof *list);
    manifest->tables = list;
    manifest->table_count = list == NULL ? 0 : (uint32_t)json_array_size(tables);
    for (uint32_t i = 0; i < manifest->table_count; i++) {
        table_read(document, json_array_get(tables, i), &list[i]);
    }
}

static void key_groups_read(struct document *document, const json_t *object, struct checkpoint_manifest *manifest)
{
    const json_t *groups = document_member(document, object, "key_groups", JSON_ARRAY, DOCUMENT_REQUIRED);
    for (uint32_t i = 0; i < 2 && groups != NULL; i++) {
        const json_t *group = json_array_get(groups, i);
        if (!json_is_integer(group) || json_integer_value(group) < 0 || json_integer_value(group) > INT32_MAX) {
            document_complain(document, "key_groups", "is not a first and a last group");
            return;
        }
        manifest->key_groups[i] = (uint32_t)json_integer_value(group);
    }
}

void manifest_read(struct document *document, const json_t *object, struct checkpoint_manifest *manifest)
{
    *manifest = (struct checkpoint_manifest){
        .job = document_text(document, object, "job", DOCUMENT_REQUIRED),
        .task = document_text(document, object, "task", DOCUMENT_REQUIRED),
        .incarnation = document_text(document, object, "inc", DOCUMENT_REQUIRED),
        .created_us = document_int(document, object, "created_us", DOCUMENT_REQUIRED, 0),
        .seq = read_count(document, object, "seq"),
        .epoch = read_count(document, object, "epoch"),
        .plan = document_int(document, object, "plan", DOCUMENT_REQUIRED, 0),
        .base = document_int(document, object, "base", DOCUMENT_OPTIONAL, -1),
        .ctl_rank = document_int(document, object, "ctl_rank", DOCUMENT_REQUIRED, 0),
        .watermark_ms = document_int(document, object, "watermark_ms", DOCUMENT_OPTIONAL, INT64_MIN),
        .timers = document_json(document, object, "timers"),
        .inputs = document_json(document, object, "inputs"),
        .outputs = document_json(document, object, "outputs"),
        .extra = document_json(document, object, "extra"),
        .build = document_text(document, object, "build", DOCUMENT_OPTIONAL),
    };
    key_groups_read(document, object, manifest);
    tables_read(document, object, manifest);
}
