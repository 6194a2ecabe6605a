/* base/random.h: random numbers, injectable.
 *
 * For         identities that must never repeat (etags, incarnations, names of temporary files), jitter.
 * Shape       Without a seed every number comes from the kernel, so copies of a process (fork) do not repeat each other. With one, the
 *             sequence is fixed: a simulation gives each of its processes its own.
 * Threads     Any.
 */
#ifndef SPATE_BASE_RANDOM_H
#define SPATE_BASE_RANDOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct random_source {
    bool seeded;
    _Atomic uint64_t state;
};
void random_open(struct random_source *random, uint64_t seed); /* 0: from the kernel */
uint64_t random_next(struct random_source *random);
/* 128 random bits as 32 hexadecimal digits and a NUL. */
enum { RANDOM_NAME_BYTES = 33 };
void random_name(struct random_source *random, char name[RANDOM_NAME_BYTES]);

#endif
