/* The cut of a ring whose reader runs ahead: the place given with what was taken is that of the marker behind it, never of rows that are still
 * in the ring, and the reads that have gone by are those before it. */
#include "../support/batches.h"

#include <stdlib.h>
#include <unistd.h>

#include "circuit/source_ring.h"

enum { READS = 300, ROWS_MAX = 5 };

/* Counts: read n gives n % (ROWS_MAX + 1) rows of the numbers that follow; its place is the next number. */
struct counting_reader {
    struct reader base;
    int64_t next;
    uint64_t reads_left;
};
static struct budget budget;
static _Atomic int64_t ahead;
static uint64_t position_fails_at;

static enum status counting_open(struct source *source, uint32_t partition, struct reader **reader, struct error *err)
{
    struct counting_reader *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    *self = (struct counting_reader){.base = {.source = source, .partition = partition}, .reads_left = READS};
    *reader = &self->base;
    return STATUS_OK;
}

static enum status counting_read(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                                 struct error *err)
{
    (void)row_limit;
    (void)err;
    struct counting_reader *self = (struct counting_reader *)reader;
    int64_t values[ROWS_MAX];
    uint32_t count = (uint32_t)(reader->reads % (ROWS_MAX + 1));
    if (self->reads_left-- == 0) {
        *state = READ_END;
        return STATUS_OK;
    }
    if (count == 0) {
        *state = READ_IDLE;
        *wait_us = 0;
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i] = self->next++;
    }
    ahead = self->next;
    const struct type *type = &type_bigint_not_null;
    const int64_t *columns[] = {values};
    fill_batch(&budget, &type, columns, 1, count, batch);
    *state = READ_ROWS;
    return STATUS_OK;
}

static enum status counting_position(struct reader *reader, struct text_builder *place, struct error *err)
{
    if (reader->reads == position_fails_at && reader->reads > 0) {
        return error_set(err, ERROR_FILE_UNREADABLE, "the place of read %u", (unsigned)position_fails_at);
    }
    text_append_format(place, "%lld", (long long)((struct counting_reader *)reader)->next);
    return STATUS_OK;
}

static enum status counting_seek(struct reader *reader, const struct source_position *position, struct error *err)
{
    (void)err;
    ((struct counting_reader *)reader)->next = strtoll(position->place.bytes, NULL, 10);
    return STATUS_OK;
}

static void counting_close(struct reader *reader)
{
    free(reader);
}

static const struct source_type counting = {.name = "counting",
                                            .reader_open = counting_open,
                                            .read = counting_read,
                                            .reader_close = counting_close,
                                            .position = counting_position,
                                            .seek = counting_seek};
static const struct source_type counting_inline = {.name = "counting",
                                                   .traits = SOURCE_INLINE,
                                                   .reader_open = counting_open,
                                                   .read = counting_read,
                                                   .reader_close = counting_close,
                                                   .position = counting_position,
                                                   .seek = counting_seek};

static int64_t place_of(struct source_ring *ring)
{
    struct error err;
    struct text place;
    struct text_builder history = {0};
    require(source_ring_position(ring, &place, &history, &err), &err);
    return strtoll(place.bytes, NULL, 10);
}

/* Takes until the end, at most `takes` batches; the number that would come next. */
static int64_t take(struct source_ring *ring, int64_t expected, uint32_t takes, int64_t *furthest)
{
    struct error err;
    enum read_state state = READ_IDLE;
    bool caught_up;
    while (takes > 0 && state != READ_END) {
        struct batch batch = {0};
        require(source_ring_take(ring, &batch, &state, &caught_up, &err), &err);
        takes -= state == READ_ROWS;
        for (uint32_t i = 0; i < batch.count; i++) {
            assert_int_equal(vector_int64(&batch.columns[0])[i], expected++);
        }
        batch_release(&batch);
        assert_int_equal(place_of(ring), expected);
        *furthest = ahead - expected > *furthest ? ahead - expected : *furthest;
        usleep(state == READ_IDLE ? 200 : 0);
    }
    return expected;
}

static void check_cuts(const struct source_type *type, int64_t *furthest)
{
    struct error err;
    struct wakeup wakeup;
    struct source source = {.type = type, .partition_count = 1};
    const struct source_ring_spec spec = {.source = &source, .row_limit = 4096, .limit_bytes = 1 << 20, .wakeup = &wakeup};
    wakeup_init(&wakeup);
    for (uint32_t takes = 0; takes < 120; takes += 7) {
        struct source_ring *ring;
        char text[32];
        ahead = 0;
        require(source_ring_open(&spec, &ring, &err), &err);
        int64_t next = take(ring, 0, takes, furthest);
        assert_int_equal(place_of(ring), next);
        source_ring_close(ring); /* what is in the ring is gone, and read again by the next */
        snprintf(text, sizeof text, "%lld", (long long)next);
        struct source_position from = {.place = text_from(text)};
        struct source_ring_spec again = spec;
        again.from = &from;
        require(source_ring_open(&again, &ring, &err), &err);
        assert_true(take(ring, next, UINT32_MAX, furthest) > next);
        source_ring_close(ring);
    }
    wakeup_destroy(&wakeup);
}

static void a_cut_covers_what_was_taken_and_nothing_of_the_ring(void **state)
{
    (void)state;
    int64_t furthest = 0, none = 0;
    check_cuts(&counting, &furthest);
    assert_true(furthest > ROWS_MAX); /* the reader was ahead of a cut */
    check_cuts(&counting_inline, &none);
    assert_int_equal(none, 0);
}

static void a_place_that_cannot_be_recorded_ends_the_ring_with_its_error(void **state)
{
    (void)state;
    struct error err = {0};
    struct wakeup wakeup;
    struct source source = {.type = &counting, .partition_count = 1};
    struct source_ring *ring;
    const struct source_ring_spec spec = {.source = &source, .row_limit = 4096, .limit_bytes = 1 << 20, .wakeup = &wakeup};
    wakeup_init(&wakeup);
    position_fails_at = 9;
    require(source_ring_open(&spec, &ring, &err), &err);
    enum status status = STATUS_OK;
    int64_t rows = 0;
    for (int tries = 0; tries < 5000 && status == STATUS_OK; tries++) {
        struct batch batch = {0};
        enum read_state read;
        bool caught_up;
        status = source_ring_take(ring, &batch, &read, &caught_up, &err);
        rows += batch.count;
        batch_release(&batch);
        usleep(status == STATUS_OK && read == READ_IDLE ? 200 : 0);
    }
    assert_int_equal(status, STATUS_UNAVAILABLE);
    assert_string_equal(err.text, "the place of read 9");
    assert_int_equal(rows, 1 + 2 + 3 + 4 + 5 + 0 + 1 + 2);
    assert_int_equal(place_of(ring), rows);
    position_fails_at = 0;
    source_ring_close(ring);
    wakeup_destroy(&wakeup);
}

int main(void)
{
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_covers_what_was_taken_and_nothing_of_the_ring),
        cmocka_unit_test(a_place_that_cannot_be_recorded_ends_the_ring_with_its_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
