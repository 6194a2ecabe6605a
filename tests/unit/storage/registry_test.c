#include "storage_test.h"

static void assert_refused(const char *uri, const char *option, enum error_code code, const char *part)
{
    struct error err = {0};
    struct object_option options[] = {{option, "1"}};
    struct object_store *store = NULL;
    enum status status = object_store_open(uri, options, option == NULL ? 0 : 1, NULL, &store, &err);
    assert_int_not_equal(status, STATUS_OK);
    assert_int_equal(err.code, code);
    if (strstr(err.text, part) == NULL) {
        fail_msg("'%s' is not in: %s", part, err.text);
    }
}

static void registry_refuses_what_it_does_not_know(void **state)
{
    (void)state;
    assert_refused("ftp://host/x", NULL, ERROR_STORE_URI, "'ftp'");
    assert_refused("azure://account/container", NULL, ERROR_MODULE_MISSING, "spate-azure");
    assert_refused("file://host/x", NULL, ERROR_STORE_URI, "file:///dir");
    assert_refused("", NULL, ERROR_STORE_URI, "names no folder");
    assert_refused(test_folder, "file.lock-timeou", ERROR_UNKNOWN_OPTION, "did you mean 'file.lock-timeout'?");
    assert_refused(test_folder, "file.lock-timeout-of-another-kind", ERROR_UNKNOWN_OPTION, "'file.temp-retain'");
}

static void registry_leaves_the_options_of_other_drivers_to_them(void **state)
{
    (void)state;
    struct error err;
    struct object_option options[] = {{"azure.timeout", "1 s"}, {"s3.anything", "x"}};
    struct object_store *store = NULL;
    require(object_store_open(test_folder, options, 2, NULL, &store, &err), &err);
    object_store_close(store);
    uint32_t count;
    const struct object_driver *const *drivers = object_driver_list(&count);
    assert_true(count == 1 && strcmp(drivers[0]->scheme, "file") == 0); /* no modules in the folder that main names */
}

static void registry_opens_paths_and_uris_of_the_same_folder(void **state)
{
    (void)state;
    char uri[128];
    snprintf(uri, sizeof uri, "%s/a b%%", test_folder);
    struct object_store *store = open_store(uri, NULL);
    put(store, "k", "x");
    object_store_close(store);
    static const char *const forms[] = {"file://%s/a%%20b%%25", "file:%s/a%%20b%%25/", "file://localhost%s/a%%20b%%25"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(uri, sizeof uri, forms[i], test_folder);
        store = open_store(uri, NULL);
        assert_object(store, "k", "x");
        object_store_close(store);
    }
    object_store_close(NULL);
}

static void object_key_check_says_what_is_wrong(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "empty"},    {"/a", "'/'"},           {"a/", "'/'"},       {"a//b", "'//'"},  {".", "'..'"},
        {"a/..", "'..'"}, {"../a", "'.' or '..'"}, {"a/./b", "'.' or"}, {"\xff", "UTF-8"}, {"a/\xc3", "UTF-8"},
    };
    struct error err;
    char key[OBJECT_KEY_MAX + 2];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(object_key_check(wrong[i][0], &err), STATUS_INVALID_OPTION);
        assert_non_null(strstr(err.text, wrong[i][1]));
    }
    memset(key, 'k', sizeof key);
    key[OBJECT_KEY_MAX + 1] = '\0';
    assert_int_equal(object_key_check(key, &err), STATUS_INVALID_OPTION);
    key[OBJECT_KEY_MAX] = '\0';
    require(object_key_check(key, &err), &err);
    require(object_key_check("a/.b/...", &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(registry_refuses_what_it_does_not_know, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(registry_opens_paths_and_uris_of_the_same_folder, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(registry_leaves_the_options_of_other_drivers_to_them, make_test_folder, remove_test_folder),
        cmocka_unit_test(object_key_check_says_what_is_wrong),
    };
    setenv("SPATE_MODULE_PATH", "/nonexistent", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
