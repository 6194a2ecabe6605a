#include "circuit/operators/row_state.h"

#include <stdlib.h>

struct row_save {
    struct node *node;
    struct snapshot_writer *writer;
    const struct row_store *store;
    struct touched_rows *touched;
    uint32_t table, stored_count, number_count, count;
    bool all;
    struct id_set written; /* of the touched ones */
    uint64_t ids[CHUNK_ROWS];
    int64_t numbers[ROW_STATE_NUMBERS][CHUNK_ROWS];
};

const char row_state_written_name[] = "written";

enum status row_state_declare(struct arena *arena, const struct schema *stored, const char *const *numbers, uint32_t count,
                              const char *name, struct snapshot_table *table, struct error *err)
{
    struct column columns[ROW_STATE_NUMBERS];
    for (uint32_t i = 0; i < count; i++) {
        const struct type *type = numbers[i] == row_state_written ? &type_bigint : &type_bigint_not_null;
        columns[i] = (struct column){.name = numbers[i], .type = type};
    }
    *table = (struct snapshot_table){.name = name, .expiry = -1};
    return state_schema_make(arena, stored, NULL, stored->count, columns, count, &table->schema, err);
}

void touched_rows_open(struct touched_rows *touched, const struct circuit *circuit)
{
    *touched = (struct touched_rows){.followed = circuit->incremental, .ids = {.budget = circuit->budget}};
}

void touched_rows_close(struct touched_rows *touched)
{
    id_set_close(&touched->ids);
}

enum status row_save_begin(struct node *node, struct snapshot_writer *writer, uint32_t table, const struct row_store *store,
                           struct touched_rows *touched, struct row_save **save, struct error *err)
{
    struct row_save *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a checkpoint");
    }
    created->node = node;
    created->writer = writer;
    created->store = store;
    created->touched = touched;
    created->table = table;
    created->stored_count = row_store_column_count(store);
    created->number_count = node->tables[table].schema->count - created->stored_count;
    created->all = touched == NULL || !touched->followed || snapshot_is_full(writer);
    created->written.budget = node_budget(node);
    *save = created;
    bool replaces = touched != NULL && !touched->followed && !snapshot_is_full(writer);
    enum status status = replaces ? snapshot_replace(writer, table, err) : STATUS_OK;
    return status == STATUS_OK ? STATUS_OK : row_save_end(created, status, false, err);
}

static enum status number_column(struct row_save *save, uint32_t number, struct vector *vector, struct error *err)
{
    const struct column *column = &save->node->tables[save->table].schema->columns[save->stored_count + number];
    if (column->name == row_state_written && save->numbers[number][0] == TTL_NO_TIME) { /* then all are */
        *vector = (struct vector){.type = &type_bigint, .physical = PHYSICAL_NULL, .count = save->count};
        return STATUS_OK;
    }
    return state_number_column(node_budget(save->node), save->numbers[number], save->count, vector, err);
}

static enum status save_flush(struct row_save *save, struct error *err)
{
    struct batch batch = {0};
    if (save->count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, save->stored_count + save->number_count, err));
    batch.count = save->count;
    enum status status = row_store_gather(save->store, save->ids, save->count, NULL, save->stored_count, batch.columns, err);
    for (uint32_t i = 0; i < save->number_count && status == STATUS_OK; i++) {
        status = number_column(save, i, &batch.columns[save->stored_count + i], err);
    }
    if (status == STATUS_OK) {
        status = snapshot_keep(save->writer, save->table, save->ids, 0, &batch, err);
    }
    batch_release(&batch);
    save->count = 0;
    return status;
}

enum status row_save_add(struct row_save *save, row_handle row, const int64_t *numbers, struct error *err)
{
    snapshot_note_live(save->writer, 1);
    if (!save->all) {
        if (!id_set_has(&save->touched->ids, row)) {
            return STATUS_OK;
        }
        TRY(id_set_add(&save->written, row, err));
    }
    save->ids[save->count] = row;
    for (uint32_t i = 0; i < save->number_count; i++) {
        save->numbers[i][save->count] = numbers[i];
    }
    return ++save->count == CHUNK_ROWS ? save_flush(save, err) : STATUS_OK;
}

static enum status remove_gone(struct row_save *save, struct error *err)
{
    const struct id_set *touched = &save->touched->ids;
    uint32_t count = 0;
    for (uint32_t i = 0; i < touched->capacity; i++) {
        uint64_t id = touched->cells[i];
        if (id == 0 || id_set_has(&save->written, id)) {
            continue;
        }
        save->ids[count++] = id;
        if (count == CHUNK_ROWS) {
            TRY(snapshot_remove(save->writer, save->table, save->ids, count, err));
            count = 0;
        }
    }
    return snapshot_remove(save->writer, save->table, save->ids, count, err);
}

enum status row_save_end(struct row_save *save, enum status status, bool removes, struct error *err)
{
    if (status == STATUS_OK) {
        status = save_flush(save, err);
    }
    if (status == STATUS_OK && removes && !save->all) {
        status = remove_gone(save, err);
    }
    id_set_close(&save->written);
    if (save->touched != NULL) {
        id_set_close(&save->touched->ids);
    }
    free(save);
    return status;
}
