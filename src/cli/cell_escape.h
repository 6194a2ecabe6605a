/* cli/cell_escape.h: how a byte of a cell is written where a line is a row and a tab ends a field.
 *
 * For         the forms tsv and changelog, and the rows of test files: the same text in both.
 */
#ifndef SPATE_CLI_CELL_ESCAPE_H
#define SPATE_CLI_CELL_ESCAPE_H

#include <stddef.h>

/* NULL: the byte stands for itself. */
static inline const char *cell_escape(char byte)
{
    switch (byte) {
    case '\t':
        return "\\t";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\\':
        return "\\\\";
    default:
        return NULL;
    }
}

#endif
