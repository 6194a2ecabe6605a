/* storage/job_definition.h: what runs a job again: its SQL, working folder and settings.
 *
 * For         jobs that outlive their process: written when one starts, read by `spate job restart`.
 * Layout      artifact "job.sql" (artifacts.h); configuration "run" (config_store.h): {"folder","settings":{},"missing":[]}.
 *             The job's record names both.
 * Invariants  What has not changed is not written again. A secret is stored as the reference that it was given as (${env:NAME}); one given
 *             in plain is not stored: `secrets` says which settings have to be given again.
 */
#ifndef SPATE_STORAGE_JOB_DEFINITION_H
#define SPATE_STORAGE_JOB_DEFINITION_H

#include "storage/job_records.h"

struct job_definition {
    const char *sql;             /* ${env:...} as written */
    const char *folder;          /* absolute */
    const char *const *settings; /* "key=value" */
    uint32_t setting_count;
    const char *const *secrets; /* keys; set by read */
    uint32_t secret_count;
};
enum status job_definition_write(struct storage *storage, const char *job, const struct job_definition *definition, struct error *err);
/* ABSENT: the job was started by a program that gave none. */
enum status job_definition_read(struct storage *storage, const char *job, struct arena *arena, enum object_result *result,
                                struct job_definition *definition, struct error *err);
/* How the job should be, in its record. */
enum status job_record_mark(struct storage *storage, const char *job, enum job_desired desired, struct error *err);

#endif
