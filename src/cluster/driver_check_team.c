/* Many at once: processes of threads, or threads alone for a driver that is of one process. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/driver_check_trial.h"

enum { TEAM_PATIENCE_S = 600 };

struct team_thread {
    struct team_member member;
    team_fn run;
    pthread_t thread;
    bool failed;
};

void *trial_shared(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? NULL : shared;
}

void trial_unshare(void *shared, size_t bytes)
{
    if (shared != NULL) {
        munmap(shared, bytes);
    }
}

static void *thread_run(void *argument)
{
    struct team_thread *self = argument;
    self->failed = !self->run(&self->member);
    return NULL;
}

/* The threads of one process, with a session for all of them. */
static bool run_threads(struct trial *trial, uint32_t first, uint32_t count, team_fn run, void *shared)
{
    static struct team_thread threads[TRIAL_PROCESSES * TRIAL_THREADS];
    struct cluster_session *session;
    struct error err;
    uint32_t started = 0;
    if (cluster_open(trial->options->uri, trial->options->options, trial->options->option_count, NULL, &session, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    for (; started < count; started++) {
        threads[started] = (struct team_thread){.member = {trial, session, shared, first + started}, .run = run};
        if (pthread_create(&threads[started].thread, NULL, thread_run, &threads[started]) != 0) {
            break;
        }
    }
    bool fine = started == count;
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(threads[i].thread, NULL);
        fine = fine && !threads[i].failed;
    }
    cluster_close(session, true);
    return fine;
}

bool trial_team(struct trial *trial, uint32_t processes, uint32_t threads, team_fn run, void *shared)
{
    pid_t children[TRIAL_PROCESSES];
    if (trial->one_process) {
        return run_threads(trial, 0, processes * threads, run, shared);
    }
    fflush(NULL);
    for (uint32_t i = 0; i < processes; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            alarm(TEAM_PATIENCE_S);
            _exit(run_threads(trial, i * threads, threads, run, shared) ? 0 : 1);
        }
    }
    bool fine = true;
    for (uint32_t i = 0; i < processes; i++) {
        int ended;
        fine = children[i] > 0 && waitpid(children[i], &ended, 0) == children[i] && WIFEXITED(ended) && WEXITSTATUS(ended) == 0 && fine;
    }
    return fine;
}
