#include "api/text_table.h"

#include <assert.h>
#include <string.h>

void text_table_open(struct text_table *table, struct arena *arena, struct budget *budget, uint32_t column_count, const char *const *names)
{
    assert(column_count > 0 && column_count <= TEXT_TABLE_COLUMNS_MAX);
    *table = (struct text_table){.arena = arena, .budget = budget, .column_count = column_count};
    for (uint32_t c = 0; c < column_count; c++) {
        table->names[c] = names[c];
    }
}

void text_table_add(struct text_table *table, const char *cell)
{
    const char **cells = arena_grow(table->arena, table->cells, &table->cell_capacity, table->cell_count + 1, sizeof *cells);
    const char *copy = cell == NULL ? NULL : arena_text(table->arena, cell, strlen(cell));
    if (cells == NULL || (cell != NULL && copy == NULL)) {
        table->failed = true;
        return;
    }
    table->cells = cells;
    table->cells[table->cell_count++] = copy;
}

/* Texts are views into the arena, copied into a heap of the batch so that it may outlive the statement. */
static enum status text_table_fill(const struct text_table *table, uint32_t first_row, uint32_t column, struct vector *vector,
                                   struct error *err)
{
    uint32_t count = vector->count;
    struct string_heap heap = {.budget = table->budget, .target = vector};
    TRY(vector_need_validity(table->budget, vector, count, err));
    for (uint32_t r = 0; r < count; r++) {
        const char *cell = table->cells[(first_row + r) * table->column_count + column];
        size_t length = cell == NULL ? 0 : strlen(cell);
        char *copy = NULL;
        if (length > STRING_INLINE_BYTES) {
            copy = string_heap_alloc(&heap, length, err);
            if (copy == NULL) {
                return err->status;
            }
            memcpy(copy, cell, length);
        }
        vector_strings(vector)[r] = string_view_make(copy != NULL ? copy : cell, length);
        if (cell == NULL) {
            vector_set_null(vector, r);
        }
    }
    return STATUS_OK;
}

static enum status text_table_put(const struct text_table *table, uint32_t first_row, uint32_t count, struct result_queue *queue,
                                  struct error *err)
{
    struct batch batch = {0};
    enum status status = batch_init(&batch, table->column_count, err);
    batch.count = count;
    for (uint32_t c = 0; c < table->column_count && status == STATUS_OK; c++) {
        status = vector_create(table->budget, &type_string, count, &batch.columns[c], err);
        if (status == STATUS_OK) {
            batch.columns[c].count = count;
            status = text_table_fill(table, first_row, c, &batch.columns[c], err);
        }
    }
    if (status == STATUS_OK) {
        status = result_queue_put(queue, &batch, NULL, err);
    }
    batch_release(&batch);
    return status;
}

enum status text_table_finish(struct text_table *table, struct schema *schema, struct result_queue *queue, struct error *err)
{
    if (table->failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the result");
    }
    assert(table->column_count > 0);
    struct column *columns;
    TRY_ALLOC(columns, arena_alloc(table->arena, table->column_count * sizeof *columns), err);
    for (uint32_t c = 0; c < table->column_count; c++) {
        columns[c] = (struct column){.name = table->names[c], .type = &type_string};
    }
    *schema = (struct schema){.count = table->column_count, .columns = columns};
    uint32_t rows = table->cell_count / table->column_count;
    for (uint32_t at = 0; at < rows; at += CHUNK_ROWS) {
        TRY(text_table_put(table, at, rows - at < CHUNK_ROWS ? rows - at : CHUNK_ROWS, queue, err));
    }
    return STATUS_OK;
}
