/* state/snapshot_format.h: the bytes of a file of state, for its writer and its reader. docs/state-format.md has them for others.
 *
 * Shape       A file header, then blocks: a header of 32 bytes and a payload. All numbers little-endian. The checksum is XXH3 over the first
 *             24 bytes of the block's header, combined with that of the payload.
 * Payloads    TABLE    operator id, NUL, table name, NUL, where its rows belong, NUL, then a line per column: name, TAB, type, perhaps TAB, layout; `table` is its
 *                      number from then on.
 *             ROWS     ids (state/packed_integers.h), then the columns one after the other (state/column_codec.h).
 *             REMOVE   ids.         REPLACE, END: nothing.         EXPIRE   the bound (int64), the column (uint32).
 */
#ifndef SPATE_STATE_SNAPSHOT_FORMAT_H
#define SPATE_STATE_SNAPSHOT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/text.h"

#define SNAPSHOT_MAGIC "SPATESTA"
enum { BLOCK_MAGIC = 0x4b425053 /* "SPBK" */, BLOCK_BYTES_MAX = 1 << 30 };
enum block_kind { BLOCK_TABLE = 1, BLOCK_ROWS, BLOCK_REMOVE, BLOCK_REPLACE, BLOCK_EXPIRE, BLOCK_END };

struct snapshot_file_header {
    char magic[8];
    uint32_t version, full;
    uint32_t worker, worker_count, max_parallelism; /* whose: tables that are placed by a hash have its key groups only */
    uint32_t check;                                 /* lower half of XXH3 over all before it */
};
struct block_header {
    uint32_t magic;
    uint8_t kind;
    uint8_t zero[3];
    uint32_t table, rows;
    uint32_t bytes, zero_too;
    uint64_t checksum;
};
_Static_assert(sizeof(struct block_header) == 32 && sizeof(struct snapshot_file_header) == 32, "as in the file");

struct snapshot_table;
/* "one", "every", or "hash" and the columns by which rows are placed: "hash 0 2". */
void snapshot_place_print(const struct snapshot_table *table, struct text_builder *text);

static inline uint32_t file_header_check(const struct snapshot_file_header *header)
{
    return (uint32_t)hash_bytes(header, offsetof(struct snapshot_file_header, check));
}
static inline uint64_t block_checksum(const struct block_header *header, const void *payload)
{
    return hash_combine(hash_bytes(header, 24), hash_bytes(payload, header->bytes));
}

#endif
