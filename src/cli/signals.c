#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
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

static void *signals_run(void *context)
{
    (void)context;
    sigset_t set = signal_set();
    int signal = 0;
    while (sigwait(&set, &signal) == 0) {
        if (signal == SIGUSR1) {
            atomic_store(&savepoint, true);
            continue;
        }
        if (atomic_load(&interrupted) || atomic_load(&terminated)) {
            _exit(128 + signal);
        }
        atomic_store(signal == SIGINT ? &interrupted : &terminated, true);
        pthread_mutex_lock(&watched_mutex);
        if (watched != NULL && signal == SIGINT) {
            spate_cancel(watched);
        }
        pthread_mutex_unlock(&watched_mutex);
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
