/* storage/log_store.h: log lines of jobs, in batches that never change, readable when the machine that wrote them is gone.
 *
 * Layout      jobs/<id>/logs/<day>/<hour>/<processor>-<incarnation>-<seq>.ndjson.zst, hours of UTC; a line's time says where it is
 * Order       A reader gives the lines of an hour in the order of their times; those of one writer and time in the order written.
 * Following   log_follow gives each batch that it has not given before; lines of one call are in order, those of two calls need not be.
 * Threads     A writer: one thread at a time. A cursor too.
 */
#ifndef SPATE_STORAGE_LOG_STORE_H
#define SPATE_STORAGE_LOG_STORE_H

#include "storage/stores.h"

#define LOG_LEVEL_LIST(X) X(TRACE, "trace") X(DEBUG, "debug") X(INFO, "info") X(WARN, "warn") X(ERROR, "error")
#define X(level, name)    LOG_##level,
enum log_level { LOG_LEVEL_LIST(X) LOG_LEVEL_COUNT };
#undef X
const char *log_level_name(enum log_level level);

struct log_line {
    int64_t at_us;
    enum log_level level;
    const char *event;     /* a dotted name: "checkpoint.slow" */
    const char *task;      /* NULL: of no task */
    const char *fields;    /* JSON object; NULL: none */
    const char *processor; /* set by readers */
};
struct log_writer;
enum status log_writer_open(struct storage *storage, const char *job, const char *processor, const char *incarnation,
                            struct log_writer **writer, struct error *err);
/* One batch per hour that the lines touch; durable when it returns. */
enum status log_append(struct log_writer *writer, const struct log_line *lines, uint32_t count, struct error *err);
void log_writer_close(struct log_writer *writer);

struct log_filter {
    int64_t from_us, to_us; /* to_us is not part of it; 0: no end */
    enum log_level at_least;
    const char *task, *processor, *event; /* NULL: any */
};
/* The line is the caller's until the next call. */
typedef enum status (*log_visit)(void *context, const struct log_line *line, bool *stop, struct error *err);
enum status log_read(struct storage *storage, const char *job, const struct log_filter *filter, log_visit visit, void *context,
                     struct error *err);

struct log_cursor; /* what was given so far */
enum status log_cursor_open(struct log_cursor **cursor, struct error *err);
enum status log_follow(struct storage *storage, const char *job, const struct log_filter *filter, struct log_cursor *cursor,
                       log_visit visit, void *context, struct error *err);
void log_cursor_close(struct log_cursor *cursor); /* NULL is allowed */

#endif
