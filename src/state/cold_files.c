#include "state/cold_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/cold_registry.h"
#include "state/cold_rows.h"
#include "state/snapshot.h"

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

/* ---- as rows ---- */

static enum status put_row_bytes(void *context, const void *bytes, size_t length, struct error *err)
{
    return fwrite(bytes, 1, length, context) == length ? STATUS_OK : fail(err, "write", "the rows of a database");
}

static enum status export_open(struct cold_db *db, FILE *rows, struct budget *budget, struct error *err)
{
    struct snapshot_writer *writer;
    TRY(snapshot_writer_create(budget, true, 0, &writer, err));
    enum status status = snapshot_stream(writer, put_row_bytes, rows, err);
    if (status == STATUS_OK) {
        status = cold_export(db, NULL, writer, budget, err);
    }
    if (status == STATUS_OK) {
        status = snapshot_finish(writer, put_row_bytes, rows, err);
    }
    snapshot_writer_destroy(writer);
    return status == STATUS_OK && fflush(rows) != 0 ? fail(err, "write", "the rows of a database") : status;
}

static enum status export_fetched(const struct cold_source *source, const char *path, FILE *rows, struct budget *budget, struct error *err)
{
    enum { EXPORT_BYTES = 16 << 20, LEAST_BYTES = 2 << 20 }; /* less takes longer */
    const struct cold_driver *driver;
    struct cold_options options = {.folder = path, .memory_bytes = EXPORT_BYTES, .read_only = true};
    struct cold_db *db;
    TRY(cold_source_driver(source, &driver, err));
    TRY(cold_files_fetch(source, path, err));
    while (!budget_charge(budget, 2 * options.memory_bytes)) { /* half of it for rows on their way */
        if (options.memory_bytes <= LEAST_BYTES) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the %d MB that it takes to read a database of state",
                             2 * LEAST_BYTES >> 20);
        }
        options.memory_bytes /= 2;
    }
    budget_release(budget, options.memory_bytes);
    enum status status = driver->open(&options, &db, err);
    if (status == STATUS_OK) {
        status = export_open(db, rows, budget, err);
        driver->close(db);
    }
    budget_release(budget, options.memory_bytes);
    return status;
}

enum status cold_files_export(const struct cold_source *source, const struct cold_folder *folder, uint32_t number, struct budget *budget,
                              FILE **rows, struct error *err)
{
    char path[COLD_PATH_MAX];
    cold_folder_path(folder, number, 0, path);
    TRY(cold_folder_temporary(folder, rows, err));
    enum status status = export_fetched(source, path, *rows, budget, err);
    cold_remove_tree(path);
    if (status != STATUS_OK) {
        error_add_context(err, "while reading the database '%s' of a checkpoint", source->table->name);
        fclose(*rows);
        *rows = NULL;
    }
    return status;
}

enum status cold_rows_stream(FILE *rows, const struct object_sink *sink, struct error *err)
{
    char piece[1 << 16];
    off_t offset = 0;
    for (ssize_t got; (got = pread(fileno(rows), piece, sizeof piece, offset)) != 0; offset += got) {
        if (got < 0) {
            return fail(err, "read", "the rows of a database");
        }
        TRY(sink->write(sink->context, piece, (size_t)got, err));
    }
    return STATUS_OK;
}
