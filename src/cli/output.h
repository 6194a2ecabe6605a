/* cli/output.h: rows to standard output, in the form asked for.
 *
 * For         the result of a SELECT or SHOW.
 * Rules       Rows of a query that only inserts are printed as they come. A query whose rows change prints its final rows at its end when
 *             it is bounded; else its changes as they come, with a column `op` first (always so in the forms changelog and tableau). A
 *             terminal gets `table`, a pipe `tsv`. `table` waits for all rows of a bounded query, to know their widths.
 * Ownership   output_close ends what output_open began.
 */
#ifndef SPATE_CLI_OUTPUT_H
#define SPATE_CLI_OUTPUT_H

#include "cli/final_rows.h"
#include "spate/spate.h"

/* clang-format off */
#define OUTPUT_LIST(X) \
    X(TABLE, "table") X(TABLEAU, "tableau") X(CHANGELOG, "changelog") X(CSV, "csv") X(TSV, "tsv") X(JSON, "json") \
    X(JSONL, "jsonl") X(VERTICAL, "vertical") X(MARKDOWN, "markdown")
/* clang-format on */
#define X(name, text) OUTPUT_##name,
enum output_form { OUTPUT_LIST(X) OUTPUT_FORM_COUNT };
#undef X
bool output_form_find(const char *name, enum output_form *form);
enum output_form output_form_default(void);

struct output {
    enum output_form form;
    spate_result *result;
    uint32_t column_count; /* with op */
    const char **names;
    bool *numeric;           /* aligned to the right; unquoted in JSON */
    const char *json_prefix; /* first in each object of JSON; NULL: nothing */
    bool with_op, collect;   /* collect: rows wait in `rows` until the end */
    struct final_rows rows;
    uint64_t printed, limit; /* limit 0: none */
    const char **cells;
    size_t *lengths;
};
int output_open(struct output *output, enum output_form form, spate_result *result, uint64_t limit);
/* Takes the batches that there are; *full: the limit is reached, or nothing can be written. Returns a spate_error_class. */
int output_drain(struct output *output, bool *full);
void output_finish(struct output *output);
void output_close(struct output *output);
/* All rows of a result, which it takes. json_prefix: as above. title: a line before a table that has rows, and one without rows is left out
 * then; NULL: none. What is wrong is said; the exit code. */
int output_print_all(spate_session *session, spate_result *result, enum output_form form, const char *json_prefix, const char *title);

/* One finished row, in the forms that need no widths (output_rows.c), and whole tables (output_table.c). */
void output_rows_head(const struct output *output);
void output_rows_one(const struct output *output, const char *const *cells, const size_t *lengths, bool first);
void output_rows_tail(const struct output *output);
void output_table_print(const struct output *output);

#endif
