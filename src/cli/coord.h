/* cli/coord.h: `spate coord VERB JOB`: the group of processes that runs a job, as the coordinator has it.
 *
 * Errors      Printed; the value is the process's exit code.
 */
#ifndef SPATE_CLI_COORD_H
#define SPATE_CLI_COORD_H

int command_coord(int argc, char **argv);

#endif
