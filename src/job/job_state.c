#include "job/job_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "job/file_relay.h"
#include "job/job_internal.h"
#include "job/restore_queue.h"

/* ---- all workers side by side ---- */

typedef enum status circuit_task(void *context, struct circuit *circuit, struct error *err);
struct share { /* of one worker */
    struct circuit *circuit;
    circuit_task *run;
    void *context;
    pthread_t thread;
    bool started;
    enum status status;
    struct error error;
};

static void *share_run(void *context)
{
    struct share *share = context;
    share->status = share->run(share->context, share->circuit, &share->error);
    return NULL;
}

static void *share_thread(void *context)
{
    share_run(context);
    buffer_trim();
    return NULL;
}

/* Each worker's circuit in a thread of its own, so that it takes as long as the largest. The error of the first that fails. */
static enum status for_each_circuit(struct job *job, circuit_task *run, void *context, struct error *err)
{
    struct share *shares = calloc(job->worker_count, sizeof *shares);
    if (shares == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for the state of a job");
    }
    for (uint32_t i = 0; i < job->worker_count; i++) {
        shares[i] = (struct share){.circuit = job->workers[i].circuit, .run = run, .context = context};
        shares[i].started = i > 0 && pthread_create(&shares[i].thread, NULL, share_thread, &shares[i]) == 0;
    }
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < job->worker_count; i++) {
        if (shares[i].started) {
            pthread_join(shares[i].thread, NULL);
        } else {
            share_run(&shares[i]);
        }
        if (status == STATUS_OK && shares[i].status != STATUS_OK) {
            status = shares[i].status;
            *err = shares[i].error;
        }
    }
    free(shares);
    return status;
}

/* ---- out ---- */

struct saving {
    struct job *job;
    const struct job_saving *wanted;
    struct snapshot_writer **writers;
};

static enum status save_circuit(void *context, struct circuit *circuit, struct error *err)
{
    const struct saving *saving = context;
    circuit->cold_checkpoint = saving->wanted->databases;
    return circuit_save(circuit, saving->writers[circuit->worker], err);
}

static enum status link_database(void *context, struct circuit *circuit, struct error *err)
{
    const struct saving *saving = context;
    char path[COLD_PATH_MAX];
    cold_folder_path(saving->job->cold_folder, circuit->worker, saving->wanted->checkpoint, path);
    return circuit->cold->driver->checkpoint(circuit->cold, path, err);
}

enum status job_save(struct job *job, const struct job_saving *saving, struct snapshot_writer **writers, bool *databases, struct error *err)
{
    for (uint32_t i = 0; i < job->worker_count; i++) {
        const struct circuit *circuit = job->workers[i].circuit;
        TRY(snapshot_writer_create(circuit->budget, saving->full, saving->checkpoint, &writers[i], err));
        snapshot_set_worker(writers[i], i, job->worker_count, circuit->settings.max_parallelism);
        if (saving->put != NULL) {
            TRY(snapshot_stream(writers[i], saving->put, saving->put_contexts[i], err));
        } else if (saving->defers && circuit->cold == NULL) { /* rows that wait to be handed over may not leave memory */
            snapshot_allow_deferred(writers[i]);
        }
    }
    struct saving all = {job, saving, writers};
    TRY(for_each_circuit(job, save_circuit, &all, err));
    bool in_use = false;
    for (uint32_t i = 0; i < job->worker_count; i++) {
        in_use = in_use || job->workers[i].circuit->cold_in_use;
    }
    *databases = saving->databases && in_use;
    return *databases ? for_each_circuit(job, link_database, &all, err) : STATUS_OK;
}

struct saving_more {
    struct job *job;
    struct snapshot_writer **writers;
    int64_t until_us;
    atomic_bool more;
};

static enum status save_more(void *context, struct circuit *circuit, struct error *err)
{
    struct saving_more *saving = context;
    bool more = true;
    do {
        TRY(snapshot_take_deferred(saving->writers[circuit->worker], &more, err));
    } while (more && circuit->clock->monotonic_us(circuit->clock) < saving->until_us);
    if (more) {
        atomic_store(&saving->more, true);
    }
    return STATUS_OK;
}

enum status job_save_more(struct job *job, struct snapshot_writer **writers, int64_t until_us, bool *more, struct error *err)
{
    struct saving_more saving = {.job = job, .writers = writers, .until_us = until_us};
    enum status status = for_each_circuit(job, save_more, &saving, err);
    *more = atomic_load(&saving.more);
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

static enum status feed_reader(void *context, const void *bytes, size_t length, struct error *err)
{
    return snapshot_file_bytes(context, bytes, length, err);
}

static enum status restore_chain(const struct job_image *image, uint32_t chain, struct snapshot_reader *reader, struct error *err)
{
    const struct object_sink sink = {.write = feed_reader, .context = reader};
    for (uint32_t file = image->chains[chain].file_count; file-- > 0;) {
        snapshot_file_begin(reader, image->chains[chain].files[file], file == 0);
        TRY(image->read(image->context, chain, file, &sink, err));
        TRY(snapshot_file_end(reader, err));
    }
    return STATUS_OK;
}

/* All chains once; then those with tables that come after the others. */
static enum status read_chains(const struct job_image *image, const struct snapshot_target *target, struct snapshot_reader **readers,
                               struct error *err)
{
    for (uint32_t chain = 0; chain < image->chain_count; chain++) {
        TRY(snapshot_reader_create(target, chain, &readers[chain], err));
        TRY(restore_chain(image, chain, readers[chain], err));
    }
    for (uint32_t chain = 0; chain < image->chain_count; chain++) {
        if (snapshot_wants_second_pass(readers[chain])) {
            TRY(restore_chain(image, chain, readers[chain], err));
        }
    }
    return STATUS_OK;
}

static enum status read_image(void *context, const struct snapshot_target *target, struct error *err)
{
    const struct job_image *image = context;
    struct snapshot_reader **readers = calloc(image->chain_count + 1, sizeof *readers);
    if (readers == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to restore a job");
    }
    enum status status = read_chains(image, target, readers, err);
    for (uint32_t i = 0; i < image->chain_count; i++) {
        snapshot_reader_destroy(readers[i]);
    }
    free(readers);
    return status;
}

struct restoring {
    const struct job_image *image;
    struct file_relay *relay; /* NULL: there is one worker */
};
struct relayed {
    struct file_relay *relay;
    uint32_t worker;
};

static enum status read_relayed(void *context, uint32_t chain, uint32_t file, const struct object_sink *sink, struct error *err)
{
    const struct relayed *relayed = context;
    return file_relay_read(relayed->relay, relayed->worker, chain, file, sink, err);
}

static enum status restore_circuit(void *context, struct circuit *circuit, struct error *err)
{
    const struct restoring *restoring = context;
    struct job_image image = *restoring->image;
    struct relayed relayed = {restoring->relay, circuit->worker};
    const struct snapshot_target target = circuit_restore_target(circuit, image.ignore_unclaimed);
    if (restoring->relay != NULL) {
        image.read = read_relayed;
        image.context = &relayed;
        file_relay_join(restoring->relay, circuit->worker);
    }
    enum status status = restore_ahead(&target, read_image, &image, err);
    if (restoring->relay != NULL) {
        file_relay_leave(restoring->relay, circuit->worker);
    }
    TRY(status);
    return circuit_restored(circuit, err);
}

static enum status restore_circuits(struct job *job, const struct job_image *image, struct error *err)
{
    struct restoring restoring = {.image = image};
    if (job->worker_count > 1 && image->chain_count > 0) {
        TRY(file_relay_open(image, job->worker_count, &restoring.relay, err));
    }
    enum status status = for_each_circuit(job, restore_circuit, &restoring, err);
    file_relay_close(restoring.relay);
    return status;
}

/* ---- databases ---- */

struct adoption {
    struct job *job;
    const struct job_image *image;
};

/* A fetched copy takes the place of the database that the job was made with, under a name that none of its checkpoints will have. */
static enum status adopt_database(void *context, struct circuit *circuit, struct error *err)
{
    const struct adoption *adoption = context;
    char path[COLD_PATH_MAX];
    cold_folder_path(adoption->job->cold_folder, circuit->worker, UINT64_MAX, path);
    TRY(cold_files_fetch(&adoption->image->databases[circuit->worker], path, err));
    return job_cold_replace(adoption->job, circuit->worker, UINT64_MAX, err);
}

struct exported { /* databases as chains, behind those of the image */
    const struct job_image *image;
    struct cold_folder *folder;
    struct job_chain *chains;
    FILE **rows;
};

static enum status read_exported(void *context, uint32_t chain, uint32_t file, const struct object_sink *sink, struct error *err)
{
    const struct exported *exported = context;
    const struct job_image *image = exported->image;
    return chain < image->chain_count ? image->read(image->context, chain, file, sink, err)
                                      : cold_rows_stream(exported->rows[chain - image->chain_count], sink, err);
}

static enum status export_all(struct exported *exported, struct budget *budget, struct error *err)
{
    const struct job_image *image = exported->image;
    assert(exported->chains != NULL);
    for (uint32_t i = 0; i < image->chain_count; i++) {
        exported->chains[i] = image->chains[i];
    }
    for (uint32_t i = 0; i < image->database_count; i++) {
        exported->chains[image->chain_count + i] = (struct job_chain){&image->databases[i].table->name, 1};
        TRY(cold_files_export(&image->databases[i], exported->folder, i, budget, &exported->rows[i], err));
    }
    return STATUS_OK;
}

static enum status restore_exported(struct job *job, struct exported *exported, struct error *err)
{
    struct job_image image = *exported->image;
    TRY(export_all(exported, job->budget, err));
    image.chains = exported->chains;
    image.chain_count += image.database_count;
    image.read = read_exported;
    image.context = exported;
    return restore_circuits(job, &image, err);
}

static enum status restore_foreign(struct job *job, const struct job_image *image, struct error *err)
{
    struct exported exported = {.image = image,
                                .chains = calloc(image->chain_count + image->database_count, sizeof *exported.chains),
                                .rows = calloc(image->database_count, sizeof(FILE *))};
    enum status status = exported.chains == NULL || exported.rows == NULL
                             ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to restore a job")
                             : cold_folder_open(job->settings.cold.where, &exported.folder, err);
    if (status == STATUS_OK) {
        status = restore_exported(job, &exported, err);
    }
    for (uint32_t i = 0; exported.rows != NULL && i < image->database_count; i++) {
        if (exported.rows[i] != NULL) {
            fclose(exported.rows[i]);
        }
    }
    cold_folder_close(exported.folder);
    free(exported.rows);
    free(exported.chains);
    return status;
}

const struct cold_driver *job_database_driver(const struct job *job)
{
    return job->cold_driver;
}

struct cold_folder *job_share_folder(struct job *job)
{
    return job->cold_folder == NULL ? NULL : cold_folder_share(job->cold_folder);
}

uint64_t job_database_identity(const struct job *job)
{
    const struct circuit *circuit = job->workers[0].circuit;
    uint64_t identity = hash_combine(hash_combine(COLD_FORMAT, job->worker_count), circuit->settings.max_parallelism);
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        const struct node *node = circuit->nodes[i];
        if (node->id != NULL) {
            identity = hash_combine(identity, hash_bytes(node->id, strlen(node->id)));
        }
    }
    return identity;
}

static bool can_adopt(const struct job *job, const struct job_image *image)
{
    return job->cold_driver != NULL && image->database_count == job->worker_count && image->database_identity == job_database_identity(job);
}

enum status job_restore(struct job *job, const struct job_image *image, bool *adopted, struct error *err)
{
    *adopted = image->database_count > 0 && can_adopt(job, image);
    if (image->database_count > 0 && !*adopted) {
        return restore_foreign(job, image, err);
    }
    if (*adopted) {
        TRY(for_each_circuit(job, adopt_database, &(struct adoption){job, image}, err));
    }
    return restore_circuits(job, image, err);
}
