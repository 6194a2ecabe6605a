#include "circuit/change_log.h"

#include <stdlib.h>
#include <string.h>

#include "data/order.h"
#include "formats/format.h"
#include "state/key_table.h"

struct change {
    uint32_t slot;
    int64_t weight;
    uint8_t kind;
};
struct change_log {
    struct budget *budget;
    const struct type **types;
    uint32_t *columns; /* 0, 1, ...: all columns are the key */
    uint32_t column_count;
    struct key_table *table; /* row -> entry */
    uint32_t *touched;       /* slots, by first touch */
    uint32_t touched_count, touched_capacity;
    struct change *changes; /* what take gives, in order */
    uint32_t change_count, change_capacity;
};
struct entry {
    int64_t weight;
    uint64_t touched;
};

static enum status change_log_open_table(struct change_log *log, struct error *err)
{
    const uint32_t entry_bytes = sizeof(struct entry);
    return key_table_create(log->budget, log->types, log->column_count, &entry_bytes, 1, &log->table, err);
}

enum status change_log_create(struct budget *budget, const struct type *const *types, uint32_t column_count, struct change_log **log,
                              struct error *err)
{
    struct change_log *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the changes of a tick");
    }
    created->budget = budget;
    created->column_count = column_count;
    created->types = calloc(column_count + 1, sizeof *created->types);
    created->columns = calloc(column_count + 1, sizeof *created->columns);
    enum status status = STATUS_OK;
    if (created->types == NULL || created->columns == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for the changes of a tick");
    } else {
        for (uint32_t c = 0; c < column_count; c++) {
            created->types[c] = types[c];
            created->columns[c] = c;
        }
        status = change_log_open_table(created, err);
    }
    if (status != STATUS_OK) {
        change_log_destroy(created);
        return status;
    }
    *log = created;
    return STATUS_OK;
}

void change_log_destroy(struct change_log *log)
{
    if (log != NULL) {
        key_table_destroy(log->table);
        free(log->types);
        free(log->columns);
        free(log->touched);
        free(log->changes);
        free(log);
    }
}

static enum status change_log_touch(struct change_log *log, uint32_t slot, struct error *err)
{
    if (log->touched_count == log->touched_capacity) {
        uint32_t capacity = log->touched_capacity == 0 ? 1024 : log->touched_capacity * 2;
        uint32_t *larger = realloc(log->touched, capacity * sizeof *larger);
        if (larger == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for %u changes of a tick", capacity);
        }
        log->touched = larger;
        log->touched_capacity = capacity;
    }
    log->touched[log->touched_count++] = slot;
    return STATUS_OK;
}

enum status change_log_add(struct change_log *log, const struct batch *batch, struct error *err)
{
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS];
    batch_hash(batch, log->columns, log->column_count, hashes);
    TRY(key_table_find_or_insert(log->table, batch, log->columns, hashes, slots, err));
    struct entry *entries = key_table_values(log->table, 0);
    struct selection rows = batch_selection(batch);
    for (uint32_t k = 0; k < rows.count; k++) {
        struct entry *entry = &entries[slots[k]];
        entry->weight += batch_weight(batch, selection_row(&rows, k));
        if (entry->touched == 0) {
            entry->touched = 1;
            TRY(change_log_touch(log, slots[k], err));
        }
    }
    return STATUS_OK;
}

static enum status change_log_list(struct change_log *log, uint32_t slot, int64_t weight, uint8_t kind, struct error *err)
{
    if (log->change_count == log->change_capacity) {
        uint32_t capacity = log->change_capacity == 0 ? 1024 : log->change_capacity * 2;
        struct change *larger = realloc(log->changes, capacity * sizeof *larger);
        if (larger == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for %u changes of a tick", capacity);
        }
        log->changes = larger;
        log->change_capacity = capacity;
    }
    log->changes[log->change_count++] = (struct change){.slot = slot, .weight = weight, .kind = kind};
    return STATUS_OK;
}

static enum status change_log_gather(struct change_log *log, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    TRY(batch_init(batch, log->column_count, err));
    batch->count = count;
    for (uint32_t c = 0; c < log->column_count; c++) {
        TRY(key_table_gather(log->table, c, slots, count, &batch->columns[c], err));
    }
    return STATUS_OK;
}

static enum status change_log_put_chunk(struct change_log *log, const struct change *changes, uint32_t count, change_put_fn *put,
                                        void *owner, struct error *err)
{
    uint32_t slots[CHUNK_ROWS];
    uint8_t kinds[CHUNK_ROWS];
    struct batch batch = {0};
    for (uint32_t i = 0; i < count; i++) {
        slots[i] = changes[i].slot;
        kinds[i] = changes[i].kind;
    }
    enum status status = change_log_gather(log, slots, count, &batch, err);
    int64_t *weights = NULL;
    if (status == STATUS_OK) {
        status = batch_need_weights(log->budget, &batch, count, &weights, err);
    }
    if (status == STATUS_OK) {
        for (uint32_t i = 0; i < count; i++) {
            weights[i] = changes[i].weight;
        }
        status = put(owner, &batch, kinds, err);
    }
    batch_release(&batch);
    return status;
}

/* Gives the listed changes and forgets everything. */
static enum status change_log_flush(struct change_log *log, change_put_fn *put, void *owner, struct error *err)
{
    enum status status = STATUS_OK;
    for (uint32_t at = 0; at < log->change_count && status == STATUS_OK; at += CHUNK_ROWS) {
        uint32_t count = log->change_count - at < CHUNK_ROWS ? log->change_count - at : CHUNK_ROWS;
        status = change_log_put_chunk(log, log->changes + at, count, put, owner, err);
    }
    log->change_count = 0;
    if (log->touched_count > CHUNK_ROWS) {
        key_table_destroy(log->table);
        log->table = NULL;
        if (status == STATUS_OK) {
            status = change_log_open_table(log, err);
        }
    } else {
        for (uint32_t i = 0; i < log->touched_count; i++) {
            key_table_remove(log->table, log->touched[i]);
        }
    }
    log->touched_count = 0;
    return status;
}

static enum status change_log_list_signed(struct change_log *log, bool negative, uint8_t kind, struct error *err)
{
    const struct entry *entries = key_table_values(log->table, 0);
    for (uint32_t i = 0; i < log->touched_count; i++) {
        int64_t weight = entries[log->touched[i]].weight;
        if (weight == 0 || (weight < 0) != negative) {
            continue;
        }
        int64_t times = weight < 0 ? -weight : weight;
        for (int64_t n = 0; n < times; n++) {
            TRY(change_log_list(log, log->touched[i], negative ? -1 : 1, kind, err));
        }
    }
    return STATUS_OK;
}

/* ---- pairing by upsert key ---- */

struct key_entry {    /* 8 bytes, a value record of the key table */
    uint64_t deleted; /* 1 + index of the change that deletes the key's old row; 0: none */
};

/* Slots of the upsert key for the changes `from`..`from + count`. */
static enum status change_log_key_slots(struct change_log *log, struct key_table *keys, const uint32_t *upsert_key, uint32_t key_count,
                                        uint32_t from, uint32_t count, uint32_t *key_slots, struct error *err)
{
    uint32_t slots[CHUNK_ROWS];
    uint64_t hashes[CHUNK_ROWS];
    for (uint32_t i = 0; i < count; i++) {
        slots[i] = log->changes[from + i].slot;
    }
    struct batch batch = {0};
    enum status status = change_log_gather(log, slots, count, &batch, err);
    if (status == STATUS_OK) {
        batch_hash(&batch, upsert_key, key_count, hashes);
        status = key_table_find_or_insert(keys, &batch, upsert_key, hashes, key_slots, err);
    }
    batch_release(&batch);
    return status;
}

/* Orders the changes (deletions 0..deletes-1, then insertions): lone deletions, then insertions, each after its key's deletion. */
static enum status change_log_pair(struct change_log *log, struct key_table *keys, const uint32_t *upsert_key, uint32_t key_count,
                                   uint32_t deletes, struct change *ordered, struct error *err)
{
    uint32_t key_slots[CHUNK_ROWS];
    uint32_t *partner = calloc(log->change_count + 1, sizeof *partner); /* by change: 1 + index of the other one */
    if (partner == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for %u changes of a tick", log->change_count);
    }
    enum status status = STATUS_OK;
    for (uint32_t at = 0; at < log->change_count && status == STATUS_OK;) {
        uint32_t end = at < deletes ? deletes : log->change_count;
        uint32_t count = end - at < CHUNK_ROWS ? end - at : CHUNK_ROWS;
        status = change_log_key_slots(log, keys, upsert_key, key_count, at, count, key_slots, err);
        struct key_entry *entries = status == STATUS_OK ? key_table_values(keys, 0) : NULL;
        for (uint32_t i = 0; i < count && entries != NULL; i++) {
            struct key_entry *entry = &entries[key_slots[i]];
            if (at < deletes) {
                entry->deleted = at + i + 1;
            } else if (entry->deleted != 0) {
                partner[at + i] = (uint32_t)entry->deleted;
                partner[entry->deleted - 1] = at + i + 1;
                entry->deleted = 0;
            }
        }
        at += count;
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < deletes; i++) {
        if (partner[i] == 0) {
            ordered[next++] = log->changes[i];
        }
    }
    for (uint32_t i = deletes; i < log->change_count; i++) {
        if (partner[i] != 0) {
            ordered[next] = log->changes[partner[i] - 1];
            ordered[next++].kind = ROW_UPDATE_BEFORE;
        }
        ordered[next] = log->changes[i];
        ordered[next++].kind = partner[i] != 0 ? ROW_UPDATE_AFTER : ROW_INSERT;
    }
    free(partner);
    return status;
}

static enum status change_log_order(struct change_log *log, const uint32_t *upsert_key, uint32_t key_count, uint32_t deletes,
                                    struct error *err)
{
    const uint32_t entry_bytes = 8;
    const struct type **types = calloc(key_count, sizeof *types);
    struct change *ordered = calloc(log->change_count + 1, sizeof *ordered);
    struct key_table *keys = NULL;
    enum status status = STATUS_OK;
    if (types == NULL || ordered == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for %u changes of a tick", log->change_count);
    } else {
        for (uint32_t i = 0; i < key_count; i++) {
            types[i] = log->types[upsert_key[i]];
        }
        status = key_table_create(log->budget, types, key_count, &entry_bytes, 1, &keys, err);
    }
    if (status == STATUS_OK) {
        status = change_log_pair(log, keys, upsert_key, key_count, deletes, ordered, err);
    }
    if (status == STATUS_OK) {
        memcpy(log->changes, ordered, log->change_count * sizeof *ordered);
    }
    key_table_destroy(keys);
    free(ordered);
    free(types);
    return status;
}

enum status change_log_take_kinds(struct change_log *log, const uint32_t *upsert_key, uint32_t upsert_key_count, change_put_fn *put,
                                  void *owner, struct error *err)
{
    TRY(change_log_list_signed(log, true, ROW_DELETE, err));
    uint32_t deletes = log->change_count;
    TRY(change_log_list_signed(log, false, ROW_INSERT, err));
    if (upsert_key_count > 0 && deletes > 0 && deletes < log->change_count) {
        TRY(change_log_order(log, upsert_key, upsert_key_count, deletes, err));
    }
    return change_log_flush(log, put, owner, err);
}
