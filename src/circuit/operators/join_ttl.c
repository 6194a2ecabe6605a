#include "circuit/operators/join_ttl.h"

#include "circuit/operators/join_probe.h"

void join_ttl_set_now(struct join *self)
{
    for (uint32_t which = 0; which < 2; which++) {
        if (ttl_is_set(&self->state.sides[which].ttl)) {
            ttl_set_now(&self->state.sides[which].ttl, node_evaluation(&self->node)->now_us);
        }
    }
}

enum status join_ttl_probe(struct join *self, uint32_t which, const struct batch *view, struct error *err)
{
    struct selection rows = batch_selection(view);
    const struct join_side *other = &self->state.sides[1 - which];
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t slot = self->slots[k], entry = slot == SLOT_NONE ? 0 : join_heads(&self->state, slot)[1 - which];
        while (entry != 0) {
            uint32_t next = join_entry_next(other, entry);
            if (!ttl_has_expired(&other->ttl, entry)) {
                TRY(join_pair_add(self, which, view, selection_row(&rows, k), self->fresh[k] ? self->entries[k] : 0, entry, err));
            }
            entry = next;
        }
    }
    return join_pairs_flush(self, which, view, err);
}

/* What is withdrawn may never have been counted. */
static void clamp_matches(const struct join_side *side)
{
    for (uint32_t i = 0; i < side->touched.count; i++) {
        struct join_extra *extra = join_extra_at(side, side->touched.items[i]);
        extra->matches = extra->matches < 0 ? 0 : extra->matches;
    }
}

void join_ttl_begin_settling(struct join *self)
{
    join_ttl_set_now(self);
    self->right_total = self->right_total < 0 ? 0 : self->right_total;
    self->right_nulls = self->right_nulls < 0 ? 0 : self->right_nulls;
    for (uint32_t which = 0; which < 2; which++) {
        if (self->state.sides[which].tracked) {
            clamp_matches(&self->state.sides[which]);
        }
    }
}

static enum status forget_entry(struct join *self, uint32_t which, uint32_t entry, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    self->violations -= (join_extra_at(side, entry)->flags & ENTRY_MULTIPLE) != 0;
    if (self->cold != NULL) {
        cold_table_touch(self->cold, join_extra_at(side, entry)->slot, which);
        TRY(join_forget_key(self, which, entry, err));
    }
    join_side_remove(&self->state, which, entry);
    return side->follows ? dirty_slots_mark(&side->dirty, entry, err) : STATUS_OK;
}

static enum status sweep_side(struct join *self, uint32_t which, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    uint32_t expired[CHUNK_ROWS], room = TTL_SWEEP_MIN + self->arrived;
    for (uint32_t taken = 0; taken < room; taken += CHUNK_ROWS) {
        uint32_t at_once = room - taken < CHUNK_ROWS ? room - taken : CHUNK_ROWS;
        uint32_t count = ttl_sweep(&side->ttl, side->entry_count + 1, expired, at_once);
        for (uint32_t i = 0; i < count; i++) {
            TRY(forget_entry(self, which, expired[i], err));
        }
    }
    return STATUS_OK;
}

enum status join_ttl_sweep(struct join *self, struct error *err)
{
    for (uint32_t which = 0; which < 2; which++) {
        if (ttl_is_set(&self->state.sides[which].ttl)) {
            TRY(sweep_side(self, which, err));
        }
    }
    self->arrived = 0;
    return STATUS_OK;
}
