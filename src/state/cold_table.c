#include "state/cold_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "state/cold_table_internal.h"
#include "state/slot_array.h"

enum { MARKS_MIN = 256 };

enum status cold_no_memory(struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for units of state on their way to or from the database");
}

enum status cold_need_scratch(struct cold_table *cold, struct error *err)
{
    struct cold_scratch *scratch = *cold->scratch;
    if (scratch == NULL) {
        if (!budget_charge(cold->budget, sizeof *scratch)) {
            return cold_no_memory(err);
        }
        scratch = *cold->scratch = calloc(1, sizeof *scratch);
        if (scratch == NULL) {
            budget_release(cold->budget, sizeof *scratch);
            return cold_no_memory(err);
        }
    }
    scratch->count = 0;
    text_builder_clear(&scratch->bytes);
    return STATUS_OK;
}

enum status cold_append_scope(const struct cold_table *cold, struct text_builder *out, struct error *err)
{
    cold_append_prefix(cold->layouts[0].operator_id, out);
    text_append(out, cold->scope.bytes, cold->scope.length);
    return out->failed ? cold_no_memory(err) : STATUS_OK;
}

static enum status open_part(struct cold_table *cold, uint32_t part, const struct cold_layout *layout, struct error *err)
{
    assert(layout->value_count > 0);
    uint32_t key_count = layout->key_count - layout->scope_count;
    uint32_t *columns = malloc((key_count + layout->more_count + 1) * sizeof *columns);
    if (columns == NULL) {
        return cold_no_memory(err);
    }
    for (uint32_t i = 0; i < key_count + layout->more_count; i++) {
        columns[i] = i < key_count ? layout->keys[layout->scope_count + i] : layout->more[i - key_count];
    }
    cold->key_columns[part] = columns;
    cold->layouts[part] = *layout;
    return STATUS_OK;
}

static void set_stored(struct cold_table *cold, uint32_t part, uint64_t units)
{
    cold->stored[part] = cold->out_of[part] = units;
    cold->out += units;
    cold->is_filled = cold->out == 0;
}

static enum status mark_all(struct cold_table *cold, uint8_t dirty, struct error *err)
{
    TRY(cold_table_reserve(cold, err));
    for (uint32_t slot = 0; slot < key_table_slots(cold->keys); slot++) {
        cold->marks[slot] = key_table_has(cold->keys, slot) ? dirty : 0;
    }
    return STATUS_OK;
}

enum status cold_table_open(struct cold_table *cold, struct cold_db *db, const struct cold_layout *layouts, uint32_t part_count,
                            const struct cold_owner *owner, struct key_table *keys, struct error *err)
{
    uint8_t dirty = 0;
    cold_table_close(cold);
    cold->db = db;
    cold->owner = *owner;
    cold->keys = keys;
    cold->part_count = part_count;
    for (uint32_t part = 0; part < part_count; part++) {
        uint64_t units;
        TRY(open_part(cold, part, &layouts[part], err));
        TRY(cold_read_count(db, &layouts[part], &units, err));
        set_stored(cold, part, units);
        dirty |= cold_dirty_mark(part);
    }
    cold->spilled = cold->out > 0;
    return mark_all(cold, dirty, err);
}

enum status cold_table_open_scope(struct cold_table *cold, struct cold_db *db, const struct cold_layout *layout, struct text scope,
                                  uint64_t units, const struct cold_owner *owner, struct key_table *keys, struct error *err)
{
    cold_table_close(cold);
    cold->db = db;
    cold->owner = *owner;
    cold->keys = keys;
    cold->part_count = 1;
    TRY(open_part(cold, 0, layout, err));
    char *bytes = malloc(scope.length + 1);
    if (bytes == NULL) {
        return cold_no_memory(err);
    }
    memcpy(bytes, scope.bytes, scope.length);
    cold->scope = (struct text){bytes, scope.length};
    set_stored(cold, 0, units);
    cold->spilled = units > 0;
    return mark_all(cold, cold_dirty_mark(0), err);
}

void cold_table_close(struct cold_table *cold)
{
    slot_array_free(cold->budget, cold->marks, cold->mark_count);
    for (uint32_t part = 0; part < COLD_PARTS; part++) {
        free(cold->key_columns[part]);
    }
    free((char *)(uintptr_t)cold->scope.bytes);
    for (uint32_t i = 0; i < cold->timer_count; i++) {
        cold_timers_close(&cold->timers[i]);
    }
    cold_filter_clear(&cold->filter);
    text_builder_close(&cold->filled_to);
    *cold = (struct cold_table){
        .budget = cold->budget, .filter.budget = cold->budget, .scratch = cold->scratch, .next = cold->next, .before = cold->before};
}

void cold_scratch_free(struct cold_scratch *scratch, struct budget *budget)
{
    if (scratch != NULL) {
        cold_rows_close(&scratch->rows);
        text_builder_close(&scratch->bytes);
        free(scratch);
        budget_release(budget, sizeof *scratch);
    }
}

enum status cold_table_reserve(struct cold_table *cold, struct error *err)
{
    uint32_t need = key_table_slots(cold->keys);
    if (LIKELY(need <= cold->mark_count && cold->mark_count > 0)) {
        return STATUS_OK;
    }
    uint32_t count = need + need / 4 < MARKS_MIN ? MARKS_MIN : need + need / 4;
    uint8_t *marks;
    TRY_ALLOC(marks, slot_array_grow(cold->budget, cold->marks, cold->mark_count, count), err);
    cold->marks = marks;
    cold->mark_count = count;
    return STATUS_OK;
}

enum status cold_table_changed(struct cold_table *cold, const uint32_t *slots, uint32_t count, uint32_t part, struct error *err)
{
    TRY(cold_table_reserve(cold, err));
    for (uint32_t k = 0; k < count; k++) {
        if (slots[k] != SLOT_NONE) {
            cold_table_touch(cold, slots[k], part);
        }
    }
    return STATUS_OK;
}
