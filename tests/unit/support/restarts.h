/* tests/unit/support/restarts.h: an operator that is stopped, saved, made anew and goes on, against one that never stopped.
 *
 * A script is a random sequence of ticks: rows, withdrawals, watermarks, clock. restart_run plays it with workers that each have a circuit of
 * feeds, the operator and a capture; rows are dealt by the hash of the place columns, as an exchange would. After some ticks all workers save
 * (a full file, or a change to the last one); after some of these everything is destroyed, created for another number of workers and restored
 * from the bytes. With `spill` each worker has a database: what can leave memory does so after every tick, or some of it, or seldom; a save then has
 * the database in it, or all rows, and so has a stop: the database where the number of workers stays. What comes out of each tick, added up over the workers, is the tick's text.
 */
#ifndef SPATE_TESTS_SUPPORT_RESTARTS_H
#define SPATE_TESTS_SUPPORT_RESTARTS_H

/* Under a sanitizer, where everything takes ten times as long, a part of the seeds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RESTART_SEEDS(count) ((count) / 2 + 1)
#else
#define RESTART_SEEDS(count) (count)
#endif

#include "circuit/circuit_cold.h"
#include "circuit/held_errors.h"
#include "circuits.h"
#include "cold_memory.h"

enum { RESTART_COLUMNS = 9, RESTART_ROWS = 24, RESTART_TICKS = 14, RESTART_WORKERS = 3, RESTART_GROUPS = 128, RESTART_LIVE = 4096 };
enum { COLUMN_K, COLUMN_S, COLUMN_T, COLUMN_V, COLUMN_D, COLUMN_A, COLUMN_START, COLUMN_END, COLUMN_P };
#define RESTART_SECOND INT64_C(1000000)

static const struct type *const restart_element = &type_int;
static const struct type restart_array = {TYPE_ARRAY, true, 0, 0, 1, &restart_element, NULL};
static const struct column restart_columns[RESTART_COLUMNS] = {
    {"k", &type_int, TIME_NONE},
    {"s", &type_string, TIME_NONE},
    {"t", &type_timestamp3, TIME_ROWTIME},
    {"v", &type_bigint, TIME_NONE},
    {"d", &type_double, TIME_NONE},
    {"a", &restart_array, TIME_NONE},
    {"start", &type_timestamp3, TIME_NONE},
    {"end", &type_timestamp3, TIME_NONE},
    {"p", &type_boolean, TIME_NONE},
};
static const struct schema restart_schema = {RESTART_COLUMNS, restart_columns};

struct restart_feed {
    bool ordered;
    bool changes;         /* rows are withdrawn */
    bool grows;           /* but not most of them */
    bool early;           /* some before they come */
    bool timed;           /* rows carry the watermark before them */
    bool ahead;           /* which may be beyond that of the feed */
    const uint32_t *keys; /* rows are placed by their hash; none: all on worker 0 */
    uint32_t key_count;
    bool everywhere; /* all workers get all rows */
    bool anywhere;   /* any worker gets a row, whatever its columns */
};
struct restart_case {
    const char *name;
    struct restart_feed feeds[2];
    uint32_t feed_count;
    uint32_t columns; /* bits: those that are not constant */
    struct node *(*create)(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs);
    int variant;
    bool spills; /* its keys can leave memory: half of the plans have a database */
};

static inline struct input_spec restart_input(const struct restart_case *test, uint32_t feed)
{
    const struct restart_feed *from = &test->feeds[feed];
    bool every = from->everywhere || from->anywhere;
    return (struct input_spec){.schema = &restart_schema,
                               .changes = from->changes || from->early,
                               .ordered = from->ordered,
                               .everywhere = from->everywhere,
                               .placed = every                 ? SNAPSHOT_EVERY
                                         : from->key_count > 0 ? SNAPSHOT_HASH
                                                               : SNAPSHOT_ONE,
                               .placed_by = from->keys,
                               .placed_by_count = from->key_count};
}

/* ---- scripts ---- */

struct restart_row {
    int64_t values[RESTART_COLUMNS];
    int64_t weight, ordinal, watermark;
};
struct restart_push {
    uint32_t feed, count;
    struct restart_row rows[RESTART_ROWS];
};
struct restart_tick {
    struct restart_push pushes[4];
    uint32_t push_count;
    int64_t watermarks[2], now_us;
    bool end;
};
struct restart_script {
    struct restart_tick ticks[RESTART_TICKS];
    struct restart_row live[2][RESTART_LIVE], early[2][RESTART_LIVE];
    uint32_t live_count[2], early_count[2];
    int64_t ordinals[2];
};

static inline struct restart_row restart_random_row(const struct restart_case *test, uint64_t *seed, int64_t watermark)
{
    static const uint32_t domains[RESTART_COLUMNS] = {4, 9, 0, 13, 7, 5, 0, 0, 2};
    struct restart_row row = {.weight = 1, .watermark = WATERMARK_NONE};
    for (uint32_t c = 0; c < RESTART_COLUMNS; c++) {
        uint64_t random = next_random(seed);
        int64_t value = domains[c] == 0 ? 0 : (int64_t)(random % domains[c]) - (c == COLUMN_V ? 6 : 0);
        if (c == COLUMN_T) {
            value = watermark - 4 * RESTART_SECOND + (int64_t)(random % 44) * RESTART_SECOND / 2;
        }
        row.values[c] = ((test->columns >> c) & 1) == 0 ? 0 : next_random(seed) % 11 == 0 ? NULL_VALUE : value;
    }
    int64_t time = row.values[COLUMN_T], start = time - ((time % (10 * RESTART_SECOND)) + 10 * RESTART_SECOND) % (10 * RESTART_SECOND);
    row.values[COLUMN_START] = time == NULL_VALUE ? NULL_VALUE : start;
    row.values[COLUMN_END] = time == NULL_VALUE ? NULL_VALUE : start + 10 * RESTART_SECOND;
    return row;
}

static inline struct restart_row restart_next_row(const struct restart_case *test, struct restart_script *script, uint32_t feed,
                                                  uint64_t *seed, int64_t watermark)
{
    const struct restart_feed *from = &test->feeds[feed];
    uint64_t random = next_random(seed) % 10;
    struct restart_row row = restart_random_row(test, seed, watermark);
    if (from->early && script->early_count[feed] > 0 && random < 2) {
        row = script->early[feed][--script->early_count[feed]];
        row.weight = 1;
    } else if (from->early && random < 4) {
        row.weight = -1;
        script->early[feed][script->early_count[feed]++] = row;
    } else if (from->changes && script->live_count[feed] > 0 && random < (from->grows ? 3U : 8U)) {
        uint32_t gone = (uint32_t)next_random(seed) % script->live_count[feed];
        row = script->live[feed][gone];
        script->live[feed][gone] = script->live[feed][--script->live_count[feed]];
        row.weight = -row.weight;
    } else {
        row.weight = next_random(seed) % 6 == 0 ? 2 : 1;
        script->live[feed][script->live_count[feed]++] = row;
    }
    row.ordinal = script->ordinals[feed]++;
    return row;
}

static inline void restart_make_push(const struct restart_case *test, struct restart_script *script, struct restart_push *push,
                                     uint64_t *seed, int64_t before, int64_t after)
{
    push->feed = (uint32_t)next_random(seed) % test->feed_count;
    push->count = 1 + (uint32_t)next_random(seed) % RESTART_ROWS;
    for (uint32_t i = 0; i < push->count; i++) {
        struct restart_row *row = &push->rows[i];
        *row = restart_next_row(test, script, push->feed, seed, before);
        row->watermark = before == WATERMARK_NONE ? WATERMARK_NONE : before + (after - before) * i / push->count;
        if (test->feeds[push->feed].ahead && before != WATERMARK_NONE) {
            row->watermark += 7 * RESTART_SECOND;
        }
    }
}

static inline void restart_make_script(const struct restart_case *test, uint64_t seed, struct restart_script *script)
{
    int64_t watermark = -30 * RESTART_SECOND, now = 1000 * RESTART_SECOND;
    *script = (struct restart_script){0};
    for (uint32_t t = 0; t < RESTART_TICKS; t++) {
        struct restart_tick *tick = &script->ticks[t];
        int64_t before = watermark;
        watermark += (int64_t)(next_random(&seed) % 7) * RESTART_SECOND;
        now += (int64_t)(next_random(&seed) % 8) * RESTART_SECOND;
        tick->now_us = now;
        tick->push_count = (uint32_t)next_random(&seed) % 4;
        for (uint32_t p = 0; p < tick->push_count; p++) {
            restart_make_push(test, script, &tick->pushes[p], &seed, before, watermark);
        }
        for (uint32_t f = 0; f < test->feed_count; f++) {
            bool lags = f > 0 && next_random(&seed) % 3 == 0;
            tick->watermarks[f] = lags ? (t == 0 ? WATERMARK_NONE : script->ticks[t - 1].watermarks[f]) : watermark;
        }
        tick->end = t + 1 == RESTART_TICKS;
    }
}

/* ---- running one ---- */

enum { RESTART_NOTHING, RESTART_SAVE, RESTART_STOP };
struct restart_plan {
    uint8_t actions[RESTART_TICKS];  /* after the tick */
    uint32_t workers[RESTART_TICKS]; /* from the stop on */
    uint32_t first_workers, chunk_rows;
    bool incremental; /* the circuits follow changes */
    bool all_full;    /* every save is a full one */
    bool late;        /* large tables hand over their rows in parts, around the tick after a save; a stop repeats that tick */
    enum restart_spill { SPILL_NEVER, SPILL_ALL, SPILL_SOME, SPILL_RARELY } spill;
    uint64_t spill_seed;
};
struct restart_file {
    char *bytes;
    size_t length;
};
struct restart_worker {
    struct circuit *circuit;
    struct node *feeds[2];
    struct capture *capture;
    struct memory_db *db;
};
struct restart_run {
    const struct restart_case *test;
    const struct restart_plan *plan;
    struct budget budget;
    struct evaluation evaluation;
    struct restart_worker workers[RESTART_WORKERS];
    uint32_t worker_count;
    struct held_meeting *held;
    uint64_t tick_number, spill_seed, fetched; /* fetched: keys that came back from databases */
    struct snapshot_writer *writers[RESTART_WORKERS];
    bool saves;    /* they are at work */
    bool keeps_db; /* the save that is at work is a checkpoint with the database */
    struct memory_db *kept[RESTART_WORKERS];
    struct restart_file files[RESTART_WORKERS][RESTART_TICKS];
    uint32_t file_count;
};

static inline void restart_open_worker(struct restart_run *run, uint32_t w)
{
    struct restart_worker *worker = &run->workers[w];
    struct error err;
    const struct pipeline_settings settings = {.chunk_rows = run->plan->chunk_rows, .max_parallelism = RESTART_GROUPS};
    require(circuit_create(&run->budget, &run->evaluation, &clock_system, &settings, NULL, w, run->worker_count, &worker->circuit, &err),
            &err);
    worker->circuit->incremental = run->plan->incremental;
    worker->circuit->held_meeting = run->held;
    if (run->plan->spill != SPILL_NEVER) {
        worker->db = run->kept[w] != NULL ? run->kept[w] : memory_open();
        run->kept[w] = NULL;
        worker->circuit->cold = &worker->db->db;
        worker->circuit->spills = true;
        worker->circuit->cold_evict_all = run->plan->spill == SPILL_ALL;
    }
    for (uint32_t f = 0; f < run->test->feed_count; f++) {
        worker->feeds[f] = arena_alloc(worker->circuit->arena, sizeof **worker->feeds);
        require(circuit_add(worker->circuit, worker->feeds[f], &feed_type, f == 0 ? "left" : "right", NULL, 0, &err), &err);
    }
    struct node *node = run->test->create(worker->circuit, run->test, worker->feeds);
    worker->capture = arena_alloc(worker->circuit->arena, sizeof *worker->capture);
    require(circuit_add(worker->circuit, &worker->capture->node, &capture_type, "capture", &node, 1, &err), &err);
    require(circuit_name_nodes(worker->circuit, &err), &err);
}

static inline void restart_open(struct restart_run *run, uint32_t worker_count)
{
    run->worker_count = worker_count;
    run->tick_number = 0;
    run->held = NULL;
    if (worker_count > 1) {
        struct error err;
        require(held_meeting_create(worker_count, &run->held, &err), &err);
    }
    for (uint32_t w = 0; w < worker_count; w++) {
        restart_open_worker(run, w);
    }
}

static inline void restart_close(struct restart_run *run)
{
    for (uint32_t w = 0; w < run->worker_count; w++) {
        struct restart_worker *worker = &run->workers[w];
        for (uint32_t i = 0; i < worker->circuit->node_count; i++) {
            run->fetched += node_cold_counters(worker->circuit->nodes[i]).fetched;
        }
        circuit_destroy(worker->circuit);
        if (worker->db != NULL) {
            memory_close(&worker->db->db);
            worker->db = NULL;
        }
    }
    held_meeting_destroy(run->held);
    assert_int_equal(run->budget.used_bytes, 0);
}

/* "v" elements, one of them NULL. */
static inline void restart_fill_array(struct budget *budget, const int64_t *values, uint32_t count, struct vector *vector)
{
    struct error err;
    int64_t elements[RESTART_ROWS * 8];
    uint32_t total = 0;
    require(vector_create(budget, &restart_array, count, vector, &err), &err);
    require(vector_need_validity(budget, vector, count, &err), &err);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = values[i] == NULL_VALUE ? 0 : (uint32_t)values[i];
        vector_spans(vector)[i] = (struct span){total, length};
        if (values[i] == NULL_VALUE) {
            vector_set_null(vector, i);
        }
        for (uint32_t e = 0; e < length; e++) {
            elements[total++] = e == 2 ? NULL_VALUE : (int64_t)(length * 10 + e);
        }
    }
    vector_release(&vector->children[0]);
    fill_column(budget, &type_int, elements, total, &vector->children[0]);
}

static inline void restart_fill(struct restart_run *run, const struct restart_row *const *rows, uint32_t count, struct batch *batch)
{
    struct error err;
    require(batch_init(batch, RESTART_COLUMNS, &err), &err);
    batch->count = count;
    for (uint32_t c = 0; c < RESTART_COLUMNS; c++) {
        int64_t values[RESTART_ROWS];
        for (uint32_t i = 0; i < count; i++) {
            values[i] = rows[i]->values[c];
        }
        if (restart_columns[c].type == &restart_array) {
            restart_fill_array(&run->budget, values, count, &batch->columns[c]);
        } else {
            fill_column(&run->budget, restart_columns[c].type, values, count, &batch->columns[c]);
        }
    }
}

static inline bool restart_is_for(const struct restart_run *run, const struct restart_feed *feed, const struct restart_row *row,
                                  uint64_t hash, uint32_t w)
{
    if (feed->everywhere) {
        return true;
    }
    if (feed->anywhere) {
        return (uint64_t)row->ordinal % run->worker_count == w;
    }
    return w == (feed->key_count == 0 ? 0 : circuit_worker_of(hash, run->worker_count, RESTART_GROUPS));
}

/* The rows of a push that are this worker's, in their order. */
static inline void restart_push_to(struct restart_run *run, const struct restart_push *push, uint32_t w)
{
    const struct restart_feed *feed = &run->test->feeds[push->feed];
    const struct restart_row *rows[RESTART_ROWS];
    int64_t weights[RESTART_ROWS], ordinals[RESTART_ROWS], watermarks[RESTART_ROWS];
    uint64_t hashes[RESTART_ROWS] = {0};
    uint32_t count = 0;
    struct batch batch = {0};
    struct error err;
    for (uint32_t i = 0; i < push->count; i++) {
        rows[i] = &push->rows[i];
    }
    restart_fill(run, rows, push->count, &batch);
    if (feed->key_count > 0) {
        batch_hash(&batch, feed->keys, feed->key_count, hashes);
    }
    batch_release(&batch);
    bool weighted = false;
    for (uint32_t i = 0; i < push->count; i++) {
        if (restart_is_for(run, feed, rows[i], hashes[i], w)) {
            weights[count] = rows[i]->weight;
            ordinals[count] = rows[i]->ordinal;
            watermarks[count] = rows[i]->watermark;
            weighted = weighted || rows[i]->weight != 1;
            rows[count++] = rows[i];
        }
    }
    if (count == 0) {
        return;
    }
    restart_fill(run, rows, count, &batch);
    batch.ordered = feed->ordered;
    int64_t *values;
    if (weighted) {
        require(batch_need_weights(&run->budget, &batch, count, &values, &err), &err);
        memcpy(values, weights, count * sizeof *values);
    }
    if (feed->ordered) {
        require(batch_need_ordinals(&run->budget, &batch, count, &values, &err), &err);
        memcpy(values, ordinals, count * sizeof *values);
    }
    if (feed->timed) {
        require(batch_need_watermarks(&run->budget, &batch, count, &values, &err), &err);
        memcpy(values, watermarks, count * sizeof *values);
    }
    require(node_emit(run->workers[w].feeds[push->feed], &batch, &err), &err);
    batch_release(&batch);
}

/* As memory would run short, now and then, in the middle of a tick too. */
static inline void restart_spill_some(struct restart_run *run, struct restart_worker *worker)
{
    struct error err;
    enum restart_spill spill = run->plan->spill;
    bool now = spill == SPILL_SOME || (spill == SPILL_RARELY && next_random(&run->spill_seed) % 16 == 0);
    for (uint32_t i = 0; now && i < worker->circuit->node_count; i++) {
        struct node *node = worker->circuit->nodes[i];
        for (struct cold_table *cold = node_first_cold(node); cold != NULL; cold = cold->next) {
            uint32_t evicted, most = (uint32_t)(next_random(&run->spill_seed) % 5);
            require(cold_table_evict(cold, most, most == 4, &evicted, &err), &err);
        }
    }
}

/* false: what stands at the end of input is an error. */
static inline bool restart_play(struct restart_run *run, const struct restart_tick *from, bool bounded)
{
    bool right = true;
    struct tick tick = {.number = ++run->tick_number, .now_us = from->now_us, .end = from->end, .bounded = bounded};
    struct error err;
    enum pull_state state;
    run->evaluation.now_us = tick.now_us; /* the clock goes on over a stop */
    for (uint32_t w = 0; w < run->worker_count; w++) {
        struct restart_worker *worker = &run->workers[w];
        require(circuit_pull(worker->circuit, &tick, &state, &err), &err);
        for (uint32_t p = 0; p < from->push_count; p++) {
            restart_push_to(run, &from->pushes[p], w);
            restart_spill_some(run, worker);
        }
        for (uint32_t f = 0; f < run->test->feed_count; f++) {
            worker->feeds[f]->watermark = from->end ? WATERMARK_END : from->watermarks[f];
        }
        enum status status = circuit_finish(worker->circuit, &tick, &err);
        right = right && status == STATUS_OK;
        if (!from->end) {
            require(status, &err);
        }
    }
    return right;
}

static inline void capture_forget(struct capture *capture)
{
    const struct node node = capture->node;
    capture_close(&capture->node);
    *capture = (struct capture){.node = node};
}

/* What the captures have, added up; they forget it. */
static inline char *restart_take_text(struct restart_run *run, bool right)
{
    struct capture sum = {0};
    struct text_builder text = {0};
    for (uint32_t w = 0; w < run->worker_count; w++) {
        struct capture *capture = run->workers[w].capture;
        for (uint32_t i = 0; i < capture->count; i++) {
            capture_add(&sum, capture->rows[i].text, capture->rows[i].weight);
        }
        capture_forget(capture);
    }
    if (sum.count > 0) {
        qsort(sum.rows, sum.count, sizeof *sum.rows, compare_captured);
    }
    for (uint32_t i = 0; i < sum.count; i++) {
        if (sum.rows[i].weight != 0) {
            text_append_format(&text, "%+lld %s\n", (long long)sum.rows[i].weight, sum.rows[i].text);
        }
    }
    capture_forget(&sum);
    if (!right) {
        text_append_format(&text, "fails\n");
    }
    text_append_char(&text, '\0');
    return text.bytes;
}

/* ---- saving and restoring ---- */

static enum status restart_put(void *context, const void *bytes, size_t length, struct error *err)
{
    (void)err;
    struct restart_file *file = context;
    file->bytes = realloc(file->bytes, file->length + length);
    memcpy(file->bytes + file->length, bytes, length);
    file->length += length;
    return STATUS_OK;
}

static inline void restart_begin_save(struct restart_run *run)
{
    struct error err;
    bool full = run->plan->all_full || run->file_count == 0;
    for (uint32_t w = 0; w < run->worker_count; w++) {
        run->workers[w].circuit->cold_checkpoint = run->keeps_db;
    }
    for (uint32_t w = 0; w < run->worker_count; w++) {
        require(snapshot_writer_create(&run->budget, full, 1, &run->writers[w], &err), &err);
        if (run->plan->late) {
            snapshot_allow_deferred(run->writers[w]);
        }
        require(circuit_save(run->workers[w].circuit, run->writers[w], &err), &err);
    }
    run->saves = true;
}

/* Some of the parts that were put off. */
static inline void restart_take_some(struct restart_run *run)
{
    struct error err;
    bool more = true;
    for (uint64_t part = 0, parts = next_random(&run->spill_seed) % 4; part < parts && run->saves; part++) {
        for (uint32_t w = 0; w < run->worker_count; w++) {
            require(snapshot_take_deferred(run->writers[w], &more, &err), &err);
        }
    }
}

static inline void restart_end_save(struct restart_run *run)
{
    struct error err;
    for (uint32_t w = 0; w < run->worker_count; w++) {
        bool more = true;
        while (more) {
            require(snapshot_take_deferred(run->writers[w], &more, &err), &err);
        }
        require(snapshot_finish(run->writers[w], restart_put, &run->files[w][run->file_count], &err), &err);
        snapshot_writer_destroy(run->writers[w]);
    }
    run->saves = false;
    run->file_count++;
}

/* From the newest file to the oldest one that is needed. */
static inline void restart_read_chain(struct restart_run *run, struct snapshot_reader *reader, uint32_t chain, uint64_t *seed)
{
    struct error err;
    uint32_t oldest = run->plan->all_full ? run->file_count - 1 : 0;
    for (uint32_t f = run->file_count; f-- > oldest;) {
        const struct restart_file *file = &run->files[chain][f];
        snapshot_file_begin(reader, "test", f == oldest);
        for (size_t at = 0; at < file->length;) {
            size_t part = 1 + next_random(seed) % 4000;
            part = part > file->length - at ? file->length - at : part;
            require(snapshot_file_bytes(reader, file->bytes + at, part, &err), &err);
            at += part;
        }
        require(snapshot_file_end(reader, &err), &err);
    }
}

static inline void restart_restore(struct restart_run *run, uint32_t chain_count)
{
    struct error err;
    uint64_t seed = chain_count;
    for (uint32_t w = 0; w < run->worker_count; w++) {
        struct snapshot_target target = circuit_restore_target(run->workers[w].circuit, false);
        struct snapshot_reader *readers[RESTART_WORKERS];
        for (uint32_t c = 0; c < chain_count; c++) {
            require(snapshot_reader_create(&target, c, &readers[c], &err), &err);
            restart_read_chain(run, readers[c], c, &seed);
        }
        for (uint32_t c = 0; c < chain_count; c++) {
            if (snapshot_wants_second_pass(readers[c])) {
                restart_read_chain(run, readers[c], c, &seed);
            }
            snapshot_reader_destroy(readers[c]);
        }
        require(circuit_restored(run->workers[w].circuit, &err), &err);
    }
}

static inline void restart_forget_files(struct restart_run *run)
{
    for (uint32_t w = 0; w < RESTART_WORKERS; w++) {
        for (uint32_t f = 0; f < run->file_count; f++) {
            free(run->files[w][f].bytes);
            run->files[w][f] = (struct restart_file){0};
        }
    }
    run->file_count = 0;
}

/* What the figures say of keys in memory. */
static inline uint64_t restart_keys(const struct restart_run *run)
{
    uint64_t keys = 0;
    for (uint32_t w = 0; w < run->worker_count; w++) {
        for (uint32_t i = 0; i < run->workers[w].circuit->node_count; i++) {
            keys += run->workers[w].circuit->nodes[i]->metrics.state_keys;
        }
    }
    return keys;
}

/* next: the tick that will be run again, after a late save. */
static inline void restart_stop(struct restart_run *run, uint32_t workers, const struct restart_tick *next)
{
    uint32_t before = run->worker_count;
    uint64_t keys = restart_keys(run);
    run->keeps_db = run->plan->spill != SPILL_NEVER && workers == before;
    if (run->plan->spill != SPILL_NEVER && !run->keeps_db) {
        restart_forget_files(run); /* without the database in it a save has all rows */
    }
    restart_begin_save(run);
    if (run->plan->late) {
        int64_t now_us = run->evaluation.now_us;
        restart_take_some(run);
        free(restart_take_text(run, restart_play(run, next, true)));
        restart_take_some(run);
        run->evaluation.now_us = now_us;
    }
    restart_end_save(run);
    for (uint32_t w = 0; run->keeps_db && w < before; w++) {
        run->kept[w] = memory_clone(run->workers[w].db);
    }
    run->keeps_db = false;
    restart_close(run);
    restart_open(run, workers);
    restart_restore(run, before);
    if (run->plan->spill == SPILL_NEVER && workers == before) {
        uint64_t told = restart_keys(run); /* without a tick. Rows of a join may wait in a log, without their keys */
        assert_true(told == keys || (run->test->feed_count == 2 && told < keys));
    }
    restart_forget_files(run);
}

/* A text per tick; free them. Returns how many keys were fetched from databases. */
static inline uint64_t restart_run(const struct restart_case *test, const struct restart_script *script, const struct restart_plan *plan,
                                   char *texts[RESTART_TICKS])
{
    struct restart_run *run = calloc(1, sizeof *run);
    run->test = test;
    run->plan = plan;
    run->spill_seed = plan->spill_seed;
    budget_init(&run->budget, NULL, "test", BUDGET_UNLIMITED);
    run->evaluation = (struct evaluation){.budget = &run->budget, .zone = time_zone_utc, .now_us = script->ticks[0].now_us};
    restart_open(run, plan->first_workers);
    for (uint32_t t = 0; t < RESTART_TICKS; t++) {
        bool right = restart_play(run, &script->ticks[t], true);
        texts[t] = restart_take_text(run, right);
        if (run->saves) {
            restart_end_save(run);
        }
        if (plan->actions[t] == RESTART_SAVE) {
            run->keeps_db = plan->spill != SPILL_NEVER && !plan->all_full;
            restart_begin_save(run);
            restart_take_some(run);
        } else if (plan->actions[t] == RESTART_STOP) {
            restart_stop(run, plan->workers[t], &script->ticks[t + 1]);
        }
    }
    restart_forget_files(run);
    restart_close(run);
    uint64_t fetched = run->fetched;
    free(run);
    return fetched;
}

static inline void restart_make_plan(uint64_t *seed, bool hashed, bool spills, struct restart_plan *plan)
{
    static const uint32_t chunks[] = {1, 5, CHUNK_ROWS};
    *plan = (struct restart_plan){.first_workers = hashed && next_random(seed) % 2 == 0 ? RESTART_WORKERS : 1,
                                  .chunk_rows = chunks[next_random(seed) % 3],
                                  .incremental = next_random(seed) % 3 != 0,
                                  .all_full = next_random(seed) % 4 == 0};
    if (!spills) {
        plan->spill_seed = *seed;
        plan->late = (*seed >> 40) % 2 == 0;
    }
    if (spills) {
        static const enum restart_spill spills_as[] = {SPILL_ALL, SPILL_SOME, SPILL_ALL, SPILL_RARELY};
        plan->spill = spills_as[next_random(seed) % 4];
        plan->spill_seed = next_random(seed);
    }
    for (uint32_t t = 0; t + 1 < RESTART_TICKS; t++) {
        uint64_t random = next_random(seed) % 10;
        plan->actions[t] = random < 4 ? RESTART_SAVE : random < 6 ? RESTART_STOP : RESTART_NOTHING;
        plan->workers[t] = hashed && next_random(seed) % 2 == 0 ? RESTART_WORKERS : 1;
    }
}

/* The plan up to the tick: '.', 's' for a save, workers for a stop. */
static inline void restart_fail(const struct restart_case *test, uint64_t seed, const struct restart_plan *plan, uint32_t tick,
                                const char *expected, const char *actual)
{
    char actions[RESTART_TICKS + 1] = {0};
    for (uint32_t t = 0; t <= tick; t++) {
        static const char signs[] = {[RESTART_NOTHING] = '.', [RESTART_SAVE] = 's'};
        actions[t] = plan->actions[t] == RESTART_STOP ? (char)('0' + plan->workers[t]) : signs[plan->actions[t]];
    }
    size_t line = 0;
    for (size_t at = 0; expected[at] == actual[at]; at++) {
        line = expected[at] == '\n' ? at + 1 : line;
    }
    fail_msg("%s, seed %llu, tick %u of %s from %u workers, chunk %u%s%s%s%s:\nwithout stops %.300s\nwith stops    %.300s", test->name,
             (unsigned long long)seed, tick, actions, plan->first_workers, plan->chunk_rows, plan->incremental ? ", incremental" : "",
             plan->all_full ? ", full" : "", plan->late ? ", late" : "",
             plan->spill == SPILL_NEVER  ? ""
             : plan->spill == SPILL_ALL  ? ", all spilled"
             : plan->spill == SPILL_SOME ? ", some spilled"
                                         : ", spilled now and then",
             expected + line, actual + line);
}

/* Random scripts, each with several plans. Returns how many lines came out after a restart. */
static inline uint64_t restart_check(const struct restart_case *test, uint64_t seeds, uint32_t plans)
{
    uint64_t lines = 0, fetched = 0;
    struct restart_script *script = malloc(sizeof *script);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        const struct restart_plan whole = {.first_workers = 1, .chunk_rows = CHUNK_ROWS};
        char *expected[RESTART_TICKS], *actual[RESTART_TICKS];
        uint64_t random = seed * 7919;
        restart_make_script(test, seed, script);
        restart_run(test, script, &whole, expected);
        for (uint32_t p = 0; p < plans; p++) {
            struct restart_plan plan;
            bool stopped = false;
            restart_make_plan(&random, true, test->spills && p % 2 == 1, &plan);
            fetched += restart_run(test, script, &plan, actual);
            for (uint32_t t = 0; t < RESTART_TICKS; t++) {
                if (strcmp(expected[t], actual[t]) != 0) {
                    restart_fail(test, seed, &plan, t, expected[t], actual[t]);
                }
                lines += stopped && *actual[t] != '\0';
                stopped = stopped || plan.actions[t] == RESTART_STOP;
                free(actual[t]);
            }
        }
        for (uint32_t t = 0; t < RESTART_TICKS; t++) {
            free(expected[t]);
        }
    }
    free(script);
    if (test->spills && fetched < seeds / 2) {
        fail_msg("%s: next to nothing came back from a database", test->name);
    }
    return lines;
}

#endif
