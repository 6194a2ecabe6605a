#include "fixture.h"

#include "storage/access.h"
#include "storage/metric_store.h"
#include "storage/retention.h"

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US   (60 * MINUTE_US)

/* A point each 15 s: its number, in two series; `hours` of them from the clock's time on. */
static void fill(struct fixture *f, int64_t from_us, uint32_t hours)
{
    struct metric_writer *writer;
    REQUIRE(metric_writer_open(f->storage, "j-0000", "w1", "9f1c", &writer, &f->err), f);
    for (uint32_t hour = 0; hour < hours; hour++) {
        struct metric_point points[480];
        for (uint32_t i = 0; i < 240; i++) {
            int64_t at_us = from_us + hour * HOUR_US + i * 15 * SECOND_US;
            points[2 * i] = (struct metric_point){at_us, "rows", "task=a", hour * 240 + i};
            points[2 * i + 1] = (struct metric_point){at_us, "lag", NULL, -1};
        }
        REQUIRE(metrics_append(writer, points, 480, &f->err), f);
    }
    metric_writer_close(writer);
}

static enum status note(void *context, const struct metric_value *value, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    char *text = context;
    if (strlen(text) < 400) {
        sprintf(text + strlen(text), "%s{%s}@%d=%g ", value->name, value->labels, (int)(value->at_us / MINUTE_US % (24 * 60)),
                value->value);
    }
    return STATUS_OK;
}

static void require_query(struct fixture *f, struct metric_query query, const char *expected)
{
    char text[600] = "";
    REQUIRE(metrics_query(f->storage, "j-0000", &query, note, text, &f->err), f);
    assert_string_equal(text, expected);
}

static void query_aggregates_by_steps(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL, 0);
    int64_t t = f.clock.now_us;
    fill(&f, t, 2);
    struct metric_query q = {"rows", NULL, t, t + 2 * MINUTE_US, MINUTE_US, METRIC_SUM};
    require_query(&f, q, "rows{task=a}@0=6 rows{task=a}@1=22 ");
    q.aggregate = METRIC_AVG;
    require_query(&f, q, "rows{task=a}@0=1.5 rows{task=a}@1=5.5 ");
    q.aggregate = METRIC_MIN;
    require_query(&f, q, "rows{task=a}@0=0 rows{task=a}@1=4 ");
    q.aggregate = METRIC_MAX;
    require_query(&f, q, "rows{task=a}@0=3 rows{task=a}@1=7 ");
    q.aggregate = METRIC_COUNT;
    require_query(&f, q, "rows{task=a}@0=4 rows{task=a}@1=4 ");
    q.aggregate = METRIC_LAST;
    require_query(&f, q, "rows{task=a}@0=3 rows{task=a}@1=7 ");
    q.step_us = HOUR_US;
    q.to_us = t + 3 * HOUR_US;
    require_query(&f, q, "rows{task=a}@0=239 rows{task=a}@60=479 ");
    q.name = NULL;
    q.step_us = 2 * HOUR_US;
    require_query(&f, q, "lag{}@0=-1 rows{task=a}@0=479 ");
    q.labels = "";
    require_query(&f, q, "lag{}@0=-1 ");
    q.labels = "task=b";
    require_query(&f, q, "");
    q.step_us = 0;
    REQUIRE_ERROR(metrics_query(f.storage, "j-0000", &q, note, NULL, &f.err), ERROR_INVALID_OPTION, "a step above 0", &f);
    fixture_close(&f);
}

static uint64_t roll_up(struct fixture *f)
{
    uint64_t made;
    REQUIRE(metrics_roll_up(f->storage, "j-0000", 3, &made, &f->err), f);
    return made;
}

static void take_all(struct fixture *f, const char *part)
{
    while (memory_store_find(f->memory, part, 0) != NULL) {
        memory_store_take(f->memory, memory_store_find(f->memory, part, 0));
    }
}

/* The answer is the same whichever resolution it comes from, and none is counted twice. */
static void rolled_up_figures_are_the_same(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL, 0);
    int64_t t = f.clock.now_us;
    fill(&f, t, 30);
    f.clock.now_us = t + HOUR_US + METRICS_LATE_US - 1;
    assert_int_equal(roll_up(&f), 0);
    f.clock.now_us += 1;
    assert_int_equal(roll_up(&f), 1);
    assert_int_equal(roll_up(&f), 0);
    f.clock.now_us = t + 31 * HOUR_US;
    assert_int_equal(roll_up(&f), 30);
    assert_non_null(memory_store_find(f.memory, "/metrics/1m/2024-10-04/rollup-05-000000000000.cols", 0));
    assert_non_null(memory_store_find(f.memory, "/metrics/1h/2024-10-04/rollup-00-000000000000.cols", 0));
    struct metric_query hour = {"rows", NULL, t + HOUR_US, t + 3 * HOUR_US, HOUR_US, METRIC_SUM};
    struct metric_query minute = {"rows", NULL, t + HOUR_US, t + HOUR_US + 2 * MINUTE_US, MINUTE_US, METRIC_AVG};
    for (uint32_t gone = 0; gone < 2; gone++) {
        require_query(&f, hour, "rows{task=a}@60=86280 rows{task=a}@120=143880 ");
        require_query(&f, minute, "rows{task=a}@60=241.5 rows{task=a}@61=245.5 ");
        take_all(&f, "/metrics/15s/"); /* expired: the coarser ones answer */
    }
    take_all(&f, "/metrics/1m/");
    require_query(&f, hour, "rows{task=a}@60=86280 rows{task=a}@120=143880 ");
    hour.aggregate = METRIC_LAST;
    require_query(&f, hour, "rows{task=a}@60=479 rows{task=a}@120=719 ");
    fixture_close(&f);
}

static void metrics_expire_by_resolution(void **state)
{
    (void)state;
    static const struct sweep_request request;
    struct fixture f;
    struct sweep_report report;
    fixture_open(&f, NULL, 0);
    fill(&f, f.clock.now_us, 24);
    f.clock.now_us += 25 * HOUR_US;
    roll_up(&f);
    f.clock.now_us += DAY_US;
    REQUIRE(storage_sweep(f.storage, &request, &report, &f.err), &f);
    assert_null(memory_store_find(f.memory, "/metrics/15s/", 0));
    assert_non_null(memory_store_find(f.memory, "/metrics/1m/", 0));
    f.clock.now_us += 15 * DAY_US;
    REQUIRE(storage_sweep(f.storage, &request, &report, &f.err), &f);
    assert_null(memory_store_find(f.memory, "/metrics/1m/", 0));
    assert_non_null(memory_store_find(f.memory, "/metrics/1h/", 0));
    fixture_close(&f);
}

static void damage_and_rights_are_noticed(void **state)
{
    (void)state;
    struct fixture f;
    struct storage *view;
    struct metric_writer *writer;
    char text[600] = "";
    uint64_t made;
    fixture_open(&f, NULL, 0);
    fill(&f, f.clock.now_us, 1);
    struct metric_query q = {"rows", NULL, f.clock.now_us, f.clock.now_us + HOUR_US, HOUR_US, METRIC_SUM};
    memory_store_fail(f.memory, 2, MEMORY_FAULT_UNAVAILABLE, false);
    REQUIRE_ERROR(metrics_query(f.storage, "j-0000", &q, note, text, &f.err), ERROR_STORE_UNAVAILABLE, "fault", &f);
    memory_store_damage(f.memory, memory_store_find(f.memory, "/metrics/", 0), 1);
    REQUIRE_ERROR(metrics_query(f.storage, "j-0000", &q, note, text, &f.err), ERROR_STORE_CORRUPT, "w1-9f1c-000000000000.cols", &f);
    REQUIRE(storage_as(f.storage, "user:a", NULL, 0, &view, &f.err), &f);
    REQUIRE_ERROR(metrics_query(view, "j-0000", &q, note, text, &f.err), ERROR_STORE_DENIED, "metrics:read", &f);
    REQUIRE_ERROR(metric_writer_open(view, "j-0000", "w", "i", &writer, &f.err), ERROR_STORE_DENIED, "metrics:append", &f);
    REQUIRE_ERROR(metrics_roll_up(view, "j-0000", 1, &made, &f.err), ERROR_STORE_DENIED, "metrics:write", &f);
    storage_close(view);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_aggregates_by_steps),
        cmocka_unit_test(rolled_up_figures_are_the_same),
        cmocka_unit_test(metrics_expire_by_resolution),
        cmocka_unit_test(damage_and_rights_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
