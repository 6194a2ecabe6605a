#include "circuit/operators/program_table.h"

/* Nulls of a row, then its cells; a text: its bytes and length as two cells' worth. */
struct program_cell {
    union {
        int64_t integer;
        double real;
        char *bytes;
    };
    uint64_t length; /* of bytes */
};

static uint32_t null_words(const struct program_table *self)
{
    return self->value_count / 64 + 1;
}

static uint32_t record_bytes(const struct program_table *self)
{
    return null_words(self) * (uint32_t)sizeof(uint64_t) + self->value_count * (uint32_t)sizeof(struct program_cell);
}

static uint64_t *record_of(const struct program_table *self, uint32_t slot)
{
    uint8_t *records = key_table_values(self->table, 0);
    return (uint64_t *)(void *)(records + (size_t)slot * record_bytes(self));
}

static struct program_cell *cells_of(const struct program_table *self, uint64_t *record)
{
    return (struct program_cell *)(record + null_words(self));
}

static const struct column *value_column(const struct program_table *self, uint32_t value)
{
    return &self->schema->columns[self->key_count + value];
}

static bool is_text(const struct program_table *self, uint32_t value)
{
    return cell_kind_of(value_column(self, value)->type) == SPATE_CELL_TEXT;
}

static enum status check_columns(const struct program_table *self, struct error *err)
{
    for (uint32_t i = 0; i < self->schema->count; i++) {
        const struct column *column = &self->schema->columns[i];
        if (cell_kind_of(column->type) == SPATE_CELL_OTHER) {
            struct text_builder type = {0};
            type_print(column->type, &type);
            enum status status =
                error_set(err, ERROR_INVALID_DEFINITION, "column '%s' of state table '%s' is %s, which state tables cannot hold",
                          column->name, self->name, type.failed ? "" : type.bytes);
            text_builder_close(&type);
            return status;
        }
    }
    return STATUS_OK;
}

enum status program_table_open(struct program_table *self, struct circuit *circuit, const char *name, const struct schema *schema,
                               uint32_t key_count, struct error *err)
{
    const struct type **types;
    *self = (struct program_table){
        .name = name, .schema = schema, .key_count = key_count, .value_count = schema->count - key_count, .circuit = circuit};
    TRY(check_columns(self, err));
    slab_open(&self->texts, circuit->budget, sizeof(uint64_t));
    self->dirty.budget = self->cut.pending.budget = circuit->budget;
    self->cut.part = circuit->settings.chunk_rows;
    TRY_ALLOC(types, arena_alloc(circuit->arena, (key_count + 1) * sizeof *types), err);
    TRY_ALLOC(self->places, arena_alloc(circuit->arena, (schema->count + 1) * sizeof *self->places), err);
    TRY_ALLOC(self->cells, arena_alloc(circuit->arena, (schema->count + 1) * sizeof *self->cells), err);
    TRY(batch_init(&self->probe, key_count, err));
    self->probe.count = 1;
    for (uint32_t i = 0; i < schema->count; i++) {
        self->places[i] = i;
    }
    for (uint32_t i = 0; i < key_count; i++) {
        types[i] = schema->columns[i].type;
        TRY(vector_create(circuit->budget, types[i], 1, &self->probe.columns[i], err));
    }
    uint32_t bytes = record_bytes(self);
    return key_table_create(circuit->budget, types, key_count, &bytes, 1, &self->table, err);
}

void program_table_close(struct program_table *self)
{
    if (self->circuit == NULL) {
        return;
    }
    key_table_destroy(self->table);
    slab_close(&self->texts);
    dirty_slots_close(&self->dirty);
    slot_cut_close(&self->cut);
    batch_release(&self->probe);
}

size_t program_table_bytes(const struct program_table *self)
{
    return key_table_bytes(self->table) + self->texts.bytes;
}

/* ---- a row ---- */

static enum status make_probe(struct program_table *self, const struct spate_cell *key, uint64_t *hash, struct error *err)
{
    for (uint32_t i = 0; i < self->key_count; i++) {
        TRY(cell_check(&key[i], &self->schema->columns[i], err));
        TRY(cell_write(&key[i], self->circuit->budget, 1, NULL, &self->probe.columns[i], 0, err));
    }
    batch_hash(&self->probe, self->places, self->key_count, hash);
    return STATUS_OK;
}

enum status program_table_find(struct program_table *self, const struct spate_cell *key, uint32_t *slot, struct error *err)
{
    uint64_t hash;
    TRY(make_probe(self, key, &hash, err));
    key_table_find(self->table, &self->probe, self->places, &hash, slot);
    return STATUS_OK;
}

static void free_texts(struct program_table *self, uint64_t *record)
{
    struct program_cell *cells = cells_of(self, record);
    for (uint32_t i = 0; i < self->value_count; i++) {
        if (is_text(self, i)) {
            slab_free(&self->texts, cells[i].bytes, cells[i].length);
            cells[i] = (struct program_cell){.bytes = NULL};
        }
    }
}

/* All texts first, so that what finds no room has changed nothing. */
static enum status copy_texts(struct program_table *self, const struct spate_cell *values, char **copies, struct error *err)
{
    for (uint32_t i = 0; i < self->value_count; i++) {
        copies[i] = NULL;
        if (values[i].kind != SPATE_CELL_TEXT || values[i].length == 0) {
            continue;
        }
        copies[i] = slab_alloc(&self->texts, values[i].length);
        if (copies[i] == NULL) {
            while (i-- > 0) {
                slab_free(&self->texts, copies[i], values[i].length);
            }
            return error_set(err, ERROR_BUDGET_SPENT, "no room for a row of state table '%s'", self->name);
        }
        memcpy(copies[i], values[i].bytes, values[i].length);
    }
    return STATUS_OK;
}

static void set_record(struct program_table *self, uint64_t *record, const struct spate_cell *values, char *const *copies)
{
    struct program_cell *cells = cells_of(self, record);
    free_texts(self, record);
    memset(record, 0, null_words(self) * sizeof *record);
    for (uint32_t i = 0; i < self->value_count; i++) {
        cells[i] = (struct program_cell){.length = 0};
        if (values[i].kind == SPATE_CELL_NULL) {
            record[i / 64] |= UINT64_C(1) << (i % 64);
        } else if (values[i].kind == SPATE_CELL_TEXT) {
            cells[i] = (struct program_cell){.bytes = copies[i], .length = values[i].length};
        } else if (values[i].kind == SPATE_CELL_REAL) {
            cells[i].real = values[i].real;
        } else {
            cells[i].integer = values[i].integer;
        }
    }
}

static enum status put_row(struct program_table *self, uint64_t hash, const struct spate_cell *values, uint32_t *slot, struct error *err)
{
    enum { COLUMNS_MAX = 1024 };
    char *copies[COLUMNS_MAX];
    if (self->value_count > COLUMNS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "state table '%s' has more than %d columns", self->name, COLUMNS_MAX);
    }
    TRY(copy_texts(self, values, copies, err));
    enum status status = key_table_find_or_insert(self->table, &self->probe, self->places, &hash, slot, err);
    if (status == STATUS_OK) {
        status = slot_cut_keep(&self->cut, slot, 1, err);
    }
    if (status != STATUS_OK) {
        for (uint32_t i = 0; i < self->value_count; i++) {
            slab_free(&self->texts, copies[i], copies[i] == NULL ? 0 : values[i].length);
        }
        return status;
    }
    set_record(self, record_of(self, *slot), values, copies);
    return STATUS_OK;
}

enum status program_table_put(struct program_table *self, const struct spate_cell *key, const struct spate_cell *values, uint32_t *slot,
                              struct error *err)
{
    uint64_t hash;
    for (uint32_t i = 0; i < self->value_count; i++) {
        TRY(cell_check(&values[i], value_column(self, i), err));
    }
    TRY(make_probe(self, key, &hash, err));
    TRY(put_row(self, hash, values, slot, err));
    return self->circuit->incremental ? dirty_slots_mark(&self->dirty, *slot, err) : STATUS_OK;
}

enum status program_table_remove(struct program_table *self, uint32_t slot, struct error *err)
{
    TRY(slot_cut_keep(&self->cut, &slot, 1, err));
    free_texts(self, record_of(self, slot));
    key_table_remove(self->table, slot);
    return self->circuit->incremental ? dirty_slots_mark(&self->dirty, slot, err) : STATUS_OK;
}

static struct spate_cell read_value(const struct program_table *self, uint64_t *record, uint32_t value)
{
    const struct program_cell *stored = &cells_of(self, record)[value];
    struct spate_cell cell = spate_cell_null();
    if (((record[value / 64] >> (value % 64)) & 1) != 0) {
        return cell;
    }
    cell.kind = (int)cell_kind_of(value_column(self, value)->type);
    if (cell.kind == SPATE_CELL_TEXT) {
        cell.bytes = stored->bytes;
        cell.length = stored->length;
    } else if (cell.kind == SPATE_CELL_REAL) {
        cell.real = stored->real;
    } else {
        cell.integer = stored->integer;
    }
    return cell;
}

void program_table_values(const struct program_table *self, uint32_t slot, struct spate_cell *values)
{
    uint64_t *record = record_of(self, slot);
    for (uint32_t i = 0; i < self->value_count; i++) {
        values[i] = read_value(self, record, i);
    }
}

enum status program_table_key(struct program_table *self, uint32_t slot, struct vector *columns, struct spate_cell *key, struct error *err)
{
    for (uint32_t i = 0; i < self->key_count; i++) {
        columns[i] = (struct vector){0};
    }
    for (uint32_t i = 0; i < self->key_count; i++) {
        TRY(key_table_gather(self->table, i, &slot, 1, &columns[i], err));
        key[i] = cell_read(&columns[i], 0);
    }
    return STATUS_OK;
}

void program_table_release_key(const struct program_table *self, struct vector *columns)
{
    for (uint32_t i = 0; i < self->key_count; i++) {
        vector_release(&columns[i]);
    }
}

/* ---- checkpoints ---- */

static enum status value_columns(struct program_table *self, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    struct budget *budget = self->circuit->budget;
    struct vector *columns = &batch->columns[self->key_count];
    for (uint32_t i = 0; i < self->value_count; i++) {
        TRY(vector_create(budget, value_column(self, i)->type, count, &columns[i], err));
    }
    for (uint32_t i = 0; i < self->value_count; i++) {
        struct string_heap heap = {.budget = budget, .target = &columns[i]};
        for (uint32_t k = 0; k < count; k++) {
            struct spate_cell cell = read_value(self, record_of(self, slots[k]), i);
            TRY(cell_write(&cell, budget, count, &heap, &columns[i], k, err));
        }
    }
    return STATUS_OK;
}

static enum status table_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    struct program_table *self = owner;
    for (uint32_t i = 0; i < self->key_count; i++) {
        TRY(key_table_gather(self->table, i, slots, count, &batch->columns[i], err));
    }
    return value_columns(self, slots, count, batch, err);
}

enum status program_table_save(struct program_table *self, struct snapshot_writer *writer, uint32_t table, struct error *err)
{
    struct dirty_slots *dirty = self->circuit->incremental ? &self->dirty : NULL;
    return slot_cut_save(&self->cut, writer, table, self->schema->count, self->table, dirty, table_columns, self, NULL, err);
}

enum status program_table_restore(struct program_table *self, const struct snapshot_rows *rows, struct error *err)
{
    const struct batch *batch = rows->batch;
    for (uint32_t row = 0; row < batch->count; row++) {
        uint64_t hash;
        uint32_t slot;
        for (uint32_t i = 0; i < self->schema->count; i++) {
            self->cells[i] = cell_read(&batch->columns[i], row);
        }
        TRY(make_probe(self, self->cells, &hash, err));
        TRY(put_row(self, hash, &self->cells[self->key_count], &slot, err));
    }
    return STATUS_OK;
}
