#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/module.h"

static void assert_refused(const char *name, enum error_code code, const char *part)
{
    struct error err = {0};
    const struct module *module = NULL;
    assert_int_not_equal(module_load(name, &module, &err), STATUS_OK);
    assert_int_equal(err.code, code);
    if (strstr(err.text, part) == NULL) {
        fail_msg("'%s' is not in: %s", part, err.text);
    }
    assert_null(module);
}

static void module_load_takes_a_module_of_this_build_once(void **state)
{
    (void)state;
    struct error err;
    const struct module *first = NULL, *second = NULL;
    assert_int_equal(module_load("same", &first, &err), STATUS_OK);
    assert_string_equal(first->name, "same");
    assert_int_equal(module_load("same", &second, &err), STATUS_OK);
    assert_ptr_equal(first, second);
}

static void module_load_refuses_a_module_of_another_build(void **state)
{
    (void)state;
    assert_refused("other", ERROR_MODULE_REFUSED, "another build");
}

static void module_load_refuses_what_is_no_module(void **state)
{
    (void)state;
    char path[600];
    assert_refused("misnamed", ERROR_MODULE_REFUSED, "spate-misnamed.so");
    snprintf(path, sizeof path, "%s/spate-text.so", getenv("SPATE_MODULE_PATH") + 2);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not a library", file);
    fclose(file);
    assert_refused("text", ERROR_MODULE_REFUSED, "spate-text.so");
    unlink(path);
}

static void module_load_names_the_package_of_a_missing_module(void **state)
{
    (void)state;
    assert_refused("nothing", ERROR_MODULE_MISSING, "package is spate-nothing");
    unsetenv("SPATE_MODULE_PATH");
    assert_refused("nothing", ERROR_MODULE_MISSING, "/lib/spate:");
}

int main(int argument_count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(module_load_takes_a_module_of_this_build_once),
        cmocka_unit_test(module_load_refuses_a_module_of_another_build),
        cmocka_unit_test(module_load_refuses_what_is_no_module),
        cmocka_unit_test(module_load_names_the_package_of_a_missing_module),
    };
    char path[512], *slash;
    snprintf(path, sizeof path, "::%s", arguments[0]); /* empty folders are passed over */
    if (argument_count == 1 && (slash = strrchr(path, '/')) != NULL) {
        *slash = '\0';
        setenv("SPATE_MODULE_PATH", path, 1); /* the test's own folder: tests/meson.build puts the modules there */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
