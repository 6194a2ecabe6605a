/* Preloaded into a process: its wall clock is five minutes off, and steps back and forth between both sides each second (C17). What is monotonic is
 * left alone.
 *
 * Build: cc -shared -fPIC wall_clock.c -o wall_clock.so -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

typedef int (*clock_function)(clockid_t clock, struct timespec *now);

static int true_clock(clockid_t clock, struct timespec *now)
{
    static clock_function real;
    if (real == NULL) {
        real = (clock_function)dlsym(RTLD_NEXT, "clock_gettime");
    }
    return real(clock, now);
}

static time_t offset(void)
{
    const char *first = getenv("WALL_CLOCK_FIRST");
    struct timespec since;
    true_clock(CLOCK_MONOTONIC, &since);
    int behind = (first != NULL && first[0] == '-') ^ (int)(since.tv_sec % 2);
    return behind ? -300 : 300;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = true_clock(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        now->tv_sec += offset();
    }
    return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec real;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &real);
    now->tv_sec = real.tv_sec;
    now->tv_usec = real.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    if (now != NULL) {
        *now = real.tv_sec;
    }
    return real.tv_sec;
}
