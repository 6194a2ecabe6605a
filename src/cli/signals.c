#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

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
    while (true) {
        int signal = sigtimedwait(&set, NULL, signals_stopping() ? &again : NULL);
        if (signal == SIGUSR1) {
            atomic_store(&savepoint, true);
        } else if (signal > 0 && signals_stopping()) {
            _exit(128 + signal);
        } else if (signal > 0) {
            atomic_store(signal == SIGINT ? &interrupted : &terminated, true);
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
