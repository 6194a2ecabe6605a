#include "base/clock.h"

#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t system_wall_us(const struct clock *clock)
{
    (void)clock;
    return read_us(CLOCK_REALTIME);
}

static int64_t system_monotonic_us(const struct clock *clock)
{
    (void)clock;
    return read_us(CLOCK_MONOTONIC);
}

const struct clock clock_system = {.wall_us = system_wall_us, .monotonic_us = system_monotonic_us};

static int64_t boot_monotonic_us(const struct clock *clock)
{
    (void)clock;
    return read_us(CLOCK_BOOTTIME);
}

const struct clock clock_boot = {.wall_us = system_wall_us, .monotonic_us = boot_monotonic_us};
