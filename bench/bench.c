/* bench/bench.c: Nexmark queries through the C interface, from JSON lines or from rows already in columns.
 *
 * usage: bench json|mem FILE.json SQL_DIR RUNS WORKERS QUERY...
 *
 * Each query runs RUNS times in a process of its own, INSERT INTO a blackhole table (q10: into files). `mem` first reads the file into
 * Arrow batches and feeds those. Prints a line per query: name, events, seconds of each run, peak resident and peak anonymous memory
 * in MB.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spate/spate.h"

enum { SQL_BYTES = 65536, RUNS_MAX = 64, PREPARED_BYTES = 1 << 30, PAGE_BYTES = 4096 };

struct bench {
    bool memory;
    const char *json_path, *sql_folder;
    int runs, workers;
    spate_session *session;
    spate_feed *feed;
    uint64_t events;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const struct bench *self, const char *what)
{
    fprintf(stderr, "bench: %s: %s\n", what, spate_session_error(self->session)->text);
    exit(1);
}

static void read_text(const struct bench *self, const char *name, char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", self->sql_folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "bench: cannot open %s\n", path);
        exit(1);
    }
    text[fread(text, 1, SQL_BYTES - 1, file)] = '\0';
    fclose(file);
}

/* Executes all statements of the text, each to its end. */
static void execute(const struct bench *self, const char *sql)
{
    size_t offset = 0, length = strlen(sql);
    for (;;) {
        spate_result *result = NULL;
        if (spate_execute(self->session, sql, length, &offset, &result) != SPATE_OK) {
            die(self, sql);
        }
        if (result == NULL) {
            return;
        }
        int step = SPATE_STEP_WORKED;
        while (step != SPATE_STEP_ENDED) {
            if (spate_result_step(result, 100, &step) != SPATE_OK) {
                die(self, sql);
            }
        }
        spate_result_close(result);
    }
}

static const char events_watermark[] = "`dateTime` TIMESTAMP(3), WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND";

static void open_session(struct bench *self)
{
    char workers[64];
    snprintf(workers, sizeof workers, "parallelism.default=%d", self->workers);
    const char *settings[] = {workers, NULL};
    if (spate_session_open(settings, &self->session) != SPATE_OK) {
        die(self, "open");
    }
}

static void create_json_table(const struct bench *self, const char *name)
{
    char columns[SQL_BYTES], sql[SQL_BYTES * 2];
    read_text(self, "ddl_columns.txt", columns);
    snprintf(sql, sizeof sql, "CREATE TABLE %s (%s %s) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'json');", name, columns,
             events_watermark, self->json_path);
    execute(self, sql);
}

static void create_views(const struct bench *self)
{
    char sql[SQL_BYTES];
    read_text(self, "views.sql", sql);
    execute(self, sql);
    execute(self, "CREATE TEMPORARY VIEW bid_proctime AS SELECT *, PROCTIME() AS p_time FROM bid;"
                  "CREATE TABLE side_input (`key` BIGINT, `value` STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '10000',"
                  " 'fields.key.kind' = 'sequence', 'fields.key.start' = '0', 'fields.key.end' = '9999', 'fields.value.length' = '10');");
}

/* The whole file as Arrow batches, into a fed table that keeps them. Chunk by chunk to the partitions in turn. */
static void load_memory(struct bench *self)
{
    char columns[SQL_BYTES];
    struct ArrowArray array;
    const uint8_t *kinds;
    size_t offset = 0;
    const char *query = "SELECT * FROM events_json";
    spate_result *result;
    create_json_table(self, "events_json");
    read_text(self, "ddl_columns.txt", columns);
    strcat(columns, events_watermark);
    if (spate_feed_open(self->session, "events", columns, (uint32_t)self->workers, &self->feed) != SPATE_OK ||
        spate_feed_keep(self->feed, true) != SPATE_OK || spate_execute(self->session, query, strlen(query), &offset, &result) != SPATE_OK) {
        die(self, "load");
    }
    uint32_t partition = 0;
    for (int step = SPATE_STEP_WORKED; step != SPATE_STEP_ENDED;) {
        int64_t rows = 1;
        if (spate_result_step(result, 100, &step) != SPATE_OK) {
            die(self, "load");
        }
        while (rows > 0) {
            if (spate_result_next(result, &array, &kinds, &rows) != SPATE_OK ||
                (rows > 0 && spate_feed_push(self->feed, partition++ % (uint32_t)self->workers, &array) != SPATE_OK)) {
                die(self, "load");
            }
            self->events += (uint64_t)rows;
        }
    }
    spate_result_close(result);
    spate_feed_end(self->feed);
}

static void create_sink(const struct bench *self, const char *name, const char *query, char *sql)
{
    if (strcmp(name, "q10") == 0) {
        snprintf(
            sql, SQL_BYTES * 2,
            "CREATE TABLE sink (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING, dt STRING, hm STRING)"
            " PARTITIONED BY (dt, hm) WITH ('connector' = 'filesystem', 'path' = '/tmp/spate-bench-q10', 'format' = 'csv');");
        execute(self, sql);
        snprintf(sql, SQL_BYTES * 2, "INSERT INTO sink %s", query);
        return;
    }
    snprintf(sql, SQL_BYTES * 2, "CREATE TABLE sink WITH ('connector' = 'blackhole') AS %s", query);
}

static long status_mb(const char *field)
{
    char line[256];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) {
            kb = atol(line + strlen(field));
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb / 1024;
}

/* The peak of resident memory counts from here. */
static void reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL || fputs("5", file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "bench: /proc/self/clear_refs cannot be written\n");
        exit(1);
    }
}

/* A virtual machine may have given its free pages back to the host; the first touch of one then takes ten times as long, and a run's time
 * would depend on what ran before it. So as many pages as a query takes are touched first. */
static void prepare_pages(void)
{
    uint8_t *memory = mmap(NULL, PREPARED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return;
    }
    (void)madvise(memory, PREPARED_BYTES, MADV_HUGEPAGE);
    for (size_t at = 0; at < PREPARED_BYTES; at += PAGE_BYTES) {
        memory[at] = 1;
    }
    munmap(memory, PREPARED_BYTES);
}

static void run_query(struct bench *self, const char *name)
{
    static char query[SQL_BYTES], file[256], sql[SQL_BYTES * 2];
    double seconds[RUNS_MAX];
    snprintf(file, sizeof file, "%s.sql", name);
    read_text(self, file, query);
    struct spate_progress progress = {.size = sizeof progress};
    malloc_trim(0);
    long before_mb = self->memory ? status_mb("VmRSS:") : 0;
    for (int run = 0; run < self->runs; run++) {
        prepare_pages();
        reset_peak();
        create_sink(self, name, query, sql);
        size_t offset = 0;
        spate_result *result;
        double start = now_s();
        if (spate_execute(self->session, sql, strlen(sql), &offset, &result) != SPATE_OK) {
            die(self, name);
        }
        for (int step = SPATE_STEP_WORKED; step != SPATE_STEP_ENDED;) {
            if (spate_result_step(result, 100, &step) != SPATE_OK) {
                die(self, name);
            }
        }
        seconds[run] = now_s() - start;
        spate_result_progress(result, &progress);
        spate_result_close(result);
        execute(self, "DROP TABLE sink");
    }
    printf("%s\t%s\t%llu", name, self->memory ? "mem" : "json", (unsigned long long)(self->memory ? self->events : progress.rows_read));
    for (int run = 0; run < self->runs; run++) {
        printf("\t%.6f", seconds[run]);
    }
    printf("\tMB\t%ld\n", status_mb("VmHWM:") - before_mb);
    fflush(stdout);
}

/* The rows are loaded here, not before the fork: pages of a parent are copied when they are first written, counts of references too. */
static void run_process(struct bench *self, const char *name)
{
    open_session(self);
    if (self->memory) {
        load_memory(self);
    } else {
        create_json_table(self, "events");
    }
    create_views(self);
    run_query(self, name);
    spate_feed_close(self->feed);
    spate_session_close(self->session);
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: bench json|mem FILE.json SQL_DIR RUNS WORKERS QUERY...\n");
        return 2;
    }
    struct bench self = {.memory = strcmp(argv[1], "mem") == 0,
                         .json_path = argv[2],
                         .sql_folder = argv[3],
                         .runs = atoi(argv[4]),
                         .workers = atoi(argv[5])};
    if (self.runs < 1 || self.runs > RUNS_MAX || self.workers < 1) {
        return 2;
    }
    int failures = 0;
    for (int i = 6; i < argc; i++) {
        pid_t child = fork();
        if (child == 0) {
            run_process(&self, argv[i]);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        failures += status != 0;
    }
    return failures == 0 ? 0 : 1;
}
