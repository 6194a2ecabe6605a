#include "../storage/fixture.h"

#include "job/journal.h"
#include "storage/metric_store.h"

static struct journal *open_journal(struct fixture *f)
{
    struct journal *journal;
    REQUIRE(journal_open(f->storage, "j-0000", "9f1c", &journal, &f->err), f);
    return journal;
}

struct lines {
    uint32_t count;
    char first[400], last[400];
};

static enum status note_line(void *context, const struct log_line *line, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    struct lines *lines = context;
    snprintf(lines->last, sizeof lines->last, "%s %s %s", log_level_name(line->level), line->event, line->fields);
    if (lines->count++ == 0) {
        memcpy(lines->first, lines->last, sizeof lines->first);
    }
    return STATUS_OK;
}

static struct lines read_lines(struct fixture *f)
{
    struct lines lines = {0};
    const struct log_filter filter = {.from_us = f->clock.now_us};
    REQUIRE(log_read(f->storage, "j-0000", &filter, note_line, &lines, &f->err), f);
    return lines;
}

static enum status note_value(void *context, const struct metric_value *value, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    sprintf((char *)context + strlen(context), "%s{%s}=%g ", value->name, value->labels, value->value);
    return STATUS_OK;
}

static void what_was_told_is_there_when_the_journal_is_closed(void **state)
{
    (void)state;
    struct fixture f;
    char values[200] = "";
    fixture_open(&f, NULL, 0);
    struct journal *journal = open_journal(&f);
    journal_event(journal, LOG_INFO, "job.start", "the job \"%s\" begins", "x\n");
    journal_event(journal, LOG_DEBUG, "checkpoint.complete", "below the level");
    journal_event(journal, LOG_WARN, "checkpoint.fail", "cut \xc3");
    journal_figure(journal, "rows", NULL, 7);
    journal_figure(journal, "keys", "operator=a", 1.5);
    assert_false(journal_wants_figures(journal)); /* not at once */
    journal_close(journal);
    struct lines lines = read_lines(&f);
    assert_int_equal(lines.count, 2);
    assert_string_equal(lines.first, "info job.start {\"text\":\"the job \\\"x\\n\\\" begins\"}");
    assert_string_equal(lines.last, "warn checkpoint.fail {\"text\":\"cut \"}");
    const struct metric_query query = {NULL, NULL, f.clock.now_us, f.clock.now_us + 60000000, 60000000, METRIC_LAST};
    REQUIRE(metrics_query(f.storage, "j-0000", &query, note_value, values, &f.err), &f);
    assert_string_equal(values, "keys{operator=a}=1.5 rows{}=7 ");
    fixture_close(&f);
}

static void what_was_lost_is_told(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL, 0);
    struct journal *journal = open_journal(&f);
    for (int i = 0; i < JOURNAL_LINES_MAX + 3; i++) {
        journal_event(journal, LOG_INFO, "line", "%d", i);
    }
    journal_close(journal);
    struct lines lines = read_lines(&f);
    assert_int_equal(lines.count, JOURNAL_LINES_MAX + 1);
    assert_string_equal(lines.first, "info line {\"text\":\"0\"}");
    assert_string_equal(lines.last, "warn journal.lost {\"text\":\"3 lines and figures could not be kept\"}");
    fixture_close(&f);
}

static void a_store_that_fails_stops_nobody(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL, 0);
    struct journal *journal = open_journal(&f);
    memory_store_fail(f.memory, 1, MEMORY_FAULT_UNAVAILABLE, true);
    journal_event(journal, LOG_INFO, "line", "1");
    journal_figure(journal, "rows", NULL, 7);
    journal_close(journal);
    memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
    assert_int_equal(read_lines(&f).count, 0);
    fixture_close(&f);
}

static void settings_turn_it_off(void **state)
{
    (void)state;
    struct fixture f;
    const struct object_option off[] = {{"storage.logs.level", "off"}, {"storage.metrics.interval", "0 s"}};
    fixture_open(&f, off, 2);
    struct journal *journal = open_journal(&f);
    journal_event(journal, LOG_ERROR, "job.fail", "no one hears it");
    journal_figure(journal, "rows", NULL, 7);
    assert_false(journal_wants_figures(journal));
    journal_close(journal);
    assert_int_equal(memory_store_count(f.memory), 0);
    journal_event(NULL, LOG_ERROR, "job.fail", "no journal");
    journal_close(NULL);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_is_there_when_the_journal_is_closed),
        cmocka_unit_test(what_was_lost_is_told),
        cmocka_unit_test(a_store_that_fails_stops_nobody),
        cmocka_unit_test(settings_turn_it_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
