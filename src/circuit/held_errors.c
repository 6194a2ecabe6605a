/* A small open-addressing table from a row's hash to (weight, error). Few rows fail, so entries are scanned freely. */
#include "circuit/held_errors.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/order.h"

enum { FIRST_CAPACITY = 64, TEXTS_MAX = 64 };

struct held_entry {
    uint64_t key;
    int64_t weight;
    uint32_t text; /* 1 + index into texts; 0: unused entry */
};
struct held_errors {
    struct held_entry *entries;
    uint32_t capacity, used;
    struct error texts[TEXTS_MAX]; /* later rows share the last one */
    uint32_t text_count;
};

enum status held_errors_create(struct arena *arena, struct budget *budget, struct held_errors **held, struct error *err)
{
    (void)budget;
    (void)arena;
    struct held_errors *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for held back errors");
    }
    *held = created;
    return STATUS_OK;
}

void held_errors_destroy(struct held_errors *held)
{
    if (held != NULL) {
        free(held->entries);
        free(held);
    }
}

static struct held_entry *held_find(struct held_entry *entries, uint32_t capacity, uint64_t key)
{
    uint32_t at = (uint32_t)key & (capacity - 1);
    while (entries[at].text != 0 && entries[at].key != key) {
        at = (at + 1) & (capacity - 1);
    }
    return &entries[at];
}

static enum status held_grow(struct held_errors *held, struct error *err)
{
    uint32_t capacity = held->capacity == 0 ? FIRST_CAPACITY : held->capacity * 2;
    struct held_entry *entries = calloc(capacity, sizeof *entries);
    if (entries == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for %u held back errors", held->used);
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < held->capacity; i++) {
        if (held->entries[i].text != 0 && held->entries[i].weight != 0) {
            *held_find(entries, capacity, held->entries[i].key) = held->entries[i];
            used++;
        }
    }
    free(held->entries);
    held->entries = entries;
    held->capacity = capacity;
    held->used = used;
    return STATUS_OK;
}

static uint32_t held_text(struct held_errors *held, const struct error *error)
{
    if (held->text_count < TEXTS_MAX) {
        held->texts[held->text_count++] = *error;
    }
    return held->text_count;
}

enum status held_errors_add_key(struct held_errors *held, uint64_t key, int64_t weight, const struct error *error, struct error *err)
{
    if (held->used * 2 >= held->capacity) {
        TRY(held_grow(held, err));
    }
    struct held_entry *entry = held_find(held->entries, held->capacity, key);
    if (entry->text == 0) {
        *entry = (struct held_entry){.key = key, .text = held_text(held, error)};
        held->used++;
    }
    entry->weight += weight;
    return STATUS_OK;
}

enum status held_errors_add(struct held_errors *held, const struct batch *batch, const struct row_failures *failures, struct error *err)
{
    struct selection rows = batch_selection(batch);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (!row_failures_has(failures, row)) {
            continue;
        }
        uint64_t key = HASH_NULL;
        for (uint32_t c = 0; c < batch->column_count; c++) {
            key = hash_combine(key, vector_hash_row(&batch->columns[c], row));
        }
        TRY(held_errors_add_key(held, key, batch_weight(batch, row), &failures->first, err));
    }
    return STATUS_OK;
}

enum status held_errors_check(struct held_errors *held, const struct tick *tick, struct error *err)
{
    if (held->used == 0 || (tick->bounded && !tick->end)) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < held->capacity; i++) {
        if (held->entries[i].text != 0 && held->entries[i].weight > 0) {
            *err = held->texts[held->entries[i].text - 1];
            return err->status;
        }
    }
    return STATUS_OK;
}
