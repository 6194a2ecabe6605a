/* The table "partitions": where each partition of the source stands (source_node.h); its id is the partition's number. The table "values":
 * how many rows of VALUES were given. */
#include "circuit/operators/source_state.h"

#include "circuit/circuit.h"
#include "circuit/operators/source_node.h"

static const struct column partition_columns[] = {{.name = "partition", .type = &type_bigint_not_null},
                                                  {.name = "position", .type = &type_bytes}};
static const struct schema partition_schema = {ARRAY_LENGTH(partition_columns), partition_columns};
static const char *const partition_layouts[ARRAY_LENGTH(partition_columns)] = {NULL, "text"};
const struct snapshot_table source_state_table = {
    .name = "partitions", .schema = &partition_schema, .place = SNAPSHOT_EVERY, .expiry = -1, .layouts = partition_layouts};

static const struct column values_columns[] = {{.name = "state", .type = &type_bytes}};
static const struct schema values_schema = {ARRAY_LENGTH(values_columns), values_columns};
static const char *const values_layouts[ARRAY_LENGTH(values_columns)] = {"text"};
const struct snapshot_table values_state_table = {
    .name = "values", .schema = &values_schema, .place = SNAPSHOT_ONE, .expiry = -1, .layouts = values_layouts};

enum status source_node_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct text_builder position = {0};
    enum status status = STATUS_OK;
    for (uint32_t p = node->circuit->worker; p < source_node_partition_count(node) && status == STATUS_OK;
         p += node->circuit->worker_count) {
        text_builder_clear(&position);
        status = source_node_save_partition(node, p, &position, err);
        const struct snapshot_cell cells[] = {{.number = p}, {.bytes = {position.bytes, position.length}}};
        if (status == STATUS_OK) {
            status = snapshot_write_cells(writer, 0, p, cells, err);
        }
    }
    text_builder_close(&position);
    return status;
}

enum status source_node_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    const struct circuit *circuit = node->circuit;
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        uint32_t partition = (uint32_t)snapshot_number(rows->batch, row, 0);
        struct text position = snapshot_text(rows->batch, row, 1);
        if (partition >= source_node_partition_count(node)) {
            return error_set(err, ERROR_STATE_MISFIT, "the state has a partition %u of %s, which has %u now", partition, node->label,
                             source_node_partition_count(node));
        }
        if (partition % circuit->worker_count == circuit->worker) {
            TRY(source_node_restore_partition(node, partition, position.bytes, position.length, err));
        }
    }
    return STATUS_OK;
}

enum status values_state_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct text_builder state = {0};
    enum status status = STATUS_OK;
    if (node->circuit->worker == 0) {
        status = values_node_save(node, &state, err);
        const struct snapshot_cell cell = {.bytes = {state.bytes, state.length}};
        if (status == STATUS_OK) {
            status = snapshot_write_cells(writer, 0, 0, &cell, err);
        }
    }
    text_builder_close(&state);
    return status;
}

enum status values_state_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    struct text state = snapshot_text(rows->batch, 0, 0);
    return values_node_restore(node, state.bytes, state.length, err);
}
