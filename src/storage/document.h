/* storage/document.h: JSON documents of the stores, read into structs and kept whole when rewritten.
 *
 * For         the files of storage/ only; callers of stores see structs and, for what is free-form, JSON as text.
 * Shape       Every document has "v", the version of its form; one from a newer build is refused by name, never half understood.
 *             A reader takes members one by one; its first complaint is kept (`failed`, `err`) and checked once, at the end.
 * Ownership   Texts that the reader gives are in its arena; the JSON itself ends with document_close.
 */
#ifndef SPATE_STORAGE_DOCUMENT_H
#define SPATE_STORAGE_DOCUMENT_H

#include <jansson.h>

#include "base/text.h"
#include "storage/object.h"

struct document {
    json_t *root;
    const char *name; /* of the object, for messages */
    struct arena *arena;
    struct error *err;
    bool failed;
};
/* `version`: the newest form that the caller knows. Not JSON, no object, no "v": STORE_CORRUPT. */
enum status document_open(const char *name, struct text text, int64_t version, struct arena *arena, struct document *document,
                          struct error *err);
void document_close(struct document *document);
enum status document_status(const struct document *document); /* of everything read so far */

/* A required member is a complaint when absent or of another type; an optional one only when of another type. */
enum { DOCUMENT_REQUIRED = 1, DOCUMENT_OPTIONAL = 0 };
const char *document_text(struct document *document, const json_t *object, const char *member, int required); /* NULL: absent */
int64_t document_int(struct document *document, const json_t *object, const char *member, int required, int64_t absent);
/* Of an array or object; NULL: absent. */
const json_t *document_member(struct document *document, const json_t *object, const char *member, json_type type, int required);
/* Any value, as JSON text; NULL: absent or null. */
const char *document_json(struct document *document, const json_t *object, const char *member);
void document_complain(struct document *document, const char *member, const char *what);

/* Sets a member from JSON text; NULL text removes it. INVALID_OPTION when the text is no JSON. */
enum status document_set_json(json_t *object, const char *member, const char *text, struct error *err);
/* The document as compact text in the arena, members in the order in which they were set. Takes the reference. */
enum status document_write(json_t *take, struct arena *arena, struct text *text, struct error *err);

#endif
