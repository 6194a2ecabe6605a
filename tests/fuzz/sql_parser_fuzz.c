/* The SQL parser under any bytes.
 *
 * Property    No input crashes or hangs it, and parsing what a query was printed as gives a tree that prints the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "sql/parser.h"
#include "sql/unparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_script(struct arena *arena, struct text sql)
{
    struct error err;
    size_t at = 0, next = 0;
    const struct ast_statement *statement;
    while (sql_parse_statement(arena, sql, at, &statement, &next, &err) == STATUS_OK && statement != NULL) {
        if (next <= at) {
            abort(); /* would never end */
        }
        at = next;
    }
}

static void print_twice(struct arena *arena, struct text sql)
{
    struct error err;
    const struct ast_query *query;
    struct text first, second;
    if (sql_parse_query(arena, sql, &query, &err) != STATUS_OK || unparse_query_text(arena, query, &first, &err) != STATUS_OK) {
        return;
    }
    if (sql_parse_query(arena, first, &query, &err) != STATUS_OK) {
        if (err.code == ERROR_TOO_DEEP) {
            return; /* the parentheses printed may nest deeper than those read */
        }
        fprintf(stderr, "not read back: %s\n%s\n", first.bytes, err.text);
        abort();
    }
    if (unparse_query_text(arena, query, &second, &err) != STATUS_OK || !text_equal(first, second)) {
        fprintf(stderr, "first:  %s\nsecond: %s\n", first.bytes, second.bytes);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct budget budget;
    budget_init(&budget, NULL, "fuzz", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "fuzz");
    char *copy = malloc(size + 1); /* not static: a read past the end is seen */
    if (arena == NULL || copy == NULL) {
        abort();
    }
    for (size_t i = 0; i < size; i++) {
        copy[i] = (char)data[i];
    }
    copy[size] = '\0';
    struct text sql = {copy, size};
    (void)sql_is_complete(sql);
    parse_script(arena, sql);
    print_twice(arena, sql);
    arena_destroy(arena);
    free(copy);
    return 0;
}
