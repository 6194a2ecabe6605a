/* cli/worker.h: `spate worker`: a process that takes part in submitted jobs, until it is told to leave.
 *
 * Errors      Printed; the value is the process's exit code: 0 left in order, 1 a task could not end in order, 2 usage, 3 its id is taken or
 *             something cannot be reached.
 */
#ifndef SPATE_CLI_WORKER_H
#define SPATE_CLI_WORKER_H

int command_worker(int argc, char **argv);

#endif
