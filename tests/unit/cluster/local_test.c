#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../faults/fault_files.h"
#include "cluster/driver.h"
#include "cluster/local.h"

static struct budget budget;
static struct arena *arena;
static struct error err;
static char folder[64], side[80];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/spate-local-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    arena_reset(arena);
    return system(command);
}

static struct cluster_session *open_folder(const struct file_system *files)
{
    const struct cluster_environment environment = {.files = files};
    struct cluster_session *session;
    assert_int_equal(cluster_open(folder, NULL, 0, &environment, &session, &err), STATUS_OK);
    return session;
}

static void mount_kind_knows_what_locks_can_be_trusted_with(void **state)
{
    (void)state;
    static const char mounts[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                                 "30 22 0:40 / /mnt/old rw shared:2 - nfs server:/old rw,vers=3\n"
                                 "31 22 0:41 / /mnt/new rw shared:3 - nfs4 server:/new rw,vers=4.2\n"
                                 "32 22 0:42 / /mnt/a\\040b rw - cifs //server/share rw\n"
                                 "33 22 0:43 / /mnt/over rw - nfs server:/over rw\n"
                                 "34 22 0:44 / /mnt/over rw - tmpfs tmpfs rw\n";
    static const struct {
        const char *path, *type;
        bool refused, one_host;
    } cases[] = {{"/var/lib/x", "ext4", false, true},  {"/mnt/old", "nfs", true, false},     {"/mnt/old/a/b", "nfs", true, false},
                 {"/mnt/older", "ext4", false, true},  {"/mnt/new/a", "nfs4", false, false}, {"/mnt/a b/c", "cifs", false, false},
                 {"/mnt/over/x", "tmpfs", false, true}};
    struct mount_kind kind;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mount_kind_find(mounts, cases[i].path, &kind);
        assert_string_equal(kind.type, cases[i].type);
        assert_int_equal(kind.refused, cases[i].refused);
        assert_int_equal(kind.one_host, cases[i].one_host);
    }
    mount_kind_find("", "/x", &kind);
    assert_false(kind.refused || kind.one_host);
}

/* The one file of a register in the folder. */
static void path_of_register(char *path, size_t capacity)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL && entry->d_name[0] == '.') {
    }
    assert_non_null(entry);
    snprintf(path, capacity, "%s/%s", folder, entry->d_name);
    closedir(entries);
}

static void folder_calls_a_register_corrupt_whose_file_is_zeroed_cut_flipped_or_foreign(void **state)
{
    (void)state;
    struct cluster_session *s = open_folder(NULL);
    struct cluster_value value;
    struct cluster_version version, next;
    enum cluster_result result;
    char path[400], bytes[512], damaged[512];
    assert_int_equal(s->driver->put(s, "model", TEXT("{\"v\":1}"), NULL, &result, &version, &err), STATUS_OK);
    path_of_register(path, sizeof path);
    int fd = open(path, O_RDWR);
    ssize_t length = read(fd, bytes, sizeof bytes);
    assert_true(length > 7 && length < (ssize_t)sizeof bytes);
    for (uint32_t kind = 0; kind < 4; kind++) {
        memcpy(damaged, bytes, sizeof damaged);
        size_t size = (size_t)length;
        switch (kind) {
        case 0:
            memset(damaged, 0, size);
            break;
        case 1:
            size /= 2;
            break;
        case 2:
            damaged[2] ^= 1;
            break;
        default:
            size = (size_t)snprintf(damaged, sizeof damaged, "what an editor left");
        }
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, damaged, size, 0), (ssize_t)size);
        assert_int_equal(s->driver->get(s, "model", arena, &result, &value, &err), STATUS_CORRUPT);
        assert_non_null(strstr(err.text, "model"));
        if (s->driver->put(s, "model", TEXT("x"), NULL, &result, &next, &err) == STATUS_OK) { /* never absent */
            assert_int_equal(result, CLUSTER_CONFLICT);
        }
    }
    close(fd);
    cluster_close(s, true);
}

/* Whatever call of the disk fails, the old value stays or the new one is whole, and no error is taken for absence. */
static void folder_keeps_registers_whole_when_the_disk_fails(void **state)
{
    (void)state;
    static const enum fault faults[] = {FAULT_NO_SPACE, FAULT_SYNC, FAULT_READ, FAULT_STOP};
    struct fault_files files;
    snprintf(side, sizeof side, "%s.side", folder);
    assert_int_equal(mkdir(side, 0777), 0);
    fault_files_open(&files, side);
    struct cluster_session *s = open_folder(&files.base);
    struct cluster_value value;
    struct cluster_version version;
    enum cluster_result result;
    uint32_t failures = 0, number = 0;
    assert_int_equal(s->driver->put(s, "model", TEXT("0"), NULL, &result, &version, &err), STATUS_OK);
    for (size_t fault = 0; fault < sizeof faults / sizeof *faults; fault++) {
        for (uint32_t at = 1; at <= 12; at++) {
            char text[16];
            struct cluster_version next;
            snprintf(text, sizeof text, "%u", ++number);
            assert_int_equal(s->driver->get(s, "model", arena, &result, &value, &err), STATUS_OK);
            version = value.version;
            struct text before = value.bytes;
            fault_files_set(&files, faults[fault], at);
            enum status status = s->driver->put(s, "model", text_from(text), &version, &result, &next, &err);
            fault_files_set(&files, FAULT_NONE, 0);
            assert_int_equal(s->driver->get(s, "model", arena, &result, &value, &err), STATUS_OK);
            assert_int_equal(result, CLUSTER_OK);
            assert_true(text_equal(value.bytes, before) || text_equal(value.bytes, text_from(text)));
            if (status != STATUS_OK) {
                failures++;
                assert_true(text_equal(value.bytes, before));
            }
        }
    }
    assert_true(failures > 4);
    cluster_close(s, true);
    fault_files_close(&files);
    char command[120];
    snprintf(command, sizeof command, "rm -rf %s", side);
    assert_int_equal(system(command), 0);
}

static void registry_opens_by_scheme_and_refuses_what_it_does_not_know(void **state)
{
    (void)state;
    struct cluster_session *session;
    const struct cluster_option wrong = {"file.call-timeot", "1 s"}, others = {"zookeeper.auth", "x"};
    assert_int_equal(cluster_open("redis://x", NULL, 0, NULL, &session, &err), STATUS_INVALID_OPTION);
    assert_int_equal(err.code, ERROR_CLUSTER_URI);
    assert_non_null(strstr(err.text, "zookeeper"));
    assert_int_equal(cluster_open(folder, &wrong, 1, NULL, &session, &err), STATUS_INVALID_OPTION);
    assert_non_null(strstr(err.text, "file.call-timeout"));
    assert_int_equal(cluster_open(folder, &others, 1, NULL, &session, &err), STATUS_OK);
    cluster_close(session, true);
    assert_int_equal(cluster_open("local:relative/dir", NULL, 0, NULL, &session, &err), STATUS_OK); /* a space of that name */
    cluster_close(session, true);
    cluster_close(NULL, true);
}

static void folder_gone_is_told_only_of_a_process_that_ended(void **state)
{
    (void)state;
    struct local_presence *mine, *others;
    assert_int_equal(local_presence_open(folder, &file_system_real, &mine, &err), STATUS_OK);
    assert_int_equal(local_presence_open(folder, &file_system_real, &others, &err), STATUS_OK);
    assert_int_equal(local_presence_find(mine, "w2#1"), CLUSTER_MAY_LIVE); /* never heard of */
    pid_t child = fork();
    if (child == 0) {
        struct local_presence *short_lived;
        if (local_presence_open(folder, &file_system_real, &short_lived, &err) == STATUS_OK) {
            local_presence_show(short_lived, "w3#1");
        }
        _exit(0);
    }
    local_presence_show(others, "w2#1");
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(local_presence_find(mine, "w2#1"), CLUSTER_MAY_LIVE);
    assert_int_equal(local_presence_find(mine, "w3#1"), CLUSTER_GONE);
    assert_int_equal(local_presence_find(mine, "w3#2"), CLUSTER_MAY_LIVE);
    local_presence_close(others); /* its process lives on */
    assert_int_equal(local_presence_find(mine, "w2#1"), CLUSTER_MAY_LIVE);
    local_presence_close(mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mount_kind_knows_what_locks_can_be_trusted_with),
        cmocka_unit_test_setup_teardown(folder_calls_a_register_corrupt_whose_file_is_zeroed_cut_flipped_or_foreign, make_folder,
                                        drop_folder),
        cmocka_unit_test_setup_teardown(folder_keeps_registers_whole_when_the_disk_fails, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(registry_opens_by_scheme_and_refuses_what_it_does_not_know, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(folder_gone_is_told_only_of_a_process_that_ended, make_folder, drop_folder),
    };
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_destroy(arena);
    return failed;
}
