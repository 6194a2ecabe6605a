/* functions/time_functions.h: what the files of time functions share, and FLOOR and CEIL for the numbers' file.
 */
#ifndef SPATE_FUNCTIONS_TIME_FUNCTIONS_H
#define SPATE_FUNCTIONS_TIME_FUNCTIONS_H

#include "functions/time_unit.h"

/* FLOOR(time, unit), CEIL(time, unit): for a call with two arguments. */
enum status time_bind_floor(struct function_binding *binding, struct error *err);
enum status time_bind_ceil(struct function_binding *binding, struct error *err);

static inline bool time_is_point(const struct type *type) /* DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ */
{
    return type->kind == TYPE_DATE || type->kind == TYPE_TIME || type_is_timestamp(type);
}

#define TIME_EACH_ROW(call, row)                                                                                                           \
    for (uint32_t row##_at = 0, row = 0; row##_at < (call)->rows.count && (row = selection_row(&(call)->rows, row##_at), true); row##_at++)

#endif
