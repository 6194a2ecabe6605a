/* The state of a job as rows (spate/operations.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/session.h"
#include "spate/operations.h"
#include "state/saved_tables.h"

struct reading {
    spate_session *session;
    spate_result *result;
    struct saved_reading tables;
};

static enum status take(void *context, const struct saved_table *table, const struct batch *rows, const struct snapshot_rows *stored,
                        struct error *err)
{
    (void)table;
    (void)stored;
    struct reading *self = context;
    struct batch batch = {0};
    TRY(batch_ref(rows, &batch, err));
    enum status status = result_queue_put(self->result->queue, &batch, NULL, err);
    if (status != STATUS_OK) {
        batch_release(&batch);
    }
    return status;
}

static enum status read_state(struct reading *self, const char *of, const char *operator_id, const char *table, struct error *err)
{
    struct saved_state state;
    self->tables = (struct saved_reading){.arena = self->result->arena,
                                          .budget = &self->session->budget,
                                          .operator_id = operator_id,
                                          .table = table,
                                          .take = take,
                                          .context = self};
    TRY(saved_state_open(self->session->storage, of, self->result->arena, &state, err));
    enum status status = saved_tables_read(&state, &self->tables, err);
    saved_state_close(&state);
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
    for (const struct saved_table *table = self->tables.tables; table != NULL; table = table->next) {
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
        status = read_state(&self, of, NULL, NULL, &session->error);
    }
    if (status == STATUS_OK) {
        status = list_tables(&self, &session->error);
    }
    return reading_end(&self, status, result);
}

int spate_state_rows(spate_session *session, const char *of, const char *operator_id, const char *table, spate_result **result)
{
    struct reading self;
    enum status status = reading_begin(&self, session, &session->error);
    const struct saved_table *chosen = NULL;
    if (status == STATUS_OK) {
        status = read_state(&self, of, operator_id, table, &session->error);
    }
    if (status == STATUS_OK) {
        status = saved_table_choose(&self.tables, &chosen, &session->error);
    }
    if (status == STATUS_OK) {
        self.result->schema = chosen->schema;
    }
    return reading_end(&self, status, result);
}
