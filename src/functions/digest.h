/* functions/digest.h: MD5, SHA-1 and the SHA-2 family, of whole texts.
 *
 * For         the functions of the same names. They name and compare content; nothing secret depends on them.
 */
#ifndef SPATE_FUNCTIONS_DIGEST_H
#define SPATE_FUNCTIONS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES_MAX = 64 };
enum digest { DIGEST_MD5, DIGEST_SHA1, DIGEST_SHA224, DIGEST_SHA256, DIGEST_SHA384, DIGEST_SHA512, DIGEST_COUNT };
/* Writes the digest; returns its bytes. */
size_t digest_compute(enum digest kind, const void *bytes, size_t length, uint8_t out[DIGEST_BYTES_MAX]);

#endif
