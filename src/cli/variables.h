/* cli/variables.h: ${name} in scripts.
 *
 * For         -v name=value, and ${env:NAME} for secrets. $${ is a plain ${.
 * Errors      An unset variable is an error that names it and its line; printed to stderr, exit code 2.
 */
#ifndef SPATE_CLI_VARIABLES_H
#define SPATE_CLI_VARIABLES_H

#include "base/text.h"

enum { VARIABLES_MAX = 256 };
struct variables {
    const char *definitions[VARIABLES_MAX]; /* "name=value" */
    uint32_t count;
};
int variables_add(struct variables *variables, const char *definition);
/* kept: the same text with ${env:...} as it stands, to be replaced again later. */
int variables_replace(const struct variables *variables, const char *source, struct text text, struct text_builder *out,
                      struct text_builder *kept);

#endif
