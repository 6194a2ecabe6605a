/* job/cluster_stores.h: what coordination needs of a job's storage and commit records: fences, its record, bodies of long models.
 *
 * For         the runner (struct runner_stores of cluster/runner.h), submit and restart.
 * Fencing     Commits are registers here (cluster/commit_record.h): to fence a life is to raise the epoch of every task that it may still
 *             hold. A seat needs no opening of its own: it only names a producer where commits are transactions.
 * Ownership   Storage and session are lent until cluster_stores_close.
 * Threads     Any.
 */
#ifndef SPATE_JOB_CLUSTER_STORES_H
#define SPATE_JOB_CLUSTER_STORES_H

#include "cluster/runner.h"
#include "storage/stores.h"

struct cluster_stores;
enum status cluster_stores_open(struct storage *storage, struct cluster_session *session, const char *job_id,
                                struct cluster_stores **stores, const struct runner_stores **functions, struct error *err);
void cluster_stores_close(struct cluster_stores *stores); /* NULL is allowed */

#endif
