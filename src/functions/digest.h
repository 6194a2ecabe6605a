/* functions/digest.h: MD5, SHA-1 and the SHA-2 family, of whole texts or of parts as they come.
 *
 * For         the functions of the same names, names of stored content. They name and compare; nothing secret depends on them.
 * Shape       digest_begin, digest_update for each part, digest_finish; digest_compute does it for one text.
 */
#ifndef SPATE_FUNCTIONS_DIGEST_H
#define SPATE_FUNCTIONS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES_MAX = 64 };
enum digest { DIGEST_MD5, DIGEST_SHA1, DIGEST_SHA224, DIGEST_SHA256, DIGEST_SHA384, DIGEST_SHA512, DIGEST_COUNT };

union digest_words {
    uint32_t narrow[8];
    uint64_t wide[8];
};
struct digest_state {
    enum digest kind;
    union digest_words words;
    uint64_t length;   /* bytes taken so far */
    uint8_t rest[128]; /* the last length % block of them */
};
void digest_begin(struct digest_state *state, enum digest kind);
void digest_update(struct digest_state *state, const void *bytes, size_t length);
size_t digest_finish(struct digest_state *state, uint8_t out[DIGEST_BYTES_MAX]);

/* Writes the digest; returns its bytes. */
size_t digest_compute(enum digest kind, const void *bytes, size_t length, uint8_t out[DIGEST_BYTES_MAX]);
/* As hexadecimal digits in lower case and a NUL. */
void digest_text(const uint8_t *digest, size_t bytes, char *text);

#endif
