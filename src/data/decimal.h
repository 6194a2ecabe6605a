/* data/decimal.h: decimals as scaled integers.
 *
 * For         DECIMAL arithmetic, casts, sums. A value is unscaled * 10^-scale; p <= 18 is kept in int64, wider in int128.
 * Rules       Rounding is half up (away from zero). What does not fit 38 digits is reported, callers turn it into NULL.
 *             Sums accumulate in 256 bits, so that a sum that comes back into range is exact again.
 */
#ifndef SPATE_DATA_DECIMAL_H
#define SPATE_DATA_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/text.h"

int128_t decimal_power_of_ten(int32_t exponent); /* 0..38 */
bool decimal_fits(int128_t unscaled, int32_t precision);
/* To another scale; false: more than 38 digits. */
bool decimal_rescale(int128_t unscaled, int32_t from_scale, int32_t to_scale, int128_t *result);
/* Products and quotients through 256 bits, rounded half up to result_scale; false: does not fit 38 digits. */
bool decimal_multiply(int128_t left, int32_t left_scale, int128_t right, int32_t right_scale, int32_t result_scale, int128_t *result);
bool decimal_divide(int128_t left, int32_t left_scale, int128_t right, int32_t right_scale, int32_t result_scale, int128_t *result);
/* Text with optional sign, fraction and exponent; blanks around are trimmed. false: no number (or no room). */
bool decimal_is_number(struct text text); /* the same grammar, whatever the size */
bool decimal_parse(struct text text, int32_t precision, int32_t scale, int128_t *unscaled);
double decimal_to_double(int128_t unscaled, int32_t scale);

struct int256 {
    uint64_t words[4]; /* two's complement, least significant first */
};
void int256_add(struct int256 *sum, int128_t value);
void int256_add_product(struct int256 *sum, int128_t value, int64_t weight);
void int256_subtract(struct int256 *sum, const struct int256 *value);
bool int256_to_int128(const struct int256 *value, int128_t *result); /* false: does not fit */
/* value * 10^(result_scale - scale) / divisor, half up; false: does not fit 38 digits. */
bool int256_divide(const struct int256 *value, int32_t scale, int64_t divisor, int32_t result_scale, int128_t *result);

#endif
