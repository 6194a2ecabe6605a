#include "storage/batch_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { NAMES_TRIED = 40, LEVEL = 3 };

static enum status batch_key(const struct batch_name *name, int64_t at_us, uint64_t seq, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    char day[STORE_DAY_BYTES], hour[STORE_HOUR_BYTES], file[400];
    const char *kind = store_kind_name(name->kind);
    store_day(at_us, day, hour);
    snprintf(file, sizeof file, "%.150s-%.150s-%012" PRIu64 "%s", name->processor, name->incarnation, seq, name->ending);
    if (name->resolution == NULL) {
        return store_key(key, err, "jobs", name->job, kind, day, hour, file, NULL);
    }
    return name->by_hour ? store_key(key, err, "jobs", name->job, kind, name->resolution, day, hour, file, NULL)
                         : store_key(key, err, "jobs", name->job, kind, name->resolution, day, file, NULL);
}

enum status batch_put(struct storage *storage, const struct batch_name *name, int64_t at_us, uint64_t *seq, const void *bytes,
                      size_t length, struct error *err)
{
    size_t room = ZSTD_compressBound(length);
    char key[OBJECT_KEY_MAX + 1], *packed;
    enum object_result result = OBJECT_CONFLICT;
    enum status status = STATUS_OK;
    TRY_ALLOC(packed, malloc(room), err);
    size_t packed_length = ZSTD_compress(packed, room, bytes, length, LEVEL);
    for (uint32_t attempt = 0; attempt < NAMES_TRIED && status == STATUS_OK && result == OBJECT_CONFLICT; attempt++) {
        struct object_info info;
        status = ZSTD_isError(packed_length) ? error_set(err, ERROR_INTERNAL, "zstd: %s", ZSTD_getErrorName(packed_length))
                                             : batch_key(name, at_us, *seq, key, err);
        if (status == STATUS_OK) {
            status = store_put(storage_objects(storage, name->kind), key, packed, packed_length, PUT_IF_ABSENT, NULL, &result, &info, err);
        }
        *seq += UINT64_C(1) << attempt; /* a number of an earlier writer of this incarnation is passed over */
    }
    free(packed);
    if (status == STATUS_OK && result == OBJECT_CONFLICT) {
        return error_set(err, ERROR_STORE_CONFLICT, "another process writes as %s-%s", name->processor, name->incarnation);
    }
    return status;
}

enum status batch_get(struct storage *storage, enum store_kind kind, const char *key, struct arena *arena, enum object_result *result,
                      struct text *text, struct error *err)
{
    struct text packed;
    TRY(store_get(storage_objects(storage, kind), key, arena, result, &packed, NULL, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    unsigned long long length = ZSTD_getFrameContentSize(packed.bytes, packed.length);
    if (length > BATCH_BYTES_MAX) { /* also: no frame, no size */
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is corrupt: it is no batch of ours", key);
    }
    char *bytes;
    TRY_ALLOC(bytes, arena_alloc(arena, (size_t)length + 1), err);
    size_t got = ZSTD_decompress(bytes, (size_t)length, packed.bytes, packed.length);
    if (ZSTD_isError(got) || got != length) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is corrupt: it cannot be expanded", key);
    }
    *text = (struct text){bytes, (size_t)length};
    return STATUS_OK;
}
