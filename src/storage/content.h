/* storage/content.h: bodies with their size, CRC-32C and SHA-256: put once, checked whenever they are read.
 *
 * For         files of checkpoints and savepoints, blobs of artifacts.
 * Invariants  content_get returns OK only when every byte that went to the sink was checked. The sink has seen bytes before that:
 *             whoever gets an error throws them away.
 */
#ifndef SPATE_STORAGE_CONTENT_H
#define SPATE_STORAGE_CONTENT_H

#include "functions/digest.h"
#include "storage/object.h"

enum { SHA256_TEXT_BYTES = 65 };
struct content {
    uint64_t bytes;
    uint32_t crc32c;
    bool any_crc32c;                /* expected: it is not known, the SHA-256 is all */
    char sha256[SHA256_TEXT_BYTES]; /* "": not known, and not checked */
};
/* Puts, reading the source once: PUT_IF_ABSENT (whoever names the key is its only writer; CONFLICT: the name is taken) or PUT_ANY. */
enum status content_put(struct object_store *store, const char *key, const struct object_source *source, enum put_condition condition,
                        enum object_result *result, struct content *content, struct error *err);
/* Streams to the sink (NULL: only checks). Absent: STORE_MISSING; a difference: STORE_CORRUPT; `name` is how people know it. */
enum status content_get(struct object_store *store, const char *key, const char *name, const struct content *expected,
                        const struct object_sink *sink, struct error *err);
/* Copies between stores in constant memory, checking. */
enum status content_copy(struct object_store *from, const char *from_key, const char *name, const struct content *expected,
                         struct object_store *to, const char *to_key, struct error *err);

#endif
