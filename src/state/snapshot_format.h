/* state/snapshot_format.h: the bytes of a file of state, for its writer and its reader. docs/state-format.md has them for others.
 *
 * Shape       A file header, then blocks: a header of 32 bytes and a payload. All numbers little-endian. The checksum is XXH3 over the first
 *             24 bytes of the block's header, combined with that of the payload as stored.
 * Payloads    TABLE    operator id, NUL, table name, NUL, then a line per column: name, TAB, type; `table` is its number from then on.
 *             ROWS     ids (uint64 each), then the columns one after the other (state/column_codec.h).
 *             REMOVE   ids.         REPLACE, END: nothing.         EXPIRE   the bound (int64), the column (uint32).
 */
#ifndef SPATE_STATE_SNAPSHOT_FORMAT_H
#define SPATE_STATE_SNAPSHOT_FORMAT_H

#include <stdint.h>

#include "base/hash.h"

#define SNAPSHOT_MAGIC "SPATESTA"
enum { BLOCK_MAGIC = 0x4b425053 /* "SPBK" */, BLOCK_BYTES_MAX = 1 << 30 };
enum block_kind { BLOCK_TABLE = 1, BLOCK_ROWS, BLOCK_REMOVE, BLOCK_REPLACE, BLOCK_EXPIRE, BLOCK_END };
enum block_codec { CODEC_NONE, CODEC_ZSTD };

struct snapshot_file_header {
    char magic[8];
    uint32_t version, full;
};
struct block_header {
    uint32_t magic;
    uint8_t kind, codec;
    uint16_t zero;
    uint32_t table, rows;
    uint32_t stored_bytes, raw_bytes;
    uint64_t checksum;
};
_Static_assert(sizeof(struct block_header) == 32 && sizeof(struct snapshot_file_header) == 16, "as in the file");

struct snapshot_writer;
/* The tables that follow are those of the operator whose first had this number. */
void snapshot_resume(struct snapshot_writer *writer, uint32_t first_table);

static inline uint64_t block_checksum(const struct block_header *header, const void *payload)
{
    return hash_combine(hash_bytes(header, 24), hash_bytes(payload, header->stored_bytes));
}

#endif
