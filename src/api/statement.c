#include <string.h>

#include "api/cluster_job.h"
#include "api/program.h"
#include "api/session.h"
#include "api/text_table.h"
#include "connectors/source.h"
#include "job/job_lock.h"
#include "plan/availability.h"
#include "plan/table_options.h"
#include "sql/binder.h"

/* ---- what binding and planning need ---- */

struct statement {
    spate_session *session;
    struct arena *arena;
    spate_result *result;
    enum statement_mode mode;
    struct storage_settings storage;
    struct plan_context context;
};

static enum status statement_prepare(struct statement *self, struct error *err)
{
    spate_session *session = self->session;
    struct evaluation *evaluation = &self->result->evaluation;
    evaluation->budget = &session->budget;
    evaluation->start_us = evaluation->start_us != 0 ? evaluation->start_us : session->clock->wall_us(session->clock);
    evaluation->now_us = evaluation->start_us;
    TRY(settings_evaluation(&session->settings, self->arena, evaluation, err));
    const char *id, *piece = "", *job_id = NULL;
    if (session->pieces > 0) { /* several may start at the same moment */
        TRY_ALLOC(piece, arena_format(self->arena, "-%u", session->piece), err);
    }
    TRY_ALLOC(id,
              arena_format(self->arena, "%llx-%llu-%04u%s", (unsigned long long)evaluation->start_us,
                           (unsigned long long)session->statement_count, self->result->attempts, piece),
              err);
    if (session->settings.values.restart_every > 0) {
        TRY_ALLOC(job_id,
                  arena_format(self->arena, "debug-%llx-%llu%s", (unsigned long long)evaluation->start_us,
                               (unsigned long long)session->statement_count, piece),
                  err);
    }
    self->storage = settings_storage(&session->settings);
    self->context = (struct plan_context){
        .bind = {.arena = self->arena,
                 .catalog = session->catalog,
                 .evaluation = evaluation,
                 .cancelled = self->result->attempts == 0 ? &session->planning_cancelled : &session->cancelled},
        .budget = &session->budget,
        .clock = session->clock,
        .settings = settings_plan(&session->settings),
        .statement_id = id,
        .job_id = job_id,
        .job_saved = job_id == NULL ? 0 : self->result->attempts, /* api/restart.c numbers its images so */
        .storage = &self->storage,
    };
    self->context.settings.piece = session->piece;
    self->context.settings.pieces = session->pieces;
    if (session->pieces > 0) { /* what is parallel are the pieces */
        self->context.settings.parallelism = 1;
    }
    return STATUS_OK;
}

/* The checkpoint is damaged: the job is made anew for an older one. */
static enum status statement_fall_back(spate_result *result, enum status status, struct error *err)
{
    struct error damage = *err;
    bool found = false;
    if (status == STATUS_CORRUPT || err->code == ERROR_STORE_MISSING) {
        TRY(checkpointer_fall_back(result->checkpointer, &damage, &found, &result->message, err));
    }
    if (!found) {
        *err = damage;
        return status;
    }
    job_destroy(result->job);
    plan_close(result->plan);
    result->job = NULL;
    result->plan = NULL;
    result->finished = false; /* only the newest checkpoint is a job's last */
    return statement_start_again(result, 0, err);
}

/* A job with a database: whose state is not in it. */
static enum status tell_what_stays_in_memory(spate_result *result, struct error *err)
{
    struct text_builder names = {0};
    enum status status = STATUS_OK;
    if (result->session->settings.values.backend == BACKEND_ROCKSDB) {
        plan_list_resident(result->plan, &names);
    }
    if (names.length > 0) {
        char *message = arena_format(result->arena, "%s%sjob '%s': state of %s stays in memory, whatever 'state.backend.type' is",
                                     result->message, result->message[0] == '\0' ? "" : "\n", result->job_name, names.bytes);
        result->message = message != NULL ? message : result->message;
        status = message != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for what a job says");
    }
    text_builder_close(&names);
    return status;
}

static enum status statement_start_job(struct statement *self, struct error *err)
{
    spate_result *result = self->result;
    TRY(job_create(self->result->plan, &self->session->budget, &self->result->evaluation, self->session->clock, &self->context.settings,
                   &self->result->job, err));
    if (result->kind == SPATE_RESULT_INSERT) {
        TRY(tell_what_stays_in_memory(result, err));
    }
    if (result->checkpointer != NULL) {
        enum status status = checkpointer_restore(result->checkpointer, result->job, err);
        if (status != STATUS_OK && checkpointer_is_following(result->checkpointer) && status != STATUS_INVALID_SQL) {
            recovery_follow_again(result, err); /* the other process has removed what this one was reading */
            return STATUS_OK;
        }
        if (status != STATUS_OK) {
            return statement_fall_back(result, status, err);
        }
        result->state = result->finished ? JOB_ENDED : JOB_RUNNING; /* a finished one is restored so that its sinks show all of it */
    }
    return STATUS_OK;
}

/* ---- texts as results ---- */

static enum status statement_give_text(struct statement *self, const char *name, const char *text, struct error *err)
{
    struct text_table table;
    TRY(result_queue_create(&self->result->queue, err));
    text_table_open(&table, self->arena, &self->session->budget, 1, &name);
    text_table_add(&table, text);
    self->result->kind = SPATE_RESULT_ROWS;
    return text_table_finish(&table, &self->result->schema, self->result->queue, err);
}

static enum status statement_give_plan(struct statement *self, bool logical, struct error *err)
{
    struct text_builder text = {0};
    plan_explain(self->result->plan, logical, &text);
    enum status status = text.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the plan's text")
                                     : statement_give_text(self, "result", text.bytes == NULL ? "" : text.bytes, err);
    text_builder_close(&text);
    return status;
}

static enum status statement_done(struct statement *self, const char *message, struct error *err)
{
    TRY_ALLOC(self->result->message, message, err);
    self->result->kind = SPATE_RESULT_DONE;
    return STATUS_OK;
}

/* ---- queries and inserts ---- */

static enum status query_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    struct relation *relation;
    TRY(bind_query(&self->context.bind, statement->query, &relation, err));
    if (self->mode == STATEMENT_EXECUTE && (self->session->submits || self->session->share != NULL)) {
        return statement_done(self, "", err); /* its rows would be nobody's */
    }
    self->context.settings.pipeline.checkpointed = false; /* only INSERTs are jobs that outlive a process */
    self->context.settings.pipeline.incremental = false;
    self->context.settings.pieces = 0; /* nor are they shared */
    if (self->mode != STATEMENT_EXPLAIN && self->result->queue == NULL) {
        TRY(result_queue_create(&self->result->queue, err));
    }
    TRY(plan_make_query(&self->context, relation, self->result->queue, &self->result->plan, err));
    if (self->mode == STATEMENT_EXPLAIN) {
        return statement_give_plan(self, true, err);
    }
    self->result->kind = SPATE_RESULT_QUERY;
    self->result->schema = *plan_schema(self->result->plan);
    return self->mode == STATEMENT_EXECUTE ? statement_start_job(self, err) : STATUS_OK;
}

/* An unbounded job without an interval: once, when it starts. */
static enum status tell_what_a_crash_costs(spate_result *result, struct error *err)
{
    const struct settings *settings = &result->session->settings;
    if (settings->values.checkpoint_interval.us > 0 || settings->values.restart_every > 0 || plan_is_bounded(result->plan) ||
        !plan_loses_by_a_crash(result->plan)) {
        return STATUS_OK;
    }
    const char *outputs = result->checkpointer == NULL ? "" : ", and its files are shown at savepoints and when it is stopped";
    TRY_ALLOC(result->message,
              arena_format(result->arena,
                           "%s%sjob '%s' takes no checkpoints: a crash loses its state%s; SET 'execution.checkpointing.interval' = '10 s' "
                           "lets it go on from the last one",
                           result->message, result->message[0] == '\0' ? "" : "\n", result->job_name, outputs),
              err);
    return STATUS_OK;
}

/* A policy that was set acts, or is refused. */
static enum status check_availability(const struct statement *self, struct error *err)
{
    const struct session_settings *values = &self->session->settings.values;
    enum availability availability = (enum availability)values->availability;
    const char *policy = availability_name(availability);
    if (availability == AVAILABILITY_PASSIVE) {
        return STATUS_OK;
    }
    if (values->checkpoint_interval.us == 0) {
        return error_set(err, ERROR_INVALID_OPTION,
                         "'high-availability.policy' = '%s' needs 'execution.checkpointing.interval': how often places are saved", policy);
    }
    if (values->backend == BACKEND_ROCKSDB && availability != AVAILABILITY_ACTIVE) {
        return error_set(err, ERROR_NOT_SUPPORTED,
                         "'high-availability.policy' = '%s' keeps no state, so it goes with 'state.backend.type' = "
                         "'hashmap' only",
                         policy);
    }
    if (availability == AVAILABILITY_ACTIVE && !job_lock_is_possible(self->session->storage)) {
        return error_set(err, ERROR_NOT_SUPPORTED,
                         "'high-availability.policy' = 'active' needs storage in a folder, where jobs have locks");
    }
    return plan_check_availability(self->result->plan, policy, availability_replays(availability), err);
}

/* What a job is made of: INSERTs, or a program. */
struct job_source {
    const struct bound_insert *inserts;
    uint32_t insert_count;
    const struct bound_program *program; /* NULL: INSERTs */
};

static enum status job_run(struct statement *self, const struct job_source *source, struct error *err)
{
    if (self->mode == STATEMENT_EXECUTE) {
        TRY(durable_name(self->result, err));
    }
    const struct session_share *share = self->session->share;
    if (self->mode == STATEMENT_EXECUTE && share != NULL && strcmp(share->job, self->result->job_name) != 0) {
        return statement_done(self, "", err); /* another job of the script */
    }
    bool durable = share != NULL || settings_are_durable(&self->session->settings);
    if (self->mode == STATEMENT_EXECUTE && durable && !self->session->submits) {
        TRY(durable_open(self->result, &self->context, err));
    }
    if (self->mode == STATEMENT_EXECUTE && (durable || self->session->submits)) {
        self->context.settings.pipeline.checkpointed = true; /* also without an interval, when it comes from a savepoint */
    }
    TRY(source->program != NULL ? plan_make_program(&self->context, source->program, &self->result->plan, err)
                                : plan_make_inserts(&self->context, source->inserts, source->insert_count, &self->result->plan, err));
    if (self->mode == STATEMENT_EXECUTE && self->session->submits) {
        const char *message;
        TRY(cluster_job_submit(self->result, &message, err));
        return statement_done(self, message, err);
    }
    if (self->mode == STATEMENT_EXPLAIN) {
        return statement_give_plan(self, true, err);
    }
    self->result->kind = SPATE_RESULT_INSERT;
    self->result->awaited = settings_waits(&self->session->settings, plan_is_bounded(self->result->plan));
    if (self->mode != STATEMENT_EXECUTE) {
        return STATUS_OK;
    }
    TRY(check_availability(self, err));
    TRY(durable_note_outputs(self->result, err));
    TRY(tell_what_a_crash_costs(self->result, err));
    return statement_start_job(self, err);
}

static enum status inserts_run(struct statement *self, const struct ast_statement *const *inserts, uint32_t count, struct error *err)
{
    struct bound_insert *bound;
    TRY_ALLOC(bound, arena_alloc(self->arena, (count + 1) * sizeof *bound), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY(bind_insert(&self->context.bind, &inserts[i]->insert, &bound[i], err));
    }
    return job_run(self, &(struct job_source){.inserts = bound, .insert_count = count}, err);
}

static enum status program_run(struct statement *self, struct error *err)
{
    struct bound_program bound;
    if (self->session->share != NULL) { /* what is parallel are the tasks */
        self->context.settings.parallelism = 1;
    }
    if (self->context.settings.parallelism > 1 && !self->session->submits) {
        return error_set(err, ERROR_INVALID_OPTION,
                         "'parallelism.default' = '%u': a task runs in one thread; let it be 1, and start more tasks",
                         self->context.settings.parallelism);
    }
    TRY(program_bind(self->result->program, &self->context.bind, &bound, err));
    return job_run(self, &(struct job_source){.program = &bound}, err);
}

static enum status insert_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    return inserts_run(self, &statement, 1, err);
}

static enum status statement_set_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    return inserts_run(self, statement->set.inserts, statement->set.count, err);
}

/* ---- definitions ---- */

/* Takes the table, also when it fails. */
static enum status add_to_catalog(struct statement *self, struct catalog_table *table, bool if_not_exists, bool or_replace,
                                  struct error *err)
{
    enum status status = catalog_add(self->session->catalog, table, if_not_exists, or_replace, err);
    if (status != STATUS_OK) {
        catalog_table_unref(table);
    }
    return status;
}

static enum status create_view_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    const struct ast_create_view *ast = &statement->create_view;
    struct catalog_table *table;
    TRY(bind_create_view(&self->context.bind, &self->session->budget, ast, &table, err));
    TRY(add_to_catalog(self, table, ast->if_not_exists, ast->or_replace, err));
    return statement_done(self, "View created.", err);
}

/* CREATE TABLE ... AS SELECT: the table, then INSERT INTO it, by the names of the query's columns: the table may have more of them, and
 * another order. */
static enum status create_table_as(struct statement *self, const struct ast_create_table *ast, struct error *err)
{
    struct arena *arena = self->context.bind.arena;
    struct relation *query;
    struct ast_name *columns;
    TRY(bind_query(&self->context.bind, ast->as_query, &query, err));
    TRY_ALLOC(columns, arena_alloc(arena, (query->schema.count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < query->schema.count; i++) {
        columns[i] = (struct ast_name){
            .at = ast->as_query->at, .count = 1, .parts = &query->schema.columns[i].name, .part_positions = &ast->as_query->at};
    }
    struct ast_statement *insert;
    TRY_ALLOC(insert, arena_alloc(arena, sizeof *insert), err);
    *insert = (struct ast_statement){
        .kind = AST_STATEMENT_INSERT,
        .at = ast->as_query->at,
        .insert = {.table = ast->name, .query = ast->as_query, .columns = columns, .column_count = query->schema.count},
    };
    self->result->statement = insert; /* what a restart plans again */
    return insert_run(self, insert, err);
}

/* A table without columns gets those that its connector finds. */
static enum status infer_columns(struct statement *self, struct catalog_table *table, struct error *err)
{
    struct source_context context = {
        .arena = table->arena, .budget = &self->session->budget, .table = table->name, .storage = &self->storage};
    const struct schema *schema;
    struct table_column *columns;
    TRY(table_options_of(table->arena, table, &context.options, err));
    TRY(source_infer(&context, &schema, err));
    if (schema == NULL) {
        return STATUS_OK;
    }
    TRY_ALLOC(columns, arena_alloc(table->arena, (schema->count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < schema->count; i++) {
        columns[i] = (struct table_column){.kind = AST_COLUMN_PHYSICAL, .name = schema->columns[i].name, .type = schema->columns[i].type};
    }
    table->columns = columns;
    table->column_count = schema->count;
    return STATUS_OK;
}

static enum status create_table_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    const struct ast_create_table *ast = &statement->create_table;
    bool kept = ast->if_not_exists && catalog_find(self->session->catalog, &ast->name) != NULL;
    struct catalog_table *table;
    TRY(bind_create_table(&self->context.bind, &self->session->budget, ast, &table, err));
    enum status inferred = table->column_count > 0 || kept ? STATUS_OK : infer_columns(self, table, err);
    if (inferred != STATUS_OK) {
        catalog_table_unref(table);
        return inferred;
    }
    TRY(add_to_catalog(self, table, ast->if_not_exists, ast->or_replace, err));
    if (ast->as_query != NULL && !kept) {
        enum status status = create_table_as(self, ast, err);
        if (status != STATUS_OK) {
            struct error ignored;
            (void)!catalog_drop(self->session->catalog, &ast->name, false, ast->temporary, true, &ignored);
        }
        return status;
    }
    return statement_done(self, "Table created.", err);
}

static enum status drop_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    const struct ast_drop *ast = &statement->drop;
    bool view = strcmp(ast->what, "VIEW") == 0;
    if (!view && strcmp(ast->what, "TABLE") != 0) {
        return error_set_at(err, ERROR_NOT_SUPPORTED, statement->at.line, statement->at.column, "DROP %s is not supported", ast->what);
    }
    TRY(catalog_drop(self->session->catalog, &ast->name, view, ast->temporary, ast->if_exists, err));
    return statement_done(self, view ? "View dropped." : "Table dropped.", err);
}

/* ---- session ---- */

static const char *const catalog_names[] = {"default_catalog"};
static const char *const database_names[] = {"default_database"};

static enum status use_check(const struct ast_statement *statement, const char *what, const char *name, const char *const *valid,
                             struct error *err)
{
    if (strcmp(name, valid[0]) != 0) {
        return error_set_at(err, ERROR_UNKNOWN_TABLE, statement->at.line, statement->at.column, "there is no %s '%s'; the session has '%s'",
                            what, name, valid[0]);
    }
    return STATUS_OK;
}

static enum status use_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    const struct ast_name *name = &statement->use.name;
    if (strcmp(statement->use.what, "CATALOG") == 0) {
        TRY(use_check(statement, "catalog", name->parts[name->count - 1], catalog_names, err));
    } else if (strcmp(statement->use.what, "DATABASE") == 0) {
        if (name->count > 1) {
            TRY(use_check(statement, "catalog", name->parts[0], catalog_names, err));
        }
        TRY(use_check(statement, "database", name->parts[name->count - 1], database_names, err));
    } else {
        return error_set_at(err, ERROR_NOT_SUPPORTED, statement->at.line, statement->at.column, "USE %s is not supported",
                            statement->use.what);
    }
    return statement_done(self, "OK", err);
}

static void set_list_one(void *context, const char *key, const char *value)
{
    text_table_add(context, key);
    text_table_add(context, value);
}

static enum status set_list(struct statement *self, struct error *err)
{
    static const char *const names[] = {"key", "value"};
    struct text_table table;
    TRY(result_queue_create(&self->result->queue, err));
    text_table_open(&table, self->arena, &self->session->budget, 2, names);
    settings_each(&self->session->settings, set_list_one, &table);
    self->result->kind = SPATE_RESULT_ROWS;
    return text_table_finish(&table, &self->result->schema, self->result->queue, err);
}

static enum status set_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    if (statement->setting.key == NULL) {
        return set_list(self, err);
    }
    const char *message;
    TRY(settings_set(&self->session->settings, statement->setting.key, statement->setting.value, &message, err));
    session_follow_settings(self->session);
    return statement_done(self, message == NULL ? "OK" : message, err);
}

static enum status reset_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    TRY(settings_reset(&self->session->settings, statement->setting.key, err));
    session_follow_settings(self->session);
    return statement_done(self, "OK", err);
}

static enum status show_statement_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    return show_run(self->session, statement, self->result, err);
}

static enum status describe_statement_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    return describe_run(self->session, statement, self->result, err);
}

static enum status explain_run(struct statement *self, const struct ast_statement *statement, struct error *err);

/* The changed entry takes the place of the old one; renamed, its name must be free. */
static enum status alter_replace(struct statement *self, const struct ast_alter *ast, struct catalog_table *old,
                                 struct catalog_table *changed, struct error *err)
{
    struct catalog *catalog = self->session->catalog;
    bool rename = ast->kind == AST_ALTER_RENAME, temporary = old->temporary, view = old->is_view;
    enum status status = catalog_add(catalog, changed, false, !rename, err);
    if (status != STATUS_OK) {
        catalog_table_unref(changed);
        return status;
    }
    if (rename) {
        TRY(catalog_drop(catalog, &ast->name, view, temporary, false, err));
    }
    return statement_done(self, view ? "View altered." : "Table altered.", err);
}

static enum status alter_run(struct statement *self, const struct ast_statement *statement, bool view, struct error *err)
{
    const struct ast_alter *ast = statement->other;
    const char *what = view ? "view" : "table";
    struct catalog_table *table = catalog_find(self->session->catalog, &ast->name), *changed;
    if (table == NULL && ast->if_exists) {
        return statement_done(self, "OK", err);
    }
    if (table == NULL || table->is_view != view) {
        return error_set_at(err, ERROR_UNKNOWN_TABLE, ast->name.at.line, ast->name.at.column, "there is no %s '%s'", what,
                            ast->name.parts[ast->name.count - 1]);
    }
    TRY(view ? bind_alter_view(&self->context.bind, &self->session->budget, table, ast, &changed, err)
             : bind_alter_table(&self->context.bind, &self->session->budget, table, ast, &changed, err));
    return alter_replace(self, ast, table, changed, err);
}

static enum status other_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    bool view = strcmp(statement->words, "ALTER VIEW") == 0;
    if (view || strcmp(statement->words, "ALTER TABLE") == 0) {
        return alter_run(self, statement, view, err);
    }
    if (strcmp(statement->words, "STOP JOB") == 0) {
        const char *message;
        TRY(job_stop_run(self->session, statement, &message, self->arena, err));
        return statement_done(self, message, err);
    }
    return error_set_at(err, ERROR_NOT_SUPPORTED, statement->at.line, statement->at.column, "%s is not supported", statement->words);
}

/* ---- the table of statements ---- */

typedef enum status statement_fn(struct statement *self, const struct ast_statement *statement, struct error *err);
static const struct {
    statement_fn *run;
    bool plans; /* EXPLAIN and check make sense of it */
} statement_kinds[AST_STATEMENT_COUNT] = {
    [AST_STATEMENT_QUERY] = {query_run, true},
    [AST_STATEMENT_INSERT] = {insert_run, true},
    [AST_STATEMENT_STATEMENT_SET] = {statement_set_run, true},
    [AST_STATEMENT_EXPLAIN] = {explain_run, true},
    [AST_STATEMENT_CREATE_TABLE] = {create_table_run, false},
    [AST_STATEMENT_CREATE_VIEW] = {create_view_run, false},
    [AST_STATEMENT_DROP] = {drop_run, false},
    [AST_STATEMENT_SHOW] = {show_statement_run, false},
    [AST_STATEMENT_DESCRIBE] = {describe_statement_run, false},
    [AST_STATEMENT_USE] = {use_run, false},
    [AST_STATEMENT_SET] = {set_run, false},
    [AST_STATEMENT_RESET] = {reset_run, false},
    [AST_STATEMENT_OTHER] = {other_run, false},
};

static enum status explain_run(struct statement *self, const struct ast_statement *statement, struct error *err)
{
    const struct ast_statement *inner = statement->explain.statement;
    if (!statement_kinds[inner->kind].plans) {
        return error_set_at(err, ERROR_NOT_SUPPORTED, inner->at.line, inner->at.column,
                            "EXPLAIN takes a query, an INSERT or a statement set");
    }
    self->mode = STATEMENT_EXPLAIN;
    return statement_kinds[inner->kind].run(self, inner, err);
}

enum status statement_run(spate_session *session, struct arena *arena, const struct ast_statement *statement, enum statement_mode mode,
                          spate_result *result, struct error *err)
{
    struct statement self = {.session = session, .arena = arena, .result = result, .mode = mode};
    result->statement = statement;
    TRY(statement_prepare(&self, err));
    return statement_kinds[statement->kind].run(&self, statement, err);
}

enum status statement_run_program(spate_result *result, struct error *err)
{
    struct statement self = {.session = result->session, .arena = result->arena, .result = result, .mode = STATEMENT_EXECUTE};
    TRY(statement_prepare(&self, err));
    return program_run(&self, err);
}

enum status statement_start_again(spate_result *result, uint32_t parallelism, struct error *err)
{
    struct statement self = {.session = result->session, .arena = result->arena, .result = result, .mode = STATEMENT_EXECUTE};
    result->attempts++;
    TRY(statement_prepare(&self, err));
    if (parallelism > 0) {
        self.context.settings.parallelism = parallelism;
    }
    return result->program != NULL ? program_run(&self, err) : statement_kinds[result->statement->kind].run(&self, result->statement, err);
}
