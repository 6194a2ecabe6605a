/* functions/aggregate_entries.h: the entries of all aggregate functions, for the list in aggregate.c. */
#ifndef SPATE_FUNCTIONS_AGGREGATE_ENTRIES_H
#define SPATE_FUNCTIONS_AGGREGATE_ENTRIES_H

#include "functions/stored_value.h"

extern const struct aggregate_function aggregate_count, aggregate_approx_count_distinct;
extern const struct aggregate_function aggregate_sum, aggregate_avg;
extern const struct aggregate_function aggregate_min, aggregate_max;
extern const struct aggregate_function aggregate_first_value, aggregate_last_value, aggregate_single_value;
extern const struct aggregate_function aggregate_listagg, aggregate_array_agg, aggregate_collect;
extern const struct aggregate_function aggregate_var_pop, aggregate_var_samp, aggregate_variance, aggregate_stddev_pop,
    aggregate_stddev_samp, aggregate_stddev;
extern const struct aggregate_function aggregate_percentile;
extern const struct aggregate_function aggregate_json_arrayagg, aggregate_json_objectagg;

#endif
