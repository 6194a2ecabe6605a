/* connectors/datagen/datagen.h: how each column of a generated table is filled.
 *
 * For         datagen_fields.c (options to fields), datagen_fill.c (fields to values), datagen_source.c.
 * Shape       A field per column; ROWs have one per field of theirs ('fields.r.x.min'), arrays 'element', maps 'key', 'value'.
 */
#ifndef SPATE_CONNECTORS_DATAGEN_DATAGEN_H
#define SPATE_CONNECTORS_DATAGEN_DATAGEN_H

#include "base/clock.h"
#include "connectors/source.h"
#include "formats/column.h"

struct datagen_random {
    uint64_t state[4];
};
void datagen_random_seed(struct datagen_random *random, uint64_t seed);
uint64_t datagen_random_next(struct datagen_random *random);
double datagen_random_fraction(struct datagen_random *random); /* [0, 1) */

struct datagen_field {
    const struct type *type;
    const char *path; /* "r.x" */
    bool used, sequence, var_len;
    bool has_start, has_end, has_min, has_max, has_length;
    int64_t start, end;
    double min, max; /* as given; exact bounds of integers below */
    int64_t min_integer, max_integer;
    int64_t length;
    double null_rate;
    int64_t max_past_us;
    struct datagen_field *children;
    uint32_t child_count;
    struct column column; /* bound per batch */
    uint32_t element_count;
};

/* Fields for the columns that are read, from 'fields.*'. All columns of the table may be named. */
enum status datagen_fields_make(const struct source_context *context, struct arena *arena, struct datagen_field **fields,
                                struct error *err);
void datagen_field_bind(struct datagen_field *field, struct budget *budget, struct vector *vector, uint32_t rows);
void datagen_field_finish(struct datagen_field *field, uint32_t rows);
/* The value of a row; `number` counts the rows of the table. */
enum status datagen_field_fill(struct datagen_field *field, struct datagen_random *random, int64_t number, int64_t now_us, uint32_t row,
                               struct error *err);

#endif
