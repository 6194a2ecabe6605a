#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../support/arena.h"
#include "cluster/control/record.h"

#define HEAD(kind) "{\"v\":1,\"kind\":\"" kind "\",\"id\":\"01HQZX3V5J0000000000000000\",\"at_ms\":1790000000000,"
#define SHA        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* One of each kind with all its members, in the order in which we write them. */
static const char *const whole[] = {
    HEAD("propose") "\"key\":\"deploy-88/add\",\"verb\":\"core.partitions.add\",\"args\":{\"partitions\":[12,13],\"source\":\"orders\"},"
                    "\"expect\":{\"version\":42,\"rank\":3},\"deadline_ms\":60000,\"actor\":\"user:ann\"}",
    HEAD("propose") "\"verb\":\"app.reload\",\"args\":{},\"actor\":\"user:ann\",\"colour\":[\"blue\"]}",
    HEAD("term") "\"term\":8,\"leader\":\"w1#5f3a\"}",
    HEAD("decide") "\"term\":8,\"ref\":117,\"verdict\":\"accept\",\"rank\":33,\"how\":\"stop-all\",\"of\":64,\"version\":43,"
                   "\"sets\":[\"config/a\"],\"clears\":[\"pause\"],\"warning\":\"old\"}",
    HEAD("decide") "\"term\":8,\"ref\":118,\"verdict\":\"reject\",\"code\":\"CTL-UNKNOWN-VERB\",\"reason\":\"no\"}",
    HEAD("decide") "\"term\":8,\"ref\":118,\"verdict\":\"duplicate\",\"duplicate_of\":117}",
    HEAD("ack") "\"by\":\"w2#9f1c\",\"through\":33,\"tasks\":[\"s1.0-31\",\"all\"],"
                "\"failed\":[{\"rank\":33,\"task\":\"s1.9\",\"code\":\"SPATE-5001\",\"reason\":\"full\"}]}",
    HEAD("close") "\"term\":8,\"ref\":117,\"outcome\":\"superseded\",\"applied\":1,\"failed\":2,\"by\":120,\"result\":{\"at\":\"x\"},"
                  "\"reason\":\"r\"}",
    HEAD("snapshot") "\"term\":8,\"through\":400,\"rank\":120,\"forget\":300,\"settled\":119,\"body\":{\"sha256\":\"" SHA
                     "\",\"size\":5120}}",
};

static void every_kind_is_read_and_written_as_it_was(void **state)
{
    for (size_t i = 0; i < ARRAY_LENGTH(whole); i++) {
        struct control_record record;
        struct text json;
        assert_int_equal(control_record_read("record", text_from(whole[i]), arena, &record, &err), STATUS_OK);
        assert_int_equal(control_record_write(&record, arena, &json, &err), STATUS_OK);
        assert_string_equal(json.bytes, whole[i]);
    }
}

/* Every member that is taken away or made something else is either optional or complained about; nothing crashes. */
static void what_is_no_record_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{\"v\":1}",
        HEAD("sing") "\"term\":1}",
        HEAD("term") "\"leader\":\"w1#1\"}",
        HEAD("term") "\"term\":-1,\"leader\":\"w1#1\"}",
        HEAD("propose") "\"verb\":\"a.b\",\"args\":[],\"actor\":\"x\"}",
        HEAD("propose") "\"verb\":\"a.b\",\"args\":{},\"actor\":7}",
        HEAD("decide") "\"term\":8,\"ref\":118,\"verdict\":\"perhaps\"}",
        HEAD("decide") "\"term\":8,\"ref\":118,\"verdict\":\"accept\"}",
        HEAD("ack") "\"by\":\"w2#9f1c\",\"through\":33,\"tasks\":[\"s1\"]}",
        HEAD("ack") "\"by\":\"w2#9f1c\",\"through\":33,\"tasks\":[\"s1.0-4294967295\",\"s2.0-4294967295\"]}",
        HEAD("snapshot") "\"term\":8,\"through\":400,\"rank\":120,\"forget\":300,\"settled\":119,\"body\":{\"sha256\":\"0\",\"size\":1}}",
        "{\"v\":1,\"kind\":\"term\",\"id\":\"short\",\"at_ms\":1,\"term\":1,\"leader\":\"w1#1\"}",
    };
    struct control_record record;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_int_equal(control_record_read("ctl/7", text_from(wrong[i]), arena, &record, &err), STATUS_CORRUPT);
        assert_non_null(strstr(err.text, "'ctl/7'"));
    }
    assert_int_equal(control_record_read("ctl/7", TEXT("{\"v\":2,\"kind\":\"term\"}"), arena, &record, &err), STATUS_UNSUPPORTED);
}

static void arguments_have_one_spelling(void **state)
{
    const char *one, *two;
    char one_sha256[CONTROL_SHA256_BYTES], two_sha256[CONTROL_SHA256_BYTES];
    assert_int_equal(control_args_make("{ \"b\" : 1, \"a\" : {\"d\":[], \"c\":null} }", arena, &one, one_sha256, &err), STATUS_OK);
    assert_int_equal(control_args_make("{\"a\":{\"c\":null,\"d\":[]},\"b\":1}", arena, &two, two_sha256, &err), STATUS_OK);
    assert_string_equal(one, "{\"a\":{\"c\":null,\"d\":[]},\"b\":1}");
    assert_string_equal(one, two);
    assert_string_equal(one_sha256, two_sha256);
    assert_int_equal(control_args_make("{\"a\":1,\"a\":2}", arena, &one, one_sha256, &err), STATUS_INVALID_OPTION);
    assert_int_equal(control_args_make("7", arena, &one, one_sha256, &err), STATUS_INVALID_OPTION);
}

static void a_proposal_past_its_limits_is_refused(void **state)
{
    struct control_propose propose = {.verb = "app.a", .actor = "user:ann", .args = "{}", .key = "k"};
    char key[CONTROL_KEY_MAX + 2];
    memset(key, 'k', sizeof key);
    key[CONTROL_KEY_MAX + 1] = '\0';
    assert_int_equal(control_propose_check(&propose, &err), STATUS_OK);
    propose.key = key;
    assert_int_equal(control_propose_check(&propose, &err), STATUS_LIMIT);
    key[CONTROL_KEY_MAX] = '\0';
    assert_int_equal(control_propose_check(&propose, &err), STATUS_OK);
    propose.key = "";
    assert_int_equal(control_propose_check(&propose, &err), STATUS_INVALID_OPTION);
    propose.key = "\xff";
    assert_int_equal(control_propose_check(&propose, &err), STATUS_INVALID_OPTION);
    propose.key = NULL;
    propose.deadline_ms = -1;
    assert_int_equal(control_propose_check(&propose, &err), STATUS_INVALID_OPTION);
}

static void a_record_larger_than_a_register_is_refused(void **state)
{
    struct text json;
    struct control_record record = {.kind = CONTROL_PROPOSE, .propose = {.verb = "app.a", .actor = "user:ann"}};
    char *large = calloc(1, 70 << 10);
    assert_non_null(large);
    memset(large, 'x', (70 << 10) - 1);
    memcpy(large, "{\"a\":\"", 6);
    memcpy(large + (70 << 10) - 3, "\"}", 2);
    record.propose.args = large;
    assert_int_equal(control_record_write(&record, arena, &json, &err), STATUS_LIMIT);
    free(large);
}

static void ids_are_unlike_and_sorted_by_time(void **state)
{
    struct random_source random;
    char first[CONTROL_ID_BYTES], second[CONTROL_ID_BYTES], later[CONTROL_ID_BYTES];
    random_open(&random, 5);
    control_id_make(&random, 1790000000000, first);
    control_id_make(&random, 1790000000000, second);
    control_id_make(&random, 1790000000001, later);
    assert_int_equal(strlen(first), CONTROL_ID_BYTES - 1);
    assert_string_not_equal(first, second);
    assert_true(strcmp(first, later) < 0 && strcmp(second, later) < 0);
    assert_memory_equal(first, second, 10);
}

static void codes_of_the_log_have_its_name(void **state)
{
    char text[CONTROL_CODE_BYTES];
    assert_string_equal(control_code_text(ERROR_CTL_KEY_REUSED, text), "CTL-KEY-REUSED");
    assert_string_equal(control_code_text(ERROR_UNKNOWN_COLUMN, text), "SPATE-1042");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read_and_written_as_it_was),
        cmocka_unit_test(what_is_no_record_is_refused),
        cmocka_unit_test(arguments_have_one_spelling),
        cmocka_unit_test(a_proposal_past_its_limits_is_refused),
        cmocka_unit_test(a_record_larger_than_a_register_is_refused),
        cmocka_unit_test(ids_are_unlike_and_sorted_by_time),
        cmocka_unit_test(codes_of_the_log_have_its_name),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
