/* storage/metric_table.h: points by series and step, merged; and their form in batches.
 *
 * For         metric_*.c only.
 */
#ifndef SPATE_STORAGE_METRIC_TABLE_H
#define SPATE_STORAGE_METRIC_TABLE_H

#include "base/text.h"
#include "storage/metric_store.h"

struct metric_cell {
    const char *series; /* "name" or "name{labels}" */
    int64_t at_us;      /* the step's start; of raw points their time */
    int64_t last_us;    /* the time of `last` */
    uint64_t count;
    double sum, least, greatest, last;
};
/* A hash table of cells by series and time. */
struct metric_table {
    struct arena *arena;
    int64_t step_us; /* 1: points as they are */
    struct metric_cell **slots;
    uint32_t count, capacity;
};
/* `series` need not outlive the call. */
enum status metric_table_add(struct metric_table *table, const struct metric_cell *cell, struct error *err);
/* The cells in the order of series and time; *cells is in the table's arena. */
enum status metric_table_sort(struct metric_table *table, struct metric_cell ***cells, struct error *err);

enum status metric_cells_write(struct metric_cell *const *cells, uint32_t count, struct text_builder *out, struct error *err);
/* Calls back for each; the cell is lent. `key` is for messages. */
typedef enum status (*metric_cell_visit)(void *context, const struct metric_cell *cell, struct error *err);
enum status metric_cells_read(const char *key, struct text text, struct arena *arena, metric_cell_visit visit, void *context,
                              struct error *err);

#endif
