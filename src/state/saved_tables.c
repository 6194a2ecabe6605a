#include "state/saved_tables.h"

#include <string.h>

#include "sql/binder.h"
#include "sql/parser.h"

/* ---- columns ---- */

static enum status add_column(struct saved_reading *self, struct saved_table *table, struct column *column, struct text line,
                              struct error *err)
{
    struct arena *arena = self->arena;
    const char *tab = memchr(line.bytes, '\t', line.length);
    const struct ast_type *ast;
    if (tab == NULL) {
        return error_set(err, ERROR_STATE_CORRUPT, "a column of table '%s' of operator %s has no type", table->declared.name,
                         table->operator_id);
    }
    size_t name_length = (size_t)(tab - line.bytes);
    TRY_ALLOC(column->name, arena_text(arena, line.bytes, name_length), err);
    const char *type = arena_text(arena, tab + 1, line.length - name_length - 1);
    TRY_ALLOC(type, type, err);
    TRY(sql_parse_type(arena, text_from(type), &ast, err));
    TRY(bind_type(arena, ast, &column->type, err));
    TRY_ALLOC(table->columns, arena_format(arena, "%s%s%s %s", table->columns, table->columns[0] == '\0' ? "" : ", ", column->name, type),
              err);
    return STATUS_OK;
}

static enum status add_columns(struct saved_reading *self, struct saved_table *table, struct text lines, struct error *err)
{
    uint32_t count = 0;
    for (size_t i = 0; i < lines.length; i++) {
        count += lines.bytes[i] == '\n';
    }
    struct column *columns;
    TRY_ALLOC(columns, arena_alloc(self->arena, (count + 1) * sizeof *columns), err);
    const char *at = lines.bytes;
    for (uint32_t i = 0; i < count; i++) {
        const char *end = memchr(at, '\n', (size_t)(lines.bytes + lines.length - at));
        TRY(add_column(self, table, &columns[i], (struct text){at, (size_t)(end - at)}, err));
        at = end + 1;
    }
    table->schema = (struct schema){.count = count, .columns = columns};
    return STATUS_OK;
}

static bool is_wanted(const struct saved_reading *self, const char *operator_id, const char *table)
{
    return self->operator_id != NULL && strcmp(operator_id, self->operator_id) == 0 &&
           (self->table == NULL || strcmp(table, self->table) == 0);
}

static enum status new_table(struct saved_reading *self, const char *operator_id, const char *name, struct text columns,
                             struct saved_table **made, struct error *err)
{
    struct saved_table *table;
    TRY_ALLOC(table, arena_alloc(self->arena, sizeof *table), err);
    TRY_ALLOC(table->operator_id, arena_text(self->arena, operator_id, strlen(operator_id)), err);
    TRY_ALLOC(table->declared.name, arena_text(self->arena, name, strlen(name)), err);
    table->declared.schema = &table->schema;
    table->declared.place = SNAPSHOT_ONE;
    table->declared.expiry = -1;
    table->columns = "";
    table->wanted = is_wanted(self, operator_id, name);
    TRY(add_columns(self, table, columns, err));
    *self->last = table;
    self->last = &table->next;
    *made = table;
    return STATUS_OK;
}

static const struct snapshot_table *describe(void *context, const char *operator_id, const char *name, struct text columns, void **handle)
{
    struct saved_reading *self = context;
    struct saved_table *table = self->tables;
    while (table != NULL && (strcmp(table->operator_id, operator_id) != 0 || strcmp(table->declared.name, name) != 0)) {
        table = table->next;
    }
    if (table == NULL && self->status == STATUS_OK) {
        self->status = new_table(self, operator_id, name, columns, &table, &self->error);
    }
    *handle = table;
    if (self->status != STATUS_OK || table == NULL) {
        return NULL;
    }
    self->found = self->found || (self->take == NULL && self->table != NULL && table->wanted);
    bool read = self->operator_id == NULL || (table->wanted && self->take != NULL);
    return read ? &table->declared : NULL;
}

/* ---- rows ---- */

static enum status take(void *context, void *handle, const struct snapshot_table *declared, const struct snapshot_rows *rows,
                        struct error *err)
{
    (void)declared;
    struct saved_reading *self = context;
    struct saved_table *table = handle;
    table->rows += rows->batch->count;
    table->bytes += rows->stored_bytes;
    return table->wanted ? self->take(self->context, table, rows->batch, err) : STATUS_OK;
}

enum status saved_tables_read(const struct saved_state *state, struct saved_reading *reading, struct error *err)
{
    const struct snapshot_target target = {.describe = describe,
                                           .take = take,
                                           .context = reading,
                                           .budget = reading->budget,
                                           .worker_count = 1,
                                           .max_parallelism = 1,
                                           .ignore_unclaimed = true};
    reading->tables = NULL;
    reading->last = &reading->tables;
    enum status status = saved_state_read(state, &target, &reading->found, err);
    if (status == STATUS_OK && reading->status != STATUS_OK) {
        *err = reading->error;
        status = reading->status;
    }
    if (status != STATUS_OK) {
        error_add_context(err, "while reading %s", saved_state_where(state, reading->arena));
    }
    return status;
}

/* ---- choosing ---- */

/* The operators, or the tables of the one that is there: each once, in the order of the file. */
static void list_names(const struct saved_reading *reading, bool operators, struct text_builder *names)
{
    const char *last = "";
    for (const struct saved_table *table = reading->tables; table != NULL; table = table->next) {
        bool shown = operators ? strcmp(table->operator_id, last) != 0 : strcmp(table->operator_id, reading->operator_id) == 0;
        last = table->operator_id;
        if (shown) {
            text_append_format(names, "%s%s", names->length > 0 ? ", " : "", operators ? table->operator_id : table->declared.name);
        }
    }
}

static enum status refuse_choice(const struct saved_reading *reading, struct error *err)
{
    struct text_builder names = {0};
    enum status status;
    list_names(reading, false, &names);
    if (names.length > 0) {
        status = error_set(err, ERROR_INVALID_OPTION, "operator %s has %s: %s", reading->operator_id,
                           reading->table == NULL ? "several tables, name one" : "these tables only", names.bytes);
    } else {
        list_names(reading, true, &names);
        status = error_set(err, ERROR_INVALID_OPTION, "the state has no operator '%s'; there are: %s", reading->operator_id,
                           names.length == 0 ? "none" : names.bytes);
    }
    text_builder_close(&names);
    return status;
}

enum status saved_table_choose(const struct saved_reading *reading, const struct saved_table **table, struct error *err)
{
    uint32_t wanted = 0;
    for (const struct saved_table *each = reading->tables; each != NULL; each = each->next) {
        *table = each->wanted ? each : *table;
        wanted += each->wanted;
    }
    return wanted == 1 ? STATUS_OK : refuse_choice(reading, err);
}
