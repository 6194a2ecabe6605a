/* connectors/filesystem/partition_commit.h: when a partition is complete, and the file that says so.
 *
 * For         the file sink, with 'sink.partition-commit.policy.kind' = 'success-file'. One for all workers of an INSERT, which may write into
 *             the same partitions: each tells what it opens and shows there and how far its watermark is.
 * Trigger     process-time: 'delay' after the partition was first written. partition-time: the least watermark of the workers is past the
 *             partition's time, taken from the values in its path, plus 'delay'. Both: at the end of the input. Rows that come later commit
 *             the partition again.
 * Invariant   A partition is committed when something of it was shown since it was committed last, its trigger has come, and (but for
 *             process-time without checkpoints, which shows files as it goes) no worker has a file of it that is not shown.
 * State       "commit/1 folder=LENGTH:/day=1 created=US", of partitions that have something shown and are not committed.
 * Threads     Any.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_PARTITION_COMMIT_H
#define SPATE_CONNECTORS_FILESYSTEM_PARTITION_COMMIT_H

#include "connectors/filesystem/filesystem.h"
#include "connectors/sink.h"

enum commit_trigger { COMMIT_PROCESS_TIME, COMMIT_PARTITION_TIME };

struct partition_commit;
/* Refuses options that would not act, when the statement is planned. */
enum status partition_commit_check(const struct sink_context *context, const struct filesystem_settings *settings, struct error *err);
/* sink_type.alone */
const char *partition_commit_alone(const struct sink_context *context);
/* *commit stays NULL when no partition is ever committed. The first sink of an INSERT makes it, the last
 * that closes it ends it. */
enum status partition_commit_open(const struct sink_context *context, const struct filesystem_settings *settings, const char *root,
                                  struct partition_commit **commit, struct error *err);
void partition_commit_close(struct partition_commit *commit); /* NULL is allowed, here and below: nothing happens */

enum status partition_commit_opened(struct partition_commit *commit, const char *folder, struct error *err); /* a file */
void partition_commit_shown(struct partition_commit *commit, const char *folder);                            /* one that was opened */
/* A restart: something was shown in it, by an earlier process; created_us: 0 for now. */
enum status partition_commit_restored(struct partition_commit *commit, const char *folder, int64_t created_us, struct error *err);
void partition_commit_advance(struct partition_commit *commit, uint32_t worker, int64_t watermark_us);
/* The trigger has come, so an open file of it should end. */
bool partition_commit_is_due(struct partition_commit *commit, const char *folder);
/* Commits those that can be. */
enum status partition_commit_run(struct partition_commit *commit, struct error *err);
void partition_commit_save(struct partition_commit *commit, struct text_builder *state);
enum status partition_commit_restore(struct partition_commit *commit, struct text entry, struct error *err);

#endif
