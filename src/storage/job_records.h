/* storage/job_records.h: the seed from which everything else of a job is found.
 *
 * Layout      jobs/<id>/job.json (changed by compare-and-set); names/<name> -> id
 * Invariants  A name gets its id when the job is created and keeps it as long as the job is there. An id is the name, '-' and four random
 *             letters or digits. Members that this build does not know are kept when the record is rewritten.
 */
#ifndef SPATE_STORAGE_JOB_RECORDS_H
#define SPATE_STORAGE_JOB_RECORDS_H

#include "storage/stores.h"

/* How the job should be. */
#define JOB_DESIRED_LIST(X) X(RUNNING, "running") X(PAUSED, "paused") X(STOPPED, "stopped") X(KILLED, "killed")
#define X(desired, name)    DESIRED_##desired,
enum job_desired { JOB_DESIRED_LIST(X) DESIRED_COUNT };
#undef X
const char *job_desired_name(enum job_desired desired);

enum { JOB_NAME_MAX = 200, JOB_ID_MAX = JOB_NAME_MAX + JOB_ID_TAIL };

/* What is said to be JSON is text of any form, NULL when there is none. */
struct job_record {
    char id[JOB_ID_MAX + 1];
    const char *name;
    enum job_desired desired;
    int64_t term_floor, seat_high, plan, config; /* config: a version of the config store */
    const char *plans;                           /* JSON: by number {"3": {"sha256": ...}} */
    const char *artifacts;                       /* JSON: an array of hashes */
    const char *commit_store;                    /* a text: "kafka:..." */
    const char *control;                         /* JSON */
    const char *last_complete;                   /* JSON */
    const char *history;                         /* JSON: an array */
    const char *extra;                           /* JSON: what else the job wants to find again */
    const char *submitted_by;
    int64_t created_us, changed_us; /* wall time; set by create and write */
    char etag[OBJECT_ETAG_MAX];     /* as read */
    const char *document;           /* the whole, as read; NULL in a new record */
};

/* Draws an id and writes record and name. CONFLICT: the name is taken, record->id is the other's. */
enum status job_record_create(struct storage *storage, struct job_record *record, struct arena *arena, enum object_result *result,
                              struct error *err);
/* name -> id. */
enum status job_record_find(struct storage *storage, const char *name, enum object_result *result, char id[JOB_ID_MAX + 1],
                            struct error *err);
enum status job_record_read(struct storage *storage, const char *id, struct arena *arena, enum object_result *result,
                            struct job_record *record, struct error *err);
/* Replaces the record if it still is what was read (record->etag), and sets the new etag: OK or CONFLICT. */
enum status job_record_write(struct storage *storage, struct job_record *record, struct arena *arena, enum object_result *result,
                             struct error *err);
/* In the order of names, those whose name fits the pattern ('*' and '?'; NULL: all). The record is the caller's until the next call. */
typedef enum status (*job_record_visit)(void *context, const struct job_record *record, bool *stop, struct error *err);
enum status job_record_list(struct storage *storage, const char *pattern, job_record_visit visit, void *context, struct error *err);
/* Forgets the job: its name, its record, everything below jobs/<id>/ but savepoints, which are their makers' to delete: with any left it is
 * CONFLICT, unless `with_savepoints`. Whether the job still runs is the caller's to know. */
enum status job_record_remove(struct storage *storage, const char *id, bool with_savepoints, enum object_result *result, struct error *err);

#endif
