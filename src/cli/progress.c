#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { WHY_AFTER_US = 5000000, SHOW_EVERY_US = 500000 };

static int64_t now_us(void)
{
    return clock_system.monotonic_us(&clock_system);
}

void progress_start(struct progress *progress)
{
    *progress = (struct progress){.started_us = now_us(), .terminal = isatty(STDERR_FILENO)};
}

void progress_clear(struct progress *progress)
{
    if (progress->line_open) {
        fputs("\r\033[K", stderr);
        progress->line_open = false;
    }
}

static void format_watermark(int64_t watermark_us, char *out, size_t size)
{
    if (watermark_us == INT64_MIN) {
        snprintf(out, size, "none yet");
    } else if (watermark_us == INT64_MAX) {
        snprintf(out, size, "at the end");
    } else {
        time_t seconds = (time_t)(watermark_us / 1000000);
        struct tm parts;
        gmtime_r(&seconds, &parts);
        strftime(out, size, "%Y-%m-%d %H:%M:%S", &parts);
    }
}

static void say_why(struct progress *progress, const struct spate_progress *read)
{
    char watermark[64];
    format_watermark(read->watermark_us, watermark, sizeof watermark);
    progress_clear(progress);
    fprintf(stderr, "0 rows yet; read %llu; watermark %s", (unsigned long long)read->rows_read, watermark);
    if (read->held_by[0] != '\0') {
        fprintf(stderr, ", held by %s", read->held_by);
    }
    if (read->late + read->null_time + read->dropped > 0) {
        fprintf(stderr, "; late %llu, without event time %llu, dropped %llu", (unsigned long long)read->late,
                (unsigned long long)read->null_time, (unsigned long long)read->dropped);
    }
    fputc('\n', stderr);
    progress->said_why = true;
}

static void show_share(struct progress *progress, const struct spate_progress *read, int64_t now)
{
    double seconds = (double)(now - progress->started_us) / 1e6;
    double share = (double)read->bytes_read / (double)read->bytes_total;
    double left = share > 0 ? seconds / share - seconds : 0;
    fprintf(stderr, "\r\033[K%3.0f %%  %.0f rows/s  %.0f s left", share * 100, (double)read->rows_read / seconds, left);
    progress->line_open = true;
    progress->shown_us = now;
}

void progress_update(struct progress *progress, const spate_result *result)
{
    int64_t now = now_us();
    bool why_due = !progress->said_why && now - progress->started_us > WHY_AFTER_US;
    bool share_due = progress->terminal && now - progress->started_us > SHOW_EVERY_US * 2 && now - progress->shown_us > SHOW_EVERY_US;
    if (!why_due && !share_due) {
        return;
    }
    struct spate_progress read = {.size = sizeof read};
    spate_result_progress(result, &read);
    if (why_due && read.rows_out == 0 && spate_result_kind(result) == SPATE_RESULT_QUERY) {
        say_why(progress, &read);
    }
    if (share_due && spate_result_is_bounded(result) && read.bytes_total > 0) {
        show_share(progress, &read, now);
    }
}

void progress_finish(struct progress *progress, const spate_result *result)
{
    struct spate_progress read = {.size = sizeof read};
    progress_clear(progress);
    spate_result_progress(result, &read);
    const struct {
        uint64_t count;
        const char *text;
    } notes[] = {
        {read.late, "rows were late for their windows"}, {read.null_time, "rows had no event time"},
        {read.failed, "records could not be read"},      {read.dead_lettered, "of them went to the dead-letter table"},
        {read.dropped, "records were dropped"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        if (notes[i].count > 0) {
            fprintf(stderr, "%llu %s\n", (unsigned long long)notes[i].count, notes[i].text);
        }
    }
}
