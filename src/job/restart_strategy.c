#include "job/restart_strategy.h"

static bool fixed_delay(const struct restart_state *state, const struct restart_settings *settings, int64_t *delay_us)
{
    *delay_us = settings->delay_us;
    return state->failures <= (uint64_t)settings->attempts;
}

/* As many failures as are allowed within the interval, this one counted. */
static bool failure_rate(const struct restart_state *state, const struct restart_settings *settings, int64_t now_us, int64_t *delay_us)
{
    int64_t recent = 0;
    uint64_t known = state->failures < RESTART_FAILURES_MAX ? state->failures : RESTART_FAILURES_MAX;
    for (uint64_t i = 1; i <= known; i++) {
        recent += now_us - state->times_us[(state->failures - i) % RESTART_FAILURES_MAX] < settings->interval_us;
    }
    *delay_us = settings->rate_delay_us;
    return recent <= settings->failures && recent < RESTART_FAILURES_MAX;
}

static bool exponential_delay(struct restart_state *state, const struct restart_settings *settings, int64_t now_us, double random,
                              int64_t *delay_us)
{
    bool calm = state->delay_us != 0 && now_us - state->last_us >= settings->reset_us + state->delay_us;
    if (state->delay_us == 0 || calm) {
        state->delay_us = settings->initial_us;
        state->in_a_row = 0;
    } else {
        double next = (double)state->delay_us * settings->multiplier;
        state->delay_us = next > (double)settings->most_us ? settings->most_us : (int64_t)next;
    }
    state->last_us = now_us;
    double jittered = (double)state->delay_us * (1 + settings->jitter * (2 * random - 1));
    *delay_us = (int64_t)jittered;
    return ++state->in_a_row <= settings->backoffs;
}

bool restart_strategy_next(struct restart_state *state, const struct restart_settings *settings, int64_t now_us, double random,
                           int64_t *delay_us)
{
    state->times_us[state->failures++ % RESTART_FAILURES_MAX] = now_us;
    switch (settings->kind) {
    case RESTART_FIXED_DELAY:
        return fixed_delay(state, settings, delay_us);
    case RESTART_FAILURE_RATE:
        return failure_rate(state, settings, now_us, delay_us);
    case RESTART_EXPONENTIAL_DELAY:
        return exponential_delay(state, settings, now_us, random, delay_us);
    case RESTART_NONE:
        break;
    }
    return false;
}
