/* connectors/table_options.h: the options of WITH (...), as texts and parsed.
 *
 * For         sources and sinks: one check of all keys, against the connector's table, its format's (prefix "json.", ...), and the
 *             common ones below.
 */
#ifndef SPATE_CONNECTORS_TABLE_OPTIONS_H
#define SPATE_CONNECTORS_TABLE_OPTIONS_H

#include "base/option.h"

struct table_options {
    const char *const *keys;
    const char *const *values;
    uint32_t count;
};
const char *table_options_get(const struct table_options *options, const char *key); /* NULL: absent */

/* Options that every source has. */
struct common_source_settings {
    int32_t error_policy; /* enum error_policy */
    const char *dead_letter_table;
    struct duration idle_timeout, max_future_skew;
    int32_t emit_strategy; /* 0 on-periodic, 1 on-event */
};
extern const struct option_def common_source_options[];
extern const uint32_t common_source_option_count;

#endif
