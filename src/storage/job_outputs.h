/* storage/job_outputs.h: where a job's sinks may leave what was never shown, so that it goes with the job.
 *
 * For         written when a job starts, read when it is removed.
 * Layout      configuration "outputs" (config_store.h): {"v":1,"places":["filesystem <text of the sink's>", ...]}
 * Invariants  Places are added, never taken out: an earlier form of the job's SQL may have left something, too.
 */
#ifndef SPATE_STORAGE_JOB_OUTPUTS_H
#define SPATE_STORAGE_JOB_OUTPUTS_H

#include "storage/stores.h"

struct job_outputs {
    const char **places;
    uint32_t count;
};
/* Writes nothing when all are there already. */
enum status job_outputs_add(struct storage *storage, const char *job, const struct job_outputs *outputs, struct error *err);
enum status job_outputs_read(struct storage *storage, const char *job, struct arena *arena, struct job_outputs *outputs, struct error *err);

#endif
