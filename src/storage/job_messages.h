/* storage/job_messages.h: short texts by which processes speak about a job where there is no common folder.
 *
 * For         job/job_lock.c: requests to end a job or take a savepoint, and their answers.
 * Layout      jobs/<id>/messages/<name>
 * Invariants  Who asks removes what it wrote and what it was answered; a job that is removed takes its messages with it.
 */
#ifndef SPATE_STORAGE_JOB_MESSAGES_H
#define SPATE_STORAGE_JOB_MESSAGES_H

#include "storage/stores.h"

enum status job_message_put(struct storage *storage, const char *job, const char *name, const char *text, struct error *err);
/* ABSENT: there is none. The text is in the arena. */
enum status job_message_get(struct storage *storage, const char *job, const char *name, struct arena *arena, enum object_result *result,
                            const char **text, struct error *err);
enum status job_message_remove(struct storage *storage, const char *job, const char *name, struct error *err);

#endif
