/* storage/checkpoints.h: what a task needs to go on: immutable files of state, and manifests that name them.
 *
 * Layout      jobs/<id>/checkpoints/<task>/<seq, 20 digits>.manifest.json    created if absent: the commit
 *             jobs/<id>/state/<task>/<incarnation>-<n>                        files, each written once
 * Invariants  A manifest lists every file it needs, also those of earlier checkpoints: it opens alone. Files are durable before the
 *             manifest that names them. A writer can add files but change none, and only one process commits a `seq`.
 * Fencing     CONFLICT from commit: another process has written that seq. The caller is fenced and stops.
 * Errors      STORE_CORRUPT and STORE_MISSING name the file and what differs. Which older checkpoint may be used instead is the
 *             caller's decision (its inputs must be replayable): checkpoint_find_valid only goes back when told to.
 * Threads     A writer may be used by one thread at a time.
 */
#ifndef SPATE_STORAGE_CHECKPOINTS_H
#define SPATE_STORAGE_CHECKPOINTS_H

#include "storage/stores.h"

struct checkpoint_file {
    const char *key; /* below "v1/" of its place; of a savepoint: below its folder */
    uint64_t bytes, rows;
    uint32_t crc32c;
    const char *sha256; /* hexadecimal digits */
    const char *name;   /* of a database's file: as it is known there; else NULL */
};
struct checkpoint_table {
    const char *name;
    const char *kind;   /* "full", "delta": a chain of files; "sst": a database (state/cold_db.h), its name "<driver>-<worker>" */
    const char *schema; /* JSON text, or NULL */
    const struct checkpoint_file *files;
    uint32_t file_count;
};
/* Members that are JSON texts may be NULL. */
struct checkpoint_manifest {
    const char *job, *task, *incarnation; /* set by commit */
    int64_t created_us;                   /* set by commit: wall time */
    uint64_t seq, epoch;
    int64_t plan;
    uint32_t key_groups[2];                /* first and last */
    int64_t base;                          /* the seq of the checkpoint that this one adds to; -1: none */
    const struct checkpoint_table *tables; /* chains before databases */
    uint32_t table_count;
    int64_t ctl_rank;
    int64_t watermark_ms;         /* INT64_MIN: none yet */
    const char *timers;           /* JSON */
    const char *inputs, *outputs; /* JSON: positions by name, {"orders/3": 81220} */
    const char *build;
    const char *extra; /* JSON: what else the job wants to find again */
};

uint32_t checkpoint_chain_count(const struct checkpoint_manifest *manifest); /* the tables behind are databases */

struct checkpoint_writer;
/* `incarnation`: of this life of the process; names its files. */
enum status checkpoint_begin(struct storage *storage, const char *job, const char *task, const char *incarnation,
                             struct checkpoint_writer **writer, struct error *err);
/* The file is durable when it returns. *file is in the arena. */
enum status checkpoint_add_file(struct checkpoint_writer *writer, const struct object_source *source, uint64_t rows, struct arena *arena,
                                struct checkpoint_file *file, struct error *err);
enum status checkpoint_add_bytes(struct checkpoint_writer *writer, const void *bytes, size_t length, uint64_t rows, struct arena *arena,
                                 struct checkpoint_file *file, struct error *err);
/* The manifest becomes visible as a whole: OK, or CONFLICT. job, task, incarnation and created_us of the argument are not read. */
enum status checkpoint_commit(struct checkpoint_writer *writer, const struct checkpoint_manifest *manifest, enum object_result *result,
                              struct error *err);
void checkpoint_end(struct checkpoint_writer *writer); /* NULL is allowed. Files of no manifest are swept later (retention.h) */

/* Newest first. */
typedef enum status (*checkpoint_visit)(void *context, uint64_t seq, bool *stop, struct error *err);
enum status checkpoint_list(struct storage *storage, const char *job, const char *task, checkpoint_visit visit, void *context,
                            struct error *err);
/* The tasks that have checkpoints, in order of names; *names is in the arena. */
enum status checkpoint_tasks(struct storage *storage, const char *job, struct arena *arena, const char *const **names, uint32_t *count,
                             struct error *err);
/* ABSENT when there is none of that seq. */
enum status checkpoint_read_manifest(struct storage *storage, const char *job, const char *task, uint64_t seq, struct arena *arena,
                                     enum object_result *result, struct checkpoint_manifest *manifest, struct error *err);
/* Streams a file, checking size, CRC-32C and SHA-256. The sink sees bytes before the check ends: after an error throw them away. */
enum status checkpoint_open_file(struct storage *storage, const struct checkpoint_file *file, const struct object_sink *sink,
                                 struct error *err);
/* Reads every file of the manifest. */
enum status checkpoint_verify(struct storage *storage, const struct checkpoint_manifest *manifest, struct error *err);
/* The newest checkpoint whose manifest can be read and, with `verify`, whose files are all good. When the newest one is bad: its error, or,
 * with `may_fall_back`, the next older one that is good, and *skipped says which were not and why (a line each; NULL: none). ABSENT: there
 * is no checkpoint. */
struct checkpoint_choice {
    bool verify, may_fall_back;
};
enum status checkpoint_find_valid(struct storage *storage, const char *job, const char *task, const struct checkpoint_choice *choice,
                                  struct arena *arena, enum object_result *result, struct checkpoint_manifest *manifest,
                                  const char **skipped, struct error *err);
/* Removes a file at once. Only the process that runs the task may, and only when no manifest that is kept names it. */
enum status checkpoint_remove_file(struct storage *storage, const char *job, const struct checkpoint_file *file, struct error *err);
/* Removes the manifest; its files are swept later, unless others name them. */
enum status checkpoint_remove(struct storage *storage, const char *job, const char *task, uint64_t seq, enum object_result *result,
                              struct error *err);

#endif
