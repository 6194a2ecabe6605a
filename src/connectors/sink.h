/* connectors/sink.h: where rows go.
 *
 * For         tables that are written. One sink_type per connector name; a sink is one INSERT's writer on one worker.
 * Shape       write() gets consolidated batches of one tick, in any order; weights say insert or delete. finish_tick ends the tick:
 *             what was written so far may be shown. finish ends the input: everything is durable and shown when it returns.
 * Changes     `accepts` says what the sink takes: SINK_INSERTS only, SINK_UPSERTS (needs a primary key), SINK_RETRACTIONS. The planner
 *             refuses a stream that the sink does not take, and consolidates before every sink. For the order of the rows of an
 *             update (old before new) see circuit/operators/sink_node.h, which sets `kinds`.
 * Commit      A sink with `commit` writes exactly once in a job that has checkpoints (context.owner is set). Then nothing is shown but by
 *             committed(): finish_tick and finish only end files. Per checkpoint (numbers from 1), between ticks:
 *
 *                 prepare(n) --all parts of the checkpoint are stored--> committed(n)
 *
 *             What prepare(n) covered survives a crash from then on, is shown by committed(n), and not before. A checkpoint that fails is
 *             not committed; the next one covers what it did. The last one comes after finish().
 *             Restart: a sink that is opened by another process gets, on worker 0, restore() with each state that the workers' prepare(n)
 *             gave, n being the last checkpoint that is complete; then what n covered is shown, once, and what came after n is gone. Without
 *             `commit` what was written after the last checkpoint is written again: at least once.
 * Threads     One at a time.
 */
#ifndef SPATE_CONNECTORS_SINK_H
#define SPATE_CONNECTORS_SINK_H

#include "base/clock.h"
#include "formats/format.h"
#include "storage/file_system.h"

enum sink_accepts { SINK_INSERTS, SINK_UPSERTS, SINK_RETRACTIONS };
struct sink_context {
    struct arena *arena;
    struct budget *budget;
    const struct clock *clock;
    const struct time_zone *zone;
    const char *table;
    const struct type *row; /* all physical columns */
    const char *const *partition_columns;
    uint32_t partition_count;
    const uint32_t *primary_key;
    uint32_t primary_key_count;
    const struct table_options *options;
    void *attachment;
    uint32_t worker, worker_count;
    bool overwrite;
    const char *statement_id; /* unique per INSERT and attempt to run it, the same on all workers: for file names */
    /* Names the INSERT of a job that has checkpoints: the same in every attempt to run the job, of no other job. NULL: no checkpoints. */
    const char *owner;
    const char *task; /* of the owner's tasks, which write side by side; NULL: there is one. No '-' in it */
    uint32_t lineage; /* another each time the job begins anew (--fresh) */
    uint64_t saved;   /* no checkpoint up to this number has anything of what this attempt writes */
    /* 0: one process owns the job, for as long as it lives. Else it is a task that can get another owner at any time, of which this one
     * hears when its next checkpoint is refused; so both may be at work. All checkpoints of this owner have numbers from `saved` up to this,
     * those of later owners have higher ones. What a checkpoint lists is not written any more; what a later owner made is never touched. */
    uint64_t saved_end;
    const struct file_system *files; /* NULL: the real one */
    void **shared;                   /* a place of the INSERT's, for what its sinks share; NULL: there is one worker */
};
struct sink {
    const struct sink_type *type;
};
struct sink_commit {
    /* Appends to `state` what restore() needs (connectors/position.h). */
    enum status (*prepare)(struct sink *sink, uint64_t checkpoint, struct text_builder *state, struct error *err);
    /* Again for the same checkpoint: nothing more. */
    enum status (*committed)(struct sink *sink, uint64_t checkpoint, struct error *err);
    /* Before the first write. Again with the same state, also after a crash in the middle: the same outcome. */
    enum status (*restore)(struct sink *sink, struct text state, struct error *err);
};
struct sink_type {
    const char *name, *summary;
    const struct sink_commit *commit; /* NULL: at least once */
    bool keeps_nothing;               /* rows that it gets twice, or not, make no difference */
    bool any_order;                   /* changes may come unconsolidated and in any order (it does not look at them) */
    const struct option_def *options;
    size_t option_count, settings_bytes;
    /* What the sink takes with these options (e.g. by format). */
    enum status (*accepts)(const struct sink_context *context, const void *settings, enum sink_accepts *accepts, struct error *err);
    enum status (*open)(const struct sink_context *context, const void *settings, struct sink **sink, struct error *err);
    /* kinds[row] by physical row, for the selected rows. */
    enum status (*write)(struct sink *sink, const struct batch *batch, const uint8_t *kinds, struct error *err);
    /* watermark_us: no row that comes later has an event time up to it (WATERMARK_NONE, WATERMARK_END; data/batch.h). */
    enum status (*finish_tick)(struct sink *sink, int64_t watermark_us, struct error *err);
    enum status (*finish)(struct sink *sink, struct error *err);
    void (*close)(struct sink *sink); /* without finish: what was not shown is discarded */
    /* Sinks with `commit`: where a job may leave what was never shown, as a text; and removes it, once the job itself is removed. What is not
     * there (any more, or on this machine) is done. */
    enum status (*leaves)(const struct sink_context *context, const char **place, struct error *err);
    enum status (*discard)(const char *place, struct error *err);
    /* Why only one process can write the INSERT, as the rest of "orders ..."; it gives NULL: several can, each its rows. No function: they can. */
    const char *(*alone)(const struct sink_context *context);
};
const struct sink_type *sink_type_find(const char *name);
const struct sink_type *const *sink_type_list(uint32_t *count);
enum status sink_accepts(const struct sink_context *context, enum sink_accepts *accepts, struct error *err);
enum status sink_open(const struct sink_context *context, struct sink **sink, struct error *err);

#endif
