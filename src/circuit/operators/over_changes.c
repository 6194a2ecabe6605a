#include "circuit/operators/over_changes.h"

#include <stdlib.h>

enum { FIRST_ITEMS = 8 };

enum status over_list_room(struct budget *budget, void **list, uint32_t *capacity, uint32_t count, size_t bytes, struct error *err)
{
    uint32_t wanted = *capacity == 0 ? FIRST_ITEMS : *capacity;
    if (count < *capacity) {
        return STATUS_OK;
    }
    while (wanted <= count) {
        wanted *= 2;
    }
    size_t more = (size_t)(wanted - *capacity) * bytes;
    bool charged = budget_charge(budget, more);
    void *grown = charged ? realloc(*list, wanted * bytes) : NULL;
    if (grown == NULL) {
        budget_release(budget, charged ? more : 0);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a list of %u rows", wanted);
    }
    *list = grown;
    *capacity = wanted;
    return STATUS_OK;
}

void over_list_free(struct budget *budget, void *list, uint32_t capacity, size_t bytes)
{
    budget_release(budget, capacity * bytes);
    free(list);
}

enum status over_changes_collect(struct over_changes *changes, struct row_store *store, const struct batch *batch, struct error *err)
{
    TRY(over_list_room(changes->budget, (void **)&changes->made, &changes->capacity, changes->count + batch->count, sizeof *changes->made,
                       err));
    TRY(row_store_add(store, batch, changes->made + changes->count, err));
    changes->count += batch->count;
    return STATUS_OK;
}

static int compare_hashed(const void *left, const void *right)
{
    uint64_t l = ((const struct over_hashed *)left)->hash, r = ((const struct over_hashed *)right)->hash;
    return l < r ? -1 : l > r;
}

static void hash_rows(const struct row_store *store, const row_handle *rows, uint32_t count, struct over_hashed *hashed)
{
    for (uint32_t i = 0; i < count; i++) {
        hashed[i] = (struct over_hashed){row_store_hash(store, rows[i]), rows[i]};
    }
    qsort(hashed, count, sizeof *hashed, compare_hashed);
}

/* Takes an equal row out of the new ones of one hash. */
static bool take_equal(const struct row_store *store, struct over_hashed *new, uint32_t first, uint32_t end, row_handle row)
{
    for (uint32_t i = first; i < end; i++) {
        if (new[i].row != 0 && row_store_equal(store, new[i].row, row)) {
            new[i].row = 0;
            return true;
        }
    }
    return false;
}

static enum status emit_rest(const struct over_hashed *rows, uint32_t count, int64_t weight, struct row_output *output, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].row != 0) {
            TRY(row_output_add(output, rows[i].row, weight, 0, err));
        }
    }
    return STATUS_OK;
}

enum status over_changes_emit(struct over_changes *changes, const struct row_store *store, const row_handle *before, uint32_t before_count,
                              struct row_output *output, struct error *err)
{
    uint32_t count = changes->count, first = 0;
    TRY(over_list_room(changes->budget, (void **)&changes->old, &changes->old_capacity, before_count, sizeof *changes->old, err));
    TRY(over_list_room(changes->budget, (void **)&changes->new, &changes->new_capacity, count, sizeof *changes->new, err));
    hash_rows(store, before, before_count, changes->old);
    hash_rows(store, changes->made, count, changes->new);
    for (uint32_t i = 0; i < before_count; i++) {
        uint32_t end;
        while (first < count && changes->new[first].hash < changes->old[i].hash) {
            first++;
        }
        for (end = first; end < count && changes->new[end].hash == changes->old[i].hash;) {
            end++;
        }
        if (take_equal(store, changes->new, first, end, changes->old[i].row)) {
            changes->old[i].row = 0;
        }
    }
    TRY(emit_rest(changes->old, before_count, -1, output, err));
    return emit_rest(changes->new, count, 1, output, err);
}

void over_changes_release(struct over_changes *changes)
{
    over_list_free(changes->budget, changes->made, changes->capacity, sizeof *changes->made);
    over_list_free(changes->budget, changes->old, changes->old_capacity, sizeof *changes->old);
    over_list_free(changes->budget, changes->new, changes->new_capacity, sizeof *changes->new);
}
