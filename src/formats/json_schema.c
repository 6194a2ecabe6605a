#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/json_reader.h"

enum { MEMBERS_SEARCHED = 8 };

static enum status node_open(struct json_reader *reader, struct json_node *node, const struct type *type,
                             const struct projection *projection, uint32_t depth, struct error *err);

static enum status index_members(struct json_reader *reader, struct json_node *node, struct error *err)
{
    if (node->member_count <= MEMBERS_SEARCHED) {
        return STATUS_OK;
    }
    uint32_t size = 16;
    while (size < node->member_count * 2) {
        size *= 2;
    }
    TRY_ALLOC(node->index, arena_alloc(reader->arena, size * sizeof *node->index), err);
    node->index_mask = size - 1;
    for (uint32_t i = 0; i < node->member_count; i++) {
        uint32_t at = (uint32_t)hash_bytes(node->members[i].name.bytes, node->members[i].name.length) & node->index_mask;
        while (node->index[at] != 0) {
            at = (at + 1) & node->index_mask;
        }
        node->index[at] = i + 1;
    }
    return STATUS_OK;
}

struct json_member *json_node_find(struct json_node *node, struct text name)
{
    if (node->index == NULL) {
        for (uint32_t i = 0; i < node->member_count; i++) {
            if (text_equal(node->members[i].name, name)) {
                return &node->members[i];
            }
        }
        return NULL;
    }
    for (uint32_t at = (uint32_t)hash_bytes(name.bytes, name.length) & node->index_mask; node->index[at] != 0;
         at = (at + 1) & node->index_mask) {
        struct json_member *member = &node->members[node->index[at] - 1];
        if (text_equal(member->name, name)) {
            return member;
        }
    }
    return NULL;
}

static uint32_t count_clear(struct json_node *node, struct column **list)
{
    if (node->kind != TYPE_ROW) {
        enum physical physical = type_physical(node->type);
        if (physical != PHYSICAL_STRING && physical != PHYSICAL_SPAN) {
            return 0;
        }
        if (list != NULL) {
            *list = &node->column;
        }
        return 1;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->member_count; i++) {
        count += count_clear(node->members[i].node, list == NULL ? NULL : list + count);
    }
    return count;
}

static bool projection_is_whole(const struct projection *projection)
{
    return projection == NULL || projection->whole || projection->child_count == 0;
}

static enum status row_open(struct json_reader *reader, struct json_node *node, const struct projection *projection, uint32_t depth,
                            struct error *err)
{
    const struct type *type = node->type;
    struct json_node *fields;
    TRY_ALLOC(fields, arena_alloc(reader->arena, (type->child_count + 1) * sizeof *fields), err);
    TRY_ALLOC(node->members, arena_alloc(reader->arena, (type->child_count + 1) * sizeof *node->members), err);
    TRY_ALLOC(node->order, arena_alloc(reader->arena, JSON_ORDER_MAX * sizeof *node->order), err);
    bool whole = projection_is_whole(projection);
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (!whole && !projection->children[i].used) {
            continue;
        }
        fields[i].parent = node;
        fields[i].name = type->names[i];
        node->members[node->member_count++] = (struct json_member){.name = text_from(type->names[i]), .node = &fields[i]};
        TRY(node_open(reader, &fields[i], type->children[i], whole ? NULL : &projection->children[i], depth + 1, err));
    }
    TRY(index_members(reader, node, err));
    node->clear_count = count_clear(node, NULL);
    TRY_ALLOC(node->clear, arena_alloc(reader->arena, (node->clear_count + 1) * sizeof *node->clear), err);
    count_clear(node, node->clear);
    return STATUS_OK;
}

static enum status nested_open(struct json_reader *reader, struct json_node *node, uint32_t depth, struct error *err)
{
    const struct type *type = node->type;
    if (node->kind != TYPE_ARRAY && !type_is_text(type->children[0])) {
        return error_set(err, ERROR_NOT_SUPPORTED, "the names of JSON objects are texts: %s cannot be read from them",
                         type_to_text(reader->arena, type));
    }
    TRY_ALLOC(node->elements, arena_alloc(reader->arena, 2 * sizeof *node->elements), err);
    for (uint32_t i = 0; i < (node->kind == TYPE_ARRAY ? 1u : 2u); i++) {
        node->elements[i].parent = node;
        const struct type *child = node->kind == TYPE_MULTISET && i == 1 ? &type_int_not_null : type->children[i];
        TRY(node_open(reader, &node->elements[i], child, NULL, depth + 1, err));
    }
    return STATUS_OK;
}

static enum status node_open(struct json_reader *reader, struct json_node *node, const struct type *type,
                             const struct projection *projection, uint32_t depth, struct error *err)
{
    static const int64_t limits[][2] = {[TYPE_TINYINT] = {INT8_MIN, INT8_MAX},
                                        [TYPE_SMALLINT] = {INT16_MIN, INT16_MAX},
                                        [TYPE_INT] = {INT32_MIN, INT32_MAX},
                                        [TYPE_BIGINT] = {INT64_MIN, INT64_MAX}};
    if (depth > TYPE_DEPTH_MAX) {
        return error_set(err, ERROR_TOO_DEEP, "a type is nested more than %d deep", TYPE_DEPTH_MAX);
    }
    node->type = type;
    node->kind = type->kind;
    node->nullable = type->nullable;
    switch (type->kind) {
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
        node->min = limits[type->kind][0];
        node->max = limits[type->kind][1];
        return STATUS_OK;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        reader->string_count++;
        return STATUS_OK;
    case TYPE_ROW:
        return row_open(reader, node, projection, depth, err);
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_MULTISET:
        return nested_open(reader, node, depth, err);
    case TYPE_VARIANT:
    case TYPE_BITMAP:
        return error_set(err, ERROR_NOT_SUPPORTED, "the format 'json' does not read %s", type_to_text(reader->arena, type));
    default:
        return STATUS_OK;
    }
}

static void collect_strings(struct json_reader *reader, struct json_node *node)
{
    if (type_is_text(node->type) || type_is_binary(node->type)) {
        reader->strings[reader->string_count++] = node;
    }
    for (uint32_t i = 0; i < node->member_count; i++) {
        collect_strings(reader, node->members[i].node);
    }
    for (uint32_t i = 0; node->elements != NULL && i < (node->kind == TYPE_ARRAY ? 1u : 2u); i++) {
        collect_strings(reader, &node->elements[i]);
    }
}

enum status json_reader_open(struct json_reader *reader, const struct format_context *context, struct error *err)
{
    reader->arena = context->arena;
    struct projection all = {
        .used = true, .whole = context->projections == NULL, .child_count = context->row->child_count, .children = context->projections};
    TRY(node_open(reader, &reader->root, context->row, &all, 0, err));
    TRY_ALLOC(reader->strings, arena_alloc(context->arena, (reader->string_count + 1) * sizeof *reader->strings), err);
    reader->string_count = 0;
    collect_strings(reader, &reader->root);
    return STATUS_OK;
}

static void node_close(struct json_node *node)
{
    free(node->map_index);
    for (uint32_t i = 0; i < node->member_count; i++) {
        node_close(node->members[i].node);
    }
    for (uint32_t i = 0; node->elements != NULL && i < (node->kind == TYPE_ARRAY ? 1u : 2u); i++) {
        node_close(&node->elements[i]);
    }
}

void json_reader_close(struct json_reader *reader)
{
    node_close(&reader->root);
    free(reader->scratch);
}

static void node_bind(struct json_node *node, struct budget *budget, struct vector *vector, uint32_t capacity);

static void fields_bind(struct json_node *node, struct budget *budget, struct vector *fields, uint32_t capacity)
{
    uint32_t field = 0;
    for (uint32_t i = 0; i < node->member_count; i++, field++) {
        while (node->type->names[field] != node->members[i].name.bytes) {
            field++;
        }
        node_bind(node->members[i].node, budget, &fields[field], capacity);
    }
}

static void node_bind(struct json_node *node, struct budget *budget, struct vector *vector, uint32_t capacity)
{
    column_bind(&node->column, budget, vector, capacity);
    if (node->kind == TYPE_ROW) {
        fields_bind(node, budget, vector->children, capacity);
    } else if (node->elements != NULL) {
        node->element_count = vector->children[0].count;
        for (uint32_t i = 0; i < (node->kind == TYPE_ARRAY ? 1u : 2u); i++) {
            node_bind(&node->elements[i], budget, &vector->children[i], node->element_count);
        }
    }
}

void json_reader_bind(struct json_reader *reader, struct decode_target *target)
{
    fields_bind(&reader->root, target->budget, target->batch->columns, target->row_limit);
}

void json_reader_set_block(struct json_reader *reader, struct buffer *block)
{
    reader->block = block;
    for (uint32_t i = 0; i < reader->string_count; i++) {
        reader->strings[i]->share = block == NULL ? JSON_SHARE_COPIES : JSON_SHARE_UNKNOWN;
    }
}

static void node_finish(struct json_node *node)
{
    for (uint32_t i = 0; i < node->member_count; i++) {
        node_finish(node->members[i].node);
    }
    for (uint32_t i = 0; node->elements != NULL && i < (node->kind == TYPE_ARRAY ? 1u : 2u); i++) {
        column_set_count(node->elements[i].column.vector, node->element_count);
        node_finish(&node->elements[i]);
    }
}

void json_reader_finish(struct json_reader *reader, struct batch *batch)
{
    for (uint32_t i = 0; i < batch->column_count; i++) {
        column_set_count(&batch->columns[i], batch->count);
    }
    node_finish(&reader->root);
}

void json_node_path(const struct json_node *node, struct text_builder *out)
{
    if (node == NULL || node->parent == NULL) {
        return;
    }
    json_node_path(node->parent, out);
    if (node->name == NULL) {
        text_append_text(out, "[]");
    } else {
        text_append_format(out, "%s%s", out->length > 0 ? "." : "", node->name);
    }
}
