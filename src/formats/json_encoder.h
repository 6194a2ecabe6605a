/* formats/json_encoder.h: a row as a JSON object.
 *
 * For         json_encode.c, debezium_json.c.
 */
#ifndef SPATE_FORMATS_JSON_ENCODER_H
#define SPATE_FORMATS_JSON_ENCODER_H

#include "formats/json_options.h"

struct json_encoder {
    struct encoder base;
    struct json_settings settings;
    const struct type *row;
};
/* Refuses types that JSON does not hold. */
enum status json_encoder_init(struct json_encoder *self, const struct format_context *context, const struct json_settings *settings,
                              struct error *err);
enum status json_append_row(const struct json_encoder *self, const struct batch *batch, uint32_t row, struct text_builder *out,
                            struct error *err);

#endif
