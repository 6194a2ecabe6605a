/* Archives by libarchive. It brings libraries of its own, which no one should wait for who never has an archive: it is loaded when the
 * first one comes. */
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "storage/artifacts_internal.h"

#define LIBRARY "libarchive.so.13"
/* Each function that is called, by its own type. */
#define FUNCTION_LIST(X)                                                                                                                   \
    X(archive_read_new)                                                                                                                    \
    X(archive_read_support_filter_all)                                                                                                     \
    X(archive_read_support_format_zip)                                                                                                     \
    X(archive_read_support_format_tar)                                                                                                     \
    X(archive_read_open_filename)                                                                                                          \
    X(archive_read_next_header)                                                                                                            \
    X(archive_read_data_block)                                                                                                             \
    X(archive_read_free)                                                                                                                   \
    X(archive_write_disk_new)                                                                                                              \
    X(archive_write_disk_set_options)                                                                                                      \
    X(archive_write_header)                                                                                                                \
    X(archive_write_data_block)                                                                                                            \
    X(archive_write_finish_entry)                                                                                                          \
    X(archive_write_free)                                                                                                                  \
    X(archive_error_string)                                                                                                                \
    X(archive_entry_pathname)                                                                                                              \
    X(archive_entry_set_pathname)                                                                                                          \
    X(archive_entry_hardlink)                                                                                                              \
    X(archive_entry_set_hardlink)

static struct {
#define X(name) __typeof__(&(name)) name;
    FUNCTION_LIST(X)
#undef X
} library;
static char library_fault[200]; /* "": loaded */
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(library_fault, sizeof library_fault, "%s", dlerror());
        return;
    }
#define X(name)                                                                                                                            \
    *(void **)&library.name = dlsym(handle, #name);                                                                                        \
    if (library.name == NULL) {                                                                                                            \
        snprintf(library_fault, sizeof library_fault, "it has no " #name);                                                                 \
    }
    FUNCTION_LIST(X)
#undef X
}

/* `folder`/`path` into `out`; what would lead out of the folder is refused, whatever libarchive thinks of it. */
static enum status entry_place(const char *folder, const char *path, char *out, size_t capacity, struct error *err)
{
    for (const char *part = path; *part != '\0';) {
        size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.') {
            return error_set(err, ERROR_STORE_CORRUPT, "its entry '%.200s' would leave the folder", path);
        }
        part += length + (part[length] == '/');
    }
    if (path[0] == '/' || (size_t)snprintf(out, capacity, "%s/%s", folder, path) >= capacity) {
        return error_set(err, ERROR_STORE_CORRUPT, "its entry '%.200s' is absolute, or too long", path);
    }
    return STATUS_OK;
}

static enum status entry_move(struct archive_entry *entry, const char *folder, struct error *err)
{
    char place[4096];
    const char *path = library.archive_entry_pathname(entry), *link = library.archive_entry_hardlink(entry);
    if (path == NULL) {
        return error_set(err, ERROR_STORE_CORRUPT, "an entry has no name that can be read");
    }
    TRY(entry_place(folder, path, place, sizeof place, err));
    library.archive_entry_set_pathname(entry, place);
    if (link != NULL) {
        TRY(entry_place(folder, link, place, sizeof place, err));
        library.archive_entry_set_hardlink(entry, place);
    }
    return STATUS_OK;
}

static enum status fail_archive(struct archive *archive, const char *what, struct error *err)
{
    const char *text = library.archive_error_string(archive);
    return error_set(err, ERROR_STORE_CORRUPT, "%s: %s", what, text == NULL ? "no reason given" : text);
}

static enum status entry_copy(struct archive *in, struct archive *out, struct error *err)
{
    const void *bytes;
    size_t length;
    la_int64_t offset;
    for (;;) {
        int code = library.archive_read_data_block(in, &bytes, &length, &offset);
        if (code == ARCHIVE_EOF) {
            return library.archive_write_finish_entry(out) < ARCHIVE_WARN ? fail_archive(out, "an entry cannot be written", err)
                                                                          : STATUS_OK;
        }
        if (code < ARCHIVE_WARN) {
            return fail_archive(in, "an entry cannot be read", err);
        }
        if (library.archive_write_data_block(out, bytes, length, offset) < ARCHIVE_WARN) {
            return fail_archive(out, "an entry cannot be written", err);
        }
    }
}

static enum status extract_all(struct archive *in, struct archive *out, const char *folder, struct error *err)
{
    struct archive_entry *entry;
    for (;;) {
        int code = library.archive_read_next_header(in, &entry);
        if (code == ARCHIVE_EOF) {
            return STATUS_OK;
        }
        if (code < ARCHIVE_WARN) {
            return fail_archive(in, "it cannot be read", err);
        }
        TRY(entry_move(entry, folder, err));
        if (library.archive_write_header(out, entry) < ARCHIVE_WARN) {
            return fail_archive(out, "an entry cannot be written", err);
        }
        TRY(entry_copy(in, out, err));
    }
}

enum status artifact_extract(const char *archive_path, const char *name, const char *folder, struct error *err)
{
    enum status status = STATUS_OK;
    pthread_once(&library_once, library_load);
    if (library_fault[0] != '\0') {
        return error_set(err, ERROR_MODULE_MISSING, "archive '%s' cannot be extracted: " LIBRARY " (Debian: libarchive13) is missing: %s",
                         name, library_fault);
    }
    struct archive *in = library.archive_read_new(), *out = library.archive_write_disk_new();
    if (in == NULL || out == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room to extract '%s'", name);
    } else {
        library.archive_read_support_filter_all(in);
        library.archive_read_support_format_zip(in);
        library.archive_read_support_format_tar(in);
        library.archive_write_disk_set_options(out, ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                        ARCHIVE_EXTRACT_SECURE_NODOTDOT);
        status = library.archive_read_open_filename(in, archive_path, 64 << 10) != ARCHIVE_OK ? fail_archive(in, "it cannot be read", err)
                                                                                              : extract_all(in, out, folder, err);
    }
    if (in != NULL) {
        library.archive_read_free(in);
    }
    if (out != NULL && library.archive_write_free(out) < ARCHIVE_WARN && status == STATUS_OK) {
        status = error_set(err, ERROR_FILE_UNWRITABLE, "the last entries cannot be written");
    }
    if (status != STATUS_OK) {
        error_add_context(err, "while extracting archive '%s' to '%s'", name, folder);
    }
    return status;
}
