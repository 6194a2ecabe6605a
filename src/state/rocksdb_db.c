/* The module `rocksdb`: state/cold_db.h over RocksDB. No log is written: what is not in a checkpoint is worth nothing after a crash. */
#include <limits.h>
#include <rocksdb/c.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/module.h"
#include "build_id.h"
#include "state/cold_db.h"

enum { MIB = 1 << 20, BLOOM_BITS = 10, COMPACTION_FILES = 4, CACHE_SHARD_BITS = 2, SCAN_READ_AHEAD = MIB };

static const struct cold_driver rocks_driver;

struct rocks {
    struct cold_db base;
    char *folder; /* for messages */
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    rocksdb_t *db;
    rocksdb_column_family_handle_t *family;
    rocksdb_writeoptions_t *writing;
    rocksdb_readoptions_t *reading;
    rocksdb_writebatch_t *batch;
};

/* ---- errors ---- */

/* RocksDB says what happened in words. Takes `message`, which is its. */
static enum status complain(const struct rocks *self, char *message, const char *doing, struct error *err)
{
    static const struct {
        const char *begins;
        enum error_code code;
    } kinds[] = {{"Corruption", ERROR_STATE_CORRUPT}, {"IO error", ERROR_STATE_DISK}, {"Memory limit", ERROR_BUDGET_SPENT}};
    enum error_code code = ERROR_STATE_DISK; /* after a failure in the background, whatever is tried */
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        code = strncmp(message, kinds[i].begins, strlen(kinds[i].begins)) == 0 ? kinds[i].code : code;
    }
    enum status status = error_set(err, code, "the database of state in '%s' failed %s: %s", self->folder, doing, message);
    rocksdb_free(message);
    return status;
}

/* ---- opening ---- */

static int compression_of(enum cold_compression compression)
{
    static const int kinds[] = {
        [COLD_LZ4] = rocksdb_lz4_compression, [COLD_ZSTD] = rocksdb_zstd_compression, [COLD_UNCOMPRESSED] = rocksdb_no_compression};
    return kinds[compression];
}

static size_t within(size_t value, size_t least, size_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* What RocksDB has besides its buffers and its cache: readers of files, a flush and a compaction under way. Measured. */
static size_t usable_memory(const struct cold_options *options)
{
    const size_t reserved = (size_t)6 * MIB;
    return options->memory_bytes > 2 * reserved ? options->memory_bytes - reserved : options->memory_bytes / 2;
}

/* Two buffers of writes have a quarter of the memory, blocks with their indexes and filters the rest. */
static void set_tables(struct rocks *self, const struct cold_options *options)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_lru_cache_options_t *cache = rocksdb_lru_cache_options_create();
    rocksdb_lru_cache_options_set_capacity(cache, usable_memory(options) / 4 * 3);
    rocksdb_lru_cache_options_set_num_shard_bits(cache, CACHE_SHARD_BITS);
    self->cache = rocksdb_cache_create_lru_opts(cache);
    rocksdb_lru_cache_options_destroy(cache);
    rocksdb_block_based_options_set_block_cache(table, self->cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
    rocksdb_block_based_options_set_index_type(table, rocksdb_block_based_table_index_type_two_level_index_search);
    rocksdb_block_based_options_set_partition_filters(table, 1);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_options_set_block_based_table_factory(self->options, table);
    rocksdb_block_based_options_destroy(table);
}

static void set_options(struct rocks *self, const struct cold_options *options, bool is_new)
{
    size_t buffer = within(usable_memory(options) / 8, MIB / 4, (size_t)64 * MIB);
    self->options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(self->options, is_new);
    rocksdb_options_set_write_buffer_size(self->options, buffer);
    rocksdb_options_set_max_write_buffer_number(self->options, 2);
    rocksdb_options_set_target_file_size_base(self->options, within(buffer, (size_t)4 * MIB, (size_t)64 * MIB));
    rocksdb_options_set_max_bytes_for_level_base(self->options, within(buffer, (size_t)4 * MIB, (size_t)64 * MIB) * COMPACTION_FILES);
    rocksdb_options_set_level0_file_num_compaction_trigger(self->options, COMPACTION_FILES);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(self->options, 1);
    rocksdb_options_set_compression(self->options, compression_of(options->compression));
    rocksdb_options_set_max_background_jobs(self->options, 2);
    rocksdb_options_set_skip_stats_update_on_db_open(self->options, 1);
    rocksdb_options_set_stats_dump_period_sec(self->options, 0);
    rocksdb_options_set_stats_persist_period_sec(self->options, 0);
    rocksdb_options_set_keep_log_file_num(self->options, 1);
    rocksdb_options_set_info_log_level(self->options, 4); /* nothing but what is fatal */
    set_tables(self, options);
}

/* A database that is closed is thrown away: what its buffers hold need not be written. The C interface has no function for it. */
static enum status set_by_name(struct rocks *self, struct error *err)
{
    char *message = NULL;
    rocksdb_options_t *changed = rocksdb_options_create();
    rocksdb_get_options_from_string(self->options, "avoid_flush_during_shutdown=true", changed, &message);
    rocksdb_options_destroy(self->options);
    self->options = changed;
    return message == NULL ? STATUS_OK : complain(self, message, "to take its options", err);
}

static enum status open_files(struct rocks *self, bool read_only, bool is_new, struct error *err)
{
    const char *const names[] = {"default"};
    const rocksdb_options_t *const options[] = {self->options};
    char *message = NULL;
    self->db = read_only
                   ? rocksdb_open_for_read_only_column_families(self->options, self->folder, 1, names, options, &self->family, 0, &message)
                   : rocksdb_open_column_families(self->options, self->folder, 1, names, options, &self->family, &message);
    if (message == NULL) {
        return STATUS_OK;
    }
    bool misses_file = !is_new && (strstr(message, "No such file") != NULL || strstr(message, "does not exist") != NULL);
    enum status status = complain(self, message, "to open", err);
    err->code = misses_file ? ERROR_STATE_CORRUPT : err->code;
    err->status = misses_file ? STATUS_CORRUPT : status;
    return err->status;
}

static void rocks_close(struct cold_db *db)
{
    struct rocks *self = (struct rocks *)db;
    if (self->db != NULL) {
        rocksdb_cancel_all_background_work(self->db, 1);
        rocksdb_column_family_handle_destroy(self->family);
        rocksdb_close(self->db);
    }
    if (self->batch != NULL) {
        rocksdb_writebatch_destroy(self->batch);
        rocksdb_readoptions_destroy(self->reading);
        rocksdb_writeoptions_destroy(self->writing);
    }
    if (self->options != NULL) {
        rocksdb_options_destroy(self->options);
        rocksdb_cache_destroy(self->cache);
    }
    free(self->folder);
    free(self);
}

/* A copy of a checkpoint that has lost the file where it begins must not become a new, empty database. */
static bool is_new(const struct cold_options *options)
{
    return !options->read_only && (access(options->folder, F_OK) != 0 || rmdir(options->folder) == 0);
}

static enum status rocks_open(const struct cold_options *options, struct cold_db **db, struct error *err)
{
    struct rocks *self = calloc(1, sizeof *self);
    if (self == NULL || (self->folder = strdup(options->folder)) == NULL) {
        free(self);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a database of state");
    }
    self->base.driver = &rocks_driver;
    bool created = is_new(options);
    set_options(self, options, created);
    self->batch = rocksdb_writebatch_create();
    self->reading = rocksdb_readoptions_create();
    self->writing = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(self->writing, 1);
    enum status status = set_by_name(self, err);
    if (status == STATUS_OK) {
        status = open_files(self, options->read_only, created, err);
    }
    if (status != STATUS_OK) {
        rocks_close(&self->base);
        return status;
    }
    *db = &self->base;
    return STATUS_OK;
}

/* ---- writing ---- */

/* By key; of one key in the order in which they came, which is that of their places. */
static int compare_writes(const void *left, const void *right)
{
    const struct cold_write *a = *(const struct cold_write *const *)left, *b = *(const struct cold_write *const *)right;
    size_t shorter = a->key.length < b->key.length ? a->key.length : b->key.length;
    int order = memcmp(a->key.bytes, b->key.bytes, shorter);
    order = order != 0 ? order : (a->key.length > b->key.length) - (a->key.length < b->key.length);
    return order != 0 ? order : (a > b) - (a < b);
}

/* In order: RocksDB's buffer goes on from the place where it inserted last. */
static enum status rocks_write(struct cold_db *db, const struct cold_write *writes, uint32_t count, struct error *err)
{
    struct rocks *self = (struct rocks *)db;
    char *message = NULL;
    const struct cold_write **order = malloc((count + 1) * sizeof(const struct cold_write *));
    TRY_ALLOC(order, order, err);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = &writes[i];
    }
    qsort(order, count, sizeof(const struct cold_write *), compare_writes);
    rocksdb_writebatch_clear(self->batch);
    for (uint32_t i = 0; i < count; i++) {
        const struct cold_write *write = order[i];
        if (write->value.bytes == NULL) {
            rocksdb_writebatch_delete(self->batch, write->key.bytes, write->key.length);
        } else {
            rocksdb_writebatch_put(self->batch, write->key.bytes, write->key.length, write->value.bytes, write->value.length);
        }
    }
    free(order);
    rocksdb_write(self->db, self->writing, self->batch, &message);
    return message == NULL ? STATUS_OK : complain(self, message, "to write", err);
}

/* The first key behind all that begin with prefix; false: there is none. */
static bool prefix_end(struct text prefix, char *end, size_t *length)
{
    memcpy(end, prefix.bytes, prefix.length);
    *length = prefix.length;
    while (*length > 0 && (unsigned char)end[*length - 1] == UCHAR_MAX) {
        (*length)--;
    }
    if (*length == 0) {
        return false;
    }
    end[*length - 1] = (char)((unsigned char)end[*length - 1] + 1);
    return true;
}

static bool remove_one(void *context, struct text key, struct text value)
{
    (void)value;
    rocksdb_writebatch_delete(context, key.bytes, key.length);
    return true;
}

static enum status rocks_scan(struct cold_db *db, struct text prefix, struct text from, cold_visit *visit, void *context,
                              struct error *err);

static enum status rocks_remove_prefix(struct cold_db *db, struct text prefix, struct error *err)
{
    struct rocks *self = (struct rocks *)db;
    enum status status = STATUS_OK;
    char *message = NULL;
    size_t length;
    char *end = malloc(prefix.length + 1);
    TRY_ALLOC(end, end, err);
    rocksdb_writebatch_clear(self->batch);
    if (prefix_end(prefix, end, &length)) {
        rocksdb_writebatch_delete_range(self->batch, prefix.bytes, prefix.length, end, length);
    } else {
        status = rocks_scan(db, prefix, (struct text){0}, remove_one, self->batch, err);
    }
    free(end);
    TRY(status);
    rocksdb_write(self->db, self->writing, self->batch, &message);
    return message == NULL ? STATUS_OK : complain(self, message, "to remove", err);
}

/* ---- reading ---- */

struct pins { /* cold_values.pinned */
    uint32_t used, capacity;
    const char **keys;
    size_t *lengths;
    rocksdb_pinnableslice_t **slices;
    char **messages;
};

static void unpin(struct pins *pins)
{
    for (uint32_t i = 0; i < pins->used; i++) {
        rocksdb_pinnableslice_destroy(pins->slices[i]);
    }
    pins->used = 0;
}

static void rocks_release(struct cold_db *db, struct cold_values *values)
{
    (void)db;
    struct pins *pins = values->pinned;
    if (pins != NULL) {
        unpin(pins);
        free(pins->keys);
        free(pins->lengths);
        free(pins->slices);
        free(pins->messages);
        free(pins);
    }
    free(values->values);
    *values = (struct cold_values){0};
}

static bool grow(void *array, size_t item, uint32_t count)
{
    void *grown = reallocarray(*(void **)array, count, item);
    *(void **)array = grown == NULL ? *(void **)array : grown;
    return grown != NULL;
}

static enum status make_room(struct cold_values *values, uint32_t count, struct error *err)
{
    struct pins *pins = values->pinned == NULL ? calloc(1, sizeof *pins) : values->pinned;
    values->pinned = pins;
    if (pins != NULL) {
        unpin(pins);
    }
    if (pins != NULL && count <= pins->capacity) {
        return STATUS_OK;
    }
    if (pins == NULL || !grow(&pins->keys, sizeof *pins->keys, count) || !grow(&pins->lengths, sizeof *pins->lengths, count) ||
        !grow(&pins->slices, sizeof(rocksdb_pinnableslice_t *), count) || !grow(&pins->messages, sizeof *pins->messages, count) ||
        !grow(&values->values, sizeof *values->values, count)) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room to read %u values of state", count);
    }
    values->capacity = pins->capacity = count;
    return STATUS_OK;
}

static enum status take_value(const struct rocks *self, struct pins *pins, uint32_t i, struct text *value, struct error *err)
{
    *value = (struct text){0};
    if (pins->messages[i] != NULL) {
        return complain(self, pins->messages[i], "to read", err);
    }
    if (pins->slices[i] != NULL) {
        value->bytes = rocksdb_pinnableslice_value(pins->slices[i], &value->length);
        pins->slices[pins->used++] = pins->slices[i];
    }
    return STATUS_OK;
}

static enum status rocks_get(struct cold_db *db, const struct text *keys, uint32_t count, struct cold_values *values, struct error *err)
{
    struct rocks *self = (struct rocks *)db;
    TRY(make_room(values, count, err));
    struct pins *pins = values->pinned;
    for (uint32_t i = 0; i < count; i++) {
        pins->keys[i] = keys[i].bytes;
        pins->lengths[i] = keys[i].length;
    }
    rocksdb_batched_multi_get_cf(self->db, self->reading, self->family, count, pins->keys, pins->lengths, pins->slices, pins->messages,
                                 false);
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < count; i++) {
        struct error further;
        enum status read = take_value(self, pins, i, &values->values[i], status == STATUS_OK ? err : &further);
        status = status == STATUS_OK ? read : status;
    }
    values->count = count;
    return status;
}

static enum status visit_all(struct rocks *self, rocksdb_iterator_t *at, struct text prefix, struct text from, cold_visit *visit,
                             void *context, struct error *err)
{
    char *message = NULL;
    bool more = true;
    for (rocksdb_iter_seek(at, from.bytes, from.length); more && rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
        struct text key, value;
        key.bytes = rocksdb_iter_key(at, &key.length);
        value.bytes = rocksdb_iter_value(at, &value.length);
        more = key.length >= prefix.length && memcmp(key.bytes, prefix.bytes, prefix.length) == 0 && visit(context, key, value);
    }
    rocksdb_iter_get_error(at, &message);
    return message == NULL ? STATUS_OK : complain(self, message, "to read", err);
}

static enum status rocks_scan(struct cold_db *db, struct text prefix, struct text from, cold_visit *visit, void *context, struct error *err)
{
    struct rocks *self = (struct rocks *)db;
    char *end = malloc(prefix.length + 1);
    size_t length;
    TRY_ALLOC(end, end, err);
    rocksdb_readoptions_t *reading = rocksdb_readoptions_create();
    rocksdb_readoptions_set_fill_cache(reading, 0);
    rocksdb_readoptions_set_readahead_size(reading, SCAN_READ_AHEAD);
    if (prefix_end(prefix, end, &length)) {
        rocksdb_readoptions_set_iterate_upper_bound(reading, end, length);
    }
    rocksdb_iterator_t *at = rocksdb_create_iterator(self->db, reading);
    enum status status = visit_all(self, at, prefix, from.bytes == NULL ? prefix : from, visit, context, err);
    rocksdb_iter_destroy(at);
    rocksdb_readoptions_destroy(reading);
    free(end);
    return status;
}

/* ---- checkpoints, figures ---- */

static enum status rocks_checkpoint(struct cold_db *db, const char *folder, struct error *err)
{
    struct rocks *self = (struct rocks *)db;
    char *message = NULL;
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(self->db, &message);
    if (message == NULL) {
        rocksdb_checkpoint_create(checkpoint, folder, 0, &message);
        rocksdb_checkpoint_object_destroy(checkpoint);
    }
    return message == NULL ? STATUS_OK : complain(self, message, "to make a checkpoint", err);
}

static uint64_t property(const struct rocks *self, const char *name)
{
    uint64_t value = 0;
    return rocksdb_property_int(self->db, name, &value) == 0 ? value : 0;
}

static void rocks_figures(struct cold_db *db, struct cold_figures *figures)
{
    const struct rocks *self = (const struct rocks *)db;
    *figures = (struct cold_figures){.keys_estimate = property(self, "rocksdb.estimate-num-keys"),
                                     .disk_bytes = property(self, "rocksdb.total-sst-files-size"),
                                     .memory_bytes = property(self, "rocksdb.cur-size-all-mem-tables") +
                                                     property(self, "rocksdb.block-cache-usage") +
                                                     property(self, "rocksdb.estimate-table-readers-mem")};
}

static const struct cold_driver rocks_driver = {
    .abi = COLD_DRIVER_ABI,
    .name = "rocksdb",
    .lasting = ".sst",
    .open = rocks_open,
    .close = rocks_close,
    .write = rocks_write,
    .get = rocks_get,
    .release = rocks_release,
    .scan = rocks_scan,
    .remove_prefix = rocks_remove_prefix,
    .checkpoint = rocks_checkpoint,
    .figures = rocks_figures,
};

MODULE_EXPORT const struct module *module_describe(void)
{
    static const void *const backends[] = {&rocks_driver, NULL};
    static const struct module module = {.build_id = MODULE_BUILD_ID, .name = "rocksdb", .types = {[MODULE_STATE_BACKENDS] = backends}};
    return &module;
}
