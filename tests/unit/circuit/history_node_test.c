/* The record of a job's ticks: what was added comes back in order, after restarts too, and memory does not grow with it. */
#include <malloc.h>

#include "../support/batches.h"

#include "circuit/circuit.h"
#include "circuit/operators/history_node.h"
#include "data/time_zone.h"

enum { RECORDS = 400000, FILES = 4, FILE_BYTES = 40 << 20 };

struct file {
    char *bytes;
    size_t length;
};
struct life { /* of a process */
    struct budget budget;
    struct evaluation evaluation;
    struct circuit *circuit;
    struct node *node;
};

static void open_life(struct life *life)
{
    static const struct pipeline_settings settings = {.chunk_rows = 4096, .max_parallelism = 128};
    struct error err;
    budget_init(&life->budget, NULL, "test", BUDGET_UNLIMITED);
    life->evaluation = (struct evaluation){.budget = &life->budget, .zone = time_zone_utc};
    require(circuit_create(&life->budget, &life->evaluation, &clock_system, &settings, NULL, 0, 1, &life->circuit, &err), &err);
    life->circuit->keeps = KEEPS_HISTORY;
    require(history_node_create(life->circuit, &life->node, &err), &err);
    require(circuit_name_nodes(life->circuit, &err), &err);
}

static struct text record_of(uint32_t number, char bytes[100])
{
    int length = snprintf(bytes, 100, "%.*s%u", (int)(number % 40), "a tick's time and what its sources gave.", number);
    return (struct text){bytes, (size_t)length};
}

static void add(struct life *life, uint32_t from, uint32_t until)
{
    char bytes[100];
    struct error err;
    for (uint32_t i = from; i < until; i++) {
        require(history_node_add(life->node, record_of(i, bytes), &err), &err);
    }
}

static void check(struct life *life, uint32_t count)
{
    char bytes[100];
    struct text record;
    struct error err;
    bool found = true;
    for (uint32_t i = 0; i < count; i++) {
        require(history_node_next(life->node, &record, &found, &err), &err);
        assert_true(found && text_equal(record, record_of(i, bytes)));
    }
    require(history_node_next(life->node, &record, &found, &err), &err);
    assert_false(found);
}

static enum status put(void *context, const void *bytes, size_t length, struct error *err)
{
    (void)err;
    struct file *file = context;
    assert_true(file->length + length <= FILE_BYTES);
    memcpy(file->bytes + file->length, bytes, length);
    file->length += length;
    return STATUS_OK;
}

static void save(struct life *life, bool full, struct file *file)
{
    struct snapshot_writer *writer;
    struct error err;
    require(snapshot_writer_create(&life->budget, full, 1, &writer, &err), &err);
    require(circuit_save(life->circuit, writer, &err), &err);
    require(snapshot_finish(writer, put, file, &err), &err);
    snapshot_writer_destroy(writer);
}

static void restore(struct life *life, const struct file *files, uint32_t count)
{
    struct snapshot_target target = circuit_restore_target(life->circuit, false);
    struct snapshot_reader *reader;
    struct error err;
    require(snapshot_reader_create(&target, 0, &reader, &err), &err);
    for (uint32_t f = count; f-- > 0;) { /* the newest first */
        snapshot_file_begin(reader, "test", f == 0);
        require(snapshot_file_bytes(reader, files[f].bytes, files[f].length, &err), &err);
        require(snapshot_file_end(reader, &err), &err);
    }
    snapshot_reader_destroy(reader);
    require(circuit_restored(life->circuit, &err), &err);
}

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void records_come_back_in_order_and_do_not_stay_in_memory(void **state)
{
    (void)state;
    struct file files[FILES] = {{0}};
    struct life first, second;
    for (uint32_t f = 0; f < FILES; f++) {
        files[f].bytes = malloc(FILE_BYTES);
        assert_non_null(files[f].bytes);
    }
    open_life(&first);
    assert_true(history_node_is_empty(first.node));
    size_t before = heap_bytes();
    for (uint32_t f = 0; f < 3; f++) { /* a full file, then what is new since */
        add(&first, f * RECORDS / 3, (f + 1) * RECORDS / 3);
        save(&first, f == 0, &files[f]);
    }
    assert_true(heap_bytes() - before < 2 << 20);
    check(&first, RECORDS);
    circuit_destroy(first.circuit);
    open_life(&second);
    before = heap_bytes();
    restore(&second, files, 3);
    assert_true(heap_bytes() - before < 2 << 20);
    check(&second, RECORDS);
    add(&second, RECORDS, RECORDS + 1000);
    save(&second, true, &files[3]);
    circuit_destroy(second.circuit);
    open_life(&first);
    restore(&first, &files[3], 1);
    check(&first, RECORDS + 1000);
    circuit_destroy(first.circuit);
    for (uint32_t f = 0; f < FILES; f++) {
        free(files[f].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(records_come_back_in_order_and_do_not_stay_in_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
