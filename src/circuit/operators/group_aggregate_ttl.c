/* Groups are forgotten: those that are met when their time is over begin anew, the others are removed by a sweep, a part per tick. Rows in the
 * tables of DISTINCT cannot be found by their group: a forgotten group leaves them, to be swept as well, and they are told from those of a
 * later group of the same slot by a number, the generation. The row that stands without input, of the empty grouping set, is not forgotten.
 */
#include <string.h>

#include "circuit/operators/group_aggregate_internal.h"
#include "state/slot_array.h"

void group_aggregate_open_ttl(struct group_aggregate *self)
{
    ttl_open(&self->ttl, node_budget(&self->node), self->spec->ttl_us, node_evaluation(&self->node)->now_us);
}

void group_aggregate_close_ttl(struct group_aggregate *self)
{
    slot_array_free(node_budget(&self->node), self->generations, (size_t)self->generation_capacity * sizeof *self->generations);
    ttl_close(&self->ttl);
}

static bool keeps_generations(const struct group_aggregate *self)
{
    return ttl_is_set(&self->ttl) && call_set_table_count(self->calls) > 0;
}

static enum status set_generation(struct group_aggregate *self, uint32_t slot, uint32_t generation, struct error *err)
{
    if (slot >= self->generation_capacity) {
        uint32_t *grown, capacity = slot < CHUNK_ROWS ? CHUNK_ROWS : slot > UINT32_MAX / 2 ? UINT32_MAX : slot * 2;
        TRY_ALLOC(grown,
                  slot_array_grow(node_budget(&self->node), self->generations, (size_t)self->generation_capacity * sizeof *grown,
                                  (size_t)capacity * sizeof *grown),
                  err);
        self->states.generations = self->generations = grown;
        self->generation_capacity = capacity;
    }
    self->generations[slot] = generation;
    return STATUS_OK;
}

static uint32_t next_generation(struct group_aggregate *self)
{
    self->last_generation += self->last_generation == UINT32_MAX ? 2 : 1;
    return self->last_generation;
}

static void forget_group(struct group_aggregate *self, struct group_record *record)
{
    call_set_clear(self->calls, &self->states, record + 1);
    memset(record, 0, self->record_bytes);
}

static enum status renew_group(struct group_aggregate *self, uint32_t slot, struct error *err)
{
    struct group_record *record = record_at(self, slot);
    if ((record->flags & FLAG_PERMANENT) != 0) {
        return keeps_generations(self) && slot >= self->generation_capacity ? set_generation(self, slot, 0, err) : STATUS_OK;
    }
    if (record->weight != 0) {
        forget_group(self, record);
    }
    return keeps_generations(self) ? set_generation(self, slot, next_generation(self), err) : STATUS_OK;
}

enum status group_aggregate_renew(struct group_aggregate *self, uint32_t count, struct error *err)
{
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t k = 0; k < count; k++) {
        if (ttl_has_expired(&self->ttl, self->slots[k])) {
            TRY(renew_group(self, self->slots[k], err));
        }
        TRY(ttl_write(&self->ttl, self->slots[k], err));
    }
    return STATUS_OK;
}

void group_aggregate_note_gone(struct group_aggregate *self, uint32_t slot)
{
    ttl_forget(&self->ttl, slot);
    if (slot < self->generation_capacity) {
        self->generations[slot] = 0;
    }
}

static enum status note_changed(struct group_aggregate *self, uint32_t slot, struct error *err)
{
    return self->node.circuit->incremental ? dirty_slots_mark(&self->dirty, slot, err) : STATUS_OK;
}

static enum status remove_group(struct group_aggregate *self, uint32_t slot, struct error *err)
{
    struct group_record *record = record_at(self, slot);
    if (!key_table_has(self->table, slot) || (record->flags & FLAG_PERMANENT) != 0) {
        return STATUS_OK;
    }
    if (self->cold != NULL) {
        TRY(cold_table_forget(self->cold, &slot, 1, err));
    }
    forget_group(self, record);
    key_table_remove(self->table, slot);
    group_aggregate_note_gone(self, slot);
    return self->cold != NULL ? STATUS_OK : note_changed(self, slot, err);
}

enum status group_aggregate_sweep(struct group_aggregate *self, uint32_t touched, struct error *err)
{
    uint32_t expired[CHUNK_ROWS], room = TTL_SWEEP_MIN + touched;
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t taken = 0; taken < room; taken += CHUNK_ROWS) {
        uint32_t at_once = room - taken < CHUNK_ROWS ? room - taken : CHUNK_ROWS;
        uint32_t count = ttl_sweep(&self->ttl, key_table_slots(self->table), expired, at_once);
        for (uint32_t i = 0; i < count; i++) {
            TRY(remove_group(self, expired[i], err));
        }
    }
    return self->generations != NULL ? call_states_sweep(self->calls, &self->states, room, err) : STATUS_OK;
}

enum status group_aggregate_restore_generation(struct group_aggregate *self, uint32_t slot, uint32_t generation, struct error *err)
{
    if (!keeps_generations(self)) {
        return STATUS_OK;
    }
    bool permanent = (record_at(self, slot)->flags & FLAG_PERMANENT) != 0;
    self->last_generation = generation > self->last_generation ? generation : self->last_generation;
    return set_generation(self, slot, generation != 0 || permanent ? generation : next_generation(self), err);
}
