#include <stdlib.h>
#include <string.h>

#include "state/snapshot.h"
#include "state/snapshot_format.h"

struct merged_operator {
    const struct snapshot_operator *from;
    uint32_t first_table; /* in the writer's numbers */
};
struct merge {
    struct merged_operator *operators;
    uint32_t operator_count;
    const struct snapshot_chain *chain;
    struct snapshot_writer *writer;
    struct snapshot_reader *reader;
};

static const struct snapshot_table *find_table(void *context, const char *operator_id, const char *table, void **handle)
{
    const struct merge *merge = context;
    for (uint32_t i = 0; i < merge->operator_count; i++) {
        const struct snapshot_operator *from = merge->operators[i].from;
        for (uint32_t t = 0; t < from->table_count && strcmp(from->id, operator_id) == 0; t++) {
            if (strcmp(from->tables[t].name, table) == 0) {
                *handle = &merge->operators[i];
                return &from->tables[t];
            }
        }
    }
    return NULL;
}

static enum status take_rows(void *context, void *handle, const struct snapshot_table *table, const struct snapshot_rows *rows,
                             struct error *err)
{
    const struct merge *merge = context;
    const struct merged_operator *operator= handle;
    snapshot_resume(merge->writer, operator->first_table);
    return snapshot_write(merge->writer, (uint32_t)(table - operator->from->tables), rows->ids, rows->batch, err);
}

static enum status feed_reader(void *context, const void *bytes, size_t length, struct error *err)
{
    return snapshot_file_bytes(context, bytes, length, err);
}

static enum status merge_files(struct merge *merge, struct error *err)
{
    const struct snapshot_chain *chain = merge->chain;
    do {
        for (uint32_t file = chain->file_count; file-- > 0;) {
            snapshot_file_begin(merge->reader, chain->files[file], file == 0);
            TRY(chain->read(chain->context, file, feed_reader, merge->reader, err));
            TRY(snapshot_file_end(merge->reader, err));
        }
    } while (snapshot_wants_second_pass(merge->reader));
    return STATUS_OK;
}

enum status snapshot_merge(const struct snapshot_operator *operators, uint32_t operator_count, const struct snapshot_chain *chain,
                           struct snapshot_writer *writer, struct budget *budget, struct error *err)
{
    struct merge merge = {.operators = calloc(operator_count + 1, sizeof *merge.operators),
                          .operator_count = operator_count,
                          .chain = chain,
                          .writer = writer};
    const struct snapshot_target target = {
        .find = find_table, .take = take_rows, .context = &merge, .budget = budget, .worker_count = 1, .max_parallelism = 1};
    if (merge.operators == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to merge files of state");
    }
    uint32_t tables = 0;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < operator_count && status == STATUS_OK; i++) {
        merge.operators[i] = (struct merged_operator){&operators[i], tables};
        tables += operators[i].table_count;
        status = snapshot_begin(writer, operators[i].id, operators[i].tables, operators[i].table_count, err);
    }
    if (status == STATUS_OK) {
        status = snapshot_reader_create(&target, 0, &merge.reader, err);
    }
    if (status == STATUS_OK) {
        status = merge_files(&merge, err);
    }
    snapshot_reader_destroy(merge.reader);
    free(merge.operators);
    return status == STATUS_OK ? snapshot_finish(writer, NULL, NULL, err) : status;
}
