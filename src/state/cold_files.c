#include "state/cold_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "state/cold_registry.h"

static enum status fail(struct error *err, const char *what, const char *path)
{
    return error_set(err, ERROR_STATE_DISK, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* The table's name is "<driver>-<worker>". */
enum status cold_source_driver(const struct cold_source *source, const struct cold_driver **driver, struct error *err)
{
    char name[64];
    const char *end = strrchr(source->table->name, '-');
    size_t length = end == NULL ? strlen(source->table->name) : (size_t)(end - source->table->name);
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 0, source->table->name);
    return cold_driver_find(name, driver, err);
}

/* ---- fetching ---- */

struct target {
    FILE *file;
    const char *path;
};

static enum status write_piece(void *context, const void *bytes, size_t length, struct error *err)
{
    const struct target *target = context;
    return fwrite(bytes, 1, length, target->file) == length ? STATUS_OK : fail(err, "write", target->path);
}

static enum status fetch_file(const struct cold_source *source, const struct checkpoint_file *file, const char *path, struct error *err)
{
    struct target target = {fopen(path, "wxe"), path};
    const struct object_sink sink = {.write = write_piece, .context = &target};
    if (target.file == NULL) {
        return fail(err, "make", path);
    }
    enum status status = source->read(source->context, file, &sink, err);
    int closed = fclose(target.file);
    return status == STATUS_OK && closed != 0 ? fail(err, "write", path) : status;
}

enum status cold_files_fetch(const struct cold_source *source, const char *path, struct error *err)
{
    if (mkdir(path, 0700) != 0) {
        return fail(err, "make the folder", path);
    }
    for (uint32_t i = 0; i < source->table->file_count; i++) {
        const struct checkpoint_file *file = &source->table->files[i];
        char file_path[COLD_PATH_MAX + 256];
        if (file->name == NULL || file->name[0] == '.' || strchr(file->name, '/') != NULL || strlen(file->name) > 200) {
            return error_set(err, ERROR_STATE_CORRUPT, "the checkpoint's file '%s' has no name of a database's file", file->key);
        }
        snprintf(file_path, sizeof file_path, "%s/%s", path, file->name);
        TRY(fetch_file(source, file, file_path, err));
    }
    return STATUS_OK;
}
