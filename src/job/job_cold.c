/* The databases of a job's workers: where they lie, and what memory they have. */
#include <stdlib.h>

#include "job/job_internal.h"
#include "state/cold_folder.h"

enum { COLD_BYTES_MIN = 4 << 20 };

static enum status open_worker(struct job *job, uint32_t worker, uint64_t number, struct cold_db **db, struct error *err)
{
    char path[COLD_PATH_MAX];
    cold_folder_path(job->cold_folder, worker, number, path);
    const struct cold_options options = {
        .folder = path, .memory_bytes = job->cold_bytes / job->worker_count, .compression = job->settings.cold.compression};
    return job->cold_driver->open(&options, db, err);
}

static void use_database(struct worker *worker, struct cold_db *db)
{
    struct cold_db *before = worker->cold;
    worker->cold = worker->circuit->cold = db;
    worker->circuit->cold_evict_all = worker->job->settings.cold.evict_all;
    if (before != NULL) {
        before->driver->close(before);
    }
}

/* A share of what is left: several jobs of a process each take less than the one before, and none finds nothing. */
static enum status charge_memory(struct job *job, struct error *err)
{
    size_t limit = job->budget->limit_bytes == BUDGET_UNLIMITED ? budget_default_limit() : job->budget->limit_bytes;
    size_t used = atomic_load(&job->budget->used_bytes);
    size_t bytes = (size_t)((double)(limit > used ? limit - used : 0) * job->settings.cold.memory_share);
    size_t least = (size_t)COLD_BYTES_MIN * job->worker_count;
    bytes = bytes < least ? least : bytes;
    if (!budget_charge(job->budget, bytes)) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the databases of state of %u workers, %d MB each", job->worker_count,
                         COLD_BYTES_MIN >> 20);
    }
    job->cold_bytes = bytes;
    return STATUS_OK;
}

static bool has_use(const struct circuit *circuit)
{
    bool found = false;
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        found = found || circuit->nodes[i]->type->open_cold != NULL;
    }
    return found;
}

enum status job_cold_open(struct job *job, struct error *err)
{
    const struct cold_settings *settings = &job->settings.cold;
    if (settings->driver == NULL || !has_use(job->workers[0].circuit)) {
        return STATUS_OK;
    }
    TRY(cold_driver_find(settings->driver, &job->cold_driver, err));
    TRY(cold_folder_open(settings->where, &job->cold_folder, err));
    TRY(charge_memory(job, err));
    for (uint32_t i = 0; i < job->worker_count; i++) {
        struct cold_db *db;
        TRY(open_worker(job, i, 0, &db, err));
        use_database(&job->workers[i], db);
    }
    return STATUS_OK;
}

enum status job_cold_replace(struct job *job, uint32_t worker, uint64_t number, struct error *err)
{
    struct cold_db *db;
    TRY(open_worker(job, worker, number, &db, err));
    use_database(&job->workers[worker], db);
    char before[COLD_PATH_MAX];
    cold_folder_path(job->cold_folder, worker, 0, before);
    cold_remove_tree(before);
    return STATUS_OK;
}

void job_cold_close(struct job *job)
{
    for (uint32_t i = 0; i < job->worker_count; i++) {
        if (job->workers[i].cold != NULL) {
            job->cold_driver->close(job->workers[i].cold);
        }
    }
    cold_folder_close(job->cold_folder);
    budget_release(job->budget, job->cold_bytes);
}
