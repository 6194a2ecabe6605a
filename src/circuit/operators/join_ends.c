#include "circuit/operators/join_ends.h"

enum { STALE_MIN = CHUNK_ROWS };

enum status join_end_at(struct join *self, uint32_t which, uint32_t entry, int64_t end, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    if (side->spills) {
        *join_entry_end(side, entry) = end;
    }
    return time_heap_push(&self->ends[which], node_budget(&self->node), end, entry, err);
}

static bool is_there(const struct join_side *side, const struct timed *item)
{
    uint32_t entry = (uint32_t)item->item;
    return !side->spills || (entry <= side->entry_count && (join_extra_at(side, entry)->flags & ENTRY_FREE) == 0 &&
                             *join_entry_end(side, entry) == item->time);
}

static enum status end_side(struct join *self, uint32_t which, int64_t passed, struct error *err)
{
    struct timed ended;
    self->passed[which] = passed;
    while (time_heap_pop(&self->ends[which], passed, &ended)) {
        if (!is_there(&self->state.sides[which], &ended)) {
            self->stale[which] -= self->stale[which] > 0;
            continue;
        }
        uint32_t entry = (uint32_t)ended.item;
        if (self->cold != NULL) {
            cold_table_touch(self->cold, join_extra_at(&self->state.sides[which], entry)->slot, which);
        }
        TRY(join_expire(self, which, entry, err));
    }
    return STATUS_OK;
}

/* Of inner joins nobody asks for rows any more. */
static bool is_shown(const struct join *self)
{
    return self->state.sides[0].tracked || self->state.sides[1].tracked;
}

enum status join_end_passed(struct join *self, const int64_t *passed, bool last, struct error *err)
{
    uint32_t fetched = 0, count;
    do {
        if (fetched > 0) { /* what has come back goes before the next comes */
            TRY(join_settle_sides(self, err));
            TRY(node_relieve(&self->node, err));
        }
        fetched = 0;
        for (uint32_t which = 0; which < 2 && self->cold != NULL && (!last || is_shown(self)); which++) {
            TRY(cold_table_fetch_due(self->cold, which, passed[which], NULL, &count, err));
            fetched += count;
        }
        TRY(end_side(self, 0, passed[0], err));
        TRY(end_side(self, 1, passed[1], err));
    } while (fetched > 0);
    return STATUS_OK;
}

int64_t join_next_end(const struct join *self)
{
    int64_t next = INT64_MAX;
    for (uint32_t which = 0; which < 2; which++) {
        const struct time_heap *ends = &self->ends[which];
        int64_t due = self->cold == NULL ? INT64_MAX : cold_table_next_due(self->cold, which);
        next = due < next ? due : next;
        next = ends->count > 0 && ends->items[0].time < next ? ends->items[0].time : next;
    }
    return next;
}

static bool keep_item(const void *context, const struct timed *item)
{
    return is_there(context, item);
}

void join_ends_left(struct join *self, uint32_t which, uint32_t count, bool all)
{
    struct time_heap *ends = &self->ends[which];
    self->stale[which] += count;
    if (all) {
        ends->count = 0;
        self->stale[which] = 0;
    } else if (self->stale[which] > STALE_MIN + ends->count / 2) {
        time_heap_keep(ends, keep_item, &self->state.sides[which]);
        self->stale[which] = 0;
    }
}

void join_ends_close(struct join *self)
{
    time_heap_release(&self->ends[0], node_budget(&self->node));
    time_heap_release(&self->ends[1], node_budget(&self->node));
}
