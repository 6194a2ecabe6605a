#include "state/cold_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "data/value_codec.h"

void cold_append_prefix(const char *operator_id, struct text_builder *out)
{
    uint64_t hash = hash_bytes(operator_id, strlen(operator_id));
    hash = hash == 0 ? 1 : hash; /* zero: what the database holds */
    text_append(out, (const char *)&hash, sizeof hash);
}

void cold_append_key(const struct cold_layout *layout, struct text scope, const struct batch *batch, const uint32_t *columns, uint32_t row,
                     struct text_builder *out)
{
    uint32_t key_count = layout->key_count - layout->scope_count;
    cold_append_prefix(layout->operator_id, out);
    if (scope.length > 0) {
        text_append(out, scope.bytes, scope.length);
    }
    for (uint32_t i = 0; i < key_count; i++) {
        value_encode(&batch->columns[columns[i]], row, out);
    }
    text_append_char(out, (char)layout->tag);
    for (uint32_t i = key_count; i < key_count + layout->more_count; i++) {
        value_encode(&batch->columns[columns[i]], row, out);
    }
}

void cold_append_value(const struct cold_layout *layout, const struct batch *batch, uint32_t row, struct text_builder *out)
{
    for (uint32_t i = 0; i < layout->value_count; i++) {
        value_encode(&batch->columns[layout->values[i]], row, out);
    }
}

static enum status corrupt(const struct cold_layout *layout, struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "a unit of table '%s' of operator %s in the database of state is damaged",
                     layout->table->name, layout->operator_id);
}

static const uint8_t *check_columns(const struct cold_layout *layout, const uint32_t *columns, uint32_t count, const uint8_t *at,
                                    const uint8_t *end)
{
    for (uint32_t i = 0; i < count && at != NULL; i++) {
        at = value_check(layout->types[columns[i]], at, end);
    }
    return at;
}

static enum status check_key(const struct cold_layout *layout, struct text key, struct error *err)
{
    const uint8_t *at = (const uint8_t *)key.bytes, *end = at + key.length;
    at = key.length < COLD_PREFIX_BYTES ? NULL : check_columns(layout, layout->keys, layout->key_count, at + COLD_PREFIX_BYTES, end);
    at = at == NULL || at == end || *at != layout->tag ? NULL : check_columns(layout, layout->more, layout->more_count, at + 1, end);
    return at == end ? STATUS_OK : corrupt(layout, err);
}

enum status cold_key_is_of(const struct cold_layout *layout, struct text key, bool *is, struct error *err)
{
    const uint8_t *at = (const uint8_t *)key.bytes, *end = at + key.length;
    at = key.length < COLD_PREFIX_BYTES ? NULL : check_columns(layout, layout->keys, layout->key_count, at + COLD_PREFIX_BYTES, end);
    if (at == NULL || at == end) {
        return corrupt(layout, err);
    }
    *is = *at == layout->tag;
    return STATUS_OK;
}

static enum status keep(struct cold_rows *rows, struct text text, size_t *at, struct error *err)
{
    *at = rows->bytes.length;
    text_append(&rows->bytes, text.bytes, text.length);
    return rows->bytes.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for rows of state") : STATUS_OK;
}

enum status cold_rows_add(struct cold_rows *rows, struct text key, struct text value, int64_t record, struct error *err)
{
    const struct cold_layout *layout = rows->layout;
    const uint8_t *at = (const uint8_t *)value.bytes, *end = at + value.length;
    TRY(check_key(layout, key, err));
    size_t key_at = SIZE_MAX;
    while (at < end) {
        const uint8_t *next = check_columns(layout, layout->values, layout->value_count, at, end);
        if (next == NULL) {
            return corrupt(layout, err);
        }
        if (rows->count == CHUNK_ROWS) {
            TRY(cold_rows_flush(rows, err));
            key_at = SIZE_MAX;
        }
        if (key_at == SIZE_MAX) {
            TRY(keep(rows, key, &key_at, err));
        }
        rows->key_at[rows->count] = key_at;
        rows->records[rows->count] = record;
        TRY(keep(rows, (struct text){(const char *)at, (size_t)(next - at)}, &rows->value_at[rows->count], err));
        rows->count++;
        at = next;
    }
    return STATUS_OK;
}

static enum status decode(struct cold_rows *rows, const uint32_t *columns, uint32_t count, struct batch *batch, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        vector_release(&batch->columns[columns[i]]); /* a column may be a key twice */
        TRY(value_decode_column(rows->budget, rows->layout->types[columns[i]], rows->cursors, rows->count, &batch->columns[columns[i]],
                                err));
    }
    return STATUS_OK;
}

static enum status decode_all(struct cold_rows *rows, struct batch *batch, struct error *err)
{
    const struct cold_layout *layout = rows->layout;
    const uint8_t *bytes = (const uint8_t *)rows->bytes.bytes;
    for (uint32_t k = 0; k < rows->count; k++) {
        rows->cursors[k] = bytes + rows->key_at[k] + COLD_PREFIX_BYTES;
    }
    TRY(decode(rows, layout->keys, layout->key_count, batch, err));
    for (uint32_t k = 0; k < rows->count; k++) {
        rows->cursors[k]++; /* the tag */
    }
    TRY(decode(rows, layout->more, layout->more_count, batch, err));
    for (uint32_t k = 0; k < rows->count; k++) {
        rows->cursors[k] = bytes + rows->value_at[k];
    }
    TRY(decode(rows, layout->values, layout->value_count, batch, err));
    if (layout->record >= 0) {
        struct vector *record = &batch->columns[layout->record];
        TRY(vector_create(rows->budget, &type_bigint_not_null, rows->count, record, err));
        memcpy(record->values, rows->records, rows->count * sizeof *rows->records);
    }
    return STATUS_OK;
}

enum status cold_rows_flush(struct cold_rows *rows, struct error *err)
{
    if (rows->count == 0) {
        return STATUS_OK;
    }
    struct batch batch = {0};
    TRY(batch_init(&batch, rows->layout->column_count, err));
    batch.count = rows->count;
    enum status status = decode_all(rows, &batch, err);
    if (status == STATUS_OK) {
        status = rows->take(rows->context, rows->layout, &batch, rows->records, err);
    }
    batch_release(&batch);
    rows->count = 0;
    text_builder_clear(&rows->bytes);
    return status;
}

/* The name's own prefix: beside those of operators. */
static void append_note_key(const char *operator_id, const char *name, struct text_builder *out)
{
    char full[256];
    snprintf(full, sizeof full, "%s#%s", operator_id, name);
    cold_append_prefix(full, out);
}

enum status cold_read_note(struct cold_db *db, const char *operator_id, const char *name, struct text_builder *bytes, struct error *err)
{
    struct text_builder key = {0};
    struct cold_values values = {0};
    append_note_key(operator_id, name, &key);
    const struct text wanted = {key.bytes, key.length};
    enum status status = key.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a note of state")
                                    : db->driver->get(db, &wanted, 1, &values, err);
    if (status == STATUS_OK && values.values[0].bytes != NULL) {
        text_append(bytes, values.values[0].bytes, values.values[0].length);
    }
    db->driver->release(db, &values);
    text_builder_close(&key);
    return status;
}

enum status cold_write_note(struct cold_db *db, const char *operator_id, const char *name, struct text bytes, struct error *err)
{
    struct text_builder key = {0};
    append_note_key(operator_id, name, &key);
    const struct cold_write write = {{key.bytes, key.length}, {bytes.bytes == NULL ? "" : bytes.bytes, bytes.length}};
    enum status status = key.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a note of state")
                                    : db->driver->write(db, &write, 1, err);
    text_builder_close(&key);
    return status;
}

void cold_rows_close(struct cold_rows *rows)
{
    text_builder_close(&rows->bytes);
    rows->count = 0;
}
