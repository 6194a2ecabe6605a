/* circuit/held_errors.h: errors of rows that may still be withdrawn.
 *
 * For         operators over changing input: a value that fails (a division by a count that is zero for a moment) counts only if its row
 *             stands: it is held back, forgotten when the row is withdrawn, and raised at the end of bounded input, in an
 *             unbounded run at the end of the tick.
 * Shape       A multiset of failing rows: weight per row (by all its columns), and the first message. A row is known by a hash that is the
 *             same in every process and on every worker.
 * State       The table held_errors_table, written whole each time. After a restart, at this or another parallelism, the withdrawal of a row
 *             may come to any worker: the row's hash does not say by what its operator's input is distributed, nor does a source promise to
 *             give a partition to the same worker. So restored rows are held by all workers together (held_meeting): a worker that meets
 *             one of them again changes the common weight, and the last worker that ends a tick there judges what stands. Rows that were
 *             not restored stay with their worker. Worker 0 restores and saves what is common, hence SNAPSHOT_ONE.
 * Threads     A held_errors belongs to its circuit's worker; held_errors_check is called once a tick by every worker. Saving and restoring
 *             happen between ticks.
 */
#ifndef SPATE_CIRCUIT_HELD_ERRORS_H
#define SPATE_CIRCUIT_HELD_ERRORS_H

#include "circuit/circuit.h"
#include "functions/program.h"

/* What the workers of a job hold together, for all its operators. Made by the job when it has several workers; outlives their circuits. */
enum status held_meeting_create(uint32_t worker_count, struct held_meeting **meeting, struct error *err);
void held_meeting_destroy(struct held_meeting *meeting);

struct held_errors;
/* The n-th that is made in a circuit meets the n-th of its peers: circuits are made one after the other. */
enum status held_errors_create(struct circuit *circuit, struct held_errors **held, struct error *err);
void held_errors_destroy(struct held_errors *held);
/* Adds the failed rows of the batch with their weights; message from failures->first (by row). */
enum status held_errors_add(struct held_errors *held, const struct batch *batch, const struct row_failures *failures, struct error *err);
/* One row by its hash key (for groups): weight +1 holds, -1 forgets. */
enum status held_errors_add_key(struct held_errors *held, uint64_t key, int64_t weight, const struct error *error, struct error *err);
/* Call from finish_tick: raises what stands, when it must (tick->end, or each tick of an unbounded run). */
enum status held_errors_check(struct held_errors *held, const struct tick *tick, struct error *err);

extern const struct snapshot_table held_errors_table; /* for a copy among the operator's tables */
enum status held_errors_save(struct held_errors *held, struct snapshot_writer *writer, uint32_t table, struct error *err);
enum status held_errors_restore(struct held_errors *held, const struct snapshot_rows *rows, struct error *err);

#endif
