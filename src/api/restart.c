#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "job/job_state.h"

/* The state of a job in memory: a file per worker. With databases, every other time these as they are, on local disk. */
struct image {
    struct text_builder *files;
    struct job_chain *chains;
    uint32_t count;
    struct cold_folder *folder; /* NULL: the files have all rows */
    struct arena *arena;        /* of what follows */
    struct cold_source *databases;
    uint64_t identity;
};

static const char *const file_names[] = {"memory"};

static void image_close(struct image *image)
{
    for (uint32_t i = 0; i < image->count; i++) {
        text_builder_close(&image->files[i]);
    }
    free(image->files);
    free(image->chains);
    cold_folder_close(image->folder);
    if (image->arena != NULL) {
        arena_destroy(image->arena);
    }
}

/* ---- databases ---- */

static enum status stream_file(void *context, const struct checkpoint_file *file, const struct object_sink *sink, struct error *err)
{
    (void)context;
    FILE *opened = fopen(file->key, "re");
    if (opened == NULL) {
        return error_set(err, ERROR_STATE_DISK, "cannot open '%s': %s", file->key, strerror(errno));
    }
    enum status status = cold_rows_stream(opened, sink, err);
    fclose(opened);
    return status;
}

static enum status list_files(struct arena *arena, const char *path, struct checkpoint_table *table, struct error *err)
{
    enum { FILES_MAX = 4096 };
    struct checkpoint_file *files;
    DIR *listing = opendir(path);
    enum status status = STATUS_OK;
    if (listing == NULL) {
        return error_set(err, ERROR_STATE_DISK, "cannot read '%s': %s", path, strerror(errno));
    }
    files = arena_alloc(arena, FILES_MAX * sizeof *files);
    for (struct dirent *at; files != NULL && status == STATUS_OK && (at = readdir(listing)) != NULL && table->file_count < FILES_MAX;) {
        if (at->d_name[0] != '.') {
            struct checkpoint_file *file = &files[table->file_count++];
            file->key = arena_format(arena, "%s/%s", path, at->d_name);
            file->name = arena_text(arena, at->d_name, strlen(at->d_name));
            status = file->key == NULL || file->name == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for names of files") : STATUS_OK;
        }
    }
    closedir(listing);
    table->files = files;
    return status != STATUS_OK || files != NULL ? status : error_set(err, ERROR_BUDGET_SPENT, "no room for names of files");
}

static enum status note_databases(struct image *image, struct job *job, uint64_t number, struct error *err)
{
    image->identity = job_database_identity(job);
    TRY_ALLOC(image->arena, arena_create(NULL, "databases"), err);
    TRY_ALLOC(image->databases, arena_alloc(image->arena, image->count * sizeof *image->databases), err);
    for (uint32_t i = 0; i < image->count; i++) {
        char path[COLD_PATH_MAX];
        struct checkpoint_table *table;
        TRY_ALLOC(table, arena_alloc(image->arena, sizeof *table), err);
        cold_folder_path(image->folder, i, number, path);
        *table = (struct checkpoint_table){.kind = "sst"};
        TRY_ALLOC(table->name, arena_format(image->arena, "%s-%u", job_database_driver(job)->name, i), err);
        TRY(list_files(image->arena, path, table, err));
        image->databases[i] = (struct cold_source){table, stream_file, NULL};
    }
    return STATUS_OK;
}

/* ---- files ---- */

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
    *image = (struct image){.files = calloc(count, sizeof *image->files), .chains = calloc(count, sizeof *image->chains), .count = count};
    enum status status = STATUS_OK;
    if (writers == NULL || image->files == NULL || image->chains == NULL) {
        image->count = 0;
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for the state of a job");
    }
    if (status == STATUS_OK) {
        struct job_saving saving = {.checkpoint = number, .full = true, .databases = job_database_driver(job) != NULL && number % 2 == 0};
        bool databases;
        status = job_save(job, &saving, writers, &databases, err);
        image->folder = status == STATUS_OK && databases ? job_share_folder(job) : NULL;
    }
    if (status == STATUS_OK && image->folder != NULL) {
        status = note_databases(image, job, number, err);
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
        const struct job_image restored = {.chains = image.chains,
                                           .chain_count = image.count,
                                           .read = read_bytes,
                                           .context = &image,
                                           .databases = image.databases,
                                           .database_count = image.folder == NULL ? 0 : image.count,
                                           .database_identity = image.identity};
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
