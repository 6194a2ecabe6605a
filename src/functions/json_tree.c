/* A reader by recursive descent, its depth limited. */
#include "functions/json_tree.h"

#include "base/utf8.h"

struct reader {
    struct arena *arena;
    const char *at, *end;
};

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r')) {
        reader->at++;
    }
}

static bool accept(struct reader *reader, char byte)
{
    if (reader->at == reader->end || *reader->at != byte) {
        return false;
    }
    reader->at++;
    return true;
}

static bool read_hex(struct reader *reader, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        if (reader->at == reader->end) {
            return false;
        }
        char byte = *reader->at++;
        int digit = byte >= '0' && byte <= '9' ? byte - '0' : (byte | 0x20) >= 'a' && (byte | 0x20) <= 'f' ? (byte | 0x20) - 'a' + 10 : -1;
        if (digit < 0) {
            return false;
        }
        *value = *value * 16 + (uint32_t)digit;
    }
    return true;
}

/* The rest of \uXXXX; a pair of surrogates is one character, a lone one becomes U+FFFD. */
static bool read_unicode(struct reader *reader, char **out)
{
    uint32_t code, low;
    if (!read_hex(reader, &code)) {
        return false;
    }
    if (code >= 0xD800 && code < 0xDC00 && reader->end - reader->at >= 6 && reader->at[0] == '\\' && reader->at[1] == 'u') {
        struct reader ahead = *reader;
        ahead.at += 2;
        if (!read_hex(&ahead, &low)) {
            return false;
        }
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            reader->at = ahead.at;
        }
    }
    if (code >= 0xD800 && code < 0xE000) {
        code = 0xFFFD;
    }
    *out += utf8_encode(code, *out);
    return true;
}

static bool read_escape(struct reader *reader, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end) {
        return false;
    }
    char byte = *reader->at++;
    if (byte == 'u') {
        return read_unicode(reader, out);
    }
    const char *found = byte == '\0' ? NULL : strchr(names, byte);
    if (found == NULL) {
        return false;
    }
    *(*out)++ = values[found - names];
    return true;
}

/* After the opening quote. */
static bool read_string(struct reader *reader, struct text *text)
{
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at != '"' && *reader->at != '\\' && (unsigned char)*reader->at >= ' ') {
        reader->at++;
    }
    if (accept(reader, '"')) {
        *text = (struct text){start, (size_t)(reader->at - start - 1)};
        return true;
    }
    char *copy = arena_alloc(reader->arena, (size_t)(reader->end - start) + 4); /* escapes are longer than what they mean */
    if (copy == NULL) {
        return false;
    }
    char *out = copy;
    reader->at = start;
    while (reader->at < reader->end && (unsigned char)*reader->at >= ' ') {
        char byte = *reader->at++;
        if (byte == '"') {
            *text = (struct text){copy, (size_t)(out - copy)};
            return true;
        }
        if (byte != '\\') {
            *out++ = byte;
        } else if (!read_escape(reader, &out)) {
            return false;
        }
    }
    return false;
}

static bool read_digits(struct reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
        reader->at++;
    }
    return reader->at > start;
}

static bool read_number(struct reader *reader, struct json_value *value)
{
    const char *start = reader->at;
    (void)accept(reader, '-');
    if (!accept(reader, '0') && !read_digits(reader)) {
        return false;
    }
    if (accept(reader, '.') && !read_digits(reader)) {
        return false;
    }
    if (accept(reader, 'e') || accept(reader, 'E')) {
        if (!accept(reader, '+')) {
            (void)accept(reader, '-');
        }
        if (!read_digits(reader)) {
            return false;
        }
    }
    value->kind = JSON_NUMBER;
    value->text = (struct text){start, (size_t)(reader->at - start)};
    return true;
}

static bool read_value(struct reader *reader, struct json_value *value, uint32_t depth);

/* Elements or members up to `close`; the opening bracket is read. */
static bool read_children(struct reader *reader, struct json_value *parent, char close, uint32_t depth)
{
    struct json_value **link = &parent->first;
    skip_space(reader);
    if (accept(reader, close)) {
        return true;
    }
    do {
        struct json_value *child = arena_alloc(reader->arena, sizeof *child);
        if (child == NULL) {
            return false;
        }
        skip_space(reader);
        if (parent->kind == JSON_OBJECT) {
            if (!accept(reader, '"') || !read_string(reader, &child->name)) {
                return false;
            }
            skip_space(reader);
            if (!accept(reader, ':')) {
                return false;
            }
            skip_space(reader);
        }
        if (!read_value(reader, child, depth + 1)) {
            return false;
        }
        *link = child;
        link = &child->next;
        parent->count++;
        skip_space(reader);
    } while (accept(reader, ','));
    return accept(reader, close);
}

static bool read_word(struct reader *reader, struct json_value *value)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"null", JSON_NULL}, {"true", JSON_TRUE}, {"false", JSON_FALSE}};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(reader->end - reader->at) >= length && memcmp(reader->at, words[i].word, length) == 0) {
            reader->at += length;
            value->kind = words[i].kind;
            return true;
        }
    }
    return false;
}

static bool read_value(struct reader *reader, struct json_value *value, uint32_t depth)
{
    if (depth > JSON_DEPTH_MAX || reader->at == reader->end) {
        return false;
    }
    switch (*reader->at) {
    case '{':
        reader->at++;
        value->kind = JSON_OBJECT;
        return read_children(reader, value, '}', depth);
    case '[':
        reader->at++;
        value->kind = JSON_ARRAY;
        return read_children(reader, value, ']', depth);
    case '"':
        reader->at++;
        value->kind = JSON_STRING;
        return read_string(reader, &value->text);
    case 'n':
    case 't':
    case 'f':
        return read_word(reader, value);
    default:
        return read_number(reader, value);
    }
}

const struct json_value *json_parse(struct arena *arena, struct text text)
{
    struct reader reader = {arena, text.bytes, text.bytes + text.length};
    struct json_value *root = arena_alloc(arena, sizeof *root);
    skip_space(&reader);
    if (root == NULL || !read_value(&reader, root, 0)) {
        return NULL;
    }
    skip_space(&reader);
    return reader.at == reader.end ? root : NULL;
}
