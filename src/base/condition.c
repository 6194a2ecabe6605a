#include "base/condition.h"

#define US_PER_SECOND INT64_C(1000000)

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct timespec condition_deadline(int64_t wait_us)
{
    struct timespec until;
    wait_us = wait_us < 0 ? 0 : wait_us;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + wait_us % US_PER_SECOND * 1000;
    until.tv_sec += wait_us / US_PER_SECOND + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    return until;
}

bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    return pthread_cond_timedwait(condition, mutex, until) == 0;
}

void condition_wait_us(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t wait_us)
{
    const struct timespec until = condition_deadline(wait_us);
    (void)condition_wait(condition, mutex, &until);
}
