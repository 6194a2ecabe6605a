/* cluster/control/log_register.h: the control log in registers: one register a record, any driver.
 *
 * For         proposers, processors, the leader.
 * Shape       Below a prefix ("jobs/orders-7k2d"): `ctl/<20 digits>`, the record with that index, created if absent at the first free index
 *             and never changed; `ctl-snapshot`, by compare-and-set: where the last snapshot is, and how far the front was cut off;
 *             `ctl-body/<20 digits>/<sha256>/<part>`, the JSON of the fold through that index, in parts that a register can hold.
 * Reading     From the snapshot on, a record at a time until one is absent. Then the cut is read: if it has passed what was read, all is
 *             thrown away and begun again from the snapshot. The cut is written before anything is removed, so who finds a record removed,
 *             or writes where one was removed, finds the cut as well. Nobody mistakes the removed front for the free end.
 * Appending   When the outcome is not known, the index is read back: one's own id there means that it was done. A late write can only
 *             meet an index that is taken.
 * Snapshots   Body, then the SNAPSHOT record; only if that counted (no newer leader) the register, then the removal of what was cut off,
 *             oldest first. Each step may be the last of a leader that dies; the next snapshot does the rest.
 * Errors      The driver's. CORRUPT: a record or the body is not what was written; nothing behind it is read until it is. After an append
 *             that failed with UNAVAILABLE the record may still be there, later: propose with a key, and it is done once.
 * Threads     One at a time for a log; any number of logs over one session.
 */
#ifndef SPATE_CLUSTER_CONTROL_LOG_REGISTER_H
#define SPATE_CLUSTER_CONTROL_LOG_REGISTER_H

#include "cluster/control/fold.h"
#include "cluster/driver.h"

struct control_log;
/* `session`, `budget`, `clock` (NULL: the system's) and `random` are lent until close. Reads the snapshot, not yet the records. */
enum status control_log_open(struct cluster_session *session, const char *prefix, struct budget *budget, const struct clock *clock,
                             struct random_source *random, struct control_log **log, struct error *err);
void control_log_close(struct control_log *log); /* NULL is allowed */

/* Folds what is there, to the end. */
enum status control_log_read(struct control_log *log, struct error *err);
/* The fold as of the last read or append; lent until the next. NULL only after one that failed for want of memory. */
const struct control_fold *control_log_fold(const struct control_log *log);
/* Gives the record an id, and its time if that is 0; appends it and folds through it. *counted false: it is there, but void. */
enum status control_log_append(struct control_log *log, struct control_record *record, uint64_t *index, bool *counted, struct error *err);
/* CONTROL_STEP_SNAPSHOT of decide.h: `record` without body. *counted false: a newer leader is there; nothing was cut off. */
enum status control_log_snapshot(struct control_log *log, struct control_record *record, bool *counted, struct error *err);

/* One record, from the registers; ABSENT: not there yet, or cut off (index <= control_log_cut). */
enum status control_log_get(struct control_log *log, uint64_t index, struct arena *arena, enum cluster_result *result,
                            struct control_record *record, struct error *err);
uint64_t control_log_cut(const struct control_log *log); /* as of the last read; 0: nothing was */

#endif
