/* Where tests of the Task API run: a folder with the tables `in` and `out`, sessions, and what is shown in the end. */
#ifndef SPATE_TESTS_TASK_PLACE_H
#define SPATE_TESTS_TASK_PLACE_H

#include "spate/task.h"

extern char folder[64];
extern const char *const in_only[], *const out_only[], *const followed_only[]; /* inputs and outputs of specs */

int make_folder(void **state);
int remove_folder(void **state);
void write_file(const char *name, const char *text);
spate_session *open_session(const char *const *settings);
void execute(spate_session *session, const char *format, ...);
void create_tables(spate_session *session);
void create_followed(spate_session *session);
int run_to_end(spate_result *result);
void must_run(spate_session *session, const struct spate_task_spec *spec);
const char *shown(const char *name);
int write_row(spate_task *task, int64_t id, const char *word);

#endif
