#include "job/tick_barrier.h"

void tick_barrier_init(struct tick_barrier *barrier, uint32_t worker_count)
{
    pthread_mutex_init(&barrier->mutex, NULL);
    wakeup_init(&barrier->all_arrived);
    barrier->worker_count = worker_count;
    barrier->arrived = 0;
    barrier->gathering = (struct tick_votes){.ended = true};
}

void tick_barrier_destroy(struct tick_barrier *barrier)
{
    wakeup_destroy(&barrier->all_arrived);
    pthread_mutex_destroy(&barrier->mutex);
}

struct tick_votes tick_barrier_meet(struct tick_barrier *barrier, struct tick_votes mine)
{
    pthread_mutex_lock(&barrier->mutex);
    uint64_t round = wakeup_read(&barrier->all_arrived);
    barrier->gathering.rows |= mine.rows;
    barrier->gathering.failed |= mine.failed;
    barrier->gathering.ended &= mine.ended;
    if (++barrier->arrived == barrier->worker_count) {
        barrier->agreed = barrier->gathering;
        barrier->gathering = (struct tick_votes){.ended = true};
        barrier->arrived = 0;
        pthread_mutex_unlock(&barrier->mutex);
        wakeup_signal(&barrier->all_arrived);
    } else {
        pthread_mutex_unlock(&barrier->mutex);
        wakeup_wait_soon(&barrier->all_arrived, round);
    }
    /* The next round cannot complete, and so cannot change it, before this worker arrives again. */
    return barrier->agreed;
}
