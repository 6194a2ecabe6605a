/* cli/control.h: `spate ctl`: changing a job that runs, by its control log.
 *
 * For         proposing edits, waiting for them, looking at the log; `spate ctl verbs`.
 * Rules       What became of an edit is on standard output, a line (or JSON with --json). Exit: 0 done (without --wait: accepted), 1
 *             rejected, failed or expired, 2 usage, 3 the service cannot be reached, 4 waited too long (the edit stays).
 */
#ifndef SPATE_CLI_CONTROL_H
#define SPATE_CLI_CONTROL_H

int command_ctl(int argc, char **argv);

#endif
