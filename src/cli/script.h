/* cli/script.h: a text of SQL statements and where it came from.
 *
 * For         files, -c texts and standard input.
 * Ownership   script_close frees what open and read made.
 * Errors      Printed to stderr by the functions here; they return a process exit code, 0 when fine.
 */
#ifndef SPATE_CLI_SCRIPT_H
#define SPATE_CLI_SCRIPT_H

#include "base/text.h"

struct script {
    const char *name;         /* shown in messages: the file's path, "-c" or "<stdin>" */
    struct text_builder text; /* with variables replaced */
    struct text_builder kept; /* the same, but ${env:...} stands as it was written: what is stored with jobs */
};
#define SCRIPT_HEAD "-- spate:script " /* and the name: the line before each script that is stored */
struct variables;                      /* cli/variables.h */
int script_read_file(const char *path, const struct variables *variables, struct script *script); /* "-": standard input */
int script_from_text(const char *name, const char *text, const struct variables *variables, struct script *script);
void script_close(struct script *script);

#endif
