/* Base64, hexadecimal, URLs, character sets, digests, UUID. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/utf8.h"
#include "data/cell_text.h"
#include "functions/digest.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

/* Appends what the argument is coded as; false: it cannot be, the row is NULL. */
typedef bool code_text(struct text text, struct text_builder *out);

static void run_code(struct kernel_call *call)
{
    code_text *const *code = call->data;
    EACH_ROW(call, row)
    {
        struct text_builder *out = text_scratch(call);
        if (out == NULL) {
            return;
        }
        if (!(*code)(text_arg(call, 0, row), out)) {
            kernel_set_null(call, row);
        } else if (!text_put_scratch(call, row, out)) {
            return;
        }
    }
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool to_base64(struct text text, struct text_builder *out)
{
    for (size_t i = 0; i < text.length; i += 3) {
        size_t left = text.length - i;
        uint32_t group = (uint32_t)(uint8_t)text.bytes[i] << 16;
        group |= left > 1 ? (uint32_t)(uint8_t)text.bytes[i + 1] << 8 : 0;
        group |= left > 2 ? (uint8_t)text.bytes[i + 2] : 0;
        text_append_char(out, base64_digits[group >> 18]);
        text_append_char(out, base64_digits[group >> 12 & 63]);
        text_append_char(out, left > 1 ? base64_digits[group >> 6 & 63] : '=');
        text_append_char(out, left > 2 ? base64_digits[group & 63] : '=');
    }
    return true;
}

static bool base64_bytes(struct text text, struct text_builder *out)
{
    uint32_t group = 0, bits = 0;
    while (text.length > 0 && text.bytes[text.length - 1] == '=') {
        text.length--;
    }
    for (size_t i = 0; i < text.length; i++) {
        const char *digit = text.bytes[i] == '\0' ? NULL : strchr(base64_digits, text.bytes[i]);
        if (digit == NULL) {
            return false;
        }
        group = group << 6 | (uint32_t)(digit - base64_digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            text_append_char(out, (char)(group >> bits));
        }
    }
    return bits != 6;
}

/* The bytes are read as UTF-8; bad ones become U+FFFD. */
static bool from_base64(struct text text, struct text_builder *out)
{
    struct text_builder bytes = {0};
    bool fine = base64_bytes(text, &bytes);
    if (fine && bytes.length > 0) {
        binary_append_text((struct text){bytes.bytes, bytes.length}, out);
    }
    out->failed |= bytes.failed;
    text_builder_close(&bytes);
    return fine;
}

static bool hex(struct text text, struct text_builder *out)
{
    for (size_t i = 0; i < text.length; i++) {
        text_append_format(out, "%02X", (uint8_t)text.bytes[i]);
    }
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* An odd first digit stands for itself. */
static bool unhex(struct text text, struct text_builder *out)
{
    for (size_t i = 0; i < text.length;) {
        bool single = i == 0 && text.length % 2 != 0;
        int high = single ? 0 : hex_digit(text.bytes[i]), low = hex_digit(text.bytes[i + !single]);
        if (high < 0 || low < 0) {
            return false;
        }
        text_append_char(out, (char)(high << 4 | low));
        i += single ? 1 : 2;
    }
    return true;
}

static bool url_encode(struct text text, struct text_builder *out)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' || c == '.' || c == '*';
        if (plain) {
            text_append_char(out, c);
        } else if (c == ' ') {
            text_append_char(out, '+');
        } else {
            text_append_format(out, "%%%02X", (uint8_t)c);
        }
    }
    return true;
}

static bool url_decode(struct text text, struct text_builder *out)
{
    struct text_builder bytes = {0};
    bool fine = true;
    for (size_t i = 0; i < text.length && fine; i++) {
        char c = text.bytes[i];
        if (c == '%') {
            int high = i + 2 < text.length ? hex_digit(text.bytes[i + 1]) : -1,
                low = i + 2 < text.length ? hex_digit(text.bytes[i + 2]) : -1;
            fine = high >= 0 && low >= 0;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        text_append_char(&bytes, c);
    }
    if (fine && bytes.length > 0) {
        binary_append_text((struct text){bytes.bytes, bytes.length}, out);
    }
    out->failed |= bytes.failed;
    text_builder_close(&bytes);
    return fine;
}

struct code_entry {
    const char *name;
    code_text *code;
    const char *kinds;
    const struct type *result;
    bool nullable;
};
static const struct code_entry entries[] = {
    {"TO_BASE64", to_base64, "b", &type_string, false},
    {"FROM_BASE64", from_base64, "b", &type_string, false},
    {"HEX", hex, "b", &type_string, false},
    {"UNHEX", unhex, "t", &type_bytes, true},
    {"URL_ENCODE", url_encode, "t", &type_string, true},
    {"URL_DECODE", url_decode, "t", &type_string, true},
};

static enum status bind_code(struct function_binding *binding, struct error *err)
{
    const struct code_entry *entry = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(entries) && entry == NULL; i++) {
        entry = text_equal(text_from(entries[i].name), text_from(binding->function->name)) ? &entries[i] : NULL;
    }
    TRY(text_bind(binding, entry->kinds, entry->result, run_code, FUNCTION_NULLABLE, err));
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, entry->result, entry->nullable || function_any_nullable(binding)), err);
    binding->kernel.data = &entry->code;
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}

/* ---- numbers ---- */

static void run_number_base(struct kernel_call *call, uint32_t bits)
{
    EACH_ROW(call, row)
    {
        uint64_t value = (uint64_t)integer_arg(call, 0, row);
        char digits[64];
        uint32_t at = sizeof digits;
        do {
            digits[--at] = "0123456789ABCDEF"[value & ((1u << bits) - 1)];
            value >>= bits;
        } while (value != 0);
        if (!text_put(call, row, digits + at, sizeof digits - at)) {
            return;
        }
    }
}
static void run_bin(struct kernel_call *call)
{
    run_number_base(call, 1);
}
static void run_hex_number(struct kernel_call *call)
{
    run_number_base(call, 4);
}
static enum status bind_bin(struct function_binding *binding, struct error *err)
{
    return text_bind(binding, "i", &type_string, run_bin, 0, err);
}
static enum status bind_hex(struct function_binding *binding, struct error *err)
{
    bool number = type_is_integer(binding->args[0]->type);
    return number ? text_bind(binding, "i", &type_string, run_hex_number, 0, err) : bind_code(binding, err);
}

/* ---- character sets ---- */

enum charset { CHARSET_UTF8, CHARSET_LATIN1, CHARSET_ASCII, CHARSET_UTF16, CHARSET_UTF16BE, CHARSET_UTF16LE, CHARSET_NONE };
static const char *const charset_names[] = {"UTF-8", "ISO-8859-1", "US-ASCII", "UTF-16", "UTF-16BE", "UTF-16LE"};

static enum charset charset_find(struct text name)
{
    enum charset charset = CHARSET_UTF8;
    while (charset < CHARSET_NONE && !text_equal_ignoring_case(name, text_from(charset_names[charset]))) {
        charset++;
    }
    return charset;
}

static void append_unit(struct text_builder *out, uint32_t unit, bool little)
{
    text_append_char(out, (char)(little ? unit : unit >> 8));
    text_append_char(out, (char)(little ? unit >> 8 : unit));
}

static void encode_text(struct text text, enum charset charset, struct text_builder *out)
{
    bool little = charset == CHARSET_UTF16LE;
    if (charset == CHARSET_UTF16 && text.length > 0) {
        append_unit(out, 0xfeff, false);
    }
    for (size_t at = 0; at < text.length;) {
        uint32_t code_point;
        at += utf8_decode(text.bytes + at, text.length - at, &code_point);
        if (charset == CHARSET_LATIN1 || charset == CHARSET_ASCII) {
            text_append_char(out, (char)(code_point < (charset == CHARSET_ASCII ? 128u : 256u) ? code_point : '?'));
        } else if (code_point >= 0x10000) {
            append_unit(out, 0xd800 + ((code_point - 0x10000) >> 10), little);
            append_unit(out, 0xdc00 + ((code_point - 0x10000) & 0x3ff), little);
        } else {
            append_unit(out, code_point, little);
        }
    }
}

static void append_code_point(struct text_builder *out, uint32_t code_point)
{
    char bytes[4];
    size_t used = utf8_encode(code_point, bytes);
    text_append(out, used == 0 ? "\xef\xbf\xbd" : bytes, used == 0 ? 3 : used);
}

static void decode_units(struct text text, bool little, struct text_builder *out)
{
    for (size_t at = 0; at < text.length; at += 2) {
        const uint8_t *b = (const uint8_t *)text.bytes + at;
        uint32_t unit = at + 1 >= text.length ? 0xfffd : little ? (uint32_t)b[1] << 8 | b[0] : (uint32_t)b[0] << 8 | b[1];
        if (unit >= 0xd800 && unit < 0xdc00 && at + 3 < text.length) {
            uint32_t low = little ? (uint32_t)b[3] << 8 | b[2] : (uint32_t)b[2] << 8 | b[3];
            if (low >= 0xdc00 && low < 0xe000) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                at += 2;
            }
        }
        append_code_point(out, unit);
    }
}

static void decode_text(struct text text, enum charset charset, struct text_builder *out)
{
    bool little = charset == CHARSET_UTF16LE;
    if (charset == CHARSET_UTF8) {
        binary_append_text(text, out);
        return;
    }
    if (charset == CHARSET_LATIN1 || charset == CHARSET_ASCII) {
        for (size_t i = 0; i < text.length; i++) {
            uint8_t byte = (uint8_t)text.bytes[i];
            append_code_point(out, charset == CHARSET_ASCII && byte >= 128 ? 0xfffd : byte);
        }
        return;
    }
    if (charset == CHARSET_UTF16 && text.length >= 2) {
        uint8_t first = (uint8_t)text.bytes[0], second = (uint8_t)text.bytes[1];
        little = first == 0xff && second == 0xfe;
        if (little || (first == 0xfe && second == 0xff)) {
            text.bytes += 2;
            text.length -= 2;
        }
    }
    decode_units(text, little, out);
}

static void run_charset(struct kernel_call *call, bool encode)
{
    EACH_ROW(call, row)
    {
        struct text text = text_arg(call, 0, row), name = text_arg(call, 1, row);
        enum charset charset = charset_find(name);
        struct text_builder *out = text_scratch(call);
        if (out == NULL) {
            return;
        }
        if (charset == CHARSET_NONE) {
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT,
                        "'%.*s' is no character set: use UTF-8, UTF-16, UTF-16BE, UTF-16LE, ISO-8859-1 or US-ASCII", (int)name.length,
                        name.bytes);
            continue;
        }
        if (encode && charset == CHARSET_UTF8) {
            text_append(out, text.bytes, text.length);
        } else if (encode) {
            encode_text(text, charset, out);
        } else {
            decode_text(text, charset, out);
        }
        if (!text_put_scratch(call, row, out)) {
            return;
        }
    }
}
static void run_encode(struct kernel_call *call)
{
    run_charset(call, true);
}
static void run_decode(struct kernel_call *call)
{
    run_charset(call, false);
}
static enum status bind_encode(struct function_binding *binding, struct error *err)
{
    TRY(text_bind(binding, "t", &type_bytes, run_encode, FUNCTION_CAN_FAIL, err));
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}
static enum status bind_decode(struct function_binding *binding, struct error *err)
{
    TRY(text_bind(binding, "yt", &type_string, run_decode, FUNCTION_CAN_FAIL, err));
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}

/* ---- digests ---- */

static bool put_digest(struct kernel_call *call, uint32_t row, enum digest kind)
{
    uint8_t digest[DIGEST_BYTES_MAX];
    char digits[2 * DIGEST_BYTES_MAX];
    struct text text = text_arg(call, 0, row);
    size_t length = digest_compute(kind, text.bytes, text.length, digest);
    for (size_t i = 0; i < length; i++) {
        digits[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        digits[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    return text_put(call, row, digits, 2 * length);
}

static const struct {
    const char *name;
    enum digest kind;
    int32_t length;
} digests[] = {{"MD5", DIGEST_MD5, 32},       {"SHA1", DIGEST_SHA1, 40},     {"SHA224", DIGEST_SHA224, 56},
               {"SHA256", DIGEST_SHA256, 64}, {"SHA384", DIGEST_SHA384, 96}, {"SHA512", DIGEST_SHA512, 128}};

static void run_digest(struct kernel_call *call)
{
    enum digest kind = *(const enum digest *)call->data;
    EACH_ROW(call, row)
    {
        if (!put_digest(call, row, kind)) {
            return;
        }
    }
}

static enum status bind_digest(struct function_binding *binding, struct error *err)
{
    const struct type *type;
    size_t i = 0;
    while (!text_equal(text_from(digests[i].name), text_from(binding->function->name))) {
        i++;
    }
    TRY_ALLOC(type, type_make(binding->arena, TYPE_CHAR, digests[i].length, 0, true), err);
    TRY(text_bind(binding, "b", type, run_digest, 0, err));
    binding->kernel.data = &digests[i].kind;
    return STATUS_OK;
}

static bool sha2_kind(int64_t bits, enum digest *kind)
{
    for (size_t i = 2; i < ARRAY_LENGTH(digests); i++) {
        if (digests[i].length * 4 == bits) {
            *kind = digests[i].kind;
            return true;
        }
    }
    return false;
}

static void run_sha2(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        enum digest kind;
        if (!sha2_kind(integer_arg(call, 1, row), &kind)) {
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "SHA2 gives 224, 256, 384 or 512 bits, not %lld",
                        (long long)integer_arg(call, 1, row));
        } else if (!put_digest(call, row, kind)) {
            return;
        }
    }
}

static enum status bind_sha2(struct function_binding *binding, struct error *err)
{
    const struct type *type;
    TRY_ALLOC(type, type_varchar(binding->arena, 128, true), err);
    return text_bind(binding, "bi", type, run_sha2, FUNCTION_CAN_FAIL, err);
}

/* ---- UUID: version 4 ---- */

static void run_uuid(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        uint8_t bytes[16];
        char text[36];
        if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
            kernel_fail(call, row, ERROR_INTERNAL, "the system gives no random bytes");
            continue;
        }
        bytes[6] = (bytes[6] & 15) | 0x40;
        bytes[8] = (bytes[8] & 63) | 0x80;
        for (uint32_t i = 0, at = 0; i < 16; i++) {
            if (i == 4 || i == 6 || i == 8 || i == 10) {
                text[at++] = '-';
            }
            text[at++] = "0123456789abcdef"[bytes[i] >> 4];
            text[at++] = "0123456789abcdef"[bytes[i] & 15];
        }
        if (!text_put(call, row, text, sizeof text)) {
            return;
        }
    }
}

static enum status bind_uuid(struct function_binding *binding, struct error *err)
{
    TRY_ALLOC(binding->result, type_make(binding->arena, TYPE_CHAR, 36, 0, false), err);
    binding->kernel = (struct kernel){.run = run_uuid, .traits = FUNCTION_STRICT | FUNCTION_VOLATILE | FUNCTION_CHANCE | FUNCTION_CAN_FAIL};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"TO_BASE64", "codec", "TO_BASE64(value)", "The bytes of a text or binary value in Base64.", "TO_BASE64('a') = 'YQ=='", 1, 1,
     bind_code},
    {"FROM_BASE64", "codec", "FROM_BASE64(string)", "The text whose UTF-8 bytes are given in Base64; NULL when it is none.",
     "FROM_BASE64('YQ==') = 'a'", 1, 1, bind_code},
    {"HEX", "codec", "HEX(integer)\nHEX(value)", "A number or the bytes of a text in hexadecimal digits.", "HEX(255) = 'FF'", 1, 1,
     bind_hex},
    {"UNHEX", "codec", "UNHEX(string)", "The bytes of hexadecimal digits; NULL when there are other characters.", "UNHEX('0f') = X'0F'", 1,
     1, bind_code},
    {"BIN", "codec", "BIN(integer)", "A number in binary digits; a negative one as 64-bit two's complement.", "BIN(4) = '100'", 1, 1,
     bind_bin},
    {"URL_ENCODE", "codec", "URL_ENCODE(string)", "The text as a part of a URL's query (application/x-www-form-urlencoded).",
     "URL_ENCODE('a b') = 'a+b'", 1, 1, bind_code},
    {"URL_DECODE", "codec", "URL_DECODE(string)", "The text that a part of a URL's query stands for; NULL when it is malformed.",
     "URL_DECODE('a+b') = 'a b'", 1, 1, bind_code},
    {"ENCODE", "codec", "ENCODE(string, charset)", "The bytes of a text in a character set.", "ENCODE('a', 'UTF-16BE') = X'0061'", 2, 2,
     bind_encode},
    {"DECODE", "codec", "DECODE(bytes, charset)", "The text of bytes in a character set.", "DECODE(X'61', 'UTF-8') = 'a'", 2, 2,
     bind_decode},
    {"MD5", "hash", "MD5(value)", "The MD5 digest in 32 hexadecimal digits.", NULL, 1, 1, bind_digest},
    {"SHA1", "hash", "SHA1(value)", "The SHA-1 digest in 40 hexadecimal digits.", NULL, 1, 1, bind_digest},
    {"SHA224", "hash", "SHA224(value)", "The SHA-224 digest in 56 hexadecimal digits.", NULL, 1, 1, bind_digest},
    {"SHA256", "hash", "SHA256(value)", "The SHA-256 digest in 64 hexadecimal digits.", NULL, 1, 1, bind_digest},
    {"SHA384", "hash", "SHA384(value)", "The SHA-384 digest in 96 hexadecimal digits.", NULL, 1, 1, bind_digest},
    {"SHA512", "hash", "SHA512(value)", "The SHA-512 digest in 128 hexadecimal digits.", NULL, 1, 1, bind_digest},
    {"SHA2", "hash", "SHA2(value, bits)", "A digest of the SHA-2 family: 224, 256, 384 or 512 bits.", NULL, 2, 2, bind_sha2},
    {"UUID", "string", "UUID()", "A random UUID (version 4).", NULL, 0, 0, bind_uuid},
};

const struct function_table codec_functions = {functions, ARRAY_LENGTH(functions)};
