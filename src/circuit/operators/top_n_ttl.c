#include "circuit/operators/top_n_internal.h"

/* Nobody looks at its rows in this tick: they are freed at once. */
static enum status forget_partition(struct top_n *self, struct partition *partition, uint32_t slot, struct error *err)
{
    struct sorted_place place = {0};
    const struct sorted_item *item;
    while ((item = sorted_rows_at(&partition->rows, &place)) != NULL) {
        self->negatives -= item->weight < 0;
        TRY(touched_rows_mark(&self->changed, item->row, err));
        row_store_free(self->store, item->row);
        place.at++;
    }
    sorted_rows_release(&partition->rows, node_budget(&self->node));
    partition->total = 0;
    return self->changed.followed ? dirty_slots_mark(&self->dirty, slot, err) : STATUS_OK;
}

enum status top_n_renew(struct top_n *self, uint32_t count, struct error *err)
{
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t k = 0; k < count; k++) {
        struct partition *partition = top_n_partition(self, self->slots[k]);
        if (partition->rows.block_count > 0 && ttl_has_expired(&self->ttl, self->slots[k])) {
            TRY(forget_partition(self, partition, self->slots[k], err));
        }
    }
    self->arrivals += count;
    return STATUS_OK;
}

enum status top_n_drop_negatives(struct top_n *self, struct partition *partition, struct error *err)
{
    struct sorted_place place = {0};
    const struct sorted_item *item;
    while ((item = sorted_rows_at(&partition->rows, &place)) != NULL) {
        if (item->weight >= 0) {
            place.at++;
            continue;
        }
        self->negatives--;
        TRY(top_n_remove(self, partition, place, err));
    }
    return STATUS_OK;
}

static enum status remove_partitions(struct top_n *self, const uint32_t *slots, uint32_t count, struct error *err)
{
    if (self->cold != NULL) {
        TRY(cold_table_forget(self->cold, slots, count, err));
    }
    for (uint32_t i = 0; i < count; i++) {
        TRY(forget_partition(self, top_n_partition(self, slots[i]), slots[i], err));
        key_table_remove(self->table, slots[i]);
        ttl_forget(&self->ttl, slots[i]);
    }
    return STATUS_OK;
}

enum status top_n_sweep(struct top_n *self, struct error *err)
{
    bool more = self->cold != NULL;
    uint32_t expired[CHUNK_ROWS], room = TTL_SWEEP_MIN + self->arrivals;
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t taken = 0; taken < room; taken += CHUNK_ROWS) {
        uint32_t at_once = room - taken < CHUNK_ROWS ? room - taken : CHUNK_ROWS;
        uint32_t count = ttl_sweep(&self->ttl, key_table_slots(self->table), expired, at_once);
        TRY(remove_partitions(self, expired, count, err));
    }
    for (uint32_t taken = 0, count; more && taken < room; taken += CHUNK_ROWS) {
        TRY(cold_table_fetch_expired(self->cold, &self->ttl, expired, &count, &more, err));
        TRY(remove_partitions(self, expired, count, err));
    }
    self->arrivals = 0;
    return STATUS_OK;
}
