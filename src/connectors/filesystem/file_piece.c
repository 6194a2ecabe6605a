/* Which piece a file is of, when several processes share a table: see filesystem_reader.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "connectors/filesystem/filesystem_reader.h"
#include "data/order.h"

enum { NUMBERS_IN_TURN = 128 };

/* Neighbours in turn. Not farther: numbers that have a step (100, 200, ...) would all come to few pieces. */
static uint64_t number_key(uint64_t number)
{
    return hash_uint64(number / NUMBERS_IN_TURN) + number % NUMBERS_IN_TURN;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Its last number, and a hash of what is around that. */
static uint64_t name_key(struct text name)
{
    size_t end = name.length, begin;
    uint64_t number = 0;
    while (end > 0 && !is_digit(name.bytes[end - 1])) {
        end--;
    }
    for (begin = end; begin > 0 && is_digit(name.bytes[begin - 1]);) {
        begin--;
    }
    for (size_t i = begin; i < end; i++) {
        number = number * 10 + (uint64_t)(name.bytes[i] - '0');
    }
    uint64_t around = hash_combine(hash_bytes(name.bytes, begin), hash_bytes(name.bytes + end, name.length - end));
    return begin == end ? around : around + number_key(number);
}

/* Equal values (data/order.h) have equal keys. */
static uint64_t value_key(const struct vector *value)
{
    if (!vector_is_valid(value, 0)) {
        return HASH_NULL;
    }
    if (type_is_text(value->type)) {
        return name_key(vector_get_text(value, 0));
    }
    bool counts = type_is_integer(value->type) || value->type->kind == TYPE_DATE;
    return counts ? number_key((uint64_t)vector_get_integer(value, 0)) : vector_hash_row(value, 0);
}

/* *found false: the file lies in no folder of the column, or of no value of it. */
static enum status column_key(const struct filesystem_source *source, const char *path, uint32_t column, uint64_t *key, bool *found,
                              struct error *err)
{
    const char *name = source->context.partition_columns[column];
    struct vector value;
    char *text;
    *found = partition_path_value(source->root, path, name, &text);
    if (!*found) {
        return STATUS_OK;
    }
    bool is_null = strcmp(text, source->settings.default_partition_name) == 0;
    enum status status =
        partition_value_vector(source->context.budget, source->context.partition_types[column], name, is_null ? NULL : text, &value, err);
    free(text);
    *found = status == STATUS_OK;
    if (status == STATUS_OK) {
        *key = hash_uint64(*key) + value_key(&value);
        vector_release(&value);
    }
    return status == STATUS_BAD_RECORD ? STATUS_OK : status;
}

/* A file that is in no partition counts by its path: the one that reads it says what is wrong with it. */
static enum status file_key(const struct filesystem_source *source, const char *path, uint64_t *key, struct error *err)
{
    bool found = source->context.partition_count > 0;
    *key = 0;
    for (uint32_t i = 0; i < source->context.partition_count && found; i++) {
        TRY(column_key(source, path, i, key, &found, err));
    }
    *key = found ? *key : name_key(text_from(filesystem_relative_path(source, path)));
    return STATUS_OK;
}

/* Brings the piece's files to the front, in their order. */
static enum status sort_out(const struct filesystem_source *source, struct file_list *list, size_t *mine, struct error *err)
{
    *mine = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct file_entry entry = list->entries[i];
        uint64_t key;
        TRY(file_key(source, entry.path, &key, err));
        if (key % source->context.pieces == source->context.piece) {
            list->entries[i] = list->entries[*mine];
            list->entries[(*mine)++] = entry;
        }
    }
    return STATUS_OK;
}

enum status filesystem_keep_piece(const struct filesystem_source *source, struct file_list *list, struct error *err)
{
    size_t mine;
    if (source->context.pieces <= 1) {
        return STATUS_OK;
    }
    enum status status = sort_out(source, list, &mine, err);
    if (status != STATUS_OK) {
        file_list_clear(list);
        return status;
    }
    for (size_t i = mine; i < list->count; i++) {
        free(list->entries[i].path);
    }
    list->count = mine;
    return STATUS_OK;
}

static int compare_keys(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static enum status count_values(const struct filesystem_source *source, uint32_t *count, struct error *err)
{
    size_t files = source->files.count;
    uint64_t *keys;
    TRY_ALLOC(keys, malloc((files + 1) * sizeof *keys), err);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < files && status == STATUS_OK; i++) {
        status = file_key(source, source->files.entries[i].path, &keys[i], err);
    }
    if (status == STATUS_OK) {
        qsort(keys, files, sizeof *keys, compare_keys);
    }
    for (size_t i = 0; i < files; i++) {
        *count += i == 0 || keys[i] != keys[i - 1];
    }
    free(keys);
    return status;
}

enum status filesystem_divide(struct source *source, struct source_division *division, struct error *err)
{
    const struct filesystem_source *self = (const struct filesystem_source *)source;
    *division = (struct source_division){.parts = "files", .by_values = self->context.partition_count > 0, .grows = self->followed};
    if (!self->followed && !self->settings.partition_by_file) {
        division->whole = "is read file by file, in the order of their paths ('source.partition-by-file' = 'true' lets each be read alone)";
        return STATUS_OK;
    }
    if (division->by_values) {
        return count_values(self, &division->count, err);
    }
    division->count = (uint32_t)self->files.count;
    return STATUS_OK;
}
