/* circuit/operators/window_time.h: which windows a time belongs to, and when a window may close.
 *
 * For         window_columns, window_aggregate, session_window.
 * Units       Microseconds. Windows are local: a TIMESTAMP_LTZ counts by the clock of the session's zone, so an hour that is repeated when
 *             clocks go back holds two hours, and a day 23 or 25.
 * Rules       Division floors (times before 1970). A window closes when the watermark reaches its last millisecond; of a local time
 *             that comes twice the later instant counts.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_WINDOW_TIME_H
#define SPATE_CIRCUIT_OPERATORS_WINDOW_TIME_H

#include "circuit/operators/specs.h"

struct window_time {
    struct window_spec spec;
    const struct time_zone *zone; /* NULL: the time column is local already (or the zone is UTC) */
    int64_t slice_us;             /* the largest width that all windows are made of */
};
struct window_bounds {
    int64_t start, end; /* local */
};
/* time_type NULL: spec->zoned tells. */
void window_time_open(struct window_time *time, const struct window_spec *spec, const struct type *time_type, const struct time_zone *zone);
int64_t window_time_to_local(const struct window_time *time, int64_t us);
/* The instant of a local time; the later one when there are two. */
int64_t window_time_to_instant(const struct window_time *time, int64_t local_us);
/* The watermark at which a window that ends (exclusively) at `end` is complete. */
int64_t window_time_closes(const struct window_time *time, int64_t end);
/* The slice of a local time: its start. */
int64_t window_time_slice(const struct window_time *time, int64_t local_us);
/* The first and the last window that hold the slice beginning at `slice`; false: none does (HOP with a slide above its size). Window i of
 * the slice ends at first.end + i * slide (CUMULATE: all start together; HOP: start = end - size). */
bool window_time_windows(const struct window_time *time, int64_t slice, struct window_bounds *first, struct window_bounds *last);
/* The time of a row in microseconds, of any TIMESTAMP column. */
static inline int64_t window_time_of_row(const struct vector *vector, uint32_t row)
{
    return vector->physical == PHYSICAL_INT128 ? (int64_t)(vector_int128(vector)[row] / 1000) : vector_int64(vector)[row];
}
/* A vector of `count` equal times, of the type's precision. */
enum status window_time_vector(struct budget *budget, const struct type *type, int64_t us, uint32_t count, struct vector *vector,
                               struct error *err);

#endif
