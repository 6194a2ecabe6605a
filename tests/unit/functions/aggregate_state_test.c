/* Every aggregate function, over many types: a state that is saved, destroyed and loaded goes on like one that never was. */
#include "../support/batches.h"

#include <math.h>
#include <stdlib.h>

#include "data/time_zone.h"
#include "data/value_codec.h"
#include "functions/aggregate.h"

enum { ROWS = 48, SLOTS = 3, STEPS = 40, ARGS_MAX = 3, STATE_WORDS = 32, DAMAGES = 60 };

struct variant { /* what a binding is told */
    bool retracts, ordered, merges, ignore_nulls;
};
struct subject { /* the states of one process, as it were */
    struct arena *arena;
    struct slab heap;
    struct accumulator accumulator;
    uint64_t states[SLOTS][STATE_WORDS];
};
struct fixture {
    struct budget budget;
    struct evaluation evaluation;
    struct arena *types;
    const struct aggregate_function *function;
    const struct type *arg_types[ARGS_MAX];
    uint32_t arg_count;
    struct variant variant;
    struct batch pool; /* the arguments of ROWS rows */
    int64_t standing[SLOTS][ROWS];
    uint64_t seed;
    int64_t ordinal;
};

/* ---- values of any type ---- */

static void random_integer(uint64_t *seed, const struct type *type, struct text_builder *out)
{
    bool large = next_random(seed) % 4 == 0 && (type->kind == TYPE_BIGINT || type->precision == DECIMAL_PRECISION_MAX);
    int128_t value = ((int128_t)(next_random(seed) % 9) - 4) * (large ? (int128_t)1 << 60 : 1);
    text_append(out, (const char *)&value, physical_bytes(type_physical(type)));
}

static void random_text(uint64_t *seed, struct text_builder *out)
{
    uint32_t number = (uint32_t)(next_random(seed) % 12);
    uint32_t length = number % 3 == 0 ? number : 10 + number * 3;
    text_append(out, (const char *)&length, sizeof length);
    for (uint32_t i = 0; i < length; i++) {
        text_append_char(out, (char)('a' + number));
    }
}

static void random_real(uint64_t *seed, bool narrow, struct text_builder *out)
{
    static const double values[] = {0.0, -0.0, 1.5, -2.25, 1e300, 1e-300, 0.1, (double)NAN, (double)INFINITY, -1e17, 3, 7};
    double value = values[next_random(seed) % ARRAY_LENGTH(values)];
    float small = (float)(value > 1e30 ? 1e30 : value);
    text_append(out, narrow ? (const char *)&small : (const char *)&value, narrow ? sizeof small : sizeof value);
}

/* Encoded (data/value_codec.h). */
static void random_value(uint64_t *seed, const struct type *type, struct text_builder *out)
{
    bool null = type->kind == TYPE_NULL || (type->nullable && next_random(seed) % 5 == 0);
    text_append_char(out, null ? 0 : 1);
    if (null) {
        return;
    }
    enum physical physical = type_physical(type);
    if (physical == PHYSICAL_STRING) {
        random_text(seed, out);
    } else if (physical == PHYSICAL_SPAN) {
        uint32_t count = (uint32_t)(next_random(seed) % 3), parts = type->kind == TYPE_ARRAY ? 1 : 2;
        count = parts == 2 && count > 1 ? 1 : count; /* entries would have to be sorted */
        text_append(out, (const char *)&count, sizeof count);
        for (uint32_t i = 0; i < count * parts; i++) {
            random_value(seed, type->kind == TYPE_MULTISET && i % 2 == 1 ? &type_int_not_null : type->children[i % parts], out);
        }
    } else if (physical == PHYSICAL_ROW) {
        for (uint32_t i = 0; i < type->child_count; i++) {
            random_value(seed, type->children[i], out);
        }
    } else if (physical == PHYSICAL_DOUBLE || physical == PHYSICAL_FLOAT) {
        random_real(seed, physical == PHYSICAL_FLOAT, out);
    } else if (physical == PHYSICAL_BOOL) {
        text_append_char(out, (char)(next_random(seed) % 2));
    } else {
        random_integer(seed, type, out);
    }
}

static void random_column(struct fixture *fixture, const struct type *type, struct vector *column)
{
    struct error err;
    struct text_builder bytes = {0};
    size_t offsets[ROWS];
    const uint8_t *cursors[ROWS];
    for (uint32_t row = 0; row < ROWS; row++) {
        offsets[row] = bytes.length;
        random_value(&fixture->seed, type, &bytes);
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        cursors[row] = (const uint8_t *)bytes.bytes + offsets[row];
    }
    require(value_decode_column(&fixture->budget, type, cursors, ROWS, column, &err), &err);
    text_builder_close(&bytes);
}

/* The second arguments of LISTAGG and PERCENTILE: the same in all rows. */
static void constant_column(struct fixture *fixture, const struct type *type, struct vector *column)
{
    struct error err;
    struct text_builder bytes = {0};
    const uint8_t *cursors[ROWS];
    const double fractions[] = {0.25, 0.9};
    uint32_t length = 2;
    text_append_char(&bytes, 1);
    if (type_is_text(type)) {
        text_append(&bytes, (const char *)&length, sizeof length);
        text_append(&bytes, "; ", 2);
    } else if (type->kind == TYPE_ARRAY) {
        text_append(&bytes, (const char *)&length, sizeof length);
        for (uint32_t i = 0; i < 2; i++) {
            text_append_char(&bytes, 1);
            text_append(&bytes, (const char *)&fractions[i], sizeof fractions[i]);
        }
    } else {
        text_append(&bytes, (const char *)fractions, sizeof fractions[0]);
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        cursors[row] = (const uint8_t *)bytes.bytes;
    }
    require(value_decode_column(&fixture->budget, type, cursors, ROWS, column, &err), &err);
    text_builder_close(&bytes);
}

static bool is_constant_argument(const struct fixture *fixture, uint32_t arg)
{
    return arg == 1 && strcmp(fixture->function->name, "JSON_OBJECTAGG") != 0;
}

/* ---- accumulators ---- */

/* false: the function does not take these arguments. */
static bool subject_open(struct fixture *fixture, struct subject *subject)
{
    struct error err;
    const struct expression *args[ARGS_MAX];
    memset(subject, 0, sizeof *subject);
    subject->arena = arena_create(&fixture->budget, "subject");
    slab_open(&subject->heap, &fixture->budget, SLAB_GRAIN);
    for (uint32_t i = 0; i < fixture->arg_count; i++) {
        args[i] = expression_column(subject->arena, i, fixture->arg_types[i]);
    }
    struct aggregate_binding binding = {.arena = subject->arena,
                                        .evaluation = &fixture->evaluation,
                                        .function = fixture->function,
                                        .args = args,
                                        .arg_count = fixture->arg_count,
                                        .retracts = fixture->variant.retracts,
                                        .ordered = fixture->variant.ordered,
                                        .merges = fixture->variant.merges,
                                        .ignore_nulls = fixture->variant.ignore_nulls};
    bool bound = fixture->function->bind(&binding, &err) == STATUS_OK;
    subject->accumulator = binding.accumulator;
    assert_true(!bound || subject->accumulator.state_bytes <= sizeof subject->states[0]);
    return bound;
}

static void subject_clear(struct subject *subject)
{
    for (uint32_t slot = 0; slot < SLOTS && subject->accumulator.clear != NULL; slot++) {
        subject->accumulator.clear(&subject->accumulator, subject->states[slot], &subject->heap);
    }
}

static void subject_close(struct subject *subject)
{
    slab_close(&subject->heap);
    arena_destroy(subject->arena);
}

static struct text_builder subject_save(const struct subject *subject, uint32_t slot)
{
    struct text_builder bytes = {0};
    accumulator_save(&subject->accumulator, subject->states[slot], &bytes);
    assert_false(bytes.failed);
    return bytes;
}

/* From a block of exactly this length, so that the sanitizer sees what is read past it. */
static enum status subject_load(struct subject *subject, uint32_t slot, const char *bytes, size_t length, struct error *err)
{
    uint8_t *copy = malloc(length + (length == 0));
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    enum status status = accumulator_load(&subject->accumulator, subject->states[slot], copy, length, &subject->heap, err);
    free(copy);
    return status;
}

static void assert_same_bytes(const struct text_builder *left, const struct text_builder *right)
{
    assert_int_equal(left->length, right->length);
    assert_true(left->length == 0 || memcmp(left->bytes, right->bytes, left->length) == 0);
}

/* The next process: the same states from bytes. */
static void subject_restart(struct fixture *fixture, struct subject *subject)
{
    struct error err;
    struct text_builder saved[SLOTS];
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        saved[slot] = subject_save(subject, slot);
    }
    subject_clear(subject);
    subject_close(subject);
    assert_true(subject_open(fixture, subject));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        require(subject_load(subject, slot, saved[slot].bytes, saved[slot].length, &err), &err);
        struct text_builder again = subject_save(subject, slot);
        assert_same_bytes(&again, &saved[slot]);
        text_builder_close(&again);
        text_builder_close(&saved[slot]);
    }
}

static void note_failure(void *owner, uint32_t k, enum error_code code, const char *text)
{
    text_append_format(owner, "%u fails with %d: %s;", k, (int)code, text);
}

/* The results of all slots as bytes, and which of them fail. */
static struct text_builder subject_results(struct fixture *fixture, struct subject *subject)
{
    static const uint32_t slots[SLOTS] = {0, 1, 2};
    struct error err;
    struct text_builder out = {0};
    struct vector result;
    struct string_heap strings = {.budget = &fixture->budget, .target = &result};
    require(vector_create(&fixture->budget, subject->accumulator.result, SLOTS, &result, &err), &err);
    if (result.physical == PHYSICAL_STRING) {
        memset(result.values, 0, SLOTS * sizeof(struct string_view)); /* a heap that is full looks at all views */
    }
    if (subject->accumulator.result->nullable) {
        require(vector_need_validity(&fixture->budget, &result, SLOTS, &err), &err);
    }
    const struct result_call call = {&subject->accumulator,
                                     (const uint8_t *)subject->states,
                                     sizeof subject->states[0],
                                     slots,
                                     SLOTS,
                                     &result,
                                     &strings,
                                     &fixture->evaluation,
                                     note_failure,
                                     &out};
    require(subject->accumulator.value(&call, &err), &err);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        value_encode(&result, slot, &out);
    }
    vector_release(&result);
    return out;
}

struct change {
    uint32_t slots[CHUNK_ROWS];
    uint16_t rows[CHUNK_ROWS];
    int64_t weights[ROWS];
    int64_t ordinals[ROWS];
    uint32_t count;
};

static void subject_update(const struct fixture *fixture, struct subject *subject, const struct change *change)
{
    struct error err;
    const struct vector *args[ARGS_MAX];
    struct batch batch = fixture->pool;
    batch.ordered = fixture->variant.ordered;
    batch.ordinals = change->ordinals;
    for (uint32_t i = 0; i < fixture->arg_count; i++) {
        args[i] = &fixture->pool.columns[i];
    }
    const struct accumulate_call call = {&subject->accumulator,
                                         (uint8_t *)subject->states,
                                         sizeof subject->states[0],
                                         change->slots,
                                         {change->rows, change->count},
                                         args,
                                         fixture->variant.retracts ? change->weights : NULL,
                                         &batch,
                                         &subject->heap};
    require(subject->accumulator.update(&call, &err), &err);
}

/* Some rows of the pool, ascending; over changing input half of them withdraw a row that stands, a few one that does not. */
static struct change random_change(struct fixture *fixture)
{
    struct change change = {0};
    for (uint32_t row = 0; row < ROWS; row++) {
        change.ordinals[row] = ++fixture->ordinal * 1000003;
        change.weights[row] = 1;
        if (next_random(&fixture->seed) % 8 != 0) {
            continue;
        }
        uint32_t slot = (uint32_t)(next_random(&fixture->seed) % SLOTS);
        bool stands = fixture->standing[slot][row] > 0;
        uint64_t choice = next_random(&fixture->seed) % 16;
        if (fixture->variant.retracts && (stands ? choice < 9 : choice < 1)) {
            change.weights[row] = stands && choice < 3 ? -fixture->standing[slot][row] : -1;
        } else if (fixture->variant.retracts && choice > 13) {
            change.weights[row] = 3;
        }
        fixture->standing[slot][row] += change.weights[row];
        change.slots[change.count] = slot;
        change.rows[change.count++] = (uint16_t)row;
    }
    return change;
}

static void merge_slots(struct subject *subject, int64_t weight)
{
    struct error err;
    const struct accumulator *accumulator = &subject->accumulator;
    require(accumulator->merge(accumulator, subject->states[0], subject->states[1], weight, &subject->heap, &err), &err);
}

/* ---- the tests ---- */

static void compare_subjects(struct fixture *fixture, struct subject *kept, struct subject *moved)
{
    struct text_builder wanted = subject_results(fixture, kept), found = subject_results(fixture, moved);
    assert_same_bytes(&wanted, &found);
    text_builder_close(&wanted);
    text_builder_close(&found);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        wanted = subject_save(kept, slot);
        found = subject_save(moved, slot);
        assert_same_bytes(&wanted, &found);
        text_builder_close(&wanted);
        text_builder_close(&found);
    }
}

static void run_restarts(struct fixture *fixture)
{
    struct subject kept, moved;
    assert_true(subject_open(fixture, &kept) && subject_open(fixture, &moved));
    for (uint32_t step = 0; step < STEPS; step++) {
        struct change change = random_change(fixture);
        subject_update(fixture, &kept, &change);
        subject_update(fixture, &moved, &change);
        if (next_random(&fixture->seed) % 8 == 0 && kept.accumulator.mergeable && fixture->variant.merges) {
            int64_t weight = kept.accumulator.invertible && fixture->variant.retracts && step % 2 == 0 ? -1 : 1;
            merge_slots(&kept, weight);
            merge_slots(&moved, weight);
        }
        if (next_random(&fixture->seed) % 6 == 0) {
            subject_restart(fixture, &moved);
        }
        compare_subjects(fixture, &kept, &moved);
    }
    subject_clear(&kept);
    subject_clear(&moved);
    subject_close(&kept);
    subject_close(&moved);
}

static void load_damaged(struct fixture *fixture, const struct text_builder *bytes, size_t length, bool must_fail)
{
    struct error err;
    struct subject subject;
    assert_true(subject_open(fixture, &subject));
    size_t before = subject.heap.bytes;
    enum status status = subject_load(&subject, 0, bytes->bytes, length, &err);
    assert_true(!must_fail || status != STATUS_OK);
    /* pages are of some KiB at least; each entry of a multiset takes 2 bytes here and 32 there, twice where it is indexed */
    assert_true(subject.heap.bytes - before <= 128 * 1024 + length * 200);
    if (status == STATUS_OK) {
        struct text_builder again = subject_save(&subject, 0);
        text_builder_close(&again);
        subject_clear(&subject);
    } else {
        static const uint64_t empty[STATE_WORDS];
        assert_int_equal(err.code, ERROR_STATE_CORRUPT);
        assert_memory_equal(subject.states[0], empty, sizeof empty);
    }
    subject_close(&subject);
}

static void run_damages(struct fixture *fixture)
{
    struct subject subject;
    assert_true(subject_open(fixture, &subject));
    for (uint32_t step = 0; step < 8; step++) {
        struct change change = random_change(fixture);
        subject_update(fixture, &subject, &change);
    }
    struct text_builder bytes = subject_save(&subject, 0);
    text_append_char(&bytes, 0);
    load_damaged(fixture, &bytes, bytes.length, true);
    size_t length = bytes.length - 1;
    for (size_t i = 0; i < DAMAGES && i < length; i++) {
        load_damaged(fixture, &bytes, length < DAMAGES ? i : next_random(&fixture->seed) % length, true);
    }
    for (uint32_t i = 0; i < DAMAGES && length > 0; i++) {
        size_t at = next_random(&fixture->seed) % length;
        uint64_t random = next_random(&fixture->seed);
        char flip = (char)(i % 3 == 0 ? 1U << random % 8 : (uint32_t)random);
        bytes.bytes[at] ^= flip;
        load_damaged(fixture, &bytes, length, false);
        bytes.bytes[at] ^= flip;
    }
    text_builder_close(&bytes);
    subject_clear(&subject);
    subject_close(&subject);
}

static bool takes_arguments(struct fixture *fixture)
{
    struct subject subject;
    bool takes = fixture->arg_count >= fixture->function->min_args && fixture->arg_count <= fixture->function->max_args &&
                 subject_open(fixture, &subject);
    if (fixture->arg_count >= fixture->function->min_args && fixture->arg_count <= fixture->function->max_args) {
        subject_close(&subject);
    }
    return takes;
}

/* One function, one list of argument types, all variants. Returns how many were run. */
static uint32_t run_arguments(struct fixture *fixture, void (*run)(struct fixture *fixture))
{
    struct error err;
    uint32_t ran = 0;
    for (uint32_t bits = 0; bits < 16; bits++) {
        fixture->variant = (struct variant){bits & 1, bits & 2, bits & 4, bits & 8};
        if (!takes_arguments(fixture)) {
            continue;
        }
        memset(fixture->standing, 0, sizeof fixture->standing);
        require(batch_init(&fixture->pool, fixture->arg_count, &err), &err);
        fixture->pool.count = ROWS;
        for (uint32_t i = 0; i < fixture->arg_count; i++) {
            (is_constant_argument(fixture, i) ? constant_column : random_column)(fixture, fixture->arg_types[i], &fixture->pool.columns[i]);
        }
        run(fixture);
        batch_release(&fixture->pool);
        ran++;
    }
    return ran;
}

static uint32_t run_type(struct fixture *fixture, const struct type *type, void (*run)(struct fixture *fixture))
{
    uint32_t ran = 0;
    if (strcmp(fixture->function->name, "JSON_OBJECTAGG") == 0) {
        fixture->arg_types[0] = &type_string_not_null;
        fixture->arg_types[1] = type;
        fixture->arg_count = 2;
        return run_arguments(fixture, run);
    }
    const struct type *const seconds[] = {NULL, &type_string, &type_double, type_array(fixture->types, &type_double, true)};
    fixture->arg_types[0] = type;
    fixture->arg_types[2] = &type_int;
    for (uint32_t i = 0; i < ARRAY_LENGTH(seconds); i++) {
        fixture->arg_types[1] = seconds[i];
        for (fixture->arg_count = i == 0 ? 1 : 2; fixture->arg_count <= (i == 0 ? 1 : ARGS_MAX); fixture->arg_count++) {
            ran += strcmp(fixture->function->name, "COUNT") == 0 && i > 0 ? 0 : run_arguments(fixture, run);
        }
    }
    return ran;
}

static void run_all(void (*run)(struct fixture *fixture))
{
    struct fixture fixture = {.seed = 7};
    budget_init(&fixture.budget, NULL, "test", BUDGET_UNLIMITED);
    struct arena *arena = fixture.types = arena_create(&fixture.budget, "types");
    fixture.evaluation = (struct evaluation){.budget = &fixture.budget, .zone = time_zone_utc};
    static const char *const names[] = {"number", "text"};
    const struct type *row = type_row(arena, 2, (const struct type *const[]){&type_int, &type_string}, names, true);
    const struct type *const types[] = {
        &type_boolean,
        &type_int,
        &type_bigint,
        type_decimal(arena, 10, 2, true),
        type_decimal(arena, 38, 4, true),
        &type_float,
        &type_double,
        &type_string,
        &type_bytes,
        &type_date,
        &type_timestamp3,
        type_make(arena, TYPE_TIMESTAMP, 9, 0, true),
        &type_null,
        row,
        type_array(arena, &type_string, true),
        type_array(arena, row, true),
        type_map(arena, &type_string_not_null, &type_double, true),
        type_multiset(arena, &type_int, true),
    };
    uint32_t function_count;
    const struct aggregate_function *const *functions = aggregate_list(&function_count);
    for (uint32_t f = 0; f < function_count; f++) {
        uint32_t ran = 0;
        fixture.function = functions[f];
        for (uint32_t i = 0; i < ARRAY_LENGTH(types); i++) {
            ran += run_type(&fixture, types[i], run);
        }
        if (ran == 0) {
            fail_msg("%s took no arguments of this test", functions[f]->name);
        }
    }
    arena_destroy(arena);
    assert_int_equal(fixture.budget.used_bytes, 0);
}

static void state_saved_and_loaded_goes_on_like_one_that_was_not(void **state)
{
    (void)state;
    run_all(run_restarts);
}

static void state_from_damaged_bytes_is_refused_or_well_formed(void **state)
{
    (void)state;
    run_all(run_damages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_saved_and_loaded_goes_on_like_one_that_was_not),
        cmocka_unit_test(state_from_damaged_bytes_is_refused_or_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
