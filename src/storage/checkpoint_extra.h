/* storage/checkpoint_extra.h: what a job notes in its checkpoints' manifests besides the files (docs/state-format.md, `extra`).
 *
 * For         job/, which writes it and goes on by it; whoever says how a job stands.
 * Invariants  Members that an older checkpoint lacks are zero.
 * Ownership   Texts are in the arena.
 * Errors      STORE_CORRUPT: a member is something else than it can be.
 */
#ifndef SPATE_STORAGE_CHECKPOINT_EXTRA_H
#define SPATE_STORAGE_CHECKPOINT_EXTRA_H

#include "storage/checkpoints.h"

struct checkpoint_extra {
    bool ended;         /* all input was read */
    const char *policy; /* what the checkpoint holds; NULL: not said, "passive" */
    uint32_t lineage, workers;
    uint64_t ticks;
    uint64_t edits;     /* rank in the control log through which edits were applied before it (job/edits.h) */
    uint64_t databases; /* identity of the job that can take its databases as they are */
    /* Of a task that has a commit record: the checkpoint that it named when this one was stored; 0: none. Which of them counts now, the
     * record says. */
    uint64_t counted;
};
enum status checkpoint_extra_read(const struct checkpoint_manifest *manifest, struct arena *arena, struct checkpoint_extra *extra,
                                  struct error *err);
/* As manifest.extra. */
enum status checkpoint_extra_write(const struct checkpoint_extra *extra, struct arena *arena, const char **text, struct error *err);

#endif
