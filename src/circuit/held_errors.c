/* Small open-addressing tables from a row's hash to (weight, error). Few rows fail, so entries are scanned freely. */
#include "circuit/held_errors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/order.h"

enum { FIRST_CAPACITY = 64, TEXTS_MAX = 64 };

struct held_entry {
    uint64_t key;
    int64_t weight;
    uint32_t text; /* 1 + index into texts; 0: unused entry */
};
struct held_table {
    struct held_entry *entries;
    uint32_t capacity, used;
    struct error texts[TEXTS_MAX]; /* later rows share the last one */
    uint32_t text_count;
};
struct held_common { /* restored rows of an operator */
    pthread_mutex_t mutex;
    struct held_table table; /* keys: fixed once restored; weights: under the mutex */
    uint32_t arrived;        /* workers that have ended the tick */
};
struct held_meeting {
    uint32_t worker_count, count;
    struct held_common **commons; /* by the order of creation in a circuit */
};
struct held_errors {
    struct circuit *circuit;
    struct held_common *common; /* NULL: the circuit has no peers */
    struct held_table own;
};

/* ---- one table ---- */

static struct held_entry *held_find(struct held_entry *entries, uint32_t capacity, uint64_t key)
{
    uint32_t at = (uint32_t)key & (capacity - 1);
    while (entries[at].text != 0 && entries[at].key != key) {
        at = (at + 1) & (capacity - 1);
    }
    return &entries[at];
}

static enum status held_grow(struct held_table *table, struct error *err)
{
    uint32_t capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity * 2;
    struct held_entry *entries = calloc(capacity, sizeof *entries);
    if (entries == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for %u held back errors", table->used);
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < table->capacity; i++) {
        if (table->entries[i].text != 0 && table->entries[i].weight != 0) {
            *held_find(entries, capacity, table->entries[i].key) = table->entries[i];
            used++;
        }
    }
    free(table->entries);
    table->entries = entries;
    table->capacity = capacity;
    table->used = used;
    return STATUS_OK;
}

static uint32_t held_text(struct held_table *table, const struct error *error)
{
    const struct error *last = table->text_count == 0 ? NULL : &table->texts[table->text_count - 1];
    if (last != NULL && last->code == error->code && last->line == error->line && last->column == error->column &&
        strcmp(last->text, error->text) == 0) {
        return table->text_count;
    }
    if (table->text_count < TEXTS_MAX) {
        table->texts[table->text_count++] = *error;
    }
    return table->text_count;
}

static enum status held_table_add(struct held_table *table, uint64_t key, int64_t weight, const struct error *error, struct error *err)
{
    if (table->used * 2 >= table->capacity) {
        TRY(held_grow(table, err));
    }
    struct held_entry *entry = held_find(table->entries, table->capacity, key);
    if (entry->text == 0) {
        *entry = (struct held_entry){.key = key, .text = held_text(table, error)};
        table->used++;
    }
    entry->weight += weight;
    return STATUS_OK;
}

static enum status held_table_raise(const struct held_table *table, struct error *err)
{
    for (uint32_t i = 0; table->used > 0 && i < table->capacity; i++) {
        if (table->entries[i].text != 0 && table->entries[i].weight > 0) {
            *err = table->texts[table->entries[i].text - 1];
            return err->status;
        }
    }
    return STATUS_OK;
}

/* ---- the meeting of workers ---- */

enum status held_meeting_create(uint32_t worker_count, struct held_meeting **meeting, struct error *err)
{
    struct held_meeting *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for held back errors");
    }
    created->worker_count = worker_count;
    *meeting = created;
    return STATUS_OK;
}

void held_meeting_destroy(struct held_meeting *meeting)
{
    for (uint32_t i = 0; meeting != NULL && i < meeting->count; i++) {
        pthread_mutex_destroy(&meeting->commons[i]->mutex);
        free(meeting->commons[i]->table.entries);
        free(meeting->commons[i]);
    }
    if (meeting != NULL) {
        free(meeting->commons);
        free(meeting);
    }
}

static enum status meeting_join(struct held_meeting *meeting, uint32_t place, struct held_common **common, struct error *err)
{
    if (place == meeting->count) {
        struct held_common **commons = realloc(meeting->commons, (place + 1) * sizeof(struct held_common *));
        meeting->commons = commons == NULL ? meeting->commons : commons;
        struct held_common *created = commons == NULL ? NULL : calloc(1, sizeof *created);
        if (created == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for held back errors");
        }
        pthread_mutex_init(&created->mutex, NULL);
        meeting->commons[meeting->count++] = created;
    }
    *common = meeting->commons[place];
    return STATUS_OK;
}

/* false: the row was not restored. */
static bool common_add(struct held_common *common, uint64_t key, int64_t weight)
{
    if (common == NULL || common->table.used == 0) {
        return false;
    }
    pthread_mutex_lock(&common->mutex);
    struct held_entry *entry = held_find(common->table.entries, common->table.capacity, key);
    bool found = entry->text != 0;
    if (found) {
        entry->weight += weight;
    }
    pthread_mutex_unlock(&common->mutex);
    return found;
}

/* The last worker of the tick judges: before, a withdrawal may still be on its way to another one. */
static enum status common_check(struct held_common *common, uint32_t worker_count, struct error *err)
{
    if (common == NULL || common->table.used == 0) {
        return STATUS_OK;
    }
    enum status status = STATUS_OK;
    pthread_mutex_lock(&common->mutex);
    if (++common->arrived == worker_count) {
        common->arrived = 0;
        status = held_table_raise(&common->table, err);
    }
    pthread_mutex_unlock(&common->mutex);
    return status;
}

/* ---- of one worker ---- */

enum status held_errors_create(struct circuit *circuit, struct held_errors **held, struct error *err)
{
    struct held_common *common = NULL;
    uint32_t place = circuit->held_count++;
    if (circuit->held_meeting != NULL) {
        TRY(meeting_join(circuit->held_meeting, place, &common, err));
    }
    struct held_errors *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for held back errors");
    }
    created->circuit = circuit;
    created->common = common;
    *held = created;
    return STATUS_OK;
}

void held_errors_destroy(struct held_errors *held)
{
    if (held != NULL) {
        free(held->own.entries);
        free(held);
    }
}

enum status held_errors_add_key(struct held_errors *held, uint64_t key, int64_t weight, const struct error *error, struct error *err)
{
    return common_add(held->common, key, weight) ? STATUS_OK : held_table_add(&held->own, key, weight, error, err);
}

enum status held_errors_add(struct held_errors *held, const struct batch *batch, const struct row_failures *failures, struct error *err)
{
    struct selection rows = batch_selection(batch);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (!row_failures_has(failures, row)) {
            continue;
        }
        uint64_t key = HASH_NULL;
        for (uint32_t c = 0; c < batch->column_count; c++) {
            key = hash_combine(key, vector_hash_row(&batch->columns[c], row));
        }
        TRY(held_errors_add_key(held, key, batch_weight(batch, row), &failures->first, err));
    }
    return STATUS_OK;
}

enum status held_errors_check(struct held_errors *held, const struct tick *tick, struct error *err)
{
    if (tick->bounded && !tick->end) {
        return STATUS_OK;
    }
    TRY(held_table_raise(&held->own, err));
    return common_check(held->common, held->circuit->worker_count, err);
}

/* ---- as a state table ---- */

enum { CELL_KEY, CELL_WEIGHT, CELL_CODE, CELL_LINE, CELL_COLUMN, CELL_TEXT, CELL_COUNT };

static const struct column held_columns[] = {
    [CELL_KEY] = {.name = "key", .type = &type_bigint_not_null},       [CELL_WEIGHT] = {.name = "weight", .type = &type_bigint_not_null},
    [CELL_CODE] = {.name = "code", .type = &type_bigint_not_null},     [CELL_LINE] = {.name = "line", .type = &type_bigint_not_null},
    [CELL_COLUMN] = {.name = "column", .type = &type_bigint_not_null}, [CELL_TEXT] = {.name = "text", .type = &type_bytes},
};
static const struct schema held_schema = {CELL_COUNT, held_columns};
static const char *const held_layouts[CELL_COUNT] = {[CELL_TEXT] = "text"};
const struct snapshot_table held_errors_table = {
    .name = "held", .schema = &held_schema, .place = SNAPSHOT_ONE, .expiry = -1, .layouts = held_layouts};

static enum status held_table_save(const struct held_table *rows, struct snapshot_writer *writer, uint32_t table, uint64_t *id,
                                   struct error *err)
{
    for (uint32_t i = 0; i < rows->capacity; i++) {
        const struct held_entry *entry = &rows->entries[i];
        if (entry->text == 0 || entry->weight == 0) {
            continue;
        }
        const struct error *error = &rows->texts[entry->text - 1];
        const struct snapshot_cell cells[CELL_COUNT] = {
            [CELL_KEY] = {.number = (int64_t)entry->key}, [CELL_WEIGHT] = {.number = entry->weight},
            [CELL_CODE] = {.number = error->code},        [CELL_LINE] = {.number = error->line},
            [CELL_COLUMN] = {.number = error->column},    [CELL_TEXT] = {.bytes = text_from(error->text)},
        };
        TRY(snapshot_write_cells(writer, table, (*id)++, cells, err));
    }
    return STATUS_OK;
}

enum status held_errors_save(struct held_errors *held, struct snapshot_writer *writer, uint32_t table, struct error *err)
{
    uint64_t id = 0;
    TRY(snapshot_replace(writer, table, err));
    TRY(held_table_save(&held->own, writer, table, &id, err));
    bool with_common = held->common != NULL && held->circuit->worker == 0;
    return with_common ? held_table_save(&held->common->table, writer, table, &id, err) : STATUS_OK;
}

enum status held_errors_restore(struct held_errors *held, const struct snapshot_rows *rows, struct error *err)
{
    struct held_table *to = held->common != NULL ? &held->common->table : &held->own;
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        int64_t code = snapshot_number(rows->batch, row, CELL_CODE);
        const struct error_info *info = code < 0 || code > UINT32_MAX ? NULL : error_info_find((uint32_t)code);
        struct text text = snapshot_text(rows->batch, row, CELL_TEXT);
        struct error error = {.line = (uint32_t)snapshot_number(rows->batch, row, CELL_LINE),
                              .column = (uint32_t)snapshot_number(rows->batch, row, CELL_COLUMN)};
        if (info == NULL || text.length >= sizeof error.text) {
            return error_set(err, ERROR_STATE_CORRUPT, "a held back error has a code or a text that cannot be");
        }
        error.status = info->status;
        error.code = (enum error_code)code;
        memcpy(error.text, text.bytes, text.length);
        error.text[text.length] = '\0';
        TRY(held_table_add(to, (uint64_t)snapshot_number(rows->batch, row, CELL_KEY), snapshot_number(rows->batch, row, CELL_WEIGHT),
                           &error, err));
    }
    return STATUS_OK;
}
