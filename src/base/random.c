#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/hash.h"

void random_open(struct random_source *random, uint64_t seed)
{
    random->seeded = seed != 0;
    atomic_init(&random->state, seed);
}

static uint64_t kernel_random(void)
{
    uint64_t number;
    ssize_t got;
    do {
        got = getrandom(&number, sizeof number, 0);
    } while (got < 0 && errno == EINTR);
    assert(got == (ssize_t)sizeof number); /* the kernel gives up to 256 bytes whole */
    return number;
}

uint64_t random_next(struct random_source *random)
{
    if (!random->seeded) {
        return kernel_random();
    }
    return hash_uint64(atomic_fetch_add(&random->state, 0x9e3779b97f4a7c15u));
}

void random_name(struct random_source *random, char name[RANDOM_NAME_BYTES])
{
    uint64_t high = random_next(random), low = random_next(random);
    snprintf(name, RANDOM_NAME_BYTES, "%016" PRIx64 "%016" PRIx64, high, low);
}
