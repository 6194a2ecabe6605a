#include "api/settings_flink.h"

#include <stdbool.h>
#include <string.h>

const struct flink_key flink_keys[] = {
    {FLINK_KEY_ADVISORY, "execution.checkpointing.aligned-checkpoint-timeout",
     "a checkpoint is taken between two ticks: nothing waits to be aligned"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.checkpoints-after-tasks-finish", "checkpoints go on when some sources have ended"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.cleaner.parallel-mode", "the thread that stores a checkpoint removes old ones"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.create-subdir", "each job has folders of its own"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.data-inline-threshold", "the state of a worker is one file"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.file-merging.across-checkpoint-boundary", "the state of a worker is one file"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.file-merging.enabled", "the state of a worker is one file"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.file-merging.max-file-size", "the state of a worker is one file"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.file-merging.max-space-amplification", "the state of a worker is one file"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.file-merging.pool-blocking", "the state of a worker is one file"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.max-concurrent-checkpoints", "one checkpoint is under way at a time"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.snapshot-compression", "files of state are always compressed where that gains"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.unaligned.enabled", "a checkpoint is taken between two ticks: no rows are on their way"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.unaligned.forced", "a checkpoint is taken between two ticks: no rows are on their way"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.unaligned.interruptible-timers.enabled",
     "a checkpoint is taken between two ticks: timers have fired"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.unaligned.max-subtasks-per-channel-state-file",
     "a checkpoint is taken between two ticks: no rows are on their way"},
    {FLINK_KEY_ADVISORY, "execution.checkpointing.write-buffer-size", "files of state are written whole"},
    {FLINK_KEY_ADVISORY, "execution.runtime-mode", "the final rows of a query are the same in STREAMING and BATCH"},
    {FLINK_KEY_ADVISORY, "state.backend.async", "state is copied between two ticks and stored meanwhile"},
    {FLINK_KEY_ADVISORY, "table.exec.mini-batch.allow-latency", "a tick is the batch, see pipeline.tick.target"},
    {FLINK_KEY_ADVISORY, "table.exec.mini-batch.enabled", "rows are always processed in batches, one per tick"},
    {FLINK_KEY_ADVISORY, "table.exec.mini-batch.size", "a tick is the batch, see pipeline.tick.rows"},
    {FLINK_KEY_ADVISORY, "table.optimizer.agg-phase-strategy", "equal keys of a tick are always combined first"},
    {FLINK_KEY_ADVISORY, "table.optimizer.distinct-agg.split.enabled", "the distinct values of a tick are always combined first"},
    {FLINK_KEY_ADVISORY, "table.optimizer.multi-join.enabled", "joins of several tables are always planned as one plan"},
    {FLINK_KEY_ADVISORY, "table.optimizer.reuse-source-enabled", "a table that is read twice is always read once"},
    {FLINK_KEY_ADVISORY, "table.optimizer.reuse-sub-plan-enabled", "equal parts of a plan are always computed once"},
    {FLINK_KEY_REFUSED, "execution.checkpointing.during-recovery.enabled", "checkpoints begin when the state has been restored"},
    {FLINK_KEY_REFUSED, "execution.checkpointing.interval-during-backlog",
     "sources do not tell backlog from the rest: set execution.checkpointing.interval"},
    {FLINK_KEY_REFUSED, "execution.checkpointing.local-backup.dirs", "a checkpoint has one place, execution.checkpointing.dir"},
    {FLINK_KEY_REFUSED, "execution.checkpointing.local-backup.enabled", "a checkpoint has one place, execution.checkpointing.dir"},
    {FLINK_KEY_REFUSED, "execution.checkpointing.pause-sources-until-first-checkpoint", "sources begin at once"},
    {FLINK_KEY_REFUSED, "execution.state-recovery.from-local", "state comes from the storage"},
    {FLINK_KEY_REFUSED, "execution.state-recovery.without-channel-state.checkpoint-id", "checkpoints hold no rows that are on their way"},
    {FLINK_KEY_REFUSED, "high-availability.*",
     "there is no cluster that elects a leader: the job's lock in the storage decides; see high-availability.standby and .policy"},
    {FLINK_KEY_REFUSED, "high-availability.cluster-id", "a job is known by its name and the storage: set pipeline.name and storage.uri"},
    {FLINK_KEY_REFUSED, "high-availability.storageDir", "jobs, checkpoints and who runs them are in the storage: set storage.uri"},
    {FLINK_KEY_REFUSED, "high-availability.type",
     "there is no cluster that elects a leader: the job's lock in the storage decides; see high-availability.standby and .policy"},
    {FLINK_KEY_REFUSED, "state.backend.changelog.*", "checkpoints hold changes as it is: execution.checkpointing.incremental"},
    {FLINK_KEY_REFUSED, "state.backend.forst.*", "state that does not fit in memory is kept by state.backend.type = 'rocksdb'"},
    {FLINK_KEY_REFUSED, "state.backend.latency-track.*",
     "calls to state are not timed one by one; `spate metrics` lists the figures of state"},
    {FLINK_KEY_REFUSED, "state.backend.rocksdb.*",
     "the database is set up by Spate; `spate options state.backend.rocksdb` lists what can be set"},
    {FLINK_KEY_REFUSED, "state.changelog.*", "checkpoints hold changes as it is: execution.checkpointing.incremental"},
    {FLINK_KEY_REFUSED, "state.latency-track.*", "calls to state are not timed one by one; `spate metrics` lists the figures of state"},
    {FLINK_KEY_REFUSED, "state.size-track.*", "keys and bytes of state are always counted; `spate metrics` lists the figures"},
    {FLINK_KEY_RENAMED, "execution.checkpointing.alignment-timeout", "execution.checkpointing.aligned-checkpoint-timeout"},
    {FLINK_KEY_RENAMED, "execution.checkpointing.checkpoints-after-tasks-finish.enabled",
     "execution.checkpointing.checkpoints-after-tasks-finish"},
    {FLINK_KEY_RENAMED, "execution.checkpointing.recover-without-channel-state.checkpoint-id",
     "execution.state-recovery.without-channel-state.checkpoint-id"},
    {FLINK_KEY_RENAMED, "execution.checkpointing.unaligned", "execution.checkpointing.unaligned.enabled"},
    {FLINK_KEY_RENAMED, "execution.savepoint-restore-mode", "execution.state-recovery.claim-mode"},
    {FLINK_KEY_RENAMED, "execution.savepoint.ignore-unclaimed-state", "execution.state-recovery.ignore-unclaimed-state"},
    {FLINK_KEY_RENAMED, "execution.savepoint.path", "execution.state-recovery.path"},
    {FLINK_KEY_RENAMED, "high-availability", "high-availability.type"},
    {FLINK_KEY_RENAMED, "restart-strategy", "restart-strategy.type"},
    {FLINK_KEY_RENAMED, "state.backend", "state.backend.type"},
    {FLINK_KEY_RENAMED, "state.backend.incremental", "execution.checkpointing.incremental"},
    {FLINK_KEY_RENAMED, "state.backend.local-recovery", "execution.state-recovery.from-local"},
    {FLINK_KEY_RENAMED, "state.checkpoint-storage", "execution.checkpointing.storage"},
    {FLINK_KEY_RENAMED, "state.checkpoint.cleaner.parallel-mode", "execution.checkpointing.cleaner.parallel-mode"},
    {FLINK_KEY_RENAMED, "state.checkpoints.create-subdir", "execution.checkpointing.create-subdir"},
    {FLINK_KEY_RENAMED, "state.checkpoints.dir", "execution.checkpointing.dir"},
    {FLINK_KEY_RENAMED, "state.checkpoints.num-retained", "execution.checkpointing.num-retained"},
    {FLINK_KEY_RENAMED, "state.savepoints.dir", "execution.checkpointing.savepoint-dir"},
    {FLINK_KEY_RENAMED, "state.storage.fs.memory-threshold", "execution.checkpointing.data-inline-threshold"},
    {FLINK_KEY_RENAMED, "state.storage.fs.write-buffer-size", "execution.checkpointing.write-buffer-size"},
};
const uint32_t flink_key_count = sizeof flink_keys / sizeof flink_keys[0];

static size_t matched_length(const char *pattern, const char *key)
{
    size_t length = strlen(pattern);
    bool family = length > 2 && strcmp(pattern + length - 2, ".*") == 0;
    if (family) {
        return strncmp(pattern, key, length - 1) == 0 ? length - 1 : 0;
    }
    return strcmp(pattern, key) == 0 ? length : 0;
}

int flink_key_find(const char *key)
{
    size_t best = 0;
    int found = -1;
    for (uint32_t i = 0; i < flink_key_count; i++) {
        size_t length = matched_length(flink_keys[i].key, key);
        if (length > best) {
            best = length;
            found = (int)i;
        }
    }
    return found;
}
