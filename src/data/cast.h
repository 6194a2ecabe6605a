/* data/cast.h: conversions between types: explicit CAST, TRY_CAST, and what the binder inserts.
 *
 * For         the CAST expression, implicit coercions, csv and json decoding of texts, literals.
 * Rules       Flink 2.3's (shared by every caller): numbers wrap or saturate as documented, text that is no number fails,
 *             decimal overflow is NULL. A failing row is reported per row, never a NULL unless `try_cast`.
 * Threads     A cast is immutable after cast_create.
 */
#ifndef SPATE_DATA_CAST_H
#define SPATE_DATA_CAST_H

#include "data/time_zone.h"
#include "data/vector.h"

struct cast; /* a compiled conversion from one type to another */

/* What a cast can be: not at all, explicitly only, implicitly. */
enum cast_rule { CAST_NEVER, CAST_EXPLICIT, CAST_IMPLICIT };
enum cast_rule cast_find_rule(const struct type *from, const struct type *to);

struct cast_context {
    struct budget *budget;
    const struct time_zone *zone;
    /* Called for a row that cannot be converted, with the reason; not called for TRY_CAST (such rows become NULL). */
    void (*fail)(void *owner, uint32_t row, enum error_code code, const char *text);
    void *owner;
    bool legacy; /* table.exec.legacy-cast-behaviour = enabled */
};
enum status cast_create(struct arena *arena, const struct type *from, const struct type *to, bool try_cast, const struct cast **cast,
                        struct error *err);
/* Converts the selected rows; result is created here, with source->count rows, NULL where the source is. */
enum status cast_run(const struct cast *cast, const struct cast_context *context, const struct vector *source, struct selection rows,
                     struct vector *result, struct error *err);

/* Single values, for formats: false if the text does not convert. Rules of CAST from STRING. */
bool text_to_int64(struct text text, int64_t min, int64_t max, int64_t *value);
bool text_to_double(struct text text, double *value);
bool text_to_float(struct text text, float *value);
bool text_to_boolean(struct text text, bool *value);
bool text_to_date(struct text text, int32_t *days);
bool text_to_time(struct text text, int32_t *ms);
bool text_to_timestamp(struct text text, int32_t precision, int128_t *value); /* us, ns above precision 6 */

#endif
