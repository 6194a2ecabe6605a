#include "formats/json_text.h"

#include <string.h>

#include "base/utf8.h"

static void append_control(unsigned char byte, struct text_builder *out)
{
    static const char from[] = "\b\t\n\f\r\"\\", to[] = "btnfr\"\\";
    const char *found = byte == 0 ? NULL : strchr(from, byte);
    if (found != NULL) {
        char escape[2] = {'\\', to[found - from]};
        text_append(out, escape, 2);
    } else {
        text_append_format(out, "\\u%04X", byte);
    }
}

void json_append_string(struct text text, enum json_escaping escaping, struct text_builder *out)
{
    size_t plain = 0; /* start of what can be copied as it is */
    text_append_char(out, '"');
    for (size_t i = 0; i < text.length;) {
        unsigned char byte = (unsigned char)text.bytes[i];
        bool astral = byte >= 0xf0 && escaping == JSON_ESCAPE_ASTRAL;
        if (byte >= 0x20 && byte != '"' && byte != '\\' && !astral) {
            i++;
            continue;
        }
        text_append(out, text.bytes + plain, i - plain);
        uint32_t code_point;
        size_t used = astral ? utf8_decode(text.bytes + i, text.length - i, &code_point) : 0;
        if (used > 0) {
            uint32_t above = code_point - 0x10000;
            text_append_format(out, "\\u%04X\\u%04X", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
        } else {
            append_control(byte, out);
        }
        i += used > 0 ? used : 1;
        plain = i;
    }
    text_append(out, text.bytes + plain, text.length - plain);
    text_append_char(out, '"');
}
