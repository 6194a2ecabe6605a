/* Functions over arrays. A kernel walks its rows and appends the elements that its result has; equality and order are those of
 * data/order.h, so NULL elements are equal to each other. */
#include <stdlib.h>

#include "data/order.h"
#include "data/vector_append.h"
#include "functions/tables.h"

/* One array of one row. */
struct elements {
    const struct vector *vector;
    uint32_t first, count;
};

static struct elements elements_of(const struct vector *array, uint32_t row)
{
    struct span span = vector_spans(array)[row];
    return (struct elements){&array->children[0], span.offset, span.length};
}

static bool has_element(const struct elements *elements, uint32_t limit, const struct vector *value, uint32_t row)
{
    for (uint32_t i = 0; i < limit; i++) {
        if (vector_rows_equal(elements->vector, elements->first + i, value, row)) {
            return true;
        }
    }
    return false;
}

static bool append(struct kernel_call *call, const struct vector *source, uint32_t first, uint32_t count)
{
    return vector_append(call->evaluation->budget, &call->result->children[0], source, first, count, kernel_error(call)) == STATUS_OK;
}

/* Appends the elements of row's result; false: no memory. */
typedef bool fill_row(struct kernel_call *call, uint32_t row);

/* Arrays whose first argument is NULL are NULL; other arguments are the row function's affair. */
static void fill_rows(struct kernel_call *call, fill_row *fill)
{
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        uint32_t before = call->result->children[0].count;
        if (!vector_is_valid(call->args[0], row)) {
            kernel_set_null(call, row);
            continue;
        }
        if (!fill(call, row)) {
            return;
        }
        vector_spans(call->result)[row] = (struct span){before, call->result->children[0].count - before};
    }
}

/* The elements of the result so far are those to compare with: distinct results build up. */
static bool append_distinct(struct kernel_call *call, struct elements from, uint32_t start,
                            bool (*keeps)(struct kernel_call *call, uint32_t row, const struct elements *from, uint32_t index),
                            uint32_t row)
{
    struct vector *result = &call->result->children[0];
    for (uint32_t i = 0; i < from.count; i++) {
        struct elements sofar = {result, start, result->count - start};
        if (has_element(&sofar, sofar.count, from.vector, from.first + i) || (keeps != NULL && !keeps(call, row, &from, i))) {
            continue;
        }
        if (!append(call, from.vector, from.first + i, 1)) {
            return false;
        }
    }
    return true;
}

static bool is_in_second(struct kernel_call *call, uint32_t row, const struct elements *from, uint32_t index)
{
    struct elements second = elements_of(call->args[1], row);
    return has_element(&second, second.count, from->vector, from->first + index);
}

static bool is_not_in_second(struct kernel_call *call, uint32_t row, const struct elements *from, uint32_t index)
{
    return !is_in_second(call, row, from, index);
}

static bool fill_distinct(struct kernel_call *call, uint32_t row)
{
    return append_distinct(call, elements_of(call->args[0], row), call->result->children[0].count, NULL, row);
}

static bool fill_union(struct kernel_call *call, uint32_t row)
{
    uint32_t start = call->result->children[0].count;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        if (!append_distinct(call, elements_of(call->args[i], row), start, NULL, row)) {
            return false;
        }
    }
    return true;
}

static bool fill_except(struct kernel_call *call, uint32_t row)
{
    return append_distinct(call, elements_of(call->args[0], row), call->result->children[0].count, is_not_in_second, row);
}

static bool fill_intersect(struct kernel_call *call, uint32_t row)
{
    return append_distinct(call, elements_of(call->args[0], row), call->result->children[0].count, is_in_second, row);
}

static bool fill_concat(struct kernel_call *call, uint32_t row)
{
    for (uint32_t i = 0; i < call->arg_count; i++) {
        struct elements elements = elements_of(call->args[i], row);
        if (!append(call, elements.vector, elements.first, elements.count)) {
            return false;
        }
    }
    return true;
}

static bool fill_append(struct kernel_call *call, uint32_t row)
{
    struct elements elements = elements_of(call->args[0], row);
    return append(call, elements.vector, elements.first, elements.count) && append(call, call->args[1], row, 1);
}

static bool fill_prepend(struct kernel_call *call, uint32_t row)
{
    struct elements elements = elements_of(call->args[0], row);
    return append(call, call->args[1], row, 1) && append(call, elements.vector, elements.first, elements.count);
}

static bool fill_remove(struct kernel_call *call, uint32_t row)
{
    struct elements elements = elements_of(call->args[0], row);
    for (uint32_t i = 0; i < elements.count; i++) {
        if (!vector_rows_equal(elements.vector, elements.first + i, call->args[1], row) &&
            !append(call, elements.vector, elements.first + i, 1)) {
            return false;
        }
    }
    return true;
}

static bool fill_reverse(struct kernel_call *call, uint32_t row)
{
    struct elements elements = elements_of(call->args[0], row);
    for (uint32_t i = elements.count; i > 0; i--) {
        if (!append(call, elements.vector, elements.first + i - 1, 1)) {
            return false;
        }
    }
    return true;
}

/* Positions count from 1, negative ones from the end; what is outside is cut. */
static bool fill_slice(struct kernel_call *call, uint32_t row)
{
    struct elements elements = elements_of(call->args[0], row);
    int64_t size = elements.count;
    int64_t begin = vector_int32(call->args[1])[row], end = call->arg_count > 2 ? vector_int32(call->args[2])[row] : size;
    begin = begin < 0 ? begin + size + 1 : begin;
    end = end < 0 ? end + size + 1 : end;
    begin = begin < 1 ? 1 : begin;
    end = end > size ? size : end;
    return begin > end || append(call, elements.vector, elements.first + (uint32_t)begin - 1, (uint32_t)(end - begin + 1));
}

struct sort_order {
    const struct vector *vector;
    bool descending, nulls_first;
};

static int sort_compare(const void *left, const void *right, void *context)
{
    const struct sort_order *order = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    bool a_valid = vector_is_valid(order->vector, a), b_valid = vector_is_valid(order->vector, b);
    if (a_valid != b_valid) {
        return a_valid == order->nulls_first ? 1 : -1;
    }
    int compared = a_valid ? vector_compare_rows(order->vector, a, order->vector, b) : 0;
    if (compared == 0) {
        return a < b ? -1 : 1;
    }
    return order->descending ? -compared : compared;
}

static bool fill_sort(struct kernel_call *call, uint32_t row)
{
    struct elements elements = elements_of(call->args[0], row);
    bool ascending = call->arg_count < 2 || vector_bool(call->args[1])[row];
    bool nulls_first = call->arg_count < 3 ? ascending : vector_bool(call->args[2])[row];
    struct sort_order order = {elements.vector, !ascending, nulls_first};
    uint32_t *positions = malloc((elements.count + 1) * sizeof *positions);
    if (positions == NULL) {
        (void)!error_set(kernel_error(call), ERROR_BUDGET_SPENT, "the system has no memory to sort an array of %u elements",
                         elements.count);
        return false;
    }
    for (uint32_t i = 0; i < elements.count; i++) {
        positions[i] = elements.first + i;
    }
    qsort_r(positions, elements.count, sizeof *positions, sort_compare, &order);
    bool done = true;
    for (uint32_t i = 0; i < elements.count && done; i++) {
        done = append(call, elements.vector, positions[i], 1);
    }
    free(positions);
    return done;
}

#define RUN(name)                                                                                                                          \
    static void run_##name(struct kernel_call *call)                                                                                       \
    {                                                                                                                                      \
        fill_rows(call, fill_##name);                                                                                                      \
    }
RUN(distinct)
RUN(union)
RUN(except)
RUN(intersect)
RUN(concat)
RUN(append)
RUN(prepend)
RUN(remove)
RUN(reverse)
RUN(slice)
RUN(sort)
#undef RUN

static void run_contains(struct kernel_call *call)
{
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        if (!vector_is_valid(call->args[0], row)) {
            kernel_set_null(call, row);
            continue;
        }
        struct elements elements = elements_of(call->args[0], row);
        vector_bool(call->result)[row] = has_element(&elements, elements.count, call->args[1], row);
    }
}

static void run_position(struct kernel_call *call)
{
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        struct elements elements = elements_of(call->args[0], row);
        int32_t position = 0;
        for (uint32_t k = 0; k < elements.count && position == 0; k++) {
            position = vector_rows_equal(elements.vector, elements.first + k, call->args[1], row) ? (int32_t)k + 1 : 0;
        }
        vector_int32(call->result)[row] = position;
    }
}

static void run_extreme(struct kernel_call *call)
{
    int sign = *(const int *)call->data;
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        struct elements elements = elements_of(call->args[0], row);
        uint32_t best = UINT32_MAX;
        for (uint32_t k = elements.first; k < elements.first + elements.count; k++) {
            bool better = vector_is_valid(elements.vector, k) &&
                          (best == UINT32_MAX || vector_compare_rows(elements.vector, k, elements.vector, best) * sign > 0);
            best = better ? k : best;
        }
        if (best == UINT32_MAX) {
            kernel_set_null(call, row);
        } else if (vector_set_row(call->evaluation->budget, call->result, row, elements.vector, best, kernel_error(call)) != STATUS_OK) {
            return;
        }
    }
}

/* The text of element `index` as it goes into a joined text; false: it is left out. */
static bool joined_text(const struct kernel_call *call, uint32_t row, const struct elements *elements, uint32_t index, struct text *text)
{
    if (vector_is_valid(elements->vector, elements->first + index)) {
        *text = vector_get_text(elements->vector, elements->first + index);
        return true;
    }
    if (call->arg_count < 3) {
        return false;
    }
    *text = vector_get_text(call->args[2], row);
    return true;
}

static size_t join_into(const struct kernel_call *call, uint32_t row, char *out)
{
    struct elements elements = elements_of(call->args[0], row);
    struct text delimiter = vector_get_text(call->args[1], row), text;
    size_t length = 0;
    bool first = true;
    for (uint32_t i = 0; i < elements.count; i++) {
        if (!joined_text(call, row, &elements, i, &text)) {
            continue;
        }
        struct text pieces[] = {first ? (struct text){"", 0} : delimiter, text};
        for (uint32_t k = 0; k < 2; k++) {
            if (out != NULL) {
                memcpy(out + length, pieces[k].bytes, pieces[k].length);
            }
            length += pieces[k].length;
        }
        first = false;
    }
    return length;
}

static void run_join(struct kernel_call *call)
{
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        size_t length = join_into(call, row, NULL);
        char *bytes = kernel_alloc(call, length);
        if (bytes == NULL) {
            return;
        }
        join_into(call, row, bytes);
        vector_strings(call->result)[row] = string_view_make(bytes, length);
    }
}

static enum status need_array(struct function_binding *binding, uint32_t index, struct error *err)
{
    return binding->args[index]->type->kind == TYPE_ARRAY ? STATUS_OK : function_refuse(binding, err);
}

/* An array and a value: both take the common element type. */
static enum status coerce_element(struct function_binding *binding, struct error *err)
{
    TRY(need_array(binding, 0, err));
    const struct type *array = binding->args[0]->type, *wider;
    const struct type *common = type_common(binding->arena, array->children[0], binding->args[1]->type);
    if (common == NULL) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(wider, type_array(binding->arena, common, array->nullable), err);
    TRY(function_convert(binding, 0, wider, err));
    TRY(function_convert(binding, 1, common, err));
    binding->result = wider;
    return STATUS_OK;
}

static enum status bind_with_element(struct function_binding *binding, kernel_fn *run, struct error *err)
{
    TRY(coerce_element(binding, err));
    binding->kernel = (struct kernel){.run = run};
    return STATUS_OK;
}

static enum status bind_of_arrays(struct function_binding *binding, kernel_fn *run, struct error *err)
{
    const struct type *common;
    bool nullable = function_any_nullable(binding);
    for (uint32_t i = 0; i < binding->arg_count; i++) {
        if (binding->args[i]->type->kind != TYPE_NULL) {
            TRY(need_array(binding, i, err));
        }
    }
    TRY(function_coerce_common(binding, 0, 1, &common, err));
    if (common->kind != TYPE_ARRAY) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, common, nullable), err);
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}

#define BIND(name, shape)                                                                                                                  \
    static enum status bind_##name(struct function_binding *binding, struct error *err)                                                    \
    {                                                                                                                                      \
        return bind_##shape(binding, run_##name, err);                                                                                     \
    }
BIND(append, with_element)
BIND(prepend, with_element)
BIND(distinct, of_arrays)
BIND(union, of_arrays)
BIND(except, of_arrays)
BIND(intersect, of_arrays)
BIND(concat, of_arrays)
BIND(reverse, of_arrays)
#undef BIND

/* The kernels of STRICT functions never see NULL; fill_rows may still set a row NULL for those that are not. */
static enum status bind_remove(struct function_binding *binding, struct error *err)
{
    const struct type *type = binding->args[0]->type;
    TRY(coerce_element(binding, err));
    binding->result = type;
    binding->kernel = (struct kernel){.run = run_remove};
    return type_fits_unchanged(binding->args[0]->type, type) ? STATUS_OK : function_refuse(binding, err);
}

static enum status bind_contains(struct function_binding *binding, struct error *err)
{
    bool nullable = binding->args[0]->type->nullable;
    TRY(coerce_element(binding, err));
    binding->result = nullable ? &type_boolean : &type_boolean_not_null;
    binding->kernel = (struct kernel){.run = run_contains};
    return STATUS_OK;
}

static enum status bind_position(struct function_binding *binding, struct error *err)
{
    TRY(coerce_element(binding, err));
    binding->result = function_any_nullable(binding) ? &type_int : &type_int_not_null;
    binding->kernel = (struct kernel){.run = run_position, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}

static enum status bind_with_options(struct function_binding *binding, kernel_fn *run, const struct type *option, struct error *err)
{
    TRY(need_array(binding, 0, err));
    for (uint32_t i = 1; i < binding->arg_count; i++) {
        TRY(function_coerce(binding, i, option, err));
    }
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, binding->args[0]->type, function_any_nullable(binding)), err);
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}

static enum status bind_slice(struct function_binding *binding, struct error *err)
{
    return bind_with_options(binding, run_slice, &type_int, err);
}

static enum status bind_sort(struct function_binding *binding, struct error *err)
{
    return bind_with_options(binding, run_sort, &type_boolean, err);
}

static enum status bind_extreme(struct function_binding *binding, const int *sign, struct error *err)
{
    TRY(need_array(binding, 0, err));
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, binding->args[0]->type->children[0], true), err);
    binding->kernel = (struct kernel){.run = run_extreme, .traits = FUNCTION_STRICT | FUNCTION_NULLABLE, .data = sign};
    return STATUS_OK;
}

static enum status bind_max(struct function_binding *binding, struct error *err)
{
    static const int sign = 1;
    return bind_extreme(binding, &sign, err);
}

static enum status bind_min(struct function_binding *binding, struct error *err)
{
    static const int sign = -1;
    return bind_extreme(binding, &sign, err);
}

static enum status bind_join(struct function_binding *binding, struct error *err)
{
    TRY(need_array(binding, 0, err));
    if (!type_is_text(binding->args[0]->type->children[0])) {
        return function_refuse(binding, err);
    }
    for (uint32_t i = 1; i < binding->arg_count; i++) {
        TRY(function_coerce(binding, i, &type_string, err));
    }
    binding->result = function_any_nullable(binding) ? &type_string : &type_string_not_null;
    binding->kernel = (struct kernel){.run = run_join, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"ARRAY_APPEND", "collection", "ARRAY_APPEND(array, element)", "The array with the element added at its end.",
     "ARRAY_APPEND(ARRAY[1], 2) = ARRAY[1, 2]", 2, 2, bind_append},
    {"ARRAY_CONCAT", "collection", "ARRAY_CONCAT(array, ...)", "The arrays one after the other; NULL if one is NULL.",
     "ARRAY_CONCAT(ARRAY[1], ARRAY[2]) = ARRAY[1, 2]", 1, UINT32_MAX, bind_concat},
    {"ARRAY_CONTAINS", "collection", "ARRAY_CONTAINS(array, element)", "Whether the element is in the array; NULL finds NULL.",
     "ARRAY_CONTAINS(ARRAY[1, 2], 2)", 2, 2, bind_contains},
    {"ARRAY_DISTINCT", "collection", "ARRAY_DISTINCT(array)", "The first of each set of equal elements, in their order.",
     "ARRAY_DISTINCT(ARRAY[1, 1, 2]) = ARRAY[1, 2]", 1, 1, bind_distinct},
    {"ARRAY_EXCEPT", "collection", "ARRAY_EXCEPT(array, other)", "The distinct elements that the other array does not have.",
     "ARRAY_EXCEPT(ARRAY[1, 2], ARRAY[2]) = ARRAY[1]", 2, 2, bind_except},
    {"ARRAY_INTERSECT", "collection", "ARRAY_INTERSECT(array, other)", "The distinct elements that both arrays have.",
     "ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[2]) = ARRAY[2]", 2, 2, bind_intersect},
    {"ARRAY_JOIN", "collection", "ARRAY_JOIN(array, delimiter)\nARRAY_JOIN(array, delimiter, null_replacement)",
     "The texts with the delimiter between them; NULLs are left out or replaced.", "ARRAY_JOIN(ARRAY['a', 'b'], '-') = 'a-b'", 2, 3,
     bind_join},
    {"ARRAY_MAX", "collection", "ARRAY_MAX(array)", "The largest element that is not NULL.", "ARRAY_MAX(ARRAY[1, 3, 2]) = 3", 1, 1,
     bind_max},
    {"ARRAY_MIN", "collection", "ARRAY_MIN(array)", "The smallest element that is not NULL.", "ARRAY_MIN(ARRAY[3, 1, 2]) = 1", 1, 1,
     bind_min},
    {"ARRAY_POSITION", "collection", "ARRAY_POSITION(array, element)", "Where the element first stands, from 1; 0 if it does not.",
     "ARRAY_POSITION(ARRAY[5, 6], 6) = 2", 2, 2, bind_position},
    {"ARRAY_PREPEND", "collection", "ARRAY_PREPEND(array, element)", "The array with the element added before its first.",
     "ARRAY_PREPEND(ARRAY[1], 0) = ARRAY[0, 1]", 2, 2, bind_prepend},
    {"ARRAY_REMOVE", "collection", "ARRAY_REMOVE(array, element)", "The array without elements equal to the given one.",
     "ARRAY_REMOVE(ARRAY[1, 2, 1], 1) = ARRAY[2]", 2, 2, bind_remove},
    {"ARRAY_REVERSE", "collection", "ARRAY_REVERSE(array)", "The elements in the opposite order.",
     "ARRAY_REVERSE(ARRAY[1, 2]) = ARRAY[2, 1]", 1, 1, bind_reverse},
    {"ARRAY_SLICE", "collection", "ARRAY_SLICE(array, start)\nARRAY_SLICE(array, start, end)",
     "The elements from start to end, both included, counted from 1 or, when negative, from the end.",
     "ARRAY_SLICE(ARRAY[1, 2, 3], 2) = ARRAY[2, 3]", 2, 3, bind_slice},
    {"ARRAY_SORT", "collection", "ARRAY_SORT(array)\nARRAY_SORT(array, ascending)\nARRAY_SORT(array, ascending, nulls_first)",
     "The elements in order; NULLs come first when ascending, else last, unless said.", "ARRAY_SORT(ARRAY[2, 1]) = ARRAY[1, 2]", 1, 3,
     bind_sort},
    {"ARRAY_UNION", "collection", "ARRAY_UNION(array, other)", "The distinct elements of both arrays.",
     "ARRAY_UNION(ARRAY[1], ARRAY[1, 2]) = ARRAY[1, 2]", 2, 2, bind_union},
};
const struct function_table array_functions = {functions, ARRAY_LENGTH(functions)};
