/* Name first, so that nobody finds the job any more; the record last: a record without a name is what a sweep finishes. */
#include "storage/job_records.h"

#include <string.h>

#include "storage/savepoints.h"
#include "storage/stores_internal.h"

static enum status has_savepoints(struct storage *storage, const char *id, bool *has, struct error *err)
{
    struct arena *arena = arena_create(NULL, "list of savepoints");
    const char *const *names;
    uint32_t count = 0;
    TRY_ALLOC(arena, arena, err);
    enum status status = savepoint_list(storage, id, arena, &names, &count, err);
    *has = count > 0;
    arena_destroy(arena);
    return status;
}

static enum status name_remove(struct storage *storage, const char *id, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1], name[JOB_ID_MAX + 1], owner[JOB_ID_MAX + 1];
    enum object_result result;
    size_t length = strlen(id);
    if (length <= JOB_ID_TAIL || length > JOB_ID_MAX) {
        return error_set(err, ERROR_INVALID_OPTION, "'%.100s' is no job's id", id);
    }
    memcpy(name, id, length - JOB_ID_TAIL);
    name[length - JOB_ID_TAIL] = '\0';
    TRY(job_record_find(storage, name, &result, owner, err));
    if (result != OBJECT_OK || strcmp(owner, id) != 0) {
        return STATUS_OK; /* the name is another job's by now */
    }
    TRY(store_key(key, err, "names", name, NULL));
    return store_remove(storage_objects(storage, STORE_JOBS), key, NULL, &result, err);
}

/* A place that serves several kinds is emptied once. */
static enum status rest_remove(struct storage *storage, const char *id, const char *record_key, struct error *err)
{
    char prefix[OBJECT_KEY_MAX + 1];
    uint64_t removed = 0;
    TRY(store_key(prefix, err, "jobs", id, "", NULL));
    for (uint32_t kind = 0; kind < STORE_KIND_COUNT; kind++) {
        bool seen = false;
        for (uint32_t before = 0; before < kind && !seen; before++) {
            seen = storage_objects(storage, (enum store_kind)before) == storage_objects(storage, (enum store_kind)kind);
        }
        if (!seen) {
            TRY(store_remove_below(storage_objects(storage, (enum store_kind)kind), prefix, record_key, &removed, err));
        }
    }
    return STATUS_OK;
}

enum status job_record_remove(struct storage *storage, const char *id, bool with_savepoints, enum object_result *result, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    bool kept = false;
    TRY(storage_check(storage, ACCESS_JOBS, ACCESS_DELETE, id, err));
    TRY(has_savepoints(storage, id, &kept, err));
    if (kept && !with_savepoints) {
        *result = OBJECT_CONFLICT;
        return STATUS_OK;
    }
    TRY(name_remove(storage, id, err));
    TRY(store_key(key, err, "jobs", id, "job.json", NULL));
    TRY(rest_remove(storage, id, key, err));
    return store_remove(storage_objects(storage, STORE_JOBS), key, NULL, result, err);
}
