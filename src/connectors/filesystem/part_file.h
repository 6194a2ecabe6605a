/* connectors/filesystem/part_file.h: one file that a sink writes.
 *
 * For         filesystem_sink.c.
 * Shape       Written under a hidden name, .part-ID.inprogress; when it is shown it is synced and renamed to part-ID, and its
 *             folder synced: a reader sees all of it or nothing, also after a crash.
 * Ownership   part_file_show and part_file_discard end it.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_PART_FILE_H
#define SPATE_CONNECTORS_FILESYSTEM_PART_FILE_H

#include "base/error.h"
#include "base/text.h"

struct part_file;
enum status part_file_open(const char *folder, const char *id, struct part_file **file, struct error *err);
struct text_builder *part_file_text(struct part_file *file); /* append records here */
/* Writes what was appended when it is much (or `all` of it). */
enum status part_file_flush(struct part_file *file, bool all, struct error *err);
uint64_t part_file_bytes(const struct part_file *file);
enum status part_file_show(struct part_file *file, struct error *err);
void part_file_discard(struct part_file *file);

/* mkdir -p; refuses a path where a file is. */
enum status folder_create(const char *path, struct error *err);
/* Removes the files directly in the folder that are not hidden and whose name does not begin with `keep_prefix`. With `deep`, folders
 * below, too. */
enum status folder_remove_files(const char *path, const char *keep_prefix, bool deep, struct error *err);
enum status folder_put_file(const char *folder, const char *name, struct error *err); /* an empty one */

#endif
