/* A table of files in a folder of its own, for tests of connectors: options, contexts, rows as text. */
#ifndef SPATE_TESTS_SUPPORT_TABLES_H
#define SPATE_TESTS_SUPPORT_TABLES_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "connectors/sink.h"
#include "connectors/source.h"
#include "connectors/table_options.h"
#include "data/cell_text.h"

struct table {
    struct budget budget;
    struct arena *arena;
    char folder[64];
    const char *keys[16], *values[16];
    struct table_options options;
    struct source_counters counters;
    struct error err;
};

static inline void table_open(struct table *table, const char *format)
{
    memset(table, 0, sizeof *table);
    budget_init(&table->budget, NULL, "test", BUDGET_UNLIMITED);
    table->arena = arena_create(&table->budget, "test");
    strcpy(table->folder, "/tmp/spate-test-XXXXXX");
    assert_non_null(mkdtemp(table->folder));
    table->options = (struct table_options){table->keys, table->values, 3};
    table->keys[0] = "connector";
    table->values[0] = "filesystem";
    table->keys[1] = "path";
    table->values[1] = table->folder;
    table->keys[2] = "format";
    table->values[2] = format;
}

static inline void table_set(struct table *table, const char *key, const char *value)
{
    table->keys[table->options.count] = key;
    table->values[table->options.count++] = value;
}

static inline int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static inline void table_close(struct table *table)
{
    assert_int_equal(nftw(table->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    arena_destroy(table->arena);
    buffer_trim();
    assert_int_equal(table->budget.used_bytes, 0);
}

static inline void put_file(const struct table *table, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", table->folder, name);
    for (char *slash = path + strlen(table->folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    if (strstr(name, ".gz") != NULL) {
        gzFile file = gzopen(path, "wb");
        gzputs(file, text);
        gzclose(file);
        return;
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

__attribute__((unused)) static const struct source_column pair_columns[] = {{"id", &type_int, NULL}, {"s", &type_string, NULL}};

static inline struct source_context context_of(struct table *table, const struct source_column *columns, uint32_t count)
{
    return (struct source_context){.arena = table->arena,
                                   .budget = &table->budget,
                                   .clock = &clock_system,
                                   .zone = time_zone_utc,
                                   .table = "t",
                                   .columns = columns,
                                   .column_count = count,
                                   .options = &table->options,
                                   .counters = &table->counters};
}

static inline void rows_append(const struct batch *batch, struct text_builder *out)
{
    for (uint32_t row = 0; row < batch->count; row++) {
        for (uint32_t i = 0; i < batch->column_count; i++) {
            text_append_text(out, i == 0 ? "" : "|");
            cell_text_append(&batch->columns[i], row, time_zone_utc, CELL_TEXT_HEX, out);
        }
        if (batch->weights != NULL) {
            text_append_format(out, "|%+d", (int)batch->weights[row]);
        }
        text_append_char(out, '\n');
    }
}

#endif
