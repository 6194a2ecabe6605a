/* data/type.h: Flink's logical types and how each lies in memory.
 *
 * For         every column, expression and literal. Result types depend on nullability, length, precision and scale.
 * Invariants  Immutable once made; lives in an arena (or is a constant of this file). Compare with type_equal, never by
 *             pointer.
 * Shape       kind + nullable + precision/scale + children:
 *             CHAR, VARCHAR, BINARY, VARBINARY: precision is the length; STRING is VARCHAR(LENGTH_MAX), BYTES likewise.
 *             DECIMAL(precision, scale). TIME, TIMESTAMP, TIMESTAMP_LTZ: precision is the digits of the fraction.
 *             INTERVAL_*: precision is the digits of the leading field, scale those of the fraction.
 *             ARRAY, MULTISET: one child. MAP: key, value. ROW: its fields, with names.
 * Threads     Any.
 */
#ifndef SPATE_DATA_TYPE_H
#define SPATE_DATA_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

/* name, SQL spelling, physical kind (of the smaller precision where there are two) */
#define TYPE_LIST(X)                                                                                                                       \
    X(NULL, "NULL", NULL)                                                                                                                  \
    X(BOOLEAN, "BOOLEAN", BOOL)                                                                                                            \
    X(TINYINT, "TINYINT", INT8)                                                                                                            \
    X(SMALLINT, "SMALLINT", INT16)                                                                                                         \
    X(INT, "INT", INT32)                                                                                                                   \
    X(BIGINT, "BIGINT", INT64)                                                                                                             \
    X(DECIMAL, "DECIMAL", INT64)                                                                                                           \
    X(FLOAT, "FLOAT", FLOAT)                                                                                                               \
    X(DOUBLE, "DOUBLE", DOUBLE)                                                                                                            \
    X(CHAR, "CHAR", STRING)                                                                                                                \
    X(VARCHAR, "VARCHAR", STRING)                                                                                                          \
    X(BINARY, "BINARY", STRING)                                                                                                            \
    X(VARBINARY, "VARBINARY", STRING)                                                                                                      \
    X(DATE, "DATE", INT32)                                                                                                                 \
    X(TIME, "TIME", INT32)                                                                                                                 \
    X(TIMESTAMP, "TIMESTAMP", INT64)                                                                                                       \
    X(TIMESTAMP_LTZ, "TIMESTAMP_LTZ", INT64)                                                                                               \
    X(INTERVAL_MONTH, "INTERVAL YEAR TO MONTH", INT32)                                                                                     \
    X(INTERVAL_DAY, "INTERVAL DAY TO SECOND", INT64)                                                                                       \
    X(ARRAY, "ARRAY", SPAN)                                                                                                                \
    X(MULTISET, "MULTISET", SPAN)                                                                                                          \
    X(MAP, "MAP", SPAN)                                                                                                                    \
    X(ROW, "ROW", ROW)                                                                                                                     \
    X(VARIANT, "VARIANT", STRING)                                                                                                          \
    X(BITMAP, "BITMAP", STRING)
#define X(name, sql, physical) TYPE_##name,
enum type_kind { TYPE_LIST(X) TYPE_KIND_COUNT };
#undef X

/* How the values of a vector lie in memory. Bytes per row: see physical_bytes. */
enum physical {
    PHYSICAL_NULL,   /* no values: every row is NULL */
    PHYSICAL_BOOL,   /* uint8_t, 0 or 1 */
    PHYSICAL_INT8,   /* int8_t */
    PHYSICAL_INT16,  /* int16_t */
    PHYSICAL_INT32,  /* int32_t: INT; DATE days; TIME ms; INTERVAL_MONTH months */
    PHYSICAL_INT64,  /* int64_t: BIGINT; DECIMAL(<=18) unscaled; TIMESTAMP(<=6) us; INTERVAL_DAY us */
    PHYSICAL_INT128, /* __int128: DECIMAL(>18) unscaled; TIMESTAMP(7-9) ns */
    PHYSICAL_FLOAT,
    PHYSICAL_DOUBLE,
    PHYSICAL_STRING, /* struct string_view */
    PHYSICAL_SPAN,   /* struct span into the children: ARRAY elements; MULTISET elements, counts; MAP keys, values */
    PHYSICAL_ROW,    /* no values of its own: one child per field, of the same row count */
    PHYSICAL_COUNT,
};

enum { LENGTH_MAX = INT32_MAX, DECIMAL_PRECISION_MAX = 38, TYPE_DEPTH_MAX = 64 };

struct type {
    enum type_kind kind;
    bool nullable;
    int32_t precision, scale;
    uint32_t child_count;
    const struct type *const *children;
    const char *const *names; /* ROW: field names */
};

enum physical type_physical(const struct type *type);
uint32_t physical_bytes(enum physical physical); /* per row; 0 for NULL and ROW */

/* Nullable and NOT NULL constants for types without parameters; also STRING, BYTES, TIMESTAMP(3), (6), LTZ(3). */
extern const struct type type_null, type_boolean, type_tinyint, type_smallint, type_int, type_bigint, type_float, type_double, type_string,
    type_bytes, type_date, type_time, type_timestamp3, type_timestamp6, type_timestamp_ltz3, type_interval_month, type_interval_day;
extern const struct type type_boolean_not_null, type_int_not_null, type_bigint_not_null, type_double_not_null, type_string_not_null,
    type_timestamp3_not_null, type_timestamp_ltz3_not_null;

/* Makers; NULL when the arena has no room. */
const struct type *type_make(struct arena *arena, enum type_kind kind, int32_t precision, int32_t scale, bool nullable);
const struct type *type_decimal(struct arena *arena, int32_t precision, int32_t scale, bool nullable);
const struct type *type_varchar(struct arena *arena, int32_t length, bool nullable);
const struct type *type_array(struct arena *arena, const struct type *element, bool nullable);
const struct type *type_multiset(struct arena *arena, const struct type *element, bool nullable);
const struct type *type_map(struct arena *arena, const struct type *key, const struct type *value, bool nullable);
const struct type *type_row(struct arena *arena, uint32_t count, const struct type *const *fields, const char *const *names, bool nullable);
const struct type *type_with_nullable(struct arena *arena, const struct type *type, bool nullable);
const struct type *type_copy(struct arena *arena, const struct type *type); /* deep */

bool type_equal(const struct type *left, const struct type *right);                   /* with nullability */
bool type_equal_ignoring_nullable(const struct type *left, const struct type *right); /* at the top level only */
bool type_same_shape(const struct type *left, const struct type *right);              /* nullability ignored at every level */
/* Flink's text: "DECIMAL(10, 2) NOT NULL", "ROW<`a` INT>", "TIMESTAMP(3)", "STRING". */
void type_print(const struct type *type, struct text_builder *out);
const char *type_to_text(struct arena *arena, const struct type *type);

static inline bool type_is_integer(const struct type *type)
{
    return type->kind >= TYPE_TINYINT && type->kind <= TYPE_BIGINT;
}
static inline bool type_is_exact(const struct type *type)
{
    return type_is_integer(type) || type->kind == TYPE_DECIMAL;
}
static inline bool type_is_approximate(const struct type *type)
{
    return type->kind == TYPE_FLOAT || type->kind == TYPE_DOUBLE;
}
static inline bool type_is_numeric(const struct type *type)
{
    return type_is_exact(type) || type_is_approximate(type);
}
static inline bool type_is_text(const struct type *type)
{
    return type->kind == TYPE_CHAR || type->kind == TYPE_VARCHAR;
}
static inline bool type_is_binary(const struct type *type)
{
    return type->kind == TYPE_BINARY || type->kind == TYPE_VARBINARY;
}
static inline bool type_is_timestamp(const struct type *type)
{
    return type->kind == TYPE_TIMESTAMP || type->kind == TYPE_TIMESTAMP_LTZ;
}
static inline bool type_is_interval(const struct type *type)
{
    return type->kind == TYPE_INTERVAL_MONTH || type->kind == TYPE_INTERVAL_DAY;
}

#endif
