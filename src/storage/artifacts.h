/* storage/artifacts.h: what a job needs beside its SQL: archives, libraries, environments, by content.
 *
 * Layout      blobs/<ab>/<sha256>; jobs/<id>/artifacts/<name>.json: hash, size, kind, target, and the hashes it had before
 * Invariants  A blob is its hash: uploading what is there already costs one look. A name leads to a blob that is whole. An upload that is
 *             cut short is not to be seen.
 * Cache       artifact_fetch keeps blobs in $XDG_CACHE_HOME/spate/blobs (or ~/.cache/spate/blobs; "storage.artifacts.cache"), one download
 *             per machine however many processes ask; what is in the cache is checked before each use.
 * Extraction  zip, tar, tar.gz, tar.zst, ... by libarchive, which is loaded when it is first needed. Entries that would leave the target
 *             (absolute paths, "..", links on the way) are refused.
 */
#ifndef SPATE_STORAGE_ARTIFACTS_H
#define SPATE_STORAGE_ARTIFACTS_H

#include "storage/content.h"
#include "storage/stores.h"

#define ARTIFACT_KIND_LIST(X) X(JAR, "jar") X(ZIP, "zip") X(VENV, "venv") X(WHEEL, "wheel") X(SO, "so") X(SQL, "sql") X(FILE, "file")
#define X(kind, name)         ARTIFACT_##kind,
enum artifact_kind { ARTIFACT_KIND_LIST(X) ARTIFACT_KIND_COUNT };
#undef X
const char *artifact_kind_name(enum artifact_kind kind);
enum artifact_kind artifact_kind_of(const char *file_name); /* by its ending */

struct artifact {
    const char *name, *target; /* target: the folder, below the local one, where fetch puts it; "" is itself */
    enum artifact_kind kind;
    char sha256[SHA256_TEXT_BYTES];
    uint64_t bytes;
    int64_t at_us;
    const char *const *before; /* earlier hashes of the name, newest first */
    uint32_t before_count;
    char etag[OBJECT_ETAG_MAX];
};
/* Uploads the file and lets the name lead to it. `target` NULL: "". */
enum status artifact_put(struct storage *storage, const char *job, const char *path, const char *name, const char *target,
                         struct arena *arena, struct artifact *artifact, struct error *err);
enum status artifact_find(struct storage *storage, const char *job, const char *name, struct arena *arena, enum object_result *result,
                          struct artifact *artifact, struct error *err);
/* Streams the blob, checked. */
enum status artifact_read(struct storage *storage, const char *job, const struct artifact *artifact, const struct object_sink *sink,
                          struct error *err);
/* Into <local_dir>/<target>: archives (zip, venv: zip and tar of any compression) are extracted, the rest is put there by its name. */
enum status artifact_fetch(struct storage *storage, const char *job, const struct artifact *artifact, const char *local_dir,
                           struct error *err);
/* In the order of names; the artifact is the caller's until the next call. */
typedef enum status (*artifact_visit)(void *context, const struct artifact *artifact, bool *stop, struct error *err);
enum status artifact_list(struct storage *storage, const char *job, artifact_visit visit, void *context, struct error *err);
/* Forgets the name; the blob is swept when nothing else leads to it. */
enum status artifact_release(struct storage *storage, const char *job, const char *name, enum object_result *result, struct error *err);

#endif
