/* base/wakeup.h: "something has happened", between threads.
 *
 * For         a job that waits for any of its sources, cancellation included; workers that wait for each other.
 * Shape       A counter: who waits passes the value it saw before it looked for work, so that no signal is lost.
 * Threads     Any.
 */
#ifndef SPATE_BASE_WAKEUP_H
#define SPATE_BASE_WAKEUP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct wakeup {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    atomic_uint_fast64_t count;
};
void wakeup_init(struct wakeup *wakeup);
void wakeup_destroy(struct wakeup *wakeup);
void wakeup_signal(struct wakeup *wakeup);
uint64_t wakeup_read(struct wakeup *wakeup);
/* Returns when the count is no longer `seen`, or after timeout_us. */
void wakeup_wait(struct wakeup *wakeup, uint64_t seen, int64_t timeout_us);
/* Returns when the count is no longer `seen`. For what is expected within microseconds: spins for some time before it blocks. */
void wakeup_wait_soon(struct wakeup *wakeup, uint64_t seen);

#endif
