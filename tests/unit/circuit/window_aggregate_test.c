#include "../support/circuits.h"

/* Random rows with a watermark, cut into ticks at random, compared with windows computed row by row. */
enum { ROWS = 600, KEYS = 3, GROUPS_MAX = 20000 };
#define SECOND INT64_C(1000000)

static const struct column columns[] = {{"t", &type_timestamp3, TIME_ROWTIME}, {"k", &type_int, TIME_NONE}, {"v", &type_bigint, TIME_NONE}};
static const struct schema schema = {3, columns};
static const struct column output_columns[] = {
    {"k", &type_int, TIME_NONE},    {"n", &type_bigint, TIME_NONE},         {"s", &type_bigint, TIME_NONE},
    {"m", &type_bigint, TIME_NONE}, {"start", &type_timestamp3, TIME_NONE}, {"end", &type_timestamp3, TIME_NONE}};
static const struct schema output = {6, output_columns};

struct model_row {
    int64_t time, key, value, watermark; /* watermark before the row */
};
struct model_group {
    int64_t start, end, key, count, sum, maximum;
    bool closed;
    uint32_t id;
};
static uint32_t group_of_row[ROWS]; /* id of a row's session; 0: late or without a time */
static struct model_row rows[ROWS];
static struct model_group groups[GROUPS_MAX];
static uint32_t group_count;
static uint64_t late;

static void make_rows(uint64_t *seed, int64_t disorder)
{
    int64_t now = -300 * SECOND, watermark = WATERMARK_NONE;
    for (uint32_t i = 0; i < ROWS; i++) {
        now += (int64_t)(next_random(seed) % 4) * SECOND / 2 + (next_random(seed) % 50 == 0 ? 40 * SECOND : 0);
        rows[i] = (struct model_row){
            .time = next_random(seed) % 60 == 0 ? NULL_VALUE : now - (int64_t)(next_random(seed) % (uint64_t)disorder) * 1000,
            .key = (int64_t)(next_random(seed) % KEYS),
            .value = (int64_t)(next_random(seed) % 20) - 10,
            .watermark = watermark,
        };
        if (rows[i].time != NULL_VALUE && rows[i].time - 3 * SECOND > watermark) {
            watermark = rows[i].time - 3 * SECOND;
        }
    }
}

static void add_to_group(int64_t start, int64_t end, const struct model_row *row)
{
    uint32_t at = 0;
    while (at < group_count && (groups[at].closed || groups[at].start != start || groups[at].end != end || groups[at].key != row->key)) {
        at++;
    }
    if (at == group_count) {
        assert_true(group_count < GROUPS_MAX);
        groups[group_count++] = (struct model_group){start, end, row->key, 0, 0, INT64_MIN, false, 0};
    }
    groups[at].count++;
    groups[at].sum += row->value;
    groups[at].maximum = row->value > groups[at].maximum ? row->value : groups[at].maximum;
}

static void model_windows(const struct window_spec *spec)
{
    group_count = 0;
    late = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        const struct model_row *row = &rows[i];
        bool any = false, kept = false;
        for (int64_t start = -500 * SECOND; row->time != NULL_VALUE && start < 3000 * SECOND; start += SECOND / 2) {
            int64_t offset = start - spec->offset_us;
            int64_t every = spec->kind == WINDOW_HOP ? spec->slide_us : spec->size_us;
            if ((offset % every + every) % every != 0) {
                continue;
            }
            int64_t step = spec->kind == WINDOW_CUMULATE ? spec->slide_us : spec->size_us;
            for (int64_t end = start + step; end <= start + spec->size_us; end += step) {
                if (row->time < start || row->time >= end) {
                    continue;
                }
                any = true;
                if (row->watermark < end - 1000) {
                    kept = true;
                    add_to_group(start, end, row);
                }
            }
        }
        late += any && !kept;
    }
}

/* Sessions as they stand before each row: those that the watermark has closed take no more rows. */
static void model_sessions(int64_t gap)
{
    group_count = 0;
    late = 0;
    memset(group_of_row, 0, sizeof group_of_row);
    for (uint32_t i = 0; i < ROWS; i++) {
        const struct model_row *row = &rows[i];
        if (row->time == NULL_VALUE) {
            continue;
        }
        struct model_group merged = {row->time, row->time + gap, row->key, 1, row->value, row->value, false, i + 1};
        for (uint32_t g = 0; g < group_count; g++) {
            groups[g].closed = groups[g].closed || groups[g].end - 1000 <= row->watermark;
        }
        bool joined = false;
        for (uint32_t g = 0; g < group_count; g++) {
            struct model_group *group = &groups[g];
            if (group->closed || group->key != row->key || group->start > row->time + gap || group->end < row->time) {
                continue;
            }
            joined = true;
            merged.start = group->start < merged.start ? group->start : merged.start;
            merged.end = group->end > merged.end ? group->end : merged.end;
            merged.count += group->count;
            merged.sum += group->sum;
            merged.maximum = group->maximum > merged.maximum ? group->maximum : merged.maximum;
            for (uint32_t r = 0; r < i; r++) {
                group_of_row[r] = group_of_row[r] == group->id ? merged.id : group_of_row[r];
            }
            *group = groups[--group_count];
            g--;
        }
        if (!joined && merged.end - 1000 <= row->watermark) {
            late++;
        } else {
            group_of_row[i] = merged.id;
            groups[group_count++] = merged;
        }
    }
}

enum calls { CALLS_MERGED, CALLS_DISTINCT, CALLS_SUMS }; /* the third call: MAX, MAX(DISTINCT), SUM */

static char *model_text(enum calls kind)
{
    struct capture capture = {0};
    struct text_builder text = {0};
    for (uint32_t i = 0; i < group_count; i++) {
        text_builder_clear(&text);
        text_append_format(&text, "%lld|%lld|%lld|", (long long)groups[i].key, (long long)groups[i].count, (long long)groups[i].sum);
        text_append_format(&text, "%lld|", (long long)(kind == CALLS_SUMS ? groups[i].sum : groups[i].maximum));
        timestamp_append_text(groups[i].start, 3, &text);
        text_append_char(&text, '|');
        timestamp_append_text(groups[i].end, 3, &text);
        capture_add(&capture, text.bytes, 1);
    }
    text_builder_close(&text);
    struct harness holder = {.capture = &capture};
    char *result = harness_rows(&holder);
    capture_close(&capture.node);
    return result;
}

static void push(struct harness *harness, uint32_t from, uint32_t count)
{
    static int64_t values[3][ROWS], watermarks[ROWS];
    static const struct type *const types[] = {&type_timestamp3, &type_int, &type_bigint};
    const int64_t *pointers[] = {values[0], values[1], values[2]};
    struct error err;
    for (uint32_t i = 0; i < count; i++) {
        values[0][i] = rows[from + i].time;
        values[1][i] = rows[from + i].key;
        values[2][i] = rows[from + i].value;
        watermarks[i] = rows[from + i].watermark;
    }
    struct batch batch;
    fill_batch(&harness->budget, types, pointers, 3, count, &batch);
    batch.watermarks = watermarks;
    require(feed_receive(harness->feed, 0, &batch, &err), &err);
    batch.watermarks = NULL;
    batch_release(&batch);
}

static void run_ticks(struct harness *harness, uint64_t *seed)
{
    struct error err;
    uint32_t at = 0;
    while (at < ROWS) {
        uint32_t chunks = (uint32_t)next_random(seed) % 3;
        for (uint32_t c = 0; c < chunks && at < ROWS; c++) {
            uint32_t count = 1 + (uint32_t)next_random(seed) % 150;
            count = count < ROWS - at ? count : ROWS - at;
            push(harness, at, count);
            at += count;
        }
        require(harness_finish(harness, at < ROWS ? rows[at].watermark : rows[ROWS - 1].watermark, false, &err), &err);
    }
    require(harness_finish(harness, 0, true, &err), &err);
}

static struct aggregate_spec_call calls[4];
static const uint32_t value_column[] = {2};

static void make_calls(enum calls kind)
{
    calls[0] = (struct aggregate_spec_call){.function = aggregate_find(TEXT("COUNT")), .filter = -1};
    calls[1] = (struct aggregate_spec_call){.function = aggregate_find(TEXT("SUM")), .args = value_column, .arg_count = 1, .filter = -1};
    calls[2] = (struct aggregate_spec_call){.function = aggregate_find(kind == CALLS_SUMS ? TEXT("SUM") : TEXT("MAX")),
                                            .args = value_column,
                                            .arg_count = 1,
                                            .distinct = kind == CALLS_DISTINCT,
                                            .filter = -1};
}

static void compare(uint64_t seed, struct window_spec window, enum calls kind)
{
    static const uint32_t keys[] = {1};
    static const enum window_column window_columns[] = {WINDOW_COLUMN_START, WINDOW_COLUMN_END};
    struct harness harness;
    struct error err;
    struct node *node;
    make_rows(&seed, seed % 2 == 0 ? 4000 : 30000);
    make_calls(kind);
    window.partition_count = 1;
    const struct window_aggregate_spec spec = {
        .input = {.schema = &schema},
        .window = window,
        .keys = keys,
        .key_count = 1,
        .calls = calls,
        .call_count = 3,
        .window_columns = window_columns,
        .window_column_count = 2,
        .output = &output,
    };
    const struct session_window_spec session = {.base = spec};
    harness_open(&harness);
    if (window.kind == WINDOW_SESSION) {
        require(session_window_create(harness.circuit, &session, harness.feed, &node, &err), &err);
        model_sessions(window.size_us);
    } else {
        require(window_aggregate_create(harness.circuit, &spec, harness.feed, &node, &err), &err);
        model_windows(&window);
    }
    harness_capture(&harness, node);
    run_ticks(&harness, &seed);
    char *found = harness_rows(&harness), *wanted = model_text(kind);
    assert_true(strlen(wanted) > 100);
    assert_rows_equal(found, wanted);
    assert_int_equal(node->metrics.late, late);
    free(found);
    free(wanted);
    harness_close(&harness);
}

static void windows_equal_those_computed_row_by_row(void **state)
{
    (void)state;
    static const struct window_spec windows[] = {
        {.kind = WINDOW_TUMBLE, .size_us = 7 * SECOND},
        {.kind = WINDOW_TUMBLE, .size_us = 10 * SECOND, .offset_us = -3 * SECOND},
        {.kind = WINDOW_HOP, .size_us = 20 * SECOND, .slide_us = 5 * SECOND},
        {.kind = WINDOW_HOP, .size_us = 10 * SECOND, .slide_us = 4 * SECOND, .offset_us = SECOND},
        {.kind = WINDOW_HOP, .size_us = 4 * SECOND, .slide_us = 10 * SECOND},
        {.kind = WINDOW_CUMULATE, .size_us = 30 * SECOND, .slide_us = 5 * SECOND},
        {.kind = WINDOW_CUMULATE, .size_us = 12 * SECOND, .slide_us = 4 * SECOND, .offset_us = -SECOND},
        {.kind = WINDOW_SESSION, .size_us = 3 * SECOND},
        {.kind = WINDOW_SESSION, .size_us = 12 * SECOND},
    };
    for (uint32_t w = 0; w < ARRAY_LENGTH(windows); w++) {
        for (uint64_t seed = 1; seed < 7; seed++) {
            compare(seed, windows[w], CALLS_MERGED);
            compare(seed, windows[w], CALLS_DISTINCT);
        }
    }
}

/* COUNT and SUM alone can be taken out again: HOP adds and subtracts panes. */
static void hop_that_subtracts_panes_equals_windows_computed_row_by_row(void **state)
{
    (void)state;
    const struct window_spec window = {.kind = WINDOW_HOP, .size_us = 30 * SECOND, .slide_us = 5 * SECOND};
    for (uint64_t seed = 1; seed < 10; seed++) {
        compare(seed, window, CALLS_SUMS);
    }
}

static char *captured_text(struct capture *capture)
{
    struct harness holder = {.capture = capture};
    char *result = harness_rows(&holder);
    capture_close(&capture->node);
    return result;
}

/* What the table function should give: each row with its session. */
static char *model_session_rows(void)
{
    struct capture capture = {0};
    struct text_builder text = {0};
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint32_t g = 0; g < group_count && group_of_row[i] != 0; g++) {
            if (groups[g].id != group_of_row[i]) {
                continue;
            }
            text_builder_clear(&text);
            timestamp_append_text(rows[i].time, 3, &text);
            text_append_format(&text, "|%lld|%lld|", (long long)rows[i].key, (long long)rows[i].value);
            timestamp_append_text(groups[g].start, 3, &text);
            text_append_char(&text, '|');
            timestamp_append_text(groups[g].end, 3, &text);
            text_append_char(&text, '|');
            timestamp_append_text(groups[g].end - 1000, 3, &text);
            capture_add(&capture, text.bytes, 1);
        }
    }
    text_builder_close(&text);
    return captured_text(&capture);
}

static void session_table_function_gives_each_row_its_session(void **state)
{
    (void)state;
    static const uint32_t keys[] = {1};
    static const struct column with_windows[] = {{"t", &type_timestamp3, TIME_NONE},   {"k", &type_int, TIME_NONE},
                                                 {"v", &type_bigint, TIME_NONE},       {"start", &type_timestamp3, TIME_NONE},
                                                 {"end", &type_timestamp3, TIME_NONE}, {"time", &type_timestamp3, TIME_NONE}};
    static const struct schema rows_output = {6, with_windows};
    for (uint64_t seed = 1; seed < 8; seed++) {
        uint64_t random = seed;
        struct harness harness;
        struct error err;
        struct node *node;
        const struct session_window_spec spec = {
            .rows = true,
            .base = {.input = {.schema = &schema},
                     .window = {.kind = WINDOW_SESSION, .size_us = 4 * SECOND, .partition_count = 1},
                     .keys = keys,
                     .key_count = 1,
                     .output = &rows_output},
        };
        make_rows(&random, seed % 2 == 0 ? 4000 : 30000);
        model_sessions(4 * SECOND);
        harness_open(&harness);
        require(session_window_create(harness.circuit, &spec, harness.feed, &node, &err), &err);
        harness_capture(&harness, node);
        run_ticks(&harness, &random);
        char *found = harness_rows(&harness), *wanted = model_session_rows();
        assert_true(strlen(wanted) > 1000);
        assert_rows_equal(found, wanted);
        free(found);
        free(wanted);
        harness_close(&harness);
    }
}

static void model_window_rows(const struct window_spec *window, struct capture *wanted_rows)
{
    struct text_builder text = {0};
    for (uint32_t i = 0; i < ROWS; i++) {
        int64_t every = window->kind == WINDOW_HOP ? window->slide_us : window->size_us;
        int64_t step = window->kind == WINDOW_CUMULATE ? window->slide_us : window->size_us;
        for (int64_t start = -3000 * SECOND + window->offset_us; rows[i].time != NULL_VALUE && start < 3000 * SECOND; start += SECOND) {
            for (int64_t end = start + step; ((start - window->offset_us) % every) == 0 && end <= start + window->size_us; end += step) {
                if (rows[i].time < start || rows[i].time >= end) {
                    continue;
                }
                text_builder_clear(&text);
                timestamp_append_text(rows[i].time, 3, &text);
                text_append_format(&text, "|%lld|%lld|", (long long)rows[i].key, (long long)rows[i].value);
                timestamp_append_text(start, 3, &text);
                text_append_char(&text, '|');
                timestamp_append_text(end, 3, &text);
                text_append_char(&text, '|');
                timestamp_append_text(end - 1000, 3, &text);
                capture_add(wanted_rows, text.bytes, 1);
            }
        }
    }
    text_builder_close(&text);
}

/* The table functions of fixed windows keep late rows. */
static void window_columns_give_each_row_all_its_windows(void **state)
{
    (void)state;
    static const struct column with_windows[] = {{"t", &type_timestamp3, TIME_NONE},   {"k", &type_int, TIME_NONE},
                                                 {"v", &type_bigint, TIME_NONE},       {"start", &type_timestamp3, TIME_NONE},
                                                 {"end", &type_timestamp3, TIME_NONE}, {"time", &type_timestamp3, TIME_NONE}};
    static const struct schema rows_output = {6, with_windows};
    static const struct window_spec windows[] = {
        {.kind = WINDOW_TUMBLE, .size_us = 10 * SECOND, .offset_us = -3 * SECOND},
        {.kind = WINDOW_HOP, .size_us = 20 * SECOND, .slide_us = 5 * SECOND},
        {.kind = WINDOW_CUMULATE, .size_us = 12 * SECOND, .slide_us = 4 * SECOND},
    };
    for (uint32_t w = 0; w < ARRAY_LENGTH(windows); w++) {
        uint64_t random = 5;
        struct harness harness;
        struct error err;
        struct node *node;
        struct capture wanted_rows = {0};
        const struct window_columns_spec spec = {.input = {.schema = &schema}, .window = windows[w], .output = &rows_output};
        make_rows(&random, 30000);
        model_window_rows(&windows[w], &wanted_rows);
        harness_open(&harness);
        require(window_columns_create(harness.circuit, &spec, harness.feed, &node, &err), &err);
        harness_capture(&harness, node);
        run_ticks(&harness, &random);
        char *found = harness_rows(&harness), *wanted = captured_text(&wanted_rows);
        assert_true(strlen(wanted) > 1000);
        assert_rows_equal(found, wanted);
        free(found);
        free(wanted);
        harness_close(&harness);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_equal_those_computed_row_by_row),
        cmocka_unit_test(session_table_function_gives_each_row_its_session),
        cmocka_unit_test(window_columns_give_each_row_all_its_windows),
        cmocka_unit_test(hop_that_subtracts_panes_equals_windows_computed_row_by_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
