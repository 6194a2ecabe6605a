#include "connectors/filesystem/file_progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { RECORDS_MIN = 1024, LINE_BYTES_MAX = 80 };

struct record {
    struct file_progress progress;
    uint64_t read, number; /* the order of records of a read */
};
struct progress_log {
    pthread_mutex_t mutex;
    const _Atomic uint64_t *passed;
    struct file_progress *table; /* by hash */
    size_t table_count;
    struct record *records; /* not merged yet, in order */
    size_t record_count, record_capacity;
};

uint64_t progress_hash(const char *relative_path)
{
    return hash_bytes(relative_path, strlen(relative_path));
}

enum status progress_log_create(const _Atomic uint64_t *passed, struct progress_log **log, struct error *err)
{
    struct progress_log *created;
    TRY_ALLOC(created, calloc(1, sizeof *created), err);
    pthread_mutex_init(&created->mutex, NULL);
    created->passed = passed;
    *log = created;
    return STATUS_OK;
}

void progress_log_destroy(struct progress_log *log)
{
    if (log != NULL) {
        pthread_mutex_destroy(&log->mutex);
        free(log->table);
        free(log->records);
        free(log);
    }
}

static int compare_records(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    if (a->progress.hash != b->progress.hash) {
        return a->progress.hash < b->progress.hash ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

static void put(struct file_progress *to, size_t *count, const struct file_progress *progress)
{
    if (progress->seen_bytes > 0) {
        to[(*count)++] = *progress;
    }
}

/* Table and sorted records, of one file's records the last. */
static size_t merge(const struct progress_log *log, size_t records, struct file_progress *to)
{
    size_t count = 0, t = 0;
    for (size_t r = 0; r < records; r++) {
        const struct file_progress *progress = &log->records[r].progress;
        if (r + 1 < records && log->records[r + 1].progress.hash == progress->hash) {
            continue;
        }
        while (t < log->table_count && log->table[t].hash < progress->hash) {
            to[count++] = log->table[t++];
        }
        t += t < log->table_count && log->table[t].hash == progress->hash;
        put(to, &count, progress);
    }
    while (t < log->table_count) {
        to[count++] = log->table[t++];
    }
    return count;
}

static enum status merge_passed(struct progress_log *log, struct error *err)
{
    uint64_t passed = atomic_load_explicit(log->passed, memory_order_acquire);
    size_t records = 0;
    while (records < log->record_count && log->records[records].read <= passed) {
        log->records[records].number = records;
        records++;
    }
    if (records == 0) {
        return STATUS_OK;
    }
    struct file_progress *table;
    TRY_ALLOC(table, malloc((log->table_count + records) * sizeof *table), err);
    qsort(log->records, records, sizeof *log->records, compare_records);
    log->table_count = merge(log, records, table);
    free(log->table);
    log->table = table;
    log->record_count -= records;
    memmove(log->records, log->records + records, log->record_count * sizeof *log->records);
    return STATUS_OK;
}

static enum status record(struct progress_log *log, uint64_t read, const struct file_progress *progress, struct error *err)
{
    if (log->record_count == log->record_capacity && log->record_count >= log->table_count / 2) {
        TRY(merge_passed(log, err));
    }
    if (log->record_count == log->record_capacity) {
        size_t larger = log->record_capacity == 0 ? RECORDS_MIN : log->record_capacity * 2;
        struct record *moved;
        TRY_ALLOC(moved, realloc(log->records, larger * sizeof *moved), err);
        log->records = moved;
        log->record_capacity = larger;
    }
    log->records[log->record_count++] = (struct record){.progress = *progress, .read = read};
    return STATUS_OK;
}

enum status progress_log_record(struct progress_log *log, uint64_t read, const struct file_progress *progress, struct error *err)
{
    pthread_mutex_lock(&log->mutex);
    enum status status = record(log, read, progress, err);
    pthread_mutex_unlock(&log->mutex);
    return status;
}

enum status progress_log_write(struct progress_log *log, struct text_builder *out, struct error *err)
{
    pthread_mutex_lock(&log->mutex);
    enum status status = merge_passed(log, err);
    for (size_t i = 0; i < log->table_count && status == STATUS_OK; i++) {
        const struct file_progress *progress = &log->table[i];
        text_append_format(out, "%016" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", progress->hash, progress->taken_bytes,
                           progress->taken_lines, progress->seen_bytes);
    }
    pthread_mutex_unlock(&log->mutex);
    return status;
}

static bool read_line(struct text line, struct file_progress *progress)
{
    char text[LINE_BYTES_MAX];
    int end = 0;
    if (line.length >= sizeof text) {
        return false;
    }
    memcpy(text, line.bytes, line.length);
    text[line.length] = '\0';
    int found = sscanf(text, "%16" SCNx64 " %16" SCNx64 " %16" SCNx64 " %16" SCNx64 "%n", &progress->hash, &progress->taken_bytes,
                       &progress->taken_lines, &progress->seen_bytes, &end);
    return found == 4 && (size_t)end == line.length;
}

enum status progress_log_read(struct progress_log *log, struct text history, struct error *err)
{
    size_t lines = 0;
    for (size_t i = 0; i < history.length; i++) {
        lines += history.bytes[i] == '\n';
    }
    TRY_ALLOC(log->table, malloc((lines + 1) * sizeof *log->table), err);
    while (history.length > 0) {
        const char *end = memchr(history.bytes, '\n', history.length);
        struct text line = {history.bytes, end == NULL ? 0 : (size_t)(end - history.bytes)};
        struct file_progress *progress = &log->table[log->table_count];
        if (end == NULL || !read_line(line, progress) || (log->table_count > 0 && progress[-1].hash >= progress->hash)) {
            return error_set(err, ERROR_POSITION_LOST, "the saved list of files is broken in its line %zu", log->table_count + 1);
        }
        progress->stands = false;
        log->table_count++;
        history = (struct text){end + 1, history.length - line.length - 1};
    }
    return STATUS_OK;
}

static int compare_hashes(const void *left, const void *right)
{
    uint64_t a = ((const struct file_progress *)left)->hash, b = ((const struct file_progress *)right)->hash;
    return (a > b) - (a < b);
}

struct file_progress *progress_log_find(const struct progress_log *log, uint64_t hash)
{
    const struct file_progress key = {.hash = hash};
    return log->table_count == 0 ? NULL : bsearch(&key, log->table, log->table_count, sizeof key, compare_hashes);
}

void progress_log_prune(struct progress_log *log)
{
    size_t kept = 0;
    for (size_t i = 0; i < log->table_count; i++) {
        if (log->table[i].stands) {
            log->table[kept++] = log->table[i];
        }
    }
    log->table_count = kept;
}
