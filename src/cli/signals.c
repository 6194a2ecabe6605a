#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { SAME_REQUEST_MS = 300 };

static atomic_bool interrupted, terminated, savepoint;
static spate_session *watched;
static pthread_mutex_t watched_mutex = PTHREAD_MUTEX_INITIALIZER;

static sigset_t signal_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    return set;
}

static bool signals_stopping(void)
{
    return atomic_load(&interrupted) || atomic_load(&terminated);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* timeout(1) and other supervisors signal the process and then its group: the same signal twice is one request. */
static void signals_stop(int signal, int64_t *first_ms)
{
    atomic_bool *flag = signal == SIGINT ? &interrupted : &terminated;
    bool same_request = atomic_load(flag) && now_ms() - *first_ms < SAME_REQUEST_MS;
    if (signals_stopping() && !same_request) {
        _exit(128 + signal);
    }
    if (!same_request) {
        *first_ms = now_ms();
        atomic_store(flag, true);
    }
}

/* Said again and again: a statement that begins takes back what was said before it. */
static void signals_tell(void)
{
    pthread_mutex_lock(&watched_mutex);
    if (watched != NULL && atomic_load(&interrupted)) {
        spate_cancel(watched);
    }
    if (watched != NULL && atomic_load(&terminated)) {
        spate_cancel_planning(watched);
    }
    pthread_mutex_unlock(&watched_mutex);
}

static void *signals_run(void *context)
{
    (void)context;
    static const struct timespec again = {.tv_nsec = 100 * 1000 * 1000};
    sigset_t set = signal_set();
    int64_t first_ms = 0;
    while (true) {
        int signal = sigtimedwait(&set, NULL, signals_stopping() ? &again : NULL);
        if (signal == SIGUSR1) {
            atomic_store(&savepoint, true);
        } else if (signal > 0) {
            signals_stop(signal, &first_ms);
        }
        signals_tell();
    }
    return NULL;
}

void signals_start(spate_session *session)
{
    sigset_t set = signal_set();
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* threads started later inherit it */
    watched = session;
    pthread_t thread;
    if (pthread_create(&thread, NULL, signals_run, NULL) == 0) {
        pthread_detach(thread);
    }
}

void signals_end(void)
{
    pthread_mutex_lock(&watched_mutex);
    watched = NULL;
    pthread_mutex_unlock(&watched_mutex);
}

bool signals_interrupted(void)
{
    return atomic_load(&interrupted);
}

bool signals_terminated(void)
{
    return atomic_load(&terminated);
}

bool signals_savepoint(void)
{
    return atomic_exchange(&savepoint, false);
}
