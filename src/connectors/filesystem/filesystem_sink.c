/* The file sink. Rows go to one open part file per partition (one in all without partitions); a part file ends when it is large, old or
 * idle, and at the end of the input. INSERT OVERWRITE removes the files that were there before when the first new one is shown (or at the
 * end, if there is none). Without partition-time, a partition is committed each time a file of it is shown. */
#include "connectors/filesystem/filesystem_sink.h"
#include "connectors/filesystem/shown_mark.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/cell_text.h"

enum { OPEN_FILES_MAX = 100 };

static enum status filesystem_accepts(const struct sink_context *context, const void *settings, enum sink_accepts *accepts,
                                      struct error *err)
{
    const struct encoder_type *type;
    TRY(partition_commit_check(context, settings, err));
    TRY(table_options_encoder_type(context->options, &type, err));
    *accepts = type->carries_changes ? SINK_RETRACTIONS : SINK_INSERTS;
    return STATUS_OK;
}

/* Which columns name folders, and which are in the records. */
static enum status split_columns(struct filesystem_sink *self, struct format_context *format, struct error *err)
{
    const struct sink_context *context = &self->context;
    const struct type *row = context->row;
    const struct type **types;
    const char **names;
    TRY_ALLOC(types, arena_alloc(context->arena, (row->child_count + 1) * sizeof *types), err);
    TRY_ALLOC(names, arena_alloc(context->arena, (row->child_count + 1) * sizeof *names), err);
    TRY_ALLOC(self->columns, arena_alloc(context->arena, (row->child_count + 1) * sizeof *self->columns), err);
    TRY_ALLOC(self->partition_columns, arena_alloc(context->arena, (context->partition_count + 1) * sizeof *self->partition_columns), err);
    for (uint32_t i = 0; i < row->child_count; i++) {
        uint32_t partition = 0;
        while (partition < context->partition_count && strcmp(context->partition_columns[partition], row->names[i]) != 0) {
            partition++;
        }
        if (partition < context->partition_count) {
            self->partition_columns[partition] = i;
        } else {
            types[self->column_count] = row->children[i];
            names[self->column_count] = row->names[i];
            self->columns[self->column_count++] = i;
        }
    }
    if (self->column_count == 0) {
        return error_set(err, ERROR_INVALID_DEFINITION, "all columns are partition columns: nothing would be in the files");
    }
    TRY_ALLOC(format->row, type_row(context->arena, self->column_count, types, names, false), err);
    return STATUS_OK;
}

uint64_t filesystem_owner_hash(const char *owner)
{
    return hash_bytes(owner, strlen(owner));
}

/* See part_file.h. The owner as a hash: of fixed length, so no owner's names begin with another's;
 * nor do those of a task, for a '-' ends it. */
static enum status name_files(struct filesystem_sink *self, struct error *err)
{
    const struct sink_context *context = &self->context;
    struct arena *arena = context->arena;
    TRY_ALLOC(self->attempt, arena_format(arena, "-%.80s-", context->statement_id), err);
    self->saved = context->saved;
    if (context->owner == NULL) {
        TRY_ALLOC(self->prefix, arena_format(arena, PART_PREFIX "%s", self->attempt + 1), err);
        return STATUS_OK;
    }
    TRY_ALLOC(self->owner,
              arena_format(arena, "%016" PRIx64 "%s%s-", filesystem_owner_hash(context->owner), context->task == NULL ? "" : ".",
                           context->task == NULL ? "" : context->task),
              err);
    TRY_ALLOC(self->prefix, arena_format(arena, PART_PREFIX "%s%08" PRIx32 "-", self->owner, context->lineage), err);
    self->series = self->prefix + strlen(PART_PREFIX);
    if (context->saved_end > 0) {
        TRY_ALLOC(self->series, arena_format(arena, "%s" MARK_END_FORMAT, self->series, context->saved_end), err);
    }
    return STATUS_OK;
}

/* The id of the next file. With zeros in front: files are read in the order of their paths, and changes must be read in the order in which
 * they were written. Numbers of a task's checkpoints are long. */
static void next_id(struct filesystem_sink *self, char *id, size_t size)
{
    int digits = self->context.saved_end > 0 ? 20 : 8;
    int length = self->owner == NULL ? 0 : snprintf(id, size, "%s%0*" PRIu64, self->prefix + strlen(PART_PREFIX), digits, self->saved);
    snprintf(id + length, size - (size_t)length, "%s%u-%08" PRIu64, self->attempt + (self->owner == NULL), self->context.worker,
             self->file_count++);
}

/* In a job with checkpoints a folder that is not there is made by the first write: state that speaks of files in it must not find it. */
static enum status open_root(struct filesystem_sink *self, struct error *err)
{
    struct stat info;
    self->root_missing = self->context.owner != NULL && self->files->stat(self->files, self->root, &info) != 0 && errno == ENOENT;
    return self->root_missing ? STATUS_OK : folder_create(self->files, self->root, err);
}

static enum status filesystem_sink_open(const struct sink_context *context, const void *settings, struct sink **sink, struct error *err)
{
    struct filesystem_sink *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &filesystem_sink_type;
    self->context = *context;
    self->settings = *(const struct filesystem_settings *)settings;
    self->files = context->files == NULL ? &file_system_real : context->files;
    TRY(filesystem_local_path(self->settings.path, context->arena, &self->root, err));
    TRY(open_root(self, err));
    TRY(name_files(self, err));
    struct format_context format = {.arena = context->arena,
                                    .budget = context->budget,
                                    .zone = context->zone,
                                    .primary_key = context->primary_key,
                                    .primary_key_count = context->primary_key_count};
    TRY(split_columns(self, &format, err));
    TRY(batch_init(&self->record, self->column_count, err));
    enum status status = table_options_open_encoder(context->options, &format, &self->encoder, err);
    if (status == STATUS_OK) {
        status = partition_commit_open(context, &self->settings, self->root, &self->commit, err);
    }
    if (status != STATUS_OK) {
        if (self->encoder != NULL) {
            self->encoder->type->close(self->encoder);
        }
        batch_release(&self->record);
        return status;
    }
    *sink = &self->base;
    return STATUS_OK;
}

/* The path of the folder for a row. */
static enum status row_folder(struct filesystem_sink *self, const struct batch *batch, uint32_t row, struct error *err)
{
    struct text_builder *folder = &self->folder, value = {0};
    text_builder_clear(folder);
    text_append_text(folder, self->root);
    for (uint32_t i = 0; i < self->context.partition_count; i++) {
        const struct vector *vector = &batch->columns[self->partition_columns[i]];
        text_builder_clear(&value);
        if (vector_is_valid(vector, row)) {
            cell_text_append(vector, row, self->context.zone, 0, &value);
        }
        text_append_char(folder, '/');
        if (value.length == 0) {
            text_append_format(folder, "%s=%s", self->context.partition_columns[i], self->settings.default_partition_name);
        } else {
            partition_path_append(folder, self->context.partition_columns[i], (struct text){value.bytes, value.length});
        }
    }
    bool failed = folder->failed || value.failed;
    text_builder_close(&value);
    return failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a path") : STATUS_OK;
}

enum status filesystem_find_partition(struct filesystem_sink *self, const char *folder, size_t *found, struct error *err)
{
    size_t count = self->partition_count;
    if (self->last < count && strcmp(self->partitions[self->last].folder, folder) == 0) {
        *found = self->last;
        return STATUS_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(self->partitions[i].folder, folder) == 0) {
            *found = self->last = i;
            return STATUS_OK;
        }
    }
    if (count == self->partition_capacity) {
        size_t larger = self->partition_capacity == 0 ? 8 : self->partition_capacity * 2;
        struct partition *moved;
        TRY_ALLOC(moved, realloc(self->partitions, larger * sizeof *moved), err);
        self->partitions = moved;
        self->partition_capacity = larger;
    }
    self->partitions[count] = (struct partition){.folder = strdup(folder)};
    if (self->partitions[count].folder == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
    }
    self->partition_count++;
    *found = self->last = count;
    return STATUS_OK;
}

/* Too many are open: the one opened first ends early. */
static enum status make_room(struct filesystem_sink *self, struct error *err)
{
    size_t oldest = self->partition_count;
    for (size_t i = 0; i < self->partition_count; i++) {
        bool older = oldest == self->partition_count || self->partitions[i].opened_us < self->partitions[oldest].opened_us;
        oldest = self->partitions[i].file != NULL && older ? i : oldest;
    }
    return oldest == self->partition_count ? STATUS_OK : filesystem_end_file(self, oldest, err);
}

static enum status open_file(struct filesystem_sink *self, size_t partition, int64_t now_us, struct error *err)
{
    char id[256];
    if (self->open_files == OPEN_FILES_MAX) {
        TRY(make_room(self, err));
    }
    next_id(self, id, sizeof id);
    TRY(part_file_open(self->files, self->partitions[partition].folder, id, &self->partitions[partition].file, err));
    TRY(partition_commit_opened(self->commit, self->partitions[partition].folder, err));
    self->partitions[partition].opened_us = now_us;
    self->open_files++;
    return STATUS_OK;
}

static enum status write_row(struct filesystem_sink *self, const struct batch *batch, uint32_t row, enum row_kind kind, int64_t now_us,
                             struct error *err)
{
    size_t at = self->last;
    if (self->context.partition_count > 0 || at == self->partition_count) {
        TRY(row_folder(self, batch, row, err));
        TRY(filesystem_find_partition(self, self->folder.bytes, &at, err));
    }
    if (self->partitions[at].file == NULL) {
        TRY(open_file(self, at, now_us, err));
    }
    struct part_file *file = self->partitions[at].file;
    self->partitions[at].written_us = now_us;
    struct text_builder *text = part_file_text(file);
    TRY(self->encoder->type->encode(self->encoder, &self->record, row, kind, text, err));
    text_append_char(text, '\n');
    TRY(part_file_flush(file, false, err));
    return part_file_bytes(file) >= self->settings.rolling_size.bytes ? filesystem_end_file(self, at, err) : STATUS_OK;
}

static enum status write_rows(struct filesystem_sink *self, const struct batch *batch, const uint8_t *kinds, struct error *err)
{
    int64_t now_us = self->context.clock->monotonic_us(self->context.clock);
    struct selection rows = batch_selection(batch);
    TRY(filesystem_begin(self, err));
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        int64_t weight = batch_weight(batch, row), times = weight < 0 ? -weight : weight;
        for (int64_t n = 0; n < times; n++) {
            TRY(write_row(self, batch, row, kinds == NULL ? ROW_INSERT : (enum row_kind)kinds[row], now_us, err));
        }
    }
    return STATUS_OK;
}

static enum status filesystem_write(struct sink *sink, const struct batch *batch, const uint8_t *kinds, struct error *err)
{
    struct filesystem_sink *self = (struct filesystem_sink *)sink;
    for (uint32_t i = 0; i < self->column_count; i++) { /* lent for the call: not references */
        self->record.columns[i] = batch->columns[self->columns[i]];
    }
    self->record.count = batch->count;
    enum status status = write_rows(self, batch, kinds, err);
    memset(self->record.columns, 0, self->column_count * sizeof *self->record.columns);
    return status;
}

static enum status roll_files(struct filesystem_sink *self, struct error *err)
{
    int64_t now_us = self->context.clock->monotonic_us(self->context.clock);
    if (self->open_files == 0 || now_us < self->next_check_us) {
        return STATUS_OK;
    }
    bool first = self->next_check_us == 0;
    self->next_check_us = now_us + self->settings.check_interval.us;
    for (size_t i = 0; i < self->partition_count && !first; i++) {
        struct partition *partition = &self->partitions[i];
        if (partition->file != NULL && (now_us - partition->opened_us >= self->settings.rollover_interval.us ||
                                        now_us - partition->written_us >= self->settings.inactivity_interval.us)) {
            TRY(filesystem_end_file(self, i, err));
        }
    }
    return STATUS_OK;
}

static enum status filesystem_finish_tick(struct sink *sink, int64_t watermark_us, struct error *err)
{
    struct filesystem_sink *self = (struct filesystem_sink *)sink;
    partition_commit_advance(self->commit, self->context.worker, watermark_us);
    TRY(roll_files(self, err));
    return self->context.owner == NULL ? filesystem_commit_due(self, err) : STATUS_OK; /* else with a checkpoint */
}

static enum status filesystem_finish(struct sink *sink, struct error *err)
{
    struct filesystem_sink *self = (struct filesystem_sink *)sink;
    TRY(filesystem_begin(self, err));
    for (size_t i = 0; i < self->partition_count; i++) {
        if (self->partitions[i].file != NULL) {
            TRY(filesystem_end_file(self, i, err));
        }
    }
    TRY(filesystem_finish_empty(self, err));
    return self->context.owner == NULL ? partition_commit_run(self->commit, err) : STATUS_OK;
}

static void filesystem_close(struct sink *sink)
{
    struct filesystem_sink *self = (struct filesystem_sink *)sink;
    filesystem_abandon(self);
    partition_commit_close(self->commit);
    for (size_t i = 0; i < self->partition_count; i++) {
        free(self->partitions[i].folder);
    }
    free(self->partitions);
    text_builder_close(&self->folder);
    batch_release(&self->record);
    self->encoder->type->close(self->encoder);
}

const struct sink_type filesystem_sink_type = {
    .name = "filesystem",
    .summary = "A folder of files, each shown whole.",
    .commit = &filesystem_sink_commit,
    .options = filesystem_options,
    .option_count = FILESYSTEM_OPTION_COUNT,
    .settings_bytes = sizeof(struct filesystem_settings),
    .accepts = filesystem_accepts,
    .open = filesystem_sink_open,
    .write = filesystem_write,
    .finish_tick = filesystem_finish_tick,
    .finish = filesystem_finish,
    .close = filesystem_close,
    .leaves = filesystem_leaves,
    .discard = filesystem_discard,
    .alone = partition_commit_alone,
};
