/* circuit/operators/join_core.c: opening, absorbing a chunk, settling a tick. The pairs are in join_probe.c. */
#include "circuit/operators/join_core.h"

#include <assert.h>
#include <string.h>

#include "circuit/operators/join_ends.h"
#include "circuit/operators/join_log.h"
#include "circuit/operators/join_probe.h"
#include "circuit/operators/join_ttl.h"
#include "circuit/operators/row_output.h"

enum { PREFETCH_AHEAD = 12 };

/* ---- open ---- */

static bool join_tracks(enum join_kind kind, uint32_t side)
{
    return side == 0 ? kind != JOIN_INNER && kind != JOIN_RIGHT : kind == JOIN_RIGHT || kind == JOIN_FULL;
}

struct column_marks {
    bool *used;
};

static bool mark_column(const struct expression *expression, void *context)
{
    if (expression->kind == EXPRESSION_COLUMN) {
        ((struct column_marks *)context)->used[expression->index] = true;
    }
    return true;
}

static bool join_is_key(const struct join *self, uint32_t which, uint32_t column)
{
    for (uint32_t k = 0; k < self->spec->key_count; k++) {
        if (self->state.sides[which].keys[k] == column) {
            return true;
        }
    }
    return false;
}

static bool join_sends(const struct join *self, uint32_t which, uint32_t column)
{
    if (which == 1 && !self->emits_pairs) {
        return false;
    }
    return self->spec->read == NULL || self->spec->read[which == 0 ? column : self->left_columns + column];
}

/* Which columns of a side the condition reads, which go out, and which are kept: these, and the keys of a side whose rows are looked up by
 * value (equal rows under different keys are different rows) or may wait without being in a list (their keys are compared). */
static enum status join_choose_columns(struct join *self, uint32_t which, const bool *used, struct error *err)
{
    struct arena *arena = node_arena(&self->node);
    struct join_side *side = &self->state.sides[which];
    uint32_t columns = side->input->schema->count;
    uint32_t *kept;
    TRY_ALLOC(self->used[which], arena_alloc(arena, (columns + 1) * sizeof(uint32_t)), err);
    TRY_ALLOC(self->sent[which], arena_alloc(arena, (columns + 1) * sizeof(uint32_t)), err);
    TRY_ALLOC(self->position[which], arena_alloc(arena, (columns + 1) * sizeof(uint32_t)), err);
    TRY_ALLOC(kept, arena_alloc(arena, (columns + 1) * sizeof(uint32_t)), err);
    for (uint32_t c = 0; c < columns; c++) {
        bool sent = join_sends(self, which, c);
        if (used[c]) {
            self->used[which][self->used_count[which]++] = c;
        }
        if (sent) {
            self->sent[which][self->sent_count[which]++] = c;
        }
        if (sent || used[c] || ((side->indexed || join_side_only_grows(side, self->expires)) && join_is_key(self, which, c))) {
            self->position[which][c] = side->kept_count;
            kept[side->kept_count++] = c;
        }
    }
    side->kept = kept;
    return STATUS_OK;
}

static enum status join_open_condition(struct join *self, struct error *err)
{
    const struct join_spec *spec = self->spec;
    struct arena *arena = node_arena(&self->node);
    uint32_t columns = self->left_columns + self->right_columns;
    struct column_marks marks;
    TRY_ALLOC(marks.used, arena_alloc(arena, columns + 1), err);
    TRY_ALLOC(self->names, arena_alloc(arena, (columns + 1) * sizeof(char *)), err);
    for (uint32_t i = 0; i < columns; i++) {
        self->names[i] =
            i < self->left_columns ? spec->left.schema->columns[i].name : spec->right.schema->columns[i - self->left_columns].name;
    }
    if (spec->condition != NULL) {
        expression_walk(spec->condition, mark_column, &marks);
        TRY(program_create(arena, node_evaluation(&self->node), &spec->condition, 1, &self->condition, err));
    }
    TRY(join_choose_columns(self, 0, marks.used, err));
    TRY(join_choose_columns(self, 1, marks.used + self->left_columns, err));
    TRY_ALLOC(self->vectors, arena_alloc(arena, (columns + 1) * sizeof *self->vectors), err);
    TRY_ALLOC(self->scratch_columns, arena_alloc(arena, (columns + 1) * sizeof(uint32_t)), err);
    return STATUS_OK;
}

static enum status join_open_state(struct join *self, bool expires, struct error *err)
{
    const struct join_spec *spec = self->spec;
    struct arena *arena = node_arena(&self->node);
    struct budget *budget = node_budget(&self->node);
    const struct type **key_types;
    uint32_t *positions;
    TRY_ALLOC(positions, arena_alloc(arena, (spec->key_count + 1) * sizeof *positions), err);
    TRY_ALLOC(key_types, arena_alloc(arena, (spec->key_count + 1) * sizeof *key_types), err);
    for (uint32_t i = 0; i < spec->key_count; i++) {
        key_types[i] = type_with_nullable(arena, spec->left.schema->columns[spec->left_keys[i]].type, true);
        TRY_ALLOC(key_types[i], key_types[i], err);
    }
    for (uint32_t which = 0; which < 2; which++) {
        struct join_side *side = &self->state.sides[which];
        for (uint32_t i = 0; i < spec->key_count; i++) {
            positions[i] = self->position[which][side->keys[i]];
        }
        if (self->spec->prune[which].present && join_side_is_log(side, expires)) {
            side->prune = &self->spec->prune[which];
            side->time_position = self->position[which][side->prune->time_column];
        }
        TRY(join_side_open(side, budget, arena, expires, positions, spec->key_count, err));
    }
    self->state.key_count = spec->key_count;
    self->state.budget = budget;
    return join_state_open(&self->state, arena, key_types, err);
}

enum status join_open(struct join *self, struct circuit *circuit, const struct join_spec *spec, bool expires, struct error *err)
{
    self->node.circuit = circuit;
    self->spec = spec;
    self->expires = expires;
    self->spills = self->spills && join_can_spill(self);
    self->emits_pairs = spec->kind != JOIN_SEMI && spec->kind != JOIN_ANTI;
    self->changes = spec->left.changes || spec->right.changes;
    self->left_columns = spec->left.schema->count;
    self->right_columns = spec->right.schema->count;
    self->output_columns = self->left_columns + (self->emits_pairs ? self->right_columns : 0);
    self->pairs.limit = node_chunk_rows(&self->node);
    self->state.sides[0].input = &spec->left;
    self->state.sides[0].keys = spec->left_keys;
    self->state.sides[1].input = &spec->right;
    self->state.sides[1].keys = spec->right_keys;
    for (uint32_t which = 0; which < 2; which++) {
        struct join_side *side = &self->state.sides[which];
        side->tracked = join_tracks(spec->kind, which);
        side->spills = self->spills;
        /* The right of SEMI and ANTI is seen through few columns, many rows are equal there. */
        side->indexed = side->input->changes || (which == 1 && !self->emits_pairs);
        ttl_open(&side->ttl, circuit->budget, spec->ttl_us[which], circuit->evaluation.now_us);
        self->lossy = self->lossy || spec->ttl_us[which] > 0 || side->input->lossy;
    }
    if (spec->null_aware && (spec->kind != JOIN_ANTI || spec->key_count != 1 || spec->condition != NULL)) {
        return error_set(err, ERROR_NOT_SUPPORTED, "NOT IN as a join on %u keys and a further condition", spec->key_count);
    }
    TRY(join_open_condition(self, err));
    TRY(join_open_state(self, expires, err));
    return self->changes ? held_errors_create(circuit, &self->held, err) : STATUS_OK;
}

void join_close(struct join *self)
{
    program_destroy(self->condition);
    held_errors_destroy(self->held);
    join_ends_close(self);
    join_state_close(&self->state);
}

/* ---- absorb ---- */

static bool join_row_has_key(const struct join *self, uint32_t which, const struct batch *batch, uint32_t row)
{
    for (uint32_t k = 0; k < self->spec->key_count; k++) {
        bool null_safe = self->spec->null_safe != NULL && self->spec->null_safe[k];
        if (!null_safe && !vector_is_valid(&batch->columns[self->state.sides[which].keys[k]], row)) {
            return false;
        }
    }
    return true;
}

static bool join_keys_may_be_null(const struct join *self, uint32_t which, const struct batch *batch)
{
    for (uint32_t k = 0; k < self->spec->key_count; k++) {
        const struct vector *key = &batch->columns[self->state.sides[which].keys[k]];
        bool null_safe = self->spec->null_safe != NULL && self->spec->null_safe[k];
        if (!null_safe && (key->validity != NULL || key->physical == PHYSICAL_NULL)) {
            return true;
        }
    }
    return false;
}

/* Narrows `view` to the rows that can match; returns how many cannot (listed in self->unkeyed). */
static uint32_t join_split(struct join *self, uint32_t which, struct batch *view)
{
    if (!join_keys_may_be_null(self, which, view)) {
        return 0;
    }
    struct selection rows = batch_selection(view);
    uint32_t keyed = 0, unkeyed = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint16_t row = (uint16_t)selection_row(&rows, k);
        if (join_row_has_key(self, which, view, row)) {
            self->keyed[keyed++] = row;
        } else {
            self->unkeyed[unkeyed++] = row;
        }
    }
    view->selected = self->keyed;
    view->selected_count = keyed;
    return unkeyed;
}

/* self->slots of the rows of the view. insert: keys that are not there yet get one, else SLOT_NONE. */
static enum status join_find_slots(struct join *self, uint32_t which, const struct batch *view, bool insert, struct error *err)
{
    if (self->state.keys == NULL) {
        memset(self->slots, 0, batch_rows(view) * sizeof *self->slots);
        return STATUS_OK;
    }
    const uint32_t *keys = self->state.sides[which].keys;
    batch_hash(view, keys, self->spec->key_count, self->hashes);
    if (UNLIKELY(self->cold != NULL)) {
        TRY(node_fetch_keys(&self->node, self->cold, view, keys, self->hashes, err));
        TRY(key_table_find_or_insert(self->state.keys, view, keys, self->hashes, self->slots, err));
        return join_note_slots(self, which, batch_rows(view), err);
    }
    if (insert) {
        return key_table_find_or_insert(self->state.keys, view, keys, self->hashes, self->slots, err);
    }
    if (key_table_count(self->state.keys) == 0) {
        memset(self->slots, 0xff, batch_rows(view) * sizeof *self->slots); /* SLOT_NONE */
    } else {
        key_table_find(self->state.keys, view, keys, self->hashes, self->slots);
    }
    return STATUS_OK;
}

struct batch join_kept_columns(struct join *self, uint32_t which, const struct batch *view)
{
    const struct join_side *side = &self->state.sides[which];
    struct batch kept = *view;
    for (uint32_t i = 0; i < side->kept_count; i++) {
        self->vectors[i] = view->columns[side->kept[i]];
    }
    kept.columns = self->vectors;
    kept.column_count = side->kept_count;
    return kept;
}

/* Stores the rows of the view; entries and fresh are by its selected rows. */
static enum status join_store(struct join *self, uint32_t which, const struct batch *view, struct error *err)
{
    struct batch kept = join_kept_columns(self, which, view);
    return join_side_add(&self->state, which, &kept, self->slots, NULL, self->entries, self->fresh, err);
}

static uint32_t join_list(struct join *self, uint32_t which, uint32_t slot)
{
    return slot == SLOT_NONE ? 0 : join_heads(&self->state, slot)[which];
}

/* Meets the rows of the view with the lists of the other side, and with what is not in lists there. */
static enum status join_probe(struct join *self, uint32_t which, const struct batch *view, struct error *err)
{
    struct selection rows = batch_selection(view);
    const struct join_side *other = &self->state.sides[1 - which];
    if (ttl_is_set(&other->ttl)) {
        return join_ttl_probe(self, which, view, err);
    }
    for (uint32_t k = 0; k < rows.count; k++) {
        if (k + PREFETCH_AHEAD < rows.count) {
            uint32_t ahead = join_list(self, 1 - which, self->slots[k + PREFETCH_AHEAD]);
            if (ahead != 0) {
                join_entry_prefetch(other, ahead);
            }
        }
        uint32_t entry = join_list(self, 1 - which, self->slots[k]);
        while (entry != 0) {
            uint32_t next = join_entry_next(other, entry);
            TRY(join_pair_add(self, which, view, selection_row(&rows, k), self->fresh[k] ? self->entries[k] : 0, entry, err));
            entry = next;
        }
    }
    if (other->log != NULL) {
        TRY(join_log_scan(self, 1 - which, view, err));
    }
    return join_pairs_flush(self, which, view, err);
}

/* NOT IN: a NULL on the right is a number, not a row. Rows of the left all have entries: NULL is a key like others. */
static enum status join_absorb_null_aware(struct join *self, uint32_t which, struct batch *view, uint32_t *unkeyed, struct error *err)
{
    struct selection rows = batch_selection(view);
    if (which == 0) {
        *unkeyed = 0;
        return STATUS_OK;
    }
    for (uint32_t k = 0; k < rows.count; k++) {
        self->right_total += batch_weight(view, selection_row(&rows, k));
    }
    *unkeyed = join_split(self, which, view);
    for (uint32_t k = 0; k < *unkeyed; k++) {
        self->right_nulls += batch_weight(view, self->unkeyed[k]);
    }
    return STATUS_OK;
}

static void join_note_null_keys(struct join *self, const struct batch *view)
{
    struct selection rows = batch_selection(view);
    for (uint32_t k = 0; k < rows.count; k++) {
        if (!vector_is_valid(&view->columns[self->spec->left_keys[0]], selection_row(&rows, k))) {
            join_extra_at(&self->state.sides[0], self->entries[k])->flags |= ENTRY_NULL_KEY;
        }
    }
}

/* A side that is a log is not tracked: its rows can look for partners before they are stored, and some are not. */
static enum status join_absorb_logged(struct join *self, uint32_t which, const struct batch *view, struct error *err)
{
    struct batch stored;
    join_log_choose(self, which, view, &stored);
    bool known = !self->state.sides[which].waits && batch_rows(&stored) == batch_rows(view);
    TRY(join_find_slots(self, which, view, known, err));
    memset(self->fresh, 0, batch_rows(view));
    TRY(join_probe(self, which, view, err));
    return join_log_store(self, which, &stored, known, err);
}

enum status join_absorb(struct join *self, uint32_t which, const struct batch *batch, struct error *err)
{
    struct batch view = *batch;
    uint32_t unkeyed = 0;
    if (self->spec->null_aware) {
        TRY(join_absorb_null_aware(self, which, &view, &unkeyed, err));
    } else {
        unkeyed = join_split(self, which, &view);
        if (unkeyed > 0 && self->state.sides[which].tracked && self->spec->kind != JOIN_SEMI) {
            TRY(join_emit_unkeyed(self, which, &view, unkeyed, err));
        }
    }
    self->absorbed = batch_selection(&view);
    if (self->absorbed.count == 0) {
        return STATUS_OK;
    }
    join_ttl_set_now(self);
    self->arrived += self->absorbed.count;
    if (self->state.sides[1 - which].log != NULL) {
        TRY(join_log_prepare(self, 1 - which, &view, err));
    }
    if (self->state.sides[which].log != NULL) {
        return join_absorb_logged(self, which, &view, err);
    }
    TRY(join_find_slots(self, which, &view, true, err));
    TRY(join_store(self, which, &view, err));
    if (self->spec->null_aware && which == 0) {
        join_note_null_keys(self, &view);
    }
    return join_probe(self, which, &view, err);
}

struct join_absorbed join_absorbed(const struct join *self)
{
    return (struct join_absorbed){.rows = self->absorbed, .entries = self->entries, .fresh = self->fresh};
}

/* Adds to self->unkeyed the rows of the view that met nothing. */
static uint32_t join_collect_unmatched(struct join *self, const struct batch *view, const uint8_t *matched, uint32_t unkeyed)
{
    struct selection rows = batch_selection(view);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (!matched[row]) {
            self->unkeyed[unkeyed++] = (uint16_t)row;
        }
    }
    return unkeyed;
}

static enum status join_lookup_rows(struct join *self, const struct batch *view, struct error *err)
{
    struct selection rows = batch_selection(view);
    if (rows.count == 0) {
        return STATUS_OK;
    }
    TRY(join_find_slots(self, 0, view, false, err));
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t entry = join_list(self, 1, self->slots[k]);
        while (entry != 0) {
            TRY(join_pair_add(self, 0, view, selection_row(&rows, k), 0, entry, err));
            entry = join_entry_next(&self->state.sides[1], entry);
        }
    }
    return join_pairs_flush(self, 0, view, err);
}

enum status join_lookup(struct join *self, const struct batch *batch, struct error *err)
{
    struct batch view = *batch;
    if (self->state.sides[1].log != NULL && self->state.sides[1].log->waiting > 0) {
        TRY(join_log_link(self, 1, err));
    }
    uint32_t unkeyed = join_split(self, 0, &view);
    uint8_t matched[CHUNK_ROWS];
    memset(matched, 0, batch->count);
    self->matched = matched;
    enum status status = join_lookup_rows(self, &view, err);
    self->matched = NULL;
    if (status != STATUS_OK || self->spec->kind != JOIN_LEFT) {
        return status;
    }
    unkeyed = join_collect_unmatched(self, &view, matched, unkeyed);
    return unkeyed == 0 ? STATUS_OK : join_emit_unkeyed(self, 0, batch, unkeyed, err);
}

enum status join_expire(struct join *self, uint32_t which, uint32_t entry, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    join_extra_at(side, entry)->flags |= ENTRY_EXPIRED;
    return join_side_touch(side, entry, err);
}

/* ---- settle ---- */

enum null_mode { RIGHT_EMPTY, RIGHT_HAS_NULL, RIGHT_KNOWN };

static int64_t join_shown(const struct join *self, const struct join_extra *extra)
{
    if (self->spec->kind == JOIN_SEMI) {
        return extra->matches != 0 ? extra->weight : 0;
    }
    if (self->spec->null_aware && self->null_mode != RIGHT_EMPTY &&
        (self->null_mode == RIGHT_HAS_NULL || (extra->flags & ENTRY_NULL_KEY) != 0)) {
        return 0;
    }
    if (self->defers && (extra->flags & ENTRY_EXPIRED) == 0) {
        return 0;
    }
    return extra->matches == 0 ? extra->weight : 0;
}

uint32_t join_null_mode(const struct join *self)
{
    return self->right_total == 0 ? RIGHT_EMPTY : self->right_nulls != 0 ? RIGHT_HAS_NULL : RIGHT_KNOWN;
}

/* When the right becomes empty, gets or loses its NULLs, every row on the left is looked at. */
static enum status join_settle_null_mode(struct join *self, struct error *err)
{
    uint32_t mode = join_null_mode(self);
    struct join_side *left = &self->state.sides[0];
    if (mode == self->null_mode) {
        return STATUS_OK;
    }
    self->null_mode = mode;
    for (uint32_t entry = 1; entry <= left->entry_count; entry++) {
        bool expired = ttl_is_set(&left->ttl) && ttl_has_expired(&left->ttl, entry);
        if ((join_extra_at(left, entry)->flags & ENTRY_FREE) == 0 && !expired) {
            TRY(join_side_touch(left, entry, err));
        }
    }
    return STATUS_OK;
}

void join_count_multiple(struct join *self, struct join_extra *extra)
{
    bool multiple = extra->weight > 0 && extra->matches > 1;
    bool counted = (extra->flags & ENTRY_MULTIPLE) != 0;
    self->violations += (int64_t)multiple - (int64_t)counted;
    extra->flags = multiple ? extra->flags | ENTRY_MULTIPLE : extra->flags & ~(uint32_t)ENTRY_MULTIPLE;
}

enum status join_settle_touched(struct join *self, uint32_t which, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    for (uint32_t i = 0; i < side->touched.count; i++) {
        uint32_t entry = side->touched.items[i];
        struct join_extra *extra = join_extra_at(side, entry);
        extra->flags &= ~(uint32_t)ENTRY_TOUCHED;
        if (side->follows) {
            TRY(dirty_slots_mark(&side->dirty, entry, err));
        }
        if ((extra->weight == 0 && !self->expires) || (extra->flags & ENTRY_EXPIRED) != 0 || (extra->weight < 0 && self->lossy)) {
            if (self->cold != NULL) {
                TRY(join_forget_key(self, which, entry, err));
            }
            join_side_remove(&self->state, which, entry);
        }
    }
    side->touched.count = 0;
    return STATUS_OK;
}

static enum status join_settle_side(struct join *self, uint32_t which, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    for (uint32_t i = 0; i < side->touched.count && side->tracked; i++) {
        uint32_t entry = side->touched.items[i];
        struct join_extra *extra = join_extra_at(side, entry);
        int64_t shown = join_shown(self, extra);
        if (shown != extra->shown) {
            TRY(join_lone_add(self, which, join_entry_at(side, entry)->row, shown - extra->shown, err));
            extra->shown = shown;
        }
        if (self->spec->single && which == 0) {
            join_count_multiple(self, extra);
        }
    }
    TRY(join_lone_flush(self, which, err));
    return join_settle_touched(self, which, err);
}

enum status join_settle_sides(struct join *self, struct error *err)
{
    TRY(join_settle_side(self, 0, err));
    return join_settle_side(self, 1, err);
}

enum status join_settle(struct join *self, const struct tick *tick, struct error *err)
{
    if (self->lossy) {
        join_ttl_begin_settling(self);
    }
    if (self->spec->null_aware) {
        TRY(join_settle_null_mode(self, err));
    }
    TRY(join_settle_sides(self, err));
    for (uint32_t which = 0; which < 2; which++) {
        if (self->state.sides[which].log != NULL) {
            TRY(join_log_drop(self, which, err));
        }
    }
    if (self->lossy) {
        TRY(join_ttl_sweep(self, err));
    }
    if (self->violations > 0 && (tick->end || !tick->bounded)) {
        return error_set(err, ERROR_CARDINALITY, "a subquery used as a value gave more than one row");
    }
    if (self->held != NULL) {
        TRY(held_errors_check(self->held, tick, err));
    }
    return STATUS_OK;
}

void join_count_state(struct node *node)
{
    const struct join *self = (const struct join *)node;
    node->metrics.state_keys = self->state.keys == NULL ? 0 : key_table_count(self->state.keys);
    node->metrics.state_bytes = join_state_bytes(&self->state);
}
