/* cli/signals.h: SIGINT, SIGTERM and SIGUSR1, answered by a thread.
 *
 * For         `run`: INT cancels the running statement (exit 130), TERM finishes the tick, commits and exits 0 (a statement that is not
 *             running yet does not begin); a second one of either stops at once (128 + signal), unless it is the same again within 0.3 s.
 *             USR1 asks for savepoints.
 * Threads     A thread waits for signals, because spate_cancel takes a lock. Everything else reads flags.
 */
#ifndef SPATE_CLI_SIGNALS_H
#define SPATE_CLI_SIGNALS_H

#include <stdbool.h>

#include "spate/spate.h"

void signals_start(spate_session *session);
void signals_end(void);         /* before the session closes */
bool signals_interrupted(void); /* SIGINT came */
bool signals_terminated(void);  /* SIGTERM came */
bool signals_savepoint(void);   /* SIGUSR1 came since the last call */

#endif
