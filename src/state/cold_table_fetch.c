/* state/cold_table_fetch.c: units back into memory: what the filter knows, look-ups, those that are due, and all that a scope has. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "state/cold_table_internal.h"

enum { COLD_KEYS_MAX = 1024, FILL_KEYS = 4 * CHUNK_ROWS, FEW_KEYS = 1 << 16 };

/* ---- the filter ---- */

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
    enum status status = cold_append_scope(cold, &prefix, err);
    if (status == STATUS_OK) {
        status = cold->db->driver->scan(cold->db, (struct text){prefix.bytes, prefix.length}, from, fill_key, &filling, err);
    }
    status = status == STATUS_OK ? filling.status : status;
    text_builder_close(&prefix);
    if (cold->filled_to.failed) {
        return cold_no_memory(err);
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
    uint32_t place = (uint32_t)hash_bytes(key.bytes, key.length) % COLD_PLACES;
    for (; scratch->places[place] != 0; place = (place + 1) % COLD_PLACES) {
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
            return cold_no_memory(err);
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
            cold->marks[slots[row]] |= (uint8_t)(cold_stored_mark(cold->part) | COLD_USED);
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
    TRY(cold_need_scratch(cold, err));
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
        return cold_no_memory(err);
    }
    *walk = (struct cold_walk){.cold = cold, .take = take, .context = context, .err = err};
    walk->rows = (struct cold_rows){.layout = &cold->layouts[0], .budget = cold->budget, .take = pass_rows, .context = walk};
    enum status status = cold_append_scope(cold, &prefix, err);
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
    enum status status = cold_append_scope(cold, &prefix, err);
    if (status == STATUS_OK) {
        status = cold->db->driver->remove_prefix(cold->db, (struct text){prefix.bytes, prefix.length}, err);
    }
    text_builder_close(&prefix);
    memset(cold->marks, 0, cold->mark_count);
    cold->stored[0] = cold->out_of[0] = cold->out = 0;
    return status;
}
