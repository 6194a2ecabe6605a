/* job/journal.h: what a running job tells of itself, into the stores of logs and metrics: readable when its machine is gone.
 *
 * For         jobs with a record in the storage (job/checkpointer.h).
 * Shape       Events are log lines with a dotted name and a text; figures are points of metrics (job/job_metrics.h). Both are kept in memory
 *             and written in batches by a thread of the journal's own: events within JOURNAL_EVENTS_US, figures within JOURNAL_FIGURES_US,
 *             all of them when the journal is closed. A process that is killed loses what was not written yet.
 * Settings    "storage.logs.level": what is below it is not kept. "storage.metrics.interval": how often figures are due; 0: never.
 * Errors      A journal never stops its job: a batch that cannot be written is dropped and counted, and the next one that can be is told
 *             ("journal.lost"). More than JOURNAL_LINES_MAX lines that wait are dropped likewise.
 * Ownership   The storage outlives the journal. Texts are copied.
 * Threads     Any, but journal_close, after which nobody may call.
 */
#ifndef SPATE_JOB_JOURNAL_H
#define SPATE_JOB_JOURNAL_H

#include "storage/log_store.h"

#define JOURNAL_EVENTS_US  (INT64_C(2) * 1000000)
#define JOURNAL_FIGURES_US (INT64_C(60) * 1000000)
enum { JOURNAL_LINES_MAX = 10000 };

struct journal;
/* `incarnation`: of this life of the process. */
enum status journal_open(struct storage *storage, const char *job, const char *incarnation, struct journal **journal, struct error *err);
void journal_close(struct journal *journal); /* NULL is allowed, here and below */
void journal_event(struct journal *journal, enum log_level level, const char *event, const char *format, ...) PRINTF_LIKE(4, 5);
void journal_set_level(struct journal *journal, enum log_level level); /* instead of "storage.logs.level" */
/* Is it time for figures? True once per interval; the first time one interval after the opening. */
bool journal_wants_figures(struct journal *journal);
void journal_figure(struct journal *journal, const char *name, const char *labels, double value);

#endif
