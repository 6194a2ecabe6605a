#include "fixture.h"

#include <sys/stat.h>

#include "storage/artifacts.h"

static char folder[64];

static void path_of(char *out, const char *name)
{
    snprintf(out, 300, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *bytes, size_t length)
{
    char path[300];
    path_of(path, name);
    FILE *file = fopen(path, "w");
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void require_file(const char *name, const char *expected)
{
    char path[300], bytes[200] = "";
    path_of(path, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("%s is not there", path);
    }
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(bytes, expected);
}

static void shell(const char *format, ...)
{
    char command[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_int_equal(system(command), 0);
}

static void open_with_folder(struct fixture *f)
{
    static char cache[80];
    strcpy(folder, "/tmp/spate-artifacts-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/cache", folder);
    const struct object_option options[] = {{"storage.artifacts.cache", cache}};
    fixture_open(f, options, 1);
}

static void close_with_folder(struct fixture *f)
{
    fixture_close(f);
    shell("rm -rf '%s'", folder);
}

static void put(struct fixture *f, const char *file, const char *name, const char *target, struct artifact *artifact)
{
    char path[300];
    path_of(path, file);
    REQUIRE(artifact_put(f->storage, "j-0000", path, name, target, f->arena, artifact, &f->err), f);
}

static enum status note_name(void *context, const struct artifact *artifact, bool *stop, struct error *err)
{
    (void)err;
    (void)stop;
    sprintf((char *)context + strlen(context), "%s=%s ", artifact->name, artifact_kind_name(artifact->kind));
    return STATUS_OK;
}

/* The SHA-256 of "abc" is the standard's example. */
static void artifact_is_found_by_name_and_kept_by_content(void **state)
{
    (void)state;
    static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct fixture f;
    struct artifact artifact, again;
    enum object_result result;
    char text[200] = "";
    open_with_folder(&f);
    write_file("a.so", "abc", 3);
    write_file("b.sql", "second", 6);
    put(&f, "a.so", "lib", "", &artifact);
    assert_string_equal(artifact.sha256, abc);
    assert_true(memory_store_has(f.memory, "v1/blobs/ba/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    put(&f, "a.so", "same/content", "sub", &again);
    assert_int_equal(memory_store_count(f.memory), 3);
    put(&f, "b.sql", "lib", "", &artifact);
    put(&f, "b.sql", "lib", "", &artifact);
    REQUIRE(artifact_find(f.storage, "j-0000", "lib", f.arena, &result, &again, &f.err), &f);
    assert_int_equal(again.before_count, 1);
    assert_string_equal(again.before[0], abc);
    assert_int_equal(again.kind, ARTIFACT_SQL);
    assert_int_equal(again.bytes, 6);
    REQUIRE(artifact_list(f.storage, "j-0000", note_name, text, &f.err), &f);
    assert_string_equal(text, "lib=sql same/content=so ");
    REQUIRE(artifact_find(f.storage, "k-0000", "lib", f.arena, &result, &again, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    REQUIRE(artifact_release(f.storage, "j-0000", "lib", &result, &f.err), &f);
    assert_int_equal(result, OBJECT_OK);
    REQUIRE(artifact_release(f.storage, "j-0000", "lib", &result, &f.err), &f);
    assert_int_equal(result, OBJECT_ABSENT);
    close_with_folder(&f);
}

static void fetch_checks_caches_and_extracts(void **state)
{
    (void)state;
    static const char *const makers[] = {"python3 -m zipfile -c x.zip env", "tar cf x.tar env", "tar czf x.tar.gz env"};
    static const char *const files[] = {"x.zip", "x.tar", "x.tar.gz"};
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        struct artifact artifact;
        char local[300];
        open_with_folder(&f);
        path_of(local, "work");
        shell("cd '%s' && mkdir -p env/bin && printf 1 >env/bin/python && chmod 755 env/bin/python && printf two >env/cfg && %s", folder,
              makers[i]);
        put(&f, files[i], "venv", "deps/v", &artifact);
        memory_store_fail(f.memory, 0, MEMORY_FAULT_NONE, false);
        REQUIRE(artifact_fetch(f.storage, "j-0000", &artifact, local, &f.err), &f);
        require_file("work/deps/v/env/bin/python", "1");
        require_file("work/deps/v/env/cfg", "two");
        if (i > 0) {
            char path[300];
            struct stat status;
            path_of(path, "work/deps/v/env/bin/python");
            assert_int_equal(stat(path, &status), 0);
            assert_int_equal(status.st_mode & 0777, 0755);
        }
        uint64_t calls = memory_store_calls(f.memory);
        REQUIRE(artifact_fetch(f.storage, "j-0000", &artifact, local, &f.err), &f);
        assert_int_equal(memory_store_calls(f.memory), calls); /* from the cache */
        shell("printf X | dd of='%s/cache/%s' bs=1 seek=3 conv=notrunc 2>/dev/null", folder, artifact.sha256);
        REQUIRE(artifact_fetch(f.storage, "j-0000", &artifact, local, &f.err), &f);
        assert_true(memory_store_calls(f.memory) > calls); /* a damaged cache is not used */
        shell("rm -r '%s/cache'", folder);
        memory_store_damage(f.memory, memory_store_find(f.memory, "blobs/", 0), 9);
        REQUIRE_ERROR(artifact_fetch(f.storage, "j-0000", &artifact, local, &f.err), ERROR_STORE_CORRUPT, "SHA-256", &f);
        close_with_folder(&f);
    }
}

static void archives_that_would_leave_the_folder_are_refused(void **state)
{
    (void)state;
    static const char *const makers[] = {"f('../evil')", "f('/tmp/spate-evil')", "f('l', '/tmp'); f('l/spate-evil')"};
    static const char python[] = "import tarfile, io\n"
                                 "t = tarfile.open('x.tar', 'w')\n"
                                 "def f(name, link=None):\n"
                                 "  i = tarfile.TarInfo(name)\n"
                                 "  i.size, i.type, i.linkname = (1, tarfile.REGTYPE, '') if link is None else (0, tarfile.SYMTYPE, link)\n"
                                 "  t.addfile(i, io.BytesIO(b'x'))\n";
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        struct artifact artifact;
        char local[300];
        open_with_folder(&f);
        path_of(local, "work");
        shell("cd '%s' && python3 -c \"%s%s; t.close()\"", folder, python, makers[i]);
        put(&f, "x.tar", "evil", NULL, &artifact);
        REQUIRE_ERROR(artifact_fetch(f.storage, "j-0000", &artifact, local, &f.err), ERROR_STORE_CORRUPT, "while extracting archive 'evil'",
                      &f);
        assert_int_not_equal(access("/tmp/spate-evil", F_OK), 0);
        path_of(local, "evil");
        assert_int_not_equal(access(local, F_OK), 0);
        close_with_folder(&f);
    }
}

static void names_targets_and_files_that_are_wrong_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct artifact artifact;
    char path[300];
    open_with_folder(&f);
    write_file("a", "abc", 3);
    path_of(path, "a");
    static const char *const targets[] = {"..", "a/../b", "/etc", "a//b"};
    for (size_t i = 0; i < 4; i++) {
        REQUIRE_ERROR(artifact_put(f.storage, "j", path, "n", targets[i], f.arena, &artifact, &f.err), ERROR_INVALID_OPTION, "target", &f);
    }
    REQUIRE_ERROR(artifact_put(f.storage, "j", path, "", NULL, f.arena, &artifact, &f.err), ERROR_INVALID_OPTION, "name", &f);
    REQUIRE_ERROR(artifact_put(f.storage, "j", "/nowhere/x", "n", NULL, f.arena, &artifact, &f.err), ERROR_FILE_UNREADABLE, "/nowhere/x",
                  &f);
    assert_null(memory_store_find(f.memory, "artifacts", 0));
    put(&f, "a", "plain/file.txt", "t", &artifact);
    path_of(path, "work");
    REQUIRE(artifact_fetch(f.storage, "j-0000", &artifact, path, &f.err), &f);
    require_file("work/t/file.txt", "abc");
    close_with_folder(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(artifact_is_found_by_name_and_kept_by_content),
        cmocka_unit_test(fetch_checks_caches_and_extracts),
        cmocka_unit_test(archives_that_would_leave_the_folder_are_refused),
        cmocka_unit_test(names_targets_and_files_that_are_wrong_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
