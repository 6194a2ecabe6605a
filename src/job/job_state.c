#include "job/job_state.h"

#include <stdlib.h>

#include "job/job_internal.h"

/* ---- out ---- */

struct save {
    struct circuit *circuit;
    struct snapshot_writer *writer;
    pthread_t thread;
    bool started;
    enum status status;
    struct error error;
};

static void *save_worker(void *context)
{
    struct save *save = context;
    save->status = circuit_save(save->circuit, save->writer, &save->error);
    return NULL;
}

static void *save_thread(void *context)
{
    save_worker(context);
    buffer_trim();
    return NULL;
}

/* Each worker's circuit in a thread of its own, so that the stall is that of the largest. */
static enum status save_all(struct save *saves, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        saves[i].started = i > 0 && pthread_create(&saves[i].thread, NULL, save_thread, &saves[i]) == 0;
    }
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (saves[i].started) {
            pthread_join(saves[i].thread, NULL);
        } else {
            save_worker(&saves[i]);
        }
        if (status == STATUS_OK && saves[i].status != STATUS_OK) {
            status = saves[i].status;
            *err = saves[i].error;
        }
    }
    return status;
}

enum status job_save(struct job *job, bool full, uint64_t checkpoint, struct snapshot_writer **writers, struct error *err)
{
    struct save *saves = calloc(job->worker_count, sizeof *saves);
    if (saves == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a checkpoint");
    }
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < job->worker_count && status == STATUS_OK; i++) {
        status = snapshot_writer_create(job->workers[i].circuit->budget, full, checkpoint, &writers[i], err);
        saves[i] = (struct save){.circuit = job->workers[i].circuit, .writer = writers[i]};
    }
    status = status == STATUS_OK ? save_all(saves, job->worker_count, err) : status;
    free(saves);
    return status;
}

enum status job_committed(struct job *job, uint64_t checkpoint, struct error *err)
{
    for (uint32_t i = 0; i < job->worker_count; i++) {
        TRY(circuit_committed(job->workers[i].circuit, checkpoint, err));
    }
    return STATUS_OK;
}

/* ---- back ---- */

struct restore {
    const struct job_image *image;
    struct circuit *circuit;
    struct snapshot_reader *reader;
    pthread_t thread;
    bool started;
    enum status status;
    struct error error;
};

static enum status feed_reader(void *context, const void *bytes, size_t length, struct error *err)
{
    return snapshot_file_bytes(context, bytes, length, err);
}

static enum status restore_files(struct restore *restore, uint32_t chain, struct error *err)
{
    const struct job_image *image = restore->image;
    const struct object_sink sink = {.write = feed_reader, .context = restore->reader};
    for (uint32_t file = image->chains[chain].file_count; file-- > 0;) {
        snapshot_file_begin(restore->reader, image->chains[chain].files[file], file == 0);
        TRY(image->read(image->context, chain, file, &sink, err));
        TRY(snapshot_file_end(restore->reader, err));
    }
    return STATUS_OK;
}

/* All chains once; then those with tables that come after the others. */
static enum status restore_chains(struct restore *restore, struct snapshot_reader **readers, struct error *err)
{
    const struct job_image *image = restore->image;
    const struct snapshot_target target = circuit_restore_target(restore->circuit, image->ignore_unclaimed);
    for (uint32_t chain = 0; chain < image->chain_count; chain++) {
        TRY(snapshot_reader_create(&target, chain, &readers[chain], err));
        restore->reader = readers[chain];
        TRY(restore_files(restore, chain, err));
    }
    for (uint32_t chain = 0; chain < image->chain_count; chain++) {
        restore->reader = readers[chain];
        if (snapshot_wants_second_pass(restore->reader)) {
            TRY(restore_files(restore, chain, err));
        }
    }
    return circuit_restored(restore->circuit, err);
}

static void *restore_worker(void *context)
{
    struct restore *restore = context;
    uint32_t count = restore->image->chain_count;
    struct snapshot_reader **readers = calloc(count + 1, sizeof *readers);
    if (readers == NULL) {
        restore->status = error_set(&restore->error, ERROR_BUDGET_SPENT, "the system has no memory to restore a job");
        return NULL;
    }
    restore->status = restore_chains(restore, readers, &restore->error);
    for (uint32_t i = 0; i < count; i++) {
        snapshot_reader_destroy(readers[i]);
    }
    free(readers);
    return NULL;
}

static void *restore_thread(void *context)
{
    restore_worker(context);
    buffer_trim();
    return NULL;
}

enum status job_restore(struct job *job, const struct job_image *image, struct error *err)
{
    struct restore *restores = calloc(job->worker_count, sizeof *restores);
    if (restores == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to restore a job");
    }
    for (uint32_t i = 0; i < job->worker_count; i++) {
        restores[i].image = image;
        restores[i].circuit = job->workers[i].circuit;
        restores[i].started = i > 0 && pthread_create(&restores[i].thread, NULL, restore_thread, &restores[i]) == 0;
    }
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < job->worker_count; i++) {
        if (restores[i].started) {
            pthread_join(restores[i].thread, NULL);
        } else {
            restore_worker(&restores[i]);
        }
        if (status == STATUS_OK && restores[i].status != STATUS_OK) {
            status = restores[i].status;
            *err = restores[i].error;
        }
    }
    free(restores);
    return status;
}
