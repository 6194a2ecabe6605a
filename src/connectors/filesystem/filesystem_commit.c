/* When files of the sink are shown: at once, or, in a job with checkpoints, when the checkpoint that covers them is complete. */
#include <stdlib.h>
#include <string.h>

#include "connectors/filesystem/filesystem_sink.h"
#include "connectors/filesystem/shown_mark.h"
#include "connectors/position.h"

static const char state_kind[] = "filesystem-sink/1", part_kind[] = "part/1";

enum status filesystem_begin(struct filesystem_sink *self, struct error *err)
{
    if (self->begun) {
        return STATUS_OK;
    }
    self->begun = true;
    if (self->root_missing) {
        TRY(folder_create(self->files, self->root, err));
        self->root_missing = false;
    }
    if (self->context.owner == NULL || self->context.worker != 0) {
        return STATUS_OK;
    }
    uint64_t end = self->context.saved_end > 0 ? self->context.saved_end : UINT64_MAX;
    struct part_leftovers leftovers = {.attempt = self->attempt,
                                       .lineage = self->prefix,
                                       .shown = self->has_restored,
                                       .after = self->restored,
                                       .end = end,
                                       .marks_end = self->has_restored ? self->restored_end : end};
    TRY_ALLOC(leftovers.owner, arena_format(self->context.arena, "." PART_PREFIX "%s", self->owner), err);
    TRY_ALLOC(leftovers.marks, arena_format(self->context.arena, SHOWN_PREFIX "%s", self->owner), err);
    return folder_remove_leftovers(self->files, self->root, &leftovers, err);
}

/* INSERT OVERWRITE: what was there before goes. */
static enum status overwrite(struct filesystem_sink *self, struct partition *partition, struct error *err)
{
    if (!self->context.overwrite || partition->overwritten) {
        return STATUS_OK;
    }
    partition->overwritten = true;
    return folder_remove_files(self->files, partition->folder, self->prefix, err);
}

/* Takes the file. */
static enum status show(struct filesystem_sink *self, struct partition *partition, struct part_file *file, struct error *err)
{
    enum status status = overwrite(self, partition, err);
    if (status != STATUS_OK) {
        part_file_abandon(file);
        return status;
    }
    TRY(part_file_show(file, self->context.saved_end > 0, err));
    partition_commit_shown(self->commit, partition->folder);
    return STATUS_OK;
}

enum status filesystem_commit_due(struct filesystem_sink *self, struct error *err)
{
    for (size_t i = 0; i < self->partition_count && self->commit != NULL; i++) {
        if (self->partitions[i].file != NULL && partition_commit_is_due(self->commit, self->partitions[i].folder)) {
            TRY(filesystem_end_file(self, i, err));
        }
    }
    return partition_commit_run(self->commit, err);
}

enum status filesystem_end_file(struct filesystem_sink *self, size_t partition, struct error *err)
{
    struct part_file *file = self->partitions[partition].file;
    if (self->context.owner == NULL) {
        self->partitions[partition].file = NULL;
        self->open_files--;
        return show(self, &self->partitions[partition], file, err);
    }
    if (self->ended_count == self->ended_capacity) {
        size_t larger = self->ended_capacity == 0 ? 16 : self->ended_capacity * 2;
        struct ended_file *moved;
        TRY_ALLOC(moved, realloc(self->ended, larger * sizeof *moved), err);
        self->ended = moved;
        self->ended_capacity = larger;
    }
    TRY(part_file_end(file, err));
    self->ended[self->ended_count++] = (struct ended_file){.file = file, .partition = partition};
    self->partitions[partition].file = NULL;
    self->open_files--;
    return STATUS_OK;
}

enum status filesystem_finish_empty(struct filesystem_sink *self, struct error *err)
{
    if (!self->context.overwrite || self->context.partition_count > 0 || self->context.worker != 0) {
        return STATUS_OK;
    }
    self->empties = self->context.owner != NULL;
    return self->empties ? STATUS_OK : folder_remove_files(self->files, self->root, self->prefix, err);
}

void filesystem_abandon(struct filesystem_sink *self)
{
    for (size_t i = 0; i < self->ended_count; i++) {
        part_file_abandon(self->ended[i].file);
    }
    for (size_t i = 0; i < self->partition_count; i++) {
        if (self->partitions[i].file != NULL) {
            part_file_abandon(self->partitions[i].file);
        }
    }
    free(self->ended);
}

/* ---- checkpoints ---- */

static void put_part(const struct filesystem_sink *self, const struct partition *partition, const struct part_file *file, bool open,
                     struct text_builder *part, struct text_builder *state)
{
    text_builder_clear(part);
    text_append_text(part, part_kind);
    position_put_text(part, "folder", text_from(partition->folder + strlen(self->root)));
    position_put_text(part, "id", text_from(part_file_id(file)));
    position_put_number(part, "bytes", (int64_t)part_file_bytes(file));
    position_put_number(part, "open", open);
    position_put_text(state, "part", (struct text){part->bytes, part->length});
}

static enum status put_parts(struct filesystem_sink *self, uint64_t checkpoint, struct text_builder *part, struct text_builder *state,
                             struct error *err)
{
    for (size_t i = 0; i < self->ended_count; i++) {
        struct ended_file *ended = &self->ended[i];
        ended->checkpoint = ended->checkpoint == 0 ? checkpoint : ended->checkpoint;
        TRY(part_file_sync(ended->file, err));
        put_part(self, &self->partitions[ended->partition], ended->file, false, part, state);
    }
    for (size_t i = 0; i < self->partition_count; i++) {
        struct partition *partition = &self->partitions[i];
        if (partition->file != NULL) {
            TRY(part_file_sync(partition->file, err));
            put_part(self, partition, partition->file, true, part, state);
        }
    }
    return part->failed || state->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the state of a sink") : STATUS_OK;
}

static enum status filesystem_prepare(struct sink *sink, uint64_t checkpoint, struct text_builder *state, struct error *err)
{
    struct filesystem_sink *self = (struct filesystem_sink *)sink;
    struct text_builder part = {0};
    TRY(filesystem_begin(self, err));
    TRY(filesystem_commit_due(self, err));
    for (size_t i = 0; i < self->partition_count && self->context.saved_end > 0; i++) {
        if (self->partitions[i].file != NULL) {
            TRY(filesystem_end_file(self, i, err));
        }
    }
    text_append_text(state, state_kind);
    position_put_number(state, "checkpoint", (int64_t)checkpoint);
    position_put_number(state, "worker", self->context.worker);
    if (self->context.saved_end > 0) {
        position_put_number(state, "end", (int64_t)self->context.saved_end);
    }
    self->saved = checkpoint;
    enum status status = put_parts(self, checkpoint, &part, state, err);
    text_builder_close(&part);
    partition_commit_save(self->commit, state);
    return status == STATUS_OK && state->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the state of a sink") : status;
}

static bool is_covered(const struct ended_file *ended, uint64_t checkpoint)
{
    return ended->checkpoint != 0 && ended->checkpoint <= checkpoint;
}

/* Before the first file of a checkpoint is shown. */
static enum status mark_shown(struct filesystem_sink *self, uint64_t checkpoint, struct error *err)
{
    bool any = false;
    for (size_t i = 0; i < self->ended_count; i++) {
        any = any || is_covered(&self->ended[i], checkpoint);
    }
    const struct shown_mark mark = {self->files, self->root, text_from(self->series), self->context.worker, self->attempt};
    return any ? shown_mark_write(&mark, checkpoint, err) : STATUS_OK;
}

static enum status filesystem_committed(struct sink *sink, uint64_t checkpoint, struct error *err)
{
    struct filesystem_sink *self = (struct filesystem_sink *)sink;
    size_t kept = 0;
    enum status status = mark_shown(self, checkpoint, err);
    for (size_t i = 0; i < self->ended_count; i++) {
        struct ended_file ended = self->ended[i];
        if (status != STATUS_OK || !is_covered(&ended, checkpoint)) {
            self->ended[kept++] = ended;
            continue;
        }
        status = show(self, &self->partitions[ended.partition], ended.file, err);
    }
    self->ended_count = kept;
    if (status == STATUS_OK && self->empties) {
        status = folder_remove_files(self->files, self->root, self->prefix, err);
    }
    return status == STATUS_OK ? partition_commit_run(self->commit, err) : status;
}

static enum status read_part(const struct filesystem_sink *self, struct text text, struct saved_part *part, struct error *err)
{
    struct text folder, id;
    int64_t bytes, open;
    TRY(position_check(text, part_kind, err));
    TRY(position_get_text(text, "folder", &folder, err));
    TRY(position_get_text(text, "id", &id, err));
    TRY(position_get_number(text, "bytes", &bytes, err));
    TRY(position_get_number(text, "open", &open, err));
    if (self->root_missing) {
        return error_set(err, ERROR_OUTPUT_LOST, "the folder '%s' is gone, and with it the file '" PART_PREFIX "%.*s' of %lld bytes",
                         self->root, (int)id.length, id.bytes, (long long)bytes);
    }
    TRY_ALLOC(part->folder, arena_format(self->context.arena, "%s%.*s", self->root, (int)folder.length, folder.bytes), err);
    TRY_ALLOC(part->id, text_to_arena(self->context.arena, id), err);
    part->bytes = (uint64_t)bytes;
    part->open = open != 0;
    return STATUS_OK;
}

static enum status restore_part(struct filesystem_sink *self, struct saved_part *part, bool known, struct error *err)
{
    size_t found;
    part->may_be_gone = known || !part->open; /* an older state does not say: then it was what a consumer took */
    TRY(filesystem_find_partition(self, part->folder, &found, err));
    TRY(overwrite(self, &self->partitions[found], err));
    TRY(part_file_recover(self->files, part, err));
    return partition_commit_restored(self->commit, part->folder, 0, err);
}

/* OWNER-LINEAGE- of a part file's id; for a task, the end of its owner's numbers, too. */
static enum status series_of(const struct filesystem_sink *self, const char *id, struct text *series, struct error *err)
{
    size_t length = strcspn(id, "-");
    length += id[length] == '-' ? 1 + strcspn(id + length + 1, "-") : 0;
    *series = (struct text){id, length + (id[length] == '-')};
    if (self->restored_end > 0) {
        const char *longer =
            arena_format(self->context.arena, "%.*s" MARK_END_FORMAT, (int)series->length, series->bytes, self->restored_end);
        TRY_ALLOC(longer, longer, err);
        *series = text_from(longer);
    }
    return STATUS_OK;
}

/* Unless the mark says that they have begun to be shown, all files must be there; then it says so. *known false: a state without worker. */
static enum status check_parts(struct filesystem_sink *self, struct text state, bool *known, struct error *err)
{
    struct text key, value, rest = position_entries(state);
    struct shown_mark mark = {.files = self->files, .root = self->root, .attempt = self->attempt};
    uint64_t marked = 0;
    *known = position_has(state, "worker");
    if (!*known) {
        return STATUS_OK;
    }
    TRY(position_get_number(state, "worker", &mark.worker, err));
    while (position_next(&rest, &key, &value)) {
        struct saved_part part = {0};
        if (!text_equal(key, TEXT("part"))) {
            continue;
        }
        TRY(read_part(self, value, &part, err));
        if (mark.series.length == 0) {
            TRY(series_of(self, part.id, &mark.series, err));
            TRY(shown_mark_read(&mark, &marked, err));
        }
        if (marked >= self->restored) {
            return STATUS_OK;
        }
        TRY(part_file_check(self->files, &part, err));
    }
    return mark.series.length > 0 ? shown_mark_write(&mark, self->restored, err) : STATUS_OK;
}

static enum status filesystem_restore(struct sink *sink, struct text state, struct error *err)
{
    struct filesystem_sink *self = (struct filesystem_sink *)sink;
    struct text key, value;
    bool known;
    TRY(position_check(state, state_kind, err));
    int64_t checkpoint;
    TRY(position_get_number(state, "checkpoint", &checkpoint, err));
    self->restored = (uint64_t)checkpoint;
    self->has_restored = true;
    if (position_has(state, "end")) {
        int64_t end;
        TRY(position_get_number(state, "end", &end, err));
        self->restored_end = (uint64_t)end;
    }
    self->saved = self->restored > self->saved ? self->restored : self->saved;
    TRY(check_parts(self, state, &known, err));
    struct text rest = position_entries(state);
    while (position_next(&rest, &key, &value)) {
        if (text_equal(key, TEXT("part"))) {
            struct saved_part part = {0};
            TRY(read_part(self, value, &part, err));
            TRY(restore_part(self, &part, known, err));
        } else if (text_equal(key, TEXT("commit"))) {
            TRY(partition_commit_restore(self->commit, value, err));
        }
    }
    return rest.length == 0 ? STATUS_OK : error_set(err, ERROR_OUTPUT_LOST, "the saved state of the sink is broken");
}

const struct sink_commit filesystem_sink_commit = {
    .prepare = filesystem_prepare,
    .committed = filesystem_committed,
    .restore = filesystem_restore,
};
