/* cli/json_text.h: texts in JSON that the command prints.
 *
 * For         every --json and -o jsonl.
 * Shape       To standard output, in quotes; UTF-8 as it is, '"', '\' and what is below a space escaped.
 */
#ifndef SPATE_CLI_JSON_TEXT_H
#define SPATE_CLI_JSON_TEXT_H

#include <stddef.h>

void json_text_print(const char *bytes, size_t length);

#endif
