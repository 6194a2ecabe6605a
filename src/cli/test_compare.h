/* cli/test_compare.h: rows as lines of a test, and the difference between two sets of lines.
 *
 * Ownership   Texts are the caller's builders.
 */
#ifndef SPATE_CLI_TEST_COMPARE_H
#define SPATE_CLI_TEST_COMPARE_H

#include "base/text.h"
#include "cli/final_rows.h"

/* The standing rows, one a line, fields separated by tabs, in the test format's escapes. */
void rows_to_lines(const struct final_rows *rows, uint32_t column_count, struct text_builder *out);
/* Equal as lines; sorted first unless nosort. If not, appends a readable difference. */
bool lines_equal(struct text expected, struct text got, bool nosort, struct text_builder *difference);

#endif
