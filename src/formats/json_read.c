/* The quick paths: objects in the order of the last one, plain strings and whole numbers. All else: json_convert.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_reader.h"
#include "formats/json_scan.h"

const char *json_fail(struct json_reader *reader, const struct json_node *node, const char *why, const char *at)
{
    reader->failure.code = ERROR_RECORD_UNREADABLE;
    reader->failure.node = node;
    char excerpt[TEXT_EXCERPT_BYTES];
    struct text rest = {at, strcspn(at, "\n")};
    if (rest.length == 0) {
        snprintf(reader->failure.text, sizeof reader->failure.text, "%s", why);
    } else {
        snprintf(reader->failure.text, sizeof reader->failure.text, "%s, at '%s'", why, text_excerpt(rest, excerpt));
    }
    return NULL;
}

bool json_set_null(struct json_reader *reader, struct json_node *node, uint32_t row)
{
    if (UNLIKELY(!node->nullable)) {
        json_fail(reader, node, "a field that is NOT NULL has no value", "\n");
        return false;
    }
    enum status status = column_set_null(&node->column, row, reader->err);
    if (status != STATUS_OK) {
        reader->status = status;
        return false;
    }
    for (uint32_t i = 0; i < node->clear_count; i++) {
        column_clear_slot(node->clear[i], row);
    }
    return true;
}

/* The view of a string that lies in readable text: the copy of a short one reads 12 bytes whatever its length. */
static inline void put_view(struct string_view *slot, const char *bytes, size_t length)
{
    slot->length = (uint32_t)length;
    if (length > STRING_INLINE_BYTES) {
        memcpy(slot->prefix, bytes, 4);
        slot->bytes = bytes;
        return;
    }
    uint32_t head;
    uint64_t tail;
    memcpy(&head, bytes, 4);
    memcpy(&tail, bytes + 4, 8);
    head &= length >= 4 ? UINT32_MAX : (1u << (length * 8)) - 1;
    tail &= length >= 12 ? UINT64_MAX : length <= 4 ? 0 : ((uint64_t)1 << ((length - 4) * 8)) - 1;
    memcpy(slot->prefix, &head, 4);
    memcpy(slot->rest, &tail, 8);
}

/* May the views of this column point into the block? Decided at the first long string of each block. */
static bool node_shares(struct json_reader *reader, struct json_node *node)
{
    if (node->share == JSON_SHARE_UNKNOWN) {
        node->share = column_share_block(&node->column, reader->block) ? JSON_SHARE_VIEWS : JSON_SHARE_COPIES;
    }
    return node->share == JSON_SHARE_VIEWS;
}

static const char *read_string(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row)
{
    struct json_string string;
    const char *why;
    if (*p != '"') {
        return json_convert_value(reader, node, p, row);
    }
    const char *end = json_scan_string(p + 1, &string, &why);
    if (UNLIKELY(end == NULL)) {
        return json_fail(reader, node, why, p);
    }
    if (UNLIKELY(string.escaped)) {
        return json_convert_value(reader, node, p, row);
    }
    if (string.raw.length <= STRING_INLINE_BYTES || node_shares(reader, node)) {
        put_view(&vector_strings(node->column.vector)[row], string.raw.bytes, string.raw.length);
    } else {
        enum status status = column_put_copy(&node->column, row, string.raw, reader->err);
        if (status != STATUS_OK) {
            reader->status = status;
            return NULL;
        }
    }
    column_set_valid(&node->column, row);
    return end;
}

static inline void put_integer(struct json_node *node, uint32_t row, int64_t value)
{
    switch (node->kind) {
    case TYPE_TINYINT:
        vector_int8(node->column.vector)[row] = (int8_t)value;
        break;
    case TYPE_SMALLINT:
        vector_int16(node->column.vector)[row] = (int16_t)value;
        break;
    case TYPE_INT:
        vector_int32(node->column.vector)[row] = (int32_t)value;
        break;
    default:
        vector_int64(node->column.vector)[row] = value;
        break;
    }
    column_set_valid(&node->column, row);
}

/* Up to 18 digits and nothing after them that belongs to a number. */
static const char *read_integer(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row)
{
    const char *start = p;
    bool negative = *p == '-';
    p += negative;
    const char *digits = p;
    uint64_t magnitude = 0;
    while ((unsigned char)(*p - '0') < 10 && p < digits + 19) {
        magnitude = magnitude * 10 + (uint64_t)(*p++ - '0');
    }
    bool plain = p > digits && p < digits + 19 && *p != '.' && (*p | 0x20) != 'e' && (*digits != '0' || p == digits + 1);
    int64_t value = negative ? (int64_t)-magnitude : (int64_t)magnitude;
    if (UNLIKELY(!plain || value < node->min || value > node->max)) {
        return json_convert_value(reader, node, start, row);
    }
    put_integer(node, row, value);
    return p;
}

const char *json_read_value(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row)
{
    if (*p == 'n') {
        if (memcmp(p, "null", 4) != 0) {
            return json_fail(reader, node, "a word is neither true, false nor null", p);
        }
        return json_set_null(reader, node, row) ? p + 4 : NULL;
    }
    switch (node->kind) {
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return read_string(reader, node, p, row);
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
        return read_integer(reader, node, p, row);
    case TYPE_ROW:
        return *p == '{' ? json_read_object(reader, node, p, row) : json_convert_value(reader, node, p, row);
    case TYPE_ARRAY:
        return *p == '[' ? json_read_array(reader, node, p, row) : json_convert_value(reader, node, p, row);
    case TYPE_MAP:
    case TYPE_MULTISET:
        return *p == '{' ? json_read_map(reader, node, p, row) : json_convert_value(reader, node, p, row);
    default:
        return json_convert_value(reader, node, p, row);
    }
}

static inline bool order_matches(const struct json_order *order, const char *p)
{
    uint32_t length = order->length;
    if (length == 0) {
        return false;
    }
    for (uint32_t at = 0;; at += 16) {
        __m128i expected = _mm_loadu_si128((const __m128i *)(const void *)(order->pattern + at));
        __m128i found = _mm_loadu_si128((const __m128i *)(const void *)(p + at));
        uint32_t equal = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(expected, found));
        if (length <= at + 16) {
            uint32_t wanted = (uint32_t)(((uint64_t)1 << (length - at)) - 1);
            return (equal & wanted) == wanted;
        }
        if (equal != 0xffff) {
            return false;
        }
    }
}

bool json_reserve_scratch(struct json_reader *reader, size_t bytes)
{
    if (bytes <= reader->scratch_capacity) {
        return true;
    }
    char *moved = realloc(reader->scratch, bytes * 2);
    if (moved == NULL) {
        reader->status = error_set(reader->err, ERROR_BUDGET_SPENT, "no room for a text of %zu bytes", bytes);
        return false;
    }
    reader->scratch = moved;
    reader->scratch_capacity = bytes * 2;
    return true;
}

/* A name that is not the expected one; p is after its opening quote. Learns it for the next object. */
static const char *read_name(struct json_reader *reader, struct json_node *node, const char *p, struct json_order *order,
                             struct json_member **member)
{
    struct json_string name;
    const char *why;
    const char *end = json_scan_string(p, &name, &why);
    if (end == NULL) {
        return json_fail(reader, node, why, p);
    }
    struct text plain = name.raw;
    if (name.escaped) {
        size_t length;
        if (!json_reserve_scratch(reader, name.raw.length)) {
            return NULL;
        }
        if (!json_unescape(name.raw, reader->scratch, &length)) {
            return json_fail(reader, node, "a name has half of a surrogate pair", p);
        }
        plain = (struct text){reader->scratch, length};
    }
    *member = json_node_find(node, plain);
    if (*end == ':' && order != NULL && name.raw.length + 2 <= JSON_PATTERN_BYTES) {
        memcpy(order->pattern, p, name.raw.length + 2);
        order->length = (uint32_t)name.raw.length + 2;
        order->member = *member;
        return end + 1;
    }
    end = json_skip_blanks(end);
    return *end == ':' ? end + 1 : json_fail(reader, node, "a colon must follow a member's name", end);
}

static bool fill_missing(struct json_reader *reader, struct json_node *node, uint32_t row)
{
    for (uint32_t i = 0; i < node->member_count; i++) {
        struct json_member *member = &node->members[i];
        if (member->seen == node->objects) {
            continue;
        }
        if (reader->settings.fail_on_missing_field) {
            json_fail(reader, member->node, "the field is missing", "\n");
            return false;
        }
        if (!json_set_null(reader, member->node, row)) {
            return false;
        }
    }
    return true;
}

const char *json_read_object(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row)
{
    uint64_t object = ++node->objects;
    uint32_t seen = 0;
    if (node->parent != NULL) {
        column_set_valid(&node->column, row);
    }
    p = json_skip_blanks(p + 1);
    for (uint32_t position = 0; *p != '}' || position > 0; position++) {
        struct json_member *member;
        if (UNLIKELY(*p != '"')) {
            return json_fail(reader, node, "a member's name must begin with a quote", p);
        }
        struct json_order *order = position < JSON_ORDER_MAX ? &node->order[position] : NULL;
        if (LIKELY(order != NULL && order_matches(order, p + 1))) {
            member = order->member;
            p += 1 + order->length;
        } else if ((p = read_name(reader, node, p + 1, order, &member)) == NULL) {
            return NULL;
        }
        p = json_skip_blanks(p);
        if (member != NULL) {
            seen += member->seen != object;
            member->seen = object;
            p = json_read_value(reader, member->node, p, row);
        } else {
            const char *why, *start = p;
            p = json_skip_value(p, &why);
            if (p == NULL) {
                return json_fail(reader, node, why, start);
            }
        }
        if (p == NULL) {
            return NULL;
        }
        p = json_skip_blanks(p);
        if (*p != ',') {
            break;
        }
        p = json_skip_blanks(p + 1);
    }
    if (UNLIKELY(*p != '}')) {
        return json_fail(reader, node, "a comma or the closing brace is missing", p);
    }
    return seen == node->member_count || fill_missing(reader, node, row) ? p + 1 : NULL;
}
