#include "circuit/operators/join_save.h"

#include <stdlib.h>
#include <string.h>

#include "circuit/operators/join_ends.h"
#include "circuit/operators/join_log.h"
#include "circuit/operators/state_tables.h"

enum { TABLE_SIDES = 2, TABLES_MAX = 5, NUMBERS_MAX = 5 };
enum { TOTAL_ROWS, TOTAL_NULLS, TOTAL_COUNT };

static const struct column total_columns[TOTAL_COUNT] = {
    [TOTAL_ROWS] = {.name = "rows", .type = &type_bigint_not_null}, [TOTAL_NULLS] = {.name = "nulls", .type = &type_bigint_not_null}};
static const struct schema total_schema = {TOTAL_COUNT, total_columns};

/* ---- tables ---- */

/* Where the numbers of a side's table are, after the columns of its rows. */
struct side_numbers {
    uint32_t weight, matches, shown, end, written, count; /* 0: none, except weight; `written` is last */
};

static struct side_numbers side_numbers(const struct join *self, uint32_t which)
{
    const struct join_side *side = &self->state.sides[which];
    struct side_numbers at = {.weight = side->kept_count + self->loose_count[which]};
    at.count = at.weight + 1;
    if (side->tracked) {
        at.matches = at.count++;
        at.shown = at.count++;
    }
    if (self->expires) {
        at.end = at.count++;
    } else {
        at.written = at.count++;
    }
    return at;
}

static uint32_t column_at(const uint32_t *columns, uint32_t count, uint32_t column)
{
    uint32_t at = 0;
    while (at < count && columns[at] != column) {
        at++;
    }
    return at;
}

/* The input columns of the table; sets which keys are loose, and where all of them are. */
static enum status choose_columns(struct join *self, uint32_t which, uint32_t **columns, uint32_t *count, struct error *err)
{
    const struct join_side *side = &self->state.sides[which];
    struct arena *arena = node_arena(&self->node);
    uint32_t key_count = self->spec->key_count;
    TRY_ALLOC(*columns, arena_alloc(arena, (side->kept_count + key_count + 1) * sizeof(uint32_t)), err);
    TRY_ALLOC(self->loose[which], arena_alloc(arena, (key_count + 1) * sizeof(uint32_t)), err);
    TRY_ALLOC(self->saved_keys[which], arena_alloc(arena, (key_count + 1) * sizeof(uint32_t)), err);
    for (uint32_t i = 0; i < side->kept_count; i++) {
        (*columns)[i] = side->kept[i];
    }
    *count = side->kept_count;
    for (uint32_t k = 0; k < key_count; k++) {
        uint32_t at = column_at(*columns, *count, side->keys[k]);
        if (at == *count) {
            self->loose[which][self->loose_count[which]++] = k;
            (*columns)[(*count)++] = side->keys[k];
        }
        self->saved_keys[which][k] = at;
    }
    return STATUS_OK;
}

static enum status declare_side(struct join *self, uint32_t which, struct snapshot_table *table, struct error *err)
{
    static const char *const names[] = {"left", "right"};
    struct join_side *side = &self->state.sides[which];
    struct arena *arena = node_arena(&self->node);
    uint32_t *columns, count;
    TRY(choose_columns(self, which, &columns, &count, err));
    struct side_numbers at = side_numbers(self, which);
    struct column extra[NUMBERS_MAX];
    for (uint32_t i = at.weight; i < at.count; i++) {
        const char *name = i == at.weight ? "weight" : i == at.end ? "end" : i == at.matches ? "matches" : "shown";
        extra[i - at.weight] = (struct column){.name = name, .type = &type_bigint_not_null};
    }
    if (at.written != 0) {
        extra[at.written - at.weight] = (struct column){.name = "written", .type = &type_bigint};
    }
    *table = (struct snapshot_table){.name = names[which], .expiry = -1};
    if (self->expires) {
        table->expiry = (int32_t)at.end;
    } else if (side->prune != NULL) {
        table->expiry = (int32_t)side->time_position;
    }
    side->follows = self->node.circuit->incremental;
    self->passed[which] = INT64_MIN;
    TRY(state_schema_make(arena, side->input->schema, columns, count, extra, at.count - at.weight, &table->schema, err));
    return state_table_place(arena, side->input, columns, count, table, err);
}

enum status join_declare(struct join *self, const struct snapshot_table *more, struct error *err)
{
    struct snapshot_table *tables;
    uint32_t count = TABLE_SIDES;
    TRY_ALLOC(tables, arena_alloc(node_arena(&self->node), TABLES_MAX * sizeof *tables), err);
    TRY(declare_side(self, 0, &tables[0], err));
    TRY(declare_side(self, 1, &tables[1], err));
    if (self->spec->null_aware) {
        self->totals_table = count++;
        tables[self->totals_table] =
            (struct snapshot_table){.name = "totals", .schema = &total_schema, .place = SNAPSHOT_ONE, .expiry = -1};
    }
    if (self->held != NULL) {
        self->held_table = count++;
        tables[self->held_table] = held_errors_table;
    }
    if (more != NULL) {
        tables[count++] = *more;
    }
    self->node.tables = tables;
    self->node.table_count = count;
    return STATUS_OK;
}

/* ---- save ---- */

struct side_save {
    struct join *self;
    struct snapshot_writer *writer;
    struct cold_table *cold; /* rows go there instead */
    uint32_t which, count, removed_count;
    uint32_t unit; /* cold: of the entries that come */
    bool all;
    uint32_t entries[CHUNK_ROWS], slots[CHUNK_ROWS];
    uint32_t units[CHUNK_ROWS];
    uint64_t ids[CHUNK_ROWS], removed[CHUNK_ROWS];
    row_handle rows[CHUNK_ROWS];
    int64_t ends[CHUNK_ROWS], numbers[CHUNK_ROWS];
    struct vector ones;
};

static int64_t entry_number(const struct side_save *save, const struct side_numbers *at, uint32_t number, uint32_t k)
{
    const struct join_side *side = &save->self->state.sides[save->which];
    if (number == at->weight) {
        return join_entry_weight(side, save->entries[k]);
    }
    if (number == at->end) {
        return save->ends[k];
    }
    const struct join_extra *extra = join_extra_at(side, save->entries[k]);
    return number == at->matches ? extra->matches : extra->shown;
}

static enum status fill_batch(struct side_save *save, struct batch *batch, struct error *err)
{
    struct join *self = save->self;
    const struct join_side *side = &self->state.sides[save->which];
    struct side_numbers at = side_numbers(self, save->which);
    TRY(join_rows_gather(side, save->rows, save->count, NULL, side->kept_count, batch->columns, err));
    for (uint32_t i = 0; i < self->loose_count[save->which]; i++) {
        uint32_t key = self->loose[save->which][i];
        TRY(key_table_gather(self->state.keys, key, save->slots, save->count, &batch->columns[side->kept_count + i], err));
    }
    if (at.written != 0) {
        TRY(state_written_column(&side->ttl, node_budget(&self->node), save->entries, save->count, &batch->columns[at.written], err));
    }
    for (uint32_t number = at.weight; number < (at.written != 0 ? at.written : at.count); number++) {
        for (uint32_t k = 0; k < save->count; k++) {
            save->numbers[k] = entry_number(save, &at, number, k);
        }
        TRY(state_number_column(node_budget(&self->node), save->numbers, save->count, &batch->columns[number], err));
    }
    return STATUS_OK;
}

static enum status save_flush(struct side_save *save, struct error *err)
{
    struct batch batch = {0};
    if (save->count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, side_numbers(save->self, save->which).count, err));
    batch.count = save->count;
    enum status status = fill_batch(save, &batch, err);
    if (status == STATUS_OK) {
        status = save->cold != NULL ? cold_table_put(save->cold, &batch, save->units, err)
                                    : snapshot_keep(save->writer, save->which, save->ids, 0, &batch, err);
    }
    batch_release(&batch);
    save->count = 0;
    return status;
}

static enum status save_entry(struct side_save *save, uint32_t entry, int64_t end, struct error *err)
{
    const struct join_side *side = &save->self->state.sides[save->which];
    uint32_t k = save->count++;
    save->entries[k] = entry;
    save->ids[k] = entry;
    save->units[k] = save->unit;
    save->rows[k] = join_entry_row(side, entry);
    save->slots[k] = side->log != NULL ? 0 : join_extra_at(side, entry)->slot;
    save->ends[k] = end;
    return save->count == CHUNK_ROWS ? save_flush(save, err) : STATUS_OK;
}

/* A column of weights: the chunk's, lent like its rows, or one of 1 for all blocks. */
static enum status lend_weights(struct side_save *save, const struct log_chunk *chunk, uint32_t from, struct vector *weights,
                                struct error *err)
{
    if (chunk->weights != NULL) {
        *weights = (struct vector){
            .type = &type_bigint_not_null, .physical = PHYSICAL_INT64, .count = chunk->count - from, .values = chunk->weights + from};
        return STATUS_OK;
    }
    if (save->ones.values == NULL) {
        int64_t ones[LOG_CHUNK_ROWS];
        for (uint32_t row = 0; row < LOG_CHUNK_ROWS; row++) {
            ones[row] = 1;
        }
        TRY(state_number_column(node_budget(&save->self->node), ones, LOG_CHUNK_ROWS, &save->ones, err));
    }
    return vector_ref(&save->ones, weights, err);
}

static enum status lend_chunk(struct side_save *save, uint32_t c, uint32_t from, struct error *err)
{
    const struct join_side *side = &save->self->state.sides[save->which];
    const struct log_chunk *chunk = &side->log->chunks[c];
    struct batch batch = {0};
    if (from == chunk->count) {
        return STATUS_OK;
    }
    struct side_numbers at = side_numbers(save->self, save->which);
    TRY(batch_init(&batch, at.count, err));
    batch.count = chunk->count - from;
    if (at.written != 0) { /* rows of a log have no time-to-live */
        batch.columns[at.written] = (struct vector){.type = &type_bigint, .physical = PHYSICAL_NULL, .count = batch.count};
    }
    enum status status = row_log_lend(side->log, c, from, chunk->count, batch.columns, err);
    if (status == STATUS_OK) {
        status = lend_weights(save, chunk, from, &batch.columns[at.weight], err);
    }
    if (status == STATUS_OK) {
        status = snapshot_keep(save->writer, save->which, NULL, row_log_number(c, from), &batch, err);
    }
    batch_release(&batch);
    return status;
}

/* A log that lends fills its chunks one after the other. */
static uint32_t first_unsaved(const struct row_log *log)
{
    uint32_t c = log->chunk_count;
    while (c > 0 && (log->chunks[c - 1].count == 0 || log->chunks[c - 1].saved < log->chunks[c - 1].count)) {
        c--;
    }
    return c;
}

static enum status save_log(struct side_save *save, struct error *err)
{
    struct row_log *log = save->self->state.sides[save->which].log;
    bool lends = row_log_can_lend(log) && side_numbers(save->self, save->which).weight == log->column_count;
    for (uint32_t c = lends && !save->all ? first_unsaved(log) : 0; c < log->chunk_count; c++) {
        struct log_chunk *chunk = &log->chunks[c];
        uint32_t from = save->all ? 0 : chunk->saved;
        if (lends) {
            TRY(lend_chunk(save, c, from, err));
        }
        for (uint32_t row = from; row < chunk->count && !lends; row++) {
            TRY(save_entry(save, row_log_number(c, row), 0, err));
        }
        chunk->saved = chunk->count;
    }
    return save_flush(save, err);
}

static enum status save_all(struct side_save *save, struct error *err)
{
    const struct join_side *side = &save->self->state.sides[save->which];
    for (uint32_t entry = 1; entry <= side->entry_count; entry++) {
        if ((join_extra_at(side, entry)->flags & ENTRY_FREE) == 0) {
            TRY(save_entry(save, entry, 0, err));
        }
    }
    return save_flush(save, err);
}

static enum status save_changes(struct side_save *save, struct error *err)
{
    const struct join_side *side = &save->self->state.sides[save->which];
    for (uint32_t i = 0; i < side->dirty.count; i++) {
        uint32_t entry = side->dirty.slots[i];
        if ((join_extra_at(side, entry)->flags & ENTRY_FREE) == 0) {
            TRY(save_entry(save, entry, 0, err));
            continue;
        }
        save->removed[save->removed_count++] = entry;
        if (save->removed_count == CHUNK_ROWS) {
            TRY(snapshot_remove(save->writer, save->which, save->removed, save->removed_count, err));
            save->removed_count = 0;
        }
    }
    TRY(snapshot_remove(save->writer, save->which, save->removed, save->removed_count, err));
    return save_flush(save, err);
}

static enum status save_expiring(struct side_save *save, const struct time_heap *ends, struct error *err)
{
    const struct join_side *side = &save->self->state.sides[save->which];
    for (uint32_t i = 0; i < ends->count; i++) {
        uint32_t entry = (uint32_t)ends->items[i].item;
        if (save->all || dirty_slots_has(&side->dirty, entry)) {
            TRY(save_entry(save, entry, ends->items[i].time, err));
        }
    }
    return save_flush(save, err);
}

static enum status save_rows(struct side_save *save, struct error *err)
{
    if (save->self->state.sides[save->which].log != NULL) {
        return save_log(save, err);
    }
    if (save->self->expires) {
        return save_expiring(save, &save->self->ends[save->which], err);
    }
    return save->all ? save_all(save, err) : save_changes(save, err);
}

/* The bound below which rows are dead; INT64_MIN: none. */
static int64_t dead_below(const struct join *self, uint32_t which)
{
    const struct join_side *side = &self->state.sides[which];
    if (self->expires) {
        return time_add(self->passed[which], 1);
    }
    return side->prune != NULL ? time_add(side->dropped_to, 1) : INT64_MIN;
}

static enum status save_side(struct side_save *save, struct error *err)
{
    struct join *self = save->self;
    struct join_side *side = &self->state.sides[save->which];
    bool full = snapshot_is_full(save->writer);
    int64_t bound = dead_below(self, save->which);
    /* Nothing is left when the other side has ended, also of the rows without a bound. */
    save->all = full || (side->log == NULL && !side->follows) || (bound == INT64_MAX && side->log == NULL);
    if (side->input->everywhere && self->node.circuit->worker > 0) {
        return STATUS_OK;
    }
    snapshot_note_live(save->writer, side->log != NULL ? side->log->rows : side->entry_count);
    if (!full && save->all) {
        TRY(snapshot_replace(save->writer, save->which, err));
    }
    if (!full && bound != INT64_MIN) {
        TRY(snapshot_expire(save->writer, save->which, bound, err));
    }
    return save_rows(save, err);
}

enum status join_save(struct join *self, struct snapshot_writer *writer, struct error *err)
{
    enum status status = STATUS_OK;
    struct side_save *save = malloc(sizeof *save);
    if (save == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a checkpoint");
    }
    save->ones = (struct vector){0};
    save->cold = NULL;
    save->unit = 0;
    for (uint32_t which = 0; which < TABLE_SIDES && status == STATUS_OK; which++) {
        save->self = self;
        save->writer = writer;
        save->which = which;
        save->count = save->removed_count = 0;
        status = self->node.in_database ? STATUS_OK : save_side(save, err);
        dirty_slots_clear(&self->state.sides[which].dirty);
    }
    vector_release(&save->ones);
    free(save);
    TRY(status);
    if (self->spec->null_aware) {
        const struct snapshot_cell cells[TOTAL_COUNT] = {[TOTAL_ROWS].number = self->right_total, [TOTAL_NULLS].number = self->right_nulls};
        TRY(snapshot_write_cells(writer, self->totals_table, 0, cells, err));
    }
    return self->held != NULL ? held_errors_save(self->held, writer, self->held_table, err) : STATUS_OK;
}

enum status join_save_slots(struct join *self, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    struct side_save *save = malloc(sizeof *save);
    if (save == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to move keys of a join to the database of state");
    }
    save->self = self;
    save->cold = cold;
    save->which = cold->part;
    save->count = 0;
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < count && status == STATUS_OK; k++) {
        save->unit = k;
        uint32_t entry = join_heads(&self->state, slots[k])[cold->part];
        for (; entry != 0 && status == STATUS_OK; entry = join_entry_next(&self->state.sides[cold->part], entry)) {
            status = save_entry(save, entry, self->expires ? *join_entry_end(&self->state.sides[cold->part], entry) : 0, err);
        }
    }
    if (status == STATUS_OK) {
        status = save_flush(save, err);
    }
    free(save);
    return status;
}

/* ---- restore ---- */

/* The rows of a table as those of a side: its kept columns, and the weights. */
static struct batch stored_rows(const struct join *self, uint32_t which, const struct batch *batch)
{
    struct batch stored = *batch;
    const int64_t *weights = vector_int64(&batch->columns[side_numbers(self, which).weight]);
    stored.column_count = self->state.sides[which].kept_count;
    for (uint32_t row = 0; row < batch->count; row++) {
        if (weights[row] != 1) {
            stored.weights = weights;
            break;
        }
    }
    return stored;
}

static enum status restored_slots(struct join *self, uint32_t which, const struct batch *batch, struct error *err)
{
    if (self->state.keys == NULL) {
        memset(self->slots, 0, batch->count * sizeof *self->slots);
        return STATUS_OK;
    }
    return key_table_find_or_insert(self->state.keys, batch, self->saved_keys[which], self->hashes, self->slots, err);
}

static enum status restore_log(struct join *self, uint32_t which, const struct batch *batch, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    struct batch stored = stored_rows(self, which, batch);
    TRY(row_log_append(side->log, &stored, side->may_wait ? self->hashes : NULL, !side->waits, self->entries, err));
    if (side->waits) {
        return STATUS_OK;
    }
    TRY(restored_slots(self, which, batch, err));
    join_log_link_rows(self, which, self->entries, self->slots, batch->count);
    return STATUS_OK;
}

static bool key_is_null(const struct join *self, uint32_t which, const struct batch *batch, uint32_t row)
{
    return !vector_is_valid(&batch->columns[self->saved_keys[which][0]], row);
}

static enum status restore_entries(struct join *self, uint32_t which, const struct batch *batch, struct error *err)
{
    struct join_side *side = &self->state.sides[which];
    struct side_numbers at = side_numbers(self, which);
    struct batch stored = stored_rows(self, which, batch);
    TRY(restored_slots(self, which, batch, err));
    const struct vector *written = at.written != 0 ? &batch->columns[at.written] : NULL;
    TRY(join_side_add(&self->state, which, &stored, self->slots, written, self->entries, self->fresh, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        struct join_extra *extra = join_extra_at(side, self->entries[row]);
        if (side->tracked) {
            extra->matches = snapshot_number(batch, row, at.matches);
            extra->shown += snapshot_number(batch, row, at.shown);
        }
        if (which == 0 && self->spec->null_aware && key_is_null(self, which, batch, row)) {
            extra->flags |= ENTRY_NULL_KEY;
        }
        if (which == 0 && self->spec->single) {
            join_count_multiple(self, extra);
        }
        if (self->expires && self->fresh[row]) {
            TRY(join_end_at(self, which, self->entries[row], snapshot_number(batch, row, at.end), err));
        }
    }
    return STATUS_OK;
}

enum status join_add_rows(struct join *self, uint32_t which, const struct batch *batch, struct error *err)
{
    batch_hash(batch, self->saved_keys[which], self->spec->key_count, self->hashes);
    return restore_entries(self, which, batch, err);
}

/* Other rows of a key may have come, and gone to the database. */
static enum status restore_spilled(struct join *self, uint32_t which, const struct batch *batch, struct error *err)
{
    TRY(node_fetch_keys(&self->node, self->cold, batch, self->saved_keys[which], self->hashes, err));
    TRY(join_add_rows(self, which, batch, err));
    TRY(cold_table_changed(self->cold, self->slots, batch->count, which, err));
    return join_settle_touched(self, which, err);
}

static enum status restore_side(struct join *self, uint32_t which, const struct snapshot_rows *rows, struct error *err)
{
    const struct join_side *side = &self->state.sides[which];
    if (!side->input->everywhere && !state_is_own(self->node.circuit, side->input, rows)) {
        return STATUS_OK;
    }
    batch_hash(rows->batch, self->saved_keys[which], self->spec->key_count, self->hashes);
    if (self->cold != NULL) {
        return restore_spilled(self, which, rows->batch, err);
    }
    return side->log != NULL ? restore_log(self, which, rows->batch, err) : restore_entries(self, which, rows->batch, err);
}

enum status join_restore(struct join *self, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    if (table < TABLE_SIDES) {
        return restore_side(self, table, rows, err);
    }
    if (table == self->held_table) {
        return held_errors_restore(self->held, rows, err);
    }
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        self->right_total += snapshot_number(rows->batch, row, TOTAL_ROWS);
        self->right_nulls += snapshot_number(rows->batch, row, TOTAL_NULLS);
    }
    return STATUS_OK;
}

enum status join_restored(struct node *node, struct error *err)
{
    struct join *self = (struct join *)node;
    self->null_mode = join_null_mode(self);
    for (uint32_t which = 0; which < TABLE_SIDES; which++) {
        TRY(join_settle_touched(self, which, err));
    }
    return STATUS_OK;
}
