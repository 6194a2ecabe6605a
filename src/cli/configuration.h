/* cli/configuration.h: the settings of a command: its flags over the environment over a file over the defaults.
 *
 * For         every command that opens a session or a storage; `spate config`.
 * Ownership   What configuration_open gives lives until configuration_close.
 */
#ifndef SPATE_CLI_CONFIGURATION_H
#define SPATE_CLI_CONFIGURATION_H

#include "spate/config.h"

/* file NULL: spate.yaml, if there is one. What is wrong is said; returns the exit code. *config is to be closed also then. */
int configuration_open(const char *file, const char *const *flags, spate_config **config);
int command_config(int argc, char **argv);

#endif
