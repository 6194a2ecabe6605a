#include <string.h>

#include "formats/built_in.h"

static const struct decoder_type *const decoders[] = {&csv_decoder_type, &debezium_json_decoder_type, &json_decoder_type,
                                                      &raw_decoder_type};
static const struct encoder_type *const encoders[] = {&csv_encoder_type, &debezium_json_encoder_type, &json_encoder_type,
                                                      &raw_encoder_type};

const struct decoder_type *decoder_type_find(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(decoders); i++) {
        if (strcmp(decoders[i]->name, name) == 0) {
            return decoders[i];
        }
    }
    return NULL;
}

const struct encoder_type *encoder_type_find(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(encoders); i++) {
        if (strcmp(encoders[i]->name, name) == 0) {
            return encoders[i];
        }
    }
    return NULL;
}

const struct decoder_type *const *decoder_type_list(uint32_t *count)
{
    *count = ARRAY_LENGTH(decoders);
    return decoders;
}

const struct encoder_type *const *encoder_type_list(uint32_t *count)
{
    *count = ARRAY_LENGTH(encoders);
    return encoders;
}
