#include "circuit/operators/join_log.h"

#include <assert.h>
#include <string.h>

#include "circuit/operators/join_probe.h"
#include "circuit/operators/time_heap.h"

/* Nanoseconds, roughly: a row that waits is scanned, a row that asks enters the filter. Getting into a list costs some 50. A side whose
 * rows go by themselves may never need lists, so it may scan for longer. */
enum { SCAN_COST = 1, ASK_COST = 4, RENT_STAYING = 8, RENT_GOING = 40, PREFETCH_AHEAD = 16 };
enum { QUIET_ROWS = 65536 };

/* ---- into lists ---- */

void join_log_link_rows(struct join *self, uint32_t which, const uint32_t *numbers, const uint32_t *slots, uint32_t count)
{
    struct row_log *log = self->state.sides[which].log;
    for (uint32_t k = 0; k < count; k++) {
        if (k + PREFETCH_AHEAD < count) {
            __builtin_prefetch(&join_heads(&self->state, slots[k + PREFETCH_AHEAD])[which], 1);
        }
        uint32_t *head = &join_heads(&self->state, slots[k])[which];
        *row_log_next(log, numbers[k]) = *head;
        *head = numbers[k];
    }
}

/* The slots of the keys of a chunk's rows from `first` on. */
static enum status chunk_slots(struct join *self, uint32_t which, uint32_t chunk, uint32_t first, bool insert, uint32_t *slots,
                               struct error *err)
{
    struct row_log *log = self->state.sides[which].log;
    uint16_t rows[LOG_CHUNK_ROWS];
    uint64_t hashes[LOG_CHUNK_ROWS];
    struct batch view;
    TRY(batch_init(&view, log->column_count, err));
    row_log_view(log, chunk, &view);
    view.selected = rows;
    for (uint32_t row = first; row < view.count; row++) {
        rows[view.selected_count++] = (uint16_t)row;
    }
    batch_hash(&view, log->keys, log->key_count, hashes);
    enum status status = STATUS_OK;
    if (insert) {
        status = key_table_find_or_insert(self->state.keys, &view, log->keys, hashes, slots, err);
    } else {
        key_table_find(self->state.keys, &view, log->keys, hashes, slots);
    }
    batch_release(&view);
    return status;
}

static enum status link_chunk(struct join *self, uint32_t which, uint32_t chunk, struct error *err)
{
    struct row_log *log = self->state.sides[which].log;
    uint32_t first = log->chunks[chunk].linked, count = log->chunks[chunk].count - first;
    uint32_t slots[LOG_CHUNK_ROWS], numbers[LOG_CHUNK_ROWS];
    TRY(chunk_slots(self, which, chunk, first, true, slots, err));
    for (uint32_t k = 0; k < count; k++) {
        numbers[k] = row_log_number(chunk, first + k);
    }
    join_log_link_rows(self, which, numbers, slots, count);
    row_log_set_linked(log, chunk);
    return STATUS_OK;
}

enum status join_log_link(struct join *self, uint32_t which, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    for (uint32_t chunk = side->log->chunk_count; side->log->waiting > 0; chunk--) {
        assert(chunk > 0);
        if (side->log->chunks[chunk - 1].linked < side->log->chunks[chunk - 1].count) {
            TRY(link_chunk(self, which, chunk - 1, err));
        }
    }
    side->waits = false;
    side->rent = 0;
    return STATUS_OK;
}

enum status join_log_prepare(struct join *self, uint32_t which, const struct batch *view, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    side->quiet = 0;
    if (side->log->waiting == 0) {
        return STATUS_OK;
    }
    uint64_t cost = side->log->waiting * SCAN_COST + (uint64_t)batch_rows(view) * ASK_COST;
    if (side->rent + cost > side->log->waiting * (side->prune != NULL ? RENT_GOING : RENT_STAYING)) {
        return join_log_link(self, which, err);
    }
    side->rent += cost;
    return STATUS_OK;
}

/* ---- storing ---- */

/* Half of the rows have come since the other side came last. */
static bool waits_again(const struct join_side *side)
{
    return side->may_wait && !side->waits && side->quiet >= QUIET_ROWS && side->quiet * 2 >= side->log->rows;
}

static bool meets_nothing(const struct join_side *side, const struct vector *times, uint32_t row)
{
    return !vector_is_valid(times, row) || vector_int64(times)[row] <= side->dropped_to;
}

void join_log_choose(struct join *self, uint32_t which, const struct batch *view, struct batch *stored)
{
    struct join_side *side = &self->state.sides[which];
    side->waits = side->waits || waits_again(side);
    side->quiet += batch_rows(view);
    *stored = *view;
    if (side->prune == NULL) {
        return;
    }
    const struct vector *times = &view->columns[side->prune->time_column];
    struct selection rows = batch_selection(view);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        self->stored[kept] = (uint16_t)row;
        kept += !meets_nothing(side, times, row);
    }
    if (kept < rows.count) {
        stored->selected = self->stored;
        stored->selected_count = kept;
    }
}

enum status join_log_store(struct join *self, uint32_t which, const struct batch *stored, bool slots_known, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    uint32_t count = batch_rows(stored);
    if (count == 0) {
        return STATUS_OK;
    }
    const uint64_t *hashes = side->may_wait ? self->hashes : NULL;
    struct batch kept = join_kept_columns(self, which, stored);
    TRY(row_log_append(side->log, &kept, hashes, !side->waits, self->entries, err));
    if (side->waits) {
        return STATUS_OK;
    }
    if (!slots_known) {
        TRY(key_table_find_or_insert(self->state.keys, stored, side->keys, self->hashes, self->slots, err));
    }
    join_log_link_rows(self, which, self->entries, self->slots, count);
    return STATUS_OK;
}

/* ---- scanning ---- */

static enum status scan_chunk(struct join *self, uint32_t which, uint32_t chunk, const struct row_probe *probe, struct error *err)
{
    const struct row_log *log = self->state.sides[which].log;
    const struct batch *view = probe->batch;
    struct selection rows = batch_selection(view);
    uint16_t candidates[LOG_CHUNK_ROWS];
    uint32_t count = row_log_candidates(log, chunk, probe, candidates);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = ROW_PROBE_END;
        while ((k = row_probe_match(probe, log, chunk, candidates[i], k)) != ROW_PROBE_END) {
            uint32_t own = self->fresh[k] ? self->entries[k] : 0;
            TRY(join_pair_add(self, 1 - which, view, selection_row(&rows, k), own, row_log_number(chunk, candidates[i]), err));
        }
    }
    return STATUS_OK;
}

enum status join_log_scan(struct join *self, uint32_t which, const struct batch *view, struct error *err)
{
    const struct join_side *asking = &self->state.sides[1 - which];
    const struct row_log *log = self->state.sides[which].log;
    if (log->waiting == 0) {
        return STATUS_OK;
    }
    if (self->probe == NULL) {
        TRY_ALLOC(self->probe, arena_alloc(node_arena(&self->node), sizeof *self->probe), err);
    }
    row_probe_set(self->probe, view, asking->keys, self->spec->key_count, self->hashes);
    uint64_t left = log->waiting;
    for (uint32_t chunk = log->chunk_count; left > 0; chunk--) {
        assert(chunk > 0);
        uint32_t waiting = log->chunks[chunk - 1].count - log->chunks[chunk - 1].linked;
        if (waiting > 0) {
            TRY(scan_chunk(self, which, chunk - 1, self->probe, err));
        }
        left -= waiting;
    }
    return STATUS_OK;
}

/* ---- dropping ---- */

/* Takes the rows of the chunk that are in the list of a key out of it. */
static void unlink_slot(struct join *self, uint32_t which, uint32_t slot, uint32_t chunk)
{
    const struct row_log *log = self->state.sides[which].log;
    uint32_t *at = &join_heads(&self->state, slot)[which];
    while (*at != 0) {
        uint32_t *next = row_log_next(log, *at);
        if ((*at - 1) / LOG_CHUNK_ROWS == chunk) {
            *at = *next;
            *next = UINT32_MAX; /* done */
        } else {
            at = next;
        }
    }
}

static enum status unlink_chunk(struct join *self, uint32_t which, uint32_t chunk, struct error *err)
{
    const struct row_log *log = self->state.sides[which].log;
    uint32_t slots[LOG_CHUNK_ROWS];
    TRY(chunk_slots(self, which, chunk, 0, false, slots, err));
    for (uint32_t row = 0; row < log->chunks[chunk].linked; row++) {
        if (*row_log_next(log, row_log_number(chunk, row)) == UINT32_MAX) {
            continue;
        }
        unlink_slot(self, which, slots[row], chunk);
        const uint32_t *heads = join_heads(&self->state, slots[row]);
        if (heads[0] == 0 && heads[1] == 0) {
            key_table_remove(self->state.keys, slots[row]);
        }
    }
    return STATUS_OK;
}

enum status join_log_drop(struct join *self, uint32_t which, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    int64_t watermark = node_input_watermark(&self->node, 1 - which);
    if (side->prune == NULL || watermark == WATERMARK_NONE) {
        return STATUS_OK;
    }
    int64_t bound = watermark == WATERMARK_END ? INT64_MAX : time_add(watermark, side->prune->lag_us);
    side->dropped_to = bound > side->dropped_to ? bound : side->dropped_to;
    struct row_log *log = side->log;
    if (log->rows == 0 || log->next_drop > side->dropped_to) {
        return STATUS_OK;
    }
    uint64_t before = log->rows;
    for (uint32_t chunk = 0; (chunk = row_log_find_droppable(log, chunk, side->dropped_to)) < log->chunk_count; chunk++) {
        if (log->chunks[chunk].linked > 0) {
            TRY(unlink_chunk(self, which, chunk, err));
        }
        row_log_drop(log, chunk);
    }
    row_log_note_dropped(log);
    side->rent = side->rent * log->rows / before;
    return STATUS_OK;
}
