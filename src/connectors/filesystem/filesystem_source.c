/* The file source. A reader walks its files in order; each is read in blocks of about a MiB, decoded where they lie: strings of
 * the rows are views into the block, which lives as long as they do. What is left of a block, the beginning of a record, is
 * carried to the front of the next. Blocks that nobody looks at any more are used again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connectors/error_policy.h"
#include "connectors/filesystem/filesystem.h"

enum {
    BLOCK_BYTES = 1 << 19,
    BLOCK_SMALLEST = 1 << 14,
    BLOCK_SLACK = 64, /* the JSON decoder reads ahead */
    RECORD_BYTES_MAX = 1 << 28,
    BLOCKS_KEPT = 8,
    BLOCKS_PER_BATCH = 3,
};

enum column_origin { ORIGIN_RECORD, ORIGIN_PARTITION, ORIGIN_METADATA };
enum metadata { METADATA_PATH, METADATA_NAME, METADATA_SIZE, METADATA_TIME };
struct output_column {
    enum column_origin origin;
    uint32_t index; /* of the record's column; of the partition column; enum metadata */
};

struct filesystem_source {
    struct source base;
    struct source_context context;
    struct filesystem_settings settings;
    const char *root;
    struct format_context format; /* row and projections of the record */
    struct output_column *outputs;
    bool constant_outputs;
    struct file_list files; /* a bounded source: all of them */
};

struct filesystem_reader {
    struct reader base;
    const struct filesystem_source *source;
    struct arena *arena;
    struct decoder *decoder;
    struct error_reporter reporter;
    struct file_list files; /* an unbounded source: those of the last scan */
    size_t next_file, end_file;
    int64_t next_scan_us;
    struct file_entry *entry; /* the open file */
    bool follows;             /* it may grow: the line at its end is held back until it has its line end */
    struct file_stream *stream;
    bool stream_ended;
    struct vector *constants; /* per output column that is one, a row */
    char label[512];
    struct buffer *blocks[BLOCKS_KEPT]; /* the current one is among them */
    struct buffer *block;
    char *bytes;
    size_t used, filled, capacity;
    bool starved; /* the rest of the block is no whole record */
    int64_t rows;
};

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
    uint64_t total = 0;
    for (size_t i = 0; i < self->files.count; i++) {
        total += self->files.entries[i].size;
    }
    if (self->context.counters != NULL && self->base.bounded) {
        atomic_store_explicit(&self->context.counters->bytes_total, total, memory_order_relaxed);
    }
    if (self->settings.partition_by_file) {
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
    self->base.bounded = self->settings.monitor_interval.us == 0;
    self->base.partition_count = 1;
    if (!self->base.bounded && self->settings.partition_by_file) {
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

static void filesystem_reader_close(struct reader *reader)
{
    struct filesystem_reader *self = (struct filesystem_reader *)reader;
    file_stream_close(self->stream);
    for (uint32_t i = 0; i < self->source->context.column_count; i++) {
        vector_release(&self->constants[i]);
    }
    for (uint32_t i = 0; i < BLOCKS_KEPT; i++) {
        buffer_unref(self->blocks[i]);
    }
    file_list_clear(&self->files);
    if (self->decoder != NULL) {
        self->decoder->type->close(self->decoder);
    }
    arena_destroy(self->arena);
}

static enum status filesystem_reader_open(struct source *source, uint32_t partition, struct reader **reader, struct error *err)
{
    struct filesystem_source *owner = (struct filesystem_source *)source;
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(owner->context.budget, "reader"), err);
    struct filesystem_reader *self = arena_alloc(arena, sizeof *self);
    if (self != NULL) {
        self->constants = arena_alloc(arena, (owner->context.column_count + 1) * sizeof *self->constants);
    }
    if (self == NULL || self->constants == NULL) {
        arena_destroy(arena);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a reader");
    }
    *self = (struct filesystem_reader){.base = {source, partition}, .source = owner, .arena = arena, .constants = self->constants};
    if (owner->settings.partition_by_file) {
        self->next_file = partition;
        self->end_file = (size_t)partition + 1;
    } else {
        self->end_file = owner->base.bounded ? owner->files.count : 0;
    }
    struct format_context format = owner->format;
    format.arena = arena;
    struct source_context context = owner->context;
    context.arena = arena;
    enum status status = table_options_open_decoder(owner->context.options, &format, &self->decoder, err);
    if (status == STATUS_OK) {
        status = error_reporter_init(&self->reporter, &context, err);
        self->reporter.context = &owner->context;
    }
    if (status != STATUS_OK) {
        filesystem_reader_close(&self->base);
        return status;
    }
    *reader = &self->base;
    return STATUS_OK;
}

static enum status constant_value(struct filesystem_reader *self, const struct source_column *column, const struct output_column *output,
                                  struct vector *vector, struct error *err)
{
    const struct filesystem_source *source = self->source;
    struct budget *budget = source->context.budget;
    if (output->origin == ORIGIN_PARTITION) {
        const char *key = source->context.partition_columns[output->index];
        char *value;
        if (!partition_path_value(source->root, self->entry->path, key, &value)) {
            return error_set(err, ERROR_RECORD_UNREADABLE, "the file lies in no folder '%s=...'", key);
        }
        bool is_null = strcmp(value, source->settings.default_partition_name) == 0;
        enum status status = partition_value_vector(budget, column->type, key, is_null ? NULL : value, vector, err);
        free(value);
        return status;
    }
    if (output->index <= METADATA_NAME) {
        return partition_value_vector(budget, column->type, column->name,
                                      output->index == METADATA_PATH ? self->entry->path : self->entry->name, vector, err);
    }
    TRY(vector_create(budget, column->type, 1, vector, err));
    int64_t value = output->index == METADATA_SIZE ? (int64_t)self->entry->size : self->entry->modified_us / 1000 * 1000;
    if (vector->physical == PHYSICAL_INT128) {
        vector_int128(vector)[0] = (int128_t)value * 1000;
    } else {
        vector_int64(vector)[0] = value;
    }
    return STATUS_OK;
}

static enum status open_file(struct filesystem_reader *self, struct file_entry *entry, struct error *err)
{
    const struct source_context *context = &self->source->context;
    self->entry = entry;
    self->follows = !self->source->base.bounded && !file_is_packed(entry->path);
    snprintf(self->label, sizeof self->label, "file %s", entry->path);
    self->reporter.source = self->label;
    self->reporter.byte = entry->taken_bytes;
    self->reporter.line = entry->taken_lines;
    for (uint32_t i = 0; i < context->column_count && self->source->constant_outputs; i++) {
        if (self->source->outputs[i].origin == ORIGIN_RECORD) {
            continue;
        }
        vector_release(&self->constants[i]);
        enum status status = constant_value(self, &context->columns[i], &self->source->outputs[i], &self->constants[i], err);
        if (status != STATUS_OK) {
            error_add_context(err, "for %s", self->label);
            return status;
        }
    }
    self->stream_ended = false;
    self->starved = true;
    self->block = NULL;
    self->used = self->filled = self->capacity = 0;
    return file_stream_open(entry->path, entry->taken_bytes, &self->stream, err);
}

static void end_file(struct filesystem_reader *self)
{
    struct file_entry *entry = self->entry; /* of a bounded source the readers share the list */
    if (self->follows) {
        entry->taken_bytes = self->reporter.byte;
        entry->taken_lines = self->reporter.line;
        entry->seen_bytes = entry->taken_bytes + (self->filled - self->used);
    } else if (!self->source->base.bounded) {
        entry->seen_bytes = entry->size;
    }
    file_stream_close(self->stream);
    self->stream = NULL;
}

/* A block nobody else refers to. */
static enum status take_block(struct filesystem_reader *self, size_t bytes, struct buffer **block, struct error *err)
{
    uint32_t place = BLOCKS_KEPT;
    for (uint32_t i = 0; i < BLOCKS_KEPT; i++) {
        struct buffer *kept = self->blocks[i];
        if (kept == NULL) {
            place = i;
        } else if (kept != self->block && !buffer_is_shared(kept)) {
            if (buffer_size(kept) == bytes) {
                *block = kept;
                return STATUS_OK;
            }
            place = i;
        }
    }
    if (place == BLOCKS_KEPT) { /* all are in use: forget one that is not the current */
        place = self->blocks[0] == self->block ? 1 : 0;
    }
    struct buffer *created;
    TRY(buffer_create(self->source->context.budget, bytes, &created, err));
    buffer_unref(self->blocks[place]);
    self->blocks[place] = created;
    *block = created;
    return STATUS_OK;
}

static size_t block_size(const struct filesystem_reader *self, size_t tail)
{
    size_t size = BLOCK_BYTES;
    if (self->source->settings.partition_by_file || self->entry->size < BLOCK_BYTES / 2) {
        size = BLOCK_SMALLEST;
        while (size < BLOCK_BYTES && size < self->entry->size + 1 + BLOCK_SLACK) {
            size *= 2;
        }
    }
    while (size < tail * 2 + BLOCK_SLACK) { /* a record longer than the block: twice as much each time */
        size *= 2;
    }
    return size;
}

/* The next block: the rest of the current one, then what the file gives. */
static enum status refill(struct filesystem_reader *self, struct error *err)
{
    size_t tail = self->filled - self->used, got;
    if (tail > RECORD_BYTES_MAX) {
        return error_set(err, ERROR_RECORD_TOO_LONG, "table '%s', %s, line %llu: the record is longer than %d bytes",
                         self->source->context.table, self->label, (unsigned long long)self->reporter.line + 1, RECORD_BYTES_MAX);
    }
    struct buffer *block;
    TRY(take_block(self, block_size(self, tail), &block, err));
    char *bytes = (char *)buffer_bytes_mutable(block);
    if (tail > 0) {
        memcpy(bytes, self->bytes + self->used, tail);
    }
    self->block = block;
    self->bytes = bytes;
    self->capacity = buffer_size(block) - BLOCK_SLACK;
    TRY(file_stream_read(self->stream, bytes + tail, self->capacity - tail, &got, err));
    self->stream_ended = got < self->capacity - tail;
    self->used = 0;
    self->filled = tail + got;
    memset(bytes + self->filled, 0, BLOCK_SLACK);
    if (self->source->context.counters != NULL) {
        atomic_fetch_add_explicit(&self->source->context.counters->bytes, got, memory_order_relaxed);
    }
    self->starved = false;
    return STATUS_OK;
}

/* Decodes until the batch is full, the file ends, or enough blocks were used. True: the file is at its end. */
static enum status decode_file(struct filesystem_reader *self, struct decode_target *target, bool *ended, struct error *err)
{
    uint32_t blocks = 0;
    *ended = false;
    while (target->batch->count < target->row_limit) {
        if (self->starved && !self->stream_ended) {
            if (blocks == BLOCKS_PER_BATCH && target->batch->count > 0) {
                return STATUS_OK;
            }
            TRY(refill(self, err));
            blocks++;
        }
        struct decode_input input = {.bytes = self->bytes + self->used,
                                     .length = self->filled - self->used,
                                     .block = self->block,
                                     .last = self->stream_ended && !self->follows};
        if (input.length > 0) {
            TRY(self->decoder->type->decode(self->decoder, &input, target, err));
        }
        self->used += input.consumed;
        self->reporter.byte += input.consumed;
        self->reporter.line += input.lines;
        self->starved = target->batch->count < target->row_limit;
        if (self->starved && self->stream_ended) {
            *ended = true;
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

/* The output batch from the record's columns. */
static enum status assemble(struct filesystem_reader *self, struct batch *record, struct batch *batch, struct error *err)
{
    const struct filesystem_source *source = self->source;
    struct budget *budget = source->context.budget;
    TRY(batch_init(batch, source->context.column_count, err));
    for (uint32_t i = 0; i < source->context.column_count; i++) {
        enum status status = STATUS_OK;
        if (source->outputs[i].origin == ORIGIN_RECORD) {
            struct vector *column = &record->columns[source->outputs[i].index];
            batch->columns[i] = *column;
            *column = (struct vector){0};
        } else {
            status = vector_repeat(budget, &self->constants[i], 0, record->count, &batch->columns[i], err);
        }
        if (status != STATUS_OK) {
            batch_release(batch);
            return status;
        }
    }
    batch->count = record->count;
    batch->weights = record->weights;
    batch->weights_buffer = record->weights_buffer;
    record->weights_buffer = NULL;
    batch->ordered = true;
    batch->ordinal_base = self->rows;
    batch->partition = self->base.partition;
    self->rows += record->count;
    if (source->context.counters != NULL) {
        atomic_fetch_add_explicit(&source->context.counters->rows, record->count, memory_order_relaxed);
    }
    return STATUS_OK;
}

static enum status read_file(struct filesystem_reader *self, uint32_t row_limit, struct batch *batch, struct error *err)
{
    const struct filesystem_source *source = self->source;
    struct batch record;
    struct decode_target target = {.fail = error_reporter_fail, .owner = &self->reporter};
    bool ended;
    TRY(decode_target_open(&target, &source->format, row_limit, &record, err));
    enum status status = STATUS_OK;
    if (source->base.changes) {
        status = batch_need_weights(source->context.budget, &record, row_limit, &target.weights, err);
    }
    if (status == STATUS_OK) {
        status = decode_file(self, &target, &ended, err);
    }
    if (status == STATUS_OK && ended) {
        end_file(self);
    }
    if (source->context.counters != NULL && target.dropped > 0) {
        atomic_fetch_add_explicit(&source->context.counters->dropped, target.dropped, memory_order_relaxed);
    }
    batch->count = 0;
    if (status == STATUS_OK && record.count > 0) {
        status = assemble(self, &record, batch, err);
    }
    batch_release(&record);
    return status;
}

/* Opens the next file of the list that has something new; none: self->stream stays NULL. */
static enum status next_listed(struct filesystem_reader *self, const struct file_list *list, struct error *err)
{
    while (self->next_file < self->end_file && self->stream == NULL) {
        struct file_entry *entry = &list->entries[self->next_file++];
        bool bounded = self->source->base.bounded;
        if (!bounded && entry->seen_bytes == entry->size) {
            continue;
        }
        enum status status = open_file(self, entry, err);
        bool gone = !bounded && status != STATUS_OK && access(entry->path, F_OK) != 0 && errno == ENOENT; /* since the scan */
        if (status != STATUS_OK && !gone) {
            return status;
        }
    }
    return STATUS_OK;
}

static enum status scan_again(struct filesystem_reader *self, struct error *err)
{
    const struct filesystem_source *source = self->source;
    struct file_list found;
    TRY(file_list_scan(&found, source->root, source->settings.path_pattern, err));
    self->entry = NULL; /* the list moves */
    TRY(file_list_follow(&self->files, &found, err));
    self->next_file = 0;
    self->end_file = self->files.count;
    return STATUS_OK;
}

/* Opens the next file there is; none: self->stream stays NULL, *wait_us says when to look again (0: never). */
static enum status next_file(struct filesystem_reader *self, int64_t *wait_us, struct error *err)
{
    const struct filesystem_source *source = self->source;
    *wait_us = 0;
    TRY(next_listed(self, source->base.bounded ? &source->files : &self->files, err));
    if (source->base.bounded || self->stream != NULL) {
        return STATUS_OK;
    }
    int64_t now = source->context.clock->monotonic_us(source->context.clock);
    if (now >= self->next_scan_us) {
        self->next_scan_us = now + source->settings.monitor_interval.us;
        TRY(scan_again(self, err));
        TRY(next_listed(self, &self->files, err));
    }
    *wait_us = self->next_scan_us > now ? self->next_scan_us - now : 1;
    return STATUS_OK;
}

static enum status filesystem_read(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                                   struct error *err)
{
    struct filesystem_reader *self = (struct filesystem_reader *)reader;
    for (;;) {
        if (self->stream == NULL) {
            TRY(next_file(self, wait_us, err));
            if (self->stream == NULL) {
                *state = *wait_us == 0 ? READ_END : READ_IDLE;
                return STATUS_OK;
            }
        }
        TRY(read_file(self, row_limit, batch, err));
        if (batch->count > 0) {
            *state = READ_ROWS;
            return STATUS_OK;
        }
    }
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
};
