/* What is removed when a checkpoint is stored: those that are too many, and the files that only they named. By the thread that stores: a
 * removal waits for the disk. */
#include <string.h>

#include "job/checkpointer_internal.h"

/* Files of generations that no kept checkpoint names. This process alone may write or remove them: what it cannot remove is swept later. */
static void drop_generations(struct checkpointer *self)
{
    uint64_t oldest = self->retained_count > 0 ? self->retained[0] : 0;
    while (self->generation_count > 1 && self->generations[0].last_number < oldest) {
        struct generation *generation = &self->generations[0];
        for (uint32_t i = 0; i < generation->chain_count; i++) {
            for (uint32_t f = 0; f < generation->chains[i].count; f++) {
                struct error ignored;
                (void)!checkpoint_remove_file(self->spec.storage, self->id, &generation->chains[i].files[f], &ignored);
            }
        }
        checkpoint_generation_close(generation);
        self->generation_count--;
        memmove(self->generations, self->generations + 1, self->generation_count * sizeof *self->generations);
    }
}

/* A savepoint that the job began with and owns is one of the checkpoints that are kept, the oldest. One that cannot be removed stays: it is
 * no reason to stop. */
static void drop_savepoint(struct checkpointer *self)
{
    bool replaced = self->pending.ended || self->retained_count >= (uint32_t)self->spec.settings.retained;
    if (self->from_savepoint && self->spec.settings.claims && !self->spec.settings.savepoint_only && !self->claimed && replaced) {
        struct error ignored;
        enum object_result result;
        self->claimed = true;
        (void)!savepoint_delete(self->spec.storage, self->id, self->spec.settings.restore_from, &result, &ignored);
    }
}

enum status checkpoint_prune(struct checkpointer *self, struct error *err)
{
    uint32_t keep = (uint32_t)self->spec.settings.retained;
    self->retained[self->retained_count++] = self->pending.number;
    while (self->retained_count > keep) {
        enum object_result result;
        TRY(checkpoint_remove(self->spec.storage, self->id, self->task, self->retained[0], &result, err));
        self->retained_count--;
        memmove(self->retained, self->retained + 1, self->retained_count * sizeof *self->retained);
    }
    if (checkpointer_is_task(self)) {
        TRY(checkpoint_task_prune(self, err));
    }
    drop_savepoint(self);
    checkpoint_drop_databases(self, self->retained_count > 0 ? self->retained[0] : 0);
    drop_generations(self);
    return STATUS_OK;
}
