/* A program is told what it reads, writes and keeps by names and by columns as in SQL; here these become relations and schemas. */
#include "api/program.h"

#include <stdlib.h>
#include <string.h>

#include "sql/parser.h"

enum { INPUTS_MAX = 64, OUTPUTS_MAX = 64, TABLES_MAX = 64, ASYNC_LIMIT = 100, ASYNC_TIMEOUT_MS = 60000, TIMEOUT_MAX_MS = 86400000 };

/* ---- a copy of what the caller said ---- */

static uint32_t count_names(const char *const *names)
{
    uint32_t count = 0;
    while (names != NULL && names[count] != NULL) {
        count++;
    }
    return count;
}

static enum status copy_names(struct arena *arena, const char *const *names, uint32_t count, const char *const **copies, struct error *err)
{
    const char **made;
    TRY_ALLOC(made, arena_alloc(arena, (count + 1) * sizeof *made), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY_ALLOC(made[i], arena_text(arena, names[i], strlen(names[i])), err);
    }
    *copies = made;
    return STATUS_OK;
}

enum status program_check(const struct spate_task_spec *spec, struct error *err)
{
    if (spec->size < sizeof *spec || spec->name == NULL || spec->name[0] == '\0' || spec->type == NULL ||
        spec->type->size < sizeof *spec->type || spec->type->process == NULL) {
        return error_set(err, ERROR_MISUSE, "a task has a name, and a class with its size and the function 'process'");
    }
    if (count_names(spec->inputs) == 0) {
        return error_set(err, ERROR_MISUSE, "task '%s' has no input", spec->name);
    }
    if (count_names(spec->inputs) > INPUTS_MAX || count_names(spec->outputs) > OUTPUTS_MAX || spec->table_count > TABLES_MAX) {
        return error_set(err, ERROR_TOO_MANY, "task '%s' has more than %d inputs, outputs or state tables", spec->name, INPUTS_MAX);
    }
    if (spec->window_interval_ms < 0 || spec->window_interval_ms > INT64_MAX / 1000 ||
        (spec->window_interval_ms > 0) != (spec->type->window != NULL)) {
        return error_set(err, ERROR_MISUSE, "task '%s': a function 'window' and a window_interval_ms above 0 go together", spec->name);
    }
    if (spec->async_timeout_ms < 0 || spec->async_timeout_ms > TIMEOUT_MAX_MS) {
        return error_set(err, ERROR_MISUSE, "task '%s': async_timeout_ms is from 1 to %d", spec->name, TIMEOUT_MAX_MS);
    }
    return STATUS_OK;
}

static enum status copy_tables(struct program *program, const struct spate_task_spec *spec, struct error *err)
{
    struct arena *arena = program->result->arena;
    struct program_table_spec *tables;
    const char **definitions;
    TRY_ALLOC(tables, arena_alloc(arena, (spec->table_count + 1) * sizeof *tables), err);
    TRY_ALLOC(definitions, arena_alloc(arena, (spec->table_count + 1) * sizeof *definitions), err);
    for (uint32_t i = 0; i < spec->table_count; i++) {
        const struct spate_task_table *table = &spec->tables[i];
        TRY_ALLOC(tables[i].name, arena_text(arena, table->name, strlen(table->name)), err);
        TRY_ALLOC(definitions[i], arena_text(arena, table->columns, strlen(table->columns)), err);
    }
    program->spec.tables = tables;
    program->spec.table_count = spec->table_count;
    program->definitions = definitions;
    return STATUS_OK;
}

static enum status make_handles(struct program *program, struct error *err)
{
    struct arena *arena = program->result->arena;
    struct spate_task *task = &program->task;
    const struct program_spec *spec = &program->spec;
    TRY_ALLOC(program->input_schemas, arena_alloc(arena, (spec->input_count + 1) * sizeof *program->input_schemas), err);
    TRY_ALLOC(program->input_rows, arena_alloc(arena, (spec->input_count + 1) * sizeof *program->input_rows), err);
    TRY_ALLOC(task->states, arena_alloc(arena, (spec->table_count + 1) * sizeof *task->states), err);
    TRY_ALLOC(task->outputs, arena_alloc(arena, (spec->output_count + 1) * sizeof *task->outputs), err);
    task->program = program;
    return STATUS_OK;
}

enum status program_define(spate_result *result, const struct spate_task_spec *spec, struct error *err)
{
    struct program *program;
    TRY(program_check(spec, err));
    TRY_ALLOC(program, arena_alloc(result->arena, sizeof *program), err);
    *program = (struct program){.result = result, .type = *spec->type, .context = spec->context, .host = program_host};
    program->host.context = &program->task;
    program->spec.host = &program->host;
    program->async_limit = spec->async_limit == 0 ? ASYNC_LIMIT : spec->async_limit;
    program->async_timeout_us = (spec->async_timeout_ms == 0 ? ASYNC_TIMEOUT_MS : spec->async_timeout_ms) * 1000;
    program->spec.whole = spec->whole != 0;
    program->spec.window_us = spec->window_interval_ms * 1000;
    program->spec.input_count = count_names(spec->inputs);
    program->spec.output_count = count_names(spec->outputs);
    TRY_ALLOC(program->spec.name, arena_text(result->arena, spec->name, strlen(spec->name)), err);
    TRY(copy_names(result->arena, spec->inputs, program->spec.input_count, &program->spec.input_names, err));
    TRY(copy_names(result->arena, spec->outputs, program->spec.output_count, &program->output_names, err));
    TRY(copy_tables(program, spec, err));
    TRY(make_handles(program, err));
    result->program = program;
    result->job_name = program->spec.name;
    return STATUS_OK;
}

/* ---- state tables ---- */

/* The schema of the columns of a CREATE TABLE, which must begin with those of its key. */
static enum status table_schema(const struct bind_context *context, const struct catalog_table *table, struct program_table_spec *spec,
                                struct error *err)
{
    struct column *columns;
    struct schema *schema;
    TRY_ALLOC(columns, arena_alloc(context->arena, (table->column_count + 1) * sizeof *columns), err);
    TRY_ALLOC(schema, arena_alloc(context->arena, sizeof *schema), err);
    bool plain = table->watermark_column < 0 && table->primary_key_count > 0 && table->partition_count == 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        plain = plain && table->columns[i].kind == AST_COLUMN_PHYSICAL && (i >= table->primary_key_count || table->primary_key[i] == i);
        TRY_ALLOC(columns[i].name, arena_text(context->arena, table->columns[i].name, strlen(table->columns[i].name)), err);
        TRY_ALLOC(columns[i].type, type_copy(context->arena, table->columns[i].type), err);
    }
    if (!plain) {
        return error_set(err, ERROR_INVALID_DEFINITION,
                         "state table '%s' has plain columns only, and first those of its PRIMARY KEY (...) NOT ENFORCED", spec->name);
    }
    *schema = (struct schema){table->column_count, columns};
    spec->schema = schema;
    spec->key_count = table->primary_key_count;
    return STATUS_OK;
}

static enum status bind_state(struct program *program, const struct bind_context *context, struct program_table_spec *spec,
                              const char *definition, struct error *err)
{
    const struct ast_statement *statement = NULL;
    struct catalog_table *table;
    size_t next;
    const char *sql = arena_format(context->arena, "CREATE TEMPORARY TABLE `%s` (%s) WITH ('connector' = 'state')", spec->name, definition);
    TRY_ALLOC(sql, sql, err);
    TRY(sql_parse_statement(context->arena, text_from(sql), 0, &statement, &next, err));
    if (statement == NULL || statement->kind != AST_STATEMENT_CREATE_TABLE || next != strlen(sql)) {
        return error_set(err, ERROR_INVALID_DEFINITION, "'%s' is not the inside of a CREATE TABLE", definition);
    }
    TRY(bind_create_table(context, &program->result->session->budget, &statement->create_table, &table, err));
    enum status status = table_schema(context, table, spec, err);
    catalog_table_unref(table);
    return status;
}

static enum status bind_states(struct program *program, const struct bind_context *context, struct program_spec *spec, struct error *err)
{
    struct program_table_spec *tables;
    TRY_ALLOC(tables, arena_copy(context->arena, spec->tables, (spec->table_count + 1) * sizeof *tables), err);
    for (uint32_t i = 0; i < spec->table_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(tables[k].name, tables[i].name) == 0) {
                return error_set(err, ERROR_INVALID_DEFINITION, "two state tables are called '%s'", tables[i].name);
            }
        }
        enum status status = bind_state(program, context, &tables[i], program->definitions[i], err);
        if (status != STATUS_OK) {
            err->line = err->column = 0; /* in a text of ours */
            error_add_context(err, "in state table '%s' of task '%s'", tables[i].name, spec->name);
            return status;
        }
    }
    spec->tables = tables;
    return STATUS_OK;
}

/* ---- inputs and outputs ---- */

static enum status quote_name(struct arena *arena, const char *name, const char **quoted, struct error *err)
{
    struct text_builder text = {0};
    for (const char *at = name; *at != '\0'; at++) {
        text_append(&text, *at == '`' ? "``" : at, *at == '`' ? 2 : 1);
    }
    *quoted = text.failed ? NULL : arena_format(arena, "`%s`", text.length == 0 ? "" : text.bytes);
    text_builder_close(&text);
    return *quoted != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the name of a table");
}

static enum status row_of(struct arena *arena, const struct schema *schema, const struct type **row, struct error *err)
{
    const struct type **types;
    const char **names;
    TRY_ALLOC(types, arena_alloc(arena, (schema->count + 1) * sizeof *types), err);
    TRY_ALLOC(names, arena_alloc(arena, (schema->count + 1) * sizeof *names), err);
    for (uint32_t i = 0; i < schema->count; i++) {
        types[i] = schema->columns[i].type;
        names[i] = schema->columns[i].name;
    }
    TRY_ALLOC(*row, type_row(arena, schema->count, types, names, false), err);
    return STATUS_OK;
}

static enum status bind_input(struct program *program, const struct bind_context *context, uint32_t number, struct relation **relation,
                              struct error *err)
{
    const struct ast_query *query;
    const char *name, *sql;
    TRY(quote_name(context->arena, program->spec.input_names[number], &name, err));
    TRY_ALLOC(sql, arena_format(context->arena, "SELECT * FROM %s", name), err);
    TRY(sql_parse_query(context->arena, text_from(sql), &query, err));
    TRY(bind_query(context, query, relation, err));
    program->input_schemas[number] = &(*relation)->schema;
    return row_of(context->arena, &(*relation)->schema, &program->input_rows[number], err);
}

static enum status bind_output(struct program *program, const struct bind_context *context, const char *name, struct catalog_table **table,
                               struct error *err)
{
    struct ast_name ast = {.count = 1, .parts = &name};
    *table = catalog_find(context->catalog, &ast);
    if (*table == NULL || (*table)->is_view) {
        return error_set(err, ERROR_UNKNOWN_TABLE, "task '%s' writes to '%s', which is %s", program->spec.name, name,
                         *table == NULL ? "no table of the session" : "a view");
    }
    for (uint32_t i = 0; program->output_names[i] != name; i++) {
        if (strcmp(program->output_names[i], name) == 0) {
            return error_set(err, ERROR_MISUSE, "task '%s' has the output '%s' twice", program->spec.name, name);
        }
    }
    return STATUS_OK;
}

/* The plan may live longer than the table's entry in the catalog. */
static void release_table(void *owned)
{
    catalog_table_unref(owned);
}

static enum status hold_table(struct arena *arena, struct catalog_table *table, struct error *err)
{
    if (!arena_on_reset(arena, release_table, catalog_table_ref(table))) {
        catalog_table_unref(table);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a table that a task writes");
    }
    return STATUS_OK;
}

static enum status bind_names(struct program *program, const struct bind_context *context, struct bound_program *bound, struct error *err)
{
    struct catalog_table **outputs;
    TRY_ALLOC(bound->inputs, arena_alloc(context->arena, (bound->spec.input_count + 1) * sizeof(struct relation *)), err);
    TRY_ALLOC(outputs, arena_alloc(context->arena, (bound->spec.output_count + 1) * sizeof(struct catalog_table *)), err);
    for (uint32_t i = 0; i < bound->spec.input_count; i++) {
        TRY(bind_input(program, context, i, &bound->inputs[i], err));
    }
    for (uint32_t i = 0; i < bound->spec.output_count; i++) {
        TRY(bind_output(program, context, program->output_names[i], &outputs[i], err));
        TRY(hold_table(context->arena, outputs[i], err));
    }
    bound->outputs = outputs;
    return STATUS_OK;
}

enum status program_bind(struct program *program, const struct bind_context *context, struct bound_program *bound, struct error *err)
{
    *bound = (struct bound_program){.spec = program->spec};
    enum status status = bind_names(program, context, bound, err);
    if (status == STATUS_OK) {
        status = bind_states(program, context, &bound->spec, err);
    } else {
        err->line = err->column = 0;
    }
    return status;
}
