/* job/tick_stream.h: the ticks of a job as they come, in files that its standby reads.
 *
 * For         'high-availability.policy' = 'active' (checkpoint_follow.c). Not durable, and need not be: what a standby does not find there it
 *             takes from the last checkpoint.
 * Layout      <jobs' folder>/locks/<id>.ticks.<n>: what came after the cut of checkpoint n (0: since the job began), frames one after the
 *             other: a byte that says which, the length, the bytes. The last frame of a file is the cut of the next.
 *      begin    "workers=3 incarnation=...": the first of each file; of another process's life than the file before, it is another stream
 *      tick     job/tick_record.h
 *      cut      a number, then what each sink of each worker prepared: length and bytes. The next file has that number.
 *      done     a number: that checkpoint is complete
 *      beat     nothing: the process is there
 * Threads     The job's.
 */
#ifndef SPATE_JOB_TICK_STREAM_H
#define SPATE_JOB_TICK_STREAM_H

#include "base/error.h"
#include "base/text.h"

enum frame_kind { FRAME_BEGIN = 'B', FRAME_TICK = 'T', FRAME_CUT = 'C', FRAME_DONE = 'D', FRAME_BEAT = 'H' };
struct tick_stream {
    char path[4096]; /* without the number */
    int descriptor;  /* -1: none */
    uint64_t number;
    struct text_builder bytes; /* reader: what is not given yet, from `given` on; writer: the frame */
    size_t given;
};
/* A new file, in the place of one that is there. */
enum status tick_stream_create(struct tick_stream *stream, uint64_t number, struct text begin, struct error *err);
enum status tick_stream_write(struct tick_stream *stream, enum frame_kind kind, struct text bytes, struct error *err);
void tick_stream_remove(const struct tick_stream *stream, uint64_t number);
/* false: it is not there. */
bool tick_stream_open(struct tick_stream *stream, uint64_t number);
/* The next whole frame, lent until the next call; false: there is none now. */
bool tick_stream_read(struct tick_stream *stream, enum frame_kind *kind, struct text *bytes);
void tick_stream_close(struct tick_stream *stream);

#endif
