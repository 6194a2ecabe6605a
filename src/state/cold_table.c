#include "state/cold_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "state/slot_array.h"

enum {
    PLACES = 2 * CHUNK_ROWS,
    WRITE_BYTES = 1 << 20,
    MARKS_MIN = 256,
    COLD_KEYS_MAX = 1024,
    FILL_KEYS = 4 * CHUNK_ROWS,
    FEW_KEYS = 1 << 16
};
enum { LEAVING = 128 }; /* a mark: chosen, for the time of cold_table_evict */

/* A write or a lookup of up to a chunk of units at a time. */
struct cold_scratch {
    struct text_builder bytes;
    size_t key_at[CHUNK_ROWS], key_end[CHUNK_ROWS], value_end[CHUNK_ROWS]; /* in `bytes`; a value follows its key */
    uint32_t count;
    uint32_t unit;        /* at hand: place of its slot; UINT32_MAX: none */
    bool put[CHUNK_ROWS]; /* of the slots that are written: it has a unit */
    uint32_t slots[CHUNK_ROWS];
    uint16_t places[PLACES]; /* 1 + index, by hash of the key: keys of a lookup, each once */
    struct cold_write writes[CHUNK_ROWS];
    struct text keys[CHUNK_ROWS];
    struct cold_values values;
    struct cold_rows rows;
};

static enum status no_memory(struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for units of state on their way to or from the database");
}

static enum status need_scratch(struct cold_table *cold, struct error *err)
{
    struct cold_scratch *scratch = *cold->scratch;
    if (scratch == NULL) {
        if (!budget_charge(cold->budget, sizeof *scratch)) {
            return no_memory(err);
        }
        scratch = *cold->scratch = calloc(1, sizeof *scratch);
        if (scratch == NULL) {
            budget_release(cold->budget, sizeof *scratch);
            return no_memory(err);
        }
    }
    scratch->count = 0;
    text_builder_clear(&scratch->bytes);
    return STATUS_OK;
}

static uint8_t stored_mark(uint32_t part)
{
    return (uint8_t)(COLD_STORED << COLD_PART_BITS * part);
}

static uint8_t dirty_mark(uint32_t part)
{
    return (uint8_t)(COLD_DIRTY << COLD_PART_BITS * part);
}

static enum status open_part(struct cold_table *cold, uint32_t part, const struct cold_layout *layout, struct error *err)
{
    assert(layout->value_count > 0);
    uint32_t key_count = layout->key_count - layout->scope_count;
    uint32_t *columns = malloc((key_count + layout->more_count + 1) * sizeof *columns);
    if (columns == NULL) {
        return no_memory(err);
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
        dirty |= dirty_mark(part);
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
        return no_memory(err);
    }
    memcpy(bytes, scope.bytes, scope.length);
    cold->scope = (struct text){bytes, scope.length};
    set_stored(cold, 0, units);
    cold->spilled = units > 0;
    return mark_all(cold, dirty_mark(0), err);
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

/* ---- out of memory, into the database ---- */

static enum status write_units(struct cold_table *cold, struct error *err)
{
    struct cold_scratch *scratch = *cold->scratch;
    const char *bytes = scratch->bytes.bytes;
    if (scratch->bytes.failed) {
        return no_memory(err);
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
    uint8_t stored = stored_mark(cold->part), dirty = dirty_mark(cold->part);
    if (count == 0) {
        return STATUS_OK;
    }
    TRY(need_scratch(cold, err));
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
    uint8_t mark = dirty_mark(cold->part);
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
            bool stored = (cold->marks[slots[k]] & stored_mark(cold->part)) != 0;
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
        return no_memory(err);
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
    TRY(need_scratch(cold, err));
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
        return no_memory(err);
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
    uint8_t mark = stored_mark(cold->part);
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

/* ---- the filter ---- */

static enum status append_scope(const struct cold_table *cold, struct text_builder *out, struct error *err)
{
    cold_append_prefix(cold->layouts[0].operator_id, out);
    text_append(out, cold->scope.bytes, cold->scope.length);
    return out->failed ? no_memory(err) : STATUS_OK;
}

struct filling {
    struct cold_table *cold;
    uint32_t count;
    enum status status;
    struct error *err;
};

/* Units of other tables of the operator lie among those of this one. */
static bool fill_key(void *context, struct text key, struct text value)
{
    (void)value;
    struct filling *filling = context;
    struct cold_table *cold = filling->cold;
    bool is_own = false;
    for (uint32_t part = 0; part < cold->part_count && filling->status == STATUS_OK && !is_own; part++) {
        filling->status = cold_key_is_of(&cold->layouts[part], key, &is_own, filling->err);
    }
    if (filling->status == STATUS_OK && is_own) {
        cold_filter_add(&cold->filter, hash_bytes(key.bytes, key.length));
    }
    text_builder_clear(&cold->filled_to);
    text_append(&cold->filled_to, key.bytes, key.length);
    return ++filling->count < FILL_KEYS && !cold->filled_to.failed && filling->status == STATUS_OK;
}

static enum status fill_some(struct cold_table *cold, struct error *err)
{
    struct filling filling = {.cold = cold, .err = err};
    struct text_builder prefix = {0};
    const struct text from = {cold->filled_to.length == 0 ? NULL : cold->filled_to.bytes, cold->filled_to.length};
    enum status status = append_scope(cold, &prefix, err);
    if (status == STATUS_OK) {
        status = cold->db->driver->scan(cold->db, (struct text){prefix.bytes, prefix.length}, from, fill_key, &filling, err);
    }
    status = status == STATUS_OK ? filling.status : status;
    text_builder_close(&prefix);
    if (cold->filled_to.failed) {
        return no_memory(err);
    }
    cold->is_filled = status == STATUS_OK && filling.count < FILL_KEYS;
    return status;
}

/* Once most of the keys that the filter knows are gone it begins anew. */
static enum status tend_filter(struct cold_table *cold, struct error *err)
{
    uint64_t stored = 0;
    for (uint32_t part = 0; part < cold->part_count; part++) {
        stored += cold->stored[part];
    }
    if (cold->is_filled && cold->filter.count > 4 * stored + FEW_KEYS) {
        cold_filter_clear(&cold->filter);
        text_builder_clear(&cold->filled_to);
        cold->is_filled = false;
    }
    return cold->is_filled ? STATUS_OK : fill_some(cold, err);
}

static bool is_absent(struct cold_table *cold, size_t at)
{
    const struct text_builder *bytes = &(*cold->scratch)->bytes;
    if (!cold->is_filled || cold->out_of[cold->part] == 0 ||
        cold_filter_may_have(&cold->filter, hash_bytes(bytes->bytes + at, bytes->length - at))) {
        return false;
    }
    cold->counters.absent++;
    return true;
}

/* ---- back ---- */

/* Is the key that begins at `at` of the scratch among those before it? Else it is now. */
static bool is_new_key(struct cold_scratch *scratch, size_t at)
{
    struct text key = {scratch->bytes.bytes + at, scratch->bytes.length - at};
    uint32_t place = (uint32_t)hash_bytes(key.bytes, key.length) % PLACES;
    for (; scratch->places[place] != 0; place = (place + 1) % PLACES) {
        uint32_t other = scratch->places[place] - 1U;
        struct text there = {scratch->bytes.bytes + scratch->key_at[other], scratch->key_end[other] - scratch->key_at[other]};
        if (text_equal(key, there)) {
            return false;
        }
    }
    scratch->places[place] = (uint16_t)(scratch->count + 1);
    return true;
}

/* The keys of the rows that have no slot, each once. */
static enum status collect_keys(struct cold_table *cold, const struct batch *batch, const uint32_t *columns, const uint32_t *slots,
                                struct error *err)
{
    struct cold_scratch *scratch = *cold->scratch;
    struct selection rows = batch_selection(batch);
    memset(scratch->places, 0, sizeof scratch->places);
    for (uint32_t k = 0; k < rows.count; k++) {
        if (slots[k] != SLOT_NONE) {
            cold->counters.hits += cold->part == 0;
            continue;
        }
        size_t at = scratch->bytes.length;
        cold_append_key(&cold->layouts[cold->part], cold->scope, batch, columns, selection_row(&rows, k), &scratch->bytes);
        if (scratch->bytes.failed) {
            return no_memory(err);
        }
        if (is_absent(cold, at) || !is_new_key(scratch, at)) {
            scratch->bytes.length = at;
            continue;
        }
        scratch->key_at[scratch->count] = at;
        scratch->key_end[scratch->count++] = scratch->bytes.length;
    }
    for (uint32_t i = 0; i < scratch->count; i++) {
        scratch->keys[i] = (struct text){scratch->bytes.bytes + scratch->key_at[i], scratch->key_end[i] - scratch->key_at[i]};
    }
    return STATUS_OK;
}

static enum status take_rows(void *context, const struct cold_layout *layout, struct batch *batch, const int64_t *records,
                             struct error *err)
{
    (void)layout;
    (void)records;
    struct cold_table *cold = context;
    uint32_t *slots = (*cold->scratch)->slots;
    TRY(cold->owner.add(cold->owner.context, batch, slots, err));
    TRY(cold_table_reserve(cold, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        if (slots[row] != SLOT_NONE) {
            cold->marks[slots[row]] |= (uint8_t)(stored_mark(cold->part) | COLD_USED);
        }
    }
    return STATUS_OK;
}

static enum status add_found(struct cold_table *cold, bool *added, struct error *err)
{
    struct cold_scratch *scratch = *cold->scratch;
    struct cold_rows *rows = &scratch->rows;
    rows->layout = &cold->layouts[cold->part];
    rows->budget = cold->budget;
    rows->take = take_rows;
    rows->context = cold;
    for (uint32_t i = 0; i < scratch->count; i++) {
        struct text value = scratch->values.values[i];
        if (value.bytes == NULL) {
            continue;
        }
        *added = true;
        cold->out--;
        cold->out_of[cold->part]--;
        cold->counters.fetched++;
        TRY(cold_rows_add(rows, scratch->keys[i], value, 0, err));
    }
    return cold_rows_flush(rows, err);
}

static enum status fetch_part(struct cold_table *cold, const struct batch *batch, const uint32_t *columns, const uint32_t *slots,
                              bool *added, struct error *err)
{
    TRY(need_scratch(cold, err));
    if (cold->out_of[cold->part] > 0) {
        TRY(tend_filter(cold, err));
    }
    TRY(collect_keys(cold, batch, columns, slots, err));
    struct cold_scratch *scratch = *cold->scratch;
    if (scratch->count == 0 || cold->out_of[cold->part] == 0) {
        return STATUS_OK;
    }
    cold->counters.misses += scratch->count;
    TRY(cold->db->driver->get(cold->db, scratch->keys, scratch->count, &scratch->values, err));
    enum status status = add_found(cold, added, err);
    cold->db->driver->release(cold->db, &scratch->values);
    return status;
}

enum status cold_table_fetch(struct cold_table *cold, const struct batch *batch, const uint32_t *columns, const uint32_t *slots,
                             bool *added, struct error *err)
{
    *added = false;
    for (cold->part = 0; cold->part < cold->part_count; cold->part++) {
        TRY(fetch_part(cold, batch, columns, slots, added, err));
    }
    return STATUS_OK;
}

enum status cold_table_fetch_keys(struct cold_table *cold, const struct batch *batch, const uint32_t *keys, const uint64_t *hashes,
                                  bool *added, struct error *err)
{
    *added = false;
    if (cold->out == 0) {
        cold->counters.hits += batch_rows(batch);
        return STATUS_OK;
    }
    uint32_t slots[CHUNK_ROWS];
    key_table_find(cold->keys, batch, keys, hashes, slots);
    return cold_table_fetch(cold, batch, keys, slots, added, err);
}

enum status cold_table_fetch_due(struct cold_table *cold, uint32_t timer, int64_t until, uint32_t *slots, uint32_t *count,
                                 struct error *err)
{
    struct batch keys = {0};
    *count = 0;
    if (timer >= cold->timer_count || cold_table_next_due(cold, timer) > until) {
        return STATUS_OK;
    }
    uint32_t columns[COLD_KEYS_MAX], key_count = cold->layouts[0].key_count;
    uint64_t hashes[CHUNK_ROWS];
    bool added;
    for (uint32_t i = 0; i < key_count; i++) {
        columns[i] = i;
    }
    enum status status = cold_timers_take(&cold->timers[timer], until, &keys, err);
    if (status == STATUS_OK && keys.count > 0) {
        *count = keys.count;
        batch_hash(&keys, columns, key_count, hashes);
        status = cold_table_fetch_keys(cold, &keys, columns, hashes, &added, err);
    }
    if (status == STATUS_OK && keys.count > 0 && slots != NULL) {
        batch_hash(&keys, columns, key_count, hashes); /* the owner may have used the memory */
        key_table_find(cold->keys, &keys, columns, hashes, slots);
    }
    batch_release(&keys);
    return status;
}

enum status cold_table_fetch_expired(struct cold_table *cold, struct time_to_live *ttl, uint32_t *slots, uint32_t *count, bool *more,
                                     struct error *err)
{
    uint32_t due;
    *count = 0;
    TRY(cold_table_fetch_due(cold, 0, ttl->now_us - 1, slots, &due, err));
    for (uint32_t k = 0; k < due; k++) {
        uint32_t slot = slots[k];
        /* a key may be due several times */
        if (slot != SLOT_NONE && ttl_written_us(ttl, slot) != TTL_NO_TIME && ttl_has_expired(ttl, slot)) {
            ttl_forget(ttl, slot);
            slots[(*count)++] = slot;
        }
    }
    *more = due == CHUNK_ROWS;
    return STATUS_OK;
}

/* ---- all that a scope has ---- */

struct cold_walk {
    struct cold_table *cold;
    cold_take *take;
    void *context;
    struct cold_rows rows;
    enum status status;
    struct error *err;
};

static enum status pass_rows(void *context, const struct cold_layout *layout, struct batch *batch, const int64_t *records,
                             struct error *err)
{
    (void)layout;
    (void)records;
    struct cold_walk *walk = context;
    walk->cold->counters.fetched += batch->count;
    return walk->take(walk->context, batch, err);
}

static bool pass_unit(void *context, struct text key, struct text value)
{
    struct cold_walk *walk = context;
    bool is_own = false;
    walk->status = cold_key_is_of(walk->rows.layout, key, &is_own, walk->err);
    if (walk->status == STATUS_OK && is_own) {
        walk->status = cold_rows_add(&walk->rows, key, value, 0, walk->err);
    }
    return walk->status == STATUS_OK;
}

enum status cold_table_scan(struct cold_table *cold, cold_take *take, void *context, struct error *err)
{
    assert(key_table_count(cold->keys) == 0);
    struct text_builder prefix = {0};
    struct cold_walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL) {
        return no_memory(err);
    }
    *walk = (struct cold_walk){.cold = cold, .take = take, .context = context, .err = err};
    walk->rows = (struct cold_rows){.layout = &cold->layouts[0], .budget = cold->budget, .take = pass_rows, .context = walk};
    enum status status = append_scope(cold, &prefix, err);
    if (status == STATUS_OK) {
        status = cold->db->driver->scan(cold->db, (struct text){prefix.bytes, prefix.length}, (struct text){0}, pass_unit, walk, err);
    }
    status = status == STATUS_OK ? walk->status : status;
    if (status == STATUS_OK) {
        status = cold_rows_flush(&walk->rows, err);
    }
    cold_rows_close(&walk->rows);
    text_builder_close(&prefix);
    free(walk);
    return status;
}

enum status cold_table_remove_scope(struct cold_table *cold, struct error *err)
{
    struct text_builder prefix = {0};
    enum status status = append_scope(cold, &prefix, err);
    if (status == STATUS_OK) {
        status = cold->db->driver->remove_prefix(cold->db, (struct text){prefix.bytes, prefix.length}, err);
    }
    text_builder_close(&prefix);
    memset(cold->marks, 0, cold->mark_count);
    cold->stored[0] = cold->out_of[0] = cold->out = 0;
    return status;
}
