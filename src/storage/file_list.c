#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "storage/file_store.h"

struct entry {
    size_t name, text, text_length; /* offsets into the folder's texts */
    bool is_folder;
};
struct folder {
    struct text_builder texts;
    struct entry *entries;
    size_t count, capacity;
    bool failed;
};
struct listing {
    struct file_store *store;
    const char *prefix, *after;
    object_visit visit;
    void *context;
    bool stop;
    char key[OBJECT_KEY_MAX + FILE_NAME_TEXT + 1], path[PATH_MAX];
};

static bool add_entry(void *context, const char *name, bool is_folder)
{
    struct folder *folder = context;
    char text[FILE_NAME_TEXT];
    size_t length;
    if (!file_name_decode(name, is_folder, text, &length)) {
        return true; /* .spate, lost+found, what people put there */
    }
    if (folder->count == folder->capacity) {
        size_t capacity = folder->capacity == 0 ? 64 : 2 * folder->capacity;
        struct entry *grown = realloc(folder->entries, capacity * sizeof *grown);
        if (grown == NULL) {
            folder->failed = true;
            return false;
        }
        folder->entries = grown;
        folder->capacity = capacity;
    }
    struct entry *entry = &folder->entries[folder->count++];
    *entry = (struct entry){.name = folder->texts.length, .is_folder = is_folder, .text_length = length};
    text_append(&folder->texts, name, strlen(name) + 1);
    entry->text = folder->texts.length;
    text_append(&folder->texts, text, length);
    return true;
}

static int compare_entries(const void *left, const void *right, void *context)
{
    const struct entry *a = left, *b = right;
    const char *bytes = ((const struct folder *)context)->texts.bytes;
    size_t shorter = a->text_length < b->text_length ? a->text_length : b->text_length;
    int order = memcmp(bytes + a->text, bytes + b->text, shorter);
    return order != 0 ? order : (a->text_length > b->text_length) - (a->text_length < b->text_length);
}

static void folder_close(struct folder *folder)
{
    text_builder_close(&folder->texts);
    free(folder->entries);
}

static enum status read_folder(struct listing *self, struct folder *folder, struct error *err)
{
    const struct file_system *files = self->store->files;
    if (files->list(files, self->path, add_entry, folder) != 0 && errno != ENOENT && errno != ENOTDIR) {
        return file_store_fail(err, "list", self->path);
    }
    if (folder->failed || folder->texts.failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the names in '%s'", self->path);
    }
    if (folder->count > 0) {
        qsort_r(folder->entries, folder->count, sizeof *folder->entries, compare_entries, folder);
    }
    return STATUS_OK;
}

/* Can keys that begin with self->key be wanted? */
static bool may_hold(const struct listing *self)
{
    size_t length = strlen(self->key), prefix = strlen(self->prefix);
    if (strncmp(self->key, self->prefix, length < prefix ? length : prefix) != 0) {
        return false;
    }
    return self->after == NULL || strncmp(self->key, self->after, length) >= 0;
}

static enum status visit_object(struct listing *self, struct error *err)
{
    struct object_info info;
    struct error unreadable;
    enum object_result result;
    int fd;
    if (strncmp(self->key, self->prefix, strlen(self->prefix)) != 0 || (self->after != NULL && strcmp(self->key, self->after) <= 0) ||
        object_key_check(self->key, &unreadable) != STATUS_OK) {
        return STATUS_OK;
    }
    enum status status = file_object_open(self->store, self->path, &result, &fd, &info, err);
    if (status == STATUS_CORRUPT) {
        return self->visit(self->context, self->key, &(struct object_info){0}, &self->stop, err);
    }
    if (status != STATUS_OK || result != OBJECT_OK) {
        return status; /* not there: removed since */
    }
    self->store->files->close(self->store->files, fd);
    return self->visit(self->context, self->key, &info, &self->stop, err);
}

/* Lists the folder self->path, whose keys begin with self->key. Deeper ones by recursion: a part of a key is a level or two. */
static enum status list_folder(struct listing *self, struct error *err)
{
    struct folder folder = {0};
    size_t key_length = strlen(self->key), path_length = strlen(self->path);
    bool part_begins = key_length == 0 || self->key[key_length - 1] == '/';
    enum status status = read_folder(self, &folder, err);
    for (size_t i = 0; i < folder.count && status == STATUS_OK && !self->stop; i++) {
        const struct entry *entry = &folder.entries[i];
        const char *name = folder.texts.bytes + entry->name, *text = folder.texts.bytes + entry->text;
        if (key_length + entry->text_length > OBJECT_KEY_MAX || path_length + strlen(name) + 2 > sizeof self->path ||
            (part_begins && name[0] == '%' && (name[1] == '\0' || name[1] == '+'))) {
            continue; /* not made by us: no key has an empty part or is that long */
        }
        memcpy(self->key + key_length, text, entry->text_length);
        self->key[key_length + entry->text_length] = '\0';
        snprintf(self->path + path_length, sizeof self->path - path_length, "/%s", name);
        if (!entry->is_folder) {
            status = visit_object(self, err);
        } else if (may_hold(self)) {
            status = list_folder(self, err);
        }
    }
    self->key[key_length] = '\0';
    self->path[path_length] = '\0';
    folder_close(&folder);
    return status;
}

enum status file_store_list(struct object_store *base, const char *prefix, const char *after, object_visit visit, void *context,
                            struct error *err)
{
    struct file_store *store = (struct file_store *)base;
    struct listing self = {.store = store, .prefix = prefix, .after = after, .visit = visit, .context = context};
    char below[FILE_KEY_PATH_MAX];
    const char *slash = strrchr(prefix, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash + 1 - prefix);
    if (strlen(prefix) > OBJECT_KEY_MAX) {
        return STATUS_OK; /* longer than any key */
    }
    memcpy(self.key, prefix, length);
    self.key[length] = '\0';
    file_name_of_folder(prefix, length, below);
    snprintf(self.path, sizeof self.path, "%s%s%.*s", store->root, length == 0 ? "" : "/", length == 0 ? 0 : (int)strlen(below) - 1, below);
    return list_folder(&self, err);
}
