#include "circuit/held_output.h"

#include <stdlib.h>
#include <string.h>

enum held_kind { HELD_WRITE, HELD_TICK, HELD_FINISH, HELD_CUT };
struct held_item {
    enum held_kind kind;
    struct batch batch;
    uint8_t *kinds;
    int64_t watermark_us;
    uint64_t checkpoint;
};
struct held_output {
    struct budget *budget;
    struct held_item *items;
    size_t count, capacity;
};

enum status held_output_create(struct budget *budget, struct held_output **held, struct error *err)
{
    TRY_ALLOC(*held, calloc(1, sizeof **held), err);
    (*held)->budget = budget;
    return STATUS_OK;
}

static void release_item(struct held_item *item)
{
    if (item->kind == HELD_WRITE) {
        batch_release(&item->batch);
        free(item->kinds);
    }
}

static void remove_first(struct held_output *held, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        release_item(&held->items[i]);
    }
    held->count -= count;
    if (held->count > 0) {
        memmove(held->items, held->items + count, held->count * sizeof *held->items);
    }
}

void held_output_destroy(struct held_output *held)
{
    if (held != NULL) {
        remove_first(held, held->count);
        free(held->items);
        free(held);
    }
}

/* Takes the item, also when it fails. */
static enum status add(struct held_output *held, struct held_item item, struct error *err)
{
    if (held->count == held->capacity) {
        size_t larger = held->capacity == 0 ? 64 : held->capacity * 2;
        struct held_item *moved = realloc(held->items, larger * sizeof *moved);
        if (moved == NULL) {
            release_item(&item);
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the output that a standby holds back");
        }
        held->items = moved;
        held->capacity = larger;
    }
    held->items[held->count++] = item;
    return STATUS_OK;
}

enum status held_output_write(struct held_output *held, const struct batch *batch, const uint8_t *kinds, struct error *err)
{
    struct selection rows = batch_selection(batch);
    struct held_item item = {.kind = HELD_WRITE};
    uint16_t picked[CHUNK_ROWS];
    TRY_ALLOC(item.kinds, malloc(rows.count + 1), err);
    for (uint32_t i = 0; i < rows.count; i++) {
        picked[i] = (uint16_t)selection_row(&rows, i);
        item.kinds[i] = kinds == NULL ? (uint8_t)ROW_INSERT : kinds[picked[i]];
    }
    enum status status = batch_gather(held->budget, batch, picked, rows.count, &item.batch, err);
    if (status != STATUS_OK) {
        free(item.kinds);
        return status;
    }
    return add(held, item, err);
}

enum status held_output_tick(struct held_output *held, int64_t watermark_us, struct error *err)
{
    if (held->count > 0 && held->items[held->count - 1].kind == HELD_TICK) {
        held->items[held->count - 1].watermark_us = watermark_us; /* of ticks without rows the last is enough */
        return STATUS_OK;
    }
    return add(held, (struct held_item){.kind = HELD_TICK, .watermark_us = watermark_us}, err);
}

enum status held_output_finish(struct held_output *held, struct error *err)
{
    return add(held, (struct held_item){.kind = HELD_FINISH}, err);
}

enum status held_output_cut(struct held_output *held, uint64_t checkpoint, struct error *err)
{
    return add(held, (struct held_item){.kind = HELD_CUT, .checkpoint = checkpoint}, err);
}

void held_output_drop(struct held_output *held, uint64_t checkpoint)
{
    size_t end = 0;
    while (end < held->count && (held->items[end].kind != HELD_CUT || held->items[end].checkpoint != checkpoint)) {
        end++;
    }
    if (end < held->count) {
        remove_first(held, end + 1);
    }
}

static enum status give(const struct held_item *item, struct sink *sink, struct error *err)
{
    switch (item->kind) {
    case HELD_WRITE:
        return sink->type->write(sink, &item->batch, item->kinds, err);
    case HELD_TICK:
        return sink->type->finish_tick(sink, item->watermark_us, err);
    case HELD_FINISH:
        return sink->type->finish(sink, err);
    case HELD_CUT:
        break;
    }
    return STATUS_OK;
}

enum status held_output_release(struct held_output *held, struct sink *sink, struct error *err)
{
    for (size_t i = 0; i < held->count; i++) {
        TRY(give(&held->items[i], sink, err));
    }
    remove_first(held, held->count);
    return STATUS_OK;
}
