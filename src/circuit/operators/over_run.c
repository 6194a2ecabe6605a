#include "circuit/operators/over_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "circuit/operators/over_functions.h"
#include "circuit/operators/time_heap.h"
#include "data/vector_append.h"

enum { LEAVING_ROWS = 256, FIRST_ITEMS = 4 };

enum status over_items_add(struct over_items *list, struct budget *budget, const struct sorted_item *item, struct error *err)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? FIRST_ITEMS : list->capacity * 2;
        size_t more = (size_t)(capacity - list->capacity) * sizeof *item;
        bool charged = budget_charge(budget, more);
        struct sorted_item *items = charged ? realloc(list->items, capacity * sizeof *items) : NULL;
        if (items == NULL) {
            budget_release(budget, charged ? more : 0);
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the %u rows of a partition of OVER", list->count + 1);
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *item;
    return STATUS_OK;
}

void over_items_trim(struct over_items *list, struct budget *budget)
{
    enum { KEPT_ITEMS = 64 };
    uint32_t capacity = list->capacity / 2;
    if (list->count == 0 && list->capacity > FIRST_ITEMS) {
        over_items_release(list, budget);
    } else if (list->capacity > KEPT_ITEMS && list->count < list->capacity / 4) {
        struct sorted_item *items = realloc(list->items, capacity * sizeof *items);
        if (items != NULL) {
            budget_release(budget, (size_t)(list->capacity - capacity) * sizeof *items);
            list->items = items;
            list->capacity = capacity;
        }
    }
}

void over_items_release(struct over_items *list, struct budget *budget)
{
    budget_release(budget, (size_t)list->capacity * sizeof *list->items);
    free(list->items);
    *list = (struct over_items){0};
}

/* ---- frames ---- */

static bool is_null_prefix(int64_t prefix)
{
    return prefix == INT64_MIN || prefix == INT64_MAX;
}

static bool are_peers(const struct over_run *run, const struct over_items *items, uint32_t left, uint32_t right)
{
    return row_order_compare_keys(run->order, &items->items[left], &items->items[right]) == 0;
}

static uint32_t clamp(int64_t at, int64_t offset, uint32_t count)
{
    int64_t sum;
    if (__builtin_add_overflow(at, offset, &sum)) {
        return offset < 0 ? 0 : count;
    }
    return sum < 0 ? 0 : sum > count ? count : (uint32_t)sum;
}

/* How far the item's key lies behind that of another in their order, as a double. */
static double double_distance(const struct over_run *run, const struct sorted_item *item, const struct sorted_item *from)
{
    double distance = row_order_double(item->prefix, run->order->keys) - row_order_double(from->prefix, run->order->keys);
    return run->order->keys[0].descending ? -distance : distance;
}

static double distance_of(int64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* A key that nothing is a finite distance from: its frame is its peers. */
static bool stands_alone(const struct over_run *run, int64_t prefix)
{
    return is_null_prefix(prefix) || (run->spec->over.approximate && !isfinite(row_order_double(prefix, run->order->keys)));
}

static uint32_t frame_begin(const struct over_run *run, const struct over_items *items, uint32_t at, uint32_t begin)
{
    const struct over_relation *over = &run->spec->over;
    if (over->preceding == FRAME_UNBOUNDED) {
        return begin;
    }
    if (over->unit == FRAME_ROWS) {
        uint32_t wanted = clamp(at, -over->preceding, items->count);
        return wanted > begin ? wanted : begin;
    }
    int64_t prefix = items->items[at].prefix;
    if (over->preceding == 0 || stands_alone(run, prefix)) {
        while (begin < at && !are_peers(run, items, begin, at)) {
            begin++;
        }
        while (over->preceding < 0 && begin < items->count && are_peers(run, items, begin, at)) { /* it begins behind them */
            begin++;
        }
        return begin;
    }
    if (over->approximate) {
        double least = -distance_of(over->preceding);
        while (begin < items->count &&
               (items->items[begin].prefix == INT64_MIN || !(double_distance(run, &items->items[begin], &items->items[at]) >= least))) {
            begin++;
        }
        return begin;
    }
    int64_t from = time_add(prefix, -over->preceding);
    from = from == INT64_MIN ? from + 1 : from; /* NULLs are not in a frame of times */
    while (begin < items->count && items->items[begin].prefix < from) {
        begin++;
    }
    return begin;
}

static uint32_t frame_end(const struct over_run *run, const struct over_items *items, uint32_t at, uint32_t end)
{
    const struct over_relation *over = &run->spec->over;
    if (over->following == FRAME_UNBOUNDED) {
        return items->count;
    }
    if (over->unit == FRAME_ROWS) {
        int64_t behind = over->following == INT64_MAX - 1 ? over->following : over->following + 1;
        uint32_t wanted = clamp(at, behind, items->count);
        return wanted > end ? wanted : end;
    }
    int64_t prefix = items->items[at].prefix;
    if (over->following < 0 && stands_alone(run, prefix)) {
        return end;
    }
    if (over->following == 0 || stands_alone(run, prefix)) {
        end = end > at ? end : at;
        while (end < items->count && are_peers(run, items, end, at)) {
            end++;
        }
        return end;
    }
    if (over->approximate) {
        double most = distance_of(over->following);
        while (end < items->count && items->items[end].prefix != INT64_MAX &&
               !(double_distance(run, &items->items[end], &items->items[at]) > most)) {
            end++;
        }
        return end;
    }
    int64_t until = time_add(prefix, over->following);
    until = until == INT64_MAX ? until - 1 : until;
    while (end < items->count && items->items[end].prefix <= until) {
        end++;
    }
    return end;
}

/* ---- accumulators ---- */

static enum status cursor_load(struct over_run *run, struct over_cursor *cursor, const struct over_items *items, uint32_t first,
                               uint32_t count, int64_t base, struct error *err)
{
    struct budget *budget = node_budget(run->node);
    for (uint32_t k = 0; k < count; k++) {
        run->slots[k] = 0;
    }
    row_handle *handles;
    TRY_ALLOC(handles, malloc(count * sizeof *handles), err);
    for (uint32_t k = 0; k < count; k++) {
        handles[k] = items->items[first + k].row;
    }
    batch_release(&cursor->batch);
    cursor->count = 0;
    enum status status = batch_init(&cursor->batch, run->arguments.count, err);
    if (status == STATUS_OK && run->gathered_count > 0) {
        status = row_store_gather(run->store, handles, count, run->gathered, run->gathered_count, run->gather_vectors, err);
    }
    free(handles);
    TRY(status);
    uint32_t gathered = 0;
    for (uint32_t i = 0; i < run->arguments.count; i++) {
        if (run->constants[i] == NULL) {
            cursor->batch.columns[i] = run->gather_vectors[gathered];
            run->gather_vectors[gathered++] = (struct vector){0};
        } else {
            TRY(vector_repeat(budget, run->constants[i], 0, count, &cursor->batch.columns[i], err));
        }
    }
    cursor->batch.count = count;
    cursor->batch.ordered = true;
    cursor->batch.ordinal_base = base + first;
    cursor->first = first;
    cursor->count = count;
    return STATUS_OK;
}

/* Adds or removes the items from..until-1. */
static enum status accumulate(struct over_run *run, struct over_cursor *cursor, const struct over_items *items, uint32_t from,
                              uint32_t until, uint32_t ahead, const struct over_place *place, const struct over_target *target,
                              struct error *err)
{
    while (from < until && run->calls != NULL) {
        if (from < cursor->first || from >= cursor->first + cursor->count) {
            uint32_t most = cursor == &run->leaving ? LEAVING_ROWS : CHUNK_ROWS;
            TRY(cursor_load(run, cursor, items, from, ahead - from < most ? ahead - from : most, place->base, err));
        }
        uint32_t loaded = cursor->first + cursor->count, stop = until < loaded ? until : loaded;
        struct batch rows = cursor->batch;
        rows.selected = &run->identity[from - cursor->first];
        rows.selected_count = stop - from;
        rows.weights = cursor == &run->leaving ? run->minus : NULL;
        for (uint32_t k = 0; k < rows.selected_count; k++) {
            run->slots[k] = target->slot;
        }
        TRY(call_set_update(run->calls, target->states, &rows, run->slots, target->record, 0, err));
        run->values_fresh = false;
        from = stop;
    }
    return STATUS_OK;
}

static void note_failure(void *owner, uint32_t k, enum error_code code, const char *text)
{
    struct over_run *run = owner;
    (void)k;
    if (!run->failed) {
        (void)error_set(&run->first_failure, code, "%s", text);
    }
    run->failed = true;
}

static void values_release(struct over_run *run)
{
    for (uint32_t i = 0; i < run->aggregate_count; i++) {
        vector_release(&run->values[i]);
    }
    run->values_fresh = false;
}

static enum status move_frame(struct over_run *run, const struct over_items *items, uint32_t at, struct over_place *place,
                              const struct over_target *target, struct error *err)
{
    uint32_t begin = frame_begin(run, items, at, place->begin), end = frame_end(run, items, at, place->end);
    end = end < begin ? begin : end;
    if (place->end < begin && place->begin == place->end) { /* what is skipped is never in a frame */
        place->begin = place->end = begin;
    }
    TRY(accumulate(run, &run->entering, items, place->end, end, items->count, place, target, err));
    place->end = end;
    TRY(accumulate(run, &run->leaving, items, place->begin, begin, end, place, target, err));
    place->begin = begin;
    if (run->calls != NULL && !run->values_fresh) {
        values_release(run);
        TRY(call_set_values(run->calls, target->record, 0, &target->slot, 1, run->values, note_failure, run, err));
        run->values_fresh = true;
    }
    return STATUS_OK;
}

/* ---- results ---- */

static enum status result_value(struct over_run *run, struct over_bound *bound, struct vector *result, struct error *err)
{
    const struct over_call *call = bound->call;
    const struct expression *value = call->args[0], *other = call->arg_count > 2 ? call->args[2] : NULL;
    struct vector shown = {0}, defaults = {0};
    struct budget *budget = node_budget(run->node);
    enum status status = STATUS_OK;
    if (value->kind == EXPRESSION_COLUMN) {
        status = row_store_gather(run->store, bound->rows, run->count, &value->index, 1, &shown, err);
    } else {
        status = vector_repeat(budget, value->constant, 0, run->count, &shown, err);
    }
    if (status == STATUS_OK && other != NULL) {
        status = other->kind == EXPRESSION_COLUMN ? row_store_gather(run->store, run->rows, run->count, &other->index, 1, &defaults, err)
                                                  : vector_repeat(budget, other->constant, 0, run->count, &defaults, err);
    }
    if (status == STATUS_OK) {
        status = vector_create(budget, call->type, 0, result, err);
    }
    for (uint32_t k = 0; status == STATUS_OK && k < run->count; k++) {
        if (bound->rows[k] != 0 || other != NULL) {
            status = vector_append(budget, result, bound->rows[k] != 0 ? &shown : &defaults, k, 1, err);
        } else {
            status = vector_append_null(budget, result, err);
        }
    }
    vector_release(&shown);
    vector_release(&defaults);
    return status;
}

static enum status result_column(struct over_run *run, struct over_bound *bound, struct vector *result, struct error *err)
{
    if (bound->function == OVER_AGGREGATE) {
        *result = bound->results;
        bound->results = (struct vector){0};
        return STATUS_OK;
    }
    if (over_function_is_value(bound->function)) {
        return result_value(run, bound, result, err);
    }
    TRY(vector_create(node_budget(run->node), bound->call->type, run->count, result, err));
    if (over_function_is_fraction(bound->function)) {
        memcpy(vector_double(result), bound->fractions, run->count * sizeof(double));
    } else {
        memcpy(vector_int64(result), bound->integers, run->count * sizeof(int64_t));
    }
    return STATUS_OK;
}

static enum status fill_output(struct over_run *run, struct batch *batch, struct error *err)
{
    const struct schema *output = run->spec->output;
    uint32_t stored = run->spec->input.schema->count;
    TRY(batch_init(batch, output->count, err));
    TRY(row_store_gather(run->store, run->rows, run->count, NULL, stored, batch->columns, err));
    for (uint32_t i = 0; i < run->spec->over.call_count; i++) {
        TRY(result_column(run, &run->bounds[i], &batch->columns[stored + i], err));
    }
    for (uint32_t i = 0; i < output->count; i++) {
        batch->columns[i].type = output->columns[i].type;
    }
    batch->count = run->count;
    return STATUS_OK;
}

enum status over_run_flush(struct over_run *run, struct error *err)
{
    if (run->count == 0) {
        return STATUS_OK;
    }
    struct batch batch = {0};
    enum status status = fill_output(run, &batch, err);
    run->count = 0;
    if (status == STATUS_OK) {
        status = run->emit(run->node, &batch, err);
    }
    batch_release(&batch);
    return status;
}

static enum status add_result(struct over_run *run, const struct over_items *items, const struct over_position *position, int64_t base,
                              struct error *err)
{
    struct budget *budget = node_budget(run->node);
    uint32_t k = run->count;
    for (uint32_t i = 0; i < run->spec->over.call_count; i++) {
        struct over_bound *bound = &run->bounds[i];
        if (bound->function == OVER_AGGREGATE) {
            if (bound->results.type == NULL) {
                TRY(vector_create(budget, bound->call->type, 0, &bound->results, err));
            }
            TRY(vector_append(budget, &bound->results, &run->values[bound->aggregate], 0, 1, err));
        } else if (over_function_is_value(bound->function)) {
            int64_t at = over_function_row(bound, position) - base;
            bound->rows[k] = at < 0 ? 0 : items->items[at].row;
        } else if (over_function_is_fraction(bound->function)) {
            bound->fractions[k] = over_function_fraction(bound, position);
        } else {
            bound->integers[k] = over_function_integer(bound, position);
        }
    }
    run->rows[k] = items->items[position->at - base].row;
    run->count++;
    return run->count < run->limit ? STATUS_OK : over_run_flush(run, err);
}

static void pass_rank(const struct over_run *run, const struct over_items *items, uint32_t at, struct over_place *place)
{
    if (at == 0 ? place->base == 0 : !are_peers(run, items, at - 1, at)) {
        place->rank = place->base + at + 1;
        place->dense++;
    }
}

void over_run_start(const struct over_run *run, const struct over_items *items, uint32_t next, struct over_place *place)
{
    *place = (struct over_place){.next = next};
    for (uint32_t i = 0; i < next; i++) {
        pass_rank(run, items, i, place);
    }
    if (next < items->count) {
        place->begin = place->end = frame_begin(run, items, next, 0);
    }
}

enum status over_run_pass(struct over_run *run, const struct over_items *items, struct over_place *place, const struct over_target *target,
                          struct error *err)
{
    uint32_t peers_end = place->next;
    values_release(run);
    run->entering.count = run->leaving.count = 0;
    for (uint32_t at = place->next; at < items->count; at++) {
        pass_rank(run, items, at, place);
        peers_end = peers_end > at ? peers_end : at;
        while (run->looks_ahead && peers_end < items->count && are_peers(run, items, peers_end, at)) {
            peers_end++;
        }
        TRY(move_frame(run, items, at, place, target, err));
        struct over_position position = {.at = place->base + at,
                                         .total = place->base + items->count,
                                         .rank = place->rank,
                                         .dense = place->dense,
                                         .peers_end = place->base + peers_end,
                                         .begin = place->base + place->begin,
                                         .end = place->base + place->end};
        TRY(add_result(run, items, &position, place->base, err));
    }
    place->next = items->count;
    return STATUS_OK;
}

/* ---- setup ---- */

static enum status add_argument(struct over_run *run, struct column *columns, const struct expression *arg, struct error *err)
{
    uint32_t at = run->arguments.count++;
    if (arg->kind != EXPRESSION_COLUMN && arg->kind != EXPRESSION_CONSTANT) {
        return error_set(err, ERROR_INTERNAL, "an argument of OVER is neither a column nor a constant");
    }
    bool is_column = arg->kind == EXPRESSION_COLUMN;
    columns[at] = (struct column){.name = is_column ? run->spec->input.schema->columns[arg->index].name : "constant", .type = arg->type};
    run->constants[at] = arg->kind == EXPRESSION_CONSTANT ? arg->constant : NULL;
    if (is_column) {
        run->gathered[run->gathered_count++] = arg->index;
    }
    return STATUS_OK;
}

static enum status bind_aggregate(struct over_run *run, struct column *columns, const struct over_call *call,
                                  struct aggregate_spec_call *spec, struct error *err)
{
    uint32_t *args;
    TRY_ALLOC(args, arena_alloc(node_arena(run->node), (call->arg_count + 1) * sizeof *args), err);
    *spec = (struct aggregate_spec_call){.function = call->aggregate,
                                         .args = args,
                                         .arg_count = call->arg_count,
                                         .distinct = call->distinct,
                                         .ignore_nulls = call->ignore_nulls,
                                         .filter = -1,
                                         .type = call->type};
    for (uint32_t i = 0; i < call->arg_count; i++) {
        args[i] = run->arguments.count;
        TRY(add_argument(run, columns, call->args[i], err));
    }
    if (call->filter != NULL) {
        spec->filter = (int32_t)run->arguments.count;
        TRY(add_argument(run, columns, call->filter, err));
    }
    return STATUS_OK;
}

static enum status bind_calls(struct over_run *run, struct error *err)
{
    const struct over_relation *over = &run->spec->over;
    struct arena *arena = node_arena(run->node);
    struct aggregate_spec_call *specs;
    struct column *columns;
    struct input_spec *input;
    uint32_t most = 1;
    for (uint32_t i = 0; i < over->call_count; i++) {
        most += over->calls[i].arg_count + 1;
    }
    TRY_ALLOC(specs, arena_alloc(arena, (over->call_count + 1) * sizeof *specs), err);
    TRY_ALLOC(columns, arena_alloc(arena, most * sizeof *columns), err);
    TRY_ALLOC(run->constants, arena_alloc(arena, most * sizeof(struct vector *)), err);
    TRY_ALLOC(run->gathered, arena_alloc(arena, most * sizeof *run->gathered), err);
    TRY_ALLOC(run->gather_vectors, arena_alloc(arena, most * sizeof *run->gather_vectors), err);
    TRY_ALLOC(input, arena_alloc(arena, sizeof *input), err);
    run->arguments.columns = columns;
    for (uint32_t i = 0; i < over->call_count; i++) {
        if (run->bounds[i].function == OVER_AGGREGATE) {
            run->bounds[i].aggregate = run->aggregate_count;
            TRY(bind_aggregate(run, columns, &over->calls[i], &specs[run->aggregate_count++], err));
        }
    }
    if (run->aggregate_count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(run->values, arena_alloc(arena, run->aggregate_count * sizeof *run->values), err);
    *input = (struct input_spec){&run->arguments, over->preceding != FRAME_UNBOUNDED, true};
    struct call_set_spec set = {.input = input, .calls = specs, .call_count = run->aggregate_count};
    return call_set_create(run->node->circuit, &set, &run->calls, err);
}

static enum status bind_function(struct over_run *run, struct over_bound *bound, const struct over_call *call, struct error *err)
{
    struct arena *arena = node_arena(run->node);
    TRY(over_bind_function(call, bound, err));
    enum over_function function = bound->function;
    int64_t back = function == OVER_LAG ? bound->number : 1;
    if (function == OVER_AGGREGATE) {
        return STATUS_OK;
    }
    TRY_ALLOC(bound->integers, arena_alloc(arena, CHUNK_ROWS * sizeof(int64_t)), err);
    bound->fractions = (double *)bound->integers;
    bound->rows = (row_handle *)bound->integers;
    run->keeps_all = run->keeps_all || function == OVER_NTH_VALUE || back > INT32_MAX;
    run->lookback = back > (int64_t)run->lookback && back <= INT32_MAX ? (uint32_t)back : run->lookback;
    run->looks_ahead = run->looks_ahead || function == OVER_NTILE || over_function_is_fraction(function) || function == OVER_LEAD ||
                       (function == OVER_LAG && bound->number < 0);
    return STATUS_OK;
}

enum status over_run_open(struct over_run *run, struct node *node, const struct over_spec *spec, struct row_store *store,
                          const struct row_order *order,
                          enum status (*emit)(struct node *node, const struct batch *batch, struct error *err), struct error *err)
{
    const struct over_relation *over = &spec->over;
    *run = (struct over_run){.node = node, .spec = spec, .store = store, .order = order, .emit = emit, .limit = node_chunk_rows(node)};
    run->looks_ahead = over->unit == FRAME_ROWS ? over->following > 0 : over->following != 0;
    run->by_peers = over->unit == FRAME_RANGE;
    bool spans =
        (over->preceding != 0 && over->preceding != FRAME_UNBOUNDED) || (over->following != 0 && over->following != FRAME_UNBOUNDED);
    if (over->unit == FRAME_RANGE && spans && !order->exact && !over->approximate && !spec->processing_time) {
        return error_set(err, ERROR_NOT_SUPPORTED, "RANGE with a distance over this ORDER BY is not supported");
    }
    for (uint32_t i = 0; i < CHUNK_ROWS; i++) {
        run->identity[i] = (uint16_t)i;
        run->minus[i] = -1;
    }
    TRY_ALLOC(run->bounds, arena_alloc(node_arena(node), (over->call_count + 1) * sizeof *run->bounds), err);
    for (uint32_t i = 0; i < over->call_count; i++) {
        TRY(bind_function(run, &run->bounds[i], &over->calls[i], err));
    }
    return bind_calls(run, err);
}

uint32_t over_run_bytes(const struct over_run *run)
{
    return run->calls == NULL ? 8 : call_set_bytes(run->calls);
}

void over_run_close(struct over_run *run)
{
    batch_release(&run->entering.batch);
    batch_release(&run->leaving.batch);
    if (run->values != NULL) {
        values_release(run);
    }
    for (uint32_t i = 0; run->bounds != NULL && i < run->spec->over.call_count; i++) {
        vector_release(&run->bounds[i].results);
    }
}
