#include "connectors/filesystem/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_BYTES = 1 << 18 };

struct part_file {
    const struct file_system *files;
    int descriptor; /* -1: ended */
    bool durable;   /* its hidden name is synced: a checkpoint may list it */
    char *id, *hidden, *shown;
    struct text_builder text;
    uint64_t written;
};

static enum status cannot(struct error *err, const char *what, const char *path)
{
    return error_set(err, ERROR_FILE_UNWRITABLE, "cannot %s '%s': %s", what, path, strerror(errno));
}

static char *format_path(const char *folder, const char *before, const char *id, const char *after)
{
    struct text_builder path = {0};
    text_append_format(&path, "%s/%s%s%s", folder, before, id, after);
    if (path.failed) {
        text_builder_close(&path);
    }
    return path.bytes;
}

static void part_file_free(struct part_file *file)
{
    if (file->descriptor >= 0) {
        file->files->close(file->files, file->descriptor);
    }
    text_builder_close(&file->text);
    free(file->id);
    free(file->hidden);
    free(file->shown);
    free(file);
}

static enum status part_file_make(const struct file_system *files, const char *folder, const char *id, struct part_file **file,
                                  struct error *err)
{
    struct part_file *made;
    TRY_ALLOC(made, calloc(1, sizeof *made), err);
    made->files = files;
    made->descriptor = -1;
    made->id = strdup(id);
    made->hidden = format_path(folder, "." PART_PREFIX, id, ".inprogress");
    made->shown = format_path(folder, PART_PREFIX, id, "");
    if (made->id == NULL || made->hidden == NULL || made->shown == NULL) {
        part_file_free(made);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
    }
    *file = made;
    return STATUS_OK;
}

enum status part_file_open(const struct file_system *files, const char *folder, const char *id, struct part_file **file, struct error *err)
{
    struct part_file *opened;
    TRY(folder_create(files, folder, err));
    TRY(part_file_make(files, folder, id, &opened, err));
    opened->descriptor = files->open(files, opened->hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (opened->descriptor < 0) {
        enum status status = cannot(err, "create", opened->hidden);
        part_file_free(opened);
        return status;
    }
    *file = opened;
    return STATUS_OK;
}

struct text_builder *part_file_text(struct part_file *file)
{
    return &file->text;
}

const char *part_file_id(const struct part_file *file)
{
    return file->id;
}

uint64_t part_file_bytes(const struct part_file *file)
{
    return file->written + file->text.length;
}

enum status part_file_flush(struct part_file *file, bool all, struct error *err)
{
    if (file->text.failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the records of '%s'", file->shown);
    }
    if (!all && file->text.length < FLUSH_BYTES) {
        return STATUS_OK;
    }
    if (!file_system_write_all(file->files, file->descriptor, file->text.bytes, file->text.length)) {
        return cannot(err, "write to", file->hidden);
    }
    file->written += file->text.length;
    text_builder_clear(&file->text);
    return STATUS_OK;
}

static enum status sync_bytes(struct part_file *file, struct error *err)
{
    TRY(part_file_flush(file, true, err));
    return file->files->fsync(file->files, file->descriptor) == 0 || errno == EINVAL ? STATUS_OK : cannot(err, "sync", file->hidden);
}

enum status part_file_sync(struct part_file *file, struct error *err)
{
    if (file->descriptor >= 0) {
        TRY(sync_bytes(file, err));
    }
    if (!file->durable && !file_system_sync_parent(file->files, file->hidden)) {
        return cannot(err, "sync the folder of", file->hidden);
    }
    file->durable = true;
    return STATUS_OK;
}

enum status part_file_end(struct part_file *file, struct error *err)
{
    if (file->descriptor < 0) {
        return STATUS_OK;
    }
    TRY(sync_bytes(file, err));
    int closed = file->files->close(file->files, file->descriptor);
    file->descriptor = -1;
    return closed == 0 ? STATUS_OK : cannot(err, "close", file->hidden);
}

static enum status rename_shown(struct part_file *file, struct error *err)
{
    const struct file_system *files = file->files;
    if (files->rename(files, file->hidden, file->shown) != 0) {
        return cannot(err, "rename", file->hidden);
    }
    return file_system_sync_parent(files, file->shown) ? STATUS_OK : cannot(err, "sync the folder of", file->shown);
}

enum status part_file_show(struct part_file *file, bool shared, struct error *err)
{
    errno = 0;
    enum status status = part_file_end(file, err);
    if (status == STATUS_OK) {
        status = rename_shown(file, err);
    }
    if (status != STATUS_OK && shared && errno == ENOENT) {
        status =
            error_set(err, ERROR_JOB_TAKEN, "'%s' was shown by the next owner of the task: this process no longer owns it", file->shown);
    }
    if (status != STATUS_OK && !file->durable) {
        file->files->unlink(file->files, file->hidden);
    }
    part_file_free(file);
    return status;
}

void part_file_abandon(struct part_file *file)
{
    if (!file->durable) {
        file->files->unlink(file->files, file->hidden);
    }
    part_file_free(file);
}

/* ---- a file of an earlier process ---- */

static enum status lost(struct error *err, const char *path, const char *what, uint64_t bytes)
{
    return error_set(err, ERROR_OUTPUT_LOST, "the file '%s' %s; when it was saved it had %" PRIu64 " bytes", path, what, bytes);
}

/* Cuts what came after. Synced even if there is nothing to cut: an earlier attempt may have cut and crashed. */
static enum status cut(const struct file_system *files, const char *path, uint64_t bytes, struct error *err)
{
    int descriptor = files->open(files, path, O_WRONLY | O_CLOEXEC, 0);
    if (descriptor < 0) {
        return cannot(err, "open", path);
    }
    enum status status = STATUS_OK;
    if (files->ftruncate(files, descriptor, (off_t)bytes) != 0) {
        status = cannot(err, "cut", path);
    } else if (files->fsync(files, descriptor) != 0 && errno != EINVAL) {
        status = cannot(err, "sync", path);
    }
    files->close(files, descriptor);
    return status;
}

enum saved_place { SAVED_HIDDEN, SAVED_SHOWN, SAVED_GONE };

static enum status look_at_shown(const struct part_file *file, const struct saved_part *part, uint64_t bytes, struct error *err)
{
    bool longer = part->open && bytes > part->bytes; /* a later checkpoint, which is damaged, had more of it */
    return bytes == part->bytes || longer ? STATUS_OK : lost(err, file->shown, "has another length now", part->bytes);
}

static enum status look_at_hidden(const struct part_file *file, const struct saved_part *part, uint64_t bytes, struct error *err)
{
    if (bytes < part->bytes) {
        return lost(err, file->hidden, "is shorter now", part->bytes);
    }
    return part->open || bytes == part->bytes ? STATUS_OK : lost(err, file->hidden, "is longer now", part->bytes);
}

static bool is_absent(void)
{
    return errno == ENOENT || errno == ENOTDIR;
}

/* Where it is, and whether it can be shown as it was saved. Changes nothing. */
static enum status look(const struct part_file *file, const struct saved_part *part, enum saved_place *place, struct error *err)
{
    const struct file_system *files = file->files;
    struct stat info;
    *place = SAVED_HIDDEN;
    if (files->stat(files, file->hidden, &info) == 0) {
        return look_at_hidden(file, part, (uint64_t)info.st_size, err);
    }
    if (!is_absent()) {
        return cannot(err, "look at", file->hidden);
    }
    *place = SAVED_SHOWN;
    if (files->stat(files, file->shown, &info) == 0) {
        return look_at_shown(file, part, (uint64_t)info.st_size, err);
    }
    if (!is_absent()) {
        return cannot(err, "look at", file->shown);
    }
    *place = SAVED_GONE;
    return part->may_be_gone ? STATUS_OK : lost(err, file->hidden, "is gone, and was not shown", part->bytes);
}

static enum status recover(struct part_file *file, const struct saved_part *part, struct error *err)
{
    enum saved_place place;
    TRY(look(file, part, &place, err));
    if (place == SAVED_GONE) {
        return STATUS_OK;
    }
    if (part->open) {
        TRY(cut(file->files, place == SAVED_HIDDEN ? file->hidden : file->shown, part->bytes, err));
    }
    if (place == SAVED_HIDDEN) {
        return rename_shown(file, err);
    }
    return file_system_sync_parent(file->files, file->shown) ? STATUS_OK : cannot(err, "sync the folder of", file->shown);
}

static enum status check(struct part_file *file, const struct saved_part *part, struct error *err)
{
    enum saved_place place;
    return look(file, part, &place, err);
}

static enum status with_saved(const struct file_system *files, const struct saved_part *part,
                              enum status (*act)(struct part_file *file, const struct saved_part *part, struct error *err),
                              struct error *err)
{
    struct part_file *file;
    TRY(part_file_make(files, part->folder, part->id, &file, err));
    enum status status = act(file, part, err);
    part_file_free(file);
    return status;
}

enum status part_file_recover(const struct file_system *files, const struct saved_part *part, struct error *err)
{
    return with_saved(files, part, recover, err);
}

enum status part_file_check(const struct file_system *files, const struct saved_part *part, struct error *err)
{
    return with_saved(files, part, check, err);
}
