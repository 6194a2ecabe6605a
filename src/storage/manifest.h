/* storage/manifest.h: manifests of checkpoints as JSON.
 *
 * For         checkpoints.c, savepoints.c and the sweep; its shape is the struct's of checkpoints.h.
 */
#ifndef SPATE_STORAGE_MANIFEST_H
#define SPATE_STORAGE_MANIFEST_H

#include "storage/checkpoints.h"
#include "storage/document.h"

/* A new reference; INVALID_OPTION when a member that should be JSON is not. */
enum status manifest_write(const struct checkpoint_manifest *manifest, json_t **object, struct error *err);
/* Complaints go to the document. */
void manifest_read(struct document *document, const json_t *object, struct checkpoint_manifest *manifest);

#endif
