#include "../support/batches.h"

#include <stdlib.h>

#include "state/snapshot.h"

/* Chains of files against what was written, row by row. */
enum { FILES_MAX = 6, ROWS_MAX = 3000, TIME = 1, EXPIRES = 1 };

static const struct column columns[] = {
    {.name = "k", .type = &type_bigint}, {.name = "t", .type = &type_bigint}, {.name = "s", .type = &type_string}};
static const struct schema schema = {ARRAY_LENGTH(columns), columns};
static const uint32_t by_first[] = {0};
static const char *const layouts[] = {NULL, NULL, "text"};
static const struct snapshot_table tables[] = {
    {.name = "rows", .schema = &schema, .place = SNAPSHOT_HASH, .place_columns = by_first, .place_count = 1, .expiry = EXPIRES},
    {.name = "late", .schema = &schema, .place = SNAPSHOT_ONE, .expiry = -1, .after_others = true, .layouts = layouts},
};

struct model_row {
    bool there;
    int64_t values[3];
};
struct model {
    struct budget budget;
    struct model_row rows[ROWS_MAX]; /* by id, of the table "rows" */
    struct text_builder files[FILES_MAX];
    uint32_t file_count;
    /* what came back */
    struct model_row restored[ROWS_MAX];
    uint32_t late_rows, order_breaks;
    bool late_seen;
};

static enum status append(void *context, const void *bytes, size_t length, struct error *err)
{
    (void)err;
    text_append(context, bytes, length);
    return STATUS_OK;
}

static void write_rows(struct model *model, struct snapshot_writer *writer, uint32_t table, const uint64_t *ids, uint32_t count)
{
    static int64_t values[3][CHUNK_ROWS];
    const int64_t *pointers[] = {values[0], values[1], values[2]};
    static const struct type *const types[] = {&type_bigint, &type_bigint, &type_string};
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t c = 0; c < 3; c++) {
            values[c][k] = model->rows[ids[k]].values[c];
        }
    }
    struct batch batch;
    struct error err;
    fill_batch(&model->budget, types, pointers, 3, count, &batch);
    require(snapshot_write(writer, table, ids, &batch, &err), &err);
    batch_release(&batch);
}

/* A full file, or changes: random rows change, come and go, and now and then all below a time go at once. */
static void save(struct model *model, uint64_t *seed, bool full)
{
    struct snapshot_writer *writer;
    struct error err;
    static uint64_t changed[ROWS_MAX], removed[ROWS_MAX];
    uint32_t changed_count = 0, removed_count = 0;
    require(snapshot_writer_create(&model->budget, full, model->file_count, &writer, &err), &err);
    require(snapshot_begin(writer, "op", tables, ARRAY_LENGTH(tables), &err), &err);
    if (!full && next_random(seed) % 2 == 0) {
        int64_t bound = (int64_t)(next_random(seed) % 50);
        for (uint32_t id = 0; id < ROWS_MAX; id++) {
            model->rows[id].there = model->rows[id].there && model->rows[id].values[TIME] >= bound;
        }
        require(snapshot_expire(writer, 0, bound, &err), &err);
    }
    for (uint32_t id = 0; id < ROWS_MAX; id++) {
        struct model_row *row = &model->rows[id];
        uint64_t choice = next_random(seed) % 10;
        if (choice < (full ? 6 : 2)) {
            *row = (struct model_row){
                true, {(int64_t)(next_random(seed) % 1000), (int64_t)(next_random(seed) % 100), (int64_t)(next_random(seed) % 30)}};
            changed[changed_count++] = id;
        } else if (choice == 9 && row->there) {
            row->there = false;
            removed[removed_count++] = id;
        }
    }
    for (uint32_t at = 0; at < changed_count; at += 700) {
        write_rows(model, writer, 0, changed + at, changed_count - at < 700 ? changed_count - at : 700);
    }
    require(snapshot_remove(writer, 0, removed, removed_count, &err), &err);
    require(snapshot_replace(writer, 1, &err), &err);
    write_rows(model, writer, 1, changed, 1);
    require(snapshot_finish(writer, append, &model->files[model->file_count++], &err), &err);
    snapshot_writer_destroy(writer);
}

static const struct snapshot_table *find(void *context, const char *operator_id, const char *name, void **handle)
{
    *handle = context;
    assert_string_equal(operator_id, "op");
    for (uint32_t i = 0; i < ARRAY_LENGTH(tables); i++) {
        if (strcmp(tables[i].name, name) == 0) {
            return &tables[i];
        }
    }
    return NULL;
}

static enum status take(void *context, void *handle, const struct snapshot_table *table, const struct snapshot_rows *rows,
                        struct error *err)
{
    struct model *model = context;
    (void)handle, (void)err;
    if (table == &tables[1]) {
        model->late_seen = true;
        model->late_rows += rows->batch->count;
        return STATUS_OK;
    }
    model->order_breaks += model->late_seen;
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        struct model_row *restored = &model->restored[rows->ids[row]];
        assert_false(restored->there); /* each row once */
        restored->there = true;
        restored->values[0] = snapshot_number(rows->batch, row, 0);
        restored->values[1] = snapshot_number(rows->batch, row, 1);
    }
    return STATUS_OK;
}

/* In pieces of any size. */
static enum status read_chain(struct model *model, struct snapshot_reader *reader, uint64_t *seed, struct error *err)
{
    do {
        for (uint32_t file = model->file_count; file-- > 0;) {
            const struct text_builder *bytes = &model->files[file];
            snapshot_file_begin(reader, "file", file == 0);
            for (size_t at = 0; at < bytes->length;) {
                size_t piece = 1 + next_random(seed) % 5000;
                piece = piece < bytes->length - at ? piece : bytes->length - at;
                TRY(snapshot_file_bytes(reader, bytes->bytes + at, piece, err));
                at += piece;
            }
            TRY(snapshot_file_end(reader, err));
        }
    } while (snapshot_wants_second_pass(reader));
    return STATUS_OK;
}

static enum status restore(struct model *model, uint32_t workers, uint64_t *seed, struct error *err)
{
    enum status status = STATUS_OK;
    memset(model->restored, 0, sizeof model->restored);
    model->late_rows = model->order_breaks = 0;
    for (uint32_t worker = 0; worker < workers && status == STATUS_OK; worker++) {
        struct snapshot_reader *reader;
        const struct snapshot_target target = {.find = find,
                                               .take = take,
                                               .context = model,
                                               .budget = &model->budget,
                                               .worker = worker,
                                               .worker_count = workers,
                                               .max_parallelism = 128};
        model->late_seen = false;
        require(snapshot_reader_create(&target, 0, &reader, err), err);
        status = read_chain(model, reader, seed, err);
        snapshot_reader_destroy(reader);
    }
    return status;
}

static void check_restored(const struct model *model)
{
    for (uint32_t id = 0; id < ROWS_MAX; id++) {
        assert_int_equal(model->restored[id].there, model->rows[id].there);
        assert_true(!model->rows[id].there || (model->restored[id].values[0] == model->rows[id].values[0] &&
                                               model->restored[id].values[1] == model->rows[id].values[1]));
    }
    assert_int_equal(model->late_rows, 1); /* the newest file's alone, on one worker */
    assert_int_equal(model->order_breaks, 0);
}

static struct model *model_create(void)
{
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    budget_init(&model->budget, NULL, "test", BUDGET_UNLIMITED);
    return model;
}

static void model_free(struct model *model)
{
    for (uint32_t i = 0; i < FILES_MAX; i++) {
        text_builder_close(&model->files[i]);
    }
    assert_int_equal(model->budget.used_bytes, 0);
    free(model);
}

static void chain_gives_each_row_as_it_was_last(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct model *model = model_create();
        uint64_t random = seed;
        struct error err;
        for (uint32_t file = 0; file < 1 + seed % FILES_MAX; file++) {
            save(model, &random, file == 0);
            require(restore(model, 1 + (uint32_t)(seed % 3), &random, &err), &err);
            check_restored(model);
        }
        model_free(model);
    }
}

/* ---- merge ---- */

static enum status read_file(void *context, uint32_t file, snapshot_put *put, void *put_context, struct error *err)
{
    const struct model *model = context;
    return put(put_context, model->files[file].bytes, model->files[file].length, err);
}

static void merged_file_stands_for_its_chain(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const struct snapshot_operator operator= {"op", tables, ARRAY_LENGTH(tables)};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct model *model = model_create();
        struct snapshot_writer *writer;
        struct text_builder merged = {0};
        struct error err;
        uint64_t random = seed;
        for (uint32_t file = 0; file < 4; file++) {
            save(model, &random, file == 0);
        }
        const struct snapshot_chain chain = {names, model->file_count, read_file, model};
        require(snapshot_writer_create(&model->budget, true, 9, &writer, &err), &err);
        require(snapshot_stream(writer, append, &merged, &err), &err);
        require(snapshot_merge(&operator, 1, &chain, writer, &model->budget, &err), &err);
        snapshot_writer_destroy(writer);
        for (uint32_t file = 0; file < model->file_count; file++) {
            text_builder_close(&model->files[file]);
        }
        model->files[0] = merged;
        model->file_count = 1;
        require(restore(model, 2, &random, &err), &err);
        check_restored(model);
        save(model, &random, false); /* changes go on top, by the same ids */
        require(restore(model, 3, &random, &err), &err);
        check_restored(model);
        model_free(model);
    }
}

/* ---- workers ---- */

enum { DEALT_ROWS = 2000, GROUPS = 128 };

/* A file per worker with the rows that are its own. */
static void deal(struct model *model, uint32_t workers)
{
    static uint64_t ids[DEALT_ROWS], hashes[CHUNK_ROWS], own[DEALT_ROWS];
    static int64_t keys[DEALT_ROWS];
    static const struct type *const types[] = {&type_bigint};
    const int64_t *pointers[] = {keys};
    struct batch batch;
    struct error err;
    for (uint32_t id = 0; id < DEALT_ROWS; id++) {
        keys[id] = (int64_t)id * 7919;
        model->rows[id] = (struct model_row){true, {keys[id], id, id % 30}};
        ids[id] = id;
    }
    fill_batch(&model->budget, types, pointers, 1, DEALT_ROWS, &batch);
    batch_hash(&batch, by_first, 1, hashes);
    batch_release(&batch);
    for (uint32_t worker = 0; worker < workers; worker++) {
        struct snapshot_writer *writer;
        uint32_t count = 0;
        for (uint32_t id = 0; id < DEALT_ROWS; id++) {
            own[count] = ids[id];
            count += hashes[id] % GROUPS * workers / GROUPS == worker;
        }
        require(snapshot_writer_create(&model->budget, true, 1, &writer, &err), &err);
        snapshot_set_worker(writer, worker, workers, GROUPS);
        require(snapshot_begin(writer, "op", tables, ARRAY_LENGTH(tables), &err), &err);
        write_rows(model, writer, 0, own, count);
        text_builder_close(&model->files[worker]);
        require(snapshot_finish(writer, append, &model->files[worker], &err), &err);
        snapshot_writer_destroy(writer);
    }
}

static void take_back(struct model *model, uint32_t chains, uint32_t worker, uint32_t workers)
{
    const struct snapshot_target target = {.find = find,
                                           .take = take,
                                           .context = model,
                                           .budget = &model->budget,
                                           .worker = worker,
                                           .worker_count = workers,
                                           .max_parallelism = GROUPS};
    for (uint32_t chain = 0; chain < chains; chain++) {
        struct snapshot_reader *reader;
        struct error err;
        require(snapshot_reader_create(&target, chain, &reader, &err), &err);
        snapshot_file_begin(reader, "file", true);
        require(snapshot_file_bytes(reader, model->files[chain].bytes, model->files[chain].length, &err), &err);
        require(snapshot_file_end(reader, &err), &err);
        snapshot_reader_destroy(reader);
    }
}

/* From any number of workers to any other: files of other key groups are passed over, and no row is lost or comes twice. */
static void rows_find_their_workers(void **state)
{
    (void)state;
    struct model *model = model_create();
    for (uint32_t before = 1; before <= 5; before++) {
        deal(model, before);
        for (uint32_t after = 1; after <= 5; after++) {
            memset(model->restored, 0, sizeof model->restored);
            for (uint32_t worker = 0; worker < after; worker++) {
                take_back(model, before, worker, after);
            }
            for (uint32_t id = 0; id < DEALT_ROWS; id++) {
                assert_true(model->restored[id].there);
                assert_int_equal(model->restored[id].values[0], model->rows[id].values[0]);
            }
        }
    }
    model_free(model);
}

/* ---- damage ---- */

static void damaged_file_is_refused(void **state)
{
    (void)state;
    struct model *model = model_create();
    uint64_t random = 5;
    struct error err;
    save(model, &random, true);
    struct text_builder *file = &model->files[0];
    for (uint32_t i = 0; i < 300; i++) {
        size_t at = next_random(&random) % (i < 100 ? 64 : file->length); /* all of the header, too */
        char bit = (char)(1 << next_random(&random) % 8);
        file->bytes[at] ^= bit;
        assert_int_equal(restore(model, 1, &random, &err), STATUS_CORRUPT);
        file->bytes[at] ^= bit;
    }
    size_t length = file->length;
    for (uint32_t i = 0; i < 100; i++) {
        file->length = next_random(&random) % length;
        assert_int_equal(restore(model, 1, &random, &err), STATUS_CORRUPT);
    }
    file->length = length;
    require(restore(model, 1, &random, &err), &err);
    check_restored(model);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests_of_snapshots[] = {
        cmocka_unit_test(chain_gives_each_row_as_it_was_last),
        cmocka_unit_test(merged_file_stands_for_its_chain),
        cmocka_unit_test(rows_find_their_workers),
        cmocka_unit_test(damaged_file_is_refused),
    };
    return cmocka_run_group_tests(tests_of_snapshots, NULL, NULL);
}
