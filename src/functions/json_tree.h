/* functions/json_tree.h: a JSON text as a tree, strictly (RFC 8259), and trees and values as JSON texts.
 *
 * For         the JSON functions; the json format has a streaming reader of its own.
 * Shape       A value with its children as a list, in the text's order. Strings are decoded; numbers keep their spelling.
 * Ownership   Everything lives in the arena given; strings without escapes point into the text.
 * Limits      JSON_DEPTH_MAX levels; deeper texts count as wrong.
 */
#ifndef SPATE_FUNCTIONS_JSON_TREE_H
#define SPATE_FUNCTIONS_JSON_TREE_H

#include "data/time_zone.h"
#include "data/vector.h"

enum { JSON_DEPTH_MAX = 512 };

enum json_kind { JSON_NULL, JSON_TRUE, JSON_FALSE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
struct json_value {
    enum json_kind kind;
    struct text text; /* STRING, NUMBER */
    struct text name; /* of a member of an object */
    uint32_t count;   /* children */
    struct json_value *first, *next;
};
/* NULL: the text is no JSON (or there is no memory). */
const struct json_value *json_parse(struct arena *arena, struct text text);

static inline bool json_is_scalar(const struct json_value *value)
{
    return value->kind < JSON_ARRAY;
}

/* Compact, members sorted by name, of equal names the last one; numbers as Java's BigDecimal prints them. */
void json_write(const struct json_value *value, struct text_builder *out);
/* The text of a scalar as SQL sees it: a string without quotes. */
void json_write_scalar(const struct json_value *value, struct text_builder *out);
void json_write_string(struct text text, struct text_builder *out);       /* quoted and escaped */
void json_write_ascii_string(struct text text, struct text_builder *out); /* others as \uXXXX */
/* A number's text by the rule of Java's BigDecimal.toString. */
void json_write_number(struct text text, struct text_builder *out);
/* A row of a column as a JSON value; null for NULL. */
void json_write_cell(const struct vector *vector, uint32_t row, const struct time_zone *zone, struct text_builder *out);

#endif
