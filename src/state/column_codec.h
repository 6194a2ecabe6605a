/* state/column_codec.h: columns of rows as bytes, for files of state.
 *
 * For         the blocks of a snapshot (state/snapshot.h). docs/state-format.md describes the bytes.
 * Shape       One byte: 0 no NULLs, 1 a bitmap follows, 2 all NULL (nothing follows). The bitmap has a bit a row, set = not NULL, rounded up
 *             to 8 bytes. Fixed width: a list of packed integers (state/packed_integers.h), of 16 bytes two, the lower halves first.
 *             STRING: a list of lengths, then the bytes: plain, compressed, or, of BYTES of one length, by lists of 4 bytes each. Nested: as
 *             STRING, each row as data/value_codec.h has it.
 * Ownership   A coder holds what compression needs from one column to the next; zero is ready, column_coder_close frees.
 * Errors      decode: STATE_CORRUPT when the bytes are not such a column, NO_MEMORY. It never reads past `end`.
 */
#ifndef SPATE_STATE_COLUMN_CODEC_H
#define SPATE_STATE_COLUMN_CODEC_H

#include "data/batch.h"

struct column_coder {
    struct ZSTD_CCtx_s *packer;
    struct ZSTD_DCtx_s *unpacker;
};
void column_coder_close(struct column_coder *coder);

/* What does not fit in memory shows in out->failed. */
void column_encode(struct column_coder *coder, const struct vector *vector, struct selection rows, struct text_builder *out);
/* *cursor is moved past the column. */
enum status column_decode(struct column_coder *coder, struct budget *budget, const struct type *type, uint32_t count,
                          const uint8_t **cursor, const uint8_t *end, struct vector *vector, struct error *err);

#endif
