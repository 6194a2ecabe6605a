#include <string.h>

#include "functions/aggregate_entries.h"

static const struct aggregate_function *const entries[] = {
    &aggregate_approx_count_distinct,
    &aggregate_array_agg,
    &aggregate_avg,
    &aggregate_collect,
    &aggregate_count,
    &aggregate_first_value,
    &aggregate_json_arrayagg,
    &aggregate_json_objectagg,
    &aggregate_last_value,
    &aggregate_listagg,
    &aggregate_max,
    &aggregate_min,
    &aggregate_percentile,
    &aggregate_single_value,
    &aggregate_stddev,
    &aggregate_stddev_pop,
    &aggregate_stddev_samp,
    &aggregate_sum,
    &aggregate_variance,
    &aggregate_var_pop,
    &aggregate_var_samp,
};

const struct aggregate_function *aggregate_find(struct text name)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(entries); i++) {
        if (text_equal_ignoring_case(text_from(entries[i]->name), name)) {
            return entries[i];
        }
    }
    return NULL;
}

const struct aggregate_function *const *aggregate_list(uint32_t *count)
{
    *count = ARRAY_LENGTH(entries);
    return entries;
}

void accumulator_save(const struct accumulator *accumulator, const void *state, struct text_builder *out)
{
    if (accumulator->save != NULL) {
        accumulator->save(accumulator, state, out);
    } else {
        text_append(out, state, accumulator->state_bytes);
    }
}

static enum status load_plain(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct error *err)
{
    if (length != accumulator->state_bytes) {
        return error_set(err, ERROR_STATE_CORRUPT, "the saved state of an aggregate has %zu bytes, not %u", length,
                         accumulator->state_bytes);
    }
    memcpy(state, bytes, length);
    return STATUS_OK;
}

enum status accumulator_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                             struct error *err)
{
    enum status status = accumulator->load == NULL ? load_plain(accumulator, state, bytes, length, err)
                                                   : accumulator->load(accumulator, state, bytes, length, heap, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while restoring the state of %s", accumulator->function->name);
        if (accumulator->clear != NULL) {
            accumulator->clear(accumulator, state, heap);
        }
        memset(state, 0, accumulator->state_bytes);
    }
    return status;
}
