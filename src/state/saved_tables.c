#include "state/saved_tables.h"

#include <string.h>

#include "sql/binder.h"
#include "sql/parser.h"

/* ---- columns ---- */

/* A line "name TAB type", perhaps with TAB and a layout. */
static enum status read_column(struct saved_reading *self, struct saved_table *table, uint32_t i, struct text line, struct error *err)
{
    struct arena *arena = self->arena;
    struct column *column = (struct column *)&table->stored.columns[i]; /* NOLINT: made by read_columns */
    const char *tab = memchr(line.bytes, '\t', line.length), *end = line.bytes + line.length;
    const struct ast_type *ast;
    if (tab == NULL) {
        return error_set(err, ERROR_STATE_CORRUPT, "a column of table '%s' of operator %s has no type", table->declared.name,
                         table->operator_id);
    }
    const char *second = memchr(tab + 1, '\t', (size_t)(end - tab - 1)), *type_end = second == NULL ? end : second;
    TRY_ALLOC(column->name, arena_text(arena, line.bytes, (size_t)(tab - line.bytes)), err);
    TRY(sql_parse_type(arena, (struct text){tab + 1, (size_t)(type_end - tab - 1)}, &ast, err));
    TRY(bind_type(arena, ast, &column->type, err));
    return second == NULL ? STATUS_OK
                          : state_layout_open(arena, self->budget, (struct text){second + 1, (size_t)(end - second - 1)}, column->name,
                                              &table->layouts[i], err);
}

static enum status read_columns(struct saved_reading *self, struct saved_table *table, struct text lines, struct error *err)
{
    uint32_t count = 0;
    for (size_t i = 0; i < lines.length; i++) {
        count += lines.bytes[i] == '\n';
    }
    TRY_ALLOC(table->stored.columns, arena_alloc(self->arena, (count + 1) * sizeof(struct column)), err);
    TRY_ALLOC(table->layouts, arena_alloc(self->arena, (count + 1) * sizeof *table->layouts), err);
    table->stored.count = count;
    const char *at = lines.bytes;
    for (uint32_t i = 0; i < count; i++) {
        const char *end = memchr(at, '\n', (size_t)(lines.bytes + lines.length - at));
        TRY(read_column(self, table, i, (struct text){at, (size_t)(end - at)}, err));
        at = end + 1;
    }
    return STATUS_OK;
}

/* The name, or with the first number that is free. */
static enum status free_name(struct arena *arena, const struct schema *schema, const char *name, const char **chosen, struct error *err)
{
    *chosen = name;
    for (uint32_t i = 0, number = 2; i < schema->count; i++) {
        if (strcmp(schema->columns[i].name, *chosen) == 0) {
            TRY_ALLOC(*chosen, arena_format(arena, "%s-%u", name, number++), err);
            i = UINT32_MAX; /* from the first again */
        }
    }
    return STATUS_OK;
}

static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == strlen(name) &&
           (name[0] < '0' || name[0] > '9');
}

static enum status print_columns(struct saved_reading *self, struct saved_table *table, struct error *err)
{
    struct text_builder text = {0};
    for (uint32_t i = 0; i < table->schema.count; i++) {
        const struct column *column = &table->schema.columns[i];
        const char *quote = is_plain_name(column->name) ? "" : "`";
        text_append_format(&text, "%s%s%s%s ", i == 0 ? "" : ", ", quote, column->name, quote);
        type_print(column->type, &text);
    }
    table->columns = text.failed ? NULL : arena_text(self->arena, text.length == 0 ? "" : text.bytes, text.length);
    text_builder_close(&text);
    return table->columns != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the columns of a state");
}

/* What is read: stored columns, or what their layouts make of them. */
static enum status show_columns(struct saved_reading *self, struct saved_table *table, struct error *err)
{
    struct column *columns;
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->stored.count; i++) {
        count += table->layouts[i] == NULL ? 1 : state_layout_schema(table->layouts[i])->count;
    }
    TRY_ALLOC(columns, arena_alloc(self->arena, (count + 1) * sizeof *columns), err);
    table->schema.columns = columns;
    for (uint32_t i = 0; i < table->stored.count; i++) {
        const struct schema single = {1, &table->stored.columns[i]};
        const struct schema *shown = table->layouts[i] == NULL ? &single : state_layout_schema(table->layouts[i]);
        for (uint32_t c = 0; c < shown->count; c++) {
            struct column column = shown->columns[c];
            TRY(free_name(self->arena, &table->schema, column.name, &column.name, err));
            columns[table->schema.count++] = column;
        }
    }
    return print_columns(self, table, err);
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
    table->declared.schema = &table->stored;
    table->declared.place = SNAPSHOT_ONE;
    table->declared.expiry = -1;
    table->wanted = is_wanted(self, operator_id, name);
    TRY(read_columns(self, table, columns, err));
    TRY(show_columns(self, table, err));
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

static enum status show_rows(const struct saved_table *table, const struct batch *stored, struct batch *rows, struct error *err)
{
    struct vector *next = rows->columns;
    for (uint32_t i = 0; i < table->stored.count; i++) {
        struct state_layout *layout = table->layouts[i];
        TRY(layout == NULL ? vector_ref(&stored->columns[i], next, err)
                           : state_layout_read(layout, &stored->columns[i], stored->count, next, err));
        next += layout == NULL ? 1 : state_layout_schema(layout)->count;
    }
    return STATUS_OK;
}

static enum status give(struct saved_reading *self, const struct saved_table *table, const struct snapshot_rows *stored, struct error *err)
{
    struct batch rows;
    TRY(batch_init(&rows, table->schema.count, err));
    rows.count = stored->batch->count;
    enum status status = show_rows(table, stored->batch, &rows, err);
    if (status == STATUS_OK) {
        status = self->take(self->context, table, &rows, stored, err);
    } else {
        error_add_context(err, "in table '%s' of operator %s", table->declared.name, table->operator_id);
    }
    batch_release(&rows);
    return status;
}

static enum status take(void *context, void *handle, const struct snapshot_table *declared, const struct snapshot_rows *rows,
                        struct error *err)
{
    (void)declared;
    struct saved_reading *self = context;
    struct saved_table *table = handle;
    table->rows += rows->batch->count;
    table->bytes += rows->stored_bytes;
    return table->wanted ? give(self, table, rows, err) : STATUS_OK;
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
