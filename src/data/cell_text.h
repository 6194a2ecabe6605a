/* data/cell_text.h: a value as text, as CAST(x AS STRING) gives it.
 *
 * For         casts to text, the table output, csv, error messages, tests. One implementation.
 * Rules       see docs of Flink 2.3's casts: BOOLEAN TRUE/FALSE, DOUBLE by Java's rule, TIMESTAMP(p) with exactly p digits,
 *             arrays [a, b], rows (a, b), maps {k=v}; NULL inside nested values is NULL. TIMESTAMP_LTZ in `zone`.
 *             BINARY: x'hex' with CELL_TEXT_HEX (nested or displayed), else the bytes as UTF-8 (bad ones U+FFFD).
 */
#ifndef SPATE_DATA_CELL_TEXT_H
#define SPATE_DATA_CELL_TEXT_H

#include "data/time_zone.h"
#include "data/vector.h"

enum cell_text_flags { CELL_TEXT_HEX = 1 };
/* Appends the text of a row; "NULL" for NULL. */
void cell_text_append(const struct vector *vector, uint32_t row, const struct time_zone *zone, uint32_t flags, struct text_builder *out);
/* The same into a buffer of NUMBER_TEXT_MAX bytes (data/number_text.h), for a non-NULL number, time or interval. */
size_t cell_text_write(const struct vector *vector, uint32_t row, const struct time_zone *zone, char *out);
void binary_append_text(struct text text, struct text_builder *out); /* bytes as UTF-8 */
void double_append_text(double value, struct text_builder *out);     /* Java's Double.toString */
void float_append_text(float value, struct text_builder *out);
void decimal_append_text(int128_t unscaled, int32_t scale, struct text_builder *out);    /* plain, exactly `scale` digits */
void timestamp_append_text(int128_t value, int32_t precision, struct text_builder *out); /* us, ns above precision 6 */
void date_append_text(int32_t days, struct text_builder *out);
void time_append_text(int32_t ms, int32_t precision, struct text_builder *out);

#endif
