/* cluster/form.h: what the JSON forms of coordination share.
 *
 * For         the files of cluster/ that read and write JSON: model, member, control records and their fold.
 * Ownership   Texts read are in the document's arena. Writers take nothing over.
 */
#ifndef SPATE_CLUSTER_FORM_H
#define SPATE_CLUSTER_FORM_H

#include "cluster/task_id.h"
#include "storage/document.h"

enum { FORM_VERSION = 1 };

/* Numbers that fit 63 bits and are not negative. */
uint64_t form_count(struct document *document, const json_t *object, const char *member);
bool form_bool(struct document *document, const json_t *object, const char *member);
/* "w2#9f1c"; none where absent or null. */
struct life form_life(struct document *document, const json_t *object, const char *member);
/* Hexadecimal digits, as a nonce and an incarnation are written. */
uint64_t form_hex(struct document *document, const json_t *object, const char *member);
/* Which of `count` names the member is; not one of them: a complaint, `what`, and 0. */
uint32_t form_choice(struct document *document, const json_t *object, const char *member, const char *(*name)(uint32_t choice),
                     uint32_t count, const char *what);
/* As form_count, of a member that may be absent. */
uint64_t form_count_or(struct document *document, const json_t *object, const char *member, uint64_t absent);
/* An array of texts; absent: none. */
const char **form_texts(struct document *document, const json_t *object, const char *member, uint32_t *count);
/* An array of tasks and runs of tasks, as a sorted array of tasks. */
uint64_t *form_tasks(struct document *document, const json_t *object, const char *member, uint32_t *count);
/* An array of `count` elements of `bytes` in the document's arena; a failure is a complaint. */
void *form_array(struct document *document, size_t count, size_t bytes);
/* The members of `root` that are not in `known`, as a JSON object; NULL: there are none. */
const char *form_unknown(struct document *document, const char *const *known, size_t known_count);

void form_set_hex(json_t *object, const char *member, uint64_t value);
void form_set_life(json_t *object, const char *member, struct life life); /* nothing, when none */
void form_set_tasks(json_t *object, const char *member, const uint64_t *tasks, uint32_t count);
enum status form_set_unknown(json_t *root, const char *unknown, struct error *err);
enum { FORM_TASKS_MAX = 1 << 20 }; /* in one register */

#endif
