#include "storage/metric_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/batch_store.h"
#include "storage/metric_table.h"

enum { RESOLUTIONS = 3, SERIES_BYTES = 4096 };
#define HOUR_US   (INT64_C(3600) * 1000000)
#define DAY_US    (24 * HOUR_US)
#define MINUTE_US (INT64_C(60) * 1000000)
static const struct {
    const char *name;
    int64_t step_us, batch_us; /* batch: what a roll-up's batch spans */
} resolutions[RESOLUTIONS] = {{"15s", 1, 0}, {"1m", MINUTE_US, HOUR_US}, {"1h", HOUR_US, DAY_US}};

/* ---- appending ---- */

struct metric_writer {
    struct storage *storage;
    struct arena *arena, *batch_arena;
    struct batch_name name;
    uint64_t seq;
};

enum status metric_writer_open(struct storage *storage, const char *job, const char *processor, const char *incarnation,
                               struct metric_writer **writer, struct error *err)
{
    *writer = NULL;
    TRY(storage_check(storage, ACCESS_METRICS, ACCESS_APPEND, job, err));
    struct metric_writer *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->storage = storage;
    self->arena = arena_create(NULL, "metric writer");
    self->batch_arena = arena_create(NULL, "batch of metrics");
    if (self->arena != NULL && self->batch_arena != NULL) {
        self->name = (struct batch_name){.kind = STORE_METRICS,
                                         .job = arena_text(self->arena, job, strlen(job)),
                                         .resolution = resolutions[0].name,
                                         .processor = arena_text(self->arena, processor, strlen(processor)),
                                         .incarnation = arena_text(self->arena, incarnation, strlen(incarnation)),
                                         .ending = ".cols"};
    }
    if (self->name.job == NULL || self->name.processor == NULL || self->name.incarnation == NULL) {
        metric_writer_close(self);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a metric writer");
    }
    *writer = self;
    return STATUS_OK;
}

void metric_writer_close(struct metric_writer *writer)
{
    if (writer != NULL) {
        arena_destroy(writer->arena);
        arena_destroy(writer->batch_arena);
        free(writer);
    }
}

static enum status batch_write(struct storage *storage, const struct batch_name *name, struct metric_table *table, int64_t at_us,
                               uint64_t *seq, struct error *err)
{
    struct text_builder out = {0};
    struct metric_cell **cells;
    TRY(metric_table_sort(table, &cells, err));
    enum status status = metric_cells_write(cells, table->count, &out, err);
    if (status == STATUS_OK) {
        status = batch_put(storage, name, at_us, seq, out.bytes, out.length, err);
    }
    text_builder_close(&out);
    return status;
}

static enum status point_add(struct metric_table *table, const struct metric_point *point, struct error *err)
{
    char series[SERIES_BYTES];
    bool plain = point->labels == NULL || point->labels[0] == '\0';
    int length =
        plain ? snprintf(series, sizeof series, "%s", point->name) : snprintf(series, sizeof series, "%s{%s}", point->name, point->labels);
    if (length >= (int)sizeof series || strchr(point->name, '{') != NULL) {
        return error_set(err, ERROR_INVALID_OPTION,
                         "'%.100s' cannot be a metric: name and labels have to be below 4 KiB, without '{' in the name", point->name);
    }
    const struct metric_cell cell = {series, point->at_us, point->at_us, 1, point->value, point->value, point->value, point->value};
    return metric_table_add(table, &cell, err);
}

enum status metrics_append(struct metric_writer *writer, const struct metric_point *points, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count;) {
        int64_t first_us = points[i].at_us;
        arena_reset(writer->batch_arena);
        struct metric_table table = {.arena = writer->batch_arena, .step_us = resolutions[0].step_us};
        for (; i < count && points[i].at_us / DAY_US == first_us / DAY_US; i++) {
            TRY(point_add(&table, &points[i], err));
        }
        TRY(batch_write(writer->storage, &writer->name, &table, first_us, &writer->seq, err));
    }
    return STATUS_OK;
}

/* ---- what there is ---- */

/* Keys of a resolution's batches from one day to another. */
struct key_walk {
    struct arena *arena;
    size_t prefix_length;
    char to_day[STORE_DAY_BYTES];
    const char **keys;
    uint32_t count, capacity;
};

static enum status key_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    struct key_walk *self = context;
    if (strncmp(key + self->prefix_length, self->to_day, STORE_DAY_BYTES - 1) > 0) {
        *stop = true;
        return STATUS_OK;
    }
    TRY_ALLOC(self->keys, arena_grow(self->arena, self->keys, &self->capacity, self->count + 1, sizeof *self->keys), err);
    TRY_ALLOC(self->keys[self->count], arena_text(self->arena, key, strlen(key)), err);
    self->count++;
    return STATUS_OK;
}

static enum status keys_find(struct storage *storage, const char *job, uint32_t resolution, int64_t from_us, int64_t to_us,
                             struct key_walk *walk, struct error *err)
{
    struct object_store *store = storage_objects(storage, STORE_METRICS);
    char prefix[OBJECT_KEY_MAX + 1], after[OBJECT_KEY_MAX + 1], day[STORE_DAY_BYTES], hour[STORE_HOUR_BYTES];
    store_day(from_us, day, hour);
    store_day(to_us, walk->to_day, hour);
    TRY(store_key(prefix, err, "jobs", job, "metrics", resolutions[resolution].name, "", NULL));
    TRY(store_key(after, err, "jobs", job, "metrics", resolutions[resolution].name, day, "", NULL));
    walk->prefix_length = strlen(prefix);
    return store->driver->list(store, prefix, after, key_visit, walk, err);
}

/* ---- querying ---- */

struct query_run {
    const struct metric_query *query;
    struct metric_table *table;
    /* hours from the query's start: which resolution serves each */
    uint8_t *chosen;
    int64_t first_hour;
    uint32_t hours, resolution;
    bool marking; /* the first pass only notes which hours a resolution has */
};

static bool is_asked(const struct metric_query *query, const struct metric_cell *cell)
{
    size_t length = strcspn(cell->series, "{");
    const char *labels = cell->series + length;
    if (query->name != NULL && (strlen(query->name) != length || memcmp(query->name, cell->series, length) != 0)) {
        return false;
    }
    if (query->labels == NULL) {
        return true;
    }
    size_t wanted = strlen(query->labels);
    return wanted == 0 ? labels[0] == '\0'
                       : labels[0] == '{' && strncmp(labels + 1, query->labels, wanted) == 0 && strcmp(labels + 1 + wanted, "}") == 0;
}

enum { HOUR_EMPTY = RESOLUTIONS };

static enum status cell_take(void *context, const struct metric_cell *cell, struct error *err)
{
    struct query_run *self = context;
    const struct metric_query *query = self->query;
    int64_t hour = cell->at_us / HOUR_US - self->first_hour;
    if (cell->at_us < query->from_us || cell->at_us >= query->to_us || hour < 0 || hour >= self->hours || !is_asked(query, cell)) {
        return STATUS_OK;
    }
    if (self->marking) {
        uint8_t have = self->chosen[hour];
        bool fits = resolutions[self->resolution].step_us <= query->step_us;
        /* resolutions come from fine to coarse: a coarser one that fits wins, one that does not only where there is none */
        self->chosen[hour] = have == HOUR_EMPTY || fits ? (uint8_t)self->resolution : have;
        return STATUS_OK;
    }
    return self->chosen[hour] == self->resolution ? metric_table_add(self->table, cell, err) : STATUS_OK;
}

static enum status resolution_read(struct storage *storage, const char *job, struct query_run *self, struct error *err)
{
    struct arena *arena = arena_create(NULL, "metrics of a resolution"), *each = arena_create(NULL, "batch of metrics");
    struct key_walk walk = {.arena = arena};
    enum status status = arena == NULL || each == NULL
                             ? error_set(err, ERROR_BUDGET_SPENT, "no room for metrics")
                             : keys_find(storage, job, self->resolution, self->query->from_us, self->query->to_us - 1, &walk, err);
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
        struct text text;
        enum object_result result;
        arena_reset(each);
        status = batch_get(storage, STORE_METRICS, walk.keys[i], each, &result, &text, err);
        if (status == STATUS_OK && result == OBJECT_OK) {
            status = metric_cells_read(walk.keys[i], text, each, cell_take, self, err);
        }
    }
    arena_destroy(arena);
    arena_destroy(each);
    return status;
}

static double aggregate_value(const struct metric_cell *cell, enum metric_aggregate aggregate)
{
    const double values[] = {
        [METRIC_AVG] = cell->sum / (double)cell->count, [METRIC_MIN] = cell->least, [METRIC_MAX] = cell->greatest, [METRIC_SUM] = cell->sum,
        [METRIC_COUNT] = (double)cell->count,           [METRIC_LAST] = cell->last,
    };
    return values[aggregate];
}

static enum status values_give(struct metric_table *table, enum metric_aggregate aggregate, metric_visit visit, void *context,
                               struct error *err)
{
    struct metric_cell **cells;
    bool stop = false;
    TRY(metric_table_sort(table, &cells, err));
    for (uint32_t i = 0; i < table->count && !stop; i++) {
        char name[SERIES_BYTES], labels[SERIES_BYTES] = "";
        size_t length = strcspn(cells[i]->series, "{");
        snprintf(name, sizeof name, "%.*s", (int)length, cells[i]->series);
        if (cells[i]->series[length] == '{') {
            snprintf(labels, sizeof labels, "%.*s", (int)strlen(cells[i]->series + length) - 2, cells[i]->series + length + 1);
        }
        const struct metric_value value = {name, labels, cells[i]->at_us, aggregate_value(cells[i], aggregate)};
        TRY(visit(context, &value, &stop, err));
    }
    return STATUS_OK;
}

enum status metrics_query(struct storage *storage, const char *job, const struct metric_query *query, metric_visit visit, void *context,
                          struct error *err)
{
    TRY(storage_check(storage, ACCESS_METRICS, ACCESS_READ, job, err));
    if (query->step_us <= 0 || query->to_us <= query->from_us || query->to_us - query->from_us > 4000 * DAY_US) {
        return error_set(err, ERROR_INVALID_OPTION, "a query of metrics needs a step above 0, and a range above 0 and below 4000 days");
    }
    struct arena *arena = arena_create(NULL, "query of metrics");
    TRY_ALLOC(arena, arena, err);
    struct metric_table table = {.arena = arena, .step_us = query->step_us};
    struct query_run run = {.query = query, .table = &table, .first_hour = query->from_us / HOUR_US};
    run.hours = (uint32_t)((query->to_us - 1) / HOUR_US - run.first_hour + 1);
    run.chosen = arena_alloc(arena, run.hours);
    enum status status = run.chosen == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a query of metrics") : STATUS_OK;
    if (status == STATUS_OK) {
        memset(run.chosen, HOUR_EMPTY, run.hours);
    }
    for (uint32_t pass = 0; pass < 2; pass++) {
        run.marking = pass == 0;
        for (run.resolution = 0; run.resolution < RESOLUTIONS && status == STATUS_OK; run.resolution++) {
            status = resolution_read(storage, job, &run, err);
        }
    }
    if (status == STATUS_OK) {
        status = values_give(&table, query->aggregate, visit, context, err);
    }
    arena_destroy(arena);
    return status;
}

/* ---- rolling up ---- */

struct roll_up {
    struct storage *storage;
    const char *job;
    struct metric_table *table;
    int64_t from_us, to_us;
};

static enum status cell_roll(void *context, const struct metric_cell *cell, struct error *err)
{
    struct roll_up *self = context;
    bool inside = cell->at_us >= self->from_us && cell->at_us < self->to_us;
    return inside ? metric_table_add(self->table, cell, err) : STATUS_OK;
}

static enum status roll_read(struct roll_up *self, uint32_t from, struct arena *arena, struct error *err)
{
    struct key_walk walk = {.arena = arena};
    TRY(keys_find(self->storage, self->job, from, self->from_us, self->to_us - 1, &walk, err));
    for (uint32_t i = 0; i < walk.count; i++) {
        struct text text;
        enum object_result result;
        TRY(batch_get(self->storage, STORE_METRICS, walk.keys[i], arena, &result, &text, err));
        if (result == OBJECT_OK) {
            TRY(metric_cells_read(walk.keys[i], text, arena, cell_roll, self, err));
        }
    }
    return STATUS_OK;
}

/* The batch's name says what it spans: it is made once, whoever makes it. */
static enum status span_roll(struct storage *storage, const char *job, uint32_t to, int64_t from_us, uint64_t *made, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1], day[STORE_DAY_BYTES], hour[STORE_HOUR_BYTES], file[64];
    struct object_store *store = storage_objects(storage, STORE_METRICS);
    enum object_result result;
    struct object_info info;
    uint64_t seq = 0;
    store_day(from_us, day, hour);
    const struct batch_name name = {STORE_METRICS, job, resolutions[to].name, "rollup", hour, ".cols", false};
    snprintf(file, sizeof file, "rollup-%s-%012d.cols", hour, 0);
    TRY(store_key(key, err, "jobs", job, "metrics", resolutions[to].name, day, file, NULL));
    TRY(store->driver->head(store, key, &result, &info, err));
    if (result == OBJECT_OK) {
        return STATUS_OK;
    }
    struct arena *arena = arena_create(NULL, "roll-up of metrics");
    TRY_ALLOC(arena, arena, err);
    struct metric_table table = {.arena = arena, .step_us = resolutions[to].step_us};
    struct roll_up roll = {storage, job, &table, from_us, from_us + resolutions[to].batch_us};
    enum status status = roll_read(&roll, to - 1, arena, err);
    if (status == STATUS_OK && table.count > 0) {
        status = batch_write(storage, &name, &table, from_us, &seq, err);
        ++*made;
    }
    arena_destroy(arena);
    return status;
}

enum status metrics_roll_up(struct storage *storage, const char *job, uint32_t days, uint64_t *made, struct error *err)
{
    const struct clock *clock = storage_clock(storage);
    int64_t now_us = clock->wall_us(clock);
    *made = 0;
    TRY(storage_check(storage, ACCESS_METRICS, ACCESS_WRITE, job, err));
    for (uint32_t to = 1; to < RESOLUTIONS; to++) {
        int64_t span_us = resolutions[to].batch_us, first_us = (now_us / DAY_US - days) * DAY_US;
        for (int64_t at_us = first_us; at_us + span_us + METRICS_LATE_US <= now_us; at_us += span_us) {
            TRY(span_roll(storage, job, to, at_us, made, err));
        }
    }
    return STATUS_OK;
}
