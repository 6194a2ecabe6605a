/* state/cold_folder.h: a folder on local disk for the databases of one job, gone when the job is.
 *
 * For         job/, and whoever reads the databases of a checkpoint.
 * Shape       <where>/spate-state-<random>/ and beside it spate-state-<random>.lock, held as long as the folder's process lives. Who makes a
 *             folder removes those in the same place that nobody holds: what a killed process has left.
 * Ownership   Counted: a checkpoint that is being stored keeps the folder of a job that has ended.
 * Threads     Any.
 * Errors      STATE_DISK names the path.
 */
#ifndef SPATE_STATE_COLD_FOLDER_H
#define SPATE_STATE_COLD_FOLDER_H

#include <stdio.h>

#include "base/error.h"

enum { COLD_PATH_MAX = 4096 };

struct cold_folder;
/* where: a folder, made if absent; NULL: $TMPDIR, or /var/tmp. */
enum status cold_folder_open(const char *where, struct cold_folder **folder, struct error *err);
struct cold_folder *cold_folder_share(struct cold_folder *folder);
void cold_folder_close(struct cold_folder *folder); /* the last removes it with all that is in it; NULL is allowed */
/* "<folder>/<worker>" or "<folder>/<worker>.<number>". */
void cold_folder_path(const struct cold_folder *folder, uint32_t worker, uint64_t number, char path[COLD_PATH_MAX]);
/* A file without a name. */
enum status cold_folder_temporary(const struct cold_folder *folder, FILE **file, struct error *err);
/* The same without a folder: in $TMPDIR, or /var/tmp. */
enum status cold_temporary(FILE **file, struct error *err);
/* With all that is in it; what is not there is done. */
void cold_remove_tree(const char *path);

#endif
