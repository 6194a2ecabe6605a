/* formats/built_in.h: the types that formats/registry.c lists.
 *
 * For         registry.c and the files that define them; all others find types by name.
 */
#ifndef SPATE_FORMATS_BUILT_IN_H
#define SPATE_FORMATS_BUILT_IN_H

#include "formats/format.h"

extern const struct decoder_type csv_decoder_type, debezium_json_decoder_type, json_decoder_type, raw_decoder_type;
extern const struct encoder_type csv_encoder_type, debezium_json_encoder_type, json_encoder_type, raw_encoder_type;

#endif
