/* Partitions in a database. By time a partition is up to three units: its place and accumulators, the rows that wait, the items that later frames
 * read; it is wanted back when the first of its rows is due, or when it may be of no use any more. Any order: its rows, from which what it shows is
 * computed again; one whose value does not exist comes back at once and stays, so that its error is held. */
#include <string.h>

#include "circuit/operators/over_node_internal.h"

/* ---- out ---- */

/* Rows of several partitions, up to a chunk, on their way out. */
struct leaving_rows {
    struct over_node *self;
    struct cold_table *cold;
    uint32_t count;
    struct over_row rows[CHUNK_ROWS];
    uint32_t units[CHUNK_ROWS];
};

static enum status number_columns(const struct leaving_rows *leaving, struct batch *batch, struct error *err)
{
    const struct snapshot_table *table = leaving->cold->layouts[leaving->cold->part].table;
    uint32_t stored = leaving->self->spec->input.schema->count;
    int64_t values[CHUNK_ROWS];
    for (uint32_t i = stored; i < table->schema->count; i++) {
        struct vector *column = &batch->columns[i];
        for (uint32_t k = 0; k < leaving->count; k++) {
            values[k] = leaving->rows[k].numbers[i - stored];
        }
        if (table->schema->columns[i].name == row_state_written && values[0] == TTL_NO_TIME) { /* then all are */
            *column = (struct vector){.type = &type_bigint, .physical = PHYSICAL_NULL, .count = leaving->count};
        } else {
            TRY(state_number_column(node_budget(&leaving->self->node), values, leaving->count, column, err));
        }
    }
    return STATUS_OK;
}

static enum status put_rows(struct leaving_rows *leaving, struct error *err)
{
    struct over_node *self = leaving->self;
    row_handle handles[CHUNK_ROWS];
    struct batch batch = {0};
    if (leaving->count == 0) {
        return STATUS_OK;
    }
    for (uint32_t k = 0; k < leaving->count; k++) {
        handles[k] = leaving->rows[k].row;
    }
    TRY(batch_init(&batch, leaving->cold->layouts[leaving->cold->part].column_count, err));
    batch.count = leaving->count;
    enum status status = row_store_gather(self->store, handles, leaving->count, NULL, self->spec->input.schema->count, batch.columns, err);
    if (status == STATUS_OK) {
        status = number_columns(leaving, &batch, err);
    }
    if (status == STATUS_OK) {
        status = cold_table_put(leaving->cold, &batch, leaving->units, err);
    }
    batch_release(&batch);
    leaving->count = 0;
    return status;
}

static enum status leave_partition(struct leaving_rows *leaving, uint32_t slot, uint32_t unit, struct error *err)
{
    struct sorted_place at = {0};
    for (;;) {
        if (leaving->count == CHUNK_ROWS) {
            TRY(put_rows(leaving, err));
        }
        uint32_t count =
            over_partition_rows(leaving->self, slot, leaving->cold->part, &at, leaving->rows + leaving->count, CHUNK_ROWS - leaving->count);
        if (count == 0) {
            return STATUS_OK;
        }
        for (uint32_t k = 0; k < count; k++) {
            leaving->units[leaving->count++] = unit;
        }
    }
}

static enum status put_places(struct over_node *self, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    uint32_t known[CHUNK_ROWS], units[CHUNK_ROWS], known_count = 0;
    struct batch batch = {0};
    for (uint32_t k = 0; k < count; k++) {
        const struct over_partition *partition = *over_partition_place(self, slots[k]);
        if (partition != NULL && (partition->restored || !partition->arrived)) {
            known[known_count] = slots[k];
            units[known_count++] = k;
        }
    }
    if (known_count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, cold->layouts[0].column_count, err));
    batch.count = known_count;
    enum status status = over_place_columns(self, known, known_count, &batch, err);
    if (status == STATUS_OK) {
        status = cold_table_put(cold, &batch, units, err);
    }
    batch_release(&batch);
    return status;
}

static enum status partition_rows(void *context, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    struct over_node *self = context;
    struct leaving_rows leaving;
    if (self->streams && cold->part == OVER_PART_PLACE) {
        return put_places(self, cold, slots, count, err);
    }
    leaving.self = self;
    leaving.cold = cold;
    leaving.count = 0;
    for (uint32_t k = 0; k < count; k++) {
        TRY(leave_partition(&leaving, slots[k], k, err));
    }
    return put_rows(&leaving, err);
}

static enum status partition_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    struct over_node *self = context;
    for (uint32_t k = 0; k < count; k++) {
        struct over_partition *partition = *over_partition_place(self, slots[k]);
        if (partition != NULL) {
            over_free_all(self, partition);
        }
        key_table_remove(self->table, slots[k]);
    }
    return STATUS_OK;
}

static bool partition_pinned(const void *context, uint32_t slot)
{
    const struct over_node *self = context;
    const struct over_partition *partition = ((struct over_partition *const *)key_table_values(self->table, 0))[slot];
    return partition != NULL && (partition->touched || partition->held);
}

static int64_t partition_due(const void *context, uint32_t slot)
{
    const struct over_node *self = context;
    const struct over_partition *partition = ((struct over_partition *const *)key_table_values(self->table, 0))[slot];
    struct sorted_place first = {0};
    if (partition == NULL) {
        return INT64_MAX;
    }
    const struct sorted_item *item = sorted_rows_at(&partition->waiting, &first);
    int64_t time = !self->streams ? (partition->held ? INT64_MIN : INT64_MAX)
                   : item != NULL ? item->prefix
                                  : over_idle_due(self, partition);
    int64_t expires = ttl_is_set(&self->ttl) ? ttl_expires_us(&self->ttl, slot) : INT64_MAX;
    return time < expires ? time : expires;
}

static const struct slab *partition_heap(const void *context)
{
    return row_store_slab(((const struct over_node *)context)->store);
}

/* Rows that went in this tick are still to be freed, or shown. */
static void partition_emptied(void *context)
{
    struct over_node *self = context;
    if (self->gone_count == 0 && self->run.count == 0) {
        row_store_clear(self->store);
    }
}

/* ---- back ---- */

static enum status partition_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    struct over_node *self = context;
    TRY(over_add_rows(self, self->cold->part, batch, err));
    memcpy(slots, self->slots, batch->count * sizeof *slots);
    return STATUS_OK;
}

enum status over_fetch(struct over_node *self, const struct batch *batch, const uint32_t *keys, struct error *err)
{
    TRY(node_fetch_keys(&self->node, self->cold, batch, keys, self->hashes, err));
    return self->restoring ? STATUS_OK : over_settle_fetched(self, err);
}

enum status over_settle_fetched(struct over_node *self, struct error *err)
{
    for (uint32_t i = 0; i < self->arrived_count; i++) {
        uint32_t slot = self->arrived[i];
        bool there = self->table == NULL || key_table_has(self->table, slot); /* while state came back it may have left again */
        struct over_partition *partition = there ? *over_partition_place(self, slot) : NULL;
        if (partition != NULL && partition->arrived) {
            TRY(over_settle_arrived(self, partition, err));
        }
    }
    self->arrived_count = 0;
    return STATUS_OK;
}

/* ---- opening ---- */

static enum status part_layout(struct over_node *self, uint32_t table, struct cold_layout *layout, struct error *err)
{
    uint32_t count = self->spec->over.partition_count, *keys;
    bool places = self->streams && table == OVER_TABLE_PARTITIONS;
    TRY_ALLOC(keys, arena_alloc(node_arena(&self->node), (count + 1) * sizeof *keys), err);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = places ? i : self->spec->over.partition[i];
    }
    TRY(node_make_layout(&self->node, &self->node.tables[table], keys, count, layout, err));
    layout->tag = (uint8_t)table;
    return STATUS_OK;
}

/* Not: no partitions, which are all one unit; values of DISTINCT, which are kept by their partition's slot; a time-to-live beside the times of rows. */
enum status over_open_cold(struct node *node, struct error *err)
{
    enum { SPAN_US = 1000000 };
    struct over_node *self = (struct over_node *)node;
    const struct cold_owner owner = {.context = self,
                                     .rows = partition_rows,
                                     .add = partition_add,
                                     .drop = partition_drop,
                                     .pinned = partition_pinned,
                                     .due = partition_due,
                                     .heap = partition_heap,
                                     .emptied = partition_emptied};
    struct cold_layout layouts[OVER_PARTS];
    uint32_t parts = self->streams ? OVER_PARTS : 1;
    bool distinct = self->streams && self->run.calls != NULL && call_set_table_count(self->run.calls) > 0;
    if (self->table == NULL || distinct || (self->spec->event_time && ttl_is_set(&self->ttl))) {
        return STATUS_OK;
    }
    for (uint32_t table = 0; table < parts; table++) {
        TRY(part_layout(self, table, &layouts[table], err));
    }
    TRY(node_make_cold(node, 1, &self->cold, err));
    TRY(cold_table_open(self->cold, node->circuit->cold, layouts, parts, &owner, self->table, err));
    return cold_table_open_timers(self->cold, 1, ttl_is_set(&self->ttl) ? self->spec->ttl_us / TTL_SPANS : SPAN_US, err);
}
