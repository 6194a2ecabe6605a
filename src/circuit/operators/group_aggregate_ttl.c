/* Groups are forgotten: those that are met when their time is over begin anew, the others are removed by a sweep, a part per tick. Rows in the
 * tables of DISTINCT cannot be found by their group: a forgotten group leaves them, to be swept as well, and they are told from those of a
 * later group of the same slot by a number, the generation. So do groups over input that forgets, which may end while values are left that
 * were not withdrawn. The row that stands without input, of the empty grouping set, is not forgotten.
 */
#include <string.h>

#include "circuit/operators/group_aggregate_internal.h"

void group_aggregate_open_ttl(struct group_aggregate *self)
{
    ttl_open(&self->ttl, node_budget(&self->node), self->spec->ttl_us, node_evaluation(&self->node)->now_us);
    self->repeats = ttl_is_set(&self->ttl) && (self->spec->call_count > 0 || self->spec->input.changes);
    call_states_number_records(self->calls, &self->states, self->lossy);
}

void group_aggregate_close_ttl(struct group_aggregate *self)
{
    ttl_close(&self->ttl);
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
        return call_states_restore_record(&self->states, slot, 0, err);
    }
    if (record->weight != 0) {
        forget_group(self, record);
    }
    return call_states_begin_record(&self->states, slot, err);
}

/* Without a time-to-live only groups that are new begin. */
static enum status number_group(struct group_aggregate *self, uint32_t slot, struct error *err)
{
    if ((record_at(self, slot)->flags & FLAG_PERMANENT) != 0) {
        return call_states_restore_record(&self->states, slot, 0, err);
    }
    return call_states_has_record(&self->states, slot) ? STATUS_OK : call_states_begin_record(&self->states, slot, err);
}

enum status group_aggregate_renew(struct group_aggregate *self, uint32_t count, struct error *err)
{
    for (uint32_t k = 0; k < count && !ttl_is_set(&self->ttl); k++) {
        TRY(number_group(self, self->slots[k], err));
    }
    if (!ttl_is_set(&self->ttl)) {
        return STATUS_OK;
    }
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
    call_states_end_record(&self->states, slot);
}

static enum status note_changed(struct group_aggregate *self, uint32_t slot, struct error *err)
{
    return self->node.circuit->incremental ? dirty_slots_mark(&self->dirty, slot, err) : STATUS_OK;
}

static enum status remove_group(struct group_aggregate *self, uint32_t slot, struct error *err)
{
    struct group_record *record = record_at(self, slot);
    if (!key_table_has(self->table, slot) || (record->flags & FLAG_PERMANENT) != 0) {
        ttl_forget(&self->ttl, slot);
        return STATUS_OK;
    }
    if (self->cold != NULL) {
        TRY(cold_table_forget(self->cold, &slot, 1, err));
    }
    TRY(slot_cut_keep(&self->cut, &slot, 1, err));
    forget_group(self, record);
    key_table_remove(self->table, slot);
    group_aggregate_note_gone(self, slot);
    return note_changed(self, slot, err);
}

/* Those in the database. */
static enum status sweep_cold(struct group_aggregate *self, uint32_t room, struct error *err)
{
    uint32_t slots[CHUNK_ROWS], count;
    bool more = self->cold != NULL;
    for (uint32_t taken = 0; more && taken < room; taken += CHUNK_ROWS) {
        TRY(cold_table_fetch_expired(self->cold, &self->ttl, slots, &count, &more, err));
        for (uint32_t i = 0; i < count; i++) {
            TRY(remove_group(self, slots[i], err));
        }
    }
    return STATUS_OK;
}

enum status group_aggregate_sweep(struct group_aggregate *self, uint32_t touched, struct error *err)
{
    uint32_t expired[CHUNK_ROWS], room = TTL_SWEEP_MIN + touched;
    if (!ttl_is_set(&self->ttl)) {
        return call_states_sweep(self->calls, &self->states, room, err);
    }
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t taken = 0; taken < room; taken += CHUNK_ROWS) {
        uint32_t at_once = room - taken < CHUNK_ROWS ? room - taken : CHUNK_ROWS;
        uint32_t count = ttl_sweep(&self->ttl, key_table_slots(self->table), expired, at_once);
        for (uint32_t i = 0; i < count; i++) {
            TRY(remove_group(self, expired[i], err));
        }
    }
    TRY(sweep_cold(self, room, err));
    return call_states_sweep(self->calls, &self->states, room, err);
}

enum status group_aggregate_restore_generation(struct group_aggregate *self, uint32_t slot, uint32_t generation, struct error *err)
{
    bool permanent = (record_at(self, slot)->flags & FLAG_PERMANENT) != 0;
    return generation != 0 || permanent ? call_states_restore_record(&self->states, slot, generation, err)
                                        : call_states_begin_record(&self->states, slot, err);
}
