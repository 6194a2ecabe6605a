/* spate/cell.h: one value of a row, for programs that take rows apart by hand.
 *
 * For         spate/task.h: rows of inputs, rows of outputs, keys and values of state.
 * Shape       kind says which member counts; the others are 0.
 *
 *      SQL type                                             kind      member
 *      any, NULL                                            NULL
 *      BOOLEAN                                              BOOLEAN   integer: 0, 1
 *      TINYINT, SMALLINT, INT, BIGINT                       INTEGER   integer
 *      DECIMAL of up to 18 digits                           INTEGER   integer: without the point: 12.50 of DECIMAL(10, 2) is 1250
 *      DATE, TIME                                           INTEGER   integer: days since 1970-01-01; milliseconds since midnight
 *      TIMESTAMP, TIMESTAMP_LTZ of up to 6 digits           INTEGER   integer: microseconds since 1970-01-01 00:00:00 (LTZ: of UTC)
 *      INTERVAL YEAR TO MONTH, DAY TO SECOND                INTEGER   integer: months; microseconds
 *      FLOAT, DOUBLE                                        REAL      real
 *      CHAR, VARCHAR, STRING (UTF-8); BINARY, BYTES         TEXT      bytes, length; no NUL at the end
 *      all others                                           OTHER     none: look at them through Arrow
 *
 * Ownership   A cell lends its bytes. Who is given a cell copies them if need be.
 */
#ifndef SPATE_CELL_H
#define SPATE_CELL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum spate_cell_kind { SPATE_CELL_NULL, SPATE_CELL_BOOLEAN, SPATE_CELL_INTEGER, SPATE_CELL_REAL, SPATE_CELL_TEXT, SPATE_CELL_OTHER };

typedef struct spate_cell {
    int kind; /* enum spate_cell_kind */
    int64_t integer;
    double real;
    const char *bytes;
    size_t length;
} spate_cell;

static inline spate_cell spate_cell_null(void)
{
    spate_cell cell = {SPATE_CELL_NULL, 0, 0, NULL, 0};
    return cell;
}
static inline spate_cell spate_cell_boolean(int value)
{
    spate_cell cell = {SPATE_CELL_BOOLEAN, value != 0, 0, NULL, 0};
    return cell;
}
static inline spate_cell spate_cell_integer(int64_t value)
{
    spate_cell cell = {SPATE_CELL_INTEGER, value, 0, NULL, 0};
    return cell;
}
static inline spate_cell spate_cell_real(double value)
{
    spate_cell cell = {SPATE_CELL_REAL, 0, value, NULL, 0};
    return cell;
}
static inline spate_cell spate_cell_bytes(const char *bytes, size_t length)
{
    spate_cell cell = {SPATE_CELL_TEXT, 0, 0, bytes, length};
    return cell;
}
static inline spate_cell spate_cell_text(const char *text) /* that ends with NUL */
{
    return spate_cell_bytes(text, strlen(text));
}

#ifdef __cplusplus
}
#endif
#endif
