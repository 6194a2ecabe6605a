#include "storage/body_store.h"

#include <string.h>

#include "storage/content.h"
#include "storage/stores_internal.h"

enum status body_put(struct storage *storage, const char *job, const char *sha256, struct text body, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    enum object_result result;
    struct object_info info;
    TRY(store_key(key, err, "jobs", job, "bodies", sha256, NULL));
    return store_put(storage_objects(storage, STORE_JOBS), key, body.bytes, body.length, PUT_IF_ABSENT, NULL, &result, &info, err);
}

enum status body_get(struct storage *storage, const char *job, const char *sha256, struct arena *arena, struct text *body,
                     struct error *err)
{
    char key[OBJECT_KEY_MAX + 1], found[SHA256_TEXT_BYTES];
    uint8_t digest[DIGEST_BYTES_MAX];
    enum object_result result;
    struct object_info info;
    TRY(store_key(key, err, "jobs", job, "bodies", sha256, NULL));
    TRY(store_get(storage_objects(storage, STORE_JOBS), key, arena, &result, body, &info, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "'%s' is not there", key);
    }
    digest_text(digest, digest_compute(DIGEST_SHA256, body->bytes, body->length, digest), found);
    return strcmp(found, sha256) == 0 ? STATUS_OK : error_set(err, ERROR_STORE_CORRUPT, "'%s' is not what its name says", key);
}
