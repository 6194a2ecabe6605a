#include "api/session.h"

#include <stdlib.h>
#include <string.h>

#include "api/public_error.h"
#include "sql/parser.h"

const char *spate_version(void)
{
    return SPATE_VERSION;
}

int session_fail(spate_session *session, enum status status)
{
    return public_error_set(&session->public_error, &session->error, status);
}

void session_follow_settings(spate_session *session)
{
    uint64_t bytes = session->settings.values.process_memory.bytes;
    session->budget.limit_bytes = bytes == 0 ? budget_default_limit() : bytes;
}

static enum status session_apply(spate_session *session, const char *setting, struct error *err)
{
    const char *equals = strchr(setting, '=');
    const char *message;
    if (equals == NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "'%s' is not of the form key=value", setting);
    }
    char *key;
    TRY_ALLOC(key, arena_text(session->arena, setting, (size_t)(equals - setting)), err);
    return settings_set(&session->settings, key, equals + 1, &message, err);
}

static enum status session_init(spate_session *session, const char *const *settings, struct budget *parent, struct error *err)
{
    budget_init(&session->budget, parent, parent == NULL ? "process" : "task", budget_default_limit());
    session->clock = &clock_system;
    TRY_ALLOC(session->arena, arena_create(&session->budget, "session"), err);
    TRY_ALLOC(session->catalog, catalog_create(&session->budget), err);
    catalog_set_system(session->catalog, control_table_find, session);
    TRY(settings_open(&session->settings, session->arena, err));
    session->opened = true;
    for (; settings != NULL && *settings != NULL; settings++) {
        TRY(session_apply(session, *settings, err));
    }
    session_follow_settings(session);
    return STATUS_OK;
}

int session_open_below(const char *const *settings, struct budget *parent, spate_session **session)
{
    spate_session *created = calloc(1, sizeof *created);
    *session = created;
    if (created == NULL) {
        return SPATE_ERROR_LIMIT;
    }
    pthread_mutex_init(&created->mutex, NULL);
    enum status status = session_init(created, settings, parent, &created->error);
    return status == STATUS_OK ? SPATE_OK : session_fail(created, status);
}

int spate_session_open(const char *const *settings, spate_session **session)
{
    return session_open_below(settings, NULL, session);
}

void spate_session_close(spate_session *session)
{
    if (session == NULL) {
        return;
    }
    while (session->results != NULL) {
        spate_result_close(session->results);
    }
    if (session->catalog != NULL) {
        catalog_destroy(session->catalog);
        catalog_table_unref(session->control_table);
    }
    durable_close_session(session);
    arena_destroy(session->arena);
    pthread_mutex_destroy(&session->mutex);
    free(session);
    buffer_trim();
}

const struct spate_error *spate_session_error(const spate_session *session)
{
    return &session->public_error;
}

void spate_cancel_planning(spate_session *session)
{
    atomic_store(&session->planning_cancelled, true);
}

void spate_cancel(spate_session *session)
{
    atomic_store(&session->cancelled, true);
    spate_cancel_planning(session);
    pthread_mutex_lock(&session->mutex);
    if (session->running != NULL) {
        job_cancel(session->running);
    }
    pthread_mutex_unlock(&session->mutex);
}

bool spate_is_complete(const char *sql, size_t length)
{
    return sql_is_complete((struct text){sql, length});
}

/* ---- statements ---- */

static enum status session_run(spate_session *session, const char *sql, size_t length, size_t *offset, enum statement_mode mode,
                               spate_result **result, struct error *err)
{
    spate_result *created;
    TRY(result_create(session, SPATE_RESULT_DONE, &created, err));
    const struct ast_statement *statement = NULL;
    size_t next = *offset;
    const char *copy = arena_text(created->arena, sql, length); /* the tree points into its text */
    enum status status = copy == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for the statement's text")
                                      : sql_parse_statement(created->arena, (struct text){copy, length}, *offset, &statement, &next, err);
    if (status == STATUS_OK) {
        *offset = next;
        if (statement != NULL) {
            session->statement_count++;
            status = statement_run(session, created->arena, statement, mode, created, err);
        }
    }
    if (status != STATUS_OK || statement == NULL) {
        spate_result_close(created);
        return status;
    }
    *result = created;
    return STATUS_OK;
}

static int session_call(spate_session *session, const char *sql, size_t length, size_t *offset, enum statement_mode mode,
                        spate_result **result)
{
    *result = NULL;
    enum status status;
    if (!session->opened || *offset > length) {
        status = error_set(&session->error, ERROR_MISUSE, "the session is not open, or the offset is past the text");
    } else {
        atomic_store(&session->cancelled, false);
        atomic_store(&session->planning_cancelled, false);
        status = session_run(session, sql, length, offset, mode, result, &session->error);
    }
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}

int spate_execute(spate_session *session, const char *sql, size_t length, size_t *offset, spate_result **result)
{
    return session_call(session, sql, length, offset, STATEMENT_EXECUTE, result);
}

int spate_check(spate_session *session, const char *sql, size_t length, size_t *offset, spate_result **result)
{
    return session_call(session, sql, length, offset, STATEMENT_CHECK, result);
}

int spate_explain(spate_session *session, const char *sql, size_t length, size_t *offset, spate_result **result)
{
    return session_call(session, sql, length, offset, STATEMENT_EXPLAIN, result);
}
