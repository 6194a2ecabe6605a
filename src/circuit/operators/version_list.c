#include "circuit/operators/version_list.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_VERSIONS = 2 };

/* The number of versions whose time is not after `time`. */
static uint32_t versions_until(const struct version_list *list, int64_t time)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->items[middle].time <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct version *version_find(const struct version_list *list, int64_t time)
{
    uint32_t until = versions_until(list, time);
    return until > 0 && list->items[until - 1].time == time ? &list->items[until - 1] : NULL;
}

static enum status versions_grow(struct version_list *list, struct budget *budget, struct error *err)
{
    uint32_t capacity = list->capacity == 0 ? FIRST_VERSIONS : list->capacity * 2;
    size_t bytes = (size_t)(capacity - list->capacity) * sizeof *list->items;
    if (!budget_charge(budget, bytes)) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the versions of a key");
    }
    struct version *items = realloc(list->items, (size_t)capacity * sizeof *items);
    if (items == NULL) {
        budget_release(budget, bytes);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the versions of a key");
    }
    list->items = items;
    list->capacity = capacity;
    return STATUS_OK;
}

static enum status drop_row(struct version_rows *rows, row_handle row, struct error *err)
{
    if (row != 0) {
        TRY(touched_rows_mark(&rows->touched, row, err));
        row_store_free(rows->store, row);
    }
    return STATUS_OK;
}

static enum status version_put(struct version_list *list, struct version_rows *rows, struct version version, struct error *err)
{
    struct version *present = version_find(list, version.time);
    TRY(touched_rows_mark(&rows->touched, version.row, err));
    if (present != NULL) {
        TRY(drop_row(rows, present->row, err));
        *present = version;
        return STATUS_OK;
    }
    if (list->count == list->capacity) {
        TRY(versions_grow(list, rows->budget, err));
    }
    uint32_t at = versions_until(list, version.time);
    memmove(&list->items[at + 1], &list->items[at], (list->count - at) * sizeof *list->items);
    list->items[at] = version;
    list->count++;
    return STATUS_OK;
}

enum status version_list_add(struct version_list *list, struct version_rows *rows, int64_t time, row_handle row, uint64_t tick,
                             struct error *err)
{
    struct version *ended = list->ended_tick == tick && list->ended_time < time ? version_find(list, list->ended_time) : NULL;
    if (ended != NULL && ended->row != 0) {
        ended->ended = false;
        TRY(touched_rows_mark(&rows->touched, ended->row, err));
    }
    list->ended_tick = 0;
    return version_put(list, rows, (struct version){time, row, false}, err);
}

enum status version_list_end(struct version_list *list, struct version_rows *rows, int64_t time, row_handle row, uint64_t tick,
                             struct error *err)
{
    struct version *present = version_find(list, time);
    if (present != NULL && present->row != 0 && !row_store_equal(rows->store, present->row, row)) {
        row_store_free(rows->store, row); /* it was replaced before */
        return STATUS_OK;
    }
    list->ended_tick = tick;
    list->ended_time = time;
    return version_put(list, rows, (struct version){time, row, true}, err);
}

enum status version_list_restore(struct version_list *list, struct version_rows *rows, const struct version *version, struct error *err)
{
    return version_put(list, rows, *version, err);
}

row_handle version_list_at(const struct version_list *list, int64_t time)
{
    uint32_t until = versions_until(list, time);
    return until == 0 || list->items[until - 1].ended ? 0 : list->items[until - 1].row;
}

enum status version_list_forget(struct version_list *list, struct version_rows *rows, int64_t watermark, struct error *err)
{
    uint32_t until = versions_until(list, watermark);
    if (until < 2) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i + 1 < until; i++) {
        TRY(drop_row(rows, list->items[i].row, err));
    }
    list->count -= until - 1;
    memmove(list->items, &list->items[until - 1], list->count * sizeof *list->items);
    return STATUS_OK;
}

void version_list_release(struct version_list *list, struct budget *budget)
{
    budget_release(budget, (size_t)list->capacity * sizeof *list->items);
    free(list->items);
    *list = (struct version_list){0};
}
