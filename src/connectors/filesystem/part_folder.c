#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/filesystem/part_file.h"

enum { FOLDER_DEPTH_MAX = 64 };

static enum status cannot(struct error *err, const char *what, const char *path)
{
    return error_set(err, ERROR_FILE_UNWRITABLE, "cannot %s '%s': %s", what, path, strerror(errno));
}

enum status folder_create(const struct file_system *files, const char *path, struct error *err)
{
    struct stat info;
    if (files->stat(files, path, &info) == 0) {
        return S_ISDIR(info.st_mode) ? STATUS_OK
                                     : error_set(err, ERROR_FILE_UNWRITABLE, "'%s' is a file; a table that is written is a folder", path);
    }
    return file_system_make_folders(files, path) ? STATUS_OK : cannot(err, "create the folder", path);
}

enum status folder_put_file(const struct file_system *files, const char *folder, const char *name, struct error *err)
{
    struct text_builder path = {0};
    text_append_format(&path, "%s/%s", folder, name);
    if (path.failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
    }
    int descriptor = files->open(files, path.bytes, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    enum status status = descriptor < 0 && errno != ENOENT ? cannot(err, "create", path.bytes) : STATUS_OK;
    if (descriptor >= 0) {
        files->close(files, descriptor);
        status = file_system_sync_folder(files, folder) ? STATUS_OK : cannot(err, "sync the folder", folder);
    }
    text_builder_close(&path);
    return status;
}

/* A walk that removes: which names, and whether to go into folders. */
struct sweep {
    const struct file_system *files;
    const char *keep_prefix;                /* visible files without it */
    const struct part_leftovers *leftovers; /* NULL: the other kind of sweep */
    struct text_builder path;               /* the folder that is walked, then the entry */
    uint32_t depth;
    enum status status;
    struct error *err;
};

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

enum { LINEAGE_BYTES = 9 }; /* of a name, with its dash */

static uint64_t number_behind(const char *name, size_t length)
{
    return strlen(name) < length ? 0 : strtoull(name + length, NULL, 10);
}

static bool sweep_takes(const struct sweep *sweep, const char *name)
{
    const struct part_leftovers *leftovers = sweep->leftovers;
    if (leftovers == NULL) {
        return name[0] != '.' && !begins_with(name, sweep->keep_prefix);
    }
    if (name[0] == '.' && begins_with(name, leftovers->marks)) {
        return leftovers->marks_end == UINT64_MAX || number_behind(name, strlen(leftovers->marks) + LINEAGE_BYTES) < leftovers->marks_end;
    }
    if (name[0] == '.') {
        return begins_with(name, leftovers->owner) && strstr(name, leftovers->attempt) == NULL &&
               number_behind(name, strlen(leftovers->owner) + LINEAGE_BYTES) < leftovers->end;
    }
    uint64_t saved = leftovers->shown && begins_with(name, leftovers->lineage) ? number_behind(name, strlen(leftovers->lineage)) : 0;
    return leftovers->shown && begins_with(name, leftovers->lineage) && saved >= leftovers->after && saved < leftovers->end;
}

static void sweep_folder(struct sweep *sweep);

static bool sweep_visit(void *context, const char *name, bool is_folder)
{
    struct sweep *sweep = context;
    size_t length = sweep->path.length;
    text_append_format(&sweep->path, "/%s", name);
    if (sweep->path.failed) {
        sweep->status = error_set(sweep->err, ERROR_BUDGET_SPENT, "no room for a path");
    } else if (is_folder) {
        if (sweep->leftovers != NULL && sweep->depth < FOLDER_DEPTH_MAX) {
            sweep->depth++;
            sweep_folder(sweep);
            sweep->depth--;
        }
    } else if (sweep_takes(sweep, name) && sweep->files->unlink(sweep->files, sweep->path.bytes) != 0 && errno != ENOENT) {
        sweep->status = cannot(sweep->err, "remove", sweep->path.bytes);
    }
    if (sweep->status == STATUS_OK) {
        sweep->path.length = length;
        sweep->path.bytes[length] = '\0';
    }
    return sweep->status == STATUS_OK;
}

static void sweep_folder(struct sweep *sweep)
{
    errno = 0;
    int result = sweep->files->list(sweep->files, sweep->path.bytes, sweep_visit, sweep);
    if (result != 0 && sweep->status == STATUS_OK && errno != ENOENT) {
        sweep->status = cannot(sweep->err, "read the folder", sweep->path.bytes);
    }
}

static enum status sweep_run(struct sweep *sweep, const char *path)
{
    text_append_text(&sweep->path, path);
    if (sweep->path.failed) {
        return error_set(sweep->err, ERROR_BUDGET_SPENT, "no room for a path");
    }
    sweep_folder(sweep);
    text_builder_close(&sweep->path);
    return sweep->status;
}

enum status folder_remove_files(const struct file_system *files, const char *path, const char *keep_prefix, struct error *err)
{
    struct sweep sweep = {.files = files, .keep_prefix = keep_prefix, .status = STATUS_OK, .err = err};
    return sweep_run(&sweep, path);
}

enum status folder_remove_leftovers(const struct file_system *files, const char *path, const struct part_leftovers *leftovers,
                                    struct error *err)
{
    struct sweep sweep = {.files = files, .leftovers = leftovers, .status = STATUS_OK, .err = err};
    return sweep_run(&sweep, path);
}
