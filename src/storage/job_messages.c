#include "storage/job_messages.h"

#include <string.h>

#include "storage/stores_internal.h"

enum status job_message_put(struct storage *storage, const char *job, const char *name, const char *text, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    enum object_result result;
    struct object_info info;
    TRY(storage_check(storage, ACCESS_JOBS, ACCESS_WRITE, job, err));
    TRY(store_key(key, err, "jobs", job, "messages", name, NULL));
    return store_put(storage_objects(storage, STORE_JOBS), key, text, strlen(text), PUT_ANY, NULL, &result, &info, err);
}

enum status job_message_get(struct storage *storage, const char *job, const char *name, struct arena *arena, enum object_result *result,
                            const char **text, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct text bytes;
    struct object_info info;
    TRY(storage_check(storage, ACCESS_JOBS, ACCESS_READ, job, err));
    TRY(store_key(key, err, "jobs", job, "messages", name, NULL));
    TRY(store_get(storage_objects(storage, STORE_JOBS), key, arena, result, &bytes, &info, err));
    *text = *result == OBJECT_OK ? bytes.bytes : NULL;
    return STATUS_OK;
}

enum status job_message_remove(struct storage *storage, const char *job, const char *name, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    enum object_result result;
    TRY(storage_check(storage, ACCESS_JOBS, ACCESS_WRITE, job, err));
    TRY(store_key(key, err, "jobs", job, "messages", name, NULL));
    return store_remove(storage_objects(storage, STORE_JOBS), key, NULL, &result, err);
}
