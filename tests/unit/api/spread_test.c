/* Scripts that several sessions share, each with its piece of the sources: all of them together write what one session writes alone; and
 * what cannot be shared says why and is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/tables.h"

#include "api/session.h"

enum { SCRIPT_BYTES = 16384, ROWS_MAX = 100000, FILES = 23, ROWS_PER_FILE = 17 };

/* ---- input ---- */

/* Few different values, so that groups and pairs of rows of different files are many. No two rows have the same time: of rows of different
 * partitions that are equal in an order nobody has promised which is first. */
static void put_rows(const struct table *folder, const char *name, uint32_t file)
{
    struct text_builder rows = {0};
    uint32_t random = file * 2654435761u + 12345;
    for (uint32_t i = 0; i < ROWS_PER_FILE; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t value = random >> 16;
        if (value % 11 == 0) {
            text_append_format(&rows, "{\"id\":%u,\"k\":null,\"v\":%u}\n", file * ROWS_PER_FILE + i, value % 5);
        } else {
            text_append_format(&rows, "{\"id\":%u,\"k\":\"k%u\",\"v\":%u,\"t\":\"2026-11-30 10:%02u:00.%03u\",\"l\":[%u,%u]}\n",
                               file * ROWS_PER_FILE + i, value % 3, value % 7, value % 60, file * ROWS_PER_FILE + i, i, value % 4);
        }
    }
    put_file(folder, name, rows.bytes);
    text_builder_close(&rows);
}

static void put_input(struct table *folder)
{
    static const char *const values[] = {
        "d=1/c=a", "d=01/c=a", "d=2/c=a", "d=2/c=b", "d=__DEFAULT_PARTITION__/c=b", "c=x%2Fy/d=1", "d=3/c=__DEFAULT_PARTITION__"};
    char name[128];
    for (uint32_t i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "o/%s%u.json", i % 3 == 0 ? "part-" : "log/", i);
        put_rows(folder, name, i);
        snprintf(name, sizeof name, "p/%s/%u.json", values[i % ARRAY_LENGTH(values)], i);
        put_rows(folder, name, i);
        snprintf(name, sizeof name, "q/%s/%u.json", values[i * 5 % ARRAY_LENGTH(values)], i);
        put_rows(folder, name, i + 7);
    }
}

/* ---- sessions ---- */

#define COLUMNS          "id BIGINT, k STRING, v INT, t TIMESTAMP(3), l ARRAY<INT>"
#define FILES_OF(folder) "'connector' = 'filesystem', 'format' = 'json', 'source.partition-by-file' = 'true', 'path' = '%1$s/" folder "'"
static const char definitions[] = "CREATE TABLE o (" COLUMNS ") WITH (" FILES_OF(
    "o") ");\n"
         "CREATE TABLE w (" COLUMNS ", WATERMARK FOR t AS t) WITH (" FILES_OF(
             "o") ");\n"
                  "CREATE TABLE ordered (" COLUMNS ") WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '%1$s/o');\n"
                  "CREATE TABLE followed (" COLUMNS ") WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '%1$s/o',"
                  " 'source.monitor-interval' = '1 s');\n"
                  "CREATE TABLE p (" COLUMNS ", d INT, c STRING) PARTITIONED BY (d, c) WITH (" FILES_OF(
                      "p") ");\n"
                           "CREATE TABLE q (" COLUMNS ", d INT, c STRING) PARTITIONED BY (d, c) WITH (" FILES_OF(
                               "q") ");\n"
                                    "CREATE TABLE e (" COLUMNS
                                    ", d INT, c STRING, WATERMARK FOR t AS t - INTERVAL '5' MINUTE) PARTITIONED BY (d, c) WITH (" FILES_OF(
                                        "p") ");\n"
                                             "CREATE TABLE r (" COLUMNS ", d INT) PARTITIONED BY (d) WITH (" FILES_OF(
                                                 "p") ");\n"
                                                      "CREATE TABLE a (i BIGINT, s STRING, d INT, c STRING) WITH ('connector' = "
                                                      "'filesystem', "
                                                      "'format' = "
                                                      "'debezium-json',"
                                                      " 'path' = '%1$s/out/a');\n"
                                                      "CREATE TABLE b (i BIGINT, s STRING, d INT, c STRING) WITH ('connector' = "
                                                      "'filesystem', "
                                                      "'format' = "
                                                      "'debezium-json',"
                                                      " 'path' = '%1$s/out/b');\n"
                                                      "CREATE TABLE bad (id BIGINT, k INT) WITH (" FILES_OF(
                                                          "o") ", 'scan.error-policy' = 'dead-letter',"
                                                               " 'scan.dead-letter-table' = 'letters');\n"
                                                               "CREATE TABLE letters (`position` STRING, message STRING) WITH ('connector' "
                                                               "= 'filesystem', 'format' = 'json',"
                                                               " 'path' = '%1$s/out/l');\n"
                                                               "CREATE TABLE inserted (i BIGINT, s STRING, d INT, c STRING) WITH "
                                                               "('connector' = "
                                                               "'filesystem', "
                                                               "'format' = 'json',"
                                                               " 'path' = '%1$s/out/i');\n"
                                                               "CREATE TABLE marked (i BIGINT, s STRING, d INT, c STRING) PARTITIONED BY "
                                                               "(c) WITH "
                                                               "('connector' = "
                                                               "'filesystem', 'format' = 'json',"
                                                               " 'path' = '%1$s/out/m', 'sink.partition-commit.policy.kind' = "
                                                               "'success-file');\n";

/* Runs all statements; what they give as rows is appended. An error ends it as "! text". */
static int take_row(void *context, int kind, uint32_t column_count, const char *const *values, const size_t *lengths)
{
    struct text_builder *out = context;
    text_append_char(out, kind == SPATE_DELETE || kind == SPATE_UPDATE_BEFORE ? '-' : '+');
    for (uint32_t i = 0; i < column_count; i++) {
        text_append_text(out, i == 0 ? "" : "|");
        text_append(out, values[i] == NULL ? "NULL" : values[i], values[i] == NULL ? 4 : lengths[i]);
    }
    text_append_char(out, '\n');
    return 0;
}

static int run_result(spate_result *result, struct text_builder *out)
{
    int kind = spate_result_kind(result), step = SPATE_STEP_WORKED, failed = 0;
    int64_t rows = 1;
    while (failed == 0 && (kind == SPATE_RESULT_QUERY || kind == SPATE_RESULT_INSERT) && step != SPATE_STEP_ENDED) {
        failed = spate_result_step(result, 1000, &step);
        for (rows = 1; kind == SPATE_RESULT_QUERY && failed == 0 && rows > 0;) {
            failed = spate_result_next_text(result, take_row, out, &rows);
        }
    }
    for (rows = 1; kind == SPATE_RESULT_ROWS && failed == 0 && rows > 0;) {
        failed = spate_result_next_text(result, take_row, out, &rows);
    }
    return failed;
}

static void run_script(const struct table *folder, const char *settings, const char *script, uint32_t piece, uint32_t pieces,
                       struct text_builder *out)
{
    char text[SCRIPT_BYTES];
    spate_session *session;
    size_t offset = 0;
    int failed = 0;
    assert_int_equal(spate_session_open(NULL, &session), 0);
    session->piece = piece;
    session->pieces = pieces;
    int length = snprintf(text, sizeof text, definitions, folder->folder);
    length += snprintf(text + length, sizeof text - (size_t)length, "%s\n%s", settings, script);
    assert_true((size_t)length < sizeof text);
    for (spate_result *result = NULL; failed == 0; spate_result_close(result)) {
        failed = spate_execute(session, text, (size_t)length, &offset, &result);
        if (failed != 0 || result == NULL) {
            break;
        }
        failed = run_result(result, out);
    }
    if (failed != 0) {
        text_append_format(out, "! %s\n", spate_session_error(session)->text);
    }
    spate_session_close(session);
}

/* ---- rows ---- */

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left + 1, *(char *const *)right + 1);
}

/* Rows that stand, a line each, sorted: those that came more often than they were withdrawn. */
static char *rows_that_stand(char *changes)
{
    static char *lines[ROWS_MAX];
    uint32_t count = 0;
    struct text_builder rows = {0};
    text_append(&rows, "", 0);
    for (char *line = changes == NULL ? NULL : strtok(changes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(count < ROWS_MAX);
        lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (uint32_t i = 0, next; i < count; i = next) {
        int32_t net = 0;
        for (next = i; next < count && strcmp(lines[i] + 1, lines[next] + 1) == 0; next++) {
            net += lines[next][0] == '-' ? -1 : 1;
        }
        if (net < 0) {
            fail_msg("%s was withdrawn more often than it came", lines[i] + 1);
        }
        for (; net > 0; net--) {
            text_append_format(&rows, "%s\n", lines[i] + 1);
        }
    }
    return rows.bytes;
}

static void remove_output(const struct table *folder)
{
    char path[128];
    snprintf(path, sizeof path, "%s/out", folder->folder);
    (void)!nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    static const char *const names[] = {"a", "b", "i", "l"}; /* there, if a piece writes nothing */
    for (uint32_t i = 0; i < ARRAY_LENGTH(names); i++) {
        snprintf(path, sizeof path, "out/%s/.here", names[i]);
        put_file(folder, path, "");
    }
}

/* What the script has written, by all its pieces. */
static char *output_of(const struct table *folder, const char *settings, const char *script, uint32_t pieces)
{
    struct text_builder out = {0}, written = {0};
    remove_output(folder);
    for (uint32_t i = 0; i < (pieces == 0 ? 1 : pieces); i++) {
        run_script(folder, settings, script, i, pieces, &out);
    }
    if (out.length > 0) {
        fail_msg("%s\n%s", script, out.bytes);
    }
    run_script(folder, "", "SELECT 'a', * FROM a; SELECT 'b', * FROM b; SELECT 'i', * FROM inserted; SELECT 'l', * FROM letters;", 0, 0,
               &written);
    if (written.length > 0 && written.bytes[0] == '!') {
        fail_msg("%s", written.bytes);
    }
    char *rows = rows_that_stand(written.bytes);
    text_builder_close(&written);
    return rows;
}

/* ---- the same ---- */

static const char *const shared[] = {
    "INSERT INTO inserted SELECT id, '', k, '' FROM bad;",
    "INSERT INTO inserted SELECT id * 2, UPPER(k), v, CAST(l[1] AS STRING) FROM o WHERE v > 1;",
    "INSERT INTO inserted SELECT id, CAST(t AS STRING), v, k FROM w WHERE t IS NOT NULL;",
    "INSERT INTO inserted SELECT id, k, v, CAST(x AS STRING) FROM o CROSS JOIN UNNEST(l) AS u (x);",
    "INSERT INTO inserted SELECT id, k, d, c FROM p UNION ALL SELECT id, k, v, c FROM q WHERE d > 1 UNION ALL SELECT id, k, v, k FROM o;",
    "INSERT INTO a SELECT SUM(v), MAX(k), d, c FROM p GROUP BY d, c;",
    "INSERT INTO a SELECT COUNT(DISTINCT v), k, d, c FROM (SELECT c, d, k, v + 1 AS v FROM p WHERE id > 9) GROUP BY k, c, d HAVING SUM(v) "
    "> 3;",
    "INSERT INTO a SELECT SUM(v), k, d, c FROM p GROUP BY GROUPING SETS ((d, c), (k, d, c));",
    "INSERT INTO a SELECT DISTINCT v, k, d, c FROM p;",
    "INSERT INTO a SELECT id, k, d, c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY c, d ORDER BY v DESC, id) AS n FROM p) WHERE n <= 3;",
    "INSERT INTO a SELECT n, k, d, c FROM (SELECT *, RANK() OVER (PARTITION BY d, k, c ORDER BY v) AS n FROM p) WHERE n <= 2;",
    "INSERT INTO a SELECT SUM(v) OVER (PARTITION BY d, c ORDER BY id), k, d, c FROM p;",
    "INSERT INTO a SELECT SUM(n), MAX(k), d, c FROM (SELECT k, d, c, COUNT(*) AS n FROM p GROUP BY k, d, c) GROUP BY d, c;",
    "INSERT INTO a SELECT COUNT(*), MIN(k), d, c FROM (SELECT k, d, c FROM p UNION ALL SELECT k, d, c FROM q) GROUP BY d, c;",
    "INSERT INTO a SELECT id, k, d, c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, c, d ORDER BY t) AS n FROM e WHERE t IS NOT NULL) "
    "WHERE n = 1;",
    "INSERT INTO a SELECT id, k, d, c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY d, c ORDER BY t DESC) AS n FROM e WHERE t IS NOT "
    "NULL) WHERE n = 1;",
    "INSERT INTO a SELECT MAX(v), CAST(MIN(t) AS STRING), d, c FROM e GROUP BY d, c;",
    "INSERT INTO a SELECT p.id, q.k, p.d, p.c FROM p JOIN q ON p.d = q.d AND q.c = p.c AND p.v = q.v WHERE q.id < 200;",
    "INSERT INTO a SELECT p.id, q.k, p.d, q.c FROM p LEFT JOIN q ON p.d = q.d AND q.c = p.c AND p.id = q.id;",
    "INSERT INTO a SELECT q.id, p.k, p.d, q.c FROM p RIGHT JOIN q ON p.d = q.d AND q.c = p.c AND p.id = q.id + 30;",
    "INSERT INTO a SELECT q.id, p.k, p.d, q.c FROM p FULL JOIN q ON p.d = q.d AND q.c = p.c AND p.id = q.id;",
    "INSERT INTO a SELECT id, k, d, c FROM p WHERE (d, c, v) IN (SELECT d, c, v FROM q WHERE k = 'k1');",
    "INSERT INTO a SELECT id, k, d, c FROM p WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.d = p.d AND q.c = p.c AND q.v = p.v);",
    "INSERT INTO a SELECT SUM(p.v), MAX(q.k), p.d, q.c FROM p JOIN q ON p.d = q.d AND q.c = p.c AND p.v = q.v GROUP BY p.d, q.c;",
    "INSERT INTO a SELECT v, k, d, c FROM p INTERSECT SELECT v, k, d, c FROM q;",
    "INSERT INTO a SELECT v, k, d, c FROM p EXCEPT ALL SELECT v, k, d, c FROM q;",
    "EXECUTE STATEMENT SET BEGIN INSERT INTO inserted SELECT id, k, v, k FROM o; INSERT INTO a SELECT MAX(v), MIN(k), d, c FROM p GROUP BY "
    "d, c;"
    " INSERT INTO b SELECT COUNT(*), MIN(k), d, c FROM q GROUP BY d, c; END;",
};
static const char *const ways[] = {"", "SET 'pipeline.tick.rows' = '4';",
                                   "SET 'parallelism.default' = '3'; SET 'pipeline.tick.rows' = '7';",
                                   "SET 'pipeline.tick.rows' = '5'; SET 'debug.restart-every' = '2';"};

static void all_pieces_write_what_the_whole_writes(void **state)
{
    static const uint32_t piece_counts[] = {1, 2, 3, 7};
    const struct table *folder = *state;
    for (uint32_t s = 0; s < ARRAY_LENGTH(shared); s++) {
        char *whole = output_of(folder, "", shared[s], 0);
        assert_true(strlen(whole) > 0);
        for (uint32_t c = 0; c < ARRAY_LENGTH(piece_counts); c++) {
            char *rows = output_of(folder, ways[(s + c) % ARRAY_LENGTH(ways)], shared[s], piece_counts[c]);
            if (strcmp(rows, whole) != 0) {
                fail_msg("%s\n%u pieces:\n%s\nwhole:\n%s", shared[s], piece_counts[c], rows, whole);
            }
            free(rows);
        }
        free(whole);
    }
}

/* ---- random statements ---- */

/* Everything has the columns x, y, d, c, of which d and c may or may not be the partition's values. */
static uint32_t seed;

static uint32_t below(uint32_t end)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % end;
}

static void put_query(struct text_builder *sql, uint32_t depth);

static void put_input_of(struct text_builder *sql, uint32_t depth)
{
    text_append_text(sql, "(");
    put_query(sql, depth - 1);
    text_append_text(sql, ")");
}

static void put_scan(struct text_builder *sql)
{
    static const char *const tables[] = {"p", "q", "e", "o"};
    const char *table = tables[below(12) == 0 ? 3 : below(3)];
    bool partitioned = table[0] != 'o';
    text_append_format(sql, "SELECT %s AS x, %s AS y, %s AS d, %s AS c FROM %s", below(2) ? "v" : "id",
                       below(4) ? "k" : "CAST(v AS STRING)", partitioned && below(8) ? "d" : "v", partitioned && below(8) ? "c" : "k",
                       table);
}

static void put_calc(struct text_builder *sql, uint32_t depth)
{
    static const char *const forms[] = {"SELECT x + 1 AS x, y, d, c FROM ",
                                        "SELECT x, c AS y, d, c FROM ",
                                        "SELECT CAST(d AS BIGINT) AS x, y, d, c FROM ",
                                        "SELECT x, y, d, COALESCE(c, 'z') AS c FROM ",
                                        "SELECT x, c AS y, d, y AS c FROM ",
                                        "SELECT x, y, d + 0 AS d, c FROM "};
    static const char *const filters[] = {"", " WHERE x > 2", " WHERE y IS NOT NULL", " WHERE c = 'a'", " WHERE d IS NULL OR d < 3"};
    text_append_text(sql, forms[below(8) < 6 ? below(3) : 3 + below(3)]);
    put_input_of(sql, depth);
    text_append_text(sql, filters[below(ARRAY_LENGTH(filters))]);
}

static void put_group(struct text_builder *sql, uint32_t depth)
{
    static const char *const forms[] = {"SELECT SUM(x) AS x, y, d, c FROM %GROUP BY c, y, d",
                                        "SELECT COUNT(*) AS x, MAX(y) AS y, d, c FROM %GROUP BY d, c",
                                        "SELECT MIN(x) AS x, MAX(y) AS y, d, c FROM %GROUP BY d, c HAVING COUNT(*) > 2",
                                        "SELECT DISTINCT x, y, d, c FROM %",
                                        "SELECT COUNT(DISTINCT x) AS x, y, d, MAX(c) AS c FROM %GROUP BY d, y",
                                        "SELECT SUM(x) AS x, y, d, c FROM %GROUP BY GROUPING SETS ((d, c), (c, d, y))",
                                        "SELECT SUM(x) AS x, y, d, c FROM %GROUP BY ROLLUP (d, c, y)"};
    const char *form = forms[below(3) ? below(4) : below(ARRAY_LENGTH(forms))], *place = strchr(form, '%');
    text_append(sql, form, (size_t)(place - form));
    put_input_of(sql, depth);
    text_append_format(sql, " %s", place + 1);
}

/* Ranks, not numbers: which of equal rows is first is left open. */
static void put_rank(struct text_builder *sql, uint32_t depth)
{
    static const char *const partitions[] = {"d, c", "c, y, d", "d, c", "d", "y"};
    text_append_format(sql, "SELECT %s AS x, y, d, c FROM (SELECT *, RANK() OVER (PARTITION BY %s ORDER BY x%s) AS n FROM ",
                       below(2) ? "x" : "n", partitions[below(ARRAY_LENGTH(partitions))], below(2) ? " DESC" : "");
    put_input_of(sql, depth);
    text_append_format(sql, ") WHERE n <= %u", 1 + below(3));
}

static void put_union(struct text_builder *sql, uint32_t depth)
{
    static const char *const operations[] = {" UNION ALL ", " UNION ALL ", " UNION ", " INTERSECT ", " EXCEPT ", " EXCEPT ALL "};
    text_append_text(sql, "SELECT x, y, d, c FROM ");
    put_input_of(sql, depth);
    text_append_text(sql, operations[below(ARRAY_LENGTH(operations))]);
    text_append_text(sql, "SELECT x, y, d, c FROM ");
    put_input_of(sql, depth);
}

static void put_join(struct text_builder *sql, uint32_t depth)
{
    static const char *const kinds[] = {"", "", "LEFT ", "RIGHT ", "FULL "};
    static const char *const sides[] = {"l", "r"};
    text_append_format(sql, "SELECT %s.x, %s.y, %s.d, %s.c FROM ", sides[below(2)], sides[below(2)], sides[below(2)], sides[below(2)]);
    put_input_of(sql, depth);
    text_append_format(sql, " AS l %sJOIN (", kinds[below(ARRAY_LENGTH(kinds))]);
    put_scan(sql);
    text_append_format(sql, " WHERE id < 70) AS r ON l.d = r.d AND l.c = r.%s%s", below(8) ? "c" : "y", below(3) ? " AND l.x = r.x" : "");
}

static void put_exists(struct text_builder *sql, uint32_t depth)
{
    text_append_text(sql, "SELECT x, y, d, c FROM ");
    put_input_of(sql, depth);
    text_append_format(sql, " AS l WHERE %sEXISTS (SELECT 1 FROM ", below(2) ? "NOT " : "");
    put_input_of(sql, depth);
    text_append_format(sql, " AS r WHERE l.d = r.d AND l.%s = r.c AND l.x < r.x)", below(6) ? "c" : "y");
}

static void put_query(struct text_builder *sql, uint32_t depth)
{
    static void (*const forms[])(struct text_builder *, uint32_t) = {put_calc, put_calc,  put_group, put_group,
                                                                     put_rank, put_union, put_join,  put_exists};
    if (depth == 0) {
        put_scan(sql);
        return;
    }
    forms[below(ARRAY_LENGTH(forms))](sql, depth);
}

static bool is_spread(const struct table *folder, const char *script)
{
    struct text_builder out = {0}, explain = {0};
    text_append_format(&explain, "EXPLAIN %s", script);
    run_script(folder, "", explain.bytes, 0, 0, &out);
    const char *line = out.bytes == NULL ? NULL : strstr(out.bytes, "\nProcesses: ");
    if (line == NULL) {
        fail_msg("%s\n%s", script, out.bytes);
    }
    bool spread = strncmp(line, "\nProcesses: one task", strlen("\nProcesses: one task")) != 0;
    text_builder_close(&out);
    text_builder_close(&explain);
    return spread;
}

static void what_is_said_to_be_shared_can_be(void **state)
{
    const char *count = getenv("SPREAD_STATEMENTS"), *first = getenv("SPREAD_SEED");
    uint32_t statements = count == NULL ? 40 : (uint32_t)atoi(count), spread = 0;
    for (uint32_t i = 0; i < statements; i++) {
        struct text_builder script = {0};
        seed = (first == NULL ? 1 : (uint32_t)atoi(first)) + i;
        text_append_text(&script, "INSERT INTO a SELECT x, y, d, c FROM (");
        put_query(&script, 1 + i % 3);
        text_append_text(&script, ");");
        if (is_spread(*state, script.bytes)) {
            uint32_t pieces = 2 + i % 4;
            char *whole = output_of(*state, "", script.bytes, 0),
                 *rows = output_of(*state, ways[i % ARRAY_LENGTH(ways)], script.bytes, pieces);
            if (strcmp(rows, whole) != 0) {
                fail_msg("seed %u, %u pieces: %s\n%s\nwhole:\n%s", seed, pieces, script.bytes, rows, whole);
            }
            free(rows);
            free(whole);
            spread++;
        }
        text_builder_close(&script);
    }
    assert_in_range(spread, statements / 5, statements - statements / 5);
}

/* A query gives all rows, also in a session that has a piece of what its INSERTs read. */
static void queries_are_not_shared(void **state)
{
    struct text_builder out = {0};
    run_script(*state, "", "SELECT COUNT(*) FROM ordered;", 1, 3, &out);
    char *rows = rows_that_stand(out.bytes);
    char expected[16];
    snprintf(expected, sizeof expected, "%d\n", FILES * ROWS_PER_FILE);
    assert_string_equal(rows, expected);
    free(rows);
    text_builder_close(&out);
}

/* ---- what EXPLAIN says, and what is refused ---- */

static const struct {
    const char *script, *says;
} explained[] = {
    {"INSERT INTO inserted SELECT id, k, v, k FROM o;", "23 tasks: each reads its share of the files of o"},
    {"INSERT INTO a SELECT SUM(v), MAX(k), d, c FROM p GROUP BY d, c;", "6 tasks: each reads its share of the files of p by d, c"},
    {"STATEMENT SET BEGIN INSERT INTO inserted SELECT id, k, v, k FROM o; INSERT INTO b SELECT id, k, d, c FROM p; END;",
     "23 tasks: each reads its share of the files of o, files of p by d, c"},
    {"INSERT INTO inserted SELECT id, UUID(), v, k FROM o;", "23 tasks: "},
    {"INSERT INTO inserted SELECT id, k, v, k FROM followed;", "one task: more files of followed may come: 'parallelism.default'"},
    {"INSERT INTO inserted SELECT id, k, v, k FROM ordered;",
     "one task: ordered at 16:54 is read file by file, in the order of their paths"},
    {"INSERT INTO a SELECT SUM(v), k, 1, k FROM o GROUP BY k;",
     "one task: GroupAggregate (by k: SUM(v)) brings rows of different files together"},
    {"INSERT INTO a SELECT SUM(v), MAX(k), d, MAX(c) FROM p GROUP BY d;",
     "one task: GroupAggregate (by d: SUM(v), MAX(k), MAX(c)) brings rows of different files together: its keys do not have all "
     "PARTITIONED BY columns"},
    {"INSERT INTO a SELECT SUM(v), k, d, c FROM p GROUP BY ROLLUP (d, c, k);", "one task: GroupAggregate"},
    {"INSERT INTO a SELECT SUM(v), MAX(k), e, c FROM (SELECT v, k, d + 0 AS e, c FROM p) GROUP BY e, c;", "one task: GroupAggregate"},
    {"INSERT INTO a SELECT COUNT(*), k, d, c FROM (SELECT k, d, c FROM p UNION ALL SELECT k, v, k FROM o) GROUP BY k, d, c;",
     "one task: GroupAggregate"},
    {"INSERT INTO a SELECT COUNT(*), MAX(k), 1, '' FROM o;", "one task: GroupAggregate"},
    {"INSERT INTO a SELECT p.id, p.k, p.d, q.c FROM p JOIN q ON p.d = q.d AND p.c = q.c;",
     "6 tasks: each reads its share of the files of p"},
    {"INSERT INTO a SELECT p.id, p.k, p.d, q.c FROM p JOIN q ON p.d = q.d AND p.id = q.id;",
     "one task: Join (inner on d = d and id = id) brings rows of its two inputs together"},
    {"INSERT INTO a SELECT p.id, p.k, p.d, q.c FROM p JOIN q ON p.d = q.d AND p.c = q.k;", "one task: Join"},
    {"INSERT INTO a SELECT p.id, p.k, o.v, p.c FROM p JOIN o ON p.d = o.v AND p.c = o.k;", "one task: Join"},
    {"INSERT INTO a SELECT SUM(p.v), MAX(q.k), q.d, q.c FROM p LEFT JOIN q ON p.d = q.d AND q.c = p.c GROUP BY q.d, q.c;",
     "one task: GroupAggregate"},
    {"INSERT INTO a SELECT SUM(q.v), MAX(q.k), p.d, p.c FROM p RIGHT JOIN q ON p.d = q.d AND q.c = p.c GROUP BY p.d, p.c;",
     "one task: GroupAggregate"},
    {"INSERT INTO a SELECT SUM(q.v), MAX(q.k), p.d, p.c FROM p FULL JOIN q ON p.d = q.d AND q.c = p.c GROUP BY p.d, p.c;",
     "one task: GroupAggregate"},
    {"INSERT INTO a SELECT COUNT(*), k, d, c FROM (SELECT k, d, c FROM p UNION ALL SELECT k, v, c FROM q) GROUP BY k, d, c;",
     "one task: GroupAggregate"},
    {"INSERT INTO a SELECT COUNT(*), MAX(k), d, MAX(k) FROM r GROUP BY d;", "4 tasks: "},
    {"INSERT INTO a SELECT COUNT(*), MAX(k), d, MAX(k) FROM (SELECT k, d FROM r UNION ALL SELECT k, d FROM p) GROUP BY d;",
     "one task: GroupAggregate"},
    {"INSERT INTO a SELECT r.id, p.k, r.d, p.c FROM r JOIN p ON p.d = r.d;", "one task: Join"},
    {"INSERT INTO a SELECT id, k, d, k FROM r WHERE d NOT IN (SELECT d FROM r WHERE v > 5);", "one task: Join"},
    {"INSERT INTO a SELECT id, k, d, c FROM p WHERE (d, c) NOT IN (SELECT d, c FROM q);", "one task: Join"},
    {"INSERT INTO a SELECT COUNT(*), k, d, c FROM p WHERE v > (SELECT MIN(v) FROM q) GROUP BY k, d, c;", "one task: "},
    {"INSERT INTO a SELECT id, k, d, c FROM p INTERSECT SELECT id, k, d, k FROM q;", "one task: SetOperation (INTERSECT)"},
    {"INSERT INTO a SELECT id, k, v, k FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v) AS n FROM o) WHERE n < 5;", "one task: TopN"},
    {"INSERT INTO a SELECT id, k, v, k FROM o LIMIT 3;", "one task: Limit"},
    {"INSERT INTO inserted SELECT COUNT(*), k, 1, k FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(t), INTERVAL '1' MINUTE))"
     " GROUP BY window_start, window_end, k;",
     "one task: WindowAggregate"},
    {"INSERT INTO inserted SELECT id, CAST(window_start AS STRING), v, k FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(t), INTERVAL '1' MINUTE));",
     "one task: WindowTableFunction"},
    {"INSERT INTO inserted SELECT id, CAST(CURRENT_TIMESTAMP AS STRING), v, k FROM o;",
     "one task: CURRENT_TIMESTAMP at 16:46 is another value"},
    {"INSERT INTO inserted SELECT id, k, v, k FROM w WHERE t > CURRENT_WATERMARK(t);", "one task: CURRENT_WATERMARK"},
    {"INSERT INTO inserted SELECT id, k, v, k FROM o WHERE CAST(PROCTIME() AS STRING) <> k;", "one task: PROCTIME"},
    {"INSERT INTO inserted SELECT SUM(v) OVER (PARTITION BY k ORDER BY t), k, v, k FROM w;", "one task: Over"},
    {"INSERT INTO inserted SELECT SUM(v) OVER (PARTITION BY d, c ORDER BY t), k, d, c FROM e;", "one task: Over"},
    {"INSERT INTO inserted SELECT id, k, d, c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY d, c ORDER BY PROCTIME()) AS n FROM p)"
     " WHERE n = 1;",
     "one task: "},
    {"INSERT INTO inserted SELECT COUNT(*), MIN(k), d, c FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(t), INTERVAL '1' MINUTE))"
     " GROUP BY window_start, window_end, d, c;",
     "one task: WindowAggregate"},
    {"INSERT INTO a SELECT e.id, q.k, e.d, q.c FROM e JOIN e AS q ON e.d = q.d AND e.c = q.c AND e.t BETWEEN q.t AND q.t + INTERVAL '1' "
     "HOUR;",
     "one task: IntervalJoin"},
    {"INSERT INTO inserted VALUES (1, 'x', 1, 'x');", "one task: Values"},
    {"INSERT INTO inserted SELECT id, k, v, k FROM o UNION ALL SELECT 1, 'x', 1, 'x';", "one task: Values"},
    {"INSERT OVERWRITE inserted SELECT id, k, v, k FROM o;", "one task: inserted is overwritten"},
    {"INSERT INTO marked SELECT id, k, v, k FROM o;", "one task: marked marks partitions that are complete"},
    {"STATEMENT SET BEGIN INSERT INTO inserted SELECT id, k, v, k FROM o; INSERT INTO a SELECT COUNT(*), k, 1, k FROM o GROUP BY k; END;",
     "one task: GroupAggregate"},
};

static void explain_says_how_many_tasks_there_are(void **state)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(explained); i++) {
        char script[1024];
        struct text_builder out = {0};
        snprintf(script, sizeof script, "EXPLAIN %s", explained[i].script);
        run_script(*state, "", script, 0, 0, &out);
        const char *line = out.bytes == NULL ? NULL : strstr(out.bytes, "\nProcesses: ");
        if (line == NULL || strncmp(line + strlen("\nProcesses: "), explained[i].says, strlen(explained[i].says)) != 0) {
            fail_msg("%s\nwanted: %s%s", script, explained[i].says, line == NULL ? out.bytes : line);
        }
        text_builder_close(&out);
    }
}

static void the_session_limits_the_tasks(void **state)
{
    static const struct {
        const char *settings, *table, *says;
    } cases[] = {{"SET 'parallelism.default' = '4';", "o", "\nProcesses: 4 tasks: "},
                 {"SET 'parallelism.default' = '40';", "o", "\nProcesses: 23 tasks: "},
                 {"SET 'pipeline.max-parallelism' = '5';", "o", "\nProcesses: 5 tasks: "},
                 {"SET 'pipeline.max-parallelism' = '1';", "o", "\nProcesses: 1 task: it reads the files of o\n"},
                 {"SET 'parallelism.default' = '40';", "followed", "\nProcesses: 40 tasks: "}};
    for (uint32_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char script[256];
        struct text_builder out = {0};
        snprintf(script, sizeof script, "EXPLAIN INSERT INTO inserted SELECT id, k, v, k FROM %s;", cases[i].table);
        run_script(*state, cases[i].settings, script, 0, 0, &out);
        if (out.bytes == NULL || strstr(out.bytes, cases[i].says) == NULL) {
            fail_msg("%s %s\n%s", cases[i].settings, cases[i].table, out.bytes);
        }
        text_builder_close(&out);
    }
}

static void a_query_has_no_tasks(void **state)
{
    struct text_builder out = {0};
    run_script(*state, "", "EXPLAIN SELECT id FROM o;", 0, 0, &out);
    assert_true(out.bytes != NULL && strstr(out.bytes, "Source o") != NULL && strstr(out.bytes, "Processes") == NULL);
    text_builder_close(&out);
}

static void a_piece_of_what_runs_whole_is_refused(void **state)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(explained); i++) {
        static const char refusal[] = "! the statement was to be shared by 2 tasks, but it runs whole, in one: ";
        struct text_builder out = {0};
        char script[1024];
        if (strncmp(explained[i].says, "one task: ", strlen("one task: ")) != 0 || strstr(explained[i].script, "followed") != NULL) {
            continue;
        }
        bool set = strncmp(explained[i].script, "STATEMENT", strlen("STATEMENT")) == 0;
        snprintf(script, sizeof script, "%s%s", set ? "EXECUTE " : "", explained[i].script);
        remove_output(*state);
        run_script(*state, "", script, 0, 2, &out);
        if (out.bytes == NULL || strncmp(out.bytes, refusal, strlen(refusal)) != 0) {
            fail_msg("%s\n%s", script, out.bytes == NULL ? "ran" : out.bytes);
        }
        text_builder_close(&out);
    }
}

static int setup(void **state)
{
    static struct table folder;
    table_open(&folder, "json");
    put_input(&folder);
    *state = &folder;
    return 0;
}

static int teardown(void **state)
{
    table_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pieces_write_what_the_whole_writes),
        cmocka_unit_test(what_is_said_to_be_shared_can_be),
        cmocka_unit_test(queries_are_not_shared),
        cmocka_unit_test(explain_says_how_many_tasks_there_are),
        cmocka_unit_test(the_session_limits_the_tasks),
        cmocka_unit_test(a_query_has_no_tasks),
        cmocka_unit_test(a_piece_of_what_runs_whole_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
