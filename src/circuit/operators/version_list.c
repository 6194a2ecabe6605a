#include "circuit/operators/version_list.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_VERSIONS = 2 };

static int64_t later_of(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

/* The number of versions that are not after this one. */
static uint32_t versions_until(const struct version_list *list, int64_t time, int64_t from)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct version *item = &list->items[middle];
        if (item->time < time || (item->time == time && item->from <= from)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The one of this time that came last. */
static struct version *version_of(const struct version_list *list, int64_t time)
{
    uint32_t until = versions_until(list, time, INT64_MAX);
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
    TRY(touched_rows_mark(&rows->touched, row, err));
    row_store_free(rows->store, row);
    return STATUS_OK;
}

static enum status version_insert(struct version_list *list, struct version_rows *rows, const struct version *version, struct error *err)
{
    if (list->count == list->capacity) {
        TRY(versions_grow(list, rows->budget, err));
    }
    uint32_t at = versions_until(list, version->time, version->from);
    memmove(&list->items[at + 1], &list->items[at], (list->count - at) * sizeof *list->items);
    list->items[at] = *version;
    list->count++;
    return touched_rows_mark(&rows->touched, version->row, err);
}

static enum status version_remove(struct version_list *list, struct version_rows *rows, struct version *version, struct error *err)
{
    uint32_t at = (uint32_t)(version - list->items);
    TRY(drop_row(rows, version->row, err));
    list->count--;
    memmove(version, version + 1, (list->count - at) * sizeof *version);
    return STATUS_OK;
}

static enum status version_set(struct version *version, struct version_rows *rows, enum version_state state, struct error *err)
{
    version->state = state;
    return touched_rows_mark(&rows->touched, version->row, err);
}

/* It is not ended after all. The version itself is still there if it could be asked for before its end was known. */
static enum status version_revive(struct version_list *list, struct version_rows *rows, struct version *ended, struct error *err)
{
    const struct version *before = ended > list->items ? ended - 1 : NULL;
    if (before != NULL && before->time == ended->time && before->state == VERSION_HOLDS &&
        row_store_equal(rows->store, before->row, ended->row)) {
        return version_remove(list, rows, ended, err);
    }
    return version_set(ended, rows, VERSION_HOLDS, err);
}

/* The key changes: what its last change ended is ended for good, or was updated. */
static enum status settle_end(struct version_list *list, struct version_rows *rows, bool adds, int64_t time, int64_t watermark,
                              struct error *err)
{
    struct version *ended = list->just_ended ? version_of(list, list->ended_time) : NULL;
    list->just_ended = false;
    if (ended == NULL || ended->state != VERSION_JUST_ENDED) {
        return STATUS_OK;
    }
    bool updates = adds && ended->time < time && watermark <= ended->from;
    return updates ? version_revive(list, rows, ended, err) : version_set(ended, rows, VERSION_ENDED, err);
}

enum status version_list_add(struct version_list *list, struct version_rows *rows, int64_t time, int64_t watermark, row_handle row,
                             struct error *err)
{
    const struct version version = {.time = time, .from = later_of(time, watermark), .row = row};
    TRY(settle_end(list, rows, true, time, watermark, err));
    struct version *present = version_of(list, time);
    if (present == NULL || present->from < version.from) {
        return version_insert(list, rows, &version, err);
    }
    TRY(drop_row(rows, present->row, err));
    present->row = row;
    return version_set(present, rows, VERSION_HOLDS, err);
}

enum status version_list_end(struct version_list *list, struct version_rows *rows, int64_t time, int64_t watermark, row_handle row,
                             struct error *err)
{
    const struct version end = {.time = time, .from = later_of(time, watermark), .row = row, .state = VERSION_JUST_ENDED};
    TRY(settle_end(list, rows, false, time, watermark, err));
    struct version *present = version_of(list, time);
    if (present != NULL && !row_store_equal(rows->store, present->row, row)) {
        row_store_free(rows->store, row); /* it was replaced before */
        return STATUS_OK;
    }
    list->just_ended = true;
    list->ended_time = time;
    if (present == NULL || present->from < end.from) {
        return version_insert(list, rows, &end, err);
    }
    row_store_free(rows->store, row);
    return version_set(present, rows, VERSION_JUST_ENDED, err);
}

enum status version_list_restore(struct version_list *list, struct version_rows *rows, const struct version *version, struct error *err)
{
    if (version->state == VERSION_JUST_ENDED) {
        list->just_ended = true;
        list->ended_time = version->time;
    }
    return version_insert(list, rows, version, err);
}

/* What counts at a moment: the place behind it; 0: nothing is known then. */
static uint32_t version_at(const struct version_list *list, int64_t at)
{
    uint32_t until = versions_until(list, at, INT64_MAX);
    while (until > 0 && list->items[until - 1].from > at) {
        until--;
    }
    return until;
}

row_handle version_list_find(const struct version_list *list, int64_t time, int64_t at)
{
    uint32_t until = version_at(list, at);
    const struct version *valid = until == 0 ? NULL : &list->items[until - 1];
    return valid == NULL || valid->state != VERSION_HOLDS || valid->time > time ? 0 : valid->row;
}

enum status version_list_forget(struct version_list *list, struct version_rows *rows, int64_t watermark, struct error *err)
{
    uint32_t until = version_at(list, watermark);
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
