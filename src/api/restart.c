#include <stdlib.h>

#include "api/session.h"
#include "job/job_state.h"

/* The state of a job in memory: a file per worker. */
struct image {
    struct text_builder *files;
    struct job_chain *chains;
    uint32_t count;
};

static const char *const file_names[] = {"memory"};

static void image_close(struct image *image)
{
    for (uint32_t i = 0; i < image->count; i++) {
        text_builder_close(&image->files[i]);
    }
    free(image->files);
    free(image->chains);
}

static enum status put_bytes(void *context, const void *bytes, size_t length, struct error *err)
{
    struct text_builder *file = context;
    text_append(file, bytes, length);
    return file->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the state of a job") : STATUS_OK;
}

static enum status read_bytes(void *context, uint32_t chain, uint32_t file, const struct object_sink *sink, struct error *err)
{
    (void)file;
    const struct image *image = context;
    return sink->write(sink->context, image->files[chain].bytes, image->files[chain].length, err);
}

static enum status image_fill(struct image *image, struct snapshot_writer **writers, struct error *err)
{
    for (uint32_t i = 0; i < image->count; i++) {
        image->chains[i] = (struct job_chain){file_names, 1};
        TRY(snapshot_finish(writers[i], put_bytes, &image->files[i], err));
    }
    return STATUS_OK;
}

static enum status image_take(struct job *job, uint32_t number, struct image *image, struct error *err)
{
    uint32_t count = job_worker_count(job);
    struct snapshot_writer **writers = calloc(count, sizeof *writers);
    *image = (struct image){calloc(count, sizeof *image->files), calloc(count, sizeof *image->chains), count};
    enum status status = STATUS_OK;
    if (writers == NULL || image->files == NULL || image->chains == NULL) {
        image->count = 0;
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for the state of a job");
    }
    if (status == STATUS_OK) {
        status = job_save(job, &(struct job_saving){.checkpoint = number, .full = true}, writers, err);
    }
    if (status == STATUS_OK) {
        status = image_fill(image, writers, err);
    }
    for (uint32_t i = 0; writers != NULL && i < count; i++) {
        snapshot_writer_destroy(writers[i]);
    }
    free(writers);
    return status;
}

enum status result_restart(spate_result *result, struct error *err)
{
    const struct session_settings *settings = &result->session->settings.values;
    uint32_t other = (uint32_t)settings->restart_parallelism;
    uint32_t next = other > 0 && job_worker_count(result->job) != other ? other : (uint32_t)settings->parallelism;
    struct image image;
    enum status status = image_take(result->job, result->attempts + 1, &image, err);
    if (status == STATUS_OK) {
        job_destroy(result->job);
        plan_close(result->plan);
        result->job = NULL;
        result->plan = NULL;
        result->ticks = 0;
        status = statement_start_again(result, next, err);
    }
    if (status == STATUS_OK) {
        const struct job_image restored = {.chains = image.chains, .chain_count = image.count, .read = read_bytes, .context = &image};
        bool adopted;
        status = job_restore(result->job, &restored, &adopted, err);
    }
    image_close(&image);
    return status;
}

enum status result_end_restarts(spate_result *result, struct error *err)
{
    struct image image;
    uint32_t number = result->attempts + 1;
    enum status status = image_take(result->job, number, &image, err);
    image_close(&image);
    return status == STATUS_OK ? job_committed(result->job, number, err) : status;
}
