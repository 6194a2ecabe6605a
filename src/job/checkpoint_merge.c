/* The merged file goes through a temporary file, so that memory does not grow with the state. It takes effect with the next manifest. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/checkpointer_internal.h"
#include "job/job_internal.h"

enum status checkpoint_note_operators(struct checkpointer *self, struct job *job, struct error *err)
{
    self->operator_workers = job->worker_count;
    self->max_parallelism = job->settings.pipeline.max_parallelism;
    TRY_ALLOC(self->operators, arena_alloc(self->arena, job->worker_count * sizeof *self->operators), err);
    for (uint32_t w = 0; w < job->worker_count; w++) {
        const struct circuit *circuit = job->workers[w].circuit;
        struct chain_operators *chain = &self->operators[w];
        TRY_ALLOC(chain->operators, arena_alloc(self->arena, (circuit->node_count + 1) * sizeof *chain->operators), err);
        chain->count = 0;
        for (uint32_t i = 0; i < circuit->node_count; i++) {
            const struct node *node = circuit->nodes[i];
            if (circuit_keeps_node(circuit, node)) {
                chain->operators[chain->count++] = (struct snapshot_operator){node->id, node->tables, node->table_count};
            }
        }
    }
    return STATUS_OK;
}

/* ---- one chain ---- */

struct merge_input {
    struct checkpointer *self;
    const struct chain *chain;
};
struct put_target {
    snapshot_put *put;
    void *context;
};

static enum status forward(void *context, const void *bytes, size_t length, struct error *err)
{
    const struct put_target *target = context;
    return target->put(target->context, bytes, length, err);
}

static enum status read_stored(void *context, uint32_t file, snapshot_put *put, void *put_context, struct error *err)
{
    const struct merge_input *input = context;
    struct put_target target = {put, put_context};
    const struct object_sink sink = {.write = forward, .context = &target};
    return checkpoint_open_file(input->self->spec.storage, &input->chain->files[file], &sink, err);
}

enum status checkpoint_put_temporary(void *context, const void *bytes, size_t length, struct error *err)
{
    return fwrite(bytes, 1, length, context) == length
               ? STATUS_OK
               : error_set(err, ERROR_STORE_FULL, "no room for a temporary file of state: %s", strerror(errno));
}

enum status checkpoint_read_temporary(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    ssize_t got = pread(fileno(context), buffer, capacity, (off_t)offset);
    *length = got < 0 ? 0 : (size_t)got;
    return got >= 0 ? STATUS_OK : error_set(err, ERROR_STORE_UNAVAILABLE, "cannot read a temporary file of state: %s", strerror(errno));
}

static enum status merge_to(struct checkpointer *self, uint32_t worker, const struct chain *chain, FILE *temporary, uint64_t *rows,
                            struct error *err)
{
    struct snapshot_writer *writer;
    const char *names[CHAIN_FILES];
    for (uint32_t i = 0; i < chain->count; i++) {
        names[i] = chain->files[i].key;
    }
    struct merge_input input = {self, chain};
    const struct snapshot_chain merged = {names, chain->count, read_stored, &input};
    TRY(snapshot_writer_create(self->spec.budget, true, self->pending.number, &writer, err));
    snapshot_set_worker(writer, worker, self->operator_workers, self->max_parallelism);
    enum status status = snapshot_stream(writer, checkpoint_put_temporary, temporary, err);
    if (status == STATUS_OK) {
        status = snapshot_merge(self->operators[worker].operators, self->operators[worker].count, &merged, writer, self->spec.budget, err);
    }
    *rows = snapshot_rows(writer);
    snapshot_writer_destroy(writer);
    return status == STATUS_OK && fflush(temporary) != 0 ? checkpoint_put_temporary(temporary, "", 1, err) : status;
}

static enum status merge_chain(struct checkpointer *self, struct checkpoint_writer *writer, uint32_t worker, const struct chain *from,
                               struct generation *into, struct error *err)
{
    uint64_t rows = 0;
    FILE *temporary = tmpfile();
    if (temporary == NULL) {
        return error_set(err, ERROR_STORE_FULL, "cannot make a temporary file of state: %s", strerror(errno));
    }
    enum status status = merge_to(self, worker, from, temporary, &rows, err);
    if (status == STATUS_OK) {
        const struct object_source source = {.bytes = (uint64_t)ftello(temporary), .read = checkpoint_read_temporary, .context = temporary};
        status = checkpoint_add_file(writer, &source, rows, into->arena, &into->chains[worker].files[0], err);
    }
    into->chains[worker].count = status == STATUS_OK;
    fclose(temporary);
    return status;
}

static uint64_t chain_rows(const struct generation *generation)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < generation->chain_count; i++) {
        for (uint32_t f = 0; f < generation->chains[i].count; f++) {
            rows += generation->chains[i].files[f].rows;
        }
    }
    return rows;
}

bool checkpoint_wants_merge(const struct checkpointer *self)
{
    const struct generation *last = &self->generations[self->generation_count - 1];
    uint32_t files = last->chains[0].count;
    bool may = !self->pending.ended && last->chain_count == self->operator_workers && self->generation_count < GENERATIONS_MAX;
    bool gains = files >= MERGE_FILES && chain_rows(last) > 2 * self->pending.live + MERGE_ROWS_MIN;
    return may && (gains || files >= MERGE_FILES_MAX);
}

enum status checkpoint_merge(struct checkpointer *self, struct error *err)
{
    const struct generation *last = &self->generations[self->generation_count - 1];
    struct checkpoint_writer *writer;
    TRY(checkpoint_begin(self->spec.storage, self->id, self->task, self->incarnation, &writer, err));
    enum status status = checkpoint_generation_open(self, last->chain_count, err);
    uint32_t merged = self->generation_count - 1;
    for (uint32_t i = 0; i < self->operator_workers && status == STATUS_OK; i++) {
        status = merge_chain(self, writer, i, &self->generations[merged - 1].chains[i], &self->generations[merged], err);
    }
    checkpoint_end(writer);
    if (status != STATUS_OK && merged == self->generation_count - 1) {
        checkpoint_generation_close(&self->generations[--self->generation_count]);
    }
    return status;
}
