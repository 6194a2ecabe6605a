/* state/packed_integers.h: integers as few bits.
 *
 * For         columns of files of state (state/column_codec.h). docs/state-format.md describes the bytes.
 * Shape       A list of integers is kept as its smallest value and what each has above it, or by differences between neighbours, whichever
 *             takes fewer bits; all in thousands where they are (timestamps of milliseconds). The bits are dealt to 8 lanes, so that packing
 *             runs over vectors. A list that does not gain is kept plain, `width` bytes each.
 * Errors      decode is false when the bytes are no such list. It never reads past `end`.
 */
#ifndef SPATE_STATE_PACKED_INTEGERS_H
#define SPATE_STATE_PACKED_INTEGERS_H

#include "base/text.h"

enum { PACKED_MAX = 4096 };

/* count: 1..PACKED_MAX. width: 1, 2, 4 or 8 bytes, from which the values were extended by their sign. */
void packed_integers_encode(const int64_t *values, uint32_t count, uint32_t width, struct text_builder *out);
/* first, first + 1, ...: as many as are asked for. */
void packed_integers_encode_run(uint64_t first, struct text_builder *out);
/* *cursor is moved past the list. */
bool packed_integers_decode(int64_t *values, uint32_t count, uint32_t width, const uint8_t **cursor, const uint8_t *end);

#endif
