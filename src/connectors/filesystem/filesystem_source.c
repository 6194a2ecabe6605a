/* The file source: which columns come from where, and which files there are. */
#include <stdlib.h>
#include <string.h>

#include "connectors/filesystem/filesystem_reader.h"

static int32_t metadata_find(const char *key)
{
    static const char *const keys[] = {"file.path", "file.name", "file.size", "file.modification-time"};
    for (int32_t i = 0; i < (int32_t)ARRAY_LENGTH(keys); i++) {
        if (strcmp(keys[i], key) == 0) {
            return i;
        }
    }
    return -1;
}

static enum status check_metadata(const struct source_column *column, struct output_column *output, struct error *err)
{
    int32_t found = metadata_find(column->metadata_key);
    if (found < 0) {
        return error_set(
            err, ERROR_INVALID_DEFINITION,
            "column '%s': files have no metadata '%s'; they have 'file.path', 'file.name', 'file.size', 'file.modification-time'",
            column->name, column->metadata_key);
    }
    bool fits = found <= METADATA_NAME ? type_is_text(column->type)
                                       : column->type->kind == (found == METADATA_SIZE ? TYPE_BIGINT : TYPE_TIMESTAMP_LTZ);
    if (!fits) {
        return error_set(err, ERROR_INVALID_DEFINITION, "column '%s': the metadata '%s' is %s", column->name, column->metadata_key,
                         found <= METADATA_NAME   ? "a STRING"
                         : found == METADATA_SIZE ? "a BIGINT"
                                                  : "a TIMESTAMP_LTZ(3)");
    }
    *output = (struct output_column){ORIGIN_METADATA, (uint32_t)found};
    return STATUS_OK;
}

static int32_t partition_find(const struct source_context *context, const char *name)
{
    for (uint32_t i = 0; i < context->partition_count; i++) {
        if (strcmp(context->partition_columns[i], name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* The columns that are in the records, of the table's order: all that are neither metadata nor in the folders' names. */
static enum status record_columns(struct filesystem_source *self, struct arena *arena, struct error *err)
{
    const struct source_context *context = &self->context;
    uint32_t total = context->physical != NULL ? context->physical->child_count : context->column_count, count = 0;
    const char **names;
    const struct type **types;
    struct projection *projections;
    TRY_ALLOC(names, arena_alloc(arena, (total + 1) * sizeof *names), err);
    TRY_ALLOC(types, arena_alloc(arena, (total + 1) * sizeof *types), err);
    TRY_ALLOC(projections, arena_alloc(arena, (total + 1) * sizeof *projections), err);
    for (uint32_t i = 0; i < total; i++) {
        const char *name = context->physical != NULL ? context->physical->names[i] : context->columns[i].name;
        bool metadata = context->physical == NULL && context->columns[i].metadata_key != NULL;
        if (!metadata && partition_find(context, name) < 0) {
            names[count] = name;
            types[count++] = context->physical != NULL ? context->physical->children[i] : context->columns[i].type;
        }
    }
    for (uint32_t i = 0; i < context->column_count; i++) {
        const struct source_column *column = &context->columns[i];
        int32_t partition = column->metadata_key == NULL ? partition_find(context, column->name) : -1;
        self->constant_outputs = self->constant_outputs || column->metadata_key != NULL || partition >= 0;
        if (column->metadata_key != NULL) {
            TRY(check_metadata(column, &self->outputs[i], err));
            if (!self->base.bounded && self->outputs[i].index >= METADATA_SIZE) {
                self->base.other_again = "size and time of a file that grows";
            }
        } else if (partition >= 0) {
            self->outputs[i] = (struct output_column){ORIGIN_PARTITION, (uint32_t)partition};
        } else {
            uint32_t at = 0;
            while (at < count && strcmp(names[at], column->name) != 0) {
                at++;
            }
            if (at == count) {
                return error_set(err, ERROR_INTERNAL, "the column '%s' is not one of the table", column->name);
            }
            self->outputs[i] = (struct output_column){ORIGIN_RECORD, at};
            projections[at] = context->projections != NULL ? context->projections[i] : (struct projection){.used = true, .whole = true};
        }
    }
    TRY_ALLOC(self->format.row, type_row(arena, count, types, names, false), err);
    self->format.projections = projections;
    return STATUS_OK;
}

/* Opens the decoder once, so that wrong options and types fail when the statement is planned. */
static enum status try_decoder(struct filesystem_source *self, struct error *err)
{
    struct decoder *decoder;
    TRY(table_options_open_decoder(self->context.options, &self->format, &decoder, err));
    self->base.changes = decoder->type->carries_changes;
    decoder->type->close(decoder);
    return STATUS_OK;
}

static enum status list_files(struct filesystem_source *self, struct error *err)
{
    TRY(file_list_scan(&self->files, self->root, self->settings.path_pattern, err));
    TRY(filesystem_keep_piece(self, &self->files, err));
    uint64_t total = 0;
    for (size_t i = 0; i < self->files.count; i++) {
        total += self->files.entries[i].size;
    }
    if (self->context.counters != NULL && self->base.bounded) {
        atomic_store_explicit(&self->context.counters->bytes_total, total, memory_order_relaxed);
    }
    if (self->by_file) {
        if (self->files.count > UINT32_MAX / 2) {
            return error_set(err, ERROR_TOO_MANY, "'%s' has more than %u files", self->root, UINT32_MAX / 2);
        }
        self->base.partition_count = (uint32_t)self->files.count;
    }
    return STATUS_OK;
}

static enum status filesystem_source_open(const struct source_context *context, const void *settings, struct source **source,
                                          struct error *err)
{
    struct filesystem_source *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &filesystem_source_type;
    self->context = *context;
    self->settings = *(const struct filesystem_settings *)settings;
    self->followed = self->settings.monitor_interval.us > 0;
    self->base.bounded = !self->followed || context->until_end;
    self->base.partition_count = 1;
    self->by_file = self->settings.partition_by_file && context->pieces == 0;
    if (self->followed && self->settings.partition_by_file) {
        return error_set(err, ERROR_NOT_SUPPORTED, "'source.partition-by-file' and 'source.monitor-interval' exclude each other");
    }
    TRY(filesystem_local_path(self->settings.path, context->arena, &self->root, err));
    TRY_ALLOC(self->outputs, arena_alloc(context->arena, (context->column_count + 1) * sizeof *self->outputs), err);
    self->format = (struct format_context){.arena = context->arena, .budget = context->budget, .zone = context->zone};
    TRY(record_columns(self, context->arena, err));
    TRY(try_decoder(self, err));
    TRY(list_files(self, err));
    *source = &self->base;
    return STATUS_OK;
}

static void filesystem_source_close(struct source *source)
{
    file_list_clear(&((struct filesystem_source *)source)->files);
}

const struct source_type filesystem_source_type = {
    .name = "filesystem",
    .summary = "A file or a folder of files, .gz and .zst unpacked.",
    .options = filesystem_options,
    .option_count = FILESYSTEM_OPTION_COUNT,
    .settings_bytes = sizeof(struct filesystem_settings),
    .traits = SOURCE_BOUNDED | SOURCE_REPLAYABLE | SOURCE_LOOKUP,
    .open = filesystem_source_open,
    .reader_open = filesystem_reader_open,
    .read = filesystem_read,
    .reader_close = filesystem_reader_close,
    .close = filesystem_source_close,
    .position = filesystem_position,
    .history = filesystem_history,
    .seek = filesystem_seek,
    .present = filesystem_present,
    .lead = filesystem_lead,
    .divide = filesystem_divide,
};
