/* plan/table_options.h: the options of a catalog's table, as connectors want them.
 *
 * For         reading and writing tables.
 * Ownership   The statement's arena.
 */
#ifndef SPATE_PLAN_TABLE_OPTIONS_H
#define SPATE_PLAN_TABLE_OPTIONS_H

#include "connectors/table_options.h"
#include "sql/catalog.h"

enum status table_options_of(struct arena *arena, const struct catalog_table *table, const struct table_options **options,
                             struct error *err);
/* The options that every source has; others are the connector's. */
enum status table_source_settings(struct arena *arena, const struct catalog_table *table, struct common_source_settings *settings,
                                  struct error *err);

#endif
