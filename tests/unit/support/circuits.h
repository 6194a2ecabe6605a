/* tests/unit/support/circuits.h: an operator between a feed and a capture.
 *
 * The feed is a node without inputs: push batches through it with node_emit, end ticks with harness_finish. The capture sums weights per
 * output row (as text, fields separated by '|').
 */
#ifndef SPATE_TESTS_SUPPORT_CIRCUITS_H
#define SPATE_TESTS_SUPPORT_CIRCUITS_H

#include <stdlib.h>

#include "batches.h"

#include "circuit/circuit.h"
#include "circuit/operators/specs.h"
#include "data/cell_text.h"

struct captured {
    char *text;
    int64_t weight;
};
struct capture {
    struct node node;
    struct captured *rows;
    uint32_t count, capacity;
    uint32_t *places, place_count; /* by the hash of the text: 1 + index; NULL after the rows have moved */
};
struct harness {
    struct budget budget;
    struct evaluation evaluation;
    struct circuit *circuit;
    struct node *feed;
    struct capture *capture;
    struct tick tick;
};

static enum status feed_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    return node_emit(node, batch, err);
}
static enum status feed_finish(struct node *node, const struct tick *tick, struct error *err)
{
    (void)node, (void)tick, (void)err;
    return STATUS_OK;
}
static const struct node_type feed_type = {.name = "Feed", .receive = feed_receive, .finish_tick = feed_finish};

/* Where the text is, or would be. */
static uint32_t *capture_place(struct capture *self, const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *at = text; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    }
    uint32_t place = hash % self->place_count;
    while (self->places[place] != 0 && strcmp(self->rows[self->places[place] - 1].text, text) != 0) {
        place = (place + 1) % self->place_count;
    }
    return &self->places[place];
}
static void capture_index(struct capture *self)
{
    free(self->places);
    self->place_count = self->capacity * 2;
    self->places = calloc(self->place_count, sizeof *self->places);
    for (uint32_t i = 0; i < self->count; i++) {
        *capture_place(self, self->rows[i].text) = i + 1;
    }
}
static void capture_add(struct capture *self, const char *text, int64_t weight)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity == 0 ? 64 : self->capacity * 2;
        self->rows = realloc(self->rows, self->capacity * sizeof *self->rows);
        capture_index(self);
    } else if (self->places == NULL) {
        capture_index(self);
    }
    uint32_t *place = capture_place(self, text);
    if (*place == 0) {
        self->rows[self->count++] = (struct captured){strdup(text), 0};
        *place = self->count;
    }
    self->rows[*place - 1].weight += weight;
}
static enum status capture_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input, (void)err;
    struct capture *self = (struct capture *)node;
    struct selection rows = batch_selection(batch);
    struct text_builder text = {0};
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        text_builder_clear(&text);
        for (uint32_t c = 0; c < batch->column_count; c++) {
            if (c > 0) {
                text_append_char(&text, '|');
            }
            cell_text_append(&batch->columns[c], row, time_zone_utc, 0, &text);
        }
        capture_add(self, text.bytes == NULL ? "" : text.bytes, batch_weight(batch, row));
    }
    text_builder_close(&text);
    return STATUS_OK;
}
static void capture_close(struct node *node)
{
    struct capture *self = (struct capture *)node;
    for (uint32_t i = 0; i < self->count; i++) {
        free(self->rows[i].text);
    }
    free(self->rows);
    free(self->places);
}
static const struct node_type capture_type = {
    .name = "Capture", .receive = capture_receive, .finish_tick = feed_finish, .close = capture_close};

static inline void harness_open(struct harness *harness)
{
    struct error err;
    *harness = (struct harness){0};
    budget_init(&harness->budget, NULL, "test", BUDGET_UNLIMITED);
    harness->evaluation = (struct evaluation){.budget = &harness->budget, .zone = time_zone_utc};
    static const struct pipeline_settings settings = {.chunk_rows = CHUNK_ROWS};
    require(circuit_create(&harness->budget, &harness->evaluation, &clock_system, &settings, NULL, 0, 1, &harness->circuit, &err), &err);
    harness->feed = arena_alloc(harness->circuit->arena, sizeof *harness->feed);
    require(circuit_add(harness->circuit, harness->feed, &feed_type, "feed", NULL, 0, &err), &err);
    harness->tick.bounded = true;
}
static inline void harness_capture(struct harness *harness, struct node *node)
{
    struct error err;
    harness->capture = arena_alloc(harness->circuit->arena, sizeof *harness->capture);
    require(circuit_add(harness->circuit, &harness->capture->node, &capture_type, "capture", &node, 1, &err), &err);
}
static inline enum status harness_finish(struct harness *harness, int64_t watermark, bool end, struct error *err)
{
    harness->tick.number++;
    harness->tick.end = end;
    harness->feed->watermark = end ? WATERMARK_END : watermark > harness->feed->watermark ? watermark : harness->feed->watermark;
    return circuit_finish(harness->circuit, &harness->tick, err);
}
static inline int compare_captured(const void *left, const void *right)
{
    return strcmp(((const struct captured *)left)->text, ((const struct captured *)right)->text);
}
/* The rows that stand, sorted, one a line, each as often as it stands. Free it. */
static inline char *harness_rows(struct harness *harness)
{
    struct capture *capture = harness->capture;
    struct text_builder text = {0};
    if (capture->count > 0) {
        qsort(capture->rows, capture->count, sizeof *capture->rows, compare_captured);
        free(capture->places);
        capture->places = NULL;
    }
    for (uint32_t i = 0; i < capture->count; i++) {
        if (capture->rows[i].weight < 0) {
            fail_msg("row %s was taken back more often than given", capture->rows[i].text);
        }
        for (int64_t n = 0; n < capture->rows[i].weight; n++) {
            text_append_format(&text, "%s\n", capture->rows[i].text);
        }
    }
    text_append(&text, "", 0);
    char *rows = strdup(text.bytes == NULL ? "" : text.bytes);
    text_builder_close(&text);
    return rows;
}
/* Fails with the first place where two texts differ. */
static inline void assert_rows_equal(const char *left, const char *right)
{
    size_t at = 0, line = 0, field = 0, start = 0;
    for (; left[at] == right[at]; at++) {
        if (left[at] == '\0') {
            return;
        }
        line += left[at] == '\n';
        field = left[at] == '\n' ? 0 : field + (left[at] == '|');
        start = left[at] == '\n' || left[at] == '|' ? at + 1 : start;
    }
    fail_msg("row %zu, field %zu: %.60s <> %.60s", line, field, left + start, right + start);
}
static inline void harness_close(struct harness *harness)
{
    circuit_destroy(harness->circuit);
    assert_int_equal(harness->budget.used_bytes, 0);
}

#endif
