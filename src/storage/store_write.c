/* Reading and writing whole small objects. What became of a write whose reply was lost is read back: our bytes are there, or the old ones,
 * or someone else's. */
#include <stdlib.h>
#include <string.h>

#include "storage/stores_internal.h"

enum fate { FATE_LANDED, FATE_AGAIN, FATE_CONFLICT, FATE_UNKNOWN };

static enum status fate_read(struct object_store *store, const char *key, const void *bytes, size_t length, enum put_condition condition,
                             const char *etag, enum fate *fate, struct object_info *info, struct error *err)
{
    enum object_result found;
    char *there;
    size_t there_length;
    TRY(object_get_bytes(store, key, DOCUMENT_BYTES_MAX, &found, &there, &there_length, info, err));
    if (found == OBJECT_OK && there_length == length && memcmp(there, bytes, length) == 0) {
        *fate = FATE_LANDED;
    } else if (condition == PUT_ANY || (condition == PUT_IF_ABSENT && found == OBJECT_ABSENT)) {
        *fate = FATE_AGAIN;
    } else if (condition == PUT_IF_MATCH && found == OBJECT_OK && strcmp(info->etag, etag) == 0) {
        *fate = FATE_AGAIN;
    } else {
        /* nobody replaces what is created if absent; elsewhere ours may have landed and been replaced since */
        *fate = condition == PUT_IF_ABSENT ? FATE_CONFLICT : FATE_UNKNOWN;
    }
    free(there);
    return STATUS_OK;
}

enum status store_put(struct object_store *store, const char *key, const void *bytes, size_t length, enum put_condition condition,
                      const char *etag, enum object_result *result, struct object_info *info, struct error *err)
{
    bool tried = false; /* an earlier attempt may have landed: a conflict may be with ourselves */
    for (uint32_t attempt = 0; attempt < STORE_ATTEMPTS; attempt++) {
        TRY(object_put_bytes(store, key, bytes, length, condition, etag, result, info, err));
        if (*result != OBJECT_UNKNOWN && !(tried && *result == OBJECT_CONFLICT)) {
            return STATUS_OK;
        }
        tried = true;
        enum fate fate;
        TRY(fate_read(store, key, bytes, length, condition, etag, &fate, info, err));
        if (fate == FATE_UNKNOWN) {
            break;
        }
        if (fate != FATE_AGAIN) {
            *result = fate == FATE_LANDED ? OBJECT_OK : OBJECT_CONFLICT;
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE,
                     "whether '%s' was written cannot be told: no reply came, and what is there now is neither", key);
}

enum status store_get(struct object_store *store, const char *key, struct arena *arena, enum object_result *result, struct text *text,
                      struct object_info *info, struct error *err)
{
    struct object_info unused;
    char *bytes;
    size_t length;
    TRY(object_get_bytes(store, key, DOCUMENT_BYTES_MAX, result, &bytes, &length, info == NULL ? &unused : info, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    text->bytes = arena_text(arena, bytes, length);
    text->length = length;
    free(bytes);
    return text->bytes == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for '%s'", key) : STATUS_OK;
}

enum status store_remove(struct object_store *store, const char *key, const char *etag, enum object_result *result, struct error *err)
{
    for (uint32_t attempt = 0; attempt < STORE_ATTEMPTS; attempt++) {
        TRY(store->driver->remove(store, key, etag, result, err));
        if (*result != OBJECT_UNKNOWN) {
            if (*result == OBJECT_ABSENT && attempt > 0) {
                *result = OBJECT_OK; /* an earlier attempt did it */
            }
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE, "whether '%s' was removed cannot be told: no reply came", key);
}
