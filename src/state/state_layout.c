#include "state/state_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "functions/aggregate.h"
#include "sql/binder.h"
#include "sql/parser.h"

enum layout_kind { LAYOUT_TEXT, LAYOUT_NUMBERS, LAYOUT_BITS, LAYOUT_CALLS };

struct state_layout {
    enum layout_kind kind;
    struct budget *budget;
    struct schema schema;
    struct evaluation evaluation;
    struct accumulator *calls; /* by column */
};

/* ---- opening ---- */

/* The text up to the next TAB; false: none is left. */
static bool next_part(struct text *rest, struct text *part)
{
    if (rest->bytes == NULL) {
        return false;
    }
    const char *tab = memchr(rest->bytes, '\t', rest->length);
    *part = (struct text){rest->bytes, tab == NULL ? rest->length : (size_t)(tab - rest->bytes)};
    *rest = tab == NULL ? (struct text){NULL, 0} : (struct text){tab + 1, rest->length - part->length - 1};
    return true;
}

static bool next_word(struct text *rest, struct text *word)
{
    const char *space = memchr(rest->bytes, ' ', rest->length);
    size_t used = space == NULL ? rest->length : (size_t)(space - rest->bytes);
    *word = (struct text){rest->bytes, used};
    *rest = (struct text){rest->bytes + used + (space != NULL), rest->length - used - (space != NULL)};
    return word->length > 0;
}

static bool is_word(struct text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

/* "SUM retracts distinct". false: this program does not know all of it. */
static bool read_function(struct text text, struct aggregate_binding *binding)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"retracts", &binding->retracts},
                 {"ordered", &binding->ordered},
                 {"distinct", &binding->distinct},
                 {"merges", &binding->merges},
                 {"ignore-nulls", &binding->ignore_nulls}};
    struct text word;
    bool known = next_word(&text, &word) && (binding->function = aggregate_find(word)) != NULL;
    while (known && next_word(&text, &word)) {
        known = false;
        for (size_t i = 0; i < ARRAY_LENGTH(flags) && !known; i++) {
            known = is_word(word, flags[i].name);
            *flags[i].flag = *flags[i].flag || known;
        }
    }
    return known;
}

static enum status read_arguments(struct arena *arena, struct text text, struct aggregate_binding *binding, struct error *err)
{
    const struct ast_type *ast;
    const struct type *row;
    if (is_word(text, "ROW<>")) {
        return STATUS_OK;
    }
    TRY(sql_parse_type(arena, text, &ast, err));
    TRY(bind_type(arena, ast, &row, err));
    TRY_ALLOC(binding->args, arena_alloc(arena, (row->child_count + 1) * sizeof *binding->args), err);
    binding->arg_count = row->child_count;
    for (uint32_t i = 0; i < row->child_count; i++) {
        TRY_ALLOC(binding->args[i], expression_column(arena, i, row->children[i]), err);
    }
    return STATUS_OK;
}

static uint32_t count_calls(struct text rest)
{
    struct text part;
    uint32_t parts = 0;
    while (next_part(&rest, &part)) {
        parts++;
    }
    return parts / 3;
}

static enum status open_call(struct state_layout *self, struct arena *arena, struct text *rest, uint32_t i, bool *known, struct error *err)
{
    struct column *column = (struct column *)&self->schema.columns[i]; /* NOLINT: made in open_calls */
    struct aggregate_binding binding = {.arena = arena, .evaluation = &self->evaluation};
    struct text function, arguments, name;
    *known = next_part(rest, &function) && next_part(rest, &arguments) && next_part(rest, &name) && read_function(function, &binding);
    if (!*known) {
        return STATUS_OK;
    }
    TRY(read_arguments(arena, arguments, &binding, err));
    *known = binding.arg_count >= binding.function->min_args && binding.arg_count <= binding.function->max_args;
    if (!*known) {
        return STATUS_OK;
    }
    TRY(binding.function->bind(&binding, err));
    self->calls[i] = binding.accumulator;
    column->type = binding.accumulator.shown != NULL ? binding.accumulator.shown : binding.accumulator.result;
    TRY_ALLOC(column->type, type_with_nullable(arena, column->type, true), err);
    TRY_ALLOC(column->name, arena_text(arena, name.bytes, name.length), err);
    return STATUS_OK;
}

/* A call that this version cannot bind (other functions, other rules) leaves the column as bytes. */
static enum status open_calls(struct state_layout *self, struct arena *arena, struct text rest, bool *known, struct error *err)
{
    struct column *columns;
    uint32_t count = count_calls(rest);
    *known = true;
    TRY_ALLOC(columns, arena_alloc(arena, (count + 1) * sizeof *columns), err);
    TRY_ALLOC(self->calls, arena_alloc(arena, (count + 1) * sizeof *self->calls), err);
    self->schema = (struct schema){count, columns};
    for (uint32_t i = 0; i < count && *known; i++) {
        enum status status = open_call(self, arena, &rest, i, known, err);
        if (status == STATUS_NO_MEMORY) {
            return status;
        }
        *known = *known && status == STATUS_OK;
    }
    return STATUS_OK;
}

static enum status open_single(struct state_layout *self, struct arena *arena, const char *name, const struct type *type, struct error *err)
{
    struct column *column;
    TRY_ALLOC(column, arena_alloc(arena, sizeof *column), err);
    *column = (struct column){.name = name, .type = type};
    self->schema = (struct schema){1, column};
    return STATUS_OK;
}

enum status state_layout_open(struct arena *arena, struct budget *budget, struct text text, const char *name, struct state_layout **layout,
                              struct error *err)
{
    struct state_layout *self;
    struct text kind;
    const struct type *numbers;
    bool known = next_part(&text, &kind);
    *layout = NULL;
    TRY_ALLOC(self, arena_alloc(arena, sizeof *self), err);
    *self = (struct state_layout){.budget = budget, .evaluation = {.budget = budget, .sum_overflow_wraps = true}};
    TRY(time_zone_find(arena, "UTC", &self->evaluation.zone, err));
    if (is_word(kind, "calls")) {
        self->kind = LAYOUT_CALLS;
        TRY(open_calls(self, arena, text, &known, err));
    } else if (is_word(kind, "text")) {
        self->kind = LAYOUT_TEXT;
        TRY(open_single(self, arena, name, &type_string, err));
    } else if (is_word(kind, "bits")) {
        self->kind = LAYOUT_BITS;
        TRY(open_single(self, arena, name, &type_bigint, err));
    } else if (is_word(kind, "numbers")) {
        self->kind = LAYOUT_NUMBERS;
        TRY_ALLOC(numbers, type_array(arena, &type_bigint_not_null, true), err);
        TRY(open_single(self, arena, name, numbers, err));
    } else {
        known = false;
    }
    *layout = known ? self : NULL;
    return STATUS_OK;
}

const struct schema *state_layout_schema(const struct state_layout *layout)
{
    return &layout->schema;
}

/* ---- text, numbers ---- */

static void append_readable(struct text text, struct text_builder *out)
{
    while (text.length > 0) {
        size_t valid = utf8_valid_length(text.bytes, text.length);
        text_append(out, text.bytes, valid);
        if (valid < text.length) {
            text_append_format(out, "\\x%02X", (uint8_t)text.bytes[valid]);
            valid++;
        }
        text = (struct text){text.bytes + valid, text.length - valid};
    }
}

static enum status read_text(struct state_layout *self, struct text text, struct vector *column, uint32_t row, struct string_heap *heap,
                             struct error *err)
{
    (void)self;
    struct text_builder readable = {0};
    append_readable(text, &readable);
    char *copy = readable.failed ? NULL : string_heap_alloc(heap, readable.length, err);
    if (copy != NULL) {
        memcpy(copy, readable.length > 0 ? readable.bytes : "", readable.length);
        vector_strings(column)[row] = string_view_make(copy, readable.length);
    }
    enum status status = readable.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a text of a state")
                         : copy == NULL  ? err->status
                                         : STATUS_OK;
    text_builder_close(&readable);
    return status;
}

static enum status corrupt(const struct state_layout *self, uint32_t column, struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "the bytes of column '%s' have a length that cannot be", self->schema.columns[column].name);
}

static enum status read_texts(struct state_layout *self, const struct vector *bytes, uint32_t rows, struct vector *column,
                              struct error *err)
{
    struct string_heap heap = {.budget = self->budget, .target = column};
    memset(vector_strings(column), 0, rows * sizeof(struct string_view)); /* a heap that is full looks at all views */
    for (uint32_t row = 0; row < rows; row++) {
        if (vector_is_valid(bytes, row)) {
            TRY(read_text(self, vector_get_text(bytes, row), column, row, &heap, err));
        }
    }
    return STATUS_OK;
}

static enum status read_bits(struct state_layout *self, const struct vector *bytes, uint32_t rows, struct vector *column, struct error *err)
{
    for (uint32_t row = 0; row < rows; row++) {
        struct text text = vector_is_valid(bytes, row) ? vector_get_text(bytes, row) : (struct text){"\0\0\0\0\0\0\0", sizeof(int64_t)};
        if (text.length != sizeof(int64_t)) {
            return corrupt(self, 0, err);
        }
        memcpy(&vector_int64(column)[row], text.bytes, sizeof(int64_t));
    }
    return STATUS_OK;
}

static enum status read_numbers(struct state_layout *self, const struct vector *bytes, uint32_t rows, struct vector *column,
                                struct error *err)
{
    uint32_t total = 0;
    for (uint32_t row = 0; row < rows; row++) {
        size_t length = vector_is_valid(bytes, row) ? vector_get_text(bytes, row).length : 0;
        if (length % sizeof(int64_t) != 0 || length / sizeof(int64_t) > UINT32_MAX - total) {
            return corrupt(self, 0, err);
        }
        vector_spans(column)[row] = (struct span){total, (uint32_t)(length / sizeof(int64_t))};
        total += (uint32_t)(length / sizeof(int64_t));
    }
    vector_release(&column->children[0]);
    TRY(vector_create(self->budget, column->type->children[0], total, &column->children[0], err));
    for (uint32_t row = 0; row < rows; row++) {
        struct span span = vector_spans(column)[row];
        if (span.length > 0) {
            memcpy(&vector_int64(&column->children[0])[span.offset], vector_get_text(bytes, row).bytes, span.length * sizeof(int64_t));
        }
    }
    return STATUS_OK;
}

/* ---- calls ---- */

/* Accumulators of one call, one a row. */
struct loaded {
    struct state_layout *layout;
    struct slab heap;
    uint8_t *states;
    uint32_t stride;
    uint32_t slots[CHUNK_ROWS];
    struct vector *column;
};

/* The bytes of the call in a row; false: they are cut short. */
static bool call_bytes(struct text row, uint32_t call, struct text *bytes)
{
    const char *at = row.bytes, *end = row.bytes + row.length;
    for (uint32_t i = 0;; i++) {
        uint32_t length;
        if (end - at < (ptrdiff_t)sizeof length) {
            return false;
        }
        memcpy(&length, at, sizeof length);
        at += sizeof length;
        if ((size_t)(end - at) < length) {
            return false;
        }
        if (i == call) {
            *bytes = (struct text){at, length};
            return true;
        }
        at += length;
    }
}

/* A row without bytes has no such state. */
static enum status load_states(struct loaded *loaded, uint32_t call, const struct vector *bytes, uint32_t rows, struct error *err)
{
    const struct accumulator *accumulator = &loaded->layout->calls[call];
    for (uint32_t row = 0; row < rows; row++) {
        struct text of_row = vector_is_valid(bytes, row) ? vector_get_text(bytes, row) : (struct text){NULL, 0}, of_call;
        loaded->slots[row] = row;
        if (of_row.length == 0) {
            continue;
        }
        if (!call_bytes(of_row, call, &of_call)) {
            return corrupt(loaded->layout, call, err);
        }
        TRY(accumulator_load(accumulator, loaded->states + (size_t)row * loaded->stride, (const uint8_t *)of_call.bytes, of_call.length,
                             &loaded->heap, err));
    }
    return STATUS_OK;
}

/* A value that does not exist now is NULL. */
static void note_failure(void *owner, uint32_t k, enum error_code code, const char *text)
{
    (void)code, (void)text;
    vector_set_null(((struct loaded *)owner)->column, k);
}

static enum status show_states(struct loaded *loaded, uint32_t call, uint32_t rows, struct error *err)
{
    struct state_layout *self = loaded->layout;
    const struct accumulator *accumulator = &self->calls[call];
    struct string_heap strings = {.budget = self->budget, .target = loaded->column};
    TRY(vector_need_validity(self->budget, loaded->column, rows, err));
    if (loaded->column->physical == PHYSICAL_STRING) {
        memset(loaded->column->values, 0, rows * sizeof(struct string_view));
    }
    const struct result_call result = {.accumulator = accumulator,
                                       .states = loaded->states,
                                       .stride = loaded->stride,
                                       .slots = loaded->slots,
                                       .count = rows,
                                       .result = loaded->column,
                                       .strings = &strings,
                                       .evaluation = &self->evaluation,
                                       .fail = note_failure,
                                       .owner = loaded};
    return accumulator->show != NULL ? accumulator->show(&result, err) : accumulator->value(&result, err);
}

static enum status read_call(struct state_layout *self, uint32_t call, const struct vector *bytes, uint32_t rows, struct vector *column,
                             struct error *err)
{
    struct loaded *loaded;
    TRY_ALLOC(loaded, calloc(1, sizeof *loaded), err);
    *loaded = (struct loaded){.layout = self, .stride = (self->calls[call].state_bytes + 7) / 8 * 8, .column = column};
    slab_open(&loaded->heap, self->budget, SLAB_GRAIN);
    loaded->states = calloc(rows, loaded->stride);
    enum status status = loaded->states == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for states that are looked at") : STATUS_OK;
    if (status == STATUS_OK) {
        status = load_states(loaded, call, bytes, rows, err);
    }
    if (status == STATUS_OK) {
        status = show_states(loaded, call, rows, err);
    }
    slab_close(&loaded->heap);
    free(loaded->states);
    free(loaded);
    return status;
}

/* ---- reading ---- */

static enum status read_column(struct state_layout *self, uint32_t column, const struct vector *bytes, uint32_t rows, struct vector *out,
                               struct error *err)
{
    typedef enum status reader(struct state_layout * self, const struct vector *bytes, uint32_t rows, struct vector *column,
                               struct error *err);
    static reader *const readers[] = {[LAYOUT_TEXT] = read_texts, [LAYOUT_NUMBERS] = read_numbers, [LAYOUT_BITS] = read_bits};
    TRY(vector_create(self->budget, self->schema.columns[column].type, rows, out, err));
    return self->kind == LAYOUT_CALLS ? read_call(self, column, bytes, rows, out, err) : readers[self->kind](self, bytes, rows, out, err);
}

enum status state_layout_read(struct state_layout *layout, const struct vector *bytes, uint32_t rows, struct vector *columns,
                              struct error *err)
{
    for (uint32_t i = 0; i < layout->schema.count; i++) {
        enum status status = read_column(layout, i, bytes, rows, &columns[i], err);
        if (status != STATUS_OK) {
            error_add_context(err, "while reading the state of %s", layout->schema.columns[i].name);
            for (uint32_t undo = 0; undo <= i; undo++) {
                vector_release(&columns[undo]);
            }
            return status;
        }
    }
    return STATUS_OK;
}
