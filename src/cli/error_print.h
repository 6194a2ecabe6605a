/* cli/error_print.h: an error as a person reads it.
 *
 * For         file:line:column, the code, the cause, the source line with a caret, what to do.
 */
#ifndef SPATE_CLI_ERROR_PRINT_H
#define SPATE_CLI_ERROR_PRINT_H

#include "base/text.h"
#include "spate/spate.h"

void error_print(const char *source, struct text text, const struct spate_error *error);
/* The exit code of ux: 1 a statement failed, 3 cannot reach something, 4 a running job failed. */
int error_exit_code(const struct spate_error *error, bool running);
/* Of a command that is about no text: prints it, and gives the exit code. */
int error_fail(const struct spate_error *error);

#endif
