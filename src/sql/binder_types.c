/* Types as written: names, ranges of lengths and precisions, defaults. */
#include "sql/binder_internal.h"

#include <string.h>

/* name, kind, which parameters it takes, their bounds and defaults */
enum parameters { TAKES_NONE, TAKES_LENGTH, TAKES_FRACTION, TAKES_DECIMAL, TAKES_INTERVAL };
static const struct type_name {
    const char *name;
    enum type_kind kind;
    enum parameters parameters;
    int32_t fallback; /* -1: LENGTH_MAX */
} type_names[] = {
    {"NULL", TYPE_NULL, TAKES_NONE, 0},
    {"BOOLEAN", TYPE_BOOLEAN, TAKES_NONE, 0},
    {"TINYINT", TYPE_TINYINT, TAKES_NONE, 0},
    {"SMALLINT", TYPE_SMALLINT, TAKES_NONE, 0},
    {"INT", TYPE_INT, TAKES_NONE, 0},
    {"INTEGER", TYPE_INT, TAKES_NONE, 0},
    {"BIGINT", TYPE_BIGINT, TAKES_NONE, 0},
    {"FLOAT", TYPE_FLOAT, TAKES_NONE, 0},
    {"DOUBLE", TYPE_DOUBLE, TAKES_NONE, 0},
    {"DECIMAL", TYPE_DECIMAL, TAKES_DECIMAL, 10},
    {"DEC", TYPE_DECIMAL, TAKES_DECIMAL, 10},
    {"NUMERIC", TYPE_DECIMAL, TAKES_DECIMAL, 10},
    {"CHAR", TYPE_CHAR, TAKES_LENGTH, 1},
    {"VARCHAR", TYPE_VARCHAR, TAKES_LENGTH, -1},
    {"STRING", TYPE_VARCHAR, TAKES_NONE, -1},
    {"BINARY", TYPE_BINARY, TAKES_LENGTH, 1},
    {"VARBINARY", TYPE_VARBINARY, TAKES_LENGTH, -1},
    {"BYTES", TYPE_VARBINARY, TAKES_NONE, -1},
    {"DATE", TYPE_DATE, TAKES_NONE, 0},
    {"TIME", TYPE_TIME, TAKES_FRACTION, 0},
    {"TIMESTAMP", TYPE_TIMESTAMP, TAKES_FRACTION, 6},
    {"TIMESTAMP_LTZ", TYPE_TIMESTAMP_LTZ, TAKES_FRACTION, 6},
    {"INTERVAL_MONTH", TYPE_INTERVAL_MONTH, TAKES_INTERVAL, 2},
    {"INTERVAL_DAY", TYPE_INTERVAL_DAY, TAKES_INTERVAL, 2},
    {"VARIANT", TYPE_VARIANT, TAKES_NONE, 0},
    {"BITMAP", TYPE_BITMAP, TAKES_NONE, 0},
};

static enum status refuse_range(const struct ast_type *ast, const char *what, int32_t value, int32_t low, int32_t high, struct error *err)
{
    return bind_refuse(&ast->at, ERROR_INVALID_DEFINITION, err, "the %s of %s must be between %d and %d, not %d", what, ast->name, low,
                       high, value);
}

static enum status bind_simple(struct arena *arena, const struct ast_type *ast, const struct type_name *name, const struct type **type,
                               struct error *err)
{
    int32_t precision = ast->precision >= 0 ? ast->precision : name->fallback < 0 ? LENGTH_MAX : name->fallback;
    int32_t scale = ast->scale >= 0 ? ast->scale : name->parameters == TAKES_INTERVAL && name->kind == TYPE_INTERVAL_DAY ? 6 : 0;
    switch (name->parameters) {
    case TAKES_LENGTH:
        if (precision < 1) {
            return refuse_range(ast, "length", precision, 1, LENGTH_MAX, err);
        }
        break;
    case TAKES_FRACTION:
        if (precision > 9) {
            return refuse_range(ast, "precision", precision, 0, 9, err);
        }
        break;
    case TAKES_DECIMAL:
        if (precision < 1 || precision > DECIMAL_PRECISION_MAX) {
            return refuse_range(ast, "precision", precision, 1, DECIMAL_PRECISION_MAX, err);
        }
        if (scale > precision) {
            return refuse_range(ast, "scale", scale, 0, precision, err);
        }
        break;
    case TAKES_NONE:
        precision = name->fallback < 0 ? LENGTH_MAX : 0;
        break;
    case TAKES_INTERVAL:
        break;
    }
    TRY_ALLOC(*type, type_make(arena, name->kind, precision, scale, ast->nullable), err);
    return STATUS_OK;
}

static enum status bind_nested(struct arena *arena, const struct ast_type *ast, const struct type **type, uint32_t depth,
                               struct error *err);

static enum status bind_children(struct arena *arena, const struct ast_type *ast, const struct type ***children, uint32_t depth,
                                 struct error *err)
{
    TRY_ALLOC(*children, arena_alloc(arena, (ast->child_count + 1) * sizeof **children), err);
    for (uint32_t i = 0; i < ast->child_count; i++) {
        TRY(bind_nested(arena, ast->children[i], &(*children)[i], depth + 1, err));
    }
    return STATUS_OK;
}

static enum status bind_row_type(struct arena *arena, const struct ast_type *ast, const struct type *const *children,
                                 const struct type **type, struct error *err)
{
    const char **names;
    TRY_ALLOC(names, arena_alloc(arena, (ast->child_count + 1) * sizeof *names), err);
    for (uint32_t i = 0; i < ast->child_count; i++) {
        TRY_ALLOC(names[i], arena_text(arena, ast->field_names[i], strlen(ast->field_names[i])), err);
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(names[i], names[j]) == 0) {
                return bind_refuse(&ast->at, ERROR_INVALID_DEFINITION, err, "ROW has two fields '%s'", names[i]);
            }
        }
    }
    TRY_ALLOC(*type, type_row(arena, ast->child_count, children, names, ast->nullable), err);
    return STATUS_OK;
}

static enum status bind_nested(struct arena *arena, const struct ast_type *ast, const struct type **type, uint32_t depth, struct error *err)
{
    if (depth >= TYPE_DEPTH_MAX) {
        return bind_refuse(&ast->at, ERROR_TOO_DEEP, err, "the type nests more than %d levels", TYPE_DEPTH_MAX);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(type_names); i++) {
        if (strcmp(ast->name, type_names[i].name) == 0) {
            return bind_simple(arena, ast, &type_names[i], type, err);
        }
    }
    const struct type **children;
    TRY(bind_children(arena, ast, &children, depth, err));
    if (strcmp(ast->name, "ARRAY") == 0 && ast->child_count == 1) {
        TRY_ALLOC(*type, type_array(arena, children[0], ast->nullable), err);
    } else if (strcmp(ast->name, "MULTISET") == 0 && ast->child_count == 1) {
        TRY_ALLOC(*type, type_multiset(arena, children[0], ast->nullable), err);
    } else if (strcmp(ast->name, "MAP") == 0 && ast->child_count == 2) {
        TRY_ALLOC(*type, type_map(arena, children[0], children[1], ast->nullable), err);
    } else if (strcmp(ast->name, "ROW") == 0) {
        return bind_row_type(arena, ast, children, type, err);
    } else {
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "type %s is not supported", ast->name);
    }
    return STATUS_OK;
}

enum status bind_type(struct arena *arena, const struct ast_type *ast, const struct type **type, struct error *err)
{
    return bind_nested(arena, ast, type, 0, err);
}
