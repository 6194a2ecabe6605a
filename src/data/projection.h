/* data/projection.h: which fields of a nested column are read.
 *
 * For         pruning into the source: a decoder skips what nobody reads.
 * Shape       A tree parallel to a type: `whole`, or (for a ROW) one child per field; a child that is not `used` is not read:
 *             its vector is PHYSICAL_NULL (all rows NULL), the ROW type stays the same.
 * Ownership   The statement's arena; immutable.
 */
#ifndef SPATE_DATA_PROJECTION_H
#define SPATE_DATA_PROJECTION_H

#include <stdbool.h>
#include <stdint.h>

struct projection {
    bool used, whole;
    uint32_t child_count;
    const struct projection *children;
};

#endif
