/* cli/commands.h: the one list of commands, for dispatch, --help and completion.
 */
#ifndef SPATE_CLI_COMMANDS_H
#define SPATE_CLI_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

struct command {
    const char *name, *arguments, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; the exit code */
    bool has_help;                     /* it answers --help; else that of all commands is shown */
};
uint32_t command_list(const struct command **commands);

#endif
