/* Places of the file source: see filesystem_reader.h for their text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "connectors/filesystem/filesystem_reader.h"
#include "connectors/position.h"

enum { CHECK_BYTES = 64 };
static const char kind[] = "filesystem/1";

uint64_t filesystem_list_hash(const struct filesystem_source *source, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = hash_combine(hash, progress_hash(filesystem_relative_path(source, source->files.entries[i].path)));
    }
    return hash;
}

static void put_list(const struct filesystem_reader *self, struct text_builder *place)
{
    const struct filesystem_source *source = self->source;
    position_put_number(place, "files", (int64_t)self->list_count);
    if (self->list_count > 0) {
        position_put_text(place, "last", text_from(filesystem_relative_path(source, source->files.entries[self->list_count - 1].path)));
        position_put_bits(place, "list", self->list_hash);
    }
}

static void put_file(struct filesystem_reader *self, struct text_builder *place)
{
    struct file_mark *mark = &self->mark;
    if (mark->byte != self->reporter.byte) {
        mark->byte = self->reporter.byte;
        mark->tail = self->used < CHECK_BYTES ? self->used : CHECK_BYTES;
        mark->check = mark->tail == 0 ? 0 : hash_bytes(self->bytes + self->used - mark->tail, mark->tail);
    }
    position_put_text(place, "file", text_from(filesystem_relative_path(self->source, self->entry->path)));
    position_put_number(place, "byte", (int64_t)self->reporter.byte);
    position_put_number(place, "line", (int64_t)self->reporter.line);
    position_put_number(place, "repeat", self->returned);
    position_put_number(place, "tail", (int64_t)mark->tail);
    position_put_bits(place, "check", mark->check);
}

enum status filesystem_position(struct reader *reader, struct text_builder *place, struct error *err)
{
    (void)err;
    struct filesystem_reader *self = (struct filesystem_reader *)reader;
    text_append_text(place, kind);
    position_put_number(place, "rows", self->rows);
    position_put_number(place, "done", (int64_t)self->done);
    if (self->stream != NULL) {
        put_file(self, place);
    }
    if (self->progress == NULL) {
        put_list(self, place);
    }
    return STATUS_OK;
}

enum status filesystem_history(struct reader *reader, struct text_builder *out, struct error *err)
{
    const struct filesystem_reader *self = (const struct filesystem_reader *)reader;
    return self->progress == NULL ? STATUS_OK : progress_log_write(self->progress, out, err);
}

/* ---- seek ---- */

static enum status lost_list(const struct filesystem_source *source, int64_t wanted, size_t there, struct error *err)
{
    return error_set(err, ERROR_POSITION_LOST,
                     "the files below '%s' are not those that were to be read when the position was saved: %" PRId64
                     " then, of which or between which %zu are there now; remove the added files, bring the missing ones back",
                     source->root, wanted, there);
}

/* The files of a bounded table must be those of then; what has come behind the last one since does not belong to the input. */
static enum status check_list(struct filesystem_reader *self, struct text place, struct error *err)
{
    const struct filesystem_source *source = self->source;
    int64_t files;
    uint64_t hash;
    struct text last;
    size_t count = 0;
    TRY(position_get_number(place, "files", &files, err));
    if (files > 0) {
        TRY(position_get_text(place, "last", &last, err));
        TRY(position_get_bits(place, "list", &hash, err));
        while (count < source->files.count &&
               text_compare(text_from(filesystem_relative_path(source, source->files.entries[count].path)), last) <= 0) {
            count++;
        }
        if (count != (size_t)files || filesystem_list_hash(source, count) != hash) {
            return lost_list(source, files, count, err);
        }
    }
    self->list_count = count;
    self->list_hash = filesystem_list_hash(source, count);
    if (!source->by_file) {
        self->end_file = count;
        return STATUS_OK;
    }
    return count == source->files.count ? STATUS_OK : lost_list(source, files, source->files.count, err);
}

/* A scan whose files were left where the history says. */
static enum status restore_progress(struct filesystem_reader *self, struct text history, struct error *err)
{
    TRY(progress_log_read(self->progress, history, err));
    TRY(filesystem_scan(self, err));
    for (size_t i = 0; i < self->files.count; i++) {
        struct file_entry *entry = &self->files.entries[i];
        struct file_progress *before =
            progress_log_find(self->progress, progress_hash(filesystem_relative_path(self->source, entry->path)));
        if (before != NULL) {
            TRY(file_entry_follow(entry, before->taken_bytes, before->taken_lines, before->seen_bytes, err));
            before->stands = entry->seen_bytes == before->seen_bytes; /* else it is shorter, and begins anew */
        }
    }
    progress_log_prune(self->progress);
    return STATUS_OK;
}

static enum status lost_file(const struct filesystem_reader *self, struct text file, int64_t byte, const char *what, struct error *err)
{
    return error_set(err, ERROR_POSITION_LOST, "the file '%s%.*s' was read up to its byte %" PRId64 ", but %s", self->source->root,
                     (int)(file.length < 300 ? file.length : 300), file.bytes, byte, what);
}

/* The bytes before the place are those of then. */
static enum status check_bytes(struct filesystem_reader *self, struct text place, struct text file, int64_t byte, struct error *err)
{
    char bytes[CHECK_BYTES];
    int64_t tail;
    uint64_t check;
    size_t got;
    bool reached;
    TRY(position_get_number(place, "tail", &tail, err));
    TRY(position_get_bits(place, "check", &check, err));
    if (tail > CHECK_BYTES || tail > byte) {
        return lost_file(self, file, byte, "the saved position is broken", err);
    }
    TRY(file_stream_skip(self->stream, (uint64_t)(byte - tail), &reached, err));
    TRY(file_stream_read(self->stream, bytes, reached ? (size_t)tail : 0, &got, err));
    if (!reached || got < (size_t)tail) {
        return lost_file(self, file, byte, "it is shorter now", err);
    }
    self->mark = (struct file_mark){(uint64_t)byte, check, (size_t)tail};
    return tail == 0 || hash_bytes(bytes, got) == check
               ? STATUS_OK
               : lost_file(self, file, byte, "other bytes are before that now: it was changed", err);
}

/* Passes over the rows of the record that were given before. */
static enum status pass_rows(struct filesystem_reader *self, int64_t rows, struct error *err)
{
    while (rows > 0) {
        struct batch batch;
        TRY(filesystem_read_file(self, rows < CHUNK_ROWS ? (uint32_t)rows : CHUNK_ROWS, &batch, err));
        if (batch.count == 0) {
            return error_set(err, ERROR_POSITION_LOST,
                             "%s, line %" PRIu64 ": %" PRId64 " rows of the record were read, but it has fewer now", self->label,
                             self->reporter.line, rows);
        }
        rows -= batch.count;
        batch_release(&batch);
    }
    return STATUS_OK;
}

/* The file of the place: the next one of a bounded list, any of a followed folder. */
static struct file_entry *find_file(struct filesystem_reader *self, struct text file)
{
    bool bounded = self->progress == NULL;
    const struct file_list *list = bounded ? &self->source->files : &self->files;
    size_t end = bounded && self->next_file < self->end_file ? self->next_file + 1 : self->end_file;
    for (size_t i = self->next_file; i < end; i++) {
        if (text_equal(file, text_from(filesystem_relative_path(self->source, list->entries[i].path)))) {
            self->next_file = i + 1;
            return &list->entries[i];
        }
    }
    return NULL;
}

static enum status seek_in_file(struct filesystem_reader *self, struct text place, struct error *err)
{
    int64_t byte, line, repeat;
    struct text file;
    TRY(position_get_text(place, "file", &file, err));
    TRY(position_get_number(place, "byte", &byte, err));
    TRY(position_get_number(place, "line", &line, err));
    TRY(position_get_number(place, "repeat", &repeat, err));
    struct file_entry *entry = find_file(self, file);
    if (entry == NULL) {
        return lost_file(self, file, byte, "it is gone", err);
    }
    TRY(filesystem_open_file(self, entry, err));
    TRY(check_bytes(self, place, file, byte, err));
    self->reporter.byte = (uint64_t)byte;
    self->reporter.line = (uint64_t)line;
    return pass_rows(self, repeat, err);
}

static enum status seek(struct filesystem_reader *self, const struct source_position *position, struct error *err)
{
    int64_t rows, done;
    TRY(position_check(position->place, kind, err));
    TRY(position_get_number(position->place, "rows", &rows, err));
    TRY(position_get_number(position->place, "done", &done, err));
    self->done = (uint64_t)done;
    if (self->progress != NULL) {
        TRY(restore_progress(self, position->history, err));
    } else {
        TRY(check_list(self, position->place, err));
        self->next_file = self->next_file + self->done > self->end_file ? self->end_file : self->next_file + self->done;
    }
    if (position_has(position->place, "file")) {
        TRY(seek_in_file(self, position->place, err));
    }
    self->rows = rows;
    return STATUS_OK;
}

enum status filesystem_seek(struct reader *reader, const struct source_position *position, struct error *err)
{
    struct filesystem_reader *self = (struct filesystem_reader *)reader;
    enum status status = seek(self, position, err);
    if (status != STATUS_OK) {
        error_add_context(err, "in table '%s'", self->source->context.table);
    }
    return status;
}
