/* connectors/filesystem/filesystem_sink.h: the file sink, for the files of its implementation.
 *
 * For         filesystem_sink.c (rows into files, when a file ends), filesystem_commit.c (when it is shown; restart).
 * Shape       One open part file per partition (one in all without partitions). Without checkpoints a file is shown when it ends; with them
 *             (context.owner) it waits in `ended` for the checkpoint that covers it: see connectors/sink.h.
 * Tasks       With context.saved_end files end at each checkpoint: no file that a checkpoint lists is open in any process, so that its
 *             next owner shows it by a rename, and a former one cannot write to it or show it again.
 * State       filesystem-sink/1 checkpoint=N worker=W end=E part=LENGTH:... part=LENGTH:...   (end: of a task, its saved_end), each "part/1 folder=LENGTH:/day=1 id=LENGTH:ID bytes=N open=0"; the folder is
 *             that below the table's path. Then commit=LENGTH:... of partition_commit.h.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_FILESYSTEM_SINK_H
#define SPATE_CONNECTORS_FILESYSTEM_FILESYSTEM_SINK_H

#include "connectors/filesystem/filesystem.h"
#include "connectors/filesystem/part_file.h"
#include "connectors/filesystem/partition_commit.h"

struct partition {
    char *folder;
    struct part_file *file; /* NULL: none is open */
    int64_t opened_us, written_us;
    bool overwritten;
};
struct ended_file {
    struct part_file *file;
    size_t partition;
    uint64_t checkpoint; /* the first that covers it; 0: none yet */
};
struct filesystem_sink {
    struct sink base;
    struct sink_context context;
    struct filesystem_settings settings;
    const struct file_system *files;
    const char *root;
    char *owner;    /* of the ids of files, with checkpoints of all attempts to run the job; else of this statement */
    char *prefix;   /* of their names, since the job began anew */
    char *series;   /* of its marks (shown_mark.h) */
    char *attempt;  /* in the ids of this attempt's files only */
    uint64_t saved; /* the newest checkpoint that covers what was written; no file that is opened now is in it */
    uint64_t restored;
    uint64_t restored_end; /* saved_end of the owner that wrote what was restored; 0: not known, or none */
    bool has_restored;
    bool root_missing; /* when the sink was opened, and its first write has not made the folder since */
    bool begun, empties /* at the end, INSERT OVERWRITE has to remove what was there */;
    struct partition_commit *commit; /* NULL: partitions are not committed */
    struct encoder *encoder;
    uint32_t *columns; /* of the row, that are in the records */
    uint32_t column_count;
    uint32_t *partition_columns;
    struct batch record; /* shares the columns of the batch that is written */
    struct partition *partitions;
    size_t partition_count, partition_capacity;
    size_t last; /* the partition of the row before; partition_count: none */
    struct ended_file *ended;
    size_t ended_count, ended_capacity;
    uint32_t open_files;
    uint64_t file_count;
    int64_t next_check_us;
    struct text_builder folder;
};

/* filesystem_sink.c: the partition of the folder, a whole path. */
enum status filesystem_find_partition(struct filesystem_sink *self, const char *folder, size_t *found, struct error *err);

/* The hash of an owner, in the names of files. */
uint64_t filesystem_owner_hash(const char *owner);

/* filesystem_leavings.c: see sink_type. */
enum status filesystem_leaves(const struct sink_context *context, const char **place, struct error *err);
enum status filesystem_discard(const char *place, struct error *err);

/* filesystem_commit.c */
extern const struct sink_commit filesystem_sink_commit;
/* Before anything is written: what other attempts to run the job have left. */
enum status filesystem_begin(struct filesystem_sink *self, struct error *err);
/* Ends files of partitions whose commit is due, then commits those that can be. */
enum status filesystem_commit_due(struct filesystem_sink *self, struct error *err);
/* The partition's open file is complete. */
enum status filesystem_end_file(struct filesystem_sink *self, size_t partition, struct error *err);
/* INSERT OVERWRITE into a table without partitions, without a row. */
enum status filesystem_finish_empty(struct filesystem_sink *self, struct error *err);
void filesystem_abandon(struct filesystem_sink *self);

#endif
