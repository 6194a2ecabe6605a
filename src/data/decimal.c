/* data/decimal.c: decimals as scaled integers; what needs more than 128 bits goes through 256-bit magnitudes.
 *
 * A magnitude is four 64-bit words. Products are exact; quotients are taken by words when the divisor has one word, and bit by
 * bit otherwise (divisors of more than 19 digits are rare). */
#include "data/decimal.h"

#include <assert.h>
#include <string.h>

#include "data/number_text.h"

enum { DIGITS_MAX = 38, WORDS = 4 };

struct magnitude {
    uint64_t words[WORDS]; /* least significant first */
};

int128_t decimal_power_of_ten(int32_t exponent)
{
    static const int64_t small[19] = {1,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000};
    assert(exponent >= 0 && exponent <= DIGITS_MAX);
    if (exponent <= 18) {
        return small[exponent];
    }
    int128_t high = (int128_t)small[18];
    return exponent <= 36 ? high * small[exponent - 18] : high * small[18] * small[exponent - 36];
}

static uint128_t absolute(int128_t value)
{
    return value < 0 ? -(uint128_t)value : (uint128_t)value;
}

static bool fits_digits(uint128_t magnitude)
{
    return magnitude < (uint128_t)decimal_power_of_ten(DIGITS_MAX);
}

bool decimal_fits(int128_t unscaled, int32_t precision)
{
    return absolute(unscaled) < (uint128_t)decimal_power_of_ten(precision);
}

/* Gives a magnitude its sign back; false: more than 38 digits. */
static bool put_signed(uint128_t magnitude, bool negative, int128_t *result)
{
    if (!fits_digits(magnitude)) {
        return false;
    }
    *result = negative ? -(int128_t)magnitude : (int128_t)magnitude;
    return true;
}

static uint128_t divide_half_up(uint128_t value, uint128_t divisor)
{
    uint128_t quotient = value / divisor;
    uint128_t rest = value % divisor;
    return quotient + (rest >= divisor - rest);
}

bool decimal_rescale(int128_t unscaled, int32_t from_scale, int32_t to_scale, int128_t *result)
{
    uint128_t magnitude = absolute(unscaled);
    int32_t shift = to_scale - from_scale;
    if (shift < 0) {
        magnitude = shift < -DIGITS_MAX ? 0 : divide_half_up(magnitude, (uint128_t)decimal_power_of_ten(-shift));
    } else if (magnitude != 0) {
        if (shift > DIGITS_MAX || __builtin_mul_overflow(magnitude, (uint128_t)decimal_power_of_ten(shift), &magnitude)) {
            return false;
        }
    }
    return put_signed(magnitude, unscaled < 0, result);
}

static struct magnitude magnitude_make(uint128_t value)
{
    return (struct magnitude){{(uint64_t)value, (uint64_t)(value >> 64), 0, 0}};
}

static bool magnitude_is_narrow(const struct magnitude *value)
{
    return value->words[2] == 0 && value->words[3] == 0;
}

static uint128_t magnitude_low(const struct magnitude *value)
{
    return ((uint128_t)value->words[1] << 64) | value->words[0];
}

/* value *= factor; false: more than 256 bits. */
static bool magnitude_multiply(struct magnitude *value, uint128_t factor)
{
    uint64_t factors[2] = {(uint64_t)factor, (uint64_t)(factor >> 64)};
    uint64_t product[WORDS + 2] = {0};
    for (int i = 0; i < 2; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < WORDS; j++) {
            uint128_t step = (uint128_t)value->words[j] * factors[i] + product[i + j] + carry;
            product[i + j] = (uint64_t)step;
            carry = (uint64_t)(step >> 64);
        }
        product[i + WORDS] = carry;
    }
    memcpy(value->words, product, sizeof value->words);
    return product[WORDS] == 0 && product[WORDS + 1] == 0;
}

static bool magnitude_scale(struct magnitude *value, int32_t exponent)
{
    while (exponent > DIGITS_MAX) {
        if (!magnitude_multiply(value, (uint128_t)decimal_power_of_ten(DIGITS_MAX))) {
            return false;
        }
        exponent -= DIGITS_MAX;
    }
    return magnitude_multiply(value, (uint128_t)decimal_power_of_ten(exponent));
}

static uint64_t divide_by_word(struct magnitude *value, uint64_t divisor)
{
    uint128_t rest = 0;
    for (int i = WORDS - 1; i >= 0; i--) {
        rest = (rest << 64) | value->words[i];
        value->words[i] = (uint64_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint64_t)rest;
}

/* value /= divisor, truncated; returns the rest. */
static uint128_t magnitude_divide(struct magnitude *value, uint128_t divisor)
{
    if (magnitude_is_narrow(value)) {
        uint128_t low = magnitude_low(value);
        *value = magnitude_make(low / divisor);
        return low % divisor;
    }
    if (divisor >> 64 == 0) {
        return divide_by_word(value, (uint64_t)divisor);
    }
    uint128_t rest = 0;
    struct magnitude quotient = {{0}};
    for (int bit = 64 * WORDS - 1; bit >= 0; bit--) {
        bool carry = (rest >> 127) != 0;
        rest = (rest << 1) | ((value->words[bit / 64] >> (bit % 64)) & 1);
        if (carry || rest >= divisor) {
            rest -= divisor;
            quotient.words[bit / 64] |= UINT64_C(1) << (bit % 64);
        }
    }
    *value = quotient;
    return rest;
}

/* The quotient rounded half up; false: more than 38 digits. */
static bool magnitude_round(struct magnitude *value, uint128_t divisor, bool negative, int128_t *result)
{
    uint128_t rest = magnitude_divide(value, divisor);
    if (!magnitude_is_narrow(value)) {
        return false;
    }
    uint128_t quotient = magnitude_low(value);
    return fits_digits(quotient) && put_signed(quotient + (rest >= divisor - rest), negative, result);
}

bool decimal_multiply(int128_t left, int32_t left_scale, int128_t right, int32_t right_scale, int32_t result_scale, int128_t *result)
{
    int32_t shift = result_scale - left_scale - right_scale;
    int128_t product;
    if (shift == 0 && !__builtin_mul_overflow(left, right, &product)) {
        *result = product;
        return fits_digits(absolute(product));
    }
    struct magnitude value = magnitude_make(absolute(left));
    bool negative = (left < 0) != (right < 0);
    magnitude_multiply(&value, absolute(right));
    if (shift >= 0) {
        return magnitude_scale(&value, shift) && magnitude_round(&value, 1, negative, result);
    }
    if (shift < -DIGITS_MAX) { /* half up looks at the first digit that is dropped alone, so the last ones may go before */
        magnitude_divide(&value, (uint128_t)decimal_power_of_ten(-shift - DIGITS_MAX));
        shift = -DIGITS_MAX;
    }
    return magnitude_round(&value, (uint128_t)decimal_power_of_ten(-shift), negative, result);
}

bool decimal_divide(int128_t left, int32_t left_scale, int128_t right, int32_t right_scale, int32_t result_scale, int128_t *result)
{
    int32_t shift = result_scale - left_scale + right_scale;
    struct magnitude value = magnitude_make(absolute(left));
    uint128_t divisor = absolute(right);
    bool negative = (left < 0) != (right < 0);
    if (shift >= 0) {
        if (left != 0 && !magnitude_scale(&value, shift)) {
            return false;
        }
        return magnitude_round(&value, divisor, negative, result);
    }
    /* The divisor grows instead; if it leaves 128 bits the quotient is far below one half. */
    if (__builtin_mul_overflow(divisor, (uint128_t)decimal_power_of_ten(-shift), &divisor)) {
        *result = 0;
        return true;
    }
    return magnitude_round(&value, divisor, negative, result);
}

/* The parts of a number's text: digits without leading zeros, and where the point stands among them. */
struct decimal_digits {
    const char *bytes; /* digits and at most one point */
    size_t length;
    int64_t integer_digits; /* value = 0.DIGITS * 10^integer_digits; meaningful when there is a digit other than 0 */
    bool negative;
};

static bool is_space(char byte)
{
    return (unsigned char)byte <= ' ';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static struct text trim(struct text text)
{
    while (text.length > 0 && is_space(text.bytes[0])) {
        text.bytes++;
        text.length--;
    }
    while (text.length > 0 && is_space(text.bytes[text.length - 1])) {
        text.length--;
    }
    return text;
}

/* An exponent after its 'e', clamped far outside every scale. */
static bool read_exponent(const char *bytes, size_t length, int64_t *exponent)
{
    size_t at = 0;
    bool negative = length > 0 && bytes[0] == '-';
    if (length > 0 && (bytes[0] == '-' || bytes[0] == '+')) {
        at++;
    }
    if (at == length) {
        return false;
    }
    int64_t value = 0;
    for (; at < length; at++) {
        if (!is_digit(bytes[at])) {
            return false;
        }
        if (value < 1000000000) {
            value = value * 10 + (bytes[at] - '0');
        }
    }
    *exponent = negative ? -value : value;
    return true;
}

static bool read_digits(struct text text, struct decimal_digits *digits)
{
    text = trim(text);
    *digits = (struct decimal_digits){.bytes = text.bytes};
    size_t at = 0;
    if (text.length > 0 && (text.bytes[0] == '-' || text.bytes[0] == '+')) {
        digits->negative = text.bytes[0] == '-';
        at = 1;
    }
    size_t start = at, digit_count = 0, point = SIZE_MAX, first = SIZE_MAX;
    for (; at < text.length; at++) {
        if (text.bytes[at] == '.' && point == SIZE_MAX) {
            point = at;
        } else if (is_digit(text.bytes[at])) {
            digit_count++;
            first = first == SIZE_MAX && text.bytes[at] != '0' ? at : first;
        } else {
            break;
        }
    }
    int64_t exponent = 0;
    if (digit_count == 0) {
        return false;
    }
    if (at < text.length && ((text.bytes[at] | 0x20) != 'e' || !read_exponent(text.bytes + at + 1, text.length - at - 1, &exponent))) {
        return false;
    }
    size_t end_of_integer = point == SIZE_MAX ? at : point;
    first = first == SIZE_MAX ? start : first;
    digits->bytes = text.bytes + first;
    digits->length = at - first;
    /* A first digit behind the point counts the zeros between: they are not digits, the point is not one either. */
    digits->integer_digits = (int64_t)end_of_integer - (int64_t)first + (first > end_of_integer) + exponent;
    return true;
}

bool decimal_is_number(struct text text)
{
    struct decimal_digits digits;
    return read_digits(text, &digits);
}

bool decimal_parse(struct text text, int32_t precision, int32_t scale, int128_t *unscaled)
{
    struct decimal_digits digits;
    if (!read_digits(text, &digits)) {
        return false;
    }
    uint128_t value = 0;
    bool up = false;
    int64_t wanted = digits.integer_digits + scale;
    for (size_t at = 0; at < digits.length && wanted >= 0; at++) {
        if (digits.bytes[at] == '.') {
            continue;
        }
        uint32_t digit = (uint32_t)(digits.bytes[at] - '0');
        if (wanted-- == 0) {
            up = digit >= 5;
            break;
        }
        if (value >= (uint128_t)decimal_power_of_ten(DIGITS_MAX - 1)) {
            return false;
        }
        value = value * 10 + digit;
    }
    value += up;
    if (wanted > 0 && value != 0) {
        if (wanted > DIGITS_MAX || __builtin_mul_overflow(value, (uint128_t)decimal_power_of_ten((int32_t)wanted), &value)) {
            return false;
        }
    }
    return put_signed(value, digits.negative, unscaled) && decimal_fits(*unscaled, precision);
}

double decimal_to_double(int128_t unscaled, int32_t scale)
{
    static const double powers[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int64_t exact = INT64_C(1) << 53;
    if (scale == 0) {
        return (double)unscaled;
    }
    if (scale <= 22 && unscaled >= -exact && unscaled <= exact) {
        return (double)unscaled / powers[scale]; /* both exact: rounded once */
    }
    char text[NUMBER_TEXT_MAX + 1];
    size_t length = decimal_write_text(unscaled, scale, text);
    double value = 0;
    number_text_to_double((struct text){text, length}, &value);
    return value;
}

static void words_add(uint64_t *sum, const uint64_t *value)
{
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        uint128_t step = (uint128_t)sum[i] + value[i] + carry;
        sum[i] = (uint64_t)step;
        carry = (uint64_t)(step >> 64);
    }
}

static void words_negate(uint64_t *words)
{
    uint64_t one[WORDS] = {1};
    for (int i = 0; i < WORDS; i++) {
        words[i] = ~words[i];
    }
    words_add(words, one);
}

void int256_add(struct int256 *sum, int128_t value)
{
    uint64_t sign = value < 0 ? UINT64_MAX : 0;
    uint64_t words[WORDS] = {(uint64_t)value, (uint64_t)((uint128_t)value >> 64), sign, sign};
    words_add(sum->words, words);
}

void int256_add_product(struct int256 *sum, int128_t value, int64_t weight)
{
    int128_t narrow;
    if (!__builtin_mul_overflow(value, (int128_t)weight, &narrow)) {
        int256_add(sum, narrow);
        return;
    }
    struct magnitude product = magnitude_make(absolute(value));
    magnitude_multiply(&product, absolute(weight));
    if ((value < 0) != (weight < 0)) {
        words_negate(product.words);
    }
    words_add(sum->words, product.words);
}

void int256_subtract(struct int256 *sum, const struct int256 *value)
{
    struct int256 negated = *value;
    words_negate(negated.words);
    words_add(sum->words, negated.words);
}

bool int256_to_int128(const struct int256 *value, int128_t *result)
{
    uint64_t sign = (int64_t)value->words[1] < 0 ? UINT64_MAX : 0;
    *result = (int128_t)(((uint128_t)value->words[1] << 64) | value->words[0]);
    return value->words[2] == sign && value->words[3] == sign;
}

/* Divides by 10^digits and then by divisor, rounding the exact quotient half up. */
static bool divide_in_steps(struct magnitude *value, int32_t digits, uint128_t divisor, bool negative, int128_t *result)
{
    uint128_t power = (uint128_t)decimal_power_of_ten(digits);
    uint128_t first_rest = magnitude_divide(value, power);
    uint128_t rest = magnitude_divide(value, divisor);
    uint128_t missing = divisor - rest; /* up when rest + first_rest / power >= divisor / 2 */
    bool up = rest >= missing || (missing - rest == 1 && first_rest >= power - first_rest);
    uint128_t quotient = magnitude_low(value);
    return magnitude_is_narrow(value) && fits_digits(quotient) && put_signed(quotient + up, negative, result);
}

bool int256_divide(const struct int256 *value, int32_t scale, int64_t divisor, int32_t result_scale, int128_t *result)
{
    struct magnitude magnitude;
    memcpy(magnitude.words, value->words, sizeof magnitude.words);
    bool negative = (int64_t)magnitude.words[WORDS - 1] < 0;
    if (negative) {
        words_negate(magnitude.words);
    }
    negative = negative != (divisor < 0);
    uint128_t positive = absolute(divisor);
    if (result_scale < scale) {
        return divide_in_steps(&magnitude, scale - result_scale, positive, negative, result);
    }
    return magnitude_scale(&magnitude, result_scale - scale) && magnitude_round(&magnitude, positive, negative, result);
}
