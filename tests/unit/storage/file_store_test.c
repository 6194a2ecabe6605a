#include "storage_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../../faults/fault_files.h"
#include "base/clock.h"

static void file_store_keeps_a_key_beside_the_keys_below_it(void **state)
{
    (void)state;
    struct object_store *store = open_store(test_folder, NULL);
    put(store, "a", "1");
    put(store, "a/b", "2");
    put(store, "a/b/c", "3");
    put(store, "a-b", "4");
    put(store, "a0", "5");
    put(store, "A", "6");
    assert_object(store, "a", "1");
    assert_object(store, "a/b", "2");
    assert_object(store, "a/b/c", "3");
    assert_list(store, "", NULL, "A a a-b a/b a/b/c a0 ");
    assert_list(store, "a/", NULL, "a/b a/b/c ");
    assert_list(store, "a", "a-b", "a/b a/b/c a0 ");
    assert_list(store, "a/b/", NULL, "a/b/c ");
    assert_list(store, "", "a/b/c", "a0 ");
    assert_list(store, "b/c/d", NULL, "");
    object_store_close(store);
}

static void file_store_lists_long_parts_in_the_order_of_keys(void **state)
{
    (void)state;
    struct object_store *store = open_store(test_folder, NULL);
    char eighty[81], key[400], expected[2000] = "";
    memset(eighty, 'k', 80);
    eighty[80] = '\0';
    static const char *const endings[] = {"", "!", "-x", "/y", "/y/z", "a", "b/c"}; /* sorted */
    eighty[79] = '\0';
    put(store, eighty, "79");
    strcat(strcat(expected, eighty), " ");
    eighty[79] = 'k';
    for (size_t i = 0; i < 7; i++) {
        snprintf(key, sizeof key, "%s%s", eighty, endings[6 - i]);
        put(store, key, endings[6 - i]);
        strcat(strcat(strcat(expected, eighty), endings[i]), " ");
    }
    assert_list(store, "", NULL, expected);
    snprintf(key, sizeof key, "%s/y/z", eighty);
    assert_object(store, key, "/y/z");
    object_store_close(store);
}

static void file_store_ignores_what_others_put_into_its_folder(void **state)
{
    (void)state;
    char command[300];
    struct object_store *store = open_store(test_folder, NULL);
    put(store, "a/b", "x");
    snprintf(command, sizeof command, "cd %s && mkdir lost+found 'a+/sub dir' && touch 'a+/x y' %% '.hidden' && mkdir %%+ && touch %%+/q",
             test_folder);
    assert_int_equal(system(command), 0);
    assert_list(store, "", NULL, "a/b ");
    object_store_close(store);
}

static void file_store_gives_every_put_a_new_etag_and_checks_it(void **state)
{
    (void)state;
    struct object_store *store = open_store(test_folder, NULL);
    struct error err;
    struct object_info first, second, other;
    enum object_result result;
    assert_true(store->driver->caps(store).conditional_put);
    assert_int_equal(put_if(store, "k", "1", PUT_IF_ABSENT, NULL, &first), OBJECT_OK);
    assert_int_equal(put_if(store, "k", "2", PUT_IF_ABSENT, NULL, &other), OBJECT_CONFLICT);
    assert_int_equal(put_if(store, "k", "1", PUT_IF_MATCH, first.etag, &second), OBJECT_OK);
    assert_string_not_equal(first.etag, second.etag);
    assert_int_equal(put_if(store, "k", "3", PUT_IF_MATCH, first.etag, &other), OBJECT_CONFLICT);
    assert_int_equal(put_if(store, "absent", "3", PUT_IF_MATCH, first.etag, &other), OBJECT_CONFLICT);
    require(store->driver->remove(store, "k", first.etag, &result, &err), &err);
    assert_int_equal(result, OBJECT_CONFLICT);
    assert_object(store, "k", "1");
    require(store->driver->remove(store, "k", second.etag, &result, &err), &err);
    assert_int_equal(result, OBJECT_OK);
    require(store->driver->remove(store, "k", second.etag, &result, &err), &err);
    assert_int_equal(result, OBJECT_ABSENT);
    require(store->driver->remove(store, "k", NULL, &result, &err), &err);
    assert_int_equal(result, OBJECT_ABSENT);
    assert_int_equal(put_if(store, "k", "4", PUT_IF_MATCH, second.etag, &other), OBJECT_CONFLICT);
    object_store_close(store);
}

static void file_store_removes_folders_that_became_empty(void **state)
{
    (void)state;
    struct object_store *store = open_store(test_folder, NULL);
    struct error err;
    enum object_result result;
    char path[128];
    struct stat status;
    put(store, "a/b/c", "x");
    put(store, "a/d", "x");
    require(store->driver->remove(store, "a/b/c", NULL, &result, &err), &err);
    snprintf(path, sizeof path, "%s/a+/b+", test_folder);
    assert_int_not_equal(stat(path, &status), 0);
    assert_object(store, "a/d", "x");
    object_store_close(store);
}

/* Changes one byte of the object's file. */
static void flip(const char *name, off_t offset)
{
    char path[128], byte;
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    int fd = open(path, O_RDWR);
    offset = offset < 0 ? lseek(fd, 0, SEEK_END) + offset : offset;
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

static enum status status_of_get(struct object_store *store, const char *key)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    char *bytes = NULL;
    size_t length;
    enum status status = object_get_bytes(store, key, 1 << 20, &result, &bytes, &length, &info, &err);
    free(bytes);
    return status;
}

static void file_store_calls_every_flipped_bit_and_every_cut_corrupt(void **state)
{
    (void)state;
    struct object_store *store = open_store(test_folder, NULL);
    struct error err;
    enum object_result result;
    struct object_info info;
    char path[128];
    put(store, "k", "0123456789");
    for (off_t at = 0; at < 110; at++) {
        flip("k", at);
        assert_int_equal(status_of_get(store, "k"), STATUS_CORRUPT);
        flip("k", at);
        assert_object(store, "k", "0123456789");
    }
    flip("k", -3);
    assert_int_equal(store->driver->head(store, "k", &result, &info, &err), STATUS_CORRUPT);
    assert_int_equal(put_if(store, "k", "new", PUT_IF_ABSENT, NULL, &info), OBJECT_CONFLICT);
    assert_list(store, "", NULL, "k "); /* found by those who look for damage */
    snprintf(path, sizeof path, "%s/k", test_folder);
    assert_int_equal(truncate(path, 50), 0);
    assert_int_equal(status_of_get(store, "k"), STATUS_CORRUPT);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(status_of_get(store, "k"), STATUS_CORRUPT);
    put(store, "k", "whole again");
    assert_object(store, "k", "whole again");
    object_store_close(store);
}

static int64_t later_wall_us(const struct clock *clock)
{
    (void)clock;
    return clock_system.wall_us(&clock_system) + INT64_C(25) * 3600 * 1000000;
}

static void file_store_sweeps_old_temporary_files_when_it_opens(void **state)
{
    (void)state;
    struct clock later = {.wall_us = later_wall_us, .monotonic_us = clock_system.monotonic_us};
    struct object_environment environment = {.clock = &later};
    struct stat status;
    char path[128];
    struct object_store *store = open_store(test_folder, NULL);
    snprintf(path, sizeof path, "%s/.spate/temp/left", test_folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_list(store, "", NULL, "");
    object_store_close(store);
    object_store_close(open_store(test_folder, NULL));
    assert_int_equal(stat(path, &status), 0); /* perhaps it is being written */
    object_store_close(open_store(test_folder, &environment));
    assert_int_not_equal(stat(path, &status), 0);
}

static void file_store_waits_for_a_lock_only_so_long(void **state)
{
    (void)state;
    struct error err;
    enum object_result result;
    struct object_info info;
    struct object_option options[] = {{"file.lock-timeout", "50 ms"}};
    struct object_store *store = NULL;
    require(object_store_open(test_folder, options, 1, NULL, &store, &err), &err);
    put(store, "k", "old");
    char path[128];
    snprintf(path, sizeof path, "%s/.spate/locks", test_folder);
    int fd = open(path, O_RDWR);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
    assert_int_equal(object_put_bytes(store, "k", "new", 3, PUT_ANY, NULL, &result, &info, &err), STATUS_UNAVAILABLE);
    assert_object(store, "k", "old");
    close(fd);
    put(store, "k", "new");
    object_store_close(store);
}

/* ---- faults ---- */

struct faulty {
    struct fault_files files;
    struct object_store *store;
    char uri[128];
};

static void faulty_open(struct faulty *self)
{
    char backups[128];
    snprintf(self->uri, sizeof self->uri, "%s/store", test_folder);
    snprintf(backups, sizeof backups, "%s/backups", test_folder);
    mkdir(backups, 0700);
    fault_files_open(&self->files, backups);
    self->store = open_store(self->uri, &(struct object_environment){.files = &self->files.base});
}

static void faulty_close(struct faulty *self)
{
    object_store_close(self->store);
    fault_files_close(&self->files);
}

static void file_store_survives_short_writes_and_slowness(void **state)
{
    (void)state;
    struct faulty faulty;
    faulty_open(&faulty);
    fault_files_set(&faulty.files, FAULT_SHORT_WRITES, 0);
    put(faulty.store, "k", "a body that takes several short writes");
    fault_files_set(&faulty.files, FAULT_SLOW, 0);
    assert_object(faulty.store, "k", "a body that takes several short writes");
    put(faulty.store, "k", "slowly");
    assert_object(faulty.store, "k", "slowly");
    faulty_close(&faulty);
}

/* One fault at each call of its kind in turn: what put says, and that the old value is whole when it did not say OK. */
static void assert_fault(enum fault fault, enum status expected)
{
    struct faulty faulty;
    struct error err;
    enum object_result result;
    struct object_info info;
    uint32_t at = 1, failed = 0;
    faulty_open(&faulty);
    put(faulty.store, "a/k", "old");
    for (bool struck = true; struck; at++) {
        fault_files_set(&faulty.files, fault, at);
        enum status status = object_put_bytes(faulty.store, "a/k", "new", 3, PUT_ANY, NULL, &result, &info, &err);
        struck = faulty.files.calls >= at;
        fault_files_set(&faulty.files, FAULT_NONE, 0);
        if (status != STATUS_OK) {
            assert_int_equal(status, expected);
            assert_object(faulty.store, "a/k", "old");
            failed++;
        } else if (struck) {
            assert_int_equal(result, OBJECT_UNKNOWN); /* of those here only fsync of a folder */
        }
        put(faulty.store, "a/k", "old");
        assert_list(faulty.store, "", NULL, "a/k ");
    }
    assert_true(failed >= 1);
    faulty_close(&faulty);
}

static void file_store_on_a_full_disk_is_full_and_the_old_value_intact(void **state)
{
    (void)state;
    assert_fault(FAULT_NO_SPACE, STATUS_FULL);
}

static void file_store_after_a_failed_fsync_never_says_ok(void **state)
{
    (void)state;
    assert_fault(FAULT_SYNC, STATUS_UNAVAILABLE);
}

static void file_store_that_cannot_read_says_so(void **state)
{
    (void)state;
    struct faulty faulty;
    faulty_open(&faulty);
    put(faulty.store, "k", "old");
    for (uint32_t at = 1; at <= 2; at++) {
        fault_files_set(&faulty.files, FAULT_READ, at);
        assert_int_equal(status_of_get(faulty.store, "k"), STATUS_UNAVAILABLE);
    }
    fault_files_set(&faulty.files, FAULT_NONE, 0);
    assert_object(faulty.store, "k", "old");
    faulty_close(&faulty);
}

static void file_store_sees_a_torn_file(void **state)
{
    (void)state;
    for (uint32_t at = 1; at <= 2; at++) { /* the body, the last line */
        struct faulty faulty;
        faulty_open(&faulty);
        fault_files_set(&faulty.files, FAULT_TORN, at);
        put(faulty.store, "k", "a body of some length");
        assert_int_equal(status_of_get(faulty.store, "k"), STATUS_CORRUPT);
        faulty_close(&faulty);
    }
}

static void file_store_keeps_the_old_value_where_a_rename_is_lost(void **state)
{
    (void)state;
    struct faulty faulty;
    struct object_info info;
    faulty_open(&faulty);
    put(faulty.store, "k", "old");
    fault_files_set(&faulty.files, FAULT_RENAME_LOST, 1);
    put(faulty.store, "k", "new");
    assert_object(faulty.store, "k", "old");
    fault_files_set(&faulty.files, FAULT_RENAME_LOST, 1);
    assert_int_equal(put_if(faulty.store, "j", "new", PUT_IF_ABSENT, NULL, &info), OBJECT_OK);
    assert_null(text_of(faulty.store, "j"));
    faulty_close(&faulty);
}

/* The process ends at every call in turn, then the power too: old or new, whole; new for certain when put said OK. */
static void assert_crashes(enum put_condition condition, const char *key)
{
    uint32_t at = 1;
    for (bool finished = false; !finished; at++) {
        struct faulty faulty;
        struct error err;
        enum object_result result = OBJECT_UNKNOWN;
        struct object_info info;
        faulty_open(&faulty);
        put(faulty.store, "z", "there");
        if (condition == PUT_IF_MATCH) {
            assert_int_equal(put_if(faulty.store, key, "old", PUT_ANY, NULL, &info), OBJECT_OK);
        }
        char etag[OBJECT_ETAG_MAX];
        snprintf(etag, sizeof etag, "%s", info.etag);
        fault_files_set(&faulty.files, FAULT_STOP, at);
        enum status status =
            object_put_bytes(faulty.store, key, "new", 3, condition, condition == PUT_IF_MATCH ? etag : NULL, &result, &info, &err);
        finished = faulty.files.calls < at;
        bool promised = status == STATUS_OK && result == OBJECT_OK;
        for (int power_cut = 0; power_cut < 2; power_cut++) {
            fault_files_set(&faulty.files, FAULT_NONE, 0);
            if (power_cut != 0) {
                fault_files_power_cut(&faulty.files);
            }
            struct object_store *again = open_store(faulty.uri, NULL);
            char *text = text_of(again, key);
            assert_true(text == NULL ? condition == PUT_IF_ABSENT && !promised
                                     : strcmp(text, "new") == 0 || (strcmp(text, "old") == 0 && !promised));
            free(text);
            assert_object(again, "z", "there");
            object_store_close(again);
        }
        faulty_close(&faulty);
        char command[128];
        snprintf(command, sizeof command, "rm -rf %s/*", test_folder);
        assert_int_equal(system(command), 0);
    }
    assert_true(at > 10);
}

static void file_store_put_that_ends_anywhere_leaves_the_old_object_or_the_new_one(void **state)
{
    (void)state;
    assert_crashes(PUT_IF_ABSENT, "new/folder/k");
    assert_crashes(PUT_IF_MATCH, "a/k");
}

static void file_store_locks_end_with_a_killed_process(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        if (child == 0) {
            struct object_store *store = open_store(test_folder, NULL);
            for (;;) {
                put(store, "k", "from the one that is killed");
            }
        }
        usleep(3000 + 1000 * (useconds_t)(round % 7));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct object_store *store = open_store(test_folder, NULL);
        char *text = text_of(store, "k");
        assert_true(text == NULL || strcmp(text, "from the one that is killed") == 0 || strcmp(text, "mine") == 0);
        free(text);
        put(store, "k", "mine");
        assert_list(store, "", NULL, "k ");
        object_store_close(store);
    }
}

static void file_store_that_may_only_be_read_is_read(void **state)
{
    (void)state;
    struct error err;
    enum object_result result;
    struct object_info info;
    char command[128];
    object_store_close(open_store(test_folder, NULL));
    struct object_store *store = open_store(test_folder, NULL);
    put(store, "k", "x");
    object_store_close(store);
    snprintf(command, sizeof command, "cd %s && rm -rf .spate && chmod 755 k && chmod 555 .", test_folder);
    assert_int_equal(system(command), 0);
    pid_t child = fork();
    if (child == 0) {
        if (setuid(65534) != 0) { /* root may write anywhere */
            _exit(2);
        }
        store = open_store(test_folder, NULL);
        bool fine = !store->driver->caps(store).conditional_put && strcmp(text_of(store, "k"), "x") == 0 &&
                    object_put_bytes(store, "k", "y", 1, PUT_ANY, NULL, &result, &info, &err) == STATUS_DENIED;
        _exit(fine ? 0 : 1);
    }
    int ended;
    waitpid(child, &ended, 0);
    snprintf(command, sizeof command, "chmod 755 %s", test_folder);
    assert_int_equal(system(command), 0);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_test_folder, remove_test_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(file_store_keeps_a_key_beside_the_keys_below_it),
        TEST(file_store_lists_long_parts_in_the_order_of_keys),
        TEST(file_store_ignores_what_others_put_into_its_folder),
        TEST(file_store_gives_every_put_a_new_etag_and_checks_it),
        TEST(file_store_removes_folders_that_became_empty),
        TEST(file_store_calls_every_flipped_bit_and_every_cut_corrupt),
        TEST(file_store_sweeps_old_temporary_files_when_it_opens),
        TEST(file_store_waits_for_a_lock_only_so_long),
        TEST(file_store_survives_short_writes_and_slowness),
        TEST(file_store_on_a_full_disk_is_full_and_the_old_value_intact),
        TEST(file_store_after_a_failed_fsync_never_says_ok),
        TEST(file_store_that_cannot_read_says_so),
        TEST(file_store_sees_a_torn_file),
        TEST(file_store_keeps_the_old_value_where_a_rename_is_lost),
        TEST(file_store_put_that_ends_anywhere_leaves_the_old_object_or_the_new_one),
        TEST(file_store_locks_end_with_a_killed_process),
        TEST(file_store_that_may_only_be_read_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
