/* state/column_codec.h: columns of rows as bytes, for files of state.
 *
 * For         the blocks of a snapshot (state/snapshot.h). docs/state-format.md describes the bytes.
 * Shape       One byte: 0 no NULLs, 1 a bitmap follows, 2 all NULL (nothing follows). Fixed width: the values, little-endian as in memory.
 *             STRING: lengths (uint32), then all bytes. Nested: lengths, then each row as data/value_codec.h has it. The bitmap has a bit a
 *             row, set = not NULL, rounded up to 8 bytes.
 * Errors      decode: BAD_RECORD when the bytes are not such a column, NO_MEMORY. It never reads past `end`.
 */
#ifndef SPATE_STATE_COLUMN_CODEC_H
#define SPATE_STATE_COLUMN_CODEC_H

#include "data/batch.h"

void column_encode(const struct vector *vector, struct selection rows, struct text_builder *out);
/* *cursor is moved past the column. */
enum status column_decode(struct budget *budget, const struct type *type, uint32_t count, const uint8_t **cursor, const uint8_t *end,
                          struct vector *vector, struct error *err);

#endif
