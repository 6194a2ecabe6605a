#include "data/type.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static const char *const type_names[] = {
#define X(name, sql, physical) [TYPE_##name] = (sql),
    TYPE_LIST(X)
#undef X
};
static const uint8_t type_physicals[] = {
#define X(name, sql, physical) [TYPE_##name] = PHYSICAL_##physical,
    TYPE_LIST(X)
#undef X
};
static const uint8_t physical_sizes[PHYSICAL_COUNT] = {
    [PHYSICAL_NULL] = 0,    [PHYSICAL_BOOL] = 1,  [PHYSICAL_INT8] = 1,   [PHYSICAL_INT16] = 2,   [PHYSICAL_INT32] = 4, [PHYSICAL_INT64] = 8,
    [PHYSICAL_INT128] = 16, [PHYSICAL_FLOAT] = 4, [PHYSICAL_DOUBLE] = 8, [PHYSICAL_STRING] = 16, [PHYSICAL_SPAN] = 8,  [PHYSICAL_ROW] = 0,
};

enum { DECIMAL_INT64_DIGITS = 18, TIMESTAMP_INT64_DIGITS = 6 };

enum physical type_physical(const struct type *type)
{
    if (type->kind == TYPE_DECIMAL && type->precision > DECIMAL_INT64_DIGITS) {
        return PHYSICAL_INT128;
    }
    if (type_is_timestamp(type) && type->precision > TIMESTAMP_INT64_DIGITS) {
        return PHYSICAL_INT128;
    }
    return (enum physical)type_physicals[type->kind];
}

uint32_t physical_bytes(enum physical physical)
{
    return physical_sizes[physical];
}

#define CONSTANT(name, type_kind, type_precision, type_scale, is_nullable)                                                                 \
    const struct type name = {.kind = (type_kind), .nullable = (is_nullable), .precision = (type_precision), .scale = (type_scale)}
CONSTANT(type_null, TYPE_NULL, 0, 0, true);
CONSTANT(type_boolean, TYPE_BOOLEAN, 0, 0, true);
CONSTANT(type_tinyint, TYPE_TINYINT, 0, 0, true);
CONSTANT(type_smallint, TYPE_SMALLINT, 0, 0, true);
CONSTANT(type_int, TYPE_INT, 0, 0, true);
CONSTANT(type_bigint, TYPE_BIGINT, 0, 0, true);
CONSTANT(type_float, TYPE_FLOAT, 0, 0, true);
CONSTANT(type_double, TYPE_DOUBLE, 0, 0, true);
CONSTANT(type_string, TYPE_VARCHAR, LENGTH_MAX, 0, true);
CONSTANT(type_bytes, TYPE_VARBINARY, LENGTH_MAX, 0, true);
CONSTANT(type_date, TYPE_DATE, 0, 0, true);
CONSTANT(type_time, TYPE_TIME, 0, 0, true);
CONSTANT(type_timestamp3, TYPE_TIMESTAMP, 3, 0, true);
CONSTANT(type_timestamp6, TYPE_TIMESTAMP, 6, 0, true);
CONSTANT(type_timestamp_ltz3, TYPE_TIMESTAMP_LTZ, 3, 0, true);
CONSTANT(type_interval_month, TYPE_INTERVAL_MONTH, 2, 0, true);
CONSTANT(type_interval_day, TYPE_INTERVAL_DAY, 2, 3, true);
CONSTANT(type_boolean_not_null, TYPE_BOOLEAN, 0, 0, false);
CONSTANT(type_int_not_null, TYPE_INT, 0, 0, false);
CONSTANT(type_bigint_not_null, TYPE_BIGINT, 0, 0, false);
CONSTANT(type_double_not_null, TYPE_DOUBLE, 0, 0, false);
CONSTANT(type_string_not_null, TYPE_VARCHAR, LENGTH_MAX, 0, false);
CONSTANT(type_timestamp3_not_null, TYPE_TIMESTAMP, 3, 0, false);
CONSTANT(type_timestamp_ltz3_not_null, TYPE_TIMESTAMP_LTZ, 3, 0, false);
#undef CONSTANT

static struct type *type_allocate(struct arena *arena, struct type value)
{
    return arena_copy(arena, &value, sizeof value);
}

const struct type *type_make(struct arena *arena, enum type_kind kind, int32_t precision, int32_t scale, bool nullable)
{
    return type_allocate(arena, (struct type){.kind = kind, .nullable = nullable, .precision = precision, .scale = scale});
}

const struct type *type_decimal(struct arena *arena, int32_t precision, int32_t scale, bool nullable)
{
    assert(precision >= 1 && precision <= DECIMAL_PRECISION_MAX && scale >= 0 && scale <= precision);
    return type_make(arena, TYPE_DECIMAL, precision, scale, nullable);
}

const struct type *type_varchar(struct arena *arena, int32_t length, bool nullable)
{
    return type_make(arena, TYPE_VARCHAR, length, 0, nullable);
}

static const struct type *type_nested(struct arena *arena, enum type_kind kind, const struct type *const *children, uint32_t count,
                                      bool nullable)
{
    const struct type **copy = arena_copy(arena, children, count * sizeof *children);
    if (copy == NULL) {
        return NULL;
    }
    return type_allocate(arena, (struct type){.kind = kind, .nullable = nullable, .child_count = count, .children = copy});
}

const struct type *type_array(struct arena *arena, const struct type *element, bool nullable)
{
    return element == NULL ? NULL : type_nested(arena, TYPE_ARRAY, &element, 1, nullable);
}

const struct type *type_multiset(struct arena *arena, const struct type *element, bool nullable)
{
    return element == NULL ? NULL : type_nested(arena, TYPE_MULTISET, &element, 1, nullable);
}

const struct type *type_map(struct arena *arena, const struct type *key, const struct type *value, bool nullable)
{
    const struct type *children[] = {key, value};
    return key == NULL || value == NULL ? NULL : type_nested(arena, TYPE_MAP, children, 2, nullable);
}

const struct type *type_row(struct arena *arena, uint32_t count, const struct type *const *fields, const char *const *names, bool nullable)
{
    const struct type **children = arena_alloc(arena, (count + 1) * sizeof *children);
    const char **copies = arena_alloc(arena, (count + 1) * sizeof *copies);
    if (children == NULL || copies == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        children[i] = fields[i];
        copies[i] = arena_text(arena, names[i], strlen(names[i]));
        if (children[i] == NULL || copies[i] == NULL) {
            return NULL;
        }
    }
    return type_allocate(
        arena, (struct type){.kind = TYPE_ROW, .nullable = nullable, .child_count = count, .children = children, .names = copies});
}

const struct type *type_with_nullable(struct arena *arena, const struct type *type, bool nullable)
{
    if (type == NULL || type->nullable == nullable || type->kind == TYPE_NULL) {
        return type;
    }
    struct type copy = *type;
    copy.nullable = nullable;
    return type_allocate(arena, copy);
}

static const struct type *type_copy_within(struct arena *arena, const struct type *type, uint32_t depth)
{
    assert(depth <= TYPE_DEPTH_MAX);
    struct type copy = *type;
    if (type->child_count > 0) {
        const struct type **children = arena_alloc(arena, type->child_count * sizeof *children);
        const char **names = type->names == NULL ? NULL : arena_alloc(arena, type->child_count * sizeof *names);
        if (children == NULL || (type->names != NULL && names == NULL)) {
            return NULL;
        }
        for (uint32_t i = 0; i < type->child_count; i++) {
            children[i] = type_copy_within(arena, type->children[i], depth + 1);
            if (names != NULL) {
                names[i] = arena_text(arena, type->names[i], strlen(type->names[i]));
            }
            if (children[i] == NULL || (names != NULL && names[i] == NULL)) {
                return NULL;
            }
        }
        copy.children = children;
        copy.names = names;
    }
    return type_allocate(arena, copy);
}

const struct type *type_copy(struct arena *arena, const struct type *type)
{
    return type_copy_within(arena, type, 0);
}

static bool type_parameters_equal(const struct type *left, const struct type *right)
{
    return left->kind == right->kind && left->precision == right->precision && left->scale == right->scale &&
           left->child_count == right->child_count;
}

static bool type_names_equal(const struct type *left, const struct type *right)
{
    for (uint32_t i = 0; left->names != NULL && right->names != NULL && i < left->child_count; i++) {
        if (strcmp(left->names[i], right->names[i]) != 0) {
            return false;
        }
    }
    return true;
}

bool type_equal_ignoring_nullable(const struct type *left, const struct type *right)
{
    if (!type_parameters_equal(left, right) || !type_names_equal(left, right)) {
        return false;
    }
    for (uint32_t i = 0; i < left->child_count; i++) {
        if (!type_equal(left->children[i], right->children[i])) {
            return false;
        }
    }
    return true;
}

bool type_equal(const struct type *left, const struct type *right)
{
    return left == right || (left->nullable == right->nullable && type_equal_ignoring_nullable(left, right));
}

bool type_same_shape(const struct type *left, const struct type *right)
{
    if (left == right) {
        return true;
    }
    if (!type_parameters_equal(left, right)) {
        return false;
    }
    for (uint32_t i = 0; i < left->child_count; i++) {
        if (!type_same_shape(left->children[i], right->children[i])) {
            return false;
        }
    }
    return true;
}

static void type_print_fields(const struct type *type, struct text_builder *out)
{
    text_append_text(out, "ROW<");
    for (uint32_t i = 0; i < type->child_count; i++) {
        text_append_text(out, i > 0 ? ", `" : "`");
        text_append_text(out, type->names == NULL ? "" : type->names[i]);
        text_append_text(out, "` ");
        type_print(type->children[i], out);
    }
    text_append_char(out, '>');
}

static void type_print_children(const struct type *type, struct text_builder *out)
{
    text_append_text(out, type_names[type->kind]);
    text_append_char(out, '<');
    for (uint32_t i = 0; i < type->child_count; i++) {
        text_append_text(out, i > 0 ? ", " : "");
        type_print(type->children[i], out);
    }
    text_append_char(out, '>');
}

/* Flink prints intervals by the resolution it keeps them in, whatever fields were written. */
static void type_print_name(const struct type *type, struct text_builder *out)
{
    switch (type->kind) {
    case TYPE_CHAR:
    case TYPE_VARCHAR:
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        if (type->precision == LENGTH_MAX && (type->kind == TYPE_VARCHAR || type->kind == TYPE_VARBINARY)) {
            text_append_text(out, type->kind == TYPE_VARCHAR ? "STRING" : "BYTES");
            return;
        }
        text_append_format(out, "%s(%" PRId32 ")", type_names[type->kind], type->precision);
        return;
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        text_append_format(out, "%s(%" PRId32 ")", type_names[type->kind], type->precision);
        return;
    case TYPE_DECIMAL:
        text_append_format(out, "DECIMAL(%" PRId32 ", %" PRId32 ")", type->precision, type->scale);
        return;
    case TYPE_INTERVAL_MONTH:
        text_append_text(out, "INTERVAL MONTH");
        return;
    case TYPE_INTERVAL_DAY:
        text_append_text(out, "INTERVAL SECOND(3)");
        return;
    case TYPE_ARRAY:
    case TYPE_MULTISET:
    case TYPE_MAP:
        type_print_children(type, out);
        return;
    case TYPE_ROW:
        type_print_fields(type, out);
        return;
    default:
        text_append_text(out, type_names[type->kind]);
    }
}

void type_print(const struct type *type, struct text_builder *out)
{
    type_print_name(type, out);
    if (!type->nullable && type->kind != TYPE_NULL) {
        text_append_text(out, " NOT NULL");
    }
}

const char *type_to_text(struct arena *arena, const struct type *type)
{
    struct text_builder builder = {0};
    type_print(type, &builder);
    const char *text = builder.failed ? NULL : arena_text(arena, builder.bytes, builder.length);
    text_builder_close(&builder);
    return text;
}
