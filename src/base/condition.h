/* base/condition.h: conditions of threads that are waited for by monotonic time: a wall clock that jumps makes nobody wait longer, or less.
 *
 * For         every wait with a limit. base/wakeup.h is for threads that wait for "something has changed".
 * Shape       A pthread_cond_t made by condition_init, destroyed by pthread_cond_destroy.
 * Threads     As pthread_cond_timedwait: with the mutex held. A wait may end early, without a reason: look again.
 */
#ifndef SPATE_BASE_CONDITION_H
#define SPATE_BASE_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

void condition_init(pthread_cond_t *condition);
/* So long from now; a negative time is none. */
struct timespec condition_deadline(int64_t wait_us);
/* false: the time is over. */
bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
/* Once, at most so long. */
void condition_wait_us(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t wait_us);

#endif
