/* A driver of coordination in one file, against nothing but spate/driver.h: registers are files of one folder, a lock on the folder makes a
 * change one thing, and a counter beside them gives versions that never come back.
 *
 *     cc -shared -fPIC -o spate-driver-directory.so directory_driver.c
 *     SPATE_MODULE_PATH=$PWD spate test-driver directory:/tmp/registers
 *
 * A file holds the version (20 digits), a line feed, and the value. A file is replaced by rename, so a reader sees the old one or the new one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spate/driver.h"

enum { HEAD_BYTES = 21, PATH_BYTES = 4096, PART_BYTES = 200 };

struct directory {
    char path[PATH_BYTES / 2];
};

static int fail(char *message, const char *verb, const char *path)
{
    int cause = errno;
    snprintf(message, SPATE_DRIVER_MESSAGE_BYTES, "cannot %s '%.300s': %s; check the folder", verb, path, strerror(cause));
    return cause == EACCES || cause == EPERM || cause == EROFS ? SPATE_DRIVER_DENIED
           : cause == ENOSPC || cause == EDQUOT                ? SPATE_DRIVER_FULL
                                                               : SPATE_DRIVER_UNAVAILABLE;
}

/* ---- names: every byte but letters and digits is %XX, so no two names meet; long ones go through folders "+" of 200 bytes ---- */

static void path_of(const struct directory *self, const char *name, char *path)
{
    size_t length = (size_t)snprintf(path, PATH_BYTES, "%s/r", self->path), part = 1;
    for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++) {
        int plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        if (part + 3 > PART_BYTES) {
            length += (size_t)snprintf(path + length, PATH_BYTES - length, "+/");
            part = 0;
        }
        size_t bytes = (size_t)snprintf(path + length, PATH_BYTES - length, plain ? "%c" : "%%%02X", *at);
        length += bytes;
        part += bytes;
    }
}

static void name_of(const char *encoded, char *name)
{
    for (encoded += encoded[0] == 'r'; *encoded != '\0'; name++) {
        char digits[3] = {encoded[0] == '%' ? encoded[1] : '0', encoded[0] == '%' ? encoded[2] : '0', '\0'};
        *name = encoded[0] == '%' ? (char)strtol(digits, NULL, 16) : encoded[0];
        encoded += encoded[0] == '%' ? 3 : 1;
    }
    *name = '\0';
}

/* ---- files ---- */

static int lock(const struct directory *self, int *locked, char *message)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/lock", self->path);
    *locked = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*locked < 0 || flock(*locked, LOCK_EX) != 0) {
        if (*locked >= 0) {
            close(*locked);
        }
        return fail(message, "lock", path);
    }
    return SPATE_DRIVER_OK;
}

static int read_file(const char *path, char *bytes, size_t capacity, size_t *length, char *message)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return errno == ENOENT || errno == ENOTDIR ? SPATE_DRIVER_ABSENT : fail(message, "read", path);
    }
    ssize_t got = 0;
    *length = 0;
    while (*length < capacity && (got = read(file, bytes + *length, capacity - *length)) > 0) {
        *length += (size_t)got;
    }
    int failed = got < 0 ? fail(message, "read", path) : SPATE_DRIVER_OK;
    close(file);
    return failed;
}

static int sync_folder(const char *path, char *message)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = file < 0 || fsync(file) != 0 ? fail(message, "sync", folder) : SPATE_DRIVER_OK;
    if (file >= 0) {
        close(file);
    }
    return failed;
}

/* Makes the folders "...+" on the way to a file. */
static void make_folders(const struct directory *self, char *path)
{
    for (char *slash = strchr(path + strlen(self->path) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777); /* the open says if it is not there */
        *slash = '/';
    }
}

static int write_file(const struct directory *self, char *path, const char *head, const void *value, size_t length, char *message)
{
    char fresh[PATH_BYTES];
    snprintf(fresh, sizeof fresh, "%s/new", self->path); /* the lock is held: there is one at a time */
    make_folders(self, path);
    int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        return fail(message, "create", fresh);
    }
    int written =
        write(file, head, strlen(head)) == (ssize_t)strlen(head) && write(file, value, length) == (ssize_t)length && fsync(file) == 0;
    int failed = written ? SPATE_DRIVER_OK : fail(message, "write", fresh);
    close(file);
    if (failed == SPATE_DRIVER_OK && rename(fresh, path) != 0) {
        failed = fail(message, "create", path);
    }
    if (failed == SPATE_DRIVER_OK && sync_folder(path, message) != SPATE_DRIVER_OK) {
        failed = SPATE_DRIVER_UNKNOWN; /* everybody sees it, but a crash of the machine may undo it */
    }
    return failed;
}

/* The next version; it is kept before it is used. */
static int next_version(const struct directory *self, char *version, char *message)
{
    char path[PATH_BYTES], bytes[HEAD_BYTES + 1] = "";
    size_t length = 0;
    snprintf(path, sizeof path, "%s/counter", self->path);
    int result = read_file(path, bytes, HEAD_BYTES, &length, message);
    if (result != SPATE_DRIVER_OK && result != SPATE_DRIVER_ABSENT) {
        return result;
    }
    snprintf(version, SPATE_DRIVER_VERSION_BYTES, "%020llu", strtoull(bytes, NULL, 10) + 1);
    result = write_file(self, path, version, "", 0, message);
    return result == SPATE_DRIVER_UNKNOWN ? SPATE_DRIVER_UNAVAILABLE : result;
}

/* Version and value of a register. `bytes` has room for HEAD_BYTES more than a value. */
static int read_register(const char *path, char *bytes, size_t *length, char *version, char *message)
{
    int result = read_file(path, bytes, HEAD_BYTES + SPATE_DRIVER_VALUE_BYTES, length, message);
    if (result == SPATE_DRIVER_OK && (*length < HEAD_BYTES || bytes[HEAD_BYTES - 1] != '\n')) {
        snprintf(message, SPATE_DRIVER_MESSAGE_BYTES, "'%.300s' is no register", path);
        return SPATE_DRIVER_CORRUPT;
    }
    if (result == SPATE_DRIVER_OK) {
        snprintf(version, SPATE_DRIVER_VERSION_BYTES, "%.*s", HEAD_BYTES - 1, bytes);
    }
    return result;
}

/* ---- the calls ---- */

static int directory_open(const char *uri, const char *const *options, void **session, char *message)
{
    struct directory *self = calloc(1, sizeof *self);
    const char *path = strchr(uri, ':') + 1;
    if (self == NULL || path[0] != '/' || options[0] != NULL) {
        free(self);
        snprintf(message, SPATE_DRIVER_MESSAGE_BYTES, "'%.300s' is not like directory:/path, or there is an option: it has none", uri);
        return SPATE_DRIVER_REFUSED;
    }
    snprintf(self->path, sizeof self->path, "%s", path);
    if (mkdir(self->path, 0777) != 0 && errno != EEXIST) {
        int failed = fail(message, "create", self->path);
        free(self);
        return failed;
    }
    *session = self;
    return SPATE_DRIVER_OK;
}

static void directory_close(void *session)
{
    free(session);
}

static int directory_get(void *session, const char *name, void *value, size_t *length, char *version, char *message)
{
    char path[PATH_BYTES], *bytes = malloc(HEAD_BYTES + SPATE_DRIVER_VALUE_BYTES);
    if (bytes == NULL) {
        return SPATE_DRIVER_UNAVAILABLE;
    }
    path_of(session, name, path);
    int result = read_register(path, bytes, length, version, message);
    if (result == SPATE_DRIVER_OK) {
        *length -= HEAD_BYTES;
        memcpy(value, bytes + HEAD_BYTES, *length);
    }
    free(bytes);
    return result;
}

/* With the lock held: is there what is expected? */
static int compare(const char *path, const char *expect, char *message)
{
    char bytes[HEAD_BYTES], version[SPATE_DRIVER_VERSION_BYTES] = "";
    size_t length;
    int result = read_file(path, bytes, sizeof bytes, &length, message);
    if (result == SPATE_DRIVER_OK) {
        snprintf(version, sizeof version, "%.*s", HEAD_BYTES - 1, bytes);
        return expect != NULL && strcmp(version, expect) == 0 ? SPATE_DRIVER_OK : SPATE_DRIVER_CONFLICT;
    }
    return result == SPATE_DRIVER_ABSENT && expect == NULL ? SPATE_DRIVER_OK : result;
}

static int directory_put(void *session, const char *name, const void *value, size_t length, const char *expect, char *version,
                         char *message)
{
    char path[PATH_BYTES], head[SPATE_DRIVER_VERSION_BYTES + 1];
    int locked, result = lock(session, &locked, message);
    if (result != SPATE_DRIVER_OK) {
        return result;
    }
    path_of(session, name, path);
    result = compare(path, expect, message);
    if (result == SPATE_DRIVER_OK && (result = next_version(session, version, message)) == SPATE_DRIVER_OK) {
        snprintf(head, sizeof head, "%s\n", version);
        result = write_file(session, path, head, value, length, message);
    }
    close(locked);
    return result == SPATE_DRIVER_ABSENT ? SPATE_DRIVER_CONFLICT : result;
}

static int directory_del(void *session, const char *name, const char *expect, char *message)
{
    char path[PATH_BYTES];
    int locked, result = lock(session, &locked, message);
    if (result != SPATE_DRIVER_OK) {
        return result;
    }
    path_of(session, name, path);
    result = compare(path, expect, message);
    if (result == SPATE_DRIVER_OK && unlink(path) != 0) {
        result = fail(message, "remove", path);
    } else if (result == SPATE_DRIVER_OK && sync_folder(path, message) != SPATE_DRIVER_OK) {
        result = SPATE_DRIVER_UNKNOWN;
    }
    close(locked);
    return result;
}

/* Names below a folder; `encoded`: what its name and those above it stand for. */
static int list_folder(const char *path, const char *encoded, spate_driver_name name, void *context, char *message)
{
    DIR *entries = opendir(path);
    const struct dirent *entry;
    int result = entries == NULL ? fail(message, "list", path) : SPATE_DRIVER_OK;
    while (result == SPATE_DRIVER_OK && (errno = 0, entry = readdir(entries)) != NULL) {
        char below[PATH_BYTES], whole[PATH_BYTES], plain[PATH_BYTES];
        size_t length = strlen(entry->d_name);
        int is_folder = entry->d_name[length - 1] == '+';
        if (entry->d_name[0] == '.' || (encoded[0] == '\0' && entry->d_name[0] != 'r')) {
            continue;
        }
        snprintf(whole, sizeof whole, "%s%.*s", encoded, (int)(length - (size_t)is_folder), entry->d_name);
        if (is_folder) {
            snprintf(below, sizeof below, "%.3000s/%.300s", path, entry->d_name);
            result = list_folder(below, whole, name, context, message);
        } else {
            name_of(whole, plain);
            name(context, plain);
        }
    }
    if (result == SPATE_DRIVER_OK && errno != 0) { /* an end that is none */
        result = fail(message, "list", path);
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return result;
}

static int directory_list(void *session, const char *prefix, spate_driver_name name, void *context, char *message)
{
    (void)prefix; /* Spate leaves out what is not below it */
    int locked, result = lock(session, &locked, message);
    if (result == SPATE_DRIVER_OK) {
        result = list_folder(((const struct directory *)session)->path, "", name, context, message);
        close(locked);
    }
    return result;
}

static const struct spate_driver directory_driver = {
    .abi = SPATE_DRIVER_ABI,
    .size = sizeof(struct spate_driver),
    .scheme = "directory",
    .summary = "Files of one folder.",
    .open = directory_open,
    .close = directory_close,
    .get = directory_get,
    .put = directory_put,
    .del = directory_del,
    .list = directory_list,
};

SPATE_DRIVER_EXPORT const struct spate_driver *spate_driver_describe(void);
const struct spate_driver *spate_driver_describe(void)
{
    return &directory_driver;
}
