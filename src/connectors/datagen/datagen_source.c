/* datagen: rows made of random numbers or sequences. It ends after number-of-rows, or when a sequence does.
 *
 * Its place is the number of the next row and the random numbers' state, so the same rows come again; times near the clock ('max-past')
 * are made anew. */
#include "connectors/built_in.h"
#include "connectors/datagen/datagen.h"
#include "connectors/position.h"

struct datagen_settings {
    int64_t rows_per_second, number_of_rows, seed, parallelism;
    const char *fields; /* all of 'fields.*' is read by datagen_fields.c */
};
static const char *check_number_of_rows(const void *value)
{
    return *(const int64_t *)value >= -1 ? NULL : "it must be a number of rows, or -1 for no end";
}

static const struct option_def datagen_options[] = {
    {.name = "rows-per-second",
     OPTION_INT64(struct datagen_settings, rows_per_second),
     .initial = "10000",
     .check = option_check_positive,
     .summary = "Rows made each second."},
    {.name = "number-of-rows",
     OPTION_INT64(struct datagen_settings, number_of_rows),
     .initial = "-1",
     .check = check_number_of_rows,
     .summary = "The source ends after so many rows; -1: never."},
    {.name = "seed",
     OPTION_INT64(struct datagen_settings, seed),
     .initial = "-1",
     .summary = "The same seed gives the same rows; -1: others each time."},
    {.name = "scan.parallelism",
     OPTION_INT64(struct datagen_settings, parallelism),
     .initial = "1",
     .check = option_check_positive,
     .summary = "Accepted for Flink's sake; the source is one partition."},
    {.name = "fields.*",
     OPTION_TEXT(struct datagen_settings, fields),
     .flags = OPTION_PREFIX,
     .summary = "fields.COLUMN.kind (random, sequence), .min, .max, .length, .var-len, .start, .end, .null-rate, .max-past. "
                "After a restart the rows are the same, but times, which are near the clock, are made anew."},
};

struct datagen_source {
    struct source base;
    struct source_context context;
    struct datagen_settings settings;
    struct format_context shape;
    int64_t rows; /* at the end; -1: no end */
};
struct datagen_reader {
    struct reader base;
    struct arena *arena;
    struct datagen_field *fields;
    struct datagen_random random;
    int64_t next, start_us;
    bool led;
};

static int64_t field_rows(const struct datagen_field *field)
{
    int64_t rows = field->sequence ? (field->end - field->start == INT64_MAX ? INT64_MAX : field->end - field->start + 1) : -1;
    for (uint32_t i = 0; i < field->child_count && field->type->kind == TYPE_ROW; i++) {
        int64_t of_child = field_rows(&field->children[i]);
        rows = of_child >= 0 && (rows < 0 || of_child < rows) ? of_child : rows;
    }
    return rows;
}

static bool reads_clock(const struct datagen_field *field)
{
    enum type_kind kind = field->type->kind;
    bool is_time = kind == TYPE_DATE || kind == TYPE_TIME || kind == TYPE_TIMESTAMP || kind == TYPE_TIMESTAMP_LTZ;
    bool reads = is_time && !field->sequence && field->used;
    for (uint32_t i = 0; i < field->child_count; i++) {
        reads = reads || reads_clock(&field->children[i]);
    }
    return reads;
}

static enum status datagen_open(const struct source_context *context, const void *settings, struct source **source, struct error *err)
{
    struct datagen_source *self;
    struct datagen_field *fields;
    const struct type **types;
    const char **names;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    TRY_ALLOC(types, arena_alloc(context->arena, (context->column_count + 1) * sizeof *types), err);
    TRY_ALLOC(names, arena_alloc(context->arena, (context->column_count + 1) * sizeof *names), err);
    self->base.type = &datagen_source_type;
    self->context = *context;
    self->settings = *(const struct datagen_settings *)settings;
    self->rows = self->settings.number_of_rows;
    TRY(datagen_fields_make(context, context->arena, &fields, err));
    for (uint32_t i = 0; i < context->column_count; i++) {
        types[i] = context->columns[i].type;
        names[i] = context->columns[i].name;
        int64_t rows = field_rows(&fields[i]);
        if (reads_clock(&fields[i])) {
            self->base.other_again = "times before the present";
        }
        self->rows = rows >= 0 && (self->rows < 0 || rows < self->rows) ? rows : self->rows;
    }
    self->shape = (struct format_context){.arena = context->arena, .budget = context->budget};
    TRY_ALLOC(self->shape.row, type_row(context->arena, context->column_count, types, names, false), err);
    self->base.partition_count = 1;
    self->base.bounded = self->rows >= 0;
    *source = &self->base;
    return STATUS_OK;
}

static void datagen_close(struct source *source)
{
    (void)source;
}

static enum status datagen_reader_open(struct source *source, uint32_t partition, struct reader **reader, struct error *err)
{
    const struct datagen_source *owner = (const struct datagen_source *)source;
    const struct clock *clock = owner->context.clock;
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(owner->context.budget, "datagen"), err);
    struct datagen_reader *self = arena_alloc(arena, sizeof *self);
    enum status status = self == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a reader")
                                      : datagen_fields_make(&owner->context, arena, &self->fields, err);
    if (status != STATUS_OK) {
        arena_destroy(arena);
        return status;
    }
    self->base = (struct reader){source, partition};
    self->arena = arena;
    self->start_us = clock->monotonic_us(clock);
    datagen_random_seed(&self->random, (uint64_t)(owner->settings.seed >= 0 ? owner->settings.seed : clock->wall_us(clock)));
    *reader = &self->base;
    return STATUS_OK;
}

static void datagen_reader_close(struct reader *reader)
{
    arena_destroy(((struct datagen_reader *)reader)->arena);
}

static enum status fill(struct datagen_reader *self, const struct datagen_source *source, struct batch *batch, uint32_t rows,
                        struct error *err)
{
    const struct clock *clock = source->context.clock;
    int64_t now_us = clock->wall_us(clock);
    for (uint32_t i = 0; i < batch->column_count; i++) {
        datagen_field_bind(&self->fields[i], source->context.budget, &batch->columns[i], rows);
    }
    for (uint32_t row = 0; row < rows; row++, self->next++) {
        for (uint32_t i = 0; i < batch->column_count; i++) {
            TRY(datagen_field_fill(&self->fields[i], &self->random, self->next, now_us, row, err));
        }
    }
    for (uint32_t i = 0; i < batch->column_count; i++) {
        datagen_field_finish(&self->fields[i], rows);
    }
    batch->count = rows;
    batch->ordered = true;
    batch->ordinal_base = self->next - rows;
    batch->partition = self->base.partition;
    return STATUS_OK;
}

/* A batch is made when a hundredth of a second's rows are due, so that slow sources make single rows and quick ones chunks. */
static uint32_t due_rows(const struct datagen_reader *self, const struct datagen_source *source, uint32_t row_limit, int64_t *wait_us)
{
    const struct clock *clock = source->context.clock;
    int64_t rate = source->settings.rows_per_second, passed_us = clock->monotonic_us(clock) - self->start_us;
    int64_t left = source->rows >= 0 ? source->rows - self->next : INT64_MAX;
    if (self->led) {
        return left < row_limit ? (uint32_t)left : row_limit;
    }
    int128_t due = (int128_t)passed_us * rate / 1000000 + 1 - self->next;
    int64_t wanted = rate / 100 > row_limit ? row_limit : rate / 100 > 0 ? rate / 100 : 1;
    wanted = left < wanted ? left : wanted;
    if (due < wanted) {
        int128_t missing_us = (wanted - due) * 1000000 / rate + 1;
        *wait_us = missing_us > 100000 ? 100000 : (int64_t)missing_us;
        return 0;
    }
    int64_t rows = due < row_limit ? (int64_t)due : row_limit;
    return (uint32_t)(left < rows ? left : rows);
}

static enum status datagen_read(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                                struct error *err)
{
    struct datagen_reader *self = (struct datagen_reader *)reader;
    const struct datagen_source *source = (const struct datagen_source *)reader->source;
    if (source->rows >= 0 && self->next >= source->rows) {
        *state = READ_END;
        return STATUS_OK;
    }
    uint32_t rows = due_rows(self, source, row_limit, wait_us);
    if (rows == 0) {
        *state = READ_IDLE;
        return STATUS_OK;
    }
    struct decode_target target = {0};
    TRY(decode_target_open(&target, &source->shape, rows, batch, err));
    enum status status = fill(self, source, batch, rows, err);
    if (status != STATUS_OK) {
        batch_release(batch);
        return status;
    }
    if (source->context.counters != NULL) {
        atomic_fetch_add_explicit(&source->context.counters->rows, rows, memory_order_relaxed);
    }
    *state = READ_ROWS;
    return STATUS_OK;
}

static const char kind[] = "datagen/1";
static const char *const state_keys[] = {"r0", "r1", "r2", "r3"};

static enum status datagen_position(struct reader *reader, struct text_builder *place, struct error *err)
{
    (void)err;
    const struct datagen_reader *self = (const struct datagen_reader *)reader;
    text_append_text(place, kind);
    position_put_number(place, "row", self->next);
    for (uint32_t i = 0; i < ARRAY_LENGTH(state_keys); i++) {
        position_put_bits(place, state_keys[i], self->random.state[i]);
    }
    return STATUS_OK;
}

static enum status datagen_seek(struct reader *reader, const struct source_position *position, struct error *err)
{
    struct datagen_reader *self = (struct datagen_reader *)reader;
    const struct datagen_source *source = (const struct datagen_source *)reader->source;
    TRY(position_check(position->place, kind, err));
    TRY(position_get_number(position->place, "row", &self->next, err));
    for (uint32_t i = 0; i < ARRAY_LENGTH(state_keys); i++) {
        TRY(position_get_bits(position->place, state_keys[i], &self->random.state[i], err));
    }
    self->start_us -= (int64_t)((int128_t)self->next * 1000000 / source->settings.rows_per_second);
    return STATUS_OK;
}

static enum status datagen_lead(struct reader *reader, const struct text *part, struct error *err)
{
    (void)err;
    struct datagen_reader *self = (struct datagen_reader *)reader;
    const struct datagen_source *source = (const struct datagen_source *)reader->source;
    const struct clock *clock = source->context.clock;
    if (self->led && part == NULL) {
        self->start_us = clock->monotonic_us(clock) - (int64_t)((int128_t)self->next * 1000000 / source->settings.rows_per_second);
    }
    self->led = part != NULL;
    return STATUS_OK;
}

const struct source_type datagen_source_type = {
    .name = "datagen",
    .summary = "Rows of random values or sequences.",
    .options = datagen_options,
    .option_count = ARRAY_LENGTH(datagen_options),
    .settings_bytes = sizeof(struct datagen_settings),
    .traits = SOURCE_REPLAYABLE,
    .open = datagen_open,
    .reader_open = datagen_reader_open,
    .read = datagen_read,
    .reader_close = datagen_reader_close,
    .close = datagen_close,
    .position = datagen_position,
    .seek = datagen_seek,
    .lead = datagen_lead,
};
