/* What every driver of databases for state must do (state/cold_db.h), checked on each that there is. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "state/cold_registry.h"

enum { MEMORY = 16 << 20, PATH = 512 };

static const struct cold_driver *driver;
static char root[64];

static void require_at(enum status status, const struct error *err, int line)
{
    if (status != STATUS_OK) {
        fail_msg("line %d: %s", line, err->text);
    }
}
#define require(call) require_at((call), &err, __LINE__)

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/spate-cold-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
    static char paths[4][PATH];
    static uint32_t next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH, "%s/%s", root, name);
    return path;
}

static struct cold_db *open_db(const char *name, bool read_only)
{
    struct error err;
    struct cold_db *db = NULL;
    const struct cold_options options = {.folder = path_of(name), .memory_bytes = MEMORY, .read_only = read_only};
    require(driver->open(&options, &db, &err));
    return db;
}

static void put(struct cold_db *db, const char *key, const char *value)
{
    struct error err;
    const struct cold_write write = {text_from(key), value == NULL ? (struct text){0} : text_from(value)};
    require(driver->write(db, &write, 1, &err));
}

static void expect(struct cold_db *db, const char *key, const char *value)
{
    struct error err;
    struct cold_values values = {0};
    const struct text keys[] = {text_from(key)};
    require(driver->get(db, keys, 1, &values, &err));
    assert_int_equal(values.count, 1);
    if (value == NULL) {
        assert_null(values.values[0].bytes);
    } else {
        assert_non_null(values.values[0].bytes);
        assert_true(text_equal(values.values[0], text_from(value)));
    }
    driver->release(db, &values);
    assert_null(values.values);
    assert_null(values.pinned);
}

/* ---- scans ---- */

struct seen {
    char keys[400];
    uint32_t most, count;
};

static bool note_key(void *context, struct text key, struct text value)
{
    struct seen *seen = context;
    (void)value;
    for (size_t i = 0; i < key.length; i++) {
        sprintf(seen->keys + strlen(seen->keys), "%02x", (unsigned char)key.bytes[i]);
    }
    strcat(seen->keys, " ");
    return ++seen->count < seen->most;
}

static const char *scan(struct cold_db *db, struct text prefix, uint32_t most)
{
    static struct seen seen;
    struct error err;
    seen = (struct seen){.most = most};
    require(driver->scan(db, prefix, (struct text){0}, note_key, &seen, &err));
    return seen.keys;
}

static const struct text odd_keys[] = {{"\xff\xff\xff", 3}, {"b\0", 2}, {"a", 1},    {"b", 1},       {"\0", 1},
                                       {"b\xff", 2},        {"c", 1},   {"\xff", 1}, {"b\0\x01", 3}, {"\xff\xff", 2}};

static void put_odd_keys(struct cold_db *db)
{
    struct error err;
    struct cold_write writes[ARRAY_LENGTH(odd_keys)];
    for (size_t i = 0; i < ARRAY_LENGTH(odd_keys); i++) {
        writes[i] = (struct cold_write){odd_keys[i], TEXT("x")};
    }
    require(driver->write(db, writes, ARRAY_LENGTH(writes), &err));
}

static void keys_are_ordered_by_their_bytes_and_found_by_prefix(void **state)
{
    (void)state;
    struct cold_db *db = open_db("db", false);
    put_odd_keys(db);
    assert_string_equal(scan(db, TEXT(""), 100), "00 61 62 6200 620001 62ff 63 ff ffff ffffff ");
    assert_string_equal(scan(db, TEXT("b"), 100), "62 6200 620001 62ff ");
    assert_string_equal(scan(db, (struct text){"b\0", 2}, 100), "6200 620001 ");
    assert_string_equal(scan(db, TEXT("\xff\xff"), 100), "ffff ffffff ");
    assert_string_equal(scan(db, TEXT("bb"), 100), "");
    assert_string_equal(scan(db, TEXT(""), 3), "00 61 62 ");
    driver->close(db);
}

static void what_begins_with_a_prefix_is_removed_together(void **state)
{
    (void)state;
    struct error err;
    struct cold_db *db = open_db("db", false);
    put_odd_keys(db);
    require(driver->remove_prefix(db, (struct text){"b\0", 2}, &err));
    assert_string_equal(scan(db, TEXT(""), 100), "00 61 62 62ff 63 ff ffff ffffff ");
    require(driver->remove_prefix(db, TEXT("\xff\xff"), &err));
    require(driver->remove_prefix(db, TEXT("z"), &err));
    assert_string_equal(scan(db, TEXT(""), 100), "00 61 62 62ff 63 ff ");
    put(db, "b", "again");
    require(driver->remove_prefix(db, TEXT("b"), &err));
    put(db, "b", "new");
    assert_string_equal(scan(db, TEXT("b"), 100), "62 ");
    expect(db, "b", "new");
    require(driver->remove_prefix(db, TEXT(""), &err));
    assert_string_equal(scan(db, TEXT(""), 100), "");
    driver->close(db);
}

/* ---- values ---- */

static void a_value_is_what_was_written_last(void **state)
{
    (void)state;
    struct error err;
    struct cold_db *db = open_db("db", false);
    const struct cold_write writes[] = {{TEXT("k"), TEXT("first")}, {TEXT("gone"), TEXT("x")},      {TEXT("k"), TEXT("second")},
                                        {TEXT("gone"), {NULL, 0}},  {TEXT("empty"), {.bytes = ""}}, {TEXT("never"), {NULL, 0}}};
    require(driver->write(db, writes, ARRAY_LENGTH(writes), &err));
    expect(db, "k", "second");
    expect(db, "gone", NULL);
    expect(db, "empty", "");
    expect(db, "never", NULL);
    require(driver->write(db, NULL, 0, &err));
    put(db, "k", NULL);
    expect(db, "k", NULL);
    driver->close(db);
}

enum { KEYS = 5000, ROUNDS = 60, AT_ONCE = 700 };
struct model { /* version written last, by key; 0: absent */
    uint32_t versions[KEYS];
};

static size_t model_key(uint32_t number, char *key)
{
    return (size_t)sprintf(key, "%08llx", (unsigned long long)(hash_uint64(number) >> 32));
}

/* From nothing to some kilobytes. */
static size_t model_value(uint32_t number, uint32_t version, char *value)
{
    size_t length = (number * 131 + version * 17) % 3000;
    for (size_t i = 0; i < length; i++) { /* hard to compress */
        value[i] = (char)hash_uint64((uint64_t)number << 32 | version << 16 | i);
    }
    length += (size_t)sprintf(value + length, "-%u-%u", number, version);
    return length;
}

static void write_some(struct cold_db *db, struct model *model, uint32_t round)
{
    static char keys[AT_ONCE][16], values[AT_ONCE][4096];
    struct cold_write writes[AT_ONCE];
    struct error err;
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        uint32_t number = (uint32_t)(hash_uint64(round * 1000 + i) % KEYS);
        bool removed = (i + round) % 9 == 0;
        model->versions[number] = removed ? 0 : round + 1;
        writes[i].key = (struct text){keys[i], model_key(number, keys[i])};
        writes[i].value = (struct text){removed ? NULL : values[i], removed ? 0 : model_value(number, round + 1, values[i])};
    }
    require(driver->write(db, writes, AT_ONCE, &err));
}

static void check_some(struct cold_db *db, const struct model *model, struct cold_values *values, uint32_t from, uint32_t count)
{
    static char keys[KEYS][16];
    static struct text wanted[KEYS];
    char value[4096];
    struct error err;
    for (uint32_t i = 0; i < count; i++) { /* from the last to the first: in no order of their bytes */
        wanted[i] = (struct text){keys[i], model_key((from + count - 1 - i) % KEYS, keys[i])};
    }
    require(driver->get(db, wanted, count, values, &err));
    assert_int_equal(values->count, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = (from + count - 1 - i) % KEYS, version = model->versions[number];
        struct text got = values->values[i];
        assert_int_equal(got.bytes != NULL, version > 0);
        assert_true(version == 0 || text_equal(got, (struct text){value, model_value(number, version, value)}));
    }
}

static void check_all(struct cold_db *db, const struct model *model)
{
    struct cold_values values = {0};
    check_some(db, model, &values, 0, KEYS);
    driver->release(db, &values);
}

static void many_values_are_read_at_once_whatever_was_flushed(void **state)
{
    (void)state;
    static struct model model;
    struct cold_values values = {0};
    struct cold_db *db = open_db("db", false);
    memset(&model, 0, sizeof model);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        write_some(db, &model, round);
        check_some(db, &model, &values, round * 77, 1 + round * 13);
    }
    check_some(db, &model, &values, 0, 0);
    driver->release(db, &values);
    check_all(db, &model);
    struct cold_figures figures;
    driver->figures(db, &figures);
    assert_true(figures.disk_bytes > 1 << 20);
    assert_in_range(figures.keys_estimate, 1000, 200000);
    driver->close(db);
}

/* ---- checkpoints ---- */

static void a_checkpoint_stays_as_it_was_and_opens_again(void **state)
{
    (void)state;
    static struct model model, first, second;
    struct error err;
    struct cold_db *db = open_db("db", false);
    memset(&model, 0, sizeof model);
    for (uint32_t round = 0; round < 20; round++) {
        write_some(db, &model, round);
    }
    require(driver->checkpoint(db, path_of("one"), &err));
    first = model;
    write_some(db, &model, 20);
    require(driver->checkpoint(db, path_of("two"), &err));
    second = model;
    for (uint32_t round = 21; round < 60; round++) { /* what the checkpoints' files hold is rewritten */
        write_some(db, &model, round);
    }
    assert_int_not_equal(driver->checkpoint(db, path_of("two"), &err), STATUS_OK);
    struct cold_db *left = open_db("one", true), *right = open_db("one", true), *other = open_db("two", true);
    check_all(left, &first);
    check_all(right, &first);
    check_all(other, &second);
    check_all(db, &model);
    driver->close(db);
    driver->close(left);
    driver->close(right);
    driver->close(other);
    db = open_db("one", false); /* and it goes on from there */
    check_all(db, &first);
    write_some(db, &first, 99);
    require(driver->checkpoint(db, path_of("three"), &err));
    driver->close(db);
    db = open_db("three", true);
    check_all(db, &first);
    driver->close(db);
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);
    return length >= end_length && strcmp(name + length - end_length, end) == 0;
}

/* Files of the folder whose names last: how many, how many of them the other folder has under the same name, and whether those are the same
 * file. Of the others: their bytes together. */
static void compare_folders(const char *folder, const char *other, uint32_t *lasting, uint32_t *shared, uint64_t *small_bytes)
{
    DIR *listing = opendir(folder);
    *lasting = *shared = 0;
    *small_bytes = 0;
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char path[2 * PATH], other_path[2 * PATH];
        struct stat own, others;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(other_path, sizeof other_path, "%s/%s", other, entry->d_name);
        assert_int_equal(stat(path, &own), 0);
        if (ends_with(entry->d_name, driver->lasting)) {
            (*lasting)++;
            if (stat(other_path, &others) == 0) {
                assert_int_equal(own.st_ino, others.st_ino);
                (*shared)++;
            }
        } else if (S_ISREG(own.st_mode)) {
            *small_bytes += (uint64_t)own.st_size;
        }
    }
    closedir(listing);
}

static void a_later_checkpoint_shares_its_files_with_an_earlier_one(void **state)
{
    (void)state;
    static struct model model;
    struct error err;
    uint32_t lasting, shared;
    uint64_t small_bytes;
    struct cold_db *db = open_db("db", false);
    memset(&model, 0, sizeof model);
    for (uint32_t round = 0; round < 30; round++) {
        write_some(db, &model, round);
    }
    require(driver->checkpoint(db, path_of("one"), &err));
    put(db, "k", "v");
    require(driver->checkpoint(db, path_of("two"), &err));
    driver->close(db);
    compare_folders(path_of("two"), path_of("one"), &lasting, &shared, &small_bytes);
    assert_true(lasting >= 2 && shared >= 1);
    assert_true(small_bytes < 100000);
}

/* ---- faults ---- */

static void make_checkpoint(void)
{
    static struct model model;
    struct error err;
    struct cold_db *db = open_db("db", false);
    memset(&model, 0, sizeof model);
    for (uint32_t round = 0; round < 10; round++) {
        write_some(db, &model, round);
    }
    require(driver->checkpoint(db, path_of("copy"), &err));
    driver->close(db);
}

/* The first of the copy's files that ends so. */
static const char *file_of_copy(const char *end)
{
    static char path[2 * PATH];
    DIR *listing = opendir(path_of("copy"));
    path[0] = '\0';
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (ends_with(entry->d_name, end)) {
            snprintf(path, sizeof path, "%s/%s", path_of("copy"), entry->d_name);
        }
    }
    closedir(listing);
    assert_true(path[0] != '\0');
    return path;
}

static enum status read_copy(struct error *err)
{
    static char keys[KEYS][16];
    static struct text wanted[KEYS];
    struct cold_db *db;
    struct cold_values values = {0};
    const struct cold_options options = {.folder = path_of("copy"), .memory_bytes = MEMORY};
    for (uint32_t i = 0; i < KEYS; i++) {
        wanted[i] = (struct text){keys[i], model_key(i, keys[i])};
    }
    TRY(driver->open(&options, &db, err));
    enum status status = driver->get(db, wanted, KEYS, &values, err);
    driver->release(db, &values);
    driver->close(db);
    return status;
}

static void expect_corrupt(void)
{
    struct error err = {0};
    assert_int_equal(read_copy(&err), STATUS_CORRUPT);
    assert_int_equal(err.code, ERROR_STATE_CORRUPT);
    if (strstr(err.text, path_of("copy")) == NULL) {
        fail_msg("no folder in: %s", err.text);
    }
}

static void a_flipped_byte_is_found(void **state)
{
    (void)state;
    make_checkpoint();
    const char *path = file_of_copy(driver->lasting);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    unsigned char byte;
    int file = open(path, O_RDWR);
    assert_int_equal(pread(file, &byte, 1, status.st_size / 3), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(file, &byte, 1, status.st_size / 3), 1);
    close(file);
    expect_corrupt();
}

static void a_file_that_is_cut_is_found(void **state)
{
    (void)state;
    make_checkpoint();
    const char *path = file_of_copy(driver->lasting);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size / 2), 0);
    expect_corrupt();
}

static void a_file_that_is_missing_is_found(void **state)
{
    (void)state;
    make_checkpoint();
    assert_int_equal(unlink(file_of_copy(driver->lasting)), 0);
    expect_corrupt();
}

/* Else it would be a new database, and all state lost without a word. */
static void a_copy_without_its_beginning_is_no_new_database(void **state)
{
    (void)state;
    make_checkpoint();
    assert_int_equal(unlink(file_of_copy("CURRENT")), 0);
    expect_corrupt();
}

/* In a process of its own: no file may grow past the limit, as on a disk that is full. */
static int write_until_full(void)
{
    struct error err = {0};
    struct cold_db *db = open_db("db", false);
    const struct rlimit limit = {1 << 19, 1 << 19};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    enum status status = STATUS_OK;
    for (uint32_t round = 0; round < 500 && status == STATUS_OK; round++) {
        char key[16], value[4096];
        const struct cold_write write = {{key, model_key(round, key)}, {value, model_value(round, 1, value)}};
        status = driver->write(db, &write, 1, &err);
    }
    if (status == STATUS_OK) {
        status = driver->checkpoint(db, path_of("full"), &err);
    }
    bool right = status == STATUS_FULL && err.code == ERROR_STATE_DISK && strstr(err.text, root) != NULL;
    if (!right) {
        fprintf(stderr, "status %d: %s\n", (int)status, err.text);
    }
    driver->close(db);
    return right ? 0 : 1;
}

static void a_full_disk_is_an_error_that_says_so(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "cold_db", "full", root, NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_folder_that_cannot_be_made_is_an_error_that_names_it(void **state)
{
    (void)state;
    struct error err = {0};
    struct cold_db *db;
    const struct cold_options options = {.folder = "/proc/none/db", .memory_bytes = MEMORY};
    assert_int_equal(driver->open(&options, &db, &err), STATUS_FULL);
    assert_int_equal(err.code, ERROR_STATE_DISK);
    assert_non_null(strstr(err.text, "/proc/none/db"));
}

/* ---- memory ---- */

static void a_database_stays_within_its_memory(void **state)
{
    (void)state;
    static struct model model;
    struct cold_figures figures;
    struct cold_values values = {0};
    size_t before = mallinfo2().uordblks, most = 0;
    struct cold_db *db = open_db("db", false);
    memset(&model, 0, sizeof model);
    for (uint32_t round = 0; round < 100; round++) { /* more than 100 MB */
        write_some(db, &model, round);
        check_some(db, &model, &values, round * 77, 100);
        driver->figures(db, &figures);
        assert_true(figures.memory_bytes <= MEMORY);
        size_t now = mallinfo2().uordblks;
        most = now - before > most ? now - before : most;
    }
    driver->release(db, &values);
    driver->close(db);
    print_message("%zu of %d bytes\n", most, MEMORY);
    assert_true(most <= MEMORY / 8 * 9);
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    struct error err = {0};
    const struct cold_driver *none;
    assert_int_equal(cold_driver_find("forst", &none, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "'forst'"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(keys_are_ordered_by_their_bytes_and_found_by_prefix),
        IN_FOLDER(what_begins_with_a_prefix_is_removed_together),
        IN_FOLDER(a_value_is_what_was_written_last),
        IN_FOLDER(many_values_are_read_at_once_whatever_was_flushed),
        IN_FOLDER(a_checkpoint_stays_as_it_was_and_opens_again),
        IN_FOLDER(a_later_checkpoint_shares_its_files_with_an_earlier_one),
        IN_FOLDER(a_flipped_byte_is_found),
        IN_FOLDER(a_file_that_is_cut_is_found),
        IN_FOLDER(a_file_that_is_missing_is_found),
        IN_FOLDER(a_copy_without_its_beginning_is_no_new_database),
        IN_FOLDER(a_full_disk_is_an_error_that_says_so),
        IN_FOLDER(a_folder_that_cannot_be_made_is_an_error_that_names_it),
        IN_FOLDER(a_database_stays_within_its_memory),
        cmocka_unit_test(unknown_names_are_refused),
    };
    struct error err;
#ifdef __SANITIZE_THREAD__
    printf("skipped: RocksDB is not built with the sanitizer of threads, which so does not see what orders its own\n");
    return 0;
#endif
    setenv("SPATE_MODULE_PATH", MODULE_FOLDER, 0);
    if (cold_driver_find("rocksdb", &driver, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (count == 3 && strcmp(arguments[1], "full") == 0) {
        snprintf(root, sizeof root, "%s", arguments[2]);
        return write_until_full();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
