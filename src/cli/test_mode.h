/* cli/test_mode.h: the modes in which each test file runs.
 *
 * For         `spate test`: a query's final rows must not depend on parallelism, on where ticks are cut, on the size of
 *             chunks, or on a restart from saved state in between.
 */
#ifndef SPATE_CLI_TEST_MODE_H
#define SPATE_CLI_TEST_MODE_H

#include <stdint.h>

struct test_mode {
    const char *name;
    const char *settings[8]; /* NULL-terminated */
    const char *module;      /* that it needs; NULL: none. Without it the mode is left out */
};
extern const struct test_mode test_modes[];
extern const uint32_t test_mode_count;

#endif
