/* Types as Arrow's format strings. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/arrow.h"

/* What a schema owns; children are in one block each. */
struct owned_schema {
    char format[48];
    char *name;
    struct ArrowSchema **children;
};

static void schema_release(struct ArrowSchema *schema)
{
    struct owned_schema *owned = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i] != NULL && schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
        free(schema->children[i]);
    }
    free(owned->children);
    free(owned->name);
    free(owned);
    schema->release = NULL;
}

static const char *timestamp_unit(int32_t precision)
{
    return precision <= 3 ? "tsm" : precision <= 6 ? "tsu" : "tsn";
}

static void print_format(const struct type *type, char *out, size_t size)
{
    static const char *const fixed[TYPE_KIND_COUNT] = {
        [TYPE_NULL] = "n",           [TYPE_BOOLEAN] = "b",    [TYPE_TINYINT] = "c",   [TYPE_SMALLINT] = "s", [TYPE_INT] = "i",
        [TYPE_BIGINT] = "l",         [TYPE_FLOAT] = "f",      [TYPE_DOUBLE] = "g",    [TYPE_CHAR] = "vu",    [TYPE_VARCHAR] = "vu",
        [TYPE_BINARY] = "vz",        [TYPE_VARBINARY] = "vz", [TYPE_DATE] = "tdD",    [TYPE_TIME] = "ttm",   [TYPE_INTERVAL_MONTH] = "tiM",
        [TYPE_INTERVAL_DAY] = "tDu", [TYPE_ARRAY] = "+vl",    [TYPE_MULTISET] = "+m", [TYPE_MAP] = "+m",     [TYPE_ROW] = "+s",
        [TYPE_VARIANT] = "vz",       [TYPE_BITMAP] = "vz",
    };
    if (type->kind == TYPE_DECIMAL) {
        snprintf(out, size, "d:%" PRId32 ",%" PRId32, type->precision, type->scale);
    } else if (type_is_timestamp(type)) {
        snprintf(out, size, "%s:%s", timestamp_unit(type->precision), type->kind == TYPE_TIMESTAMP_LTZ ? "UTC" : "");
    } else {
        snprintf(out, size, "%s", fixed[type->kind]);
    }
}

static enum status schema_fill(const struct type *type, const char *name, struct ArrowSchema *schema, uint32_t depth, struct error *err);

static enum status add_children(struct ArrowSchema *schema, const struct type *const *types, const char *const *names, uint32_t count,
                                uint32_t depth, struct error *err)
{
    struct owned_schema *owned = schema->private_data;
    owned->children = calloc(count + 1, sizeof *owned->children);
    if (owned->children == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for an Arrow schema");
    }
    schema->children = owned->children;
    for (uint32_t i = 0; i < count; i++) {
        schema->children[i] = calloc(1, sizeof *schema->children[i]);
        if (schema->children[i] == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for an Arrow schema");
        }
        schema->n_children = i + 1;
        TRY(schema_fill(types[i], names[i], schema->children[i], depth + 1, err));
    }
    return STATUS_OK;
}

/* A map's child is a struct of key and value; the key has no NULLs in Arrow. */
static enum status add_entries(const struct type *type, struct ArrowSchema *schema, uint32_t depth, struct error *err)
{
    static const char *const names[] = {"key", "value"}, *const entries_name[] = {"entries"};
    struct type key = *type->children[0];
    key.nullable = false;
    const struct type *fields[] = {&key, type->kind == TYPE_MULTISET ? &type_int_not_null : type->children[1]};
    const struct type entries = {.kind = TYPE_ROW, .child_count = 2, .children = fields, .names = names}, *child = &entries;
    return add_children(schema, &child, entries_name, 1, depth, err);
}

static enum status schema_fill(const struct type *type, const char *name, struct ArrowSchema *schema, uint32_t depth, struct error *err)
{
    static const char *const item[] = {"item"};
    *schema = (struct ArrowSchema){.flags = type->nullable ? ARROW_FLAG_NULLABLE : 0};
    struct owned_schema *owned = calloc(1, sizeof *owned);
    if (owned == NULL || depth > TYPE_DEPTH_MAX) {
        free(owned);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for an Arrow schema of this depth");
    }
    schema->private_data = owned;
    schema->release = schema_release;
    owned->name = strdup(name);
    if (owned->name == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for an Arrow schema");
    }
    print_format(type, owned->format, sizeof owned->format);
    schema->format = owned->format;
    schema->name = owned->name;
    switch (type->kind) {
    case TYPE_ARRAY:
        return add_children(schema, type->children, item, 1, depth, err);
    case TYPE_MAP:
    case TYPE_MULTISET:
        return add_entries(type, schema, depth, err);
    case TYPE_ROW:
        return add_children(schema, type->children, type->names, type->child_count, depth, err);
    default:
        return STATUS_OK;
    }
}

enum status arrow_export_schema(const struct type *row_type, struct ArrowSchema *schema, struct error *err)
{
    enum status status = schema_fill(row_type, "", schema, 0, err);
    if (status != STATUS_OK && schema->release != NULL) {
        schema->release(schema);
    }
    return status;
}
