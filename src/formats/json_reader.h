/* formats/json_reader.h: the JSON decoder's inside: a tree of nodes parallel to the row type.
 *
 * Shape       A node per field that is read; a field that is not has none, and its value is checked and skipped. A ROW node
 *             has members (its fields) and remembers the order in which the last object's names came: the next object's
 *             name is first compared with the one that came at this place.
 * Invariants  Between records every column is complete up to the target's count.
 * Errors      Functions answer the place after the value, or NULL: then failure says what is wrong with the record, or
 *             `status` is not OK (no memory).
 */
#ifndef SPATE_FORMATS_JSON_READER_H
#define SPATE_FORMATS_JSON_READER_H

#include "formats/column.h"
#include "formats/json_options.h"
#include "formats/text_values.h"

enum json_share { JSON_SHARE_UNKNOWN, JSON_SHARE_VIEWS, JSON_SHARE_COPIES };

struct json_node;
struct json_member {
    struct text name;
    struct json_node *node;
    uint64_t seen; /* the object in which it was met last */
};

enum { JSON_PATTERN_BYTES = 48, JSON_ORDER_MAX = 64 };
struct json_order {
    char pattern[JSON_PATTERN_BYTES]; /* name":  */
    uint32_t length;                  /* 0: nothing learned */
    struct json_member *member;       /* NULL: nobody reads it */
};

struct json_node {
    struct column column;
    const struct type *type;
    enum type_kind kind;
    bool nullable;
    enum json_share share;
    const char *name;
    const struct json_node *parent;
    int64_t min, max; /* of integers */
    struct day_cache day;

    /* ROW */
    struct json_member *members;
    uint32_t member_count;
    struct json_order *order; /* JSON_ORDER_MAX of them */
    uint32_t *index;          /* hash of the name to member + 1; NULL: few members, searched one by one */
    uint32_t index_mask;
    uint64_t objects;      /* read so far */
    struct column **clear; /* strings and spans below, to be emptied when the row is NULL */
    uint32_t clear_count;

    /* ARRAY: [0] elements; MAP, MULTISET: [0] keys, [1] values */
    struct json_node *elements;
    uint32_t element_count;
    uint32_t *map_index; /* of a large map being read: hash of the key to entry + 1 */
    uint32_t map_index_size;
};

struct json_failure {
    enum error_code code;
    const struct json_node *node; /* NULL: the record */
    char text[256];
};

struct json_reader {
    struct json_settings settings;
    struct arena *arena;
    struct json_node root;
    struct json_node **strings; /* every node of strings: `share` is decided anew for each block */
    uint32_t string_count;
    struct buffer *block; /* what the text lies in; NULL: copy */
    char *scratch;        /* unescaped text */
    size_t scratch_capacity;
    struct json_failure failure;
    enum status status;
    struct error *err;
};

/* json_schema.c */
enum status json_reader_open(struct json_reader *reader, const struct format_context *context, struct error *err);
void json_reader_close(struct json_reader *reader);
void json_reader_bind(struct json_reader *reader, struct decode_target *target);
void json_reader_set_block(struct json_reader *reader, struct buffer *block);
void json_reader_finish(struct json_reader *reader, struct batch *batch); /* sets the counts of all vectors */
/* The member of that name, NULL if nobody reads it. */
struct json_member *json_node_find(struct json_node *node, struct text name);
void json_node_path(const struct json_node *node, struct text_builder *out);

/* json_read.c */
const char *json_read_object(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row);
const char *json_read_value(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row);
bool json_set_null(struct json_reader *reader, struct json_node *node, uint32_t row);
const char *json_fail(struct json_reader *reader, const struct json_node *node, const char *why, const char *at); /* NULL */

bool json_reserve_scratch(struct json_reader *reader, size_t bytes);

/* json_convert.c: any scalar token, for what the quick paths of json_read.c leave. */
const char *json_convert_value(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row);

/* json_nested.c */
const char *json_read_array(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row);
const char *json_read_map(struct json_reader *reader, struct json_node *node, const char *p, uint32_t row);

#endif
