/* api/cluster_job.h: jobs that several processes work on: what the record says of them, submit, stop, kill, restart.
 *
 * For         sessions that submit (statement.c), operations from outside, workers.
 * Shape       A submitted job has its record and definition in the storage and the register "jobs/<id>/model" in the coordination service;
 *             workers find it there (worker.c). The record outlives the coordinator; what the record's `extra` has as "cluster" makes it a
 *             job of several processes:
 *             {"cluster":{"pieces":4,"bounded":true,"unfenced":false,"program":false,"reason":"...","end":"finished","coordinator":"..."}}
 * States      of the model: RUNNING, PAUSED (workers have it); STOPPED, FINISHED, FAILED (they leave it in order), KILLED (at once).
 * Threads     The session's.
 */
#ifndef SPATE_API_CLUSTER_JOB_H
#define SPATE_API_CLUSTER_JOB_H

#include "api/session.h"
#include "cluster/model_register.h"
#include "storage/job_records.h"

struct cluster_job_facts {
    uint32_t pieces; /* tasks; 0: one task, the whole */
    bool bounded /* it may end by itself */, unfenced;
    bool program; /* its tasks run code that only a worker of that program has (spate/task.h) */
    const char *reason;
    const char *coordinator; /* where it was submitted to, or restarted last; NULL: not known */
    const char *end;         /* "finished", or why it has failed: no worker looks at it any more; NULL: neither */
};
/* *shared false: a job of one process. */
enum status cluster_job_facts(const struct job_record *record, struct arena *arena, bool *shared, struct cluster_job_facts *facts,
                              struct error *err);

/* The session's coordination service, as the record names it: a folder by its absolute path; in the session's arena. */
const char *cluster_job_place(spate_session *session);

/* One job's registers and stores. */
struct cluster_stores; /* job/cluster_stores.h */
struct cluster_job {
    spate_session *session;
    struct cluster_session *coordinator;
    bool lent; /* the coordinator's session is another's */
    struct cluster_stores *stores;
    struct model_register model;
    struct random_source random;
    char prefix[EDITS_PREFIX_BYTES];
};
enum status cluster_job_open(spate_session *session, const char *id, struct cluster_job *job, struct error *err);
/* Over a session that is there. */
enum status cluster_job_open_on(spate_session *session, struct cluster_session *coordinator, const char *id, struct cluster_job *job,
                                struct error *err);
void cluster_job_close(struct cluster_job *job);

/* An INSERT that is planned: submitted instead of run. *message: for people, in the result's arena. */
enum status cluster_job_submit(spate_result *result, const char **message, struct error *err);
/* Brings the model to an end state; its workers follow. *was: what it was. ABSENT: the coordinator does not know the job. */
enum status cluster_job_end(struct cluster_job *job, enum model_state state, enum cluster_result *result, enum model_state *was,
                            struct error *err);
enum status cluster_job_fill_tasks(struct model *model, uint32_t pieces, struct error *err); /* closed, of nobody */
/* CONFLICT: there is one. */
enum status cluster_job_create_model(const struct cluster_job *job, const struct job_record *record, const struct cluster_job_facts *facts,
                                     uint64_t version, struct arena *arena, enum cluster_result *result, struct error *err);
/* facts.end, into the record. */
enum status cluster_job_note_end(struct cluster_job *job, const char *id, const char *end, struct error *err);

/* ---- cluster_job_control.c: from outside ---- */

/* *shared: opens the job, to be closed; else it is one of a single process. */
enum status cluster_job_find(spate_session *session, const struct job_record *record, bool *shared, struct cluster_job *job,
                             struct error *err);
/* RUNNING, WAITING (no process has it), DAMAGED, UNKNOWN (the coordinator does not answer), PAUSED, STOPPING, STOPPED, FINISHED, FAILED, KILLED, LOST (the coordinator does not know it); without
 * 'coordinator.uri': SUBMITTED, STOPPED, KILLED. */
enum status cluster_job_status(spate_session *session, const struct job_record *record, const char **status, struct error *err);
/* In order: each task finishes its tick and commits. Waits for all to have left. */
enum status cluster_job_stop(struct cluster_job *job, const struct job_record *record, int64_t timeout_us, struct error *err);
/* At once, without last commits. */
enum status cluster_job_kill(struct cluster_job *job, const struct job_record *record, int64_t timeout_us, struct error *err);
/* Of a job that was stopped or killed, whose processes have died, or that the coordination service has lost: all former holders are fenced,
 * then the model begins anew under a higher term and version. A job with living members is refused, unless `takes_over`. */
enum status cluster_job_restart(struct cluster_job *job, const struct job_record *record, const struct cluster_job_facts *facts,
                                bool takes_over, struct error *err);
/* Of a job that is removed: no process may be a member. Its registers go. */
enum status cluster_job_forget(struct cluster_job *job, const struct job_record *record, struct error *err);

#endif
