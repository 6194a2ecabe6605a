#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "connectors/filesystem/filesystem.h"

enum { FOLDER_DEPTH_MAX = 64 };

void file_list_clear(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].path);
    }
    free(list->entries);
    *list = (struct file_list){0};
}

static enum status list_append(struct file_list *list, struct file_entry entry, struct error *err)
{
    if (list->count == list->capacity) {
        size_t larger = list->capacity == 0 ? 16 : list->capacity * 2;
        struct file_entry *moved = realloc(list->entries, larger * sizeof *moved);
        if (moved == NULL) {
            free(entry.path);
            return error_set(err, ERROR_BUDGET_SPENT, "no room for a list of %zu files", larger);
        }
        list->entries = moved;
        list->capacity = larger;
    }
    list->entries[list->count++] = entry;
    return STATUS_OK;
}

static enum status list_file(struct file_list *list, const char *path, const struct stat *info, const regex_t *pattern, struct error *err)
{
    if (pattern != NULL && regexec(pattern, path, 0, NULL, 0) != 0) {
        return STATUS_OK;
    }
    struct file_entry entry = {.path = strdup(path), .size = (uint64_t)info->st_size};
    if (entry.path == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
    }
    const char *slash = strrchr(entry.path, '/');
    entry.name = slash == NULL ? entry.path : slash + 1;
    entry.modified_us = (int64_t)info->st_mtim.tv_sec * 1000000 + info->st_mtim.tv_nsec / 1000;
    return list_append(list, entry, err);
}

static enum status scan_folder(struct file_list *list, const char *path, uint32_t depth, const regex_t *pattern, struct error *err);

static enum status scan_path(struct file_list *list, const char *path, uint32_t depth, const regex_t *pattern, struct error *err)
{
    struct stat info, link;
    if (stat(path, &info) != 0) {
        if (errno == ENOENT && lstat(path, &link) == 0) {
            return error_set(err, ERROR_FILE_UNREADABLE, "cannot read '%s': it is a link to something that is not there", path);
        }
        return errno == ENOENT && depth > 0 ? STATUS_OK /* removed since the folder was read */
                                            : error_set(err, ERROR_FILE_UNREADABLE, "cannot read '%s': %s", path, strerror(errno));
    }
    return S_ISDIR(info.st_mode) ? scan_folder(list, path, depth, pattern, err) : list_file(list, path, &info, pattern, err);
}

static enum status scan_folder(struct file_list *list, const char *path, uint32_t depth, const regex_t *pattern, struct error *err)
{
    if (depth == FOLDER_DEPTH_MAX) {
        return error_set(err, ERROR_TOO_DEEP, "folders are nested more than %d deep: '%s'", FOLDER_DEPTH_MAX, path);
    }
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return error_set(err, ERROR_FILE_UNREADABLE, "cannot read the folder '%s': %s", path, strerror(errno));
    }
    struct text_builder child = {0};
    enum status status = STATUS_OK;
    struct dirent *entry;
    while (status == STATUS_OK && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || entry->d_name[0] == '_') {
            /* but a folder of a partition column may have such a name: _day=1 */
            if (entry->d_name[0] == '.' || strchr(entry->d_name, '=') == NULL) {
                continue;
            }
        }
        text_builder_clear(&child);
        text_append_format(&child, "%s/%s", strcmp(path, "/") == 0 ? "" : path, entry->d_name);
        status =
            child.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a path") : scan_path(list, child.bytes, depth + 1, pattern, err);
    }
    text_builder_close(&child);
    closedir(folder);
    return status;
}

static int compare_entries(const void *left, const void *right)
{
    return strcmp(((const struct file_entry *)left)->path, ((const struct file_entry *)right)->path);
}

enum status file_list_scan(struct file_list *list, const char *root, const char *pattern, struct error *err)
{
    regex_t compiled;
    struct text_builder whole = {0};
    if (pattern != NULL) {
        text_append_format(&whole, "^(%s)$", pattern);
        if (whole.failed || regcomp(&compiled, whole.bytes, REG_EXTENDED | REG_NOSUB) != 0) {
            text_builder_close(&whole);
            return error_set(err, ERROR_INVALID_OPTION, "option 'source.path.regex-pattern': '%s' is no regular expression", pattern);
        }
    }
    *list = (struct file_list){0};
    enum status status = scan_path(list, root, 0, pattern == NULL ? NULL : &compiled, err);
    if (pattern != NULL) {
        regfree(&compiled);
        text_builder_close(&whole);
    }
    if (status != STATUS_OK) {
        file_list_clear(list);
        return status;
    }
    if (list->count > 1) {
        qsort(list->entries, list->count, sizeof *list->entries, compare_entries);
    }
    return STATUS_OK;
}

struct file_entry *file_list_find(const struct file_list *list, const struct file_entry *like)
{
    return list->count == 0 ? NULL : bsearch(like, list->entries, list->count, sizeof *like, compare_entries);
}

enum status file_entry_follow(struct file_entry *entry, uint64_t taken_bytes, uint64_t taken_lines, uint64_t seen_bytes, struct error *err)
{
    if (seen_bytes > 0 && seen_bytes != entry->size && file_is_packed(entry->path)) {
        return error_set(err, ERROR_FILE_UNREADABLE, "'%s' has changed since it was read: a packed file must be whole when it appears",
                         entry->path);
    }
    if (seen_bytes <= entry->size) {
        entry->taken_bytes = taken_bytes;
        entry->taken_lines = taken_lines;
        entry->seen_bytes = seen_bytes;
    }
    return STATUS_OK;
}

enum status file_list_follow(struct file_list *list, struct file_list *scanned, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < scanned->count && status == STATUS_OK; i++) {
        const struct file_entry *before = file_list_find(list, &scanned->entries[i]);
        if (before != NULL) {
            status = file_entry_follow(&scanned->entries[i], before->taken_bytes, before->taken_lines, before->seen_bytes, err);
        }
    }
    file_list_clear(list);
    *list = *scanned;
    *scanned = (struct file_list){0};
    return status;
}
