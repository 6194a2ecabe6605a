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
