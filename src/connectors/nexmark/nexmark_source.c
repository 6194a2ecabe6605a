/* The Nexmark source: events straight into columns. Its columns are event_type INT, person, auction, bid ROW<...> (two of them NULL),
 * dateTime TIMESTAMP(3), found by name; the fields of the rows likewise. */
#include <stdlib.h>
#include <string.h>

#include "connectors/built_in.h"
#include "connectors/nexmark/nexmark_generator.h"
#include "connectors/position.h"
#include "formats/column.h"

static const char *const rate_shapes[] = {"SQUARE", "SINE", NULL};
static const struct option_def nexmark_options[] = {
    {.name = "first-event.rate",
     OPTION_INT64(struct nexmark_settings, first_rate),
     .initial = "10000",
     .check = option_check_positive,
     .summary = "Events a second of event time at the start."},
    {.name = "next-event.rate",
     OPTION_INT64(struct nexmark_settings, next_rate),
     .initial = "10000",
     .check = option_check_positive,
     .summary = "Events a second that the rate changes to."},
    {.name = "rate.shape",
     OPTION_CHOICE(struct nexmark_settings, rate_shape, rate_shapes),
     .initial = "SQUARE",
     .summary = "How the rate changes."},
    {.name = "rate.period",
     OPTION_DURATION(struct nexmark_settings, rate_period),
     .initial = "600 s",
     .summary = "In which time it comes round."},
    {.name = "rate.limited",
     OPTION_BOOL(struct nexmark_settings, rate_limited),
     .initial = "false",
     .summary = "Events come no faster than their rate says."},
    {.name = "events.num",
     OPTION_INT64(struct nexmark_settings, events),
     .initial = "0",
     .check = option_check_not_negative,
     .summary = "The source ends after so many events; 0: never."},
    {.name = "person.proportion",
     OPTION_INT64(struct nexmark_settings, person_proportion),
     .initial = "1",
     .check = option_check_positive,
     .summary = "Share of persons among the events."},
    {.name = "auction.proportion",
     OPTION_INT64(struct nexmark_settings, auction_proportion),
     .initial = "3",
     .check = option_check_positive,
     .summary = "Share of auctions."},
    {.name = "bid.proportion",
     OPTION_INT64(struct nexmark_settings, bid_proportion),
     .initial = "46",
     .check = option_check_not_negative,
     .summary = "Share of bids."},
    {.name = "person.avg-size",
     OPTION_INT64(struct nexmark_settings, person_size),
     .initial = "200",
     .check = option_check_not_negative,
     .summary = "Bytes of a person on average."},
    {.name = "auction.avg-size",
     OPTION_INT64(struct nexmark_settings, auction_size),
     .initial = "500",
     .check = option_check_not_negative,
     .summary = "Bytes of an auction on average."},
    {.name = "bid.avg-size",
     OPTION_INT64(struct nexmark_settings, bid_size),
     .initial = "100",
     .check = option_check_not_negative,
     .summary = "Bytes of a bid on average, channel and URL not counted."},
    {.name = "bid.hot-ratio.auctions",
     OPTION_INT64(struct nexmark_settings, hot_auctions),
     .initial = "2",
     .check = option_check_positive,
     .summary = "All but one in so many bids are for the hot auction."},
    {.name = "bid.hot-ratio.bidders",
     OPTION_INT64(struct nexmark_settings, hot_bidders),
     .initial = "4",
     .check = option_check_positive,
     .summary = "All but one in so many bids are by the hot bidder."},
    {.name = "auction.hot-ratio.sellers",
     OPTION_INT64(struct nexmark_settings, hot_sellers),
     .initial = "4",
     .check = option_check_positive,
     .summary = "All but one in so many auctions are by the hot seller."},
    {.name = "seed", OPTION_INT64(struct nexmark_settings, seed), .initial = "42", .summary = "The same seed gives the same events."},
    {.name = "base-time",
     OPTION_INT64(struct nexmark_settings, base_ms),
     .initial = "1767225600000",
     .summary = "Event time at the start, in milliseconds since 1970."},
};

/* What a field shows of an event. */
enum field_source { FIELD_ID, FIELD_OTHER, FIELD_CATEGORY, FIELD_PRICE, FIELD_RESERVE, FIELD_TIME, FIELD_EXPIRES, FIELD_EXTRA, FIELD_TEXT };
struct field_def {
    const char *name;
    enum field_source source;
    uint32_t text;
};
enum { FIELDS_MAX = 10, KINDS = 3 };
static const struct field_def field_defs[KINDS][FIELDS_MAX + 1] = {
    [NEXMARK_PERSON] = {{"id", FIELD_ID, 0},
                        {"name", FIELD_TEXT, 0},
                        {"emailAddress", FIELD_TEXT, 1},
                        {"creditCard", FIELD_TEXT, 2},
                        {"city", FIELD_TEXT, 3},
                        {"state", FIELD_TEXT, 4},
                        {"dateTime", FIELD_TIME, 0},
                        {"extra", FIELD_EXTRA, 0}},
    [NEXMARK_AUCTION] = {{"id", FIELD_ID, 0},
                         {"itemName", FIELD_TEXT, 0},
                         {"description", FIELD_TEXT, 1},
                         {"initialBid", FIELD_PRICE, 0},
                         {"reserve", FIELD_RESERVE, 0},
                         {"dateTime", FIELD_TIME, 0},
                         {"expires", FIELD_EXPIRES, 0},
                         {"seller", FIELD_OTHER, 0},
                         {"category", FIELD_CATEGORY, 0},
                         {"extra", FIELD_EXTRA, 0}},
    [NEXMARK_BID] = {{"auction", FIELD_ID, 0},
                     {"bidder", FIELD_OTHER, 0},
                     {"price", FIELD_PRICE, 0},
                     {"channel", FIELD_TEXT, 0},
                     {"url", FIELD_TEXT, 1},
                     {"dateTime", FIELD_TIME, 0},
                     {"extra", FIELD_EXTRA, 0}},
};
static const char *const kind_names[KINDS] = {"person", "auction", "bid"};

enum output_kind { OUTPUT_TYPE, OUTPUT_TIME, OUTPUT_ROW };
struct output {
    enum output_kind kind;
    enum nexmark_kind row;
    const struct field_def **fields; /* per field of the row's type */
};
struct nexmark_source {
    struct source base;
    struct source_context context;
    struct nexmark_settings settings;
    struct format_context shape; /* row and projections, for decode_target_open */
    struct output *outputs;
};
struct nexmark_reader {
    struct reader base;
    struct arena *arena;
    struct nexmark_generator *generator;
    struct nexmark_event event;
    int64_t next, start_us;
    bool led;
};

static bool field_fits(const struct field_def *def, const struct type *type)
{
    if (def->source == FIELD_TEXT || def->source == FIELD_EXTRA) {
        return type_is_text(type);
    }
    bool is_time = def->source == FIELD_TIME || def->source == FIELD_EXPIRES;
    return is_time ? type_physical(type) == PHYSICAL_INT64 && type_is_timestamp(type) : type->kind == TYPE_BIGINT;
}

static enum status map_fields(const struct source_context *context, const struct source_column *column, struct output *output,
                              struct error *err)
{
    TRY_ALLOC(output->fields, arena_alloc(context->arena, (column->type->child_count + 1) * sizeof *output->fields), err);
    for (uint32_t i = 0; i < column->type->child_count; i++) {
        const struct field_def *def = field_defs[output->row];
        while (def->name != NULL && strcmp(def->name, column->type->names[i]) != 0) {
            def++;
        }
        if (def->name == NULL || !field_fits(def, column->type->children[i])) {
            return error_set(err, ERROR_INVALID_DEFINITION, "the source 'nexmark' has no field '%s' %s in '%s'", column->type->names[i],
                             type_to_text(context->arena, column->type->children[i]), column->name);
        }
        output->fields[i] = def;
    }
    return STATUS_OK;
}

static enum status map_column(const struct source_context *context, const struct source_column *column, struct output *output,
                              struct error *err)
{
    const struct type *type = column->type;
    if (strcmp(column->name, "event_type") == 0 && type->kind == TYPE_INT) {
        output->kind = OUTPUT_TYPE;
        return STATUS_OK;
    }
    if (strcmp(column->name, "dateTime") == 0 && type_is_timestamp(type) && type_physical(type) == PHYSICAL_INT64) {
        output->kind = OUTPUT_TIME;
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < KINDS && type->kind == TYPE_ROW; i++) {
        if (strcmp(column->name, kind_names[i]) == 0) {
            output->kind = OUTPUT_ROW;
            output->row = (enum nexmark_kind)i;
            return map_fields(context, column, output, err);
        }
    }
    return error_set(
        err, ERROR_INVALID_DEFINITION,
        "the source 'nexmark' has no column '%s' %s; it has event_type INT, person ROW, auction ROW, bid ROW, dateTime TIMESTAMP(3)",
        column->name, type_to_text(context->arena, type));
}

static enum status nexmark_open(const struct source_context *context, const void *settings, struct source **source, struct error *err)
{
    struct nexmark_source *self;
    const struct type **types;
    const char **names;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    TRY_ALLOC(types, arena_alloc(context->arena, (context->column_count + 1) * sizeof *types), err);
    TRY_ALLOC(names, arena_alloc(context->arena, (context->column_count + 1) * sizeof *names), err);
    TRY_ALLOC(self->outputs, arena_alloc(context->arena, (context->column_count + 1) * sizeof *self->outputs), err);
    self->base.type = &nexmark_source_type;
    self->context = *context;
    self->settings = *(const struct nexmark_settings *)settings;
    self->base.partition_count = 1;
    self->base.bounded = self->settings.events > 0;
    for (uint32_t i = 0; i < context->column_count; i++) {
        types[i] = context->columns[i].type;
        names[i] = context->columns[i].name;
        TRY(map_column(context, &context->columns[i], &self->outputs[i], err));
    }
    self->shape = (struct format_context){.arena = context->arena, .budget = context->budget, .projections = context->projections};
    TRY_ALLOC(self->shape.row, type_row(context->arena, context->column_count, types, names, false), err);
    *source = &self->base;
    return STATUS_OK;
}

static void nexmark_close(struct source *source)
{
    (void)source;
}

static enum status nexmark_reader_open(struct source *source, uint32_t partition, struct reader **reader, struct error *err)
{
    struct nexmark_source *owner = (struct nexmark_source *)source;
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(owner->context.budget, "nexmark"), err);
    struct nexmark_reader *self = arena_alloc(arena, sizeof *self);
    if (self == NULL) {
        arena_destroy(arena);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a reader");
    }
    enum status status = nexmark_generator_create(owner->context.budget, arena, &owner->settings, &self->generator, err);
    if (status != STATUS_OK) {
        arena_destroy(arena);
        return status;
    }
    self->base = (struct reader){source, partition};
    self->arena = arena;
    self->start_us = owner->context.clock->monotonic_us(owner->context.clock);
    *reader = &self->base;
    return STATUS_OK;
}

static void nexmark_reader_close(struct reader *reader)
{
    struct nexmark_reader *self = (struct nexmark_reader *)reader;
    nexmark_generator_destroy(self->generator);
    arena_destroy(self->arena);
}

static int64_t field_number(const struct nexmark_event *event, enum field_source source)
{
    switch (source) {
    case FIELD_ID:
        return event->id;
    case FIELD_OTHER:
        return event->other;
    case FIELD_CATEGORY:
        return event->category;
    case FIELD_PRICE:
        return event->price;
    case FIELD_RESERVE:
        return event->reserve;
    case FIELD_TIME:
        return event->time_us;
    default:
        return event->expires_us;
    }
}

static enum status put_field(struct nexmark_reader *self, const struct field_def *def, struct column *column, uint32_t row,
                             struct error *err)
{
    const struct nexmark_event *event = &self->event;
    if (def->source != FIELD_TEXT && def->source != FIELD_EXTRA) {
        vector_int64(column->vector)[row] = field_number(event, def->source);
        return STATUS_OK;
    }
    struct text text = def->source == FIELD_EXTRA ? event->extra : event->texts[def->text];
    bool in_block = def->source == FIELD_EXTRA || event->texts_in_block;
    if (!in_block || text.length <= STRING_INLINE_BYTES || !column_share_block(column, nexmark_generator_block(self->generator))) {
        return column_put_copy(column, row, text, err);
    }
    vector_strings(column->vector)[row] = string_view_make(text.bytes, text.length);
    return STATUS_OK;
}

/* Columns being filled: the top ones, and the fields of the rows. */
struct filling {
    struct column column;
    struct column *fields;
};

static enum status put_row(struct nexmark_reader *self, const struct output *output, struct filling *filling, uint32_t row,
                           struct error *err)
{
    struct vector *vector = filling->column.vector;
    bool present = output->row == self->event.kind;
    if (!present) {
        TRY(column_set_null(&filling->column, row, err));
    }
    for (uint32_t i = 0; i < vector->child_count; i++) {
        if (vector->children[i].physical == PHYSICAL_NULL) {
            continue;
        }
        if (present) {
            TRY(put_field(self, output->fields[i], &filling->fields[i], row, err));
        } else {
            column_clear_slot(&filling->fields[i], row);
        }
    }
    return STATUS_OK;
}

static enum status put_event(struct nexmark_reader *self, const struct nexmark_source *source, struct filling *filling, uint32_t row,
                             struct error *err)
{
    for (uint32_t i = 0; i < source->context.column_count; i++) {
        struct vector *vector = filling[i].column.vector;
        if (vector->physical == PHYSICAL_NULL) {
            continue;
        }
        switch (source->outputs[i].kind) {
        case OUTPUT_TYPE:
            vector_int32(vector)[row] = (int32_t)self->event.kind;
            break;
        case OUTPUT_TIME:
            vector_int64(vector)[row] = self->event.time_us;
            break;
        case OUTPUT_ROW:
            TRY(put_row(self, &source->outputs[i], &filling[i], row, err));
            break;
        }
    }
    return STATUS_OK;
}

static enum status fill(struct nexmark_reader *self, const struct nexmark_source *source, struct batch *batch, uint32_t rows,
                        struct error *err)
{
    struct budget *budget = source->context.budget;
    struct filling filling[64];
    struct column fields[KINDS * FIELDS_MAX * 2];
    uint32_t used = 0;
    if (batch->column_count > ARRAY_LENGTH(filling)) {
        return error_set(err, ERROR_TOO_MANY, "more than %zu columns of the source 'nexmark' are read", ARRAY_LENGTH(filling));
    }
    for (uint32_t i = 0; i < batch->column_count; i++) {
        struct vector *vector = &batch->columns[i];
        column_bind(&filling[i].column, budget, vector, rows);
        filling[i].fields = &fields[used];
        for (uint32_t j = 0; j < vector->child_count; j++) {
            if (used == ARRAY_LENGTH(fields)) {
                return error_set(err, ERROR_TOO_MANY, "more than %zu fields of the source 'nexmark' are read", ARRAY_LENGTH(fields));
            }
            column_bind(&fields[used++], budget, &vector->children[j], rows);
        }
    }
    for (uint32_t row = 0; row < rows; row++) {
        nexmark_generator_next(self->generator, self->next++, &self->event);
        TRY(put_event(self, source, filling, row, err));
    }
    for (uint32_t i = 0; i < batch->column_count; i++) {
        column_set_count(&batch->columns[i], rows);
    }
    batch->count = rows;
    return STATUS_OK;
}

/* How many events may come now; 0: *wait_us says when. */
static uint32_t due_events(const struct nexmark_reader *self, const struct nexmark_source *source, uint32_t row_limit, int64_t *wait_us)
{
    int64_t left = source->settings.events > 0 ? source->settings.events - self->next : INT64_MAX;
    uint32_t rows = left < row_limit ? (uint32_t)left : row_limit;
    if (!source->settings.rate_limited || self->led) {
        return rows;
    }
    int64_t passed_us = source->context.clock->monotonic_us(source->context.clock) - self->start_us;
    int64_t base_us = source->settings.base_ms * 1000;
    uint32_t due = 0;
    while (due < rows && nexmark_generator_time_us(self->generator, self->next + due + 1) - base_us <= passed_us) {
        due++;
    }
    *wait_us = due > 0 ? 0 : nexmark_generator_time_us(self->generator, self->next + 1) - base_us - passed_us;
    return due;
}

static enum status nexmark_read(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                                struct error *err)
{
    struct nexmark_reader *self = (struct nexmark_reader *)reader;
    const struct nexmark_source *source = (const struct nexmark_source *)reader->source;
    if (source->settings.events > 0 && self->next >= source->settings.events) {
        *state = READ_END;
        return STATUS_OK;
    }
    uint32_t rows = due_events(self, source, row_limit, wait_us);
    if (rows == 0) {
        *state = READ_IDLE;
        return STATUS_OK;
    }
    struct decode_target target = {0};
    TRY(decode_target_open(&target, &source->shape, rows, batch, err));
    int64_t first = self->next;
    enum status status = fill(self, source, batch, rows, err);
    if (status != STATUS_OK) {
        batch_release(batch);
        return status;
    }
    batch->ordered = true;
    batch->ordinal_base = first;
    batch->partition = reader->partition;
    if (source->context.counters != NULL) {
        atomic_fetch_add_explicit(&source->context.counters->rows, rows, memory_order_relaxed);
    }
    *state = READ_ROWS;
    return STATUS_OK;
}

static const char place_kind[] = "nexmark/1";
static const char *const state_keys[NEXMARK_STATE_WORDS] = {"r0", "r1", "r2", "r3"};

static enum status nexmark_position(struct reader *reader, struct text_builder *place, struct error *err)
{
    (void)err;
    const struct nexmark_reader *self = (const struct nexmark_reader *)reader;
    const uint64_t *state = nexmark_generator_state(self->generator);
    text_append_text(place, place_kind);
    position_put_number(place, "event", self->next);
    for (uint32_t i = 0; i < NEXMARK_STATE_WORDS; i++) {
        position_put_bits(place, state_keys[i], state[i]);
    }
    return STATUS_OK;
}

static enum status nexmark_seek(struct reader *reader, const struct source_position *position, struct error *err)
{
    struct nexmark_reader *self = (struct nexmark_reader *)reader;
    const struct nexmark_source *source = (const struct nexmark_source *)reader->source;
    uint64_t *state = nexmark_generator_state(self->generator);
    TRY(position_check(position->place, place_kind, err));
    TRY(position_get_number(position->place, "event", &self->next, err));
    for (uint32_t i = 0; i < NEXMARK_STATE_WORDS; i++) {
        TRY(position_get_bits(position->place, state_keys[i], &state[i], err));
    }
    self->start_us -= nexmark_generator_time_us(self->generator, self->next) - source->settings.base_ms * 1000;
    return STATUS_OK;
}

static enum status nexmark_lead(struct reader *reader, const struct text *part, struct error *err)
{
    (void)err;
    struct nexmark_reader *self = (struct nexmark_reader *)reader;
    const struct nexmark_source *source = (const struct nexmark_source *)reader->source;
    const struct clock *clock = source->context.clock;
    if (self->led && part == NULL) {
        int64_t base_us = source->settings.base_ms * 1000;
        self->start_us = clock->monotonic_us(clock) - (nexmark_generator_time_us(self->generator, self->next) - base_us);
    }
    self->led = part != NULL;
    return STATUS_OK;
}

const struct source_type nexmark_source_type = {
    .name = "nexmark",
    .summary = "The events of the Nexmark benchmark: persons, auctions, bids.",
    .options = nexmark_options,
    .option_count = ARRAY_LENGTH(nexmark_options),
    .settings_bytes = sizeof(struct nexmark_settings),
    .traits = SOURCE_REPLAYABLE,
    .open = nexmark_open,
    .reader_open = nexmark_reader_open,
    .read = nexmark_read,
    .reader_close = nexmark_reader_close,
    .close = nexmark_close,
    .position = nexmark_position,
    .seek = nexmark_seek,
    .lead = nexmark_lead,
};
