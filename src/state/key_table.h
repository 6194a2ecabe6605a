/* state/key_table.h: keys to dense slots, a batch at a time.
 *
 * For         every keyed operator: group aggregates, joins, Top-N, deduplication.
 * Shape       An index (hash tag bytes, 16 probed at once, and a slot number per position) over dense columns: keys, hashes
 *             and values are arrays by slot, so that scans, snapshots and kernels run over plain columns.
 *             Key columns have any type (strings and nested values are copied into the table's heap). Value columns are
 *             fixed-size byte records (`value_bytes[i]` each), zeroed at insert.
 * Invariants  A key has at most one slot (equality of data/order.h: NULL equals NULL). A slot keeps its number until removed;
 *             removed slots are reused; growth rebuilds only the index.
 * Ownership   The table owns all. Column pointers hold until the next call that may insert.
 * Errors      NO_MEMORY when the budget is spent; the table is then unchanged. TOO_MANY: more than 1,024 columns.
 * Threads     One task. Hashes are computed once per batch (batch_hash) and passed in.
 */
#ifndef SPATE_STATE_KEY_TABLE_H
#define SPATE_STATE_KEY_TABLE_H

#include "data/order.h"

#define SLOT_NONE UINT32_MAX

struct key_table;
enum status key_table_create(struct budget *budget, const struct type *const *key_types, uint32_t key_count, const uint32_t *value_bytes,
                             uint32_t value_count, struct key_table **table, struct error *err);
void key_table_destroy(struct key_table *table);
/* slots[k] for the k-th selected row; hashes by physical row. `keys`: columns of the batch. new_slot (may be NULL): called for nobody;
 * a fresh slot is one whose value bytes are all zero. */
enum status key_table_find_or_insert(struct key_table *table, const struct batch *batch, const uint32_t *keys, const uint64_t *hashes,
                                     uint32_t *slots, struct error *err);
void key_table_find(const struct key_table *table, const struct batch *batch, const uint32_t *keys, const uint64_t *hashes,
                    uint32_t *slots);
void *key_table_values(const struct key_table *table, uint32_t value);   /* array by slot */
const void *key_table_keys(const struct key_table *table, uint32_t key); /* of a fixed width: array by slot */
uint64_t key_table_hash(const struct key_table *table, uint32_t slot);
/* Removes a key; its value bytes are the caller's to clean up before. */
void key_table_remove(struct key_table *table, uint32_t slot);
uint32_t key_table_count(const struct key_table *table); /* keys */
uint32_t key_table_slots(const struct key_table *table); /* slot numbers in use are below this */
bool key_table_has(const struct key_table *table, uint32_t slot);
const uint64_t *key_table_live(const struct key_table *table); /* a bit a slot: key_table_has; words up to key_table_slots */
size_t key_table_bytes(const struct key_table *table);
/* Of a table without keys: all memory but that of its empty form is given back. */
enum status key_table_release(struct key_table *table, struct error *err);
/* Keys that can come before the table grows, by what it has room for now; long keys may need more. */
uint32_t key_table_room(const struct key_table *table);
size_t key_table_free_bytes(const struct key_table *table); /* of key_table_bytes: not in use */
/* Key column `key` of the slots as a new vector of `count` rows (strings are views into a heap that the vector keeps alive). */
enum status key_table_gather(struct key_table *table, uint32_t key, const uint32_t *slots, uint32_t count, struct vector *result,
                             struct error *err);

#endif
