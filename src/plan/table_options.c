/* Options of a catalog's table. */
#include "plan/table_options.h"

#include <string.h>

enum status table_options_of(struct arena *arena, const struct catalog_table *table, const struct table_options **options,
                             struct error *err)
{
    struct table_options *made;
    const char **keys, **values;
    TRY_ALLOC(made, arena_alloc(arena, sizeof *made), err);
    TRY_ALLOC(keys, arena_alloc(arena, (table->option_count + 1) * sizeof *keys), err);
    TRY_ALLOC(values, arena_alloc(arena, (table->option_count + 1) * sizeof *values), err);
    for (uint32_t i = 0; i < table->option_count; i++) {
        keys[i] = table->options[i].key;
        values[i] = table->options[i].value;
    }
    *made = (struct table_options){keys, values, table->option_count};
    *options = made;
    return STATUS_OK;
}

enum status table_source_settings(struct arena *arena, const struct catalog_table *table, struct common_source_settings *settings,
                                  struct error *err)
{
    memset(settings, 0, sizeof *settings);
    TRY(option_defaults(common_source_options, common_source_option_count, settings, arena, err));
    for (uint32_t i = 0; i < table->option_count; i++) {
        for (uint32_t k = 0; k < common_source_option_count; k++) {
            if (strcmp(common_source_options[k].name, table->options[i].key) == 0) {
                TRY(option_apply(&common_source_options[k], table->options[i].value, settings, arena, err));
            }
        }
    }
    return STATUS_OK;
}
