/* The databases of a checkpoint: of the files that job_save has linked those are stored that no earlier checkpoint of this database has
 * brought to the storage. The job's thread is here only while the thread that stores is not. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/checkpointer_internal.h"

/* A file in the storage, as some checkpoint names it. */
struct database_file {
    struct checkpoint_file file; /* its texts are its own; name NULL: not to be found by it again */
    uint64_t last_number;        /* of the checkpoints that name it; 0: none yet */
    bool pending;                /* the checkpoint under way names it */
};

static void file_close(struct database_file *file)
{
    free((char *)file->file.key);
    free((char *)file->file.sha256);
    free((char *)file->file.name);
}

/* `entry`: the new one, until the next call. */
static enum status note_file(struct database_files *files, const struct checkpoint_file *file, const char *name, uint64_t number,
                             struct database_file **entry, struct error *err)
{
    if (files->count == files->capacity) {
        struct database_file *grown = reallocarray(files->items, files->capacity * 2 + 8, sizeof *grown);
        TRY_ALLOC(grown, grown, err);
        files->items = grown;
        files->capacity = files->capacity * 2 + 8;
    }
    struct database_file *added = &files->items[files->count];
    *added = (struct database_file){.file = *file, .last_number = number};
    added->file.key = strdup(file->key);
    added->file.sha256 = strdup(file->sha256);
    added->file.name = strdup(name);
    files->count++;
    *entry = added;
    return added->file.key != NULL && added->file.sha256 != NULL && added->file.name != NULL
               ? STATUS_OK
               : error_set(err, ERROR_BUDGET_SPENT, "no room for the files of a checkpoint");
}

static enum status make_room(struct checkpointer *self, uint32_t count, struct error *err)
{
    if (count > self->database_count) {
        struct database_files *grown = reallocarray(self->databases, count, sizeof *grown);
        TRY_ALLOC(grown, grown, err);
        memset(grown + self->database_count, 0, (count - self->database_count) * sizeof *grown);
        self->databases = grown;
        self->database_count = count;
    }
    return STATUS_OK;
}

void checkpoint_close_databases(struct checkpointer *self)
{
    for (uint32_t i = 0; i < self->database_count; i++) {
        for (uint32_t f = 0; f < self->databases[i].count; f++) {
            file_close(&self->databases[i].items[f]);
        }
        free(self->databases[i].items);
    }
    free(self->databases);
    self->databases = NULL;
    self->database_count = 0;
}

enum status checkpoint_adopt_databases(struct checkpointer *self, struct error *err)
{
    uint32_t chains = checkpoint_chain_count(&self->found), count = self->found.table_count - chains;
    struct database_file *entry;
    checkpoint_close_databases(self);
    TRY(make_room(self, count, err));
    for (uint32_t i = 0; i < count; i++) {
        const struct checkpoint_table *table = &self->found.tables[chains + i];
        for (uint32_t f = 0; f < table->file_count; f++) {
            const struct checkpoint_file *file = &table->files[f];
            TRY(note_file(&self->databases[i], file, file->name == NULL ? "" : file->name, self->found.seq, &entry, err));
        }
    }
    return STATUS_OK;
}

void checkpoint_disown_databases(struct checkpointer *self)
{
    for (uint32_t i = 0; i < self->database_count; i++) {
        for (uint32_t f = 0; f < self->databases[i].count; f++) {
            free((char *)self->databases[i].items[f].file.name);
            self->databases[i].items[f].file.name = NULL;
        }
    }
}

/* ---- storing ---- */

static enum status read_local(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    ssize_t got = pread(*(const int *)context, buffer, capacity, (off_t)offset);
    *length = got < 0 ? 0 : (size_t)got;
    return got >= 0 ? STATUS_OK : error_set(err, ERROR_STATE_DISK, "cannot read a file of state: %s", strerror(errno));
}

static bool is_lasting(const struct cold_driver *driver, const char *name)
{
    size_t length = strlen(name), end = strlen(driver->lasting);
    return length > end && strcmp(name + length - end, driver->lasting) == 0;
}

static struct database_file *find_stored(const struct database_files *files, const char *name, uint64_t bytes)
{
    for (uint32_t i = 0; i < files->count; i++) {
        struct database_file *entry = &files->items[i];
        if (entry->file.name != NULL && strcmp(entry->file.name, name) == 0 && entry->file.bytes == bytes) {
            return entry;
        }
    }
    return NULL;
}

struct storing {
    struct checkpointer *self;
    struct checkpoint_writer *writer;
    struct arena *arena; /* of the manifest */
    struct database_files *files;
    struct checkpoint_file *list; /* of the manifest's table */
    uint32_t count, capacity;
};

static enum status store_local(struct storing *storing, int opened, const char *name, struct error *err)
{
    struct checkpointer *self = storing->self;
    struct stat status;
    if (fstat(opened, &status) != 0) {
        return error_set(err, ERROR_STATE_DISK, "cannot look at the file '%s' of state: %s", name, strerror(errno));
    }
    struct database_file *entry =
        is_lasting(self->pending.driver, name) ? find_stored(storing->files, name, (uint64_t)status.st_size) : NULL;
    if (entry == NULL) {
        struct checkpoint_file file;
        const struct object_source source = {.bytes = (uint64_t)status.st_size, .read = read_local, .context = &opened};
        TRY(checkpoint_add_file(storing->writer, &source, 0, storing->arena, &file, err));
        TRY(note_file(storing->files, &file, name, 0, &entry, err));
        self->pending.bytes += file.bytes;
    }
    assert(entry != NULL);
    entry->pending = true;
    TRY_ALLOC(storing->list, arena_grow(storing->arena, storing->list, &storing->capacity, storing->count + 1, sizeof *storing->list), err);
    storing->list[storing->count++] = entry->file;
    return STATUS_OK;
}

static enum status store_folder(struct storing *storing, const char *path, struct error *err)
{
    DIR *folder = opendir(path);
    enum status status = STATUS_OK;
    if (folder == NULL) {
        return error_set(err, ERROR_STATE_DISK, "cannot read the folder '%s': %s", path, strerror(errno));
    }
    for (struct dirent *at; status == STATUS_OK && (at = readdir(folder)) != NULL;) {
        if (at->d_name[0] == '.') {
            continue;
        }
        int opened = openat(dirfd(folder), at->d_name, O_RDONLY | O_CLOEXEC);
        status = opened < 0 ? error_set(err, ERROR_STATE_DISK, "cannot open '%s/%s': %s", path, at->d_name, strerror(errno))
                            : store_local(storing, opened, at->d_name, err);
        if (opened >= 0) {
            close(opened);
        }
    }
    closedir(folder);
    return status;
}

enum status checkpoint_store_databases(struct checkpointer *self, struct checkpoint_writer *writer, struct arena *arena,
                                       struct checkpoint_table *tables, struct error *err)
{
    const struct pending *pending = &self->pending;
    TRY(make_room(self, pending->database_count, err));
    for (uint32_t i = 0; i < pending->database_count; i++) {
        char path[COLD_PATH_MAX];
        struct storing storing = {.self = self, .writer = writer, .arena = arena, .files = &self->databases[i]};
        cold_folder_path(pending->folder, i, pending->number, path);
        TRY(store_folder(&storing, path, err));
        tables[i] = (struct checkpoint_table){.kind = "sst", .files = storing.list, .file_count = storing.count};
        TRY_ALLOC(tables[i].name, arena_format(arena, "%s-%u", pending->driver->name, i), err);
    }
    return STATUS_OK;
}

/* ---- afterwards ---- */

static void forget(struct database_files *files, uint32_t at)
{
    file_close(&files->items[at]);
    files->items[at] = files->items[--files->count];
}

void checkpoint_settle_databases(struct checkpointer *self, bool stored)
{
    for (uint32_t i = 0; i < self->database_count; i++) {
        struct database_files *files = &self->databases[i];
        for (uint32_t f = files->count; f-- > 0;) {
            struct database_file *file = &files->items[f];
            file->last_number = stored && file->pending ? self->pending.number : file->last_number;
            file->pending = false;
            if (file->last_number == 0) {
                forget(files, f); /* of a checkpoint that failed: no manifest names it, so it is swept */
            }
        }
    }
}

void checkpoint_drop_databases(struct checkpointer *self, uint64_t oldest)
{
    for (uint32_t i = 0; i < self->database_count; i++) {
        struct database_files *files = &self->databases[i];
        for (uint32_t f = files->count; f-- > 0;) {
            if (files->items[f].last_number < oldest) {
                struct error ignored;
                (void)!checkpoint_remove_file(self->spec.storage, self->id, &files->items[f].file, &ignored);
                forget(files, f);
            }
        }
    }
}

void checkpoint_drop_folder(struct checkpointer *self)
{
    struct pending *pending = &self->pending;
    for (uint32_t i = 0; pending->folder != NULL && i < pending->database_count; i++) {
        char path[COLD_PATH_MAX];
        cold_folder_path(pending->folder, i, pending->number, path);
        cold_remove_tree(path);
    }
    cold_folder_close(pending->folder);
    pending->folder = NULL;
}
