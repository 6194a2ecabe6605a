/* state/row_store.h: whole rows kept for later: join sides, Top-N, OVER, sessions.
 *
 * For         operators that keep rows and fetch them whole.
 * Shape       A row is encoded into bytes (NULL bits, fixed-width values, then variable parts) in pages; a handle (uint64_t) names it
 *             until it is freed. Equal rows have equal bytes when the values are equal (-0.0 stored as 0.0, NaN as one pattern), so row
 *             equality is memcmp; the hash of all columns is kept in the header.
 * Ownership   The store owns the bytes. Handles are plain numbers.
 * Errors      NO_MEMORY when the budget is spent; nothing is stored then.
 * Threads     One task.
 */
#ifndef SPATE_STATE_ROW_STORE_H
#define SPATE_STATE_ROW_STORE_H

#include "data/order.h"

typedef uint64_t row_handle; /* 0: none */
struct row_store;
/* `columns`: which columns of batches are kept (types given by position in this list). */
enum status row_store_create(struct budget *budget, const struct type *const *types, uint32_t column_count, struct row_store **store,
                             struct error *err);
void row_store_destroy(struct row_store *store);
/* Before the first row: no one will ask for hashes, so none are computed (row_store_hash is 0). */
void row_store_omit_hashes(struct row_store *store);
uint32_t row_store_column_count(const struct row_store *store);
/* Encodes the selected rows of the batch (all its columns); handles[k] for the k-th selected row. */
enum status row_store_add(struct row_store *store, const struct batch *batch, row_handle *handles, struct error *err);
void row_store_free(struct row_store *store, row_handle handle);
bool row_store_equal(const struct row_store *store, row_handle left, row_handle right);
uint64_t row_store_hash(const struct row_store *store, row_handle handle);
/* Is the stored row equal to a row of a batch? */
bool row_store_equals_row(const struct row_store *store, row_handle handle, const struct batch *batch, uint32_t row);
/* Rows as columns: vectors[c] gets `count` rows (column c of each handle); handle 0 gives NULL. `columns` NULL: all, in order. */
enum status row_store_gather(const struct row_store *store, const row_handle *handles, uint32_t count, const uint32_t *columns,
                             uint32_t column_count, struct vector *vectors, struct error *err);
/* Order by sort keys over the kept columns; ties 0. */
int row_store_compare(const struct row_store *store, const struct sort_key *keys, uint32_t count, row_handle left, row_handle right);
size_t row_store_bytes(const struct row_store *store);
const struct slab *row_store_slab(const struct row_store *store); /* where the rows are */
void row_store_clear(struct row_store *store);                    /* frees all rows, and gives their memory back */

#endif
