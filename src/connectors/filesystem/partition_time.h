/* connectors/filesystem/partition_time.h: the time of a partition, from the values in its path.
 *
 * For         partition_commit.c, trigger 'partition-time'.
 * Shape       'partition.time-extractor.timestamp-pattern' ("$day $hour:00:00") with the values put in, or the first partition column's value;
 *             read as 'yyyy-MM-dd HH:mm:ss' or 'yyyy-MM-dd', digits as they come, or as the formatter's pattern says.
 * Units       Microseconds as a watermark counts them: local time in 'sink.partition-commit.watermark-time-zone'.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_PARTITION_TIME_H
#define SPATE_CONNECTORS_FILESYSTEM_PARTITION_TIME_H

#include "connectors/filesystem/filesystem.h"
#include "connectors/sink.h"

struct partition_time;
/* Lives in the arena. Refuses a pattern without any of the table's partition columns, a zone and a formatter that are none. */
enum status partition_time_open(struct arena *arena, const struct sink_context *context, const struct filesystem_settings *settings,
                                struct partition_time **time, struct error *err);
enum status partition_time_of(const struct partition_time *time, const char *root, const char *folder, int64_t *time_us, struct error *err);

#endif
