#include <string.h>

#include "connectors/filesystem/filesystem.h"

static const char *const commit_triggers[] = {"process-time", "partition-time", NULL}; /* enum commit_trigger */
static const char *const time_extractors[] = {"default", NULL};

const struct option_def filesystem_options[] = {
    {.name = "path", OPTION_TEXT(struct filesystem_settings, path), .flags = OPTION_REQUIRED, .summary = "A file, or a folder of files."},
    {.name = "format", OPTION_TEXT(struct filesystem_settings, format), .flags = OPTION_REQUIRED, .summary = "The format of the files."},
    {.name = "partition.default-name",
     OPTION_TEXT(struct filesystem_settings, default_partition_name),
     .initial = "__DEFAULT_PARTITION__",
     .summary = "The name of a partition whose value is NULL or empty."},
    {.name = "source.monitor-interval",
     OPTION_DURATION(struct filesystem_settings, monitor_interval),
     .summary = "Looks for new files and new lines this often; the table is then unbounded, and a line counts once it has its line end."},
    {.name = "source.partition-by-file",
     OPTION_BOOL(struct filesystem_settings, partition_by_file),
     .initial = "false",
     .summary = "Each file is a partition with its own watermark, read by any worker, and by any process of a job of several."},
    {.name = "source.path.regex-pattern",
     OPTION_TEXT(struct filesystem_settings, path_pattern),
     .summary = "Only files whose whole path matches this regular expression."},
    {.name = "sink.rolling-policy.file-size",
     OPTION_BYTES(struct filesystem_settings, rolling_size),
     .initial = "128 mb",
     .summary = "A part file of this size is ended and shown."},
    {.name = "sink.rolling-policy.rollover-interval",
     OPTION_DURATION(struct filesystem_settings, rollover_interval),
     .initial = "30 min",
     .summary = "A part file open for this long is ended and shown."},
    {.name = "sink.rolling-policy.inactivity-interval",
     OPTION_DURATION(struct filesystem_settings, inactivity_interval),
     .initial = "30 min",
     .summary = "A part file without new rows for this long is ended and shown."},
    {.name = "sink.rolling-policy.check-interval",
     OPTION_DURATION(struct filesystem_settings, check_interval),
     .initial = "1 min",
     .summary = "How often the intervals above are checked."},
    {.name = "sink.partition-commit.trigger",
     OPTION_CHOICE(struct filesystem_settings, commit_trigger, commit_triggers),
     .initial = "process-time",
     .summary = "When a partition is committed: some time after it was first written, or when the watermark is past its time."},
    {.name = "sink.partition-commit.delay",
     OPTION_DURATION(struct filesystem_settings, commit_delay),
     .initial = "0 s",
     .summary = "So long after that. A partition of a day of partition-time: '1 d'."},
    {.name = "sink.partition-commit.watermark-time-zone",
     OPTION_TEXT(struct filesystem_settings, commit_zone),
     .initial = "UTC",
     .summary = "The zone of partition-time: the session's, if the watermark is on a TIMESTAMP_LTZ."},
    {.name = "partition.time-extractor.kind",
     OPTION_CHOICE(struct filesystem_settings, time_extractor, time_extractors),
     .initial = "default",
     .summary = "How the time of a partition is found: by the pattern below."},
    {.name = "partition.time-extractor.timestamp-pattern",
     OPTION_TEXT(struct filesystem_settings, time_pattern),
     .summary = "The time of a partition: '$day $hour:00:00' with its values; unless set, the first partition column's value."},
    {.name = "partition.time-extractor.timestamp-formatter",
     OPTION_TEXT(struct filesystem_settings, time_formatter),
     .summary = "How that is read, in Java's letters; unless set 'yyyy-MM-dd HH:mm:ss' or a date."},
    {.name = "sink.partition-commit.policy.kind",
     OPTION_TEXT(struct filesystem_settings, commit_policy),
     .summary = "'success-file': an empty file is put into a partition when it is committed."},
    {.name = "sink.partition-commit.success-file.name",
     OPTION_TEXT(struct filesystem_settings, commit_success_name),
     .initial = "_SUCCESS",
     .summary = "The name of that file."},
};

enum status filesystem_local_path(const char *path, struct arena *arena, const char **local, struct error *err)
{
    const char *colon = strstr(path, "://");
    if (strncmp(path, "file:", 5) == 0) {
        path += 5;
        if (strncmp(path, "//", 2) == 0) { /* an empty host, or none */
            path += 2;
        }
    } else if (colon != NULL) {
        return error_set(err, ERROR_NOT_SUPPORTED, "the path '%s' is not of this machine; only 'file:' is supported", path);
    }
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    if (length == 0) {
        return error_set(err, ERROR_INVALID_OPTION, "option 'path' is empty");
    }
    TRY_ALLOC(*local, arena_text(arena, path, length), err);
    return STATUS_OK;
}
