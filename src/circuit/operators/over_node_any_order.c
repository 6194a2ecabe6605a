/* circuit/operators/over_node_any_order.c: partitions whose rows come in any order, or go again: what they show is computed again. */
#include <string.h>

#include "base/hash.h"
#include "circuit/operators/over_node_internal.h"

static enum status over_list_all(struct over_node *self, const struct over_partition *partition, struct error *err)
{
    struct sorted_place place = {0};
    const struct sorted_item *item;
    self->all.count = 0;
    while ((item = sorted_rows_at(&partition->waiting, &place)) != NULL) {
        for (int64_t copy = 0; copy < item->weight; copy++) {
            TRY(over_items_add(&self->all, node_budget(&self->node), item, err));
        }
        place.at++;
    }
    return STATUS_OK;
}

/* The first item whose result may differ. */
static uint32_t over_first_change(const struct over_node *self, const struct over_partition *partition)
{
    const struct over_items *now = &self->all, *before = &partition->items;
    uint32_t at = 0;
    if (partition->held) {
        return 0;
    }
    while (at < now->count && at < before->count && now->items[at].row == before->items[at].row) {
        at++;
    }
    if (at == now->count && at == before->count) {
        return at;
    }
    if (self->run.looks_ahead) {
        return 0;
    }
    uint32_t changed = at;
    while (self->run.by_peers && at > 0 &&
           ((changed < now->count && row_order_compare_keys(&self->order, &now->items[at - 1], &now->items[changed]) == 0) ||
            (changed < before->count && row_order_compare_keys(&self->order, &now->items[at - 1], &before->items[changed]) == 0))) {
        at--;
    }
    return at;
}

static enum status over_compute(struct over_node *self, struct over_partition *partition, uint32_t from, struct error *err)
{
    struct over_place place;
    struct call_states states = {0};
    struct over_target target = {(uint8_t *)partition->record, partition->slot, &states};
    memset(partition->record, 0, over_run_bytes(&self->run));
    self->changes.count = 0;
    self->run.failed = false;
    if (self->run.calls != NULL) {
        call_states_open(self->run.calls, node_budget(&self->node), &states);
    }
    over_run_start(&self->run, &self->all, from, &place);
    enum status status = over_run_pass(&self->run, &self->all, &place, &target, err);
    if (status == STATUS_OK) {
        status = over_run_flush(&self->run, err);
    }
    if (self->run.calls != NULL) {
        call_states_close(self->run.calls, &states);
    }
    return status;
}

/* What the partition shows becomes what was made for its items from `from` on. */
static enum status over_replace_shown(struct over_node *self, struct over_partition *partition, uint32_t from, struct error *err)
{
    uint32_t count = self->all.count;
    for (uint32_t i = from; i < partition->items.count; i++) {
        TRY(over_list_room(node_budget(&self->node), (void **)&self->old_results, &self->old_capacity, self->old_count, sizeof(row_handle),
                           err));
        self->old_results[self->old_count++] = partition->shown[i];
    }
    TRY(over_list_room(node_budget(&self->node), (void **)&partition->shown, &partition->shown_capacity, count, sizeof *partition->shown,
                       err));
    if (count > from) {
        memcpy(partition->shown + from, self->changes.made, (count - from) * sizeof *partition->shown);
    }
    partition->items.count = from;
    for (uint32_t i = from; i < count; i++) {
        TRY(over_items_add(&partition->items, node_budget(&self->node), &self->all.items[i], err));
    }
    return STATUS_OK;
}

static enum status over_hold(struct over_node *self, struct over_partition *partition, struct error *err)
{
    uint64_t key = self->table == NULL ? HASH_NULL : key_table_hash(self->table, partition->slot);
    if (partition->held) {
        TRY(held_errors_add_key(self->held, key, -1, &self->run.first_failure, err));
    }
    if (self->run.failed) {
        TRY(held_errors_add_key(self->held, key, 1, &self->run.first_failure, err));
    }
    partition->held = self->run.failed;
    return STATUS_OK;
}

enum status over_settle(struct over_node *self, struct over_partition *partition, struct error *err)
{
    if (self->lossy) {
        TRY(over_drop_negatives(self, partition, err));
    }
    TRY(over_list_all(self, partition, err));
    uint32_t from = over_first_change(self, partition), before = partition->items.count;
    if (from < self->all.count || from < before || partition->held) {
        TRY(over_compute(self, partition, from, err));
        TRY(over_changes_emit(&self->changes, self->results, partition->shown == NULL ? NULL : partition->shown + from, before - from,
                              self->output, err));
        TRY(over_replace_shown(self, partition, from, err));
        TRY(over_hold(self, partition, err));
    }
    partition->touched = false;
    if (partition->waiting.block_count == 0) {
        if (self->cold != NULL) {
            TRY(cold_table_forget(self->cold, &partition->slot, 1, err));
        }
        if (self->table == NULL) {
            self->single = NULL;
        } else {
            key_table_remove(self->table, partition->slot);
            over_note_gone(self, partition->slot);
        }
        over_partition_free(self, partition);
    } else if (ttl_is_set(&self->ttl)) { /* the time of the partition is saved with its rows */
        TRY(touched_rows_mark(&self->changed, partition->waiting.blocks[0]->items[0].row, err));
    }
    return STATUS_OK;
}

enum status over_show_again(struct over_node *self, struct over_partition *partition, struct error *err)
{
    TRY(over_list_all(self, partition, err));
    if (self->all.count == 0) {
        return STATUS_OK;
    }
    TRY(over_compute(self, partition, 0, err));
    TRY(over_replace_shown(self, partition, 0, err));
    return over_hold(self, partition, err);
}
