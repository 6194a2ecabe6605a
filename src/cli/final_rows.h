/* cli/final_rows.h: a changelog applied: the rows that stand.
 *
 * For         tables on a terminal, bounded queries in a pipe, `spate test`.
 * Shape       A multiset of rows in the order in which they came; a deletion takes the latest equal row away. One that comes before its row
 *             is owed: it takes the next equal row away. A row is kept as one blob: per cell its length (UINT32_MAX: NULL) and bytes.
 * Errors      `failed` when memory is gone. `early`: a deletion came before its row, which only input of changes out of their order excuses;
 *             `owed`: deletions whose rows have not come.
 */
#ifndef SPATE_CLI_FINAL_ROWS_H
#define SPATE_CLI_FINAL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct final_row {
    char *blob; /* NULL: withdrawn */
    size_t size;
    uint64_t hash;
    bool owed; /* not a row: a deletion that waits for its row */
};
struct final_rows {
    struct final_row *rows;
    size_t count, capacity, standing, owed;
    uint32_t *index; /* open addressing: 1 + row number, by hash */
    size_t index_size, index_used;
    bool failed, early;
};
void final_rows_change(struct final_rows *rows, int kind, uint32_t column_count, const char *const *values, const size_t *lengths);
static inline bool final_row_stands(const struct final_row *row)
{
    return row->blob != NULL && !row->owed;
}
/* The cells of a row; values[c] NULL for NULL. */
void final_rows_cells(const struct final_row *row, uint32_t column_count, const char **values, size_t *lengths);
void final_rows_close(struct final_rows *rows);

#endif
