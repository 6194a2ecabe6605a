#include <stdlib.h>
#include <string.h>

#include "connectors/datagen/datagen.h"
#include "connectors/table_options.h"

enum { LENGTH_DEFAULT = 100, COLLECTION_LENGTH_DEFAULT = 3, DEPTH_MAX = 16 };

static enum status field_make(struct arena *arena, const struct type *type, const char *path, uint32_t depth, struct datagen_field *field,
                              struct error *err)
{
    static const int64_t limits[][2] = {[TYPE_TINYINT] = {INT8_MIN, INT8_MAX},
                                        [TYPE_SMALLINT] = {INT16_MIN, INT16_MAX},
                                        [TYPE_INT] = {INT32_MIN, INT32_MAX},
                                        [TYPE_BIGINT] = {INT64_MIN, INT64_MAX}};
    bool container = type->kind == TYPE_ARRAY || type->kind == TYPE_MAP || type->kind == TYPE_MULTISET;
    if (depth == DEPTH_MAX) {
        return error_set(err, ERROR_TOO_DEEP, "field '%s' is nested more than %d deep", path, DEPTH_MAX);
    }
    if (type->kind == TYPE_NULL || type->kind == TYPE_VARIANT || type->kind == TYPE_BITMAP) {
        return error_set(err, ERROR_NOT_SUPPORTED, "field '%s': the source 'datagen' makes no %s", path, type_to_text(arena, type));
    }
    *field = (struct datagen_field){.type = type, .path = path, .used = true};
    field->length = container                                                                      ? COLLECTION_LENGTH_DEFAULT
                    : (type_is_text(type) || type_is_binary(type)) && type->precision < LENGTH_MAX ? type->precision
                                                                                                   : LENGTH_DEFAULT;
    if (type_is_integer(type)) {
        field->min_integer = limits[type->kind][0];
        field->max_integer = limits[type->kind][1];
    }
    if (container || type->kind == TYPE_ROW) {
        field->child_count = type->kind == TYPE_MULTISET ? 2 : type->child_count;
        TRY_ALLOC(field->children, arena_alloc(arena, (field->child_count + 1) * sizeof *field->children), err);
    }
    for (uint32_t i = 0; i < field->child_count; i++) {
        const char *name = type->kind == TYPE_ROW ? type->names[i] : type->kind == TYPE_MAP ? (i == 0 ? "key" : "value") : "element";
        const char *child_path;
        TRY_ALLOC(child_path, arena_format(arena, "%s.%s", path, name), err);
        TRY(field_make(arena, type->kind == TYPE_MULTISET && i == 1 ? &type_int_not_null : type->children[i], child_path, depth + 1,
                       &field->children[i], err));
    }
    if (type->kind == TYPE_MULTISET) {
        field->children[1].min_integer = field->children[1].max_integer = 1;
    }
    return STATUS_OK;
}

static enum status wrong(const char *key, const char *what, const char *value, struct error *err)
{
    return error_set(err, ERROR_INVALID_OPTION, "option '%s' is %s, not '%s'", key, what, value);
}

static bool read_integer(const char *value, int64_t *result)
{
    char *end;
    *result = strtoll(value, &end, 10);
    return end != value && *end == '\0';
}

static enum status set_number(const char *key, const char *value, double *number, int64_t *integer, struct error *err)
{
    char *end;
    *number = strtod(value, &end);
    if (end == value || *end != '\0') {
        return wrong(key, "a number", value, err);
    }
    if (!read_integer(value, integer)) {
        *integer = (int64_t)*number;
    }
    return STATUS_OK;
}

static enum status set_bounded(const char *key, const char *value, struct datagen_field *field, bool lower, struct error *err)
{
    int64_t integer;
    double number;
    TRY(set_number(key, value, &number, &integer, err));
    if (type_is_integer(field->type)) {
        if (integer < (lower ? field->min_integer : INT64_MIN) || integer > (lower ? INT64_MAX : field->max_integer)) {
            return wrong(key, "a value of the column's type", value, err);
        }
        *(lower ? &field->min_integer : &field->max_integer) = integer;
    }
    *(lower ? &field->min : &field->max) = number;
    *(lower ? &field->has_min : &field->has_max) = true;
    return STATUS_OK;
}

static enum status set_attribute(struct datagen_field *field, const char *attribute, const char *key, const char *value, struct error *err)
{
    static const char *const names[] = {"kind", "min", "max", "length", "start", "end", "null-rate", "var-len", "max-past"};
    struct duration past;
    int64_t ignored;
    if (strcmp(attribute, "kind") == 0) {
        field->sequence = strcmp(value, "sequence") == 0;
        return field->sequence || strcmp(value, "random") == 0 ? STATUS_OK : wrong(key, "'random' or 'sequence'", value, err);
    }
    if (strcmp(attribute, "min") == 0 || strcmp(attribute, "max") == 0) {
        return set_bounded(key, value, field, attribute[1] == 'i', err);
    }
    if (strcmp(attribute, "length") == 0) {
        field->has_length = true;
        return read_integer(value, &field->length) && field->length >= 0 && field->length <= STRING_LENGTH_MAX
                   ? STATUS_OK
                   : wrong(key, "a length", value, err);
    }
    if (strcmp(attribute, "start") == 0) {
        field->has_start = true;
        return read_integer(value, &field->start) ? STATUS_OK : wrong(key, "a whole number", value, err);
    }
    if (strcmp(attribute, "end") == 0) {
        field->has_end = true;
        return read_integer(value, &field->end) ? STATUS_OK : wrong(key, "a whole number", value, err);
    }
    if (strcmp(attribute, "null-rate") == 0) {
        TRY(set_number(key, value, &field->null_rate, &ignored, err));
        return field->null_rate >= 0 && field->null_rate <= 1 ? STATUS_OK : wrong(key, "between 0 and 1", value, err);
    }
    if (strcmp(attribute, "var-len") == 0) {
        field->var_len = strcmp(value, "true") == 0;
        return field->var_len || strcmp(value, "false") == 0 ? STATUS_OK : wrong(key, "'true' or 'false'", value, err);
    }
    if (strcmp(attribute, "max-past") == 0) {
        TRY(duration_parse(value, &past, err));
        field->max_past_us = past.us;
        return STATUS_OK;
    }
    const char *nearest = text_nearest(attribute, names, ARRAY_LENGTH(names));
    return error_set(err, ERROR_UNKNOWN_OPTION,
                     "there is no option '%s'; a field has kind, min, max, length, start, end, null-rate, var-len, max-past%s%s%s", key,
                     nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
}

/* The field that the path begins with; *rest is the attribute after it. */
static struct datagen_field *find_field(struct datagen_field *fields, uint32_t count, const char *path, const char **rest)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(fields[i].path);
        if (strncmp(fields[i].path, path, length) == 0 && path[length] == '.') {
            struct datagen_field *child = find_field(fields[i].children, fields[i].child_count, path, rest);
            if (child != NULL) {
                return child;
            }
            *rest = path + length + 1;
            return &fields[i];
        }
    }
    return NULL;
}

static enum status check_field(const struct datagen_field *field, struct error *err)
{
    if (field->sequence) {
        bool fits = type_is_numeric(field->type) || type_is_text(field->type);
        if (!fits) {
            return error_set(err, ERROR_NOT_SUPPORTED, "field '%s': a sequence makes numbers and texts only", field->path);
        }
        if (!field->has_start || !field->has_end) {
            return error_set(err, ERROR_MISSING_OPTION, "the option 'fields.%s.%s' is missing: the field is a sequence", field->path,
                             field->has_start ? "end" : "start");
        }
        if (field->start > field->end) {
            return error_set(err, ERROR_INVALID_OPTION, "'fields.%s.start' is greater than 'fields.%s.end'", field->path, field->path);
        }
    }
    bool crossed = type_is_integer(field->type) ? field->min_integer > field->max_integer
                                                : field->has_min && field->has_max && field->min > field->max;
    if (crossed) {
        return error_set(err, ERROR_INVALID_OPTION, "'fields.%s.min' is greater than 'fields.%s.max'", field->path, field->path);
    }
    for (uint32_t i = 0; i < field->child_count; i++) {
        TRY(check_field(&field->children[i], err));
    }
    return STATUS_OK;
}

/* The columns that are read first, then the others of the table: their options may be there, too. */
static enum status all_fields(const struct source_context *context, struct arena *arena, struct datagen_field **fields, uint32_t *count,
                              struct error *err)
{
    uint32_t others = context->physical == NULL ? 0 : context->physical->child_count;
    TRY_ALLOC(*fields, arena_alloc(arena, (context->column_count + others + 1) * sizeof **fields), err);
    *count = context->column_count;
    for (uint32_t i = 0; i < context->column_count; i++) {
        if (context->columns[i].metadata_key != NULL) {
            return error_set(err, ERROR_INVALID_DEFINITION, "column '%s': the source 'datagen' has no metadata", context->columns[i].name);
        }
        TRY(field_make(arena, context->columns[i].type, context->columns[i].name, 0, &(*fields)[i], err));
    }
    for (uint32_t i = 0; i < others; i++) {
        uint32_t at = 0;
        while (at < context->column_count && strcmp(context->columns[at].name, context->physical->names[i]) != 0) {
            at++;
        }
        if (at == context->column_count) {
            TRY(field_make(arena, context->physical->children[i], context->physical->names[i], 0, &(*fields)[(*count)++], err));
        }
    }
    return STATUS_OK;
}

enum status datagen_fields_make(const struct source_context *context, struct arena *arena, struct datagen_field **fields, struct error *err)
{
    uint32_t count = 0;
    TRY(all_fields(context, arena, fields, &count, err));
    for (uint32_t i = 0; i < context->options->count; i++) {
        const char *key = context->options->keys[i], *attribute;
        if (strncmp(key, "fields.", 7) != 0) {
            continue;
        }
        struct datagen_field *field = find_field(*fields, count, key + 7, &attribute);
        if (field == NULL) {
            return error_set(err, ERROR_UNKNOWN_OPTION, "option '%s': the table has no such column", key);
        }
        TRY(set_attribute(field, attribute, key, context->options->values[i], err));
    }
    for (uint32_t i = 0; i < count; i++) {
        TRY(check_field(&(*fields)[i], err));
    }
    return STATUS_OK;
}
