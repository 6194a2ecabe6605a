#include "circuit/operators/program_timers.h"

enum { STALE_MAX = 1024 };

static const struct type key_type = {.kind = TYPE_VARBINARY, .precision = LENGTH_MAX};
static const struct column columns[] = {{.name = "key", .type = &key_type}, {.name = "time", .type = &type_bigint_not_null}};
const struct schema program_timers_schema = {ARRAY_LENGTH(columns), columns};

enum status program_timers_open(struct program_timers *self, struct circuit *circuit, const char *name, struct error *err)
{
    return program_table_open(&self->table, circuit, name, &program_timers_schema, 1, err);
}

void program_timers_close(struct program_timers *self)
{
    if (self->table.circuit != NULL) {
        time_heap_release(&self->heap, self->table.circuit->budget);
    }
    program_table_close(&self->table);
}

static bool is_set(const void *context, const struct timed *item)
{
    const struct program_timers *self = context;
    uint32_t slot = (uint32_t)item->item;
    struct spate_cell time;
    if (slot >= key_table_slots(self->table.table) || !key_table_has(self->table.table, slot)) {
        return false;
    }
    program_table_values(&self->table, slot, &time);
    return time.integer == item->time;
}

static enum status push(struct program_timers *self, int64_t time, uint32_t slot, struct error *err)
{
    if (self->heap.count > 2 * key_table_count(self->table.table) + STALE_MAX) {
        time_heap_keep(&self->heap, is_set, self);
    }
    return time_heap_push(&self->heap, self->table.circuit->budget, time, slot, err);
}

enum status program_timers_set(struct program_timers *self, struct text key, int64_t time, struct error *err)
{
    const struct spate_cell name = spate_cell_bytes(key.bytes, key.length), at = spate_cell_integer(time);
    uint32_t slot;
    TRY(program_table_put(&self->table, &name, &at, &slot, err));
    return push(self, time, slot, err);
}

enum status program_timers_cancel(struct program_timers *self, struct text key, struct error *err)
{
    const struct spate_cell name = spate_cell_bytes(key.bytes, key.length);
    uint32_t slot;
    TRY(program_table_find(&self->table, &name, &slot, err));
    return slot == SLOT_NONE ? STATUS_OK : program_table_remove(&self->table, slot, err);
}

int64_t program_timers_next(struct program_timers *self)
{
    struct timed stale;
    while (self->heap.count > 0 && !is_set(self, &self->heap.items[0])) {
        (void)time_heap_pop(&self->heap, INT64_MAX, &stale);
    }
    return self->heap.count == 0 ? INT64_MAX : self->heap.items[0].time;
}

enum status program_timers_take(struct program_timers *self, int64_t until, struct text_builder *key, int64_t *time, bool *found,
                                struct error *err)
{
    struct timed due;
    struct vector column;
    struct spate_cell name;
    *found = program_timers_next(self) <= until && time_heap_pop(&self->heap, until, &due);
    if (!*found) {
        return STATUS_OK;
    }
    uint32_t slot = (uint32_t)due.item;
    *time = due.time;
    text_builder_clear(key);
    enum status status = program_table_key(&self->table, slot, &column, &name, err);
    if (status == STATUS_OK) {
        text_append(key, name.bytes, name.length);
        status = key->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the key of a timer") : STATUS_OK;
    }
    program_table_release_key(&self->table, &column);
    return status == STATUS_OK ? program_table_remove(&self->table, slot, err) : status;
}

enum status program_timers_restored(struct program_timers *self, struct error *err)
{
    const struct key_table *table = self->table.table;
    for (uint32_t slot = 0; slot < key_table_slots(table); slot++) {
        struct spate_cell time;
        if (key_table_has(table, slot)) {
            program_table_values(&self->table, slot, &time);
            TRY(push(self, time.integer, slot, err));
        }
    }
    return STATUS_OK;
}
