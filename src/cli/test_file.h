/* cli/test_file.h: SQL test files (*.slt): records separated by blank lines.
 *
 * For         `spate test`. The records:
 *             # ...               a comment, outside a record
 *             file NAME           the lines up to the next blank line become a file in the test's own folder, ${DIR} in SQL
 *             statement ok        the SQL must run; INSERTs run to their end
 *             statement error [REGEX]   it must fail, with a message that matches
 *             query [nosort]      SQL, then ----, then the final rows, one a line, fields separated by tabs
 *             query early         likewise; rows may be withdrawn before they come
 *             query error         it must fail
 *             read NAME           ----, then the text of the file (or of all files below the folder), lines sorted
 *             halt                the rest is ignored
 * Ownership   test_file_close frees what test_file_read made.
 */
#ifndef SPATE_CLI_TEST_FILE_H
#define SPATE_CLI_TEST_FILE_H

#include "base/text.h"

enum record_kind { RECORD_FILE, RECORD_STATEMENT, RECORD_STATEMENT_ERROR, RECORD_QUERY, RECORD_QUERY_ERROR, RECORD_READ };
struct test_record {
    enum record_kind kind;
    uint32_t line; /* of its first line, from 1 */
    bool nosort, early;
    char *argument;       /* file name, or regular expression; NULL: none */
    struct text body;     /* file content or SQL; points into the file's text */
    struct text expected; /* rows */
};
struct test_file {
    const char *path;
    struct text_builder text;
    struct test_record *records;
    uint32_t count, capacity;
};
/* Returns a message for a file that cannot be read or parsed, NULL when fine. The message is static or in `problem`. */
const char *test_file_read(const char *path, struct test_file *file, char *problem, size_t problem_size);
void test_file_close(struct test_file *file);
static inline bool test_record_counts(const struct test_record *record)
{
    return record->kind != RECORD_FILE;
}

#endif
