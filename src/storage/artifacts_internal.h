/* storage/artifacts_internal.h: what the files of artifacts share.
 *
 * For         artifact*.c only.
 */
#ifndef SPATE_STORAGE_ARTIFACTS_INTERNAL_H
#define SPATE_STORAGE_ARTIFACTS_INTERNAL_H

#include "storage/artifacts.h"

/* Size and sums of an opened file, from its start. */
enum status artifact_sum_file(int fd, const char *path, struct content *content, struct error *err);
/* Extracts into a folder that is there. */
enum status artifact_extract(const char *archive_path, const char *name, const char *folder, struct error *err);

#endif
