#include "connectors/filesystem/shown_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 24 };

static enum status cannot(struct error *err, const char *what, const char *path)
{
    return error_set(err, ERROR_FILE_UNWRITABLE, "cannot %s '%s': %s", what, path, strerror(errno));
}

static enum status path_of(const struct shown_mark *mark, const char *ending, struct text_builder *path, struct error *err)
{
    text_append_format(path, "%s/" SHOWN_PREFIX "%.*s%" PRId64 "%s", mark->root, (int)mark->series.length, mark->series.bytes, mark->worker,
                       ending);
    return path->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a path") : STATUS_OK;
}

static enum status read_number(const struct file_system *files, const char *path, uint64_t *checkpoint, struct error *err)
{
    char number[NUMBER_BYTES + 1] = "";
    int descriptor = files->open(files, path, O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0) {
        return errno == ENOENT || errno == ENOTDIR ? STATUS_OK : cannot(err, "open", path);
    }
    ssize_t length = files->pread(files, descriptor, number, NUMBER_BYTES, 0);
    enum status status = length < 0 ? cannot(err, "read", path) : STATUS_OK;
    files->close(files, descriptor);
    if (status == STATUS_OK) {
        number[length] = '\0';
        *checkpoint = strtoull(number, NULL, 10);
    }
    return status;
}

enum status shown_mark_read(const struct shown_mark *mark, uint64_t *checkpoint, struct error *err)
{
    struct text_builder path = {0};
    *checkpoint = 0;
    enum status status = path_of(mark, "", &path, err);
    if (status == STATUS_OK) {
        status = read_number(mark->files, path.bytes, checkpoint, err);
    }
    text_builder_close(&path);
    return status;
}

static enum status write_number(const struct file_system *files, const char *path, uint64_t checkpoint, struct error *err)
{
    char number[NUMBER_BYTES];
    int length = snprintf(number, sizeof number, "%" PRIu64 "\n", checkpoint);
    int descriptor = files->open(files, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) {
        return cannot(err, "create", path);
    }
    bool written =
        file_system_write_all(files, descriptor, number, (size_t)length) && (files->fsync(files, descriptor) == 0 || errno == EINVAL);
    enum status status = written ? STATUS_OK : cannot(err, "write to", path);
    return files->close(files, descriptor) == 0 || !written ? status : cannot(err, "close", path);
}

static enum status replace(const struct file_system *files, const char *from, const char *to, struct error *err)
{
    if (files->rename(files, from, to) != 0) {
        return cannot(err, "rename", from);
    }
    return file_system_sync_parent(files, to) ? STATUS_OK : cannot(err, "sync the folder of", to);
}

enum status shown_mark_write(const struct shown_mark *mark, uint64_t checkpoint, struct error *err)
{
    struct text_builder path = {0}, unfinished = {0};
    enum status status = path_of(mark, "", &path, err);
    if (status == STATUS_OK) {
        char ending[128];
        snprintf(ending, sizeof ending, "%.100s.inprogress", mark->attempt);
        status = path_of(mark, ending, &unfinished, err);
    }
    if (status == STATUS_OK) {
        status = write_number(mark->files, unfinished.bytes, checkpoint, err);
    }
    if (status == STATUS_OK) {
        status = replace(mark->files, unfinished.bytes, path.bytes, err);
    }
    text_builder_close(&path);
    text_builder_close(&unfinished);
    return status;
}
