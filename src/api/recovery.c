/* A job that fails for a reason that may pass is planned and started again from its last checkpoint, in this process. What its sinks showed
 * and its sources read after that checkpoint is undone by the restore, as after a crash. */
#include <string.h>
#include <unistd.h>

#include "api/session.h"
#include "base/cancel.h"
#include "base/random.h"
#include "state/saved_state.h"
#include "storage/job_definition.h"

static int64_t now_us(const spate_result *result)
{
    const struct clock *clock = result->session->clock;
    return clock->monotonic_us(clock);
}

/* A job that has never done anything would fail in the same way again: that is the user's to know at once. */
static bool may_recover(const spate_result *result, enum status status)
{
    return status == STATUS_UNAVAILABLE && result->worked && result->durable && !result->stopping &&
           !atomic_load(&result->session->cancelled) && result->session->share == NULL; /* coordination starts a task again */
}

void recovery_close_attempt(spate_result *result)
{
    edits_close(result->edits); /* the checkpoint that it goes on from says which edits come again */
    result->edits = NULL;
    result->paused = false;
    result->message = "";                     /* it was the checkpointer's */
    checkpointer_close(result->checkpointer); /* before the job, whose memory its thread reads */
    result->checkpointer = NULL;
    job_destroy(result->job);
    result->job = NULL;
    if (result->plan != NULL) {
        plan_close(result->plan);
    }
    result->plan = NULL;
}

bool recovery_begin(spate_result *result, enum status status, const struct error *err)
{
    spate_session *session = result->session;
    const struct restart_settings settings = settings_restarts(&session->settings);
    struct random_source random;
    int64_t delay_us;
    if (result->job != NULL) {
        result->worked = result->worked || job_ticks(result->job) > 0;
    }
    random_open(&random, 0);
    double share = (double)(random_next(&random) >> 11) / 9007199254740992.0;
    if (!may_recover(result, status) || !restart_strategy_next(&result->recovery, &settings, now_us(result), share, &delay_us)) {
        return false;
    }
    journal_event(result->journal, LOG_ERROR, "job.fail", "%s", err->text);
    recovery_close_attempt(result);
    result->recovering = true;
    result->recover_at_us = now_us(result) + delay_us;
    session_tell(session, "job '%s' failed: %s", result->job_name, err->text);
    session_tell(session, "job '%s' is started again in %.1f s from its last checkpoint (restart %llu)", result->job_name,
                 (double)delay_us / 1000000, (unsigned long long)result->recovery.failures);
    return true;
}

void recovery_follow_again(spate_result *result, const struct error *err)
{
    enum { PAUSE_US = 500000 };
    session_tell(result->session, "the standby of job '%s' begins again: %s", result->job_name, err->text);
    recovery_close_attempt(result);
    result->recovering = true;
    result->recover_at_us = now_us(result) + PAUSE_US;
}

/* Stopped while it waited: its last checkpoint is where it goes on when it is run again. */
static enum status end_waiting(spate_result *result, int *step)
{
    result->recovering = false;
    result->state = JOB_ENDED;
    *step = SPATE_STEP_ENDED;
    return STATUS_OK;
}

/* `spate job stop` and `kill` find nobody to ask while the job waits, but mark its record. What cannot be read is seen by the attempt. */
static bool is_stopped_meanwhile(const spate_result *result)
{
    struct arena *arena = arena_create(&result->session->budget, "record of a job");
    struct job_record record;
    struct error err;
    bool stopped = arena != NULL && job_find(result->session->storage, result->job_name, arena, &record, &err) == STATUS_OK &&
                   (record.desired == DESIRED_STOPPED || record.desired == DESIRED_KILLED);
    arena_destroy(arena);
    return stopped;
}

static enum status start_again(spate_result *result, struct error *err)
{
    enum status status = statement_start_again(result, 0, err);
    if (status != STATUS_OK) {
        struct error failure = *err;
        if (recovery_begin(result, status, &failure)) {
            return STATUS_OK;
        }
        result->recovering = false;
        result->state = JOB_FAILED;
        recovery_close_attempt(result);
        return status;
    }
    result->recovering = false;
    journal_event(result->journal, LOG_WARN, "job.restart", "restart %llu: %s", (unsigned long long)result->recovery.failures,
                  result->message);
    session_tell(result->session, "%s", result->message[0] != '\0' ? result->message : "the job begins anew: it had no checkpoint yet");
    return STATUS_OK;
}

enum status recovery_step(spate_result *result, int64_t wait_ms, int *step, struct error *err)
{
    *step = SPATE_STEP_IDLE;
    TRY(cancel_check(&result->session->cancelled, err));
    if (result->stopping) {
        return end_waiting(result, step);
    }
    int64_t left_us = result->recover_at_us - now_us(result);
    if (left_us > 0) {
        usleep((useconds_t)(left_us < wait_ms * 1000 ? left_us : wait_ms * 1000));
        return STATUS_OK;
    }
    if (is_stopped_meanwhile(result)) {
        session_tell(result->session, "job '%s' is not started again: it was stopped from outside", result->job_name);
        return end_waiting(result, step);
    }
    return start_again(result, err);
}
