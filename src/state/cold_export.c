/* What a database says about itself, and all that it holds as rows. A table's record: struct record_head, the numbers of the columns (keys, more,
 * values), operator id and table name, each with its NUL, then a line per column: name, tab, type. */
#include <stdlib.h>
#include <string.h>

#include "data/value_codec.h"
#include "sql/binder.h"
#include "sql/parser.h"
#include "state/cold_rows.h"

enum { TABLES_MAX = 256, COLUMNS_MAX = 8192 };

struct record_head {
    uint64_t units;
    uint32_t table_columns, column_count, key_count, more_count, value_count;
    int32_t record;
};

static void append_record_key(const struct cold_layout *layout, struct text_builder *out)
{
    static const char zeros[COLD_PREFIX_BYTES];
    text_append(out, zeros, sizeof zeros);
    cold_append_prefix(layout->operator_id, out);
    text_append_char(out, (char)layout->tag);
}

static void append_record(const struct cold_layout *layout, uint64_t units, struct text_builder *out)
{
    const struct schema *schema = layout->table->schema;
    const struct record_head head = {
        units, schema->count, layout->column_count, layout->key_count, layout->more_count, layout->value_count, layout->record};
    text_append(out, (const char *)&head, sizeof head);
    text_append(out, (const char *)layout->keys, layout->key_count * sizeof(uint32_t));
    text_append(out, (const char *)layout->more, layout->more_count * sizeof(uint32_t));
    text_append(out, (const char *)layout->values, layout->value_count * sizeof(uint32_t));
    text_append(out, layout->operator_id, strlen(layout->operator_id) + 1);
    text_append(out, layout->table->name, strlen(layout->table->name) + 1);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        text_append_format(out, "%s\t", i < schema->count ? schema->columns[i].name : "key");
        type_print(layout->types[i], out);
        text_append_char(out, '\n');
    }
}

enum status cold_read_count(struct cold_db *db, const struct cold_layout *layout, uint64_t *units, struct error *err)
{
    struct text_builder key = {0}, expected = {0};
    struct cold_values values = {0};
    append_record_key(layout, &key);
    append_record(layout, 0, &expected);
    *units = 0;
    if (key.failed || expected.failed) {
        text_builder_close(&key);
        text_builder_close(&expected);
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for the state of an operator");
    }
    const struct text name = {key.bytes, key.length};
    enum status status = db->driver->get(db, &name, 1, &values, err);
    struct text found = status == STATUS_OK ? values.values[0] : (struct text){0};
    if (status == STATUS_OK && found.bytes != NULL) {
        size_t skip = sizeof(uint64_t);
        if (found.length == expected.length && memcmp(found.bytes + skip, expected.bytes + skip, found.length - skip) == 0) {
            memcpy(units, found.bytes, sizeof *units);
        } else {
            status = error_set(err, ERROR_STATE_MISFIT, "table '%s' of operator %s has other columns in the database of state",
                               layout->table->name, layout->operator_id);
        }
    }
    db->driver->release(db, &values);
    text_builder_close(&key);
    text_builder_close(&expected);
    return status;
}

enum status cold_write_count(struct cold_db *db, const struct cold_layout *layout, uint64_t units, struct error *err)
{
    struct text_builder key = {0}, value = {0};
    append_record_key(layout, &key);
    append_record(layout, units, &value);
    const struct cold_write record = {{key.bytes, key.length}, {value.bytes, value.length}};
    enum status status = key.failed || value.failed
                             ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for the state of an operator")
                             : db->driver->write(db, &record, 1, err);
    text_builder_close(&key);
    text_builder_close(&value);
    return status;
}

/* ---- all rows ---- */

struct export_table {
    struct cold_layout layout;
    struct snapshot_table declared;
    struct cold_rows *rows;
    uint64_t units, written; /* added; given to the writer */
};
struct cold_exporter {
    struct cold_db *db;
    struct snapshot_writer *writer;
    struct budget *budget;
    struct arena *arena;
    const char *only; /* operator */
    struct export_table *tables[TABLES_MAX];
    uint32_t count, first, end; /* of all; those of the operator at hand */
    struct text_builder key;    /* of the last unit of tag 0, without what follows its columns */
    uint64_t ids[CHUNK_ROWS];
    enum status status;
    struct error *err;
};

static enum status damaged(struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "the database of state describes a table in a way that cannot be");
}

static enum status read_type(struct cold_exporter *self, struct export_table *table, uint32_t index, const char **at, const char *end,
                             struct column *column, struct error *err)
{
    const char *line_end = memchr(*at, '\n', (size_t)(end - *at));
    const char *tab = line_end == NULL ? NULL : memchr(*at, '\t', (size_t)(line_end - *at));
    const struct ast_type *ast;
    if (tab == NULL) {
        return damaged(err);
    }
    TRY_ALLOC(column->name, text_to_arena(self->arena, (struct text){*at, (size_t)(tab - *at)}), err);
    const char *type = text_to_arena(self->arena, (struct text){tab + 1, (size_t)(line_end - tab - 1)});
    TRY_ALLOC(type, type, err);
    TRY(sql_parse_type(self->arena, text_from(type), &ast, err));
    TRY(bind_type(self->arena, ast, &column->type, err));
    ((const struct type **)(uintptr_t)table->layout.types)[index] = column->type;
    *at = line_end + 1;
    return STATUS_OK;
}

static bool columns_are_there(const uint32_t *columns, uint32_t count, uint32_t limit)
{
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i] >= limit) {
            return false;
        }
    }
    return true;
}

/* Names and types, from where the numbers of the columns end. */
static enum status read_names(struct cold_exporter *self, struct export_table *table, const struct record_head *head, const char *at,
                              const char *end, struct error *err)
{
    const char *operator_end = memchr(at, 0, (size_t)(end - at));
    const char *table_end = operator_end == NULL ? NULL : memchr(operator_end + 1, 0, (size_t)(end - operator_end - 1));
    if (table_end == NULL) {
        return damaged(err);
    }
    TRY_ALLOC(table->layout.operator_id, text_to_arena(self->arena, text_from(at)), err);
    TRY_ALLOC(table->declared.name, text_to_arena(self->arena, text_from(operator_end + 1)), err);
    struct column *columns;
    struct schema *schema;
    const struct type **types;
    TRY_ALLOC(columns, arena_alloc(self->arena, (head->column_count + 1) * sizeof *columns), err);
    TRY_ALLOC(types, arena_alloc(self->arena, (head->column_count + 1) * sizeof *types), err);
    TRY_ALLOC(schema, arena_alloc(self->arena, sizeof *schema), err);
    *schema = (struct schema){head->table_columns, columns};
    table->declared.schema = schema;
    table->declared.expiry = -1;
    table->layout.types = types;
    at = table_end + 1;
    for (uint32_t i = 0; i < head->column_count; i++) {
        TRY(read_type(self, table, i, &at, end, &columns[i], err));
    }
    return STATUS_OK;
}

static enum status read_record(struct cold_exporter *self, struct text key, struct text value, struct error *err)
{
    struct record_head head;
    if (self->count == TABLES_MAX || key.length != 2 * COLD_PREFIX_BYTES + 1 || value.length < sizeof head) {
        return damaged(err);
    }
    memcpy(&head, value.bytes, sizeof head);
    uint64_t numbers = (uint64_t)head.key_count + head.more_count + head.value_count;
    if (numbers > COLUMNS_MAX || head.column_count > COLUMNS_MAX || head.table_columns > head.column_count ||
        value.length - sizeof head < numbers * sizeof(uint32_t)) {
        return damaged(err);
    }
    struct export_table *table;
    uint32_t *columns;
    TRY_ALLOC(table, arena_alloc(self->arena, sizeof *table), err);
    TRY_ALLOC(columns, arena_alloc(self->arena, (numbers + 1) * sizeof *columns), err);
    memcpy(columns, value.bytes + sizeof head, numbers * sizeof *columns);
    if (!columns_are_there(columns, (uint32_t)numbers, head.column_count) || head.record >= (int32_t)head.table_columns) {
        return damaged(err);
    }
    table->layout = (struct cold_layout){.table = &table->declared,
                                         .column_count = head.column_count,
                                         .keys = columns,
                                         .key_count = head.key_count,
                                         .more = columns + head.key_count,
                                         .more_count = head.more_count,
                                         .values = columns + head.key_count + head.more_count,
                                         .value_count = head.value_count,
                                         .record = head.record,
                                         .tag = (uint8_t)key.bytes[2 * COLD_PREFIX_BYTES]};
    TRY(read_names(self, table, &head, value.bytes + sizeof head + numbers * sizeof(uint32_t), value.bytes + value.length, err));
    if (self->only == NULL || strcmp(self->only, table->layout.operator_id) == 0) {
        self->tables[self->count++] = table;
    }
    return STATUS_OK;
}

static bool visit_record(void *context, struct text key, struct text value)
{
    struct cold_exporter *self = context;
    self->status = read_record(self, key, value, self->err);
    return self->status == STATUS_OK;
}

static enum status write_rows(void *context, const struct cold_layout *layout, struct batch *batch, const int64_t *records,
                              struct error *err)
{
    (void)records;
    struct cold_exporter *self = context;
    uint32_t at = self->first;
    while (&self->tables[at]->layout != layout) {
        at++;
    }
    struct export_table *table = self->tables[at];
    if (table->layout.record >= 0) { /* after the rows that they refer to */
        TRY(cold_rows_flush(self->tables[self->first]->rows, err));
    }
    for (uint32_t k = 0; k < batch->count; k++) {
        self->ids[k] = ++table->written;
    }
    struct batch declared = *batch;
    declared.column_count = table->declared.schema->count;
    return snapshot_write(self->writer, at - self->first, self->ids, &declared, err);
}

/* The table that a unit is of, and where in its key the columns end; all tables of an operator have the same keys. NULL: none. */
static struct export_table *table_of(const struct cold_exporter *self, struct text key, size_t *columns_end)
{
    const struct cold_layout *layout = &self->tables[self->first]->layout;
    const uint8_t *at = (const uint8_t *)key.bytes + COLD_PREFIX_BYTES, *end = (const uint8_t *)key.bytes + key.length;
    for (uint32_t i = 0; i < layout->key_count && at != NULL; i++) {
        at = value_check(layout->types[layout->keys[i]], at, end);
    }
    if (at == NULL || at == end) {
        return NULL;
    }
    *columns_end = (size_t)(at - (const uint8_t *)key.bytes);
    for (uint32_t i = self->first; i < self->end; i++) {
        if (self->tables[i]->layout.tag == *at) {
            return self->tables[i];
        }
    }
    return NULL;
}

static enum status export_unit(struct cold_exporter *self, struct text key, struct text value, struct error *err)
{
    size_t columns_end = 0;
    struct export_table *table = table_of(self, key, &columns_end);
    if (table == NULL) {
        return damaged(err);
    }
    struct export_table *first = self->tables[self->first];
    bool refers = table->layout.record >= 0;
    if (refers && !text_equal((struct text){self->key.bytes, self->key.length}, (struct text){key.bytes, columns_end})) {
        return STATUS_OK; /* of a key that has gone */
    }
    table->units++;
    TRY(cold_rows_add(table->rows, key, value, refers ? (int64_t)first->units : 0, err));
    if (table == first) {
        text_builder_clear(&self->key);
        text_append(&self->key, key.bytes, columns_end);
    }
    return self->key.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for rows of state") : STATUS_OK;
}

static bool visit_unit(void *context, struct text key, struct text value)
{
    struct cold_exporter *self = context;
    self->status = export_unit(self, key, value, self->err);
    return self->status == STATUS_OK;
}

static enum status scan(struct cold_exporter *self, struct text prefix, cold_visit *visit, struct error *err)
{
    self->status = STATUS_OK;
    TRY(self->db->driver->scan(self->db, prefix, (struct text){0}, visit, self, err));
    return self->status;
}

static enum status open_rows(struct cold_exporter *self, struct export_table *table, struct error *err)
{
    TRY_ALLOC(table->rows, calloc(1, sizeof *table->rows), err);
    table->rows->layout = &table->layout;
    table->rows->budget = self->budget;
    table->rows->take = write_rows;
    table->rows->context = self;
    return STATUS_OK;
}

/* The tables from first to end. */
static enum status export_operator(struct cold_exporter *self, struct error *err)
{
    const char *id = self->tables[self->first]->layout.operator_id;
    uint32_t count = self->end - self->first;
    struct snapshot_table *declared;
    TRY_ALLOC(declared, arena_alloc(self->arena, count * sizeof *declared), err);
    for (uint32_t i = 0; i < count; i++) {
        declared[i] = self->tables[self->first + i]->declared;
        TRY(open_rows(self, self->tables[self->first + i], err));
    }
    TRY(snapshot_begin(self->writer, id, declared, count, err));
    struct text_builder prefix = {0};
    text_builder_clear(&self->key);
    cold_append_prefix(id, &prefix);
    enum status status = prefix.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for rows of state")
                                       : scan(self, (struct text){prefix.bytes, prefix.length}, visit_unit, err);
    text_builder_close(&prefix);
    for (uint32_t i = self->first; i < self->end && status == STATUS_OK; i++) {
        status = cold_rows_flush(self->tables[i]->rows, err);
    }
    return status;
}

static enum status export_all(struct cold_exporter *self, struct error *err)
{
    static const char zeros[COLD_PREFIX_BYTES];
    TRY(scan(self, (struct text){zeros, sizeof zeros}, visit_record, err));
    while (self->end < self->count) {
        self->first = self->end;
        while (self->end < self->count &&
               strcmp(self->tables[self->end]->layout.operator_id, self->tables[self->first]->layout.operator_id) == 0) {
            self->end++;
        }
        TRY(export_operator(self, err));
    }
    return STATUS_OK;
}

enum status cold_export(struct cold_db *db, const char *operator_id, struct snapshot_writer *writer, struct budget *budget,
                        struct error *err)
{
    struct cold_exporter *self = calloc(1, sizeof *self);
    struct arena *arena = arena_create(budget, "tables of a database");
    enum status status = STATUS_OK;
    if (self == NULL || arena == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for rows of state");
    } else {
        *self = (struct cold_exporter){.db = db, .writer = writer, .budget = budget, .arena = arena, .only = operator_id, .err = err};
        status = export_all(self, err);
        for (uint32_t i = 0; i < self->count; i++) {
            if (self->tables[i]->rows != NULL) {
                cold_rows_close(self->tables[i]->rows);
                free(self->tables[i]->rows);
            }
        }
        text_builder_close(&self->key);
    }
    if (arena != NULL) {
        arena_destroy(arena);
    }
    free(self);
    return status;
}
