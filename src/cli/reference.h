/* cli/reference.h: `spate functions|connectors|formats|stores|options|errors|metrics [NAME]` and `spate completion SHELL`.
 *
 * For         the reference that the binary prints from its own tables.
 */
#ifndef SPATE_CLI_REFERENCE_H
#define SPATE_CLI_REFERENCE_H

#include <stdbool.h>

int reference_print(const char *what, const char *name, bool json);
int completion_print(const char *shell);

#endif
