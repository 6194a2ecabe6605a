/* circuit/operators/over_functions.h: the window functions of an OVER by name.
 *
 * For         over_run.c.
 * Shape       over_bind_function says what a call is; over_function_number gives numbers by position, over_function_row the item whose
 *             value is shown.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_OVER_FUNCTIONS_H
#define SPATE_CIRCUIT_OPERATORS_OVER_FUNCTIONS_H

#include "circuit/operators/specs.h"
#include "state/row_store.h"

enum over_function {
    OVER_AGGREGATE,
    OVER_ROW_NUMBER,
    OVER_RANK,
    OVER_DENSE_RANK,
    OVER_NTILE,
    OVER_PERCENT_RANK,
    OVER_CUME_DIST,
    OVER_LAG,
    OVER_LEAD,
    OVER_NTH_VALUE,
};
struct over_bound {
    enum over_function function;
    const struct over_call *call;
    uint32_t aggregate; /* index among the aggregates */
    int64_t number;     /* LAG, LEAD: how far; NTH_VALUE: which; NTILE: how many */
    int64_t *integers;  /* results of the chunk, by function */
    double *fractions;
    row_handle *rows;
    struct vector results;
};
struct over_position { /* of one item of a partition */
    int64_t at;        /* from 0 */
    int64_t total;     /* items there are */
    int64_t rank, dense;
    int64_t peers_end;  /* the first position behind the item's peers */
    int64_t begin, end; /* its frame */
};
enum status over_bind_function(const struct over_call *call, struct over_bound *bound, struct error *err);
bool over_function_is_value(enum over_function function); /* LAG, LEAD, NTH_VALUE */
bool over_function_is_fraction(enum over_function function);
int64_t over_function_integer(const struct over_bound *bound, const struct over_position *position);
double over_function_fraction(const struct over_bound *bound, const struct over_position *position);
/* The position whose value is shown; -1: none. */
int64_t over_function_row(const struct over_bound *bound, const struct over_position *position);

#endif
