/* Sessions in a database: a key is a unit, with all its sessions; it is wanted back when the first of them closes. Only those that are kept as
 * states: the rows of a session name it by a number that it has in memory. */
#include "circuit/operators/session_window_internal.h"

/* The sessions of several keys, up to a chunk, on their way out. */
struct leaving_sessions {
    struct session_window *self;
    struct cold_table *cold;
    uint32_t count;
    uint32_t numbers[CHUNK_ROWS], units[CHUNK_ROWS];
};

static enum status put_sessions(struct leaving_sessions *leaving, struct error *err)
{
    struct batch batch = {0};
    if (leaving->count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, leaving->cold->layouts[0].column_count, err));
    batch.count = leaving->count;
    enum status status = session_window_columns(leaving->self, leaving->numbers, leaving->count, &batch, err);
    if (status == STATUS_OK) {
        status = cold_table_put(leaving->cold, &batch, leaving->units, err);
    }
    batch_release(&batch);
    leaving->count = 0;
    return status;
}

static enum status key_rows(void *context, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    struct session_window *self = context;
    struct leaving_sessions leaving = {.self = self, .cold = cold};
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = session_list_first(&self->sessions, slots[k]);
        for (; at != SESSION_NONE; at = session_list_next(&self->sessions, at)) {
            if (leaving.count == CHUNK_ROWS) {
                TRY(put_sessions(&leaving, err));
            }
            leaving.numbers[leaving.count] = at;
            leaving.units[leaving.count++] = k;
        }
    }
    return put_sessions(&leaving, err);
}

static enum status key_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    return session_window_add(context, batch, slots, NULL, err);
}

static enum status key_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    struct session_window *self = context;
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t at = session_list_first(&self->sessions, slots[k]), next; at != SESSION_NONE; at = next) {
            next = session_list_next(&self->sessions, at);
            call_set_clear(self->calls, &self->states, session_extra(self, at));
            session_list_forget(&self->sessions, at);
        }
        key_table_remove(self->sessions.keys, slots[k]);
    }
    return STATUS_OK;
}

static int64_t key_due(const void *context, uint32_t slot)
{
    const struct session_window *self = context;
    int64_t first = INT64_MAX;
    uint32_t at = session_list_first(&self->sessions, slot);
    for (; at != SESSION_NONE; at = session_list_next(&self->sessions, at)) {
        int64_t closes = session_closes(&self->sessions, session_at(&self->sessions, at));
        first = closes < first ? closes : first;
    }
    return first;
}

static const struct slab *key_heap(const void *context)
{
    return &((const struct session_window *)context)->states.heap;
}

/* Sessions that were merged away may still be there. */
static void key_emptied(void *context)
{
    struct session_window *self = context;
    slab_close(&self->states.heap);
    if (self->sessions.live == 0) {
        session_list_clear(&self->sessions);
    }
}

enum status session_window_open_cold(struct node *node, struct error *err)
{
    enum { SPANS = 32 }; /* of a gap */
    struct session_window *self = (struct session_window *)node;
    const struct cold_owner owner = {
        .context = self, .rows = key_rows, .add = key_add, .drop = key_drop, .due = key_due, .heap = key_heap, .emptied = key_emptied};
    uint32_t key_count = self->spec->base.window.partition_count, *keys;
    struct cold_layout layout;
    if (self->rows != NULL) {
        return STATUS_OK;
    }
    TRY_ALLOC(keys, arena_alloc(node_arena(node), (key_count + 1) * sizeof *keys), err);
    for (uint32_t i = 0; i < key_count; i++) {
        keys[i] = i;
    }
    TRY(node_make_cold(node, 1, &self->cold, err));
    TRY(node_make_layout(node, &node->tables[SESSION_TABLE_SESSIONS], keys, key_count, &layout, err));
    self->sessions.cold = self->cold;
    TRY(cold_table_open(self->cold, node->circuit->cold, &layout, 1, &owner, self->sessions.keys, err));
    return cold_table_open_timers(self->cold, 1, self->spec->base.window.size_us / SPANS, err);
}
