/* State of a task that another job takes up: from a savepoint, with the same tables, or others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "task_place.h"

struct adding {
    int left;  /* rows that are expected */
    bool ends; /* then it shows all sums, and shuts down */
};

static int show_sum(void *context, const spate_cell *key, const spate_cell *values)
{
    const spate_cell cells[] = {values[0], key[0]};
    return spate_output_row(context, cells, 2);
}

/* Adds up what comes, by word. */
static int add_up(void *self, spate_task *task, const spate_rows *rows)
{
    struct adding *adding = self;
    spate_state *sums = spate_task_state(task, "sums");
    int code = SPATE_OK;
    for (uint32_t row = 0; row < spate_rows_count(rows) && code == SPATE_OK; row++) {
        spate_cell key = spate_rows_cell(rows, row, 1), sum = spate_cell_integer(0);
        bool found;
        code = spate_state_get(sums, &key, &sum, &found);
        sum.integer += spate_rows_cell(rows, row, 0).integer;
        code = code == SPATE_OK ? spate_state_put(sums, &key, &sum) : code;
        adding->left--;
    }
    if (code != SPATE_OK || adding->left > 0 || !adding->ends) {
        return code;
    }
    code = spate_state_each(sums, show_sum, spate_task_output(task, "out"));
    return code == SPATE_OK ? spate_task_shutdown(task, SPATE_SHUTDOWN_TASK) : code;
}

static const struct spate_task_class type = {.size = sizeof type, .process = add_up};

static int run_from(const char *name, const char *columns, const char *savepoint, struct adding *adding, const char **where,
                    char text[1000])
{
    const struct spate_task_table table = {"sums", columns};
    const struct spate_task_spec spec = {.size = sizeof spec,
                                         .name = name,
                                         .type = &type,
                                         .context = adding,
                                         .inputs = followed_only,
                                         .outputs = out_only,
                                         .tables = &table,
                                         .table_count = 1};
    static char place[600];
    spate_session *session = open_session((const char *const[]){"execution.checkpointing.interval=1 h", NULL});
    spate_result *result = NULL;
    int step = SPATE_STEP_WORKED;
    create_tables(session);
    create_followed(session);
    execute(session, "SET 'storage.uri' = '%s/storage'", folder);
    if (savepoint != NULL) {
        execute(session, "SET 'execution.state-recovery.path' = '%s'", savepoint);
    }
    int code = spate_task_run(session, &spec, &result);
    while (code == SPATE_OK && step != SPATE_STEP_ENDED && (where == NULL || adding->left > 0)) {
        code = spate_result_step(result, 10, &step);
    }
    if (code == SPATE_OK && where != NULL) {
        code = spate_result_savepoint(result, "here", where);
        snprintf(place, sizeof place, "%s", *where);
        *where = place;
    }
    snprintf(text, 1000, "%s", code == SPATE_OK ? "" : spate_session_error(session)->text);
    spate_result_close(result);
    spate_session_close(session);
    return code;
}

static const char columns[] = "word STRING, total BIGINT, PRIMARY KEY (word) NOT ENFORCED";

static void a_job_of_another_name_goes_on_from_a_savepoint(void **state)
{
    (void)state;
    char text[1000];
    const char *where;
    struct adding first = {.left = 3}, more = {.left = 2, .ends = true};
    write_file("in", "1,a\n2,b\n4,a\n");
    assert_int_equal(run_from("one", columns, NULL, &first, &where, text), SPATE_OK);
    write_file("in", "1,a\n2,b\n4,a\n8,c\n16,a\n");
    if (run_from("two", columns, where, &more, NULL, text) != SPATE_OK) {
        fail_msg("%s", text);
    }
    assert_string_equal(shown("out"), "2,b 21,a 8,c");
}

static void state_goes_to_tables_of_its_own_columns_only(void **state)
{
    (void)state;
    char text[1000];
    const char *where;
    struct adding first = {.left = 1}, none = {.left = 1};
    write_file("in", "1,a\n");
    assert_int_equal(run_from("one", columns, NULL, &first, &where, text), SPATE_OK);
    int code = run_from("two", "word STRING, total STRING, PRIMARY KEY (word) NOT ENFORCED", where, &none, NULL, text);
    assert_int_equal(code, SPATE_ERROR_SQL);
    assert_non_null(strstr(text, "sums"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_of_another_name_goes_on_from_a_savepoint, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(state_goes_to_tables_of_its_own_columns_only, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
