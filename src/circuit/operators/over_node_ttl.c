/* A partition that was not written for so long is forgotten as a whole, without a word. By time it is not while rows of it wait: they are due
 * when the watermark comes. Without partition columns nothing is forgotten, and the planner gives no time-to-live to frames of a RANGE of time,
 * which say themselves what is still needed.
 */
#include "circuit/operators/over_node_internal.h"

static bool may_forget(const struct over_node *self, const struct over_partition *partition)
{
    return !self->streams || partition->waiting.block_count == 0;
}

static void free_items(struct over_node *self, const struct over_partition *partition)
{
    const struct over_items *items = &partition->items;
    for (uint32_t i = 0; i < items->count; i++) {
        if (i + 1 == items->count || items->items[i + 1].row != items->items[i].row) { /* the last copy */
            row_store_free(self->store, items->items[i].row);
        }
    }
    int64_t end = partition->origin + partition->place.base + items->count;
    self->next_origin = end > self->next_origin ? end : self->next_origin;
}

static void free_shown(struct over_node *self, const struct over_partition *partition)
{
    for (uint32_t i = 0; i < partition->items.count; i++) {
        row_store_free(self->results, partition->shown[i]);
    }
}

void over_free_all(struct over_node *self, struct over_partition *partition)
{
    struct sorted_place place = {0};
    const struct sorted_item *item;
    if (self->streams) {
        free_items(self, partition);
    } else {
        free_shown(self, partition);
    }
    while ((item = sorted_rows_at(&partition->waiting, &place)) != NULL) {
        row_store_free(self->store, item->row);
        place.at++;
    }
    if (self->streams && self->run.calls != NULL) {
        call_set_clear(self->run.calls, &self->states, partition->record);
    }
    uint32_t slot = partition->slot;
    *over_partition_place(self, slot) = NULL;
    over_note_gone(self, slot);
    over_partition_free(self, partition);
}

/* Nobody looks at its rows in this tick: they are freed at once. */
static enum status forget_partition(struct over_node *self, struct over_partition *partition, struct error *err)
{
    struct sorted_place place = {0};
    const struct sorted_item *item;
    uint32_t slot = partition->slot;
    while ((item = sorted_rows_at(&partition->waiting, &place)) != NULL) {
        TRY(touched_rows_mark(&self->changed, item->row, err));
        place.at++;
    }
    if (self->cold != NULL) {
        TRY(over_dirty(self, partition, true, true, err));
    }
    over_free_all(self, partition);
    return self->changed.followed ? dirty_slots_mark(&self->dirty, slot, err) : STATUS_OK;
}

enum status over_end_partition(struct over_node *self, struct over_partition *partition, struct error *err)
{
    uint32_t slot = partition->slot;
    TRY(forget_partition(self, partition, err));
    if (self->cold != NULL) {
        TRY(cold_table_forget(self->cold, &slot, 1, err));
    }
    key_table_remove(self->table, slot);
    return STATUS_OK;
}

void over_note_gone(struct over_node *self, uint32_t slot)
{
    ttl_forget(&self->ttl, slot);
    call_states_end_record(&self->states, slot);
}

enum status over_renew(struct over_node *self, uint32_t count, struct error *err)
{
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t k = 0; k < count; k++) {
        struct over_partition *partition = *over_partition_place(self, self->slots[k]);
        if (partition != NULL && ttl_has_expired(&self->ttl, self->slots[k]) && may_forget(self, partition)) {
            TRY(forget_partition(self, partition, err));
        }
    }
    return STATUS_OK;
}

enum status over_drop_negatives(struct over_node *self, struct over_partition *partition, struct error *err)
{
    struct sorted_place place = {0};
    const struct sorted_item *item;
    while ((item = sorted_rows_at(&partition->waiting, &place)) != NULL) {
        if (item->weight > 0) {
            place.at++;
            continue;
        }
        TRY(touched_rows_mark(&self->changed, item->row, err));
        TRY(over_drop_row(self, item->row, err));
        sorted_rows_remove(&partition->waiting, node_budget(&self->node), place);
    }
    return STATUS_OK;
}

static enum status sweep_partition(struct over_node *self, uint32_t slot, struct error *err)
{
    struct over_partition *partition = *over_partition_place(self, slot);
    if (!may_forget(self, partition)) {
        return ttl_write(&self->ttl, slot, err);
    }
    return over_end_partition(self, partition, err);
}

enum status over_sweep_slots(struct over_node *self, const uint32_t *slots, uint32_t count, struct error *err)
{
    for (uint32_t k = 0; k < count; k++) {
        bool there = slots[k] != SLOT_NONE && key_table_has(self->table, slots[k]) && *over_partition_place(self, slots[k]) != NULL;
        if (there && ttl_has_expired(&self->ttl, slots[k])) {
            TRY(sweep_partition(self, slots[k], err));
        }
    }
    return STATUS_OK;
}

enum status over_sweep(struct over_node *self, struct error *err)
{
    uint32_t expired[CHUNK_ROWS], room = TTL_SWEEP_MIN + self->arrivals;
    for (uint32_t taken = 0; ttl_is_set(&self->ttl) && taken < room; taken += CHUNK_ROWS) {
        uint32_t at_once = room - taken < CHUNK_ROWS ? room - taken : CHUNK_ROWS;
        uint32_t count = ttl_sweep(&self->ttl, key_table_slots(self->table), expired, at_once);
        for (uint32_t i = 0; i < count; i++) {
            TRY(sweep_partition(self, expired[i], err));
        }
    }
    self->arrivals = 0;
    return self->run.calls == NULL ? STATUS_OK : call_states_sweep(self->run.calls, &self->states, room, err);
}
