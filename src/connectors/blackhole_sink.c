/* blackhole: takes every change and does nothing with it. */
#include "connectors/built_in.h"

static enum status blackhole_accepts(const struct sink_context *context, const void *settings, enum sink_accepts *accepts,
                                     struct error *err)
{
    (void)context;
    (void)settings;
    (void)err;
    *accepts = SINK_RETRACTIONS;
    return STATUS_OK;
}

static enum status blackhole_open(const struct sink_context *context, const void *settings, struct sink **sink, struct error *err)
{
    (void)settings;
    TRY_ALLOC(*sink, arena_alloc(context->arena, sizeof **sink), err);
    (*sink)->type = &blackhole_sink_type;
    return STATUS_OK;
}

static enum status blackhole_write(struct sink *sink, const struct batch *batch, const uint8_t *kinds, struct error *err)
{
    (void)sink;
    (void)batch;
    (void)kinds;
    (void)err;
    return STATUS_OK;
}

static enum status blackhole_finish(struct sink *sink, struct error *err)
{
    (void)sink;
    (void)err;
    return STATUS_OK;
}

static enum status blackhole_finish_tick(struct sink *sink, int64_t watermark_us, struct error *err)
{
    (void)watermark_us;
    return blackhole_finish(sink, err);
}

static void blackhole_close(struct sink *sink)
{
    (void)sink;
}

const struct sink_type blackhole_sink_type = {
    .name = "blackhole",
    .summary = "Takes all rows and keeps none: for measuring.",
    .keeps_nothing = true,
    .accepts = blackhole_accepts,
    .open = blackhole_open,
    .write = blackhole_write,
    .finish_tick = blackhole_finish_tick,
    .finish = blackhole_finish,
    .close = blackhole_close,
};
