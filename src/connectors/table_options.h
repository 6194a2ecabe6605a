/* connectors/table_options.h: the options of WITH (...), as texts and parsed.
 *
 * For         sources and sinks: one check of all keys, against the connector's table, its format's (prefix "json.", ...), and the
 *             common ones below.
 * Shape       A connector that carries records of bytes has an option 'format'; only then may a format's keys stand in WITH.
 * Errors      Those of base/option.h; UNKNOWN_FORMAT.
 */
#ifndef SPATE_CONNECTORS_TABLE_OPTIONS_H
#define SPATE_CONNECTORS_TABLE_OPTIONS_H

#include "formats/format.h"

struct table_options {
    const char *const *keys;
    const char *const *values;
    uint32_t count;
};
const char *table_options_get(const struct table_options *options, const char *key); /* NULL: absent */

/* Options that every source has. */
enum error_policy { ERROR_POLICY_FAIL, ERROR_POLICY_SKIP, ERROR_POLICY_DEAD_LETTER };
struct common_source_settings {
    int32_t error_policy; /* enum error_policy */
    const char *dead_letter_table;
    struct duration idle_timeout, max_future_skew;
    int32_t emit_strategy; /* 0 on-periodic, 1 on-event */
};
extern const struct option_def common_source_options[];
extern const uint32_t common_source_option_count;
enum status common_source_settings_read(const struct table_options *options, struct arena *arena, struct common_source_settings *settings,
                                        struct error *err);

/* Refuses keys that are neither 'connector', nor the connector's, nor its format's, nor common ones. */
enum status table_options_check(const struct table_options *options, const char *connector, const struct option_def *defs, size_t count,
                                struct error *err);
/* Defaults, then the values of the keys in `defs`, with `prefix` before each name ("" or "json."); refuses a missing required one. */
enum status table_options_read(const struct table_options *options, const char *prefix, const struct option_def *defs, size_t count,
                               struct arena *arena, void *settings, struct error *err);

/* The decoder or encoder that 'format' names, with its options. */
enum status table_options_open_decoder(const struct table_options *options, const struct format_context *context, struct decoder **decoder,
                                       struct error *err);
enum status table_options_open_encoder(const struct table_options *options, const struct format_context *context, struct encoder **encoder,
                                       struct error *err);
/* The encoder's type, for what it carries. */
enum status table_options_encoder_type(const struct table_options *options, const struct encoder_type **type, struct error *err);

#endif
