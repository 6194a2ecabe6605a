#include "base/wakeup.h"

#include "base/condition.h"

/* Some 50 us: about what it costs to block and be woken. */
enum { SPIN_ROUNDS = 1000 };

void wakeup_init(struct wakeup *wakeup)
{
    pthread_mutex_init(&wakeup->mutex, NULL);
    condition_init(&wakeup->condition);
    atomic_init(&wakeup->count, 0);
}

void wakeup_destroy(struct wakeup *wakeup)
{
    pthread_cond_destroy(&wakeup->condition);
    pthread_mutex_destroy(&wakeup->mutex);
}

void wakeup_signal(struct wakeup *wakeup)
{
    pthread_mutex_lock(&wakeup->mutex);
    atomic_fetch_add_explicit(&wakeup->count, 1, memory_order_release);
    pthread_cond_broadcast(&wakeup->condition);
    pthread_mutex_unlock(&wakeup->mutex);
}

uint64_t wakeup_read(struct wakeup *wakeup)
{
    return atomic_load_explicit(&wakeup->count, memory_order_acquire);
}

void wakeup_wait(struct wakeup *wakeup, uint64_t seen, int64_t timeout_us)
{
    const struct timespec until = condition_deadline(timeout_us);
    pthread_mutex_lock(&wakeup->mutex);
    while (wakeup_read(wakeup) == seen && condition_wait(&wakeup->condition, &wakeup->mutex, &until)) {
    }
    pthread_mutex_unlock(&wakeup->mutex);
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void wakeup_wait_soon(struct wakeup *wakeup, uint64_t seen)
{
    for (uint32_t i = 0; i < SPIN_ROUNDS; i++) {
        if (wakeup_read(wakeup) != seen) {
            return;
        }
        pause_briefly();
    }
    pthread_mutex_lock(&wakeup->mutex);
    while (wakeup_read(wakeup) == seen) {
        pthread_cond_wait(&wakeup->condition, &wakeup->mutex);
    }
    pthread_mutex_unlock(&wakeup->mutex);
}
