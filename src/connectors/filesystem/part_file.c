#include "connectors/filesystem/part_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLUSH_BYTES = 1 << 18, FOLDER_DEPTH_MAX = 64 };

struct part_file {
    int descriptor;
    char *folder, *hidden, *shown; /* hidden and shown: whole paths */
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
        close(file->descriptor);
    }
    text_builder_close(&file->text);
    free(file->folder);
    free(file->hidden);
    free(file->shown);
    free(file);
}

enum status part_file_open(const char *folder, const char *id, struct part_file **file, struct error *err)
{
    struct part_file *opened;
    TRY(folder_create(folder, err));
    TRY_ALLOC(opened, calloc(1, sizeof *opened), err);
    opened->descriptor = -1;
    opened->folder = strdup(folder);
    opened->hidden = format_path(folder, ".part-", id, ".inprogress");
    opened->shown = format_path(folder, "part-", id, "");
    if (opened->folder == NULL || opened->hidden == NULL || opened->shown == NULL) {
        part_file_free(opened);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
    }
    opened->descriptor = open(opened->hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
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

enum status part_file_flush(struct part_file *file, bool all, struct error *err)
{
    if (file->text.failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the records of '%s'", file->shown);
    }
    if (!all && file->text.length < FLUSH_BYTES) {
        return STATUS_OK;
    }
    for (size_t done = 0; done < file->text.length;) {
        ssize_t count = write(file->descriptor, file->text.bytes + done, file->text.length - done);
        if (count < 0 && errno != EINTR) {
            return cannot(err, "write to", file->hidden);
        }
        done += count < 0 ? 0 : (size_t)count;
    }
    file->written += file->text.length;
    text_builder_clear(&file->text);
    return STATUS_OK;
}

uint64_t part_file_bytes(const struct part_file *file)
{
    return file->written + file->text.length;
}

static enum status sync_folder(const char *path, struct error *err)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        return cannot(err, "open the folder", path);
    }
    int result = fsync(descriptor);
    enum status status = result == 0 || errno == EINVAL ? STATUS_OK : cannot(err, "sync the folder", path);
    close(descriptor);
    return status;
}

static enum status show(struct part_file *file, struct error *err)
{
    TRY(part_file_flush(file, true, err));
    if (fsync(file->descriptor) != 0 && errno != EINVAL) {
        return cannot(err, "sync", file->hidden);
    }
    int closed = close(file->descriptor);
    file->descriptor = -1;
    if (closed != 0) {
        return cannot(err, "close", file->hidden);
    }
    if (rename(file->hidden, file->shown) != 0) {
        return cannot(err, "rename", file->hidden);
    }
    return sync_folder(file->folder, err);
}

enum status part_file_show(struct part_file *file, struct error *err)
{
    enum status status = show(file, err);
    if (status != STATUS_OK) {
        unlink(file->hidden);
    }
    part_file_free(file);
    return status;
}

void part_file_discard(struct part_file *file)
{
    unlink(file->hidden);
    part_file_free(file);
}

enum status folder_create(const char *path, struct error *err)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        return S_ISDIR(info.st_mode) ? STATUS_OK
                                     : error_set(err, ERROR_FILE_UNWRITABLE, "'%s' is a file; a table that is written is a folder", path);
    }
    char *part = strdup(path);
    if (part == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
    }
    enum status status = STATUS_OK;
    for (char *slash = part + 1; status == STATUS_OK && slash != NULL;) {
        slash = strchr(slash, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        if (mkdir(part, 0755) != 0 && errno != EEXIST) {
            status = cannot(err, "create the folder", part);
        }
        if (slash != NULL) {
            *slash++ = '/';
        }
    }
    free(part);
    return status;
}

static enum status remove_files(const char *path, const char *keep_prefix, uint32_t depth, struct error *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return errno == ENOENT ? STATUS_OK : cannot(err, "read the folder", path);
    }
    enum status status = STATUS_OK;
    struct dirent *entry;
    while (status == STATUS_OK && (entry = readdir(folder)) != NULL) {
        struct stat info;
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, keep_prefix, strlen(keep_prefix)) == 0) {
            continue;
        }
        char *child = format_path(path, "", entry->d_name, "");
        if (child == NULL) {
            status = error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
        } else if (stat(child, &info) == 0 && S_ISDIR(info.st_mode)) {
            status = depth == 0 ? STATUS_OK : remove_files(child, keep_prefix, depth - 1, err);
        } else if (unlink(child) != 0 && errno != ENOENT) {
            status = cannot(err, "remove", child);
        }
        free(child);
    }
    closedir(folder);
    return status;
}

enum status folder_remove_files(const char *path, const char *keep_prefix, bool deep, struct error *err)
{
    return remove_files(path, keep_prefix, deep ? FOLDER_DEPTH_MAX : 0, err);
}

enum status folder_put_file(const char *folder, const char *name, struct error *err)
{
    char *path = format_path(folder, "", name, "");
    if (path == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
    }
    int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    enum status status = descriptor < 0 ? cannot(err, "create", path) : STATUS_OK;
    if (descriptor >= 0) {
        close(descriptor);
        status = sync_folder(folder, err);
    }
    free(path);
    return status;
}
