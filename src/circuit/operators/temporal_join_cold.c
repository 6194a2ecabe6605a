/* Keys of the right side in a database: the versions of a key are a unit. */
#include <string.h>

#include "circuit/operators/temporal_join_internal.h"

/* Versions of several keys, up to a chunk, on their way out. */
struct leaving_versions {
    struct temporal_join *self;
    struct cold_table *cold;
    uint32_t count;
    row_handle rows[CHUNK_ROWS];
    int64_t numbers[TEMPORAL_NUMBERS][CHUNK_ROWS];
    uint32_t units[CHUNK_ROWS];
};

static enum status put_versions(struct leaving_versions *leaving, struct error *err)
{
    struct temporal_join *self = leaving->self;
    uint32_t stored = self->spec->join.right.schema->count;
    struct batch batch = {0};
    if (leaving->count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, leaving->cold->layouts[0].column_count, err));
    batch.count = leaving->count;
    enum status status = row_store_gather(self->right.store, leaving->rows, leaving->count, NULL, stored, batch.columns, err);
    for (uint32_t i = 0; i < TEMPORAL_NUMBERS && status == STATUS_OK; i++) {
        status = state_number_column(node_budget(&self->node), leaving->numbers[i], leaving->count, &batch.columns[stored + i], err);
    }
    if (status == STATUS_OK) {
        status = cold_table_put(leaving->cold, &batch, leaving->units, err);
    }
    batch_release(&batch);
    leaving->count = 0;
    return status;
}

static enum status key_versions(void *context, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    struct temporal_join *self = context;
    struct leaving_versions leaving;
    leaving.self = self;
    leaving.cold = cold;
    leaving.count = 0;
    for (uint32_t k = 0; k < count; k++) {
        const struct version_list *list = &temporal_versions(self)[slots[k]];
        for (uint32_t v = 0; v < list->count; v++) {
            if (leaving.count == CHUNK_ROWS) {
                TRY(put_versions(&leaving, err));
            }
            int64_t numbers[TEMPORAL_NUMBERS];
            temporal_numbers(&list->items[v], numbers);
            for (uint32_t i = 0; i < TEMPORAL_NUMBERS; i++) {
                leaving.numbers[i][leaving.count] = numbers[i];
            }
            leaving.rows[leaving.count] = list->items[v].row;
            leaving.units[leaving.count++] = k;
        }
    }
    return put_versions(&leaving, err);
}

static enum status key_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    struct temporal_join *self = context;
    TRY(temporal_add_versions(self, batch, err));
    memcpy(slots, self->slots, batch->count * sizeof *slots);
    return STATUS_OK;
}

static enum status key_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    struct temporal_join *self = context;
    for (uint32_t k = 0; k < count; k++) {
        struct version_list *list = &temporal_versions(self)[slots[k]];
        for (uint32_t v = 0; v < list->count; v++) {
            row_store_free(self->right.store, list->items[v].row);
        }
        version_list_release(list, node_budget(&self->node));
        key_table_remove(self->table, slots[k]);
    }
    return STATUS_OK;
}

static bool key_pinned(const void *context, uint32_t slot)
{
    const struct temporal_join *self = context;
    return temporal_versions(self)[slot].changed;
}

static const struct slab *key_heap(const void *context)
{
    return row_store_slab(((const struct temporal_join *)context)->right.store);
}

static void key_emptied(void *context)
{
    row_store_clear(((struct temporal_join *)context)->right.store);
}

enum status temporal_open_cold(struct node *node, struct error *err)
{
    struct temporal_join *self = (struct temporal_join *)node;
    const struct cold_owner owner = {.context = self,
                                     .rows = key_versions,
                                     .add = key_add,
                                     .drop = key_drop,
                                     .pinned = key_pinned,
                                     .heap = key_heap,
                                     .emptied = key_emptied};
    struct cold_layout layout;
    TRY(node_make_cold(node, 1, &self->cold, err));
    TRY(node_make_layout(node, &node->tables[TABLE_VERSIONS], self->spec->join.right_keys, self->spec->join.key_count, &layout, err));
    return cold_table_open(self->cold, node->circuit->cold, &layout, 1, &owner, self->table, err);
}
