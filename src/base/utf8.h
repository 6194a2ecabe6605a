/* base/utf8.h: UTF-8 text by code point.
 *
 * For         validation at every border, and character counts inside.
 * Invariants  Text inside Spate is valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF); the functions
 *             that do not validate rely on it.
 */
#ifndef SPATE_BASE_UTF8_H
#define SPATE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of leading bytes that are valid; equal to `length` when all are. */
size_t utf8_valid_length(const char *bytes, size_t length);
size_t utf8_count(const char *bytes, size_t length); /* code points */
/* Bytes of the first `characters` code points. */
size_t utf8_prefix(const char *bytes, size_t length, size_t characters);
size_t utf8_decode(const char *bytes, size_t length, uint32_t *code_point); /* bytes used, 0 if invalid */
size_t utf8_encode(uint32_t code_point, char out[4]);                       /* bytes written, 0 if no code point */

#endif
