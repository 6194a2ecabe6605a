/* storage/savepoints.h: checkpoints that people keep: complete, with files of their own.
 *
 * Layout      <place>/savepoint.json    created last and if absent: before that there is no savepoint
 *             <place>/files/<attempt>-<n>
 * Place       A name ("nightly") is jobs/<id>/savepoints/<name>/; anything with '/' or ':' is the URI or path of a folder of its own.
 * Invariants  A savepoint names only files of its own, relative to its place: the folder may be moved or copied anywhere.
 * Threads     An opened savepoint: one thread at a time.
 */
#ifndef SPATE_STORAGE_SAVEPOINTS_H
#define SPATE_STORAGE_SAVEPOINTS_H

#include "storage/checkpoints.h"

/* Copies (and checks) the files of one consistent set of checkpoints, one a task. CONFLICT: there is a savepoint already. */
enum status savepoint_create(struct storage *storage, const char *job, const char *place, const struct checkpoint_manifest *manifests,
                             uint32_t count, enum object_result *result, struct error *err);

/* The place as a path or URI that means the same without the job: "nightly" becomes ".../savepoints/nightly". */
enum status savepoint_where(struct storage *storage, const char *job, const char *place, struct arena *arena, const char **where,
                            struct error *err);

struct savepoint {
    const struct checkpoint_manifest *manifests; /* their file keys are for savepoint_open_file */
    uint32_t count;
    const char *job, *place;
    int64_t created_us;
    struct savepoint_place *opened;
};
/* `job` may be NULL when the place is a URI or path. ABSENT: no savepoint there. What it gives lives in the arena; close it. */
enum status savepoint_open(struct storage *storage, const char *job, const char *place, struct arena *arena, enum object_result *result,
                           struct savepoint *savepoint, struct error *err);
/* As checkpoint_open_file. */
enum status savepoint_open_file(const struct savepoint *savepoint, const struct checkpoint_file *file, const struct object_sink *sink,
                                struct error *err);
enum status savepoint_verify(const struct savepoint *savepoint, struct error *err);
void savepoint_close(struct savepoint *savepoint);
/* ABSENT: there was nothing. The document goes first: a delete that is cut short leaves no savepoint. */
enum status savepoint_delete(struct storage *storage, const char *job, const char *place, enum object_result *result, struct error *err);
/* Names of the job's own, also of those that are not complete (open says ABSENT); in the arena. */
enum status savepoint_list(struct storage *storage, const char *job, struct arena *arena, const char *const **names, uint32_t *count,
                           struct error *err);

#endif
