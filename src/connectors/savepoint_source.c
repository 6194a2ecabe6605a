/* savepoint: a table of a saved state, as rows. The reader's rows come from a thread that reads the files and waits, batch by batch, until
 * the one before was taken: state may be larger than memory.
 *
 * Its place is the number of rows that were given, of this very state: its files never change, so the same rows come again. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/condition.h"
#include "connectors/built_in.h"
#include "connectors/position.h"
#include "state/saved_tables.h"

enum { PATIENCE_US = 100000 };

struct savepoint_settings {
    const char *path, *operator_id, *table;
};

static const struct option_def savepoint_options[] = {
    {.name = "path",
     OPTION_TEXT(struct savepoint_settings, path),
     .flags = OPTION_REQUIRED,
     .summary = "The path or URI of a savepoint; or a job's name, for its latest checkpoint in the session's storage; 'JOB@7': that one."},
    {.name = "operator",
     OPTION_TEXT(struct savepoint_settings, operator_id),
     .flags = OPTION_REQUIRED,
     .summary = "The operator, as `spate state ls` lists it."},
    {.name = "table",
     OPTION_TEXT(struct savepoint_settings, table),
     .summary = "The table of the operator; not needed where it has one only."},
};

/* What a row of state has beside its columns: by these the tables of an operator refer to each other. */
enum { METADATA_ROW_ID = UINT32_MAX - 1, METADATA_WORKER };
static const struct {
    const char *key;
    uint32_t column;
} metadata[] = {{"row-id", METADATA_ROW_ID}, {"worker", METADATA_WORKER}};

struct savepoint_source {
    struct source base;
    struct source_context context;
    struct storage *storage;
    struct saved_state state;
    const struct saved_table *table;
    uint32_t *columns; /* of the table, or METADATA_..., by column that is read */
};

/* ---- the state and its table ---- */

static enum status open_state(const struct storage_settings *settings, const struct savepoint_settings *options, struct arena *arena,
                              struct storage **storage, struct saved_state *state, struct error *err)
{
    *storage = NULL;
    TRY(storage_open(settings, storage, err));
    enum status status = saved_state_open(*storage, options->path, arena, state, err);
    if (status != STATUS_OK) {
        storage_close(*storage);
        *storage = NULL;
    }
    return status;
}

static enum status find_table(const struct saved_state *state, const struct savepoint_settings *options, struct arena *arena,
                              struct budget *budget, const struct saved_table **table, struct error *err)
{
    struct saved_reading reading = {.arena = arena, .budget = budget, .operator_id = options->operator_id, .table = options->table};
    TRY(saved_tables_read(state, &reading, err));
    enum status status = saved_table_choose(&reading, table, err);
    if (status != STATUS_OK) {
        error_add_context(err, "in %s", saved_state_where(state, arena));
    }
    return status;
}

static enum status savepoint_infer(const struct storage_settings *storage_settings, const void *settings, struct arena *arena,
                                   struct budget *budget, const struct schema **schema, struct error *err)
{
    struct storage *storage;
    struct saved_state state;
    const struct saved_table *table;
    TRY(open_state(storage_settings, settings, arena, &storage, &state, err));
    enum status status = find_table(&state, settings, arena, budget, &table, err);
    if (status == STATUS_OK) {
        *schema = &table->schema;
    }
    saved_state_close(&state);
    storage_close(storage);
    return status;
}

/* ---- columns ---- */

static enum status refuse_unknown(const struct saved_table *table, const char *name, struct error *err)
{
    const char *names[256];
    uint32_t count = table->schema.count < 256 ? table->schema.count : 256;
    for (uint32_t i = 0; i < count; i++) {
        names[i] = table->schema.columns[i].name;
    }
    const char *nearest = text_nearest(name, names, count);
    return error_set(err, ERROR_INVALID_DEFINITION, "table '%s' of operator %s has no column '%s'%s%s%s: it has %s", table->declared.name,
                     table->operator_id, name, nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                     nearest == NULL ? "" : "'?", table->columns);
}

static enum status check_type(const struct saved_table *table, const struct column *stored, const struct type *declared, struct error *err)
{
    if (type_equal_ignoring_nullable(stored->type, declared) && (declared->nullable || !stored->type->nullable)) {
        return STATUS_OK;
    }
    struct text_builder is = {0}, wanted = {0};
    type_print(stored->type, &is);
    type_print(declared, &wanted);
    enum status status = error_set(err, ERROR_INVALID_DEFINITION, "column '%s' of table '%s' of operator %s is %s, not %s", stored->name,
                                   table->declared.name, table->operator_id, is.bytes, wanted.bytes);
    text_builder_close(&is);
    text_builder_close(&wanted);
    return status;
}

static enum status find_column(const struct saved_table *table, const char *name, const struct type *type, uint32_t *column,
                               struct error *err)
{
    for (uint32_t i = 0; i < table->schema.count; i++) {
        if (strcmp(table->schema.columns[i].name, name) == 0) {
            *column = i;
            return check_type(table, &table->schema.columns[i], type, err);
        }
    }
    return refuse_unknown(table, name, err);
}

static enum status find_metadata(const struct source_column *wanted, uint32_t *column, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LENGTH(metadata); i++) {
        if (strcmp(metadata[i].key, wanted->metadata_key) == 0) {
            *column = metadata[i].column;
            return type_equal_ignoring_nullable(wanted->type, &type_bigint)
                       ? STATUS_OK
                       : error_set(err, ERROR_INVALID_DEFINITION, "the metadata '%s' is BIGINT", wanted->metadata_key);
        }
    }
    return error_set(err, ERROR_INVALID_DEFINITION, "the connector 'savepoint' has no metadata '%s'; it has 'row-id' and 'worker'",
                     wanted->metadata_key);
}

static enum status check_columns(struct savepoint_source *self, struct error *err)
{
    const struct source_context *context = &self->context;
    uint32_t ignored;
    for (uint32_t i = 0; context->physical != NULL && i < context->physical->child_count; i++) {
        TRY(find_column(self->table, context->physical->names[i], context->physical->children[i], &ignored, err));
    }
    TRY_ALLOC(self->columns, arena_alloc(context->arena, (context->column_count + 1) * sizeof *self->columns), err);
    for (uint32_t i = 0; i < context->column_count; i++) {
        const struct source_column *column = &context->columns[i];
        TRY(column->metadata_key != NULL ? find_metadata(column, &self->columns[i], err)
                                         : find_column(self->table, column->name, column->type, &self->columns[i], err));
    }
    return STATUS_OK;
}

static enum status savepoint_open_source(const struct source_context *context, const void *settings, struct source **source,
                                         struct error *err)
{
    struct savepoint_source *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    *self = (struct savepoint_source){.base = {.type = &savepoint_source_type, .partition_count = 1, .bounded = true}, .context = *context};
    TRY(open_state(context->storage, settings, context->arena, &self->storage, &self->state, err));
    enum status status = find_table(&self->state, settings, context->arena, context->budget, &self->table, err);
    if (status == STATUS_OK) {
        status = check_columns(self, err);
    }
    if (status != STATUS_OK) {
        source_close(&self->base);
        return status;
    }
    *source = &self->base;
    return STATUS_OK;
}

static void savepoint_close_source(struct source *source)
{
    struct savepoint_source *self = (struct savepoint_source *)source;
    saved_state_close(&self->state);
    storage_close(self->storage);
}

/* ---- the thread that reads ---- */

struct savepoint_reader {
    struct reader base;
    struct arena *arena; /* of the thread's reading */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct batch given; /* waits to be taken; count 0: nothing does */
    bool ended, leaving;
    enum status status;
    struct error error;
    /* the thread's until it has started, then nobody's */
    int64_t skip; /* rows that were given before */
    /* the caller's */
    struct batch current;
    uint32_t used;
    int64_t next; /* number of the next row */
};

/* Rows of a batch: all of them, or some of the end. */
struct taken {
    const struct batch *rows;
    const struct snapshot_rows *stored;
    uint32_t first, count;
    uint16_t kept[CHUNK_ROWS]; /* unless all are */
};

static enum status metadata_column(const struct taken *taken, struct budget *budget, uint32_t column, const struct type *type,
                                   struct vector *vector, struct error *err)
{
    TRY(vector_create(budget, type, taken->count, vector, err));
    for (uint32_t i = 0; i < taken->count; i++) {
        vector_int64(vector)[i] = column == METADATA_WORKER ? taken->stored->chain : (int64_t)taken->stored->ids[taken->first + i];
    }
    return STATUS_OK;
}

static enum status choose_column(const struct savepoint_source *source, const struct taken *taken, uint32_t i, struct vector *vector,
                                 struct error *err)
{
    uint32_t column = source->columns[i];
    struct budget *budget = source->context.budget;
    if (column >= METADATA_ROW_ID) {
        return metadata_column(taken, budget, column, source->context.columns[i].type, vector, err);
    }
    const struct vector *from = &taken->rows->columns[column];
    return taken->first == 0 ? vector_ref(from, vector, err) : vector_gather(budget, from, taken->kept, taken->count, vector, err);
}

static enum status choose_columns(const struct savepoint_source *source, struct taken *taken, struct batch *batch, struct error *err)
{
    for (uint32_t i = 0; i < taken->count; i++) {
        taken->kept[i] = (uint16_t)(taken->first + i);
    }
    TRY(batch_init(batch, source->context.column_count, err));
    batch->count = taken->count;
    for (uint32_t i = 0; i < source->context.column_count; i++) {
        enum status status = choose_column(source, taken, i, &batch->columns[i], err);
        if (status != STATUS_OK) {
            batch_release(batch);
            return status;
        }
    }
    return STATUS_OK;
}

/* Waits until the batch before was taken. */
static enum status give(void *context, const struct saved_table *table, const struct batch *rows, const struct snapshot_rows *stored,
                        struct error *err)
{
    (void)table;
    struct savepoint_reader *self = context;
    struct batch batch;
    uint32_t passed = self->skip < rows->count ? (uint32_t)self->skip : rows->count;
    self->skip -= passed;
    if (passed == rows->count) {
        return STATUS_OK;
    }
    struct taken taken = {.rows = rows, .stored = stored, .first = passed, .count = rows->count - passed};
    TRY(choose_columns((const struct savepoint_source *)self->base.source, &taken, &batch, err));
    pthread_mutex_lock(&self->mutex);
    while (self->given.count > 0 && !self->leaving) {
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    bool leaving = self->leaving;
    if (!leaving) {
        self->given = batch;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->mutex);
    if (leaving) {
        batch_release(&batch);
        return error_set(err, ERROR_CANCELLED, "the reader was closed");
    }
    return STATUS_OK;
}

static void *read_all(void *context)
{
    struct savepoint_reader *self = context;
    const struct savepoint_source *source = (const struct savepoint_source *)self->base.source;
    struct error err = {0};
    struct saved_reading reading = {.arena = self->arena,
                                    .budget = source->context.budget,
                                    .operator_id = source->table->operator_id,
                                    .table = source->table->declared.name,
                                    .take = give,
                                    .context = self};
    enum status status = saved_tables_read(&source->state, &reading, &err);
    pthread_mutex_lock(&self->mutex);
    self->status = status;
    self->error = err;
    self->ended = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    buffer_trim();
    return NULL;
}

static enum status savepoint_reader_open(struct source *source, uint32_t partition, struct reader **reader, struct error *err)
{
    struct savepoint_reader *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->base = (struct reader){source, partition};
    self->arena = arena_create(((struct savepoint_source *)source)->context.budget, "savepoint");
    if (self->arena == NULL) {
        free(self);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a reader");
    }
    pthread_mutex_init(&self->mutex, NULL);
    condition_init(&self->changed);
    *reader = &self->base;
    return STATUS_OK;
}

static void savepoint_reader_close(struct reader *reader)
{
    struct savepoint_reader *self = (struct savepoint_reader *)reader;
    pthread_mutex_lock(&self->mutex);
    self->leaving = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    if (self->has_thread) {
        pthread_join(self->thread, NULL);
    }
    batch_release(&self->given);
    batch_release(&self->current);
    arena_destroy(self->arena);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->changed);
    free(self);
}

/* ---- the caller's side ---- */

static enum status start(struct savepoint_reader *self, struct error *err)
{
    if (!self->has_thread && pthread_create(&self->thread, NULL, read_all, self) != 0) {
        return error_set(err, ERROR_THREAD, "no thread for the reader of a savepoint");
    }
    self->has_thread = true;
    return STATUS_OK;
}

/* The next batch becomes `current`; READ_IDLE: it is not there yet. */
static enum status fetch(struct savepoint_reader *self, enum read_state *state, struct error *err)
{
    const struct timespec until = condition_deadline(PATIENCE_US);
    enum status status = STATUS_OK;
    pthread_mutex_lock(&self->mutex);
    while (self->given.count == 0 && !self->ended && condition_wait(&self->changed, &self->mutex, &until)) {
    }
    *state = self->given.count > 0 ? READ_ROWS : self->ended ? READ_END : READ_IDLE;
    if (*state == READ_ROWS) {
        batch_release(&self->current);
        self->current = self->given;
        self->given = (struct batch){0};
        self->used = 0;
        pthread_cond_broadcast(&self->changed);
    } else if (*state == READ_END && self->status != STATUS_OK) {
        *err = self->error;
        status = self->status;
    }
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static enum status current_rows(struct savepoint_reader *self, uint32_t row_limit, struct batch *batch, struct error *err)
{
    const struct source_context *context = &((const struct savepoint_source *)self->base.source)->context;
    uint32_t rest = self->current.count - self->used, count = rest < row_limit ? rest : row_limit;
    uint16_t rows[CHUNK_ROWS];
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = (uint16_t)(self->used + i);
    }
    TRY(count == self->current.count ? batch_ref(&self->current, batch, err)
                                     : batch_gather(context->budget, &self->current, rows, count, batch, err));
    batch->ordered = true;
    batch->ordinal_base = self->next;
    batch->partition = self->base.partition;
    self->used += count;
    self->next += count;
    if (context->counters != NULL) {
        atomic_fetch_add_explicit(&context->counters->rows, count, memory_order_relaxed);
    }
    return STATUS_OK;
}

static enum status savepoint_read(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                                  struct error *err)
{
    struct savepoint_reader *self = (struct savepoint_reader *)reader;
    *state = READ_ROWS;
    *wait_us = 0;
    TRY(start(self, err));
    if (self->used == self->current.count) {
        TRY(fetch(self, state, err));
    }
    return *state == READ_ROWS ? current_rows(self, row_limit, batch, err) : STATUS_OK;
}

static const char kind[] = "savepoint/1";

static enum status savepoint_position(struct reader *reader, struct text_builder *place, struct error *err)
{
    (void)err;
    const struct savepoint_source *source = (const struct savepoint_source *)reader->source;
    text_append_text(place, kind);
    position_put_number(place, "rows", ((const struct savepoint_reader *)reader)->next);
    uint64_t checkpoint;
    int64_t created_us;
    saved_state_identity(&source->state, &checkpoint, &created_us);
    position_put_number(place, "checkpoint", (int64_t)checkpoint);
    position_put_number(place, "created", created_us);
    return STATUS_OK;
}

static enum status savepoint_seek(struct reader *reader, const struct source_position *position, struct error *err)
{
    struct savepoint_reader *self = (struct savepoint_reader *)reader;
    const struct saved_state *state = &((const struct savepoint_source *)reader->source)->state;
    int64_t checkpoint, created_us, created_now_us;
    uint64_t now;
    saved_state_identity(state, &now, &created_now_us);
    TRY(position_check(position->place, kind, err));
    TRY(position_get_number(position->place, "rows", &self->next, err));
    TRY(position_get_number(position->place, "checkpoint", &checkpoint, err));
    TRY(position_get_number(position->place, "created", &created_us, err));
    if (checkpoint != (int64_t)now || created_us != created_now_us) {
        return error_set(err, ERROR_POSITION_LOST,
                         "the state that was read was checkpoint %lld of job '%s', now it is checkpoint %llu: name it",
                         (long long)checkpoint, state->manifests[0].job, (unsigned long long)now);
    }
    self->skip = self->next;
    return STATUS_OK;
}

const struct source_type savepoint_source_type = {
    .name = "savepoint",
    .summary =
        "A table of a checkpoint or savepoint, as rows; without columns the table gets those of the state. Metadata: row-id and worker, by "
        "which the tables of an operator refer to each other.",
    .options = savepoint_options,
    .option_count = ARRAY_LENGTH(savepoint_options),
    .settings_bytes = sizeof(struct savepoint_settings),
    .traits = SOURCE_BOUNDED | SOURCE_REPLAYABLE | SOURCE_LOOKUP,
    .open = savepoint_open_source,
    .reader_open = savepoint_reader_open,
    .read = savepoint_read,
    .reader_close = savepoint_reader_close,
    .close = savepoint_close_source,
    .position = savepoint_position,
    .seek = savepoint_seek,
    .infer = savepoint_infer,
};
