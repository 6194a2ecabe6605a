#include "storage/metric_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FIRST_CAPACITY = 256, SERIES_MAX = 1 << 20 };
static const char magic[4] = "SPM1";

/* ---- the table ---- */

static uint32_t find_slot(struct metric_cell *const *slots, uint32_t capacity, const char *series, int64_t at_us)
{
    uint64_t hash = hash_combine(hash_bytes(series, strlen(series)), hash_uint64((uint64_t)at_us));
    uint32_t at = (uint32_t)hash & (capacity - 1);
    while (slots[at] != NULL && (slots[at]->at_us != at_us || strcmp(slots[at]->series, series) != 0)) {
        at = (at + 1) & (capacity - 1);
    }
    return at;
}

static enum status table_grow(struct metric_table *table, struct error *err)
{
    uint32_t capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity * 2;
    struct metric_cell **slots;
    TRY_ALLOC(slots, arena_alloc(table->arena, capacity * sizeof *slots), err);
    for (uint32_t i = 0; i < table->capacity; i++) {
        if (table->slots[i] != NULL) {
            slots[find_slot(slots, capacity, table->slots[i]->series, table->slots[i]->at_us)] = table->slots[i];
        }
    }
    table->slots = slots;
    table->capacity = capacity;
    return STATUS_OK;
}

static void cell_merge(struct metric_cell *into, const struct metric_cell *from)
{
    into->count += from->count;
    into->sum += from->sum;
    into->least = from->least < into->least ? from->least : into->least;
    into->greatest = from->greatest > into->greatest ? from->greatest : into->greatest;
    if (from->last_us >= into->last_us) {
        into->last_us = from->last_us;
        into->last = from->last;
    }
}

static int64_t step_start(int64_t at_us, int64_t step_us)
{
    int64_t rest = at_us % step_us;
    return at_us - (rest < 0 ? rest + step_us : rest);
}

enum status metric_table_add(struct metric_table *table, const struct metric_cell *cell, struct error *err)
{
    if ((table->count + 1) * 2 > table->capacity) {
        TRY(table_grow(table, err));
    }
    int64_t start = step_start(cell->at_us, table->step_us);
    struct metric_cell **slot = &table->slots[find_slot(table->slots, table->capacity, cell->series, start)];
    if (*slot != NULL) {
        cell_merge(*slot, cell);
        return STATUS_OK;
    }
    TRY_ALLOC(*slot, arena_copy(table->arena, cell, sizeof *cell), err);
    (*slot)->at_us = start;
    table->count++;
    TRY_ALLOC((*slot)->series, arena_text(table->arena, cell->series, strlen(cell->series)), err);
    return STATUS_OK;
}

static int compare_cells(const void *left, const void *right)
{
    const struct metric_cell *l = *(struct metric_cell *const *)left, *r = *(struct metric_cell *const *)right;
    int order = strcmp(l->series, r->series);
    return order != 0 ? order : (l->at_us > r->at_us) - (l->at_us < r->at_us);
}

enum status metric_table_sort(struct metric_table *table, struct metric_cell ***cells, struct error *err)
{
    uint32_t used = 0;
    TRY_ALLOC(*cells, arena_alloc(table->arena, (table->count + 1) * sizeof **cells), err);
    for (uint32_t i = 0; i < table->capacity; i++) {
        if (table->slots[i] != NULL) {
            (*cells)[used++] = table->slots[i];
        }
    }
    if (used > 0) {
        qsort(*cells, used, sizeof **cells, compare_cells);
    }
    return STATUS_OK;
}

/* ---- the form ---- */

static void put_number(struct text_builder *out, uint64_t value)
{
    while (value >= 128) {
        text_append_char(out, (char)(value | 128));
        value >>= 7;
    }
    text_append_char(out, (char)value);
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

struct scan {
    const uint8_t *at, *end;
    bool failed;
};

static uint64_t get_number(struct scan *scan)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64 && scan->at < scan->end; shift += 7) {
        uint8_t byte = *scan->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            return value;
        }
    }
    scan->failed = true;
    return 0;
}

static int64_t get_signed(struct scan *scan)
{
    uint64_t value = get_number(scan);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static double get_double(struct scan *scan)
{
    double value = 0;
    if (scan->end - scan->at < (ptrdiff_t)sizeof value) {
        scan->failed = true;
        return 0;
    }
    memcpy(&value, scan->at, sizeof value);
    scan->at += sizeof value;
    return value;
}

/* Cells are in the order of series, so that a series is written once. */
enum status metric_cells_write(struct metric_cell *const *cells, uint32_t count, struct text_builder *out, struct error *err)
{
    int64_t before_us = 0;
    text_append(out, magic, sizeof magic);
    put_number(out, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct metric_cell *cell = cells[i];
        bool same = i > 0 && strcmp(cell->series, cells[i - 1]->series) == 0;
        size_t length = same ? 0 : strlen(cell->series);
        put_number(out, length);
        text_append(out, cell->series, length);
        put_number(out, zigzag(cell->at_us - before_us));
        put_number(out, (uint64_t)(cell->last_us - cell->at_us));
        put_number(out, cell->count);
        text_append(out, (const char *)&cell->last, sizeof cell->last);
        if (cell->count > 1) {
            const double rest[3] = {cell->sum, cell->least, cell->greatest};
            text_append(out, (const char *)rest, sizeof rest);
        }
        before_us = cell->at_us;
    }
    return out->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a batch of metrics") : STATUS_OK;
}

static void cell_get(struct scan *scan, int64_t *before_us, struct metric_cell *cell)
{
    cell->at_us = *before_us + get_signed(scan);
    cell->last_us = cell->at_us + (int64_t)get_number(scan);
    cell->count = get_number(scan);
    cell->last = cell->sum = cell->least = cell->greatest = get_double(scan);
    if (cell->count > 1) {
        cell->sum = get_double(scan);
        cell->least = get_double(scan);
        cell->greatest = get_double(scan);
    }
    *before_us = cell->at_us;
}

enum status metric_cells_read(const char *key, struct text text, struct arena *arena, metric_cell_visit visit, void *context,
                              struct error *err)
{
    struct scan scan = {(const uint8_t *)text.bytes, (const uint8_t *)text.bytes + text.length, false};
    struct metric_cell cell = {0};
    int64_t before_us = 0;
    scan.failed = text.length < sizeof magic || memcmp(text.bytes, magic, sizeof magic) != 0;
    scan.at += scan.failed ? 0 : sizeof magic;
    uint64_t count = scan.failed ? 0 : get_number(&scan);
    for (uint64_t i = 0; i < count && !scan.failed; i++) {
        uint64_t length = get_number(&scan);
        if (length > SERIES_MAX || length > (uint64_t)(scan.end - scan.at) || (i == 0 && length == 0)) {
            scan.failed = true;
            break;
        }
        if (length > 0) {
            TRY_ALLOC(cell.series, arena_text(arena, (const char *)scan.at, (size_t)length), err);
            scan.at += length;
        }
        cell_get(&scan, &before_us, &cell);
        if (!scan.failed) {
            TRY(visit(context, &cell, err));
        }
    }
    return scan.failed || scan.at != scan.end ? error_set(err, ERROR_STORE_CORRUPT, "'%s' is corrupt: it is no batch of metrics", key)
                                              : STATUS_OK;
}
