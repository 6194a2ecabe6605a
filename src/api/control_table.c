/* spate.control_log: the edits of all jobs of the storage, as their control logs have them when the statement begins. A table fed by us: it is
 * made anew for each statement that names it. */
#include <string.h>

#include "api/coordinator.h"
#include "api/session.h"
#include "cluster/control/log_register.h"
#include "connectors/feed.h"
#include "job/edits.h"
#include "storage/job_records.h"

struct cell {
    const char *text; /* NULL: no value, of a text */
    int64_t number;
};
struct row {
    const struct job_record *job;
    const struct control_fold *fold;
    const struct control_entry *edit;
};

static struct cell text_cell(const char *text)
{
    return (struct cell){.text = text};
}

static struct cell number_cell(uint64_t number)
{
    return (struct cell){.number = (int64_t)number};
}

static struct cell job_of(const struct row *row)
{
    return text_cell(row->job->name);
}

static struct cell index_of(const struct row *row)
{
    return number_cell(row->edit->index);
}

static struct cell rank_of(const struct row *row)
{
    return number_cell(row->edit->rank);
}

static struct cell id_of(const struct row *row)
{
    return text_cell(row->edit->id);
}

static struct cell key_of(const struct row *row)
{
    return text_cell(row->edit->propose.key);
}

static struct cell verb_of(const struct row *row)
{
    return text_cell(row->edit->propose.verb);
}

static struct cell args_of(const struct row *row)
{
    return text_cell(row->edit->propose.args);
}

static struct cell state_of(const struct row *row)
{
    return text_cell(control_state_text(row->edit->state));
}

static struct cell code_of(const struct row *row)
{
    const struct control_entry *edit = row->edit;
    return text_cell(edit->reason == NULL && edit->failure_count > 0 ? edit->failures[0].code : edit->code);
}

static struct cell reason_of(const struct row *row)
{
    const struct control_entry *edit = row->edit;
    return text_cell(edit->reason == NULL && edit->failure_count > 0 ? edit->failures[0].reason : edit->reason);
}

static struct cell actor_of(const struct row *row)
{
    return text_cell(row->edit->propose.actor);
}

static struct cell time_of(const struct row *row)
{
    return (struct cell){.number = row->edit->at_ms * 1000};
}

static struct cell applied_of(const struct row *row)
{
    return number_cell(control_fold_applied(row->fold, row->edit));
}

static struct cell tasks_of(const struct row *row)
{
    return number_cell(row->edit->of);
}

static struct cell result_of(const struct row *row)
{
    return text_cell(row->edit->result);
}

static const struct {
    const char *name, *type;
    struct cell (*get)(const struct row *row);
} columns[] = {
    {"job", "STRING NOT NULL", job_of},
    {"index", "BIGINT NOT NULL", index_of},
    {"rank", "BIGINT NOT NULL", rank_of},
    {"id", "STRING NOT NULL", id_of},
    {"key", "STRING", key_of},
    {"verb", "STRING NOT NULL", verb_of},
    {"args", "STRING", args_of},
    {"state", "STRING NOT NULL", state_of},
    {"code", "STRING", code_of},
    {"reason", "STRING", reason_of},
    {"actor", "STRING", actor_of},
    {"at", "TIMESTAMP_LTZ(3) NOT NULL", time_of},
    {"applied", "BIGINT NOT NULL", applied_of},
    {"of", "BIGINT NOT NULL", tasks_of},
    {"result", "STRING", result_of},
};

struct filling {
    spate_session *session;
    struct arena *arena;
    struct cluster_session *coordinator;
    struct random_source random;
    struct feed *feed;
};

/* ---- rows ---- */

static enum status put_text(struct string_heap *heap, uint32_t place, const char *text, struct error *err)
{
    struct vector *vector = heap->target;
    size_t length = text == NULL ? 0 : strlen(text);
    char *copy = NULL;
    if (length > STRING_INLINE_BYTES) {
        copy = string_heap_alloc(heap, length, err);
        if (copy == NULL) {
            return err->status;
        }
        memcpy(copy, text, length);
    }
    vector_strings(vector)[place] = string_view_make(copy != NULL ? copy : text == NULL ? "" : text, length);
    if (text == NULL) {
        vector_set_null(vector, place);
    }
    return STATUS_OK;
}

static enum status fill_column(const struct filling *self, struct row *row, uint32_t first, uint32_t number, struct vector *vector,
                               struct error *err)
{
    struct string_heap heap = {.budget = &self->session->budget, .target = vector};
    if (vector->physical == PHYSICAL_STRING) {
        TRY(vector_need_validity(&self->session->budget, vector, vector->count, err));
    }
    for (uint32_t i = 0; i < vector->count; i++) {
        row->edit = &row->fold->entries[first + i];
        struct cell cell = columns[number].get(row);
        if (vector->physical == PHYSICAL_STRING) {
            TRY(put_text(&heap, i, cell.text, err));
        } else {
            vector_int64(vector)[i] = cell.number;
        }
    }
    return STATUS_OK;
}

static enum status fill_batch(const struct filling *self, struct row *row, uint32_t first, struct batch *batch, struct error *err)
{
    const struct type *type = feed_row(self->feed);
    for (uint32_t c = 0; c < ARRAY_LENGTH(columns); c++) {
        TRY(vector_create(&self->session->budget, type->children[c], batch->count, &batch->columns[c], err));
        TRY(fill_column(self, row, first, c, &batch->columns[c], err));
    }
    return STATUS_OK;
}

static enum status add_edits(const struct filling *self, const struct job_record *job, const struct control_fold *fold, struct error *err)
{
    struct row row = {.job = job, .fold = fold};
    for (uint32_t first = 0; first < fold->entry_count; first += CHUNK_ROWS) {
        struct batch batch;
        uint32_t left = fold->entry_count - first;
        TRY(batch_init(&batch, ARRAY_LENGTH(columns), err));
        batch.count = left < CHUNK_ROWS ? left : CHUNK_ROWS;
        enum status status = fill_batch(self, &row, first, &batch, err);
        if (status != STATUS_OK) {
            batch_release(&batch);
            return status;
        }
        TRY(feed_push_batch(self->feed, 0, &batch, err));
    }
    return STATUS_OK;
}

static enum status add_job(void *context, const struct job_record *record, bool *stop, struct error *err)
{
    struct filling *self = context;
    struct control_log *log;
    char prefix[EDITS_PREFIX_BYTES];
    (void)stop;
    TRY(control_log_open(self->coordinator, edits_prefix(record->id, prefix), &self->session->budget, NULL, &self->random, &log, err));
    enum status status = control_log_read(log, err);
    if (status == STATUS_OK) {
        status = add_edits(self, record, control_log_fold(log), err);
    }
    control_log_close(log);
    if (status != STATUS_OK) {
        error_add_context(err, "while reading the control log of job '%s'", record->name);
    }
    return status;
}

static enum status add_all(struct filling *self, struct error *err)
{
    random_open(&self->random, 0);
    TRY(durable_storage(self->session, err));
    TRY(coordinator_open(self->session, "what spate.control_log reads", NULL, &self->coordinator, err));
    enum status status = job_record_list(self->session->storage, NULL, add_job, self, err);
    cluster_close(self->coordinator, true);
    return status;
}

/* ---- the table ---- */

static enum status define(struct filling *self, struct catalog_table **table, struct error *err)
{
    struct text_builder text = {0};
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
        text_append_format(&text, "%s`%s` %s", i == 0 ? "" : ", ", columns[i].name, columns[i].type);
    }
    enum status status = text.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a table")
                                     : feed_table_make(self->session, self->arena, "control_log", text.bytes, 1, &self->feed, table, err);
    text_builder_close(&text);
    return status;
}

static enum status make(struct filling *self, struct catalog_table **table, struct error *err)
{
    TRY_ALLOC(self->arena, arena_create(&self->session->budget, "spate.control_log"), err);
    TRY(define(self, table, err));
    feed_keep(self->feed, true);
    TRY(add_all(self, err));
    feed_end(self->feed);
    return STATUS_OK;
}

enum status control_table_find(void *context, const char *name, struct catalog_table **table, struct error *err)
{
    struct filling self = {.session = context};
    struct catalog_table *made = NULL;
    *table = NULL;
    if (strcmp(name, "control_log") != 0) {
        return STATUS_OK;
    }
    enum status status = make(&self, &made, err);
    feed_unref(self.feed);
    arena_destroy(self.arena);
    if (status != STATUS_OK) {
        catalog_table_unref(made);
        return status;
    }
    catalog_table_unref(self.session->control_table);
    *table = self.session->control_table = made;
    return STATUS_OK;
}
