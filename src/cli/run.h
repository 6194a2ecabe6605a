/* cli/run.h: `spate run`, -c, -f, check and explain: scripts, statement by statement.
 *
 * For         executing scripts. An INSERT whose sources are all bounded runs to its end before what follows; an unbounded one goes on
 *             beside it, and the run ends when all have ended. The first error ends it.
 * Errors      Printed with place and caret; the value is the process's exit code (ux: 0, 1, 2, 3, 4, 130).
 */
#ifndef SPATE_CLI_RUN_H
#define SPATE_CLI_RUN_H

#include "cli/output.h"
#include "cli/script.h"

enum run_mode { RUN_EXECUTE, RUN_CHECK, RUN_EXPLAIN, RUN_SUBMIT /* INSERTs are handed to workers */ };
struct run_options {
    enum run_mode mode;
    enum output_form form;
    uint64_t limit;              /* 0: none */
    int64_t timeout_us;          /* 0: none */
    const char *const *settings; /* NULL-terminated "key=value" */
    bool replaces;               /* RUN_SUBMIT: takes the place of jobs of the same name */
};
int run_scripts(const struct run_options *options, const struct script *scripts, uint32_t count);

#endif
