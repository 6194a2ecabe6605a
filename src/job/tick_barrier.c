#include "job/tick_barrier.h"

enum { SPIN_ROUNDS = 2000 };

void tick_barrier_init(struct tick_barrier *barrier, uint32_t worker_count)
{
    pthread_mutex_init(&barrier->mutex, NULL);
    pthread_cond_init(&barrier->all_arrived, NULL);
    barrier->worker_count = worker_count;
    barrier->arrived = 0;
    atomic_init(&barrier->round, 0);
    barrier->gathering = (struct tick_votes){.ended = true};
}

void tick_barrier_destroy(struct tick_barrier *barrier)
{
    pthread_cond_destroy(&barrier->all_arrived);
    pthread_mutex_destroy(&barrier->mutex);
}

static void barrier_wait(struct tick_barrier *barrier, uint64_t round)
{
    for (uint32_t i = 0; i < SPIN_ROUNDS; i++) {
        if (atomic_load_explicit(&barrier->round, memory_order_acquire) != round) {
            return;
        }
    }
    pthread_mutex_lock(&barrier->mutex);
    while (atomic_load(&barrier->round) == round) {
        pthread_cond_wait(&barrier->all_arrived, &barrier->mutex);
    }
    pthread_mutex_unlock(&barrier->mutex);
}

struct tick_votes tick_barrier_meet(struct tick_barrier *barrier, struct tick_votes mine)
{
    pthread_mutex_lock(&barrier->mutex);
    uint64_t round = atomic_load(&barrier->round);
    barrier->gathering.rows |= mine.rows;
    barrier->gathering.failed |= mine.failed;
    barrier->gathering.ended &= mine.ended;
    if (++barrier->arrived == barrier->worker_count) {
        barrier->agreed = barrier->gathering;
        barrier->gathering = (struct tick_votes){.ended = true};
        barrier->arrived = 0;
        atomic_fetch_add_explicit(&barrier->round, 1, memory_order_release);
        pthread_cond_broadcast(&barrier->all_arrived);
        pthread_mutex_unlock(&barrier->mutex);
    } else {
        pthread_mutex_unlock(&barrier->mutex);
        barrier_wait(barrier, round);
    }
    /* The next round cannot complete, and so cannot change it, before this worker arrives again. */
    return barrier->agreed;
}
