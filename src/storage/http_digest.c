#include "storage/http_digest.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void digest_sha256(const void *bytes, size_t length, uint8_t digest[DIGEST_SHA256])
{
    int done = EVP_Digest(bytes, length, digest, NULL, EVP_sha256(), NULL);
    assert(done == 1); /* fails only where the algorithm is missing */
}

void digest_md5(const void *bytes, size_t length, uint8_t digest[DIGEST_MD5])
{
    int done = EVP_Digest(bytes, length, digest, NULL, EVP_md5(), NULL);
    assert(done == 1);
}

void digest_hmac_sha256(const void *key, size_t key_length, struct text message, uint8_t digest[DIGEST_SHA256])
{
    const void *done = HMAC(EVP_sha256(), key, (int)key_length, (const uint8_t *)message.bytes, message.length, digest, NULL);
    assert(done != NULL);
}

void digest_hex(const uint8_t *bytes, size_t length, char *hex)
{
    for (size_t i = 0; i < length; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
}

void base64_encode(const void *bytes, size_t length, char text[BASE64_MAX])
{
    assert((length + 2) / 3 * 4 < BASE64_MAX);
    EVP_EncodeBlock((uint8_t *)text, bytes, (int)length);
}

bool base64_decode(const char *text, uint8_t *bytes, size_t capacity, size_t *length)
{
    size_t count = strlen(text), padding = 0;
    while (padding < 2 && padding < count && text[count - 1 - padding] == '=') {
        padding++;
    }
    if (count == 0 || count % 4 != 0 || count / 4 * 3 > capacity || EVP_DecodeBlock(bytes, (const uint8_t *)text, (int)count) < 0) {
        return false;
    }
    *length = count / 4 * 3 - padding; /* EVP_DecodeBlock counts the padding as bytes */
    return true;
}

static int compare_lines(const void *left, const void *right)
{
    const struct header_line *a = left, *b = right;
    return text_compare(a->name, b->name);
}

size_t header_lines_sorted(const struct text_builder *headers, struct header_line *lines, size_t capacity)
{
    size_t count = 0;
    for (const char *line = headers->bytes; line != NULL && *line != '\0' && count < capacity; line = strchr(line, '\n') + 1) {
        size_t name = strcspn(line, ":"), blank = strspn(line + name + 1, " ");
        const char *value = line + name + 1 + blank;
        lines[count++] = (struct header_line){{line, name}, {value, strcspn(value, "\n")}};
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    return count;
}
