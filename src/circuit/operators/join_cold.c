/* Keys of a join in a database: the rows of each side are a unit. Both sides then keep their rows one by one, as if they changed. */
#include <string.h>

#include "circuit/operators/join_ends.h"
#include "circuit/operators/join_save.h"

enum { JOIN_SIDES = 2, SPAN_US = 10000000 };

/* Not: NOT IN and subqueries used as values, which count over all keys; sides that every worker has. */
bool join_can_spill(const struct join *self)
{
    const struct join_spec *spec = self->spec;
    return !self->lookup && spec->key_count > 0 && !spec->null_aware && !spec->single && !spec->left.everywhere && !spec->right.everywhere;
}

static enum status key_rows(void *context, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    return join_save_slots(context, cold, slots, count, err);
}

static enum status key_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    struct join *self = context;
    TRY(join_add_rows(self, self->cold->part, batch, err));
    memcpy(slots, self->slots, batch->count * sizeof *slots);
    return STATUS_OK;
}

static enum status key_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    struct join *self = context;
    uint32_t left[JOIN_SIDES] = {0};
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t which = 0; which < JOIN_SIDES; which++) {
            uint32_t entry;
            /* The key goes with its last entry. */
            while (key_table_has(self->state.keys, slots[k]) && (entry = join_heads(&self->state, slots[k])[which]) != 0) {
                join_side_remove(&self->state, which, entry);
                left[which]++;
            }
        }
    }
    for (uint32_t which = 0; which < JOIN_SIDES && self->expires; which++) {
        join_ends_left(self, which, left[which], false);
    }
    return STATUS_OK;
}

/* When the first of a key's rows of the side at hand is over. */
static int64_t key_due(const void *context, uint32_t slot)
{
    const struct join *self = context;
    const struct join_side *side = &self->state.sides[self->cold->part];
    const uint32_t *heads = (const uint32_t *)key_table_values(self->state.keys, 0) + (size_t)slot * JOIN_SIDES;
    int64_t due = INT64_MAX;
    for (uint32_t entry = heads[self->cold->part]; entry != 0; entry = join_entry_next(side, entry)) {
        int64_t end = *join_entry_end(side, entry);
        end -= end == INT64_MAX; /* it is over when all is */
        due = end < due ? end : due;
    }
    return due;
}

static bool key_pinned(const void *context, uint32_t slot)
{
    const struct join *self = context;
    const uint32_t *heads = (const uint32_t *)key_table_values(self->state.keys, 0) + (size_t)slot * JOIN_SIDES;
    for (uint32_t which = 0; which < JOIN_SIDES; which++) {
        const struct join_side *side = &self->state.sides[which];
        for (uint32_t entry = heads[which]; entry != 0; entry = join_entry_next(side, entry)) {
            if ((join_extra_at(side, entry)->flags & ENTRY_TOUCHED) != 0) {
                return true;
            }
        }
    }
    return false;
}

static const struct slab *key_heap(const void *context)
{
    const struct join *self = context;
    const struct slab *left = row_store_slab(self->state.sides[0].rows), *right = row_store_slab(self->state.sides[1].rows);
    return left->bytes > right->bytes ? left : right;
}

static void key_emptied(void *context)
{
    struct join *self = context;
    for (uint32_t which = 0; which < JOIN_SIDES; which++) {
        join_side_clear(&self->state.sides[which]);
        join_ends_left(self, which, 0, true);
    }
}

enum status join_open_cold(struct node *node, struct error *err)
{
    struct join *self = (struct join *)node;
    const struct cold_owner owner = {.context = self,
                                     .rows = key_rows,
                                     .add = key_add,
                                     .drop = key_drop,
                                     .pinned = key_pinned,
                                     .due = key_due,
                                     .heap = key_heap,
                                     .emptied = key_emptied};
    struct cold_layout layouts[JOIN_SIDES];
    if (!self->spills) {
        return STATUS_OK;
    }
    for (uint32_t which = 0; which < JOIN_SIDES; which++) {
        TRY(node_make_layout(node, &node->tables[which], self->saved_keys[which], self->spec->key_count, &layouts[which], err));
        layouts[which].tag = (uint8_t)which;
    }
    TRY(node_make_cold(node, 1, &self->cold, err));
    TRY(cold_table_open(self->cold, node->circuit->cold, layouts, JOIN_SIDES, &owner, self->state.keys, err));
    return self->expires ? cold_table_open_timers(self->cold, JOIN_SIDES, SPAN_US, err) : STATUS_OK;
}

enum status join_note_slots(struct join *self, uint32_t which, uint32_t count, struct error *err)
{
    TRY(cold_table_changed(self->cold, self->slots, count, which, err));
    /* What the other side's rows have met is kept with them. */
    return self->state.sides[1 - which].tracked ? cold_table_changed(self->cold, self->slots, count, 1 - which, err) : STATUS_OK;
}

enum status join_forget_key(struct join *self, uint32_t which, uint32_t entry, struct error *err)
{
    uint32_t slot = join_extra_at(&self->state.sides[which], entry)->slot;
    const uint32_t *heads = join_heads(&self->state, slot);
    bool last = heads[which] == entry && heads[1 - which] == 0 && join_entry_next(&self->state.sides[which], entry) == 0;
    return last ? cold_table_forget(self->cold, &slot, 1, err) : STATUS_OK;
}
