/* state/cold_files.h: databases of a checkpoint, back on local disk.
 *
 * For         restores (job/), and whoever reads saved state.
 * Errors      STATE_CORRUPT, STORE_CORRUPT where a file is not what it was; STATE_DISK.
 * Threads     Several sources may be fetched at once, if their read may be called so.
 */
#ifndef SPATE_STATE_COLD_FILES_H
#define SPATE_STATE_COLD_FILES_H

#include <stdio.h>

#include "state/cold_db.h"
#include "state/cold_folder.h"
#include "storage/checkpoints.h"

/* The version of what operators write into databases (state/cold_rows.h): part of job_database_identity. */
enum { COLD_FORMAT = 2 };

struct cold_source {
    const struct checkpoint_table *table; /* a manifest's */
    /* Streams a file's bytes, checked. */
    enum status (*read)(void *context, const struct checkpoint_file *file, const struct object_sink *sink, struct error *err);
    void *context;
};
enum status cold_source_driver(const struct cold_source *source, const struct cold_driver **driver, struct error *err);
/* Into a folder that is made. */
enum status cold_files_fetch(const struct cold_source *source, const char *path, struct error *err);
/* All rows as a full file of a chain (state/snapshot.h), for whoever cannot take the database as it is. By way of the folder's subfolder
 * `number`. */
enum status cold_files_export(const struct cold_source *source, const struct cold_folder *folder, uint32_t number, struct budget *budget,
                              FILE **rows, struct error *err);
/* What cold_files_export has made, a piece at a time. */
enum status cold_rows_stream(FILE *rows, const struct object_sink *sink, struct error *err);

#endif
