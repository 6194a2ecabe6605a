/* RFC 1321 (MD5) and FIPS 180-4 (SHA). One driver cuts the text into blocks and pads the last; a block function per family. The
 * round constants are computed from their definitions at first use: |sin i|, and the fractional bits of roots of primes. */
#include "functions/digest.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "functions/digest_x86.h"

static uint32_t md5_constants[64];
static uint64_t cube_roots[80]; /* first 64 bits of the fractions of the cube roots of the first 80 primes */
static uint32_t sha256_constants[64];
static bool has_sha256;           /* the processor does it */
static uint64_t square_roots[16]; /* likewise of the square roots of the first 16 */
static pthread_once_t constants_once = PTHREAD_ONCE_INIT;

/* The largest 64-bit fraction f with (whole + f/2^64)^power <= prime, by bisection in exact arithmetic of 32-bit limbs. */
static bool power_is_at_most(uint64_t whole, uint64_t fraction, uint32_t power, uint64_t prime)
{
    uint32_t base[3] = {(uint32_t)fraction, (uint32_t)(fraction >> 32), (uint32_t)whole};
    uint32_t product[9] = {base[0], base[1], base[2]};
    for (uint32_t step = 1, used = 3; step < power; step++, used += 3) {
        uint32_t next[9] = {0};
        for (uint32_t i = 0; i < used; i++) {
            uint64_t carry = 0;
            for (uint32_t j = 0; j < 3 && i + j < 9; j++) {
                carry += (uint64_t)product[i] * base[j] + next[i + j];
                next[i + j] = (uint32_t)carry;
                carry >>= 32;
            }
            for (uint32_t k = i + 3; carry != 0 && k < 9; k++) {
                carry += next[k];
                next[k] = (uint32_t)carry;
                carry >>= 32;
            }
        }
        memcpy(product, next, sizeof product);
    }
    /* the fraction has 2 * power limbs; a root of a prime is never whole, so that equality cannot occur */
    return product[2 * power] < prime;
}

static uint64_t root_fraction(uint64_t prime, uint32_t power)
{
    uint64_t whole = 1, fraction = 0;
    while ((power == 2 ? (whole + 1) * (whole + 1) : (whole + 1) * (whole + 1) * (whole + 1)) < prime) {
        whole++;
    }
    for (uint32_t bit = 64; bit-- > 0;) {
        if (power_is_at_most(whole, fraction | UINT64_C(1) << bit, power, prime)) {
            fraction |= UINT64_C(1) << bit;
        }
    }
    return fraction;
}

static bool is_prime(uint64_t number)
{
    for (uint64_t i = 2; i * i <= number; i++) {
        if (number % i == 0) {
            return false;
        }
    }
    return true;
}

static void make_constants(void)
{
    has_sha256 = digest_x86_has_sha256();
    for (uint32_t i = 0; i < 64; i++) {
        md5_constants[i] = (uint32_t)(fabs(sin(i + 1.0)) * 4294967296.0);
    }
    uint32_t count = 0;
    for (uint64_t number = 2; count < 80; number++) {
        if (is_prime(number)) {
            cube_roots[count] = root_fraction(number, 3);
            if (count < 64) {
                sha256_constants[count] = (uint32_t)(cube_roots[count] >> 32);
            }
            if (count < 16) {
                square_roots[count] = root_fraction(number, 2);
            }
            count++;
        }
    }
}

static uint32_t rotate32(uint32_t value, uint32_t bits)
{
    return value << bits | value >> (32 - bits);
}
static uint64_t rotate_right64(uint64_t value, uint32_t bits)
{
    return value >> bits | value << (64 - bits);
}

static void md5_block(union digest_words *state, const uint8_t *block)
{
    static const uint8_t shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = state->narrow[0], b = state->narrow[1], c = state->narrow[2], d = state->narrow[3], words[16];
    memcpy(words, block, 64);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t round = i / 16;
        uint32_t mixed = round == 0 ? (b & c) | (~b & d) : round == 1 ? (d & b) | (~d & c) : round == 2 ? b ^ c ^ d : c ^ (b | ~d);
        uint32_t index = round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i;
        uint32_t next = b + rotate32(a + mixed + md5_constants[i] + words[index % 16], shifts[round][i % 4]);
        a = d;
        d = c;
        c = b;
        b = next;
    }
    state->narrow[0] += a;
    state->narrow[1] += b;
    state->narrow[2] += c;
    state->narrow[3] += d;
}

static uint32_t big_endian32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_bswap32(value);
}

static void sha1_block(union digest_words *state, const uint8_t *block)
{
    static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t *h = state->narrow, a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], words[80];
    for (uint32_t i = 0; i < 80; i++) {
        words[i] = i < 16 ? big_endian32(block + 4 * i) : rotate32(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    for (uint32_t i = 0; i < 80; i++) {
        uint32_t round = i / 20;
        uint32_t mixed = round == 0 ? (b & c) | (~b & d) : round == 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
        uint32_t next = rotate32(a, 5) + mixed + e + constants[round] + words[i];
        e = d;
        d = c;
        c = rotate32(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

static void sha256_block(union digest_words *state, const uint8_t *block)
{
    uint32_t v[8], words[64];
    if (has_sha256) {
        digest_x86_sha256(state->narrow, block, sha256_constants);
        return;
    }
    memcpy(v, state->narrow, sizeof v);
    for (uint32_t i = 0; i < 64; i++) {
        if (i < 16) {
            words[i] = big_endian32(block + 4 * i);
            continue;
        }
        uint32_t x = words[i - 15], y = words[i - 2];
        words[i] =
            words[i - 16] + words[i - 7] + (rotate32(x, 25) ^ rotate32(x, 14) ^ x >> 3) + (rotate32(y, 15) ^ rotate32(y, 13) ^ y >> 10);
    }
    uint32_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t one = h + (rotate32(e, 26) ^ rotate32(e, 21) ^ rotate32(e, 7)) + ((e & f) ^ (~e & g)) + sha256_constants[i] + words[i];
        uint32_t two = (rotate32(a, 30) ^ rotate32(a, 19) ^ rotate32(a, 10)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    const uint32_t after[8] = {a, b, c, d, e, f, g, h};
    for (uint32_t i = 0; i < 8; i++) {
        state->narrow[i] += after[i];
    }
}

static void sha512_block(union digest_words *state, const uint8_t *block)
{
    uint64_t v[8], words[80];
    memcpy(v, state->wide, sizeof v);
    for (uint32_t i = 0; i < 80; i++) {
        if (i < 16) {
            memcpy(&words[i], block + 8 * i, 8);
            words[i] = __builtin_bswap64(words[i]);
            continue;
        }
        uint64_t x = words[i - 15], y = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] + (rotate_right64(x, 1) ^ rotate_right64(x, 8) ^ x >> 7) +
                   (rotate_right64(y, 19) ^ rotate_right64(y, 61) ^ y >> 6);
    }
    for (uint32_t i = 0; i < 80; i++) {
        uint64_t one = v[7] + (rotate_right64(v[4], 14) ^ rotate_right64(v[4], 18) ^ rotate_right64(v[4], 41)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + cube_roots[i] + words[i];
        uint64_t two = (rotate_right64(v[0], 28) ^ rotate_right64(v[0], 34) ^ rotate_right64(v[0], 39)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += one;
        v[0] = one + two;
    }
    for (uint32_t i = 0; i < 8; i++) {
        state->wide[i] += v[i];
    }
}

struct digest_type {
    void (*block)(union digest_words *state, const uint8_t *block);
    uint32_t block_bytes, word_bytes, digest_bytes;
    bool big_endian;
};
static const struct digest_type types[DIGEST_COUNT] = {
    [DIGEST_MD5] = {md5_block, 64, 4, 16, false},       [DIGEST_SHA1] = {sha1_block, 64, 4, 20, true},
    [DIGEST_SHA224] = {sha256_block, 64, 4, 28, true},  [DIGEST_SHA256] = {sha256_block, 64, 4, 32, true},
    [DIGEST_SHA384] = {sha512_block, 128, 8, 48, true}, [DIGEST_SHA512] = {sha512_block, 128, 8, 64, true},
};

static void start_state(enum digest kind, union digest_words *state)
{
    static const uint32_t old[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    for (uint32_t i = 0; i < 8; i++) {
        switch (kind) {
        case DIGEST_MD5:
        case DIGEST_SHA1:
            state->narrow[i] = i < 5 ? old[i] : 0;
            break;
        case DIGEST_SHA224: /* the second 32 bits of the ninth to sixteenth primes' roots */
            state->narrow[i] = (uint32_t)square_roots[8 + i];
            break;
        case DIGEST_SHA256:
            state->narrow[i] = (uint32_t)(square_roots[i] >> 32);
            break;
        case DIGEST_SHA384:
            state->wide[i] = square_roots[8 + i];
            break;
        default:
            state->wide[i] = square_roots[i];
        }
    }
}

void digest_begin(struct digest_state *self, enum digest kind)
{
    pthread_once(&constants_once, make_constants);
    start_state(kind, &self->words);
    self->kind = kind;
    self->length = 0;
}

void digest_update(struct digest_state *self, const void *bytes, size_t length)
{
    const struct digest_type *type = &types[self->kind];
    const uint8_t *in = bytes;
    size_t held = self->length % type->block_bytes;
    self->length += length;
    if (held > 0 && length > 0) {
        size_t taken = type->block_bytes - held < length ? type->block_bytes - held : length;
        memcpy(self->rest + held, in, taken);
        in += taken;
        length -= taken;
        if (held + taken == type->block_bytes) {
            type->block(&self->words, self->rest);
            held = 0;
        } else {
            held += taken;
        }
    }
    for (; length >= type->block_bytes; length -= type->block_bytes, in += type->block_bytes) {
        type->block(&self->words, in);
    }
    if (length > 0) {
        memcpy(self->rest + held, in, length);
    }
}

size_t digest_finish(struct digest_state *self, uint8_t out[DIGEST_BYTES_MAX])
{
    const struct digest_type *type = &types[self->kind];
    uint8_t last[256] = {0};
    size_t rest = self->length % type->block_bytes, length_bytes = type->word_bytes * 2;
    memcpy(last, self->rest, rest);
    last[rest] = 0x80;
    size_t padded = rest + 1 + length_bytes <= type->block_bytes ? type->block_bytes : 2 * type->block_bytes;
    uint64_t bits = self->length * 8, stored = type->big_endian ? __builtin_bswap64(bits) : bits;
    memcpy(last + padded - 8, &stored, 8);
    for (size_t at = 0; at < padded; at += type->block_bytes) {
        type->block(&self->words, last + at);
    }
    for (uint32_t i = 0; i < type->digest_bytes; i++) {
        uint32_t word = i / type->word_bytes, byte = i % type->word_bytes;
        uint32_t shift = 8 * (type->big_endian ? type->word_bytes - 1 - byte : byte);
        out[i] = (uint8_t)(type->word_bytes == 8 ? self->words.wide[word] >> shift : self->words.narrow[word] >> shift);
    }
    return type->digest_bytes;
}

size_t digest_compute(enum digest kind, const void *bytes, size_t length, uint8_t out[DIGEST_BYTES_MAX])
{
    struct digest_state state;
    digest_begin(&state, kind);
    digest_update(&state, bytes, length);
    return digest_finish(&state, out);
}

void digest_text(const uint8_t *digest, size_t bytes, char *text)
{
    for (size_t i = 0; i < bytes; i++) {
        text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    text[2 * bytes] = '\0';
}
