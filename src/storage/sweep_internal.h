/* storage/sweep_internal.h: what expiry, sweep and fsck share: which object is what, and what documents name.
 *
 * For         sweep_*.c, expire_*.c, fsck.c only.
 */
#ifndef SPATE_STORAGE_SWEEP_INTERNAL_H
#define SPATE_STORAGE_SWEEP_INTERNAL_H

#include "storage/key_set.h"
#include "storage/manifest.h"
#include "storage/retention.h"
#include "storage/stores_internal.h"

enum sweep_class {
    SWEEP_OTHER,
    SWEEP_MANIFEST,       /* jobs/<id>/checkpoints/<task>/<seq>.manifest.json */
    SWEEP_SAVEPOINT,      /* jobs/<id>/savepoints/<name>/savepoint.json */
    SWEEP_DOCUMENT,       /* job.json, artifacts/, config/: may name blobs */
    SWEEP_STATE_FILE,     /* jobs/<id>/state/... */
    SWEEP_SAVEPOINT_FILE, /* jobs/<id>/savepoints/<name>/files/... */
    SWEEP_BLOB,           /* blobs/<ab>/<sha256> */
};
enum sweep_class sweep_classify(const char *key);

/* The stores in which kinds live, each once, with one of the kinds. */
struct sweep_places {
    enum store_kind kinds[STORE_KIND_COUNT];
    uint32_t count;
};
void sweep_places_find(const struct storage *storage, struct sweep_places *places);

/* A task's checkpoints, those that were read. A checkpoint of a task with a commit record (it has an epoch) counts only when the record names
 * it. The record is not here; but each manifest says what the record named when it was stored. What is below the highest of these has been
 * superseded, unless a task went back to it: then what was stored since names it. Nothing else surely has been. */
struct sweep_checkpoint {
    uint64_t seq, counted; /* counted: what the record named then; 0: none */
};
struct sweep_task {
    const char *folder; /* of the manifests, with its '/' */
    bool has_record;
    uint64_t counted; /* the highest */
    struct sweep_checkpoint *checkpoints;
    uint32_t checkpoint_count, checkpoint_capacity;
};
struct sweep_marks {
    struct arena *arena;
    struct key_set files;  /* whole keys */
    struct key_set hashes; /* of blobs */
    struct sweep_task *tasks;
    uint32_t task_count, task_capacity;
    uint64_t documents;
};
enum status sweep_marks_open(struct sweep_marks *marks, struct error *err);
void sweep_marks_close(struct sweep_marks *marks);
/* Reads one document and marks what it names; one that is gone meanwhile marks nothing. */
enum status sweep_mark_document(struct storage *storage, enum store_kind kind, const char *key, enum sweep_class class,
                                struct sweep_marks *marks, struct error *err);
/* All documents of all stores. */
enum status sweep_mark_all(struct storage *storage, struct sweep_marks *marks, struct error *err);
/* Whether a manifest may be removed once it is one too many. One that came after the marks may not. */
bool sweep_is_superseded(const struct sweep_marks *marks, const char *key, uint64_t seq);
bool sweep_is_marked(const struct sweep_marks *marks, enum sweep_class class, const char *key);

/* What one run does. */
struct sweep {
    struct storage *storage;
    const struct sweep_request *request;
    struct sweep_report *report;
    const struct storage_limits *limits;
    const struct sweep_marks *marks;
    int64_t now_us;
};
void sweep_tell(struct sweep *sweep, enum sweep_action action, enum store_kind kind, const char *key, uint64_t bytes);
/* Removes and counts, or with dry_run only tells. */
enum status sweep_expire(struct sweep *sweep, enum store_kind kind, const char *key, uint64_t bytes, struct error *err);
enum status sweep_expire_all(struct sweep *sweep, struct error *err); /* expire.c: versions, batches, jobs */
/* expire_batches.c */
enum status sweep_expire_batches(struct sweep *sweep, const char *job, struct error *err);
enum status sweep_expire_audit(struct sweep *sweep, struct error *err);
/* body_store.c */
enum status sweep_expire_bodies(struct sweep *sweep, const char *id, struct arena *arena, struct error *err);

#endif
