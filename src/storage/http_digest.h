/* storage/http_digest.h: digests and encodings that signatures are made of, over OpenSSL; part of the modules azure and s3. */
#ifndef SPATE_STORAGE_HTTP_DIGEST_H
#define SPATE_STORAGE_HTTP_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/http_client.h"

enum { DIGEST_SHA256 = 32, DIGEST_MD5 = 16, BASE64_MAX = 256 };

void digest_sha256(const void *bytes, size_t length, uint8_t digest[DIGEST_SHA256]);
void digest_md5(const void *bytes, size_t length, uint8_t digest[DIGEST_MD5]);
void digest_hmac_sha256(const void *key, size_t key_length, struct text message, uint8_t digest[DIGEST_SHA256]);
void digest_hex(const uint8_t *bytes, size_t length, char *hex); /* 2 * length digits and a NUL */
void base64_encode(const void *bytes, size_t length, char text[BASE64_MAX]);
/* false: it is no base64, or longer than `capacity` bytes. */
bool base64_decode(const char *text, uint8_t *bytes, size_t capacity, size_t *length);

/* The lines "name: value" of headers, sorted by name; at most `capacity`. */
struct header_line {
    struct text name, value;
};
size_t header_lines_sorted(const struct text_builder *headers, struct header_line *lines, size_t capacity);

#endif
