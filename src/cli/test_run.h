/* cli/test_run.h: `spate test PATH...`.
 *
 * For         SQL tests, ours and the users'. Each file runs once per mode, in a process of its own (a crash or a hang fails its
 *             records and nothing else), with a fresh session and a fresh ${DIR}.
 * Result      A record counts once: passed if it passed in all modes. The last line is "N passed, N failed"; exit code 1 if any failed.
 */
#ifndef SPATE_CLI_TEST_RUN_H
#define SPATE_CLI_TEST_RUN_H

#include "cli/test_file.h"
#include "cli/test_mode.h"

int command_test(int argc, char **argv);

/* cli/test_session.c: runs all records of a file in one mode; writes one verdict each to `out` (see test_verdict). */
struct test_verdict {
    uint32_t record;
    uint32_t passed;
    uint32_t text_length; /* then so many bytes: the difference, or the error */
};
void test_session_run(const struct test_file *file, const struct test_mode *mode, int64_t timeout_us, int out);

#endif
