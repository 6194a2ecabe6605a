/* The source over a feed: its batches as they were pushed, the columns that are read by name. */
#include <stdlib.h>
#include <string.h>

#include "connectors/built_in.h"
#include "connectors/feed_queue.h"

enum { WAIT_US = 0 };

struct feed_source {
    struct source base;
    struct source_context context;
    struct feed *feed;
    uint32_t *columns; /* of the feed's row */
};
struct feed_reader {
    struct reader base;
    struct feed_cursor cursor;
    struct batch current; /* what did not fit the row limit; count 0: nothing */
    uint32_t used;
    int64_t first_row;
};

static enum status feed_source_open(const struct source_context *context, const void *settings, struct source **source, struct error *err)
{
    (void)settings;
    if (context->attachment == NULL) {
        return error_set(err, ERROR_INVALID_DEFINITION, "a table with the connector 'feed' is made by spate_feed_open");
    }
    struct feed_source *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &feed_source_type;
    self->context = *context;
    self->feed = context->attachment;
    self->base.partition_count = feed_partition_count(self->feed);
    self->base.bounded = feed_has_ended(self->feed);
    TRY_ALLOC(self->columns, arena_alloc(context->arena, (context->column_count + 1) * sizeof *self->columns), err);
    const struct type *row = feed_row(self->feed);
    for (uint32_t i = 0; i < context->column_count; i++) {
        uint32_t at = 0;
        while (at < row->child_count && strcmp(row->names[at], context->columns[i].name) != 0) {
            at++;
        }
        if (at == row->child_count || context->columns[i].metadata_key != NULL) {
            return error_set(err, ERROR_INVALID_DEFINITION, "the feed has no column '%s'", context->columns[i].name);
        }
        self->columns[i] = at;
    }
    feed_ref(self->feed);
    *source = &self->base;
    return STATUS_OK;
}

static void feed_source_close(struct source *source)
{
    feed_unref(((struct feed_source *)source)->feed);
}

static enum status feed_reader_open(struct source *source, uint32_t partition, struct reader **reader, struct error *err)
{
    struct feed_reader *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->base = (struct reader){source, partition};
    self->cursor = (struct feed_cursor){.feed = ((struct feed_source *)source)->feed, .partition = partition};
    *reader = &self->base;
    return STATUS_OK;
}

static void feed_reader_close(struct reader *reader)
{
    struct feed_reader *self = (struct feed_reader *)reader;
    batch_release(&self->current);
    free(self);
}

/* Columns of the current batch, all its rows or `count` from `used` on. */
static enum status take_columns(struct feed_reader *self, uint32_t count, struct batch *batch, struct error *err)
{
    const struct feed_source *source = (const struct feed_source *)self->base.source;
    uint16_t rows[CHUNK_ROWS];
    bool whole = count == self->current.count;
    for (uint32_t i = 0; i < count && !whole; i++) {
        rows[i] = (uint16_t)(self->used + i);
    }
    for (uint32_t i = 0; i < source->context.column_count; i++) {
        const struct vector *column = &self->current.columns[source->columns[i]];
        TRY(whole ? vector_ref(column, &batch->columns[i], err)
                  : vector_gather(source->context.budget, column, rows, count, &batch->columns[i], err));
    }
    return STATUS_OK;
}

static enum status feed_read(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                             struct error *err)
{
    struct feed_reader *self = (struct feed_reader *)reader;
    const struct source_context *context = &((const struct feed_source *)reader->source)->context;
    if (self->used == self->current.count) {
        enum feed_state found;
        batch_release(&self->current);
        self->current = (struct batch){0};
        self->used = 0;
        TRY(feed_take(&self->cursor, WAIT_US, &self->current, &self->first_row, &found, err));
        if (found != FEED_ROWS) {
            *state = found == FEED_ENDED ? READ_END : READ_IDLE;
            *wait_us = 1;
            return STATUS_OK;
        }
    }
    uint32_t rest = self->current.count - self->used, count = rest < row_limit ? rest : row_limit;
    TRY(batch_init(batch, context->column_count, err));
    enum status status = take_columns(self, count, batch, err);
    if (status != STATUS_OK) {
        batch_release(batch);
        return status;
    }
    batch->count = count;
    batch->ordered = true;
    batch->ordinal_base = self->first_row + self->used;
    batch->partition = reader->partition;
    self->used += count;
    if (context->counters != NULL) {
        atomic_fetch_add_explicit(&context->counters->rows, count, memory_order_relaxed);
    }
    *state = READ_ROWS;
    return STATUS_OK;
}

const struct source_type feed_source_type = {
    .name = "feed",
    .summary = "Rows given by the program that embeds Spate (spate_feed_open).",
    .traits = SOURCE_INLINE | SOURCE_LOOKUP,
    .open = feed_source_open,
    .reader_open = feed_reader_open,
    .read = feed_read,
    .reader_close = feed_reader_close,
    .close = feed_source_close,
};
