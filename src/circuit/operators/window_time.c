#include "circuit/operators/window_time.h"

#include "data/calendar.h"

static int64_t greatest_common_divisor(int64_t left, int64_t right)
{
    while (right != 0) {
        int64_t rest = left % right;
        left = right;
        right = rest;
    }
    return left;
}

void window_time_open(struct window_time *time, const struct window_spec *spec, const struct type *time_type, const struct time_zone *zone)
{
    bool zoned = time_type != NULL ? time_type->kind == TYPE_TIMESTAMP_LTZ : spec->zoned;
    bool local = !zoned && !spec->processing_time;
    *time = (struct window_time){.spec = *spec, .zone = local || time_zone_is_utc(zone) ? NULL : zone};
    time->slice_us = spec->kind == WINDOW_TUMBLE     ? spec->size_us
                     : spec->kind == WINDOW_CUMULATE ? spec->slide_us
                                                     : greatest_common_divisor(spec->size_us, spec->slide_us);
}

int64_t window_time_to_local(const struct window_time *time, int64_t us)
{
    return time->zone == NULL ? us : time_zone_to_local(time->zone, us);
}

int64_t window_time_to_instant(const struct window_time *time, int64_t local_us)
{
    static const int64_t overlaps[] = {US_PER_HOUR, US_PER_HOUR / 2, 2 * US_PER_HOUR}; /* by how much clocks go back */
    if (time->zone == NULL) {
        return local_us;
    }
    int64_t instant = time_zone_to_utc(time->zone, local_us);
    for (uint32_t i = 0; i < ARRAY_LENGTH(overlaps); i++) {
        if (time_zone_to_local(time->zone, instant + overlaps[i]) == local_us) {
            return instant + overlaps[i];
        }
    }
    return instant;
}

int64_t window_time_closes(const struct window_time *time, int64_t end)
{
    return window_time_to_instant(time, end - US_PER_MS);
}

int64_t window_time_slice(const struct window_time *time, int64_t local_us)
{
    return local_us - floor_modulo(local_us - time->spec.offset_us, time->slice_us);
}

bool window_time_windows(const struct window_time *time, int64_t slice, struct window_bounds *first, struct window_bounds *last)
{
    const struct window_spec *spec = &time->spec;
    if (spec->kind == WINDOW_TUMBLE) {
        *first = *last = (struct window_bounds){slice, slice + spec->size_us};
        return true;
    }
    if (spec->kind == WINDOW_CUMULATE) {
        int64_t start = slice - floor_modulo(slice - spec->offset_us, spec->size_us);
        *first = (struct window_bounds){start, slice + spec->slide_us};
        *last = (struct window_bounds){start, start + spec->size_us};
        return true;
    }
    int64_t latest = slice - floor_modulo(slice - spec->offset_us, spec->slide_us);
    int64_t bound = slice + time->slice_us - spec->size_us; /* a window must start here or later */
    int64_t earliest = bound + floor_modulo(spec->offset_us - bound, spec->slide_us);
    *first = (struct window_bounds){earliest, earliest + spec->size_us};
    *last = (struct window_bounds){latest, latest + spec->size_us};
    return earliest <= latest;
}

enum status window_time_vector(struct budget *budget, const struct type *type, int64_t us, uint32_t count, struct vector *vector,
                               struct error *err)
{
    TRY(vector_create(budget, type, count, vector, err));
    for (uint32_t k = 0; k < count; k++) {
        if (vector->physical == PHYSICAL_INT128) {
            vector_int128(vector)[k] = (int128_t)us * 1000;
        } else {
            vector_int64(vector)[k] = us;
        }
    }
    return STATUS_OK;
}
