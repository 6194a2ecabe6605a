#include "job/journal.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/condition.h"
#include "base/utf8.h"
#include "storage/metric_store.h"
#include "storage/retention.h"

static const char processor[] = "local"; /* one process runs the whole job */

/* What waits to be written: texts in an arena of its own. */
struct journal_batch {
    struct arena *arena;
    struct log_line *lines;
    struct metric_point *points;
    uint32_t line_count, line_capacity, point_count, point_capacity;
    int64_t first_line_us, first_point_us; /* monotonic */
};
struct journal {
    struct storage *storage;
    struct log_writer *logs;
    struct metric_writer *metrics;
    atomic_int level; /* enum log_level */
    int64_t interval_us, figures_due_us;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct journal_batch waiting;
    uint64_t lost;
    bool leaving;
};

static int64_t monotonic_us(const struct journal *self)
{
    const struct clock *clock = storage_clock(self->storage);
    return clock->monotonic_us(clock);
}

static int64_t wall_us(const struct journal *self)
{
    const struct clock *clock = storage_clock(self->storage);
    return clock->wall_us(clock);
}

/* ---- what waits ---- */

static void batch_close(struct journal_batch *batch)
{
    arena_destroy(batch->arena);
    free(batch->lines);
    free(batch->points);
    *batch = (struct journal_batch){0};
}

/* Room for one more; NULL: there is none. */
static void *batch_room(void **items, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count == *capacity) {
        uint32_t larger = *capacity == 0 ? 32 : *capacity * 2;
        void *grown = realloc(*items, larger * size);
        if (grown == NULL) {
            return NULL;
        }
        *items = grown;
        *capacity = larger;
    }
    return (char *)*items + count * size;
}

static const char *batch_text(struct journal_batch *batch, const char *text)
{
    batch->arena = batch->arena != NULL ? batch->arena : arena_create(NULL, "journal");
    return batch->arena == NULL ? NULL : arena_text(batch->arena, text, strlen(text));
}

static bool add_line(struct journal_batch *batch, const struct log_line *line, int64_t now_us)
{
    struct log_line *added = batch->line_count >= JOURNAL_LINES_MAX
                                 ? NULL
                                 : batch_room((void **)&batch->lines, batch->line_count, &batch->line_capacity, sizeof *batch->lines);
    if (added == NULL) {
        return false;
    }
    *added = *line;
    added->event = batch_text(batch, line->event);
    added->fields = batch_text(batch, line->fields);
    if (added->event == NULL || added->fields == NULL) {
        return false;
    }
    batch->first_line_us = batch->line_count == 0 ? now_us : batch->first_line_us;
    batch->line_count++;
    return true;
}

static bool add_point(struct journal_batch *batch, const struct metric_point *point, int64_t now_us)
{
    struct metric_point *added = batch_room((void **)&batch->points, batch->point_count, &batch->point_capacity, sizeof *batch->points);
    if (added == NULL) {
        return false;
    }
    *added = *point;
    added->name = batch_text(batch, point->name);
    added->labels = point->labels == NULL ? NULL : batch_text(batch, point->labels);
    if (added->name == NULL || (point->labels != NULL && added->labels == NULL)) {
        return false;
    }
    batch->first_point_us = batch->point_count == 0 ? now_us : batch->first_point_us;
    batch->point_count++;
    return true;
}

/* ---- the thread ---- */

static int64_t due_us(const struct journal_batch *batch)
{
    int64_t lines = batch->line_count > 0 ? batch->first_line_us + JOURNAL_EVENTS_US : INT64_MAX;
    int64_t points = batch->point_count > 0 ? batch->first_point_us + JOURNAL_FIGURES_US : INT64_MAX;
    return lines < points ? lines : points;
}

/* Until something is due, or the journal is closed. */
static void wait_until_due(struct journal *self)
{
    for (;;) {
        int64_t left_us = due_us(&self->waiting) - monotonic_us(self);
        if (self->leaving || left_us <= 0) {
            return;
        }
        left_us = left_us < 60000000 ? left_us : 60000000;
        condition_wait_us(&self->changed, &self->mutex, left_us);
    }
}

/* Without the mutex. What was lost is the number of lines and points that could not be written. */
static uint32_t write_batch(struct journal *self, const struct journal_batch *batch)
{
    struct error err;
    uint32_t lost = 0;
    if (batch->line_count > 0 && log_append(self->logs, batch->lines, batch->line_count, &err) != STATUS_OK) {
        lost += batch->line_count;
    }
    if (batch->point_count > 0 && metrics_append(self->metrics, batch->points, batch->point_count, &err) != STATUS_OK) {
        lost += batch->point_count;
    }
    return lost;
}

static void tell_lost(struct journal *self)
{
    char fields[96];
    snprintf(fields, sizeof fields, "{\"text\":\"%llu lines and figures could not be kept\"}", (unsigned long long)self->lost);
    const struct log_line line = {.at_us = wall_us(self), .level = LOG_WARN, .event = "journal.lost", .fields = fields};
    self->lost = add_line(&self->waiting, &line, monotonic_us(self)) ? 0 : self->lost;
}

static void *journal_main(void *context)
{
    struct journal *self = context;
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        wait_until_due(self);
        if (self->leaving && self->waiting.line_count + self->waiting.point_count == 0) {
            break;
        }
        struct journal_batch batch = self->waiting;
        self->waiting = (struct journal_batch){0};
        pthread_mutex_unlock(&self->mutex);
        uint32_t lost = write_batch(self, &batch);
        bool wrote = lost == 0 && batch.line_count + batch.point_count > 0;
        batch_close(&batch);
        pthread_mutex_lock(&self->mutex);
        self->lost += lost;
        if (wrote && self->lost > 0) {
            tell_lost(self);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- outside ---- */

static enum status start(struct journal *self, const char *job, const char *incarnation, struct error *err)
{
    const struct storage_limits *limits = storage_limits_of(self->storage);
    self->level = (enum log_level)limits->logs_level;
    self->interval_us = limits->metrics_interval.us;
    self->figures_due_us = monotonic_us(self) + self->interval_us;
    TRY(log_writer_open(self->storage, job, processor, incarnation, &self->logs, err));
    TRY(metric_writer_open(self->storage, job, processor, incarnation, &self->metrics, err));
    int failed = pthread_create(&self->thread, NULL, journal_main, self);
    return failed == 0 ? STATUS_OK : error_set(err, ERROR_THREAD, "cannot start the thread of a job's journal: %s", strerror(failed));
}

static void journal_free(struct journal *self)
{
    log_writer_close(self->logs);
    metric_writer_close(self->metrics);
    batch_close(&self->waiting);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->changed);
    free(self);
}

enum status journal_open(struct storage *storage, const char *job, const char *incarnation, struct journal **journal, struct error *err)
{
    struct journal *self = calloc(1, sizeof *self);
    *journal = NULL;
    TRY_ALLOC(self, self, err);
    self->storage = storage;
    pthread_mutex_init(&self->mutex, NULL);
    condition_init(&self->changed);
    enum status status = start(self, job, incarnation, err);
    if (status != STATUS_OK) {
        journal_free(self);
        return status;
    }
    *journal = self;
    return STATUS_OK;
}

void journal_close(struct journal *journal)
{
    if (journal == NULL) {
        return;
    }
    pthread_mutex_lock(&journal->mutex);
    journal->leaving = true;
    pthread_cond_signal(&journal->changed);
    pthread_mutex_unlock(&journal->mutex);
    pthread_join(journal->thread, NULL);
    journal_free(journal);
}

/* {"text": ...}, of what is UTF-8; NULL: there is no memory. */
static char *text_as_json(const char *text)
{
    json_t *object = json_pack("{s:s%}", "text", text, utf8_valid_length(text, strlen(text)));
    char *json = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return json;
}

void journal_event(struct journal *journal, enum log_level level, const char *event, const char *format, ...)
{
    if (journal == NULL || (int)level < atomic_load(&journal->level)) {
        return;
    }
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *fields = text_as_json(text);
    const struct log_line line = {.at_us = wall_us(journal), .level = level, .event = event, .fields = fields};
    pthread_mutex_lock(&journal->mutex);
    if (fields == NULL || !add_line(&journal->waiting, &line, monotonic_us(journal))) {
        journal->lost++;
    }
    pthread_cond_signal(&journal->changed);
    pthread_mutex_unlock(&journal->mutex);
    free(fields);
}

void journal_set_level(struct journal *journal, enum log_level level)
{
    if (journal != NULL) {
        atomic_store(&journal->level, (int)level);
    }
}

bool journal_wants_figures(struct journal *journal)
{
    if (journal == NULL || journal->interval_us == 0 || monotonic_us(journal) < journal->figures_due_us) {
        return false;
    }
    journal->figures_due_us = monotonic_us(journal) + journal->interval_us;
    return true;
}

void journal_figure(struct journal *journal, const char *name, const char *labels, double value)
{
    if (journal == NULL || journal->interval_us == 0) {
        return;
    }
    const struct metric_point point = {wall_us(journal), name, labels, value};
    pthread_mutex_lock(&journal->mutex);
    journal->lost += !add_point(&journal->waiting, &point, monotonic_us(journal));
    pthread_cond_signal(&journal->changed);
    pthread_mutex_unlock(&journal->mutex);
}
