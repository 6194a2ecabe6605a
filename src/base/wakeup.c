#include "base/wakeup.h"

#include <errno.h>
#include <time.h>

void wakeup_init(struct wakeup *wakeup)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&wakeup->mutex, NULL);
    pthread_cond_init(&wakeup->condition, &attributes);
    pthread_condattr_destroy(&attributes);
    wakeup->count = 0;
}

void wakeup_destroy(struct wakeup *wakeup)
{
    pthread_cond_destroy(&wakeup->condition);
    pthread_mutex_destroy(&wakeup->mutex);
}

void wakeup_signal(struct wakeup *wakeup)
{
    pthread_mutex_lock(&wakeup->mutex);
    wakeup->count++;
    pthread_cond_broadcast(&wakeup->condition);
    pthread_mutex_unlock(&wakeup->mutex);
}

uint64_t wakeup_read(struct wakeup *wakeup)
{
    pthread_mutex_lock(&wakeup->mutex);
    uint64_t count = wakeup->count;
    pthread_mutex_unlock(&wakeup->mutex);
    return count;
}

void wakeup_wait(struct wakeup *wakeup, uint64_t seen, int64_t timeout_us)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_us / 1000000;
    until.tv_nsec += timeout_us % 1000000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&wakeup->mutex);
    int result = 0;
    while (wakeup->count == seen && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&wakeup->condition, &wakeup->mutex, &until);
    }
    pthread_mutex_unlock(&wakeup->mutex);
}
