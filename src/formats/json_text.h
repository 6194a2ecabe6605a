/* formats/json_text.h: values as JSON text, as Flink's writer spells them.
 *
 * For         the encoder, and STRING columns over containers.
 */
#ifndef SPATE_FORMATS_JSON_TEXT_H
#define SPATE_FORMATS_JSON_TEXT_H

#include "base/text.h"

enum json_escaping {
    JSON_ESCAPE_MINIMAL, /* quotes, backslashes, control characters */
    JSON_ESCAPE_ASTRAL,  /* also code points above U+FFFF, as surrogate pairs */
};
/* With quotes. The text is valid UTF-8. */
void json_append_string(struct text text, enum json_escaping escaping, struct text_builder *out);

#endif
