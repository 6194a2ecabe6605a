/* The type that values of two types become where SQL wants one: CASE, COALESCE, UNION, IN, VALUES, arrays. */
#include "functions/function.h"

static int32_t larger(int32_t left, int32_t right)
{
    return left > right ? left : right;
}

static int32_t integer_digits(const struct type *type)
{
    static const uint8_t digits[] = {[TYPE_TINYINT] = 3, [TYPE_SMALLINT] = 5, [TYPE_INT] = 10, [TYPE_BIGINT] = 19};
    return type->kind == TYPE_DECIMAL ? type->precision - type->scale : digits[type->kind];
}

static const struct type *common_numeric(struct arena *arena, const struct type *left, const struct type *right, bool nullable)
{
    if (type_is_integer(left) && type_is_integer(right)) {
        return type_with_nullable(arena, left->kind > right->kind ? left : right, nullable);
    }
    if (type_is_approximate(left) || type_is_approximate(right)) {
        bool is_float =
            left->kind != TYPE_DOUBLE && right->kind != TYPE_DOUBLE && left->kind != TYPE_DECIMAL && right->kind != TYPE_DECIMAL;
        return type_make(arena, is_float ? TYPE_FLOAT : TYPE_DOUBLE, 0, 0, nullable);
    }
    /* Past 38 digits the fraction gives way. */
    int32_t digits = larger(integer_digits(left), integer_digits(right));
    int32_t scale = larger(left->scale, right->scale);
    if (digits + scale > DECIMAL_PRECISION_MAX) {
        scale = DECIMAL_PRECISION_MAX - digits;
    }
    return type_decimal(arena, digits + scale, scale, nullable);
}

static const struct type *common_bytes(struct arena *arena, enum type_kind fixed, enum type_kind varying, const struct type *left,
                                       const struct type *right, bool nullable)
{
    bool same = left->kind == fixed && right->kind == fixed && left->precision == right->precision;
    return type_make(arena, same ? fixed : varying, larger(left->precision, right->precision), 0, nullable);
}

/* DATE is a TIMESTAMP(0) beside a timestamp; local beside zoned becomes zoned. */
static const struct type *common_time(struct arena *arena, const struct type *left, const struct type *right, bool nullable)
{
    if (left->kind == right->kind) {
        return type_make(arena, left->kind, larger(left->precision, right->precision), larger(left->scale, right->scale), nullable);
    }
    bool left_day = left->kind == TYPE_DATE || type_is_timestamp(left);
    bool right_day = right->kind == TYPE_DATE || type_is_timestamp(right);
    if (!left_day || !right_day) {
        return NULL;
    }
    bool zoned = left->kind == TYPE_TIMESTAMP_LTZ || right->kind == TYPE_TIMESTAMP_LTZ;
    return type_make(arena, zoned ? TYPE_TIMESTAMP_LTZ : TYPE_TIMESTAMP, larger(left->precision, right->precision), 0, nullable);
}

static const struct type *common_nested(struct arena *arena, const struct type *left, const struct type *right, bool nullable)
{
    if (left->kind != right->kind || left->child_count != right->child_count) {
        return NULL;
    }
    const struct type **children = arena_alloc(arena, (left->child_count + 1) * sizeof *children);
    if (children == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < left->child_count; i++) {
        children[i] = type_common(arena, left->children[i], right->children[i]);
        if (children[i] == NULL) {
            return NULL;
        }
    }
    struct type merged = *left;
    merged.nullable = nullable;
    merged.children = children;
    return arena_copy(arena, &merged, sizeof merged);
}

static bool type_is_time(const struct type *type)
{
    return type->kind == TYPE_DATE || type->kind == TYPE_TIME || type_is_timestamp(type) || type_is_interval(type);
}

const struct type *type_common(struct arena *arena, const struct type *left, const struct type *right)
{
    bool nullable = left->nullable || right->nullable;
    if (left->kind == TYPE_NULL || right->kind == TYPE_NULL) {
        return type_with_nullable(arena, left->kind == TYPE_NULL ? right : left, true);
    }
    if (type_is_numeric(left) && type_is_numeric(right)) {
        return left->kind == right->kind && type_equal_ignoring_nullable(left, right) ? type_with_nullable(arena, left, nullable)
                                                                                      : common_numeric(arena, left, right, nullable);
    }
    if (type_is_text(left) && type_is_text(right)) {
        return common_bytes(arena, TYPE_CHAR, TYPE_VARCHAR, left, right, nullable);
    }
    if (type_is_binary(left) && type_is_binary(right)) {
        return common_bytes(arena, TYPE_BINARY, TYPE_VARBINARY, left, right, nullable);
    }
    if (type_is_time(left) && type_is_time(right)) {
        return common_time(arena, left, right, nullable);
    }
    if (left->child_count > 0 || right->child_count > 0) {
        return common_nested(arena, left, right, nullable);
    }
    return left->kind == right->kind ? type_with_nullable(arena, left, nullable) : NULL;
}
