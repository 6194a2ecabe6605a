/* A folder that several processes share: each file is read by one of them, whatever each of them has seen of the folder, and all of them
 * together read what one would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../support/tables.h"

enum { FILES = 60, IDS = 400, PIECES_MAX = 8 };
static const uint32_t piece_counts[] = {1, 2, 3, 7};

/* A source that is opened for one piece, and its reader. */
struct piece {
    struct source *source;
    struct reader *reader;
    uint32_t rows; /* read so far */
};

static void piece_open(struct piece *piece, struct table *table, struct source_context context, uint32_t number, uint32_t pieces)
{
    context.piece = number;
    context.pieces = pieces;
    memset(piece, 0, sizeof *piece);
    if (source_open(&context, &piece->source, &table->err) != STATUS_OK) {
        fail_msg("%s", table->err.text);
    }
    assert_int_equal(piece->source->partition_count, 1); /* however many files there are */
    assert_int_equal(piece->source->type->reader_open(piece->source, 0, &piece->reader, &table->err), STATUS_OK);
}

static void piece_close(struct piece *piece)
{
    piece->source->type->reader_close(piece->reader);
    source_close(piece->source);
}

/* At most so many rows; the first column is an id, of which it is counted how often it was read. */
static void read_some(struct piece *piece, uint32_t rows, uint32_t *seen)
{
    enum read_state state = READ_ROWS;
    struct error err;
    for (uint32_t idle = 0; state != READ_END && idle < 3 && rows > 0;) {
        struct reader *reader = piece->reader;
        struct batch batch;
        int64_t wait_us;
        reader->passed = ++reader->reads;
        if (piece->source->type->read(reader, rows < 2 ? rows : 2, &batch, &state, &wait_us, &err) != STATUS_OK) {
            fail_msg("%s", err.text);
        }
        idle = state == READ_IDLE ? idle + 1 : 0;
        if (state == READ_IDLE) {
            usleep((useconds_t)(wait_us > 20000 ? 20000 : wait_us));
        } else if (state == READ_ROWS) {
            for (uint32_t i = 0; i < batch.count; i++) {
                int32_t id = vector_int32(&batch.columns[0])[i];
                assert_in_range(id, 0, IDS - 1);
                seen[id]++;
            }
            piece->rows += batch.count;
            rows -= batch.count;
            batch_release(&batch);
        }
    }
}

static void read_rest(struct piece *piece, uint32_t *seen)
{
    read_some(piece, UINT32_MAX, seen);
}

static void check_once(const uint32_t *seen, uint32_t count)
{
    for (uint32_t i = 0; i < IDS; i++) {
        if (seen[i] != (i < count)) {
            fail_msg("row %u was read %u times", i, seen[i]);
        }
    }
}

/* Three rows a file: 3 * number, and the two after that. */
static void put_numbered(const struct table *table, const char *name, uint32_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%u,a\n%u,b\n%u,c\n", 3 * number, 3 * number + 1, 3 * number + 2);
    put_file(table, name, text);
}

static void put_folder(const struct table *table)
{
    static const char *const forms[] = {"part-%u.csv", "%04u", "day=2026-11-%02u/x.csv", "a/b/%u/n", "t%u00.csv", "Log.%u.v2.csv.gz"};
    char name[64];
    for (uint32_t i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, forms[i % ARRAY_LENGTH(forms)], i);
        put_numbered(table, name, i);
    }
}

static void all_pieces_are_the_whole(void **state)
{
    (void)state;
    for (uint32_t by_file = 0; by_file < 2; by_file++) {
        struct table table;
        table_open(&table, "csv");
        put_folder(&table);
        if (by_file) {
            table_set(&table, "source.partition-by-file", "true");
        }
        for (uint32_t c = 0; c < ARRAY_LENGTH(piece_counts); c++) {
            uint32_t seen[IDS] = {0}, pieces = piece_counts[c];
            for (uint32_t i = 0; i < pieces; i++) {
                struct piece piece;
                piece_open(&piece, &table, context_of(&table, pair_columns, 2), i, pieces);
                read_rest(&piece, seen);
                assert_in_range(piece.rows, 3 * FILES / pieces / 3, 3 * FILES); /* none has next to nothing */
                piece_close(&piece);
            }
            check_once(seen, 3 * FILES);
        }
        table_close(&table);
    }
}

static void numbered_files_are_dealt_out_in_turn(void **state)
{
    (void)state;
    for (uint32_t pieces = 1; pieces <= PIECES_MAX; pieces++) {
        struct table table;
        table_open(&table, "csv");
        for (uint32_t i = 0; i < 2 * pieces; i++) {
            char name[32];
            snprintf(name, sizeof name, "orders-%05u.csv.gz", i);
            put_numbered(&table, name, i);
        }
        uint32_t seen[IDS] = {0};
        for (uint32_t i = 0; i < pieces; i++) {
            struct piece piece;
            piece_open(&piece, &table, context_of(&table, pair_columns, 2), i, pieces);
            read_rest(&piece, seen);
            assert_int_equal(piece.rows, 6);
            piece_close(&piece);
        }
        check_once(seen, 6 * pieces);
        table_close(&table);
    }
}

/* Numbers with a step, as times have: not all in the pieces that its divisors give. */
static void numbers_with_a_step_are_in_all_pieces(void **state)
{
    (void)state;
    static const uint32_t steps[] = {10, 60, 100, 128, 1000, 3600};
    for (uint32_t s = 0; s < ARRAY_LENGTH(steps); s++) {
        struct table table;
        uint32_t seen[IDS] = {0};
        table_open(&table, "csv");
        for (uint32_t i = 0; i < FILES; i++) {
            char name[32];
            snprintf(name, sizeof name, "at-%u.csv", 1764460800 + i * steps[s]);
            put_numbered(&table, name, i);
        }
        for (uint32_t i = 0; i < 4; i++) {
            struct piece piece;
            piece_open(&piece, &table, context_of(&table, pair_columns, 2), i, 4);
            read_rest(&piece, seen);
            assert_in_range(piece.rows, 3 * FILES / 4 / 4, 3 * FILES / 2);
            piece_close(&piece);
        }
        check_once(seen, 3 * FILES);
        table_close(&table);
    }
}

static void a_piece_without_files_ends(void **state)
{
    (void)state;
    struct table table;
    uint32_t seen[IDS] = {0};
    table_open(&table, "csv");
    put_numbered(&table, "only.csv", 0);
    table_set(&table, "source.partition-by-file", "true");
    for (uint32_t i = 0; i < 5; i++) {
        struct piece piece;
        piece_open(&piece, &table, context_of(&table, pair_columns, 2), i, 5);
        read_rest(&piece, seen);
        piece_close(&piece);
    }
    check_once(seen, 3);
    table_close(&table);
}

/* Processes look at the folder at other times: one has looked before a file came, another begins afterwards. */
static void files_come_while_a_folder_is_followed(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < ARRAY_LENGTH(piece_counts); c++) {
        struct table table;
        struct piece piece[PIECES_MAX];
        uint32_t seen[IDS] = {0}, pieces = piece_counts[c], opened = (pieces + 1) / 2, files = 0;
        table_open(&table, "csv");
        table_set(&table, "source.monitor-interval", "1 ms");
        struct source_context context = context_of(&table, pair_columns, 2);
        for (uint32_t i = 0; i < opened; i++) {
            piece_open(&piece[i], &table, context, i, pieces);
        }
        for (uint32_t round = 0; round < 5; round++) {
            for (uint32_t i = 0; i < 8; i++, files++) {
                char name[32];
                snprintf(name, sizeof name, "%c/x%u.csv", 'z' - (char)(files * 7 % 26), files); /* before and after those that are there */
                put_numbered(&table, name, files);
            }
            if (round == 2) {
                for (; opened < pieces; opened++) {
                    piece_open(&piece[opened], &table, context, opened, pieces);
                }
            }
            for (uint32_t i = 0; i < opened; i++) {
                read_rest(&piece[i], seen);
            }
        }
        for (uint32_t i = 0; i < pieces; i++) {
            piece_close(&piece[i]);
        }
        check_once(seen, 3 * files);
        table_close(&table);
    }
}

static void read_on_by_another(struct table *table, struct source_context context, uint32_t number, uint32_t pieces, uint32_t rows,
                               uint32_t files, uint32_t *seen)
{
    struct piece piece;
    struct text_builder place = {0}, history = {0};
    piece_open(&piece, table, context, number, pieces);
    const struct source_type *type = piece.source->type;
    read_some(&piece, rows, seen);
    assert_int_equal(type->position(piece.reader, &place, &table->err), STATUS_OK);
    assert_int_equal(type->history(piece.reader, &history, &table->err), STATUS_OK);
    piece_close(&piece);
    if (files > 0) { /* come while nobody looks */
        char name[32];
        snprintf(name, sizeof name, "%u-new.csv", files);
        put_numbered(table, name, files);
    }
    piece_open(&piece, table, context, number, pieces);
    struct source_position position = {{place.bytes, place.length}, {history.bytes, history.length}};
    if (type->seek(piece.reader, &position, &table->err) != STATUS_OK) {
        fail_msg("piece %u of %u: %s", number, pieces, table->err.text);
    }
    read_rest(&piece, seen);
    piece_close(&piece);
    text_builder_close(&place);
    text_builder_close(&history);
}

static void each_piece_goes_on_from_its_place(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < ARRAY_LENGTH(piece_counts); c++) {
        for (uint32_t rows = 0; rows < 30; rows += 7) {
            struct table table;
            uint32_t seen[IDS] = {0}, pieces = piece_counts[c];
            table_open(&table, "csv");
            put_folder(&table);
            for (uint32_t i = 0; i < pieces; i++) {
                read_on_by_another(&table, context_of(&table, pair_columns, 2), i, pieces, rows, 0, seen);
            }
            check_once(seen, 3 * FILES);
            table_close(&table);
        }
    }
}

static void a_followed_piece_goes_on_from_its_place(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < ARRAY_LENGTH(piece_counts); c++) {
        for (uint32_t rows = 0; rows < 30; rows += 11) {
            struct table table;
            uint32_t seen[IDS] = {0}, pieces = piece_counts[c], files = FILES;
            table_open(&table, "csv");
            table_set(&table, "source.monitor-interval", "1 ms");
            put_folder(&table);
            struct source_context context = context_of(&table, pair_columns, 2);
            context.until_end = true;
            for (uint32_t i = 0; i < pieces; i++) {
                read_on_by_another(&table, context, i, pieces, rows, files++, seen);
            }
            /* What came after its piece was read to the end: once more, from the same places, nobody has it twice. */
            uint32_t again[IDS] = {0};
            for (uint32_t i = 0; i < pieces; i++) {
                struct piece piece;
                piece_open(&piece, &table, context, i, pieces);
                read_rest(&piece, again);
                piece_close(&piece);
            }
            check_once(again, 3 * files);
            for (uint32_t i = 0; i < 3 * files; i++) {
                assert_true(seen[i] == 1 || (seen[i] == 0 && i >= 3 * FILES));
            }
            table_close(&table);
        }
    }
}

/* ---- PARTITIONED BY ---- */

static const char *const partition_names[] = {"n", "s"};
static const struct type *const partition_types[] = {&type_int, &type_string};
static const struct source_column partitioned_columns[] = {
    {"id", &type_int, NULL}, {"v", &type_string, NULL}, {"n", &type_int, NULL}, {"s", &type_string, NULL}};

static struct source_context partitioned_context(struct table *table)
{
    struct source_context context = context_of(table, partitioned_columns, 2); /* of the rows only what is in the files */
    context.partition_columns = partition_names;
    context.partition_types = partition_types;
    context.partition_count = 2;
    const char *const names[] = {"id", "v", "n", "s"};
    const struct type *const types[] = {&type_int, &type_string, &type_int, &type_string};
    context.physical = type_row(table->arena, 4, types, names, false);
    assert_non_null(context.physical);
    return context;
}

/* Spellings of equal values; NULL, and NULL in one of them. */
static void equal_partition_values_are_in_one_piece(void **state)
{
    (void)state;
    static const struct {
        const char *folder;
        uint32_t value;
    } folders[] = {{"n=1/s=a", 0},
                   {"n=01/s=a", 0},
                   {"s=a/n=1", 0}, /* whatever the order of the folders */
                   {"n=1/x/s=%61", 0},
                   {"n=1/s=b", 1},
                   {"n=2/s=a", 2},
                   {"n=__DEFAULT_PARTITION__/s=a", 3},
                   {"n=__DEFAULT_PARTITION__/y/s=a", 3},
                   {"n=__DEFAULT_PARTITION__/s=__DEFAULT_PARTITION__", 4},
                   {"n=-7/s=", 5},
                   {"n=1/s=%C3%A4 12", 6},
                   {"s=\xc3\xa4%2012/n=001", 6}};
    struct table table;
    table_open(&table, "csv");
    table_set(&table, "source.partition-by-file", "true");
    for (uint32_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        char name[96];
        snprintf(name, sizeof name, "%s/f%u.csv", folders[i].folder, i);
        put_numbered(&table, name, i);
    }
    struct source *whole;
    struct source_division division;
    struct source_context context = partitioned_context(&table);
    assert_int_equal(source_open(&context, &whole, &table.err), STATUS_OK);
    assert_int_equal(whole->type->divide(whole, &division, &table.err), STATUS_OK);
    assert_true(division.whole == NULL && division.by_values && !division.grows && division.count == 7);
    source_close(whole);
    for (uint32_t pieces = 1; pieces <= PIECES_MAX; pieces++) {
        uint32_t seen[IDS] = {0}, piece_of[ARRAY_LENGTH(folders)];
        for (uint32_t i = 0; i < pieces; i++) {
            uint32_t mine[IDS] = {0};
            struct piece piece;
            piece_open(&piece, &table, context, i, pieces);
            read_rest(&piece, mine);
            piece_close(&piece);
            for (uint32_t f = 0; f < ARRAY_LENGTH(folders); f++) {
                piece_of[f] = mine[3 * f] > 0 ? i : piece_of[f];
            }
            for (uint32_t r = 0; r < IDS; r++) {
                seen[r] += mine[r];
            }
        }
        check_once(seen, 3 * ARRAY_LENGTH(folders));
        for (uint32_t f = 1; f < ARRAY_LENGTH(folders); f++) {
            assert_true(folders[f].value != folders[f - 1].value || piece_of[f] == piece_of[f - 1]);
        }
    }
    table_close(&table);
}

/* It is of one piece as well, which fails as the whole would when it reads the column. */
static void a_file_outside_of_partitions_is_of_one_piece(void **state)
{
    (void)state;
    struct table table;
    table_open(&table, "csv");
    put_numbered(&table, "n=1/s=a/0.csv", 0);
    put_numbered(&table, "n=1/1.csv", 1);
    put_numbered(&table, "n=x/s=a/2.csv", 2);
    for (uint32_t pieces = 1; pieces <= PIECES_MAX; pieces++) {
        uint32_t seen[IDS] = {0};
        for (uint32_t i = 0; i < pieces; i++) {
            struct piece piece;
            piece_open(&piece, &table, partitioned_context(&table), i, pieces);
            read_rest(&piece, seen);
            piece_close(&piece);
        }
        check_once(seen, 9);
    }
    table_close(&table);
}

static void what_can_be_divided_says_so(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct table table;
        struct source *source;
        struct source_division division;
        table_open(&table, "csv");
        put_folder(&table);
        if (i > 0) {
            table_set(&table, i == 1 ? "source.partition-by-file" : "source.monitor-interval", i == 1 ? "true" : "1 s");
        }
        struct source_context context = context_of(&table, pair_columns, 2);
        assert_int_equal(source_open(&context, &source, &table.err), STATUS_OK);
        assert_int_equal(source->type->divide(source, &division, &table.err), STATUS_OK);
        assert_true((division.whole != NULL) == (i == 0));
        assert_true(i != 1 || (division.count == FILES && !division.grows && !division.by_values));
        assert_true(i != 2 || division.grows);
        source_close(source);
        table_close(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pieces_are_the_whole),
        cmocka_unit_test(numbered_files_are_dealt_out_in_turn),
        cmocka_unit_test(numbers_with_a_step_are_in_all_pieces),
        cmocka_unit_test(a_piece_without_files_ends),
        cmocka_unit_test(files_come_while_a_folder_is_followed),
        cmocka_unit_test(each_piece_goes_on_from_its_place),
        cmocka_unit_test(a_followed_piece_goes_on_from_its_place),
        cmocka_unit_test(equal_partition_values_are_in_one_piece),
        cmocka_unit_test(a_file_outside_of_partitions_is_of_one_piece),
        cmocka_unit_test(what_can_be_divided_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
