/* data/arrow.h: batches across the binary's border: the Arrow C Data Interface.
 *
 * For         the C API, plugins, UDFs. Structs are in include/spate/arrow.h (the public ABI).
 * Rules       Booleans become bitmaps, views become string views with buffer index and offset (format "vu"/"vz"), spans list
 *             views ("+vl") or maps, DECIMAL 128-bit, TIMESTAMP(<=3) "tsm", (<=6) "tsu", else "tsn": what does not fit int64
 *             nanoseconds is VALUE_UNWRITABLE, naming the column. Import accepts utf8, large utf8, string views and the
 *             types that export produces; strings are not copied: the batch keeps the array alive.
 */
#ifndef SPATE_DATA_ARROW_H
#define SPATE_DATA_ARROW_H

#include "data/batch.h"
#include "spate/arrow.h"

enum status arrow_export_schema(const struct type *row_type, struct ArrowSchema *schema, struct error *err);
enum status arrow_export_batch(struct budget *budget, const struct batch *batch, const struct type *row_type, struct ArrowArray *array,
                               struct error *err);
/* Takes the array (its release is called when the last buffer ends). At most CHUNK_ROWS rows from `first_row`. */
struct arrow_import; /* one imported array, sliced into batches */
enum status arrow_import_open(const struct type *row_type, const struct ArrowSchema *schema, struct ArrowArray *array,
                              struct arrow_import **import, struct error *err);
/* The next chunk of at most `rows` rows; batch->count == 0 at the end. */
enum status arrow_import_next(struct arrow_import *import, struct budget *budget, uint32_t rows, struct batch *batch, struct error *err);
void arrow_import_close(struct arrow_import *import);

#endif
