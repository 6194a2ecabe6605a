/* The state of a job as rows (spate/operations.h): names and types of columns come from the files themselves. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/session.h"
#include "job/saved_state.h"
#include "spate/operations.h"
#include "sql/binder.h"
#include "sql/parser.h"

struct read_table {
    struct read_table *next;
    const char *operator_id;
    struct snapshot_table declared;
    struct schema schema;
    const char *columns; /* "k INT, n BIGINT NOT NULL" */
    uint64_t rows, bytes;
    bool wanted;
};
struct reading {
    spate_session *session;
    spate_result *result;
    const char *operator_id, *table; /* NULL: all are counted, none is given */
    struct read_table *tables, **last;
    struct error error; /* of `describe` */
    enum status status;
};

/* ---- columns ---- */

static enum status add_column(struct reading *self, struct read_table *table, struct column *column, struct text line, struct error *err)
{
    struct arena *arena = self->result->arena;
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

static enum status add_columns(struct reading *self, struct read_table *table, struct text lines, struct error *err)
{
    uint32_t count = 0;
    for (size_t i = 0; i < lines.length; i++) {
        count += lines.bytes[i] == '\n';
    }
    struct column *columns;
    TRY_ALLOC(columns, arena_alloc(self->result->arena, (count + 1) * sizeof *columns), err);
    const char *at = lines.bytes;
    for (uint32_t i = 0; i < count; i++) {
        const char *end = memchr(at, '\n', (size_t)(lines.bytes + lines.length - at));
        TRY(add_column(self, table, &columns[i], (struct text){at, (size_t)(end - at)}, err));
        at = end + 1;
    }
    table->schema = (struct schema){.count = count, .columns = columns};
    return STATUS_OK;
}

static bool is_wanted(const struct reading *self, const char *operator_id, const char *table)
{
    return self->operator_id != NULL && strcmp(operator_id, self->operator_id) == 0 &&
           (self->table == NULL || strcmp(table, self->table) == 0);
}

static enum status new_table(struct reading *self, const char *operator_id, const char *name, struct text columns, struct read_table **made,
                             struct error *err)
{
    struct arena *arena = self->result->arena;
    struct read_table *table;
    TRY_ALLOC(table, arena_alloc(arena, sizeof *table), err);
    TRY_ALLOC(table->operator_id, arena_text(arena, operator_id, strlen(operator_id)), err);
    TRY_ALLOC(table->declared.name, arena_text(arena, name, strlen(name)), err);
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
    struct reading *self = context;
    struct read_table *table = self->tables;
    while (table != NULL && (strcmp(table->operator_id, operator_id) != 0 || strcmp(table->declared.name, name) != 0)) {
        table = table->next;
    }
    if (table == NULL && self->status == STATUS_OK) { /* each worker has a chain with the same tables */
        self->status = new_table(self, operator_id, name, columns, &table, &self->error);
    }
    *handle = table;
    bool read = self->status == STATUS_OK && table != NULL && (table->wanted || self->operator_id == NULL);
    return read ? &table->declared : NULL;
}

/* ---- rows ---- */

static enum status take(void *context, void *handle, const struct snapshot_table *declared, const struct snapshot_rows *rows,
                        struct error *err)
{
    (void)declared;
    struct reading *self = context;
    struct read_table *table = handle;
    struct batch batch = {0};
    table->rows += rows->batch->count;
    table->bytes += rows->stored_bytes;
    if (!table->wanted) {
        return STATUS_OK;
    }
    TRY(batch_ref(rows->batch, &batch, err));
    enum status status = result_queue_put(self->result->queue, &batch, NULL, err);
    if (status != STATUS_OK) {
        batch_release(&batch);
    }
    return status;
}

static enum status read_state(struct reading *self, const char *of, struct error *err)
{
    struct saved_state state;
    const struct snapshot_target target = {.describe = describe,
                                           .take = take,
                                           .context = self,
                                           .budget = &self->session->budget,
                                           .worker_count = 1,
                                           .max_parallelism = 1,
                                           .ignore_unclaimed = true};
    self->last = &self->tables;
    TRY(saved_state_open(self->session->storage, of, self->result->arena, &state, err));
    enum status status = saved_state_read(&state, &target, err);
    saved_state_close(&state);
    if (status == STATUS_OK && self->status != STATUS_OK) {
        *err = self->error;
        status = self->status;
    }
    return status;
}

/* ---- the calls ---- */

static enum status reading_begin(struct reading *self, spate_session *session, struct error *err)
{
    *self = (struct reading){.session = session};
    TRY(durable_storage(session, err));
    TRY(result_create(session, SPATE_RESULT_ROWS, &self->result, err));
    TRY(settings_evaluation(&session->settings, self->result->arena, &self->result->evaluation, err)); /* the zone of its texts */
    return result_queue_create(&self->result->queue, err);
}

static int reading_end(struct reading *self, enum status status, spate_result **result)
{
    *result = status == STATUS_OK ? self->result : NULL;
    if (status != STATUS_OK) {
        spate_result_close(self->result);
        return session_fail(self->session, status);
    }
    return SPATE_OK;
}

static enum status list_tables(struct reading *self, struct error *err)
{
    static const char *const names[] = {"operator", "table", "columns", "rows", "bytes"};
    struct arena *arena = self->result->arena;
    struct text_table list;
    text_table_open(&list, arena, &self->session->budget, 5, names);
    for (const struct read_table *table = self->tables; table != NULL; table = table->next) {
        text_table_add(&list, table->operator_id);
        text_table_add(&list, table->declared.name);
        text_table_add(&list, table->columns);
        text_table_add(&list, arena_format(arena, "%" PRIu64, table->rows));
        text_table_add(&list, arena_format(arena, "%" PRIu64, table->bytes));
    }
    return text_table_finish(&list, &self->result->schema, self->result->queue, err);
}

int spate_state_list(spate_session *session, const char *of, spate_result **result)
{
    struct reading self;
    enum status status = reading_begin(&self, session, &session->error);
    if (status == STATUS_OK) {
        status = read_state(&self, of, &session->error);
    }
    if (status == STATUS_OK) {
        status = list_tables(&self, &session->error);
    }
    return reading_end(&self, status, result);
}

/* Exactly one table has to be meant. */
static enum status choose_table(struct reading *self, struct error *err)
{
    struct text_builder names = {0};
    uint32_t wanted = 0;
    for (const struct read_table *table = self->tables; table != NULL; table = table->next) {
        bool same = strcmp(table->operator_id, self->operator_id) == 0;
        wanted += table->wanted;
        self->result->schema = table->wanted ? table->schema : self->result->schema;
        if (same) {
            text_append_format(&names, "%s%s", names.length > 0 ? ", " : "", table->declared.name);
        }
    }
    enum status status = STATUS_OK;
    if (wanted != 1 && names.length == 0) {
        status = error_set(err, ERROR_INVALID_OPTION, "the state has no operator '%s'; `spate state ls` lists them", self->operator_id);
    } else if (wanted != 1) {
        status = error_set(err, ERROR_INVALID_OPTION, "operator %s has %s: %s", self->operator_id,
                           self->table == NULL ? "several tables, name one" : "these tables only", names.bytes);
    }
    text_builder_close(&names);
    return status;
}

int spate_state_rows(spate_session *session, const char *of, const char *operator_id, const char *table, spate_result **result)
{
    struct reading self;
    enum status status = reading_begin(&self, session, &session->error);
    self.operator_id = operator_id;
    self.table = table;
    if (status == STATUS_OK) {
        status = read_state(&self, of, &session->error);
    }
    if (status == STATUS_OK) {
        status = choose_table(&self, &session->error);
    }
    return reading_end(&self, status, result);
}
