/* The file source. A reader walks its files in order; each is read in blocks of about a MiB, decoded where they lie: strings of
 * the rows are views into the block, which lives as long as they do. What is left of a block, the beginning of a record, is
 * carried to the front of the next. Blocks that nobody looks at any more are used again. */
#include "connectors/filesystem/filesystem_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connectors/dead_letter.h"

enum {
    BLOCK_BYTES = 1 << 19,
    BLOCK_SMALLEST = 1 << 14,
    BLOCK_SLACK = 64, /* the JSON decoder reads ahead */
    RECORD_BYTES_MAX = 1 << 28,
    BLOCKS_PER_BATCH = 3,
};

void filesystem_reader_close(struct reader *reader)
{
    struct filesystem_reader *self = (struct filesystem_reader *)reader;
    file_stream_close(self->stream);
    for (uint32_t i = 0; i < self->source->context.column_count; i++) {
        vector_release(&self->constants[i]);
    }
    for (uint32_t i = 0; i < BLOCKS_KEPT; i++) {
        buffer_unref(self->blocks[i]);
    }
    if (self->source->context.dead_letter != NULL) {
        dead_letter_let_go(self->source->context.dead_letter, reader);
    }
    file_list_clear(&self->files);
    progress_log_destroy(self->progress);
    text_builder_close(&self->part);
    if (self->decoder != NULL) {
        self->decoder->type->close(self->decoder);
    }
    arena_destroy(self->arena);
}

static enum status open_parts(struct filesystem_reader *self, struct error *err)
{
    const struct filesystem_source *source = self->source;
    struct format_context format = source->format;
    struct source_context context = source->context;
    format.arena = context.arena = self->arena;
    TRY(table_options_open_decoder(context.options, &format, &self->decoder, err));
    TRY(error_reporter_init(&self->reporter, &context, err));
    self->reporter.context = &source->context;
    self->reporter.reader = &self->base;
    return !source->followed ? STATUS_OK : progress_log_create(&self->base.passed, &self->progress, err);
}

enum status filesystem_reader_open(struct source *source, uint32_t partition, struct reader **reader, struct error *err)
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
    self->list_count = owner->files.count;
    self->list_hash = filesystem_list_hash(owner, owner->files.count);
    if (owner->by_file) {
        self->next_file = partition;
        self->end_file = (size_t)partition + 1;
    } else {
        self->end_file = owner->followed ? 0 : owner->files.count;
    }
    enum status status = open_parts(self, err);
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

enum status filesystem_open_file(struct filesystem_reader *self, struct file_entry *entry, struct error *err)
{
    const struct source_context *context = &self->source->context;
    self->entry = entry;
    self->follows = self->source->followed && !file_is_packed(entry->path);
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
    self->returned = 0;
    self->mark = (struct file_mark){0};
    return file_stream_open(entry->path, entry->taken_bytes, &self->stream, err);
}

enum status filesystem_record_progress(struct filesystem_reader *self, const struct file_entry *entry, struct error *err)
{
    struct file_progress progress = {.hash = progress_hash(filesystem_relative_path(self->source, entry->path)),
                                     .taken_bytes = entry->taken_bytes,
                                     .taken_lines = entry->taken_lines,
                                     .seen_bytes = entry->seen_bytes};
    return progress_log_record(self->progress, self->base.reads, &progress, err);
}

/* A file that became shorter while it was read has lost rows that nobody has seen. */
static enum status check_length(const struct filesystem_reader *self, struct error *err)
{
    uint64_t read = self->reporter.byte + (self->filled - self->used);
    const struct file_entry *entry = self->entry;
    if (self->follows || read >= entry->size || file_is_packed(entry->path)) {
        return STATUS_OK;
    }
    return error_set(err, ERROR_FILE_UNREADABLE, "table '%s', %s: it had %llu bytes and ends after %llu now: it was cut while it was read",
                     self->source->context.table, self->label, (unsigned long long)entry->size, (unsigned long long)read);
}

enum status filesystem_leave_file(struct filesystem_reader *self, struct error *err)
{
    struct file_entry *entry = self->entry;
    TRY(check_length(self, err));
    file_stream_close(self->stream);
    self->stream = NULL;
    if (self->progress == NULL) { /* the readers share the list */
        self->done++;
        return STATUS_OK;
    }
    if (self->follows) {
        entry->taken_bytes = self->reporter.byte;
        entry->taken_lines = self->reporter.line;
        entry->seen_bytes = entry->taken_bytes + (self->filled - self->used);
    } else {
        entry->seen_bytes = entry->size;
    }
    return filesystem_record_progress(self, entry, err);
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
    if (self->source->by_file || self->entry->size < BLOCK_BYTES / 2) {
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

/* A byte order mark, which some editors put before UTF-8 text. */
static void skip_mark(struct filesystem_reader *self)
{
    if (self->reporter.byte == 0 && !self->decoder->type->takes_all_bytes && self->filled - self->used >= 3 &&
        memcmp(self->bytes + self->used, "\xef\xbb\xbf", 3) == 0) {
        self->used += 3;
        self->reporter.byte += 3;
    }
}

/* Decodes until the batch is full, the file ends, or enough blocks were used. True: the file is at its end. */
static enum status decode_file(struct filesystem_reader *self, struct decode_target *target, bool *ended, struct error *err)
{
    uint32_t blocks = 0;
    *ended = false;
    while (target->batch->count < target->row_limit && self->reporter.letters < DEAD_LETTERS_PER_READ) {
        if (self->starved && !self->stream_ended) {
            if (blocks == BLOCKS_PER_BATCH && target->batch->count > 0) {
                return STATUS_OK;
            }
            TRY(refill(self, err));
            skip_mark(self);
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
        self->returned = input.returned;
        self->reporter.byte += input.consumed;
        self->reporter.line += input.lines;
        self->starved = target->batch->count < target->row_limit;
        if (self->starved && self->stream_ended) {
            *ended = true;
            return STATUS_OK;
        }
    }
    *ended = self->stream_ended && self->used == self->filled;
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

enum status filesystem_read_file(struct filesystem_reader *self, uint32_t row_limit, struct batch *batch, struct error *err)
{
    const struct filesystem_source *source = self->source;
    struct batch record;
    struct decode_target target = {.fail = error_reporter_fail, .owner = &self->reporter};
    bool ended;
    row_limit = source->base.changes && row_limit < 2 && !self->led ? 2 : row_limit; /* the two rows of an update stay together */
    TRY(decode_target_open(&target, &source->format, row_limit, &record, err));
    enum status status = STATUS_OK;
    if (source->base.changes) {
        status = batch_need_weights(source->context.budget, &record, row_limit, &target.weights, err);
    }
    if (status == STATUS_OK) {
        status = decode_file(self, &target, &ended, err);
    }
    if (status == STATUS_OK && ended) {
        status = filesystem_leave_file(self, err);
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

const char *filesystem_relative_path(const struct filesystem_source *source, const char *path)
{
    return path + strlen(source->root);
}

/* Opens the next file of the list that has something new; none: self->stream stays NULL. */
static enum status next_listed(struct filesystem_reader *self, const struct file_list *list, struct error *err)
{
    while (self->next_file < self->end_file && self->stream == NULL) {
        struct file_entry *entry = &list->entries[self->next_file++];
        bool bounded = !self->source->followed;
        if (!bounded && entry->seen_bytes == entry->size) {
            continue;
        }
        enum status status = filesystem_open_file(self, entry, err);
        bool gone = !bounded && status != STATUS_OK && access(entry->path, F_OK) != 0 && errno == ENOENT; /* since the scan */
        if (status != STATUS_OK && !gone) {
            return status;
        }
    }
    return STATUS_OK;
}

/* A file that is gone, or is shorter now, has no progress. */
static enum status forget(struct filesystem_reader *self, const struct file_list *found, struct error *err)
{
    for (size_t i = 0; i < self->files.count; i++) {
        struct file_entry *entry = &self->files.entries[i];
        const struct file_entry *now = file_list_find(found, entry);
        if (entry->seen_bytes > 0 && (now == NULL || now->size < entry->seen_bytes)) {
            entry->taken_bytes = entry->taken_lines = entry->seen_bytes = 0;
            TRY(filesystem_record_progress(self, entry, err));
        }
    }
    return STATUS_OK;
}

enum status filesystem_scan(struct filesystem_reader *self, struct error *err)
{
    const struct filesystem_source *source = self->source;
    struct file_list found;
    TRY(file_list_scan(&found, source->root, source->settings.path_pattern, err));
    enum status status = filesystem_keep_piece(source, &found, err);
    status = status == STATUS_OK ? forget(self, &found, err) : status;
    if (status != STATUS_OK) {
        file_list_clear(&found);
        return status;
    }
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
    TRY(next_listed(self, source->followed ? &self->files : &source->files, err));
    bool has_all = source->base.bounded && self->next_scan_us != 0; /* of what was there at the start */
    if (!source->followed || self->stream != NULL || has_all) {
        return STATUS_OK;
    }
    int64_t now = source->context.clock->monotonic_us(source->context.clock);
    if (now >= self->next_scan_us) {
        self->next_scan_us = now + source->settings.monitor_interval.us;
        TRY(filesystem_scan(self, err));
        TRY(next_listed(self, &self->files, err));
    }
    *wait_us = self->next_scan_us > now ? self->next_scan_us - now : 1;
    return STATUS_OK;
}

enum status filesystem_read(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                            struct error *err)
{
    struct filesystem_reader *self = (struct filesystem_reader *)reader;
    self->reporter.letters = 0;
    if (self->source->context.dead_letter != NULL) {
        dead_letter_wait(self->source->context.dead_letter);
    }
    for (;;) {
        if (self->led) {
            TRY(filesystem_turn_to_part(self, err));
            if (self->stream == NULL) {
                *state = READ_IDLE;
                return STATUS_OK;
            }
        } else if (self->stream == NULL) {
            TRY(next_file(self, wait_us, err));
            if (self->stream == NULL) {
                *state = *wait_us == 0 ? READ_END : READ_IDLE;
                return STATUS_OK;
            }
        }
        TRY(filesystem_read_file(self, row_limit, batch, err));
        if (batch->count > 0) {
            *state = READ_ROWS;
            self->base.part = self->progress == NULL ? TEXT("") : text_from(filesystem_relative_path(self->source, self->entry->path));
            return STATUS_OK;
        }
        if (self->reporter.letters >= DEAD_LETTERS_PER_READ) {
            *state = READ_IDLE;
            *wait_us = 0;
            return STATUS_OK;
        }
    }
}
