/* formats/value_text.h: values as Flink's json and csv writers spell them, where that differs from CAST.
 *
 * For         the encoders.
 * Rules       Decimals as Java's BigDecimal; fractions of times without zeros at their end.
 */
#ifndef SPATE_FORMATS_VALUE_TEXT_H
#define SPATE_FORMATS_VALUE_TEXT_H

#include "base/text.h"
#include "data/vector.h"

/* Without zeros at the end; with an exponent where BigDecimal.toString() has one, unless `plain`. */
void decimal_append_stripped(int128_t unscaled, int32_t scale, bool plain, struct text_builder *out);
void time_append_stripped(int32_t ms, struct text_builder *out);
/* Us, ns above precision 6; `separator` between date and time; `zoned`: a Z at the end. */
void timestamp_append_stripped(int128_t value, int32_t precision, char separator, bool zoned, struct text_builder *out);
/* A value of a kind that both formats spell alike: BOOLEAN, numbers but DECIMAL, INTERVAL. False: of another kind. */
bool plain_append_value(const struct vector *vector, uint32_t row, struct text_builder *out);

#endif
