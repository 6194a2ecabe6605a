/* circuit/operators/window_aggregate_close.c: windows that the watermark has reached: put together from panes, emitted, and dropped. */
#include <stdlib.h>

#include "circuit/operators/window_aggregate_internal.h"
#include "data/calendar.h"

static enum status emit_window(struct window_aggregate *self, struct keyed_records *records, struct window_bounds bounds, struct error *err)
{
    const struct window_output output = {
        .time = &self->time,
        .bounds = bounds,
        .columns = self->spec->window_columns,
        .column_count = self->spec->window_column_count,
        .schema = self->spec->output,
    };
    return keyed_records_emit(&self->layout, records, &output, err);
}

static int compare_panes(const void *left, const void *right)
{
    const struct pane *a = *(const struct pane *const *)left, *b = *(const struct pane *const *)right;
    if (a->first_end != b->first_end) {
        return a->first_end < b->first_end ? -1 : 1;
    }
    return (a->start > b->start) - (a->start < b->start);
}

static enum status drop_pane(struct window_aggregate *self, struct pane *pane, struct error *err)
{
    enum status status = keyed_records_forget(&pane->records, err);
    key_table_remove(self->index, pane->place);
    window_pane_close(self, pane);
    return status;
}

/* Panes that are windows: those that the watermark has reached, in order. */
static enum status close_windows(struct window_aggregate *self, int64_t watermark, struct error *err)
{
    struct pane_list *list = &self->waiting;
    uint32_t done = 0;
    enum status status = STATUS_OK;
    while (done < list->count && status == STATUS_OK && window_closes(self, list->items[done]->first_end) <= watermark) {
        struct pane *pane = list->items[done++];
        status = emit_window(self, &pane->records, (struct window_bounds){pane->window_start, pane->first_end}, err);
        if (status == STATUS_OK) {
            status = drop_pane(self, pane, err);
        } else {
            window_pane_close(self, pane);
        }
    }
    window_drop_first(self, done);
    return status;
}

static bool adds_up(const struct window_aggregate *self)
{
    return self->time.spec.kind == WINDOW_CUMULATE || call_set_invertible(self->calls);
}

/* Records that panes are added up in. */
static enum status sum_open(struct window_aggregate *self, struct keyed_records *sum, struct error *err)
{
    TRY(keyed_records_open(&self->layout, sum, err));
    return self->spills ? window_spill_sum(self, sum, err) : STATUS_OK;
}

static enum status sum_close(struct window_aggregate *self, struct keyed_records *sum, enum status status, struct error *err)
{
    if (status == STATUS_OK && sum->table != NULL) {
        status = keyed_records_forget(sum, err);
    }
    keyed_records_close(&self->layout, sum);
    return status;
}

/* Takes out the panes whose last window has closed. */
static enum status leave_panes(struct window_aggregate *self, int64_t end, struct error *err)
{
    uint32_t kept = 0;
    struct pane_list *list = &self->entered;
    enum status status = STATUS_OK;
    bool all = true;
    for (uint32_t i = 0; i < list->count; i++) {
        all = all && list->items[i]->last_end < end;
    }
    if (all) {
        status = sum_close(self, &self->running, STATUS_OK, err);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct pane *pane = list->items[i];
        if (pane->last_end >= end) {
            list->items[kept++] = pane;
            continue;
        }
        if (status == STATUS_OK && self->running.table != NULL) {
            status = keyed_records_merge(&self->layout, &self->running, &pane->records, -1, err);
        }
        if (status == STATUS_OK) {
            status = drop_pane(self, pane, err);
        } else {
            window_pane_close(self, pane);
        }
    }
    list->count = kept;
    return status;
}

enum status window_enter_panes(struct window_aggregate *self, int64_t end, uint32_t *next, struct error *err)
{
    while (*next < self->waiting.count && self->waiting.items[*next]->first_end <= end) {
        struct pane *pane = self->waiting.items[*next];
        TRY(window_pane_list_add(self, &self->entered, pane, err));
        self->waiting.items[(*next)++] = NULL;
        if (!adds_up(self)) {
            continue;
        }
        if (self->running.table == NULL) {
            TRY(sum_open(self, &self->running, err));
        }
        TRY(keyed_records_merge(&self->layout, &self->running, &pane->records, 1, err));
    }
    return STATUS_OK;
}

static enum status emit_merged(struct window_aggregate *self, struct window_bounds bounds, struct error *err)
{
    if (self->entered.count == 1) {
        return emit_window(self, &self->entered.items[0]->records, bounds, err);
    }
    struct keyed_records merged = {0};
    enum status status = sum_open(self, &merged, err);
    for (uint32_t i = 0; i < self->entered.count && status == STATUS_OK; i++) {
        status = keyed_records_merge(&self->layout, &merged, &self->entered.items[i]->records, 1, err);
    }
    if (status == STATUS_OK) {
        status = emit_window(self, &merged, bounds, err);
    }
    return sum_close(self, &merged, status, err);
}

static struct window_bounds window_ending(const struct window_aggregate *self, int64_t end)
{
    const struct window_spec *spec = &self->time.spec;
    if (spec->kind != WINDOW_CUMULATE) {
        return (struct window_bounds){end - spec->size_us, end};
    }
    int64_t slice = end - spec->slide_us;
    return (struct window_bounds){slice - floor_modulo(slice - spec->offset_us, spec->size_us), end};
}

/* The windows that the watermark has reached, put together from panes in the order of their ends. `waiting` is sorted. */
static enum status close_merged(struct window_aggregate *self, int64_t watermark, uint32_t *next, struct error *err)
{
    for (;;) {
        int64_t end;
        if (self->entered.count > 0) {
            end = self->last_end + self->step;
        } else if (*next < self->waiting.count) {
            end = self->waiting.items[*next]->first_end;
        } else {
            return STATUS_OK;
        }
        if (window_closes(self, end) > watermark) {
            return STATUS_OK;
        }
        TRY(leave_panes(self, end, err));
        TRY(window_enter_panes(self, end, next, err));
        self->last_end = end;
        if (self->entered.count == 0) {
            continue;
        }
        struct window_bounds bounds = window_ending(self, end);
        TRY(adds_up(self) ? emit_window(self, &self->running, bounds, err) : emit_merged(self, bounds, err));
    }
}

void window_sort_waiting(struct window_aggregate *self)
{
    if (self->waiting.count > 0) {
        qsort(self->waiting.items, self->waiting.count, sizeof(struct pane *), compare_panes);
    }
}

void window_drop_first(struct window_aggregate *self, uint32_t count)
{
    for (uint32_t i = count; i < self->waiting.count; i++) {
        self->waiting.items[i - count] = self->waiting.items[i];
    }
    self->waiting.count -= count;
}

enum status window_close_due(struct window_aggregate *self, int64_t watermark, struct error *err)
{
    window_sort_waiting(self);
    if (self->panes_are_windows) {
        return close_windows(self, watermark, err);
    }
    uint32_t next = 0;
    enum status status = close_merged(self, watermark, &next, err);
    window_drop_first(self, next);
    return status;
}

void window_set_next_close(struct window_aggregate *self)
{
    self->next_close = INT64_MAX;
    if (self->entered.count > 0) {
        self->next_close = window_closes(self, self->last_end + self->step);
    }
    for (uint32_t i = 0; i < self->waiting.count; i++) {
        int64_t close = window_closes(self, self->waiting.items[i]->first_end);
        self->next_close = close < self->next_close ? close : self->next_close;
    }
}
