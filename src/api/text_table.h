/* api/text_table.h: rows of text that are all there: SHOW, DESCRIBE, EXPLAIN, SET.
 *
 * For         results that do not come from a circuit. They reach the caller like those of a query: through a result queue.
 * Ownership   Cells are copied.
 */
#ifndef SPATE_API_TEXT_TABLE_H
#define SPATE_API_TEXT_TABLE_H

#include "circuit/result_queue.h"
#include "sql/relation.h"

enum { TEXT_TABLE_COLUMNS_MAX = 16 };
struct text_table {
    struct arena *arena;
    struct budget *budget;
    uint32_t column_count;
    const char *names[TEXT_TABLE_COLUMNS_MAX];
    const char **cells; /* row by row; NULL is NULL */
    uint32_t cell_count, cell_capacity;
    bool failed; /* no room: checked by text_table_finish */
};
void text_table_open(struct text_table *table, struct arena *arena, struct budget *budget, uint32_t column_count, const char *const *names);
void text_table_add(struct text_table *table, const char *cell); /* copied */
/* Makes schema and batches of it. */
enum status text_table_finish(struct text_table *table, struct schema *schema, struct result_queue *queue, struct error *err);

#endif
