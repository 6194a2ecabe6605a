/* cli/jobs.h: `spate job`, `spate savepoint`, `spate state`: jobs from outside, by their storage.
 *
 * For         list, show, restart; savepoints of running and resting jobs; what a checkpoint or savepoint holds.
 * Errors      Printed; the value is the process's exit code.
 */
#ifndef SPATE_CLI_JOBS_H
#define SPATE_CLI_JOBS_H

int command_job(int argc, char **argv);
int command_savepoint(int argc, char **argv);
int command_state(int argc, char **argv);

#endif
