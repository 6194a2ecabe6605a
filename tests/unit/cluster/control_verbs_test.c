#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/arena.h"
#include "cluster/control/verbs.h"

#define SHA "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static enum status check(const char *name, const char *args)
{
    const struct control_verb *verb;
    enum status status = control_verb_find(&control_verbs, name, &verb, &err);
    return status == STATUS_OK ? control_verb_check(verb, args, &err) : status;
}

static void every_problem_is_listed_at_once(void **state)
{
    assert_int_equal(check("core.partitions.add", "{\"source\":\"o\",\"partitions\":[1,2],\"from\":\"latest\"}"), STATUS_OK);
    assert_int_equal(check("core.partitions.add", "{\"sourc\":\"o\",\"partitions\":[1,1],\"from\":\"now\"}"), STATUS_INVALID_OPTION);
    assert_non_null(strstr(err.text, "\"source\" is missing"));
    assert_non_null(strstr(err.text, "\"partitions\" must be an array of whole numbers, none twice, from 0 to 2147483647"));
    assert_non_null(strstr(err.text, "\"from\" must be one of earliest, latest"));
    assert_non_null(strstr(err.text, "it takes no \"sourc\"; did you mean \"source\"?"));
    assert_int_equal(check("core.savepont", "{}"), STATUS_INVALID_OPTION);
    assert_non_null(strstr(err.text, "did you mean 'core.savepoint'?"));
    assert_int_equal(check("savepoint", "{}"), STATUS_INVALID_OPTION);
    assert_non_null(strstr(err.text, "did you mean 'core.savepoint'?"));
}

static void every_kind_of_argument_is_checked(void **state)
{
    static const struct {
        const char *verb, *good, *bad;
    } cases[] = {
        {"core.task.move", "{\"task\":\"s1.3\",\"to\":\"w2\"}", "{\"task\":\"s1.3-4\",\"to\":\"w2\"}"},
        {"core.task.restart", "{\"task\":\"all\"}", "{\"task\":1}"},
        {"core.capacity.set", "{\"max\":1}", "{\"max\":0}"},
        {"core.capacity.set", "{\"stages\":{}}", "{\"stages\":[]}"},
        {"core.savepoint", "{\"drain\":true}", "{\"drain\":\"true\"}"},
        {"core.savepoint", "{}", "{\"name\":\"\"}"},
        {"core.partitions.remove", "{\"source\":\"o\",\"partitions\":[0]}", "{\"source\":\"o\",\"partitions\":[]}"},
        {"core.partitions.remove", "{\"source\":\"o\",\"partitions\":[0]}", "{\"source\":\"o\",\"partitions\":[-1]}"},
        {"core.partitions.remove", "{\"source\":\"o\",\"partitions\":[0]}", "{\"source\":\"o\",\"partitions\":7}"},
        {"core.artifact.replace", "{\"name\":\"a\",\"sha256\":\"" SHA "\"}", "{\"name\":\"a\",\"sha256\":\"00\"}"},
        {"core.plan.replace", "{\"sql\":\"x\"}", "{\"sql\":\"x\",\"plan\":\"" SHA "\"}"},
        {"core.plan.replace", "{\"plan\":\"" SHA "\"}", "{}"},
        {"core.rate.set", "{\"rows_per_second\":9007199254740993}", "{\"rows_per_second\":1.5}"},
        {"core.log.level", "{\"level\":\"debug\"}", "{\"level\":\"loud\"}"},
        {"core.state.put", "{\"table\":\"t\",\"row\":null,\"value\":[1]}", "{\"table\":\"t\",\"row\":null}"},
        {"core.job.pause", "{}", "{\"a\":1}"},
        {"core.job.pause", "{}", "[]"},
        {"app.reload", "{\"anything\":[1]}", "7"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(check(cases[i].verb, cases[i].good), STATUS_OK);
        assert_int_equal(check(cases[i].verb, cases[i].bad), STATUS_INVALID_OPTION);
    }
    assert_int_equal(check("app.", "{}"), STATUS_INVALID_OPTION);
}

static void arguments_of_the_job_s_own_verbs_have_a_limit(void **state)
{
    size_t size = CONTROL_APP_ARGS_MAX + 2;
    char *args = malloc(size);
    assert_non_null(args);
    memset(args, ' ', size - 1);
    args[0] = '{';
    args[size - 2] = '}';
    args[size - 1] = '\0';
    assert_int_equal(check("app.a", args), STATUS_INVALID_OPTION);
    args[1] = '}';
    args[2] = '\0';
    assert_int_equal(check("app.a", args), STATUS_OK);
    free(args);
}

static void arguments_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *verb, *pairs[4], *json;
    } cases[] = {
        {"partitions.add",
         {"source=orders", "partitions=12,13", "from=latest"},
         "{\"from\":\"latest\",\"partitions\":[12,13],\"source\":\"orders\"}"},
        {"rate.set", {"rows-per-second=10"}, "{\"rows_per_second\":10}"},
        {"rate.set", {"rows-per-second=ten"}, "{\"rows_per_second\":\"ten\"}"},
        {"savepoint", {"name=7", "drain=true"}, "{\"drain\":true,\"name\":\"7\"}"},
        {"state.put", {"row={\"a\":1}", "value=x=y"}, "{\"row\":{\"a\":1},\"value\":\"x=y\"}"},
        {"app.a", {"n=1", "t=x"}, "{\"n\":1,\"t\":\"x\"}"},
        {"job.pause", {NULL}, "{}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        uint32_t count = 0;
        const char *json;
        while (cases[i].pairs[count] != NULL) {
            count++;
        }
        const struct control_verb *verb = control_verb_find_short(&control_verbs, cases[i].verb);
        assert_int_equal(control_verb_arguments(verb, cases[i].pairs, count, arena, &json, &err), STATUS_OK);
        assert_string_equal(json, cases[i].json);
    }
    static const char *const none[] = {"drain"};
    const char *json;
    assert_int_equal(control_verb_arguments(control_verb_find_short(&control_verbs, "savepoint"), none, 1, arena, &json, &err),
                     STATUS_INVALID_OPTION);
}

static void slots_never_meet(void **state)
{
    const struct control_verb *verb;
    const char **slots;
    uint32_t count;
    assert_int_equal(control_verb_find(&control_verbs, "core.partitions.add", &verb, &err), STATUS_OK);
    assert_int_equal(control_verb_slots(verb, "{\"source\":\"a/1\",\"partitions\":[7,8]}", arena, &slots, &count, &err), STATUS_OK);
    assert_int_equal(count, 2);
    assert_string_equal(slots[0], "partitions/a%2F1/7");
    assert_string_equal(slots[1], "partitions/a%2F1/8");
    assert_int_equal(control_verb_find(&control_verbs, "core.job.pause", &verb, &err), STATUS_OK);
    assert_int_equal(control_verb_slots(verb, "{}", arena, &slots, &count, &err), STATUS_OK);
    assert_int_equal(count, 1);
    assert_string_equal(slots[0], "pause");
    assert_int_equal(control_verb_find(&control_verbs, "core.checkpoint", &verb, &err), STATUS_OK);
    assert_int_equal(control_verb_slots(verb, "{}", arena, &slots, &count, &err), STATUS_OK);
    assert_int_equal(count, 0);
}

static void sets_of_verbs_are_by_name_and_version(void **state)
{
    static const char *const sets[] = {"sql/9", "core/1"};
    struct control_verb verb = *control_verb_find_short(&control_verbs, "savepoint");
    assert_true(control_verb_is_known(&verb, sets, 2));
    assert_false(control_verb_is_known(&verb, sets, 1));
    verb.version = 2;
    assert_false(control_verb_is_known(&verb, sets, 2));
}

/* The table itself: what its readers rely on. */
static void the_table_of_verbs_is_sound(void **state)
{
    for (uint32_t i = 0; i < control_verbs.count; i++) {
        const struct control_verb *verb = &control_verbs.verbs[i], *undo;
        assert_non_null(verb->summary);
        assert_non_null(verb->since);
        assert_true(verb->arg_count <= 8 && verb->version > 0);
        for (uint32_t a = 0; a < verb->arg_count; a++) {
            static const char *const taken[] = {"key",         "wait",        "timeout", "json",  "deadline", "expect_version",
                                                "expect_rank", "coordinator", "storage", "config"}; /* options of `spate ctl` */
            for (size_t k = 0; k < ARRAY_LENGTH(taken); k++) {
                assert_string_not_equal(verb->args[a].name, taken[k]);
            }
        }
        assert_true((verb->deprecated == NULL) == (verb->replaced_by == NULL));
        for (uint32_t k = 0; verb->subject != NULL && verb->target[k] != NULL; k++) {
            bool found = false;
            for (uint32_t a = 0; a < verb->arg_count; a++) {
                found = found || strcmp(verb->args[a].name, verb->target[k]) == 0;
            }
            assert_true(found);
        }
        if (verb->undo != NULL) {
            assert_int_equal(control_verb_find(&control_verbs, verb->undo, &undo, &err), STATUS_OK);
        }
    }
}

/* docs/control-log.md has the table as the code has it. */
static void the_documents_list_these_verbs(void **state)
{
    FILE *file = fopen(DOCS_FOLDER "/control-log.md", "rb");
    struct text_builder table = {0};
    char *page = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_non_null(page);
    assert_true(fread(page, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    control_verbs_markdown(&control_verbs, &table);
    if (strstr(page, table.bytes) == NULL) {
        printf("docs/control-log.md should have:\n%s", table.bytes);
        fail();
    }
    text_builder_close(&table);
    free(page);
}

static void a_verb_describes_itself(void **state)
{
    struct text_builder text = {0};
    control_verb_describe(control_verb_find_short(&control_verbs, "partitions.add"), &text);
    assert_non_null(strstr(text.bytes, "core.partitions.add (each, version 1, since 0.1.0): Reads more partitions"));
    assert_non_null(strstr(text.bytes, "Required. (an array of whole numbers"));
    assert_non_null(strstr(text.bytes, "undone by core.partitions.remove"));
    text_builder_close(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_problem_is_listed_at_once),
        cmocka_unit_test(every_kind_of_argument_is_checked),
        cmocka_unit_test(arguments_of_the_job_s_own_verbs_have_a_limit),
        cmocka_unit_test(arguments_are_read_as_people_write_them),
        cmocka_unit_test(slots_never_meet),
        cmocka_unit_test(sets_of_verbs_are_by_name_and_version),
        cmocka_unit_test(the_table_of_verbs_is_sound),
        cmocka_unit_test(the_documents_list_these_verbs),
        cmocka_unit_test(a_verb_describes_itself),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
