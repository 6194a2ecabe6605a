/* connectors/filesystem/filesystem.h: what the file source and the file sink share.
 *
 * For         filesystem_source.c, filesystem_reader.c, filesystem_sink.c.
 * Shape       A table is a file or a folder. Rows of a partitioned table lie in folders key=value; a value is escaped as in
 *             Hive ("%3A"); NULL is partition.default-name.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_FILESYSTEM_H
#define SPATE_CONNECTORS_FILESYSTEM_FILESYSTEM_H

#include "connectors/built_in.h"
#include "connectors/table_options.h"

struct filesystem_settings {
    const char *path, *format, *default_partition_name, *path_pattern;
    struct duration monitor_interval;
    bool partition_by_file;
    /* sink */
    struct byte_size rolling_size;
    struct duration rollover_interval, inactivity_interval, check_interval;
    int32_t commit_trigger;
    struct duration commit_delay;
    const char *commit_policy, *commit_success_name, *commit_zone;
    int32_t time_extractor;
    const char *time_pattern, *time_formatter;
};
enum { FILESYSTEM_OPTION_COUNT = 18 };
extern const struct option_def filesystem_options[FILESYSTEM_OPTION_COUNT];

/* The path without "file:" and with no slash at its end. */
enum status filesystem_local_path(const char *path, struct arena *arena, const char **local, struct error *err);

/* file_list.c: the files of a table. */
struct file_entry {
    char *path;
    const char *name; /* in path */
    uint64_t size;
    int64_t modified_us;
    /* Of a followed file: what its reader has taken (whole records) and seen (with the start of one that is not whole yet). */
    uint64_t taken_bytes, taken_lines, seen_bytes;
};
struct file_list {
    struct file_entry *entries; /* by path */
    size_t count, capacity;
};
/* All files at or below `root` but those hidden ('_', '.'), whose path matches the pattern (NULL: all). */
enum status file_list_scan(struct file_list *list, const char *root, const char *pattern, struct error *err);
struct file_entry *file_list_find(const struct file_list *list, const struct file_entry *like); /* of that path; NULL: none */
/* What was read of the file before; nothing if it is shorter now. */
enum status file_entry_follow(struct file_entry *entry, uint64_t taken_bytes, uint64_t taken_lines, uint64_t seen_bytes, struct error *err);
/* The list becomes that of a new scan (taken), keeping what was read of the files. A file that is gone is forgotten; one that is shorter
 * than what was read begins anew. */
enum status file_list_follow(struct file_list *list, struct file_list *scanned, struct error *err);
void file_list_clear(struct file_list *list);

/* partition_path.c */
/* The value of key=... in the folders between root and the file; false: there is none. Caller frees *value. */
bool partition_path_value(const char *root, const char *path, const char *key, char **value);
void partition_path_append(struct text_builder *out, const char *key, struct text value); /* "key=value", escaped */
/* A vector of one row: the text as a value of the type; NULL text: NULL. */
enum status partition_value_vector(struct budget *budget, const struct type *type, const char *key, const char *text, struct vector *vector,
                                   struct error *err);

/* file_stream.c: the bytes of a file, .gz and .zst unpacked. */
struct file_stream;
bool file_is_packed(const char *path);
/* From `offset` on (of a packed file: 0). */
enum status file_stream_open(const char *path, uint64_t offset, struct file_stream **stream, struct error *err);
/* Fills `room` bytes unless the file ends before; *got says how many. */
enum status file_stream_read(struct file_stream *stream, char *to, size_t room, size_t *got, struct error *err);
/* Goes to the byte of the unpacked file, of a packed one that was just opened; *reached: the file has as many. */
enum status file_stream_skip(struct file_stream *stream, uint64_t bytes, bool *reached, struct error *err);
void file_stream_close(struct file_stream *stream); /* NULL is allowed */

#endif
