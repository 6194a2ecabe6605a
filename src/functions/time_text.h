/* functions/time_text.h: patterns and zones named by arguments, compiled when they are constants, else once per distinct text.
 *
 * For         time_format.c and time_parse.c.
 * Shape       What bind compiled is in the call's data; other texts are compiled by the rows and kept in the call's scratch (an
 *             arena and two short lists, newest first).
 */
#ifndef SPATE_FUNCTIONS_TIME_TEXT_H
#define SPATE_FUNCTIONS_TIME_TEXT_H

#include "functions/time_functions.h"
#include "functions/time_pattern.h"

/* data of calls with a pattern argument; NULL: it is no constant */
struct time_text_data {
    const struct time_pattern *pattern;
    const struct time_zone *zone, *other_zone;
};

/* The default pattern, or the one in argument `index` when the call has it. */
enum status time_text_bind(struct function_binding *binding, uint32_t index, struct time_text_data *data, struct error *err);
enum status time_zone_bind(struct function_binding *binding, uint32_t index, const struct time_zone **zone, struct error *err);

/* The pattern of a row: the constant one, else that of the argument. NULL: it is wrong, the row has failed. */
const struct time_pattern *time_text_pattern(struct kernel_call *call, uint32_t index, uint32_t row);
const struct time_zone *time_text_zone(struct kernel_call *call, const struct time_zone *constant, uint32_t index, uint32_t row);
void time_text_free(void *scratch);

/* Stores a text as the row's result; false: no memory. */
bool time_text_put(struct kernel_call *call, uint32_t row, const char *bytes, size_t length);

/* The instant of a local time; of two the later one, as Java's older formatters have it. */
int64_t time_to_later_instant(const struct time_zone *zone, int64_t local_us);

#endif
