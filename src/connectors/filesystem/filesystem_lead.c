/* A followed folder whose reader does not choose for itself: it is led from file to file as another reader went, or goes to the end of all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/filesystem/filesystem_reader.h"
#include "connectors/position.h"

enum { SKIP_BYTES = 1 << 16 };

/* ---- led ---- */

static bool is_part(const struct filesystem_reader *self, const struct file_entry *entry)
{
    return text_equal(text_from(filesystem_relative_path(self->source, entry->path)), (struct text){self->part.bytes, self->part.length});
}

/* NULL: it is not there, or has nothing new. */
static struct file_entry *find_part(const struct filesystem_reader *self)
{
    for (size_t i = 0; i < self->files.count; i++) {
        struct file_entry *entry = &self->files.entries[i];
        if (is_part(self, entry)) {
            return entry->seen_bytes == entry->size ? NULL : entry;
        }
    }
    return NULL;
}

enum status filesystem_turn_to_part(struct filesystem_reader *self, struct error *err)
{
    if (self->stream != NULL && is_part(self, self->entry)) {
        return STATUS_OK;
    }
    if (self->stream != NULL) {
        TRY(filesystem_leave_file(self, err));
    }
    struct file_entry *entry = find_part(self);
    if (entry == NULL) {
        TRY(filesystem_scan(self, err));
        entry = find_part(self);
    }
    return entry == NULL ? STATUS_OK : filesystem_open_file(self, entry, err);
}

enum status filesystem_lead(struct reader *reader, const struct text *part, struct error *err)
{
    struct filesystem_reader *self = (struct filesystem_reader *)reader;
    if (self->progress == NULL) {
        return STATUS_OK; /* its order is that of its list */
    }
    self->led = part != NULL;
    if (part == NULL) {
        self->next_file = self->end_file;
        self->next_scan_us = 0;
        return STATUS_OK;
    }
    text_builder_clear(&self->part);
    text_append(&self->part, part->bytes, part->length);
    return self->part.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a path") : STATUS_OK;
}

/* ---- to the end of all ---- */

struct skipped {
    uint64_t bytes, lines, files;
};

/* To behind the last line that has its end; the beginning of one more is read when that comes. */
static enum status skip_lines(struct file_entry *entry, struct skipped *skipped, struct error *err)
{
    struct file_stream *stream;
    char bytes[SKIP_BYTES];
    size_t got = 1;
    uint64_t at = entry->taken_bytes, from = at;
    TRY(file_stream_open(entry->path, at, &stream, err));
    enum status status = STATUS_OK;
    while (status == STATUS_OK && got > 0) {
        status = file_stream_read(stream, bytes, sizeof bytes, &got, err);
        for (size_t i = 0; status == STATUS_OK && i < got; i++) {
            if (bytes[i] == '\n') {
                entry->taken_lines++;
                skipped->lines++;
                entry->taken_bytes = at + i + 1;
            }
        }
        at += got;
    }
    file_stream_close(stream);
    entry->size = entry->seen_bytes = at;
    skipped->bytes += entry->taken_bytes - from;
    skipped->files += entry->taken_bytes > from;
    return status;
}

static enum status skip_file(struct filesystem_reader *self, struct file_entry *entry, struct skipped *skipped, struct error *err)
{
    if (entry->seen_bytes == entry->size) {
        return STATUS_OK;
    }
    if (!file_is_packed(entry->path)) {
        TRY(skip_lines(entry, skipped, err));
    } else {
        skipped->bytes += entry->size;
        skipped->files++;
        entry->seen_bytes = entry->size;
    }
    return filesystem_record_progress(self, entry, err);
}

/* What an earlier reader had taken of the files that are still there. */
static enum status take_progress(struct filesystem_reader *self, const struct source_position *from, struct error *err)
{
    struct text file = TEXT("");
    int64_t byte = 0, line = 0, rows;
    TRY(position_get_number(from->place, "rows", &rows, err));
    self->rows = rows;
    if (position_has(from->place, "file")) {
        TRY(position_get_text(from->place, "file", &file, err));
        TRY(position_get_number(from->place, "byte", &byte, err));
        TRY(position_get_number(from->place, "line", &line, err));
    }
    TRY(progress_log_read(self->progress, from->history, err));
    for (size_t i = 0; i < self->files.count; i++) {
        struct file_entry *entry = &self->files.entries[i];
        const char *path = filesystem_relative_path(self->source, entry->path);
        struct file_progress *before = progress_log_find(self->progress, progress_hash(path));
        if (before != NULL && before->seen_bytes <= entry->size) {
            before->stands = true;
            entry->taken_bytes = before->taken_bytes;
            entry->taken_lines = before->taken_lines;
            entry->seen_bytes = before->seen_bytes;
        }
        if (text_equal(file, text_from(path)) && (uint64_t)byte <= entry->size && !file_is_packed(path)) {
            entry->taken_bytes = (uint64_t)byte;
            entry->taken_lines = (uint64_t)line;
        }
    }
    progress_log_prune(self->progress);
    return STATUS_OK;
}

static enum status present(struct filesystem_reader *self, const struct source_position *from, struct text_builder *told, struct error *err)
{
    struct skipped skipped = {0};
    TRY(filesystem_scan(self, err));
    if (from != NULL) {
        TRY(take_progress(self, from, err));
    }
    for (size_t i = 0; i < self->files.count; i++) {
        TRY(skip_file(self, &self->files.entries[i], &skipped, err));
    }
    self->next_file = self->end_file;
    if (skipped.bytes > 0) {
        text_append_format(told, "table '%s': %" PRIu64 " lines, %" PRIu64 " bytes in %" PRIu64 " files that came since were skipped\n",
                           self->source->context.table, skipped.lines, skipped.bytes, skipped.files);
    }
    return STATUS_OK;
}

enum status filesystem_present(struct reader *reader, const struct source_position *from, struct text_builder *told, struct error *err)
{
    struct filesystem_reader *self = (struct filesystem_reader *)reader;
    if (self->progress == NULL) { /* a bounded table has no present: all of it was there at once */
        return from == NULL ? STATUS_OK : filesystem_seek(reader, from, err);
    }
    enum status status = present(self, from, told, err);
    if (status != STATUS_OK) {
        error_add_context(err, "in table '%s'", self->source->context.table);
    }
    return status;
}
