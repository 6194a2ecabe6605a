/* Arrays and maps: elements are appended to the child columns, the row gets the span. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/json_reader.h"
#include "formats/json_scan.h"

/* Room for one more element in the child and, if it is a ROW, in its fields. */
static bool reserve_elements(struct json_reader *reader, struct json_node *child, uint32_t rows)
{
    reader->status = column_reserve(&child->column, rows, reader->err);
    for (uint32_t i = 0; reader->status == STATUS_OK && i < child->member_count; i++) {
        reserve_elements(reader, child->members[i].node, rows);
    }
    return reader->status == STATUS_OK;
}

static bool append_element(struct json_reader *reader, struct json_node *node, uint32_t child_count)
{
    uint32_t rows = node->element_count + 1;
    for (uint32_t i = 0; i < child_count; i++) {
        if (rows > node->elements[i].column.capacity && !reserve_elements(reader, &node->elements[i], rows)) {
            return false;
        }
    }
    node->element_count = rows;
    return true;
}

static void put_span(struct json_node *node, uint32_t row, uint32_t first)
{
    vector_spans(node->column.vector)[row] = (struct span){first, node->element_count - first};
    column_set_valid(&node->column, row);
}

const char *json_read_array(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row)
{
    uint32_t first = node->element_count;
    p = json_skip_blanks(p + 1);
    while (*p != ']' || node->element_count > first) {
        if (!append_element(reader, node, 1)) {
            return NULL;
        }
        p = json_read_value(reader, &node->elements[0], p, node->element_count - 1);
        if (p == NULL) {
            return NULL;
        }
        p = json_skip_blanks(p);
        if (*p != ',') {
            break;
        }
        p = json_skip_blanks(p + 1);
    }
    if (*p != ']') {
        return json_fail(reader, node, "a comma or the closing bracket is missing", p);
    }
    put_span(node, row, first);
    return p + 1;
}

enum { MAP_ENTRIES_SEARCHED = 16 };

static bool index_entries(struct json_reader *reader, struct json_node *node, uint32_t first)
{
    uint32_t entries = node->element_count - first, size = 64;
    while (size < entries * 4) {
        size *= 2;
    }
    uint32_t *index = realloc(node->map_index, size * sizeof *index);
    if (index == NULL) {
        reader->status = error_set(reader->err, ERROR_BUDGET_SPENT, "no room for a map of %u entries", entries);
        return false;
    }
    memset(index, 0, size * sizeof *index);
    node->map_index = index;
    node->map_index_size = size;
    const struct string_view *keys = vector_strings(node->elements[0].column.vector);
    for (uint32_t i = 0; i < entries; i++) {
        struct text key = string_view_text(&keys[first + i]);
        uint32_t at = (uint32_t)hash_bytes(key.bytes, key.length) & (size - 1);
        while (index[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        index[at] = i + 1;
    }
    return true;
}

/* The entry with the key at `last`, the newest one; `last` itself when it is the only one. A large map is indexed. */
static bool find_entry(struct json_reader *reader, struct json_node *node, uint32_t first, uint32_t last, uint32_t *entry)
{
    const struct string_view *keys = vector_strings(node->elements[0].column.vector);
    uint32_t entries = last - first;
    *entry = last;
    if (entries < MAP_ENTRIES_SEARCHED) {
        for (uint32_t i = first; i < last; i++) {
            if (string_view_equal(&keys[i], &keys[last])) {
                *entry = i;
                return true;
            }
        }
        return true;
    }
    if (entries == MAP_ENTRIES_SEARCHED || entries * 2 >= node->map_index_size) {
        node->element_count = last;
        bool indexed = index_entries(reader, node, first);
        node->element_count = last + 1;
        if (!indexed) {
            return false;
        }
    }
    struct text key = string_view_text(&keys[last]);
    uint32_t mask = node->map_index_size - 1, at = (uint32_t)hash_bytes(key.bytes, key.length) & mask;
    for (; node->map_index[at] != 0; at = (at + 1) & mask) {
        if (string_view_equal(&keys[first + node->map_index[at] - 1], &keys[last])) {
            *entry = first + node->map_index[at] - 1;
            return true;
        }
    }
    node->map_index[at] = entries + 1;
    return true;
}

const char *json_read_map(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row)
{
    uint32_t first = node->element_count;
    bool any = false;
    p = json_skip_blanks(p + 1);
    while (*p != '}' || any) {
        if (*p != '"') {
            return json_fail(reader, node, "a member's name must begin with a quote", p);
        }
        uint32_t last = node->element_count, entry;
        if (!append_element(reader, node, 2)) {
            return NULL;
        }
        p = json_read_value(reader, &node->elements[0], p, last);
        if (p == NULL || !find_entry(reader, node, first, last, &entry)) {
            return NULL;
        }
        node->element_count = entry == last ? last + 1 : last; /* the last value of a name counts */
        p = json_skip_blanks(p);
        if (*p != ':') {
            return json_fail(reader, node, "a colon must follow a member's name", p);
        }
        p = json_read_value(reader, &node->elements[1], json_skip_blanks(p + 1), entry);
        if (p == NULL) {
            return NULL;
        }
        any = true;
        p = json_skip_blanks(p);
        if (*p != ',') {
            break;
        }
        p = json_skip_blanks(p + 1);
    }
    if (*p != '}') {
        return json_fail(reader, node, "a comma or the closing brace is missing", p);
    }
    put_span(node, row, first);
    return p + 1;
}
