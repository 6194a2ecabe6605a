#include "circuit/circuit_cold.h"

enum { SHARE = 4 };

enum status node_make_cold(struct node *node, uint32_t count, struct cold_table **tables, struct error *err)
{
    if (node->cold == NULL) {
        TRY_ALLOC(node->cold, arena_alloc(node->circuit->arena, sizeof *node->cold), err);
        TRY_ALLOC(node->cold->made, arena_alloc(node->circuit->arena, (count + 1) * sizeof *node->cold->made), err);
        node->cold->made_count = count;
        for (uint32_t i = 0; i < count; i++) {
            node_add_cold(node, &node->cold->made[i]);
        }
    }
    if (tables != NULL) {
        *tables = node->cold->made;
    }
    return STATUS_OK;
}

void node_add_cold(struct node *node, struct cold_table *cold)
{
    struct node_cold *list = node->cold;
    *cold = (struct cold_table){.budget = node->circuit->budget, .scratch = &list->scratch, .before = list->last};
    *(list->last == NULL ? &list->first : &list->last->next) = cold;
    list->last = cold;
}

static void add_counters(struct cold_counters *sum, const struct cold_counters *counters)
{
    sum->hits += counters->hits;
    sum->misses += counters->misses;
    sum->absent += counters->absent;
    sum->fetched += counters->fetched;
    sum->spilled += counters->spilled;
    sum->spilled_bytes += counters->spilled_bytes;
}

void node_drop_cold(struct node *node, struct cold_table *cold)
{
    struct node_cold *list = node->cold;
    if (cold->before == NULL && list->first != cold) {
        return;
    }
    *(cold->before == NULL ? &list->first : &cold->before->next) = cold->next;
    *(cold->next == NULL ? &list->last : &cold->next->before) = cold->before;
    add_counters(&list->gone, &cold->counters);
    cold_table_close(cold);
    cold->before = cold->next = NULL;
}

static bool is_among(const uint32_t *columns, uint32_t count, uint32_t column)
{
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i] == column) {
            return true;
        }
    }
    return false;
}

enum status node_make_layout(struct node *node, const struct snapshot_table *table, const uint32_t *keys, uint32_t key_count,
                             struct cold_layout *layout, struct error *err)
{
    uint32_t count = table->schema->count;
    const struct type **types;
    uint32_t *values;
    TRY_ALLOC(types, arena_alloc(node->circuit->arena, (count + 1) * sizeof *types), err);
    TRY_ALLOC(values, arena_alloc(node->circuit->arena, (count + 1) * sizeof *values), err);
    *layout = (struct cold_layout){.operator_id = node->id,
                                   .table = table,
                                   .types = types,
                                   .column_count = count,
                                   .keys = keys,
                                   .key_count = key_count,
                                   .values = values,
                                   .record = -1};
    for (uint32_t i = 0; i < count; i++) {
        types[i] = table->schema->columns[i].type;
        if (!is_among(keys, key_count, i)) {
            values[layout->value_count++] = i;
        }
    }
    return STATUS_OK;
}

enum status node_fetch_keys(struct node *node, struct cold_table *cold, const struct batch *batch, const uint32_t *keys, uint64_t *hashes,
                            struct error *err)
{
    bool added;
    TRY(node_relieve(node, err));
    TRY(cold_table_fetch_keys(cold, batch, keys, hashes, &added, err));
    if (added) {
        batch_hash(batch, keys, cold->layouts[0].key_count - cold->layouts[0].scope_count, hashes);
    }
    return STATUS_OK;
}

void node_close_cold(struct node *node)
{
    struct cold_table *cold;
    while ((cold = node_first_cold(node)) != NULL) {
        node_drop_cold(node, cold);
    }
    if (node->cold != NULL) {
        cold_scratch_free(node->cold->scratch, node->circuit->budget);
        node->cold->scratch = NULL;
    }
}

enum status circuit_take_cold(struct circuit *circuit, struct error *err)
{
    if (LIKELY(circuit->cold == circuit->cold_taken)) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (node->type->open_cold != NULL) {
            TRY(node->type->open_cold(node, err));
        }
    }
    circuit->cold_taken = circuit->cold;
    return STATUS_OK;
}

/* ---- memory ---- */

/* The account that is nearest to its limit decides. */
static bool is_beyond(const struct circuit *circuit, size_t eighths)
{
    for (const struct budget *budget = circuit->budget; budget != NULL; budget = budget->parent) {
        if (atomic_load_explicit(&budget->used_bytes, memory_order_relaxed) > budget->limit_bytes / 8 * eighths) {
            return true;
        }
    }
    return false;
}

static enum status evict_all(struct node *node, struct error *err)
{
    for (struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
        uint32_t evicted, count = key_table_count(cold->keys);
        if (count > 0) {
            TRY(cold_table_evict(cold, count, true, &evicted, err));
        }
    }
    return STATUS_OK;
}

/* Tables that are about to grow give up a part. */
static enum status evict_share(struct node *node, struct error *err)
{
    for (struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
        uint32_t evicted, count = key_table_count(cold->keys);
        if (cold_table_is_full(cold) && count > 0) {
            TRY(cold_table_evict(cold, count / SHARE + 1, false, &evicted, err));
        }
    }
    return STATUS_OK;
}

static size_t bytes_of(const struct node *node)
{
    size_t bytes = 0;
    for (const struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
        const struct slab *heap = cold->owner.heap == NULL ? NULL : cold->owner.heap(cold->owner.context);
        bytes += key_table_count(cold->keys) == 0 ? 0 : key_table_bytes(cold->keys) + (heap == NULL ? 0 : heap->bytes);
    }
    return bytes;
}

static struct node *largest(const struct circuit *circuit)
{
    struct node *found = NULL;
    size_t most = 0;
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        size_t bytes = bytes_of(circuit->nodes[i]);
        if (bytes > most) {
            most = bytes;
            found = circuit->nodes[i];
        }
    }
    return found;
}

static enum status evict_largest(struct circuit *circuit, struct error *err)
{
    for (uint32_t i = 0; i < circuit->node_count && is_beyond(circuit, 6); i++) {
        struct node *node = largest(circuit);
        if (node == NULL) {
            break;
        }
        TRY(evict_all(node, err));
    }
    return STATUS_OK;
}

struct cold_counters node_cold_counters(const struct node *node)
{
    struct cold_counters sum = node->cold == NULL ? (struct cold_counters){0} : node->cold->gone;
    for (const struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
        add_counters(&sum, &cold->counters);
    }
    return sum;
}

void node_count_cold(struct node *node)
{
    struct node_metrics *metrics = &node->metrics;
    struct cold_counters sum = node_cold_counters(node);
    metrics->state_cold_keys = 0;
    for (const struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
        metrics->state_cold_keys += cold->out;
    }
    metrics->state_hits = sum.hits;
    metrics->state_misses = sum.misses;
    metrics->state_absent = sum.absent;
    metrics->state_spilled = sum.spilled;
    metrics->state_spilled_bytes = sum.spilled_bytes;
}

enum status circuit_relieve(struct circuit *circuit, struct error *err)
{
    bool scarce = is_beyond(circuit, 6);
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        struct node *node = circuit->nodes[i];
        if (circuit->cold_evict_all) {
            TRY(evict_all(node, err));
        } else if (scarce) {
            TRY(evict_share(node, err));
        }
        node_count_cold(node);
    }
    return is_beyond(circuit, 7) ? evict_largest(circuit, err) : STATUS_OK;
}

/* Once in vain is enough: what the tick has touched must stay. */
enum status node_relieve_memory(struct node *node, struct error *err)
{
    const struct circuit *circuit = node->circuit;
    if (node->relieved_tick == circuit->tick_number + 1) {
        return STATUS_OK;
    }
    bool all = is_beyond(circuit, 7);
    uint64_t most = 0, done = 0;
    for (struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
        uint32_t evicted = 0, count = key_table_count(cold->keys);
        if (count > 0 && (all || cold_table_is_full(cold))) {
            TRY(cold_table_evict(cold, all ? count : count / SHARE + 1, all, &evicted, err));
            most += count;
            done += evicted;
        }
    }
    node->relieved_tick = done < CHUNK_ROWS && done < most / (SHARE * SHARE) ? circuit->tick_number + 1 : node->relieved_tick;
    return STATUS_OK;
}

/* ---- checkpoints ---- */

/* Columns take more than the table that they are made from; all workers make theirs at once. */
static bool has_room_for_copy(const struct node *node)
{
    size_t bytes = bytes_of(node), counted = node->metrics.state_bytes;
    size_t copy = (counted > bytes ? counted : bytes) / 2 * 3 * node->circuit->worker_count;
    for (const struct budget *budget = node->circuit->budget; budget != NULL; budget = budget->parent) {
        size_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed), limit = budget->limit_bytes / 8 * 7;
        if (used > limit || copy > limit - used) {
            return false;
        }
    }
    return true;
}

bool node_belongs_in_database(const struct node *node)
{
    bool spilled = false;
    for (const struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
        spilled = spilled || cold->spilled;
    }
    return node->cold != NULL && (spilled || !node->type->saves_in_memory || (node->circuit->cold_checkpoint && !has_room_for_copy(node)));
}

/* Rows that older files of the chain have are those of before. */
static enum status void_older_files(const struct node *node, struct snapshot_writer *writer, struct error *err)
{
    bool may_be = node->type->saves_in_memory && !snapshot_is_full(writer);
    for (const struct cold_table *cold = may_be ? node_first_cold(node) : NULL; cold != NULL; cold = cold->next) {
        for (uint32_t part = 0; part < cold->part_count && cold->layouts[part].scope_count == 0; part++) { /* else the operator does */
            TRY(snapshot_replace(writer, (uint32_t)(cold->layouts[part].table - node->tables), err));
        }
    }
    return STATUS_OK;
}

enum status node_save_cold(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    if (!node->in_database) {
        return STATUS_OK;
    }
    for (struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
        TRY(cold_table_write(cold, err));
    }
    const struct circuit *circuit = node->circuit;
    return circuit->cold_checkpoint ? void_older_files(node, writer, err)
                                    : cold_export(circuit->cold, node->id, writer, circuit->budget, err);
}
