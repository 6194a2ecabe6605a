/* state/cold_table_write.c: units out of memory into the database, and out of both. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "state/cold_table_internal.h"

enum { WRITE_BYTES = 1 << 20 };
enum { LEAVING = 128 }; /* a mark: chosen, for the time of cold_table_evict */

static enum status write_units(struct cold_table *cold, struct error *err)
{
    struct cold_scratch *scratch = *cold->scratch;
    const char *bytes = scratch->bytes.bytes;
    if (scratch->bytes.failed) {
        return cold_no_memory(err);
    }
    for (uint32_t i = 0; i < scratch->count; i++) {
        scratch->writes[i].key = (struct text){bytes + scratch->key_at[i], scratch->key_end[i] - scratch->key_at[i]};
        scratch->writes[i].value = (struct text){bytes + scratch->key_end[i], scratch->value_end[i] - scratch->key_end[i]};
        cold_filter_add(&cold->filter, hash_bytes(scratch->writes[i].key.bytes, scratch->writes[i].key.length));
    }
    if (scratch->count > 0) {
        TRY(cold->db->driver->write(cold->db, scratch->writes, scratch->count, err));
    }
    cold->spilled = cold->spilled || scratch->count > 0;
    cold->counters.spilled += scratch->count;
    cold->counters.spilled_bytes += scratch->bytes.length;
    scratch->count = 0;
    text_builder_clear(&scratch->bytes);
    return STATUS_OK;
}

static void begin_unit(struct cold_table *cold, const struct batch *batch, uint32_t row)
{
    struct cold_scratch *scratch = *cold->scratch;
    scratch->key_at[scratch->count] = scratch->bytes.length;
    cold_append_key(&cold->layouts[cold->part], cold->scope, batch, cold->key_columns[cold->part], row, &scratch->bytes);
    scratch->key_end[scratch->count++] = scratch->bytes.length;
}

enum status cold_table_put(struct cold_table *cold, const struct batch *batch, const uint32_t *units, struct error *err)
{
    struct cold_scratch *scratch = *cold->scratch;
    for (uint32_t row = 0; row < batch->count; row++) {
        if (units[row] != scratch->unit) {
            if (scratch->count == CHUNK_ROWS || scratch->bytes.length >= WRITE_BYTES) {
                TRY(write_units(cold, err));
            }
            scratch->unit = units[row];
            scratch->put[units[row]] = true;
            begin_unit(cold, batch, row);
        }
        cold_append_value(&cold->layouts[cold->part], batch, row, &scratch->bytes);
        scratch->value_end[scratch->count - 1] = scratch->bytes.length;
    }
    return STATUS_OK;
}

static enum status put_rows(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    if (cold->owner.rows != NULL) {
        return cold->owner.rows(cold->owner.context, cold, slots, count, err);
    }
    struct batch batch = {0};
    uint32_t units[CHUNK_ROWS];
    TRY(batch_init(&batch, cold->layouts[cold->part].column_count, err));
    batch.count = count;
    for (uint32_t k = 0; k < count; k++) {
        units[k] = k;
    }
    enum status status = cold->owner.columns(cold->owner.context, slots, count, &batch, err);
    if (status == STATUS_OK) {
        status = cold_table_put(cold, &batch, units, err);
    }
    batch_release(&batch);
    return status;
}

static enum status remove_slots(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err);
static enum status gather_keys(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err);

/* When slots that are written are wanted back: by then they may have left. */
static enum status note_due(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    int64_t times[CHUNK_ROWS], first = INT64_MAX;
    struct batch batch = {0};
    for (uint32_t k = 0; k < count; k++) {
        times[k] = cold->owner.due(cold->owner.context, slots[k]);
        first = times[k] < first ? times[k] : first;
    }
    if (first == INT64_MAX) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, cold->layouts[cold->part].column_count, err));
    batch.count = count;
    enum status status = gather_keys(cold, slots, count, &batch, err);
    if (status == STATUS_OK) {
        struct cold_timers *timers = &cold->timers[cold->timer_count == 1 ? 0 : cold->part];
        status = cold_timers_add(timers, &batch, cold->key_columns[cold->part], times, err);
    }
    batch_release(&batch);
    return status;
}

enum status cold_table_open_timers(struct cold_table *cold, uint32_t count, int64_t width_us, struct error *err)
{
    assert(count == 1 || count == cold->part_count);
    for (; cold->timer_count < count; cold->timer_count++) {
        const struct cold_layout *layout = &cold->layouts[cold->timer_count];
        assert(layout->scope_count == 0 && layout->more_count == 0 && cold->owner.due != NULL);
        TRY(cold_timers_open(&cold->timers[cold->timer_count], cold->budget, cold->db, layout, width_us, err));
    }
    return STATUS_OK;
}

/* Up to a chunk of slots whose part at hand is DIRTY. */
static enum status write_slots(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    uint32_t empty[CHUNK_ROWS], empty_count = 0;
    uint8_t stored = cold_stored_mark(cold->part), dirty = cold_dirty_mark(cold->part);
    if (count == 0) {
        return STATUS_OK;
    }
    TRY(cold_need_scratch(cold, err));
    (*cold->scratch)->unit = UINT32_MAX;
    memset((*cold->scratch)->put, 0, sizeof(*cold->scratch)->put);
    TRY(put_rows(cold, slots, count, err));
    TRY(write_units(cold, err));
    for (uint32_t k = 0; k < count; k++) {
        uint8_t *mark = &cold->marks[slots[k]];
        bool was_stored = (*mark & stored) != 0, has_unit = (*cold->scratch)->put[k];
        cold->stored[cold->part] += has_unit && !was_stored;
        empty[empty_count] = slots[k];
        empty_count += was_stored && !has_unit;
        *mark = (uint8_t)((*mark & ~(unsigned)(stored | dirty)) | (has_unit ? stored : 0U));
    }
    if (cold->timer_count > 0) {
        TRY(note_due(cold, slots, count, err));
    }
    return remove_slots(cold, empty, empty_count, err);
}

/* Of the slots those whose part at hand is DIRTY; slots NULL: of all. */
static enum status write_part(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    uint32_t dirty[CHUNK_ROWS], dirty_count = 0;
    uint8_t mark = cold_dirty_mark(cold->part);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t slot = slots == NULL ? k : slots[k];
        if ((cold->marks[slot] & mark) == 0) {
            continue;
        }
        dirty[dirty_count++] = slot;
        if (dirty_count == CHUNK_ROWS) {
            TRY(write_slots(cold, dirty, dirty_count, err));
            dirty_count = 0;
        }
    }
    return write_slots(cold, dirty, dirty_count, err);
}

enum status cold_table_write(struct cold_table *cold, struct error *err)
{
    uint64_t stored = 0;
    TRY(cold_table_reserve(cold, err));
    for (cold->part = 0; cold->part < cold->part_count; cold->part++) {
        TRY(write_part(cold, NULL, key_table_slots(cold->keys), err));
        if (cold->layouts[cold->part].scope_count == 0) { /* else the owner knows how many there are in all scopes */
            TRY(cold_write_count(cold->db, &cold->layouts[cold->part], cold->stored[cold->part], err));
        }
        stored += cold->stored[cold->part];
    }
    cold->spilled = stored > 0;
    for (uint32_t i = 0; i < cold->timer_count; i++) {
        TRY(cold_timers_save(&cold->timers[i], err));
    }
    return STATUS_OK;
}

enum status cold_table_evict_slots(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    for (cold->part = 0; cold->part < cold->part_count; cold->part++) {
        TRY(write_part(cold, slots, count, err));
        for (uint32_t k = 0; k < count; k++) {
            bool stored = (cold->marks[slots[k]] & cold_stored_mark(cold->part)) != 0;
            cold->out_of[cold->part] += stored;
            cold->out += stored;
        }
    }
    TRY(cold->owner.drop(cold->owner.context, slots, count, err));
    for (uint32_t k = 0; k < count; k++) {
        cold->marks[slots[k]] = 0;
    }
    if (count > 0 && key_table_count(cold->keys) == 0) {
        if (cold->owner.emptied != NULL) {
            cold->owner.emptied(cold->owner.context);
        }
        return key_table_release(cold->keys, err);
    }
    return STATUS_OK;
}

bool cold_table_is_full(const struct cold_table *cold)
{
    enum { SMALL_HEAP = 1 << 20 };
    const struct slab *heap = cold->owner.heap == NULL ? NULL : cold->owner.heap(cold->owner.context);
    return key_table_room(cold->keys) < CHUNK_ROWS || (heap != NULL && heap->bytes > SMALL_HEAP && heap->free_bytes < heap->bytes / 8);
}

/* The clock: the hand goes round at most twice; a slot that was used is passed over once. */
static uint32_t choose_slots(struct cold_table *cold, uint32_t most, bool all, uint32_t *slots)
{
    uint32_t slot_count = key_table_slots(cold->keys), count = 0;
    uint64_t steps = all ? slot_count : 2 * (uint64_t)slot_count;
    for (; steps > 0 && count < most; steps--) {
        uint32_t slot = cold->hand < slot_count ? cold->hand : 0;
        cold->hand = slot + 1;
        uint8_t mark = cold->marks[slot];
        if ((mark & LEAVING) != 0 || (mark & ~(unsigned)COLD_USED) == 0 ||
            (cold->owner.pinned != NULL && cold->owner.pinned(cold->owner.context, slot))) {
            continue;
        }
        if (!all && (mark & COLD_USED) != 0) {
            cold->marks[slot] = (uint8_t)(mark & ~(unsigned)COLD_USED);
            continue;
        }
        cold->marks[slot] = (uint8_t)(mark | LEAVING);
        slots[count++] = slot;
    }
    return count;
}

enum status cold_table_evict(struct cold_table *cold, uint32_t most, bool all, uint32_t *evicted, struct error *err)
{
    uint32_t *slots = malloc(((size_t)most + 1) * sizeof *slots);
    if (slots == NULL) {
        return cold_no_memory(err);
    }
    enum status status = cold_table_reserve(cold, err);
    if (status == STATUS_OK) {
        *evicted = choose_slots(cold, most, all, slots);
        status = cold_table_evict_slots(cold, slots, *evicted, err);
    }
    free(slots);
    return status;
}

/* ---- removed for good ---- */

static enum status gather_keys(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    if (cold->owner.keys != NULL) {
        return cold->owner.keys(cold->owner.context, slots, count, batch, err);
    }
    const struct cold_layout *layout = &cold->layouts[cold->part];
    for (uint32_t i = layout->scope_count; i < layout->key_count; i++) {
        vector_release(&batch->columns[layout->keys[i]]); /* a column may be a key twice */
        TRY(key_table_gather(cold->keys, i - layout->scope_count, slots, count, &batch->columns[layout->keys[i]], err));
    }
    return STATUS_OK;
}

static enum status remove_slots(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    if (count == 0) {
        return STATUS_OK;
    }
    struct batch batch = {0};
    TRY(cold_need_scratch(cold, err));
    TRY(batch_init(&batch, cold->layouts[cold->part].column_count, err));
    batch.count = count;
    struct cold_scratch *scratch = *cold->scratch;
    enum status status = gather_keys(cold, slots, count, &batch, err);
    for (uint32_t k = 0; status == STATUS_OK && k < count; k++) {
        begin_unit(cold, &batch, k);
    }
    batch_release(&batch);
    TRY(status);
    if (scratch->bytes.failed) {
        return cold_no_memory(err);
    }
    for (uint32_t k = 0; k < count; k++) {
        scratch->writes[k] =
            (struct cold_write){.key = {scratch->bytes.bytes + scratch->key_at[k], scratch->key_end[k] - scratch->key_at[k]}};
    }
    cold->stored[cold->part] -= count;
    return cold->db->driver->write(cold->db, scratch->writes, count, err);
}

static enum status forget_part(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    uint32_t stored[CHUNK_ROWS], stored_count = 0;
    uint8_t mark = cold_stored_mark(cold->part);
    for (uint32_t k = 0; k < count; k++) {
        if ((cold->marks[slots[k]] & mark) == 0) {
            continue;
        }
        cold->marks[slots[k]] &= (uint8_t) ~(unsigned)mark; /* a slot may be there twice */
        stored[stored_count++] = slots[k];
        if (stored_count == CHUNK_ROWS) {
            TRY(remove_slots(cold, stored, stored_count, err));
            stored_count = 0;
        }
    }
    return remove_slots(cold, stored, stored_count, err);
}

enum status cold_table_forget(struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    for (cold->part = 0; cold->part < cold->part_count; cold->part++) {
        TRY(forget_part(cold, slots, count, err));
    }
    for (uint32_t k = 0; k < count; k++) {
        cold->marks[slots[k]] = 0;
    }
    return STATUS_OK;
}
