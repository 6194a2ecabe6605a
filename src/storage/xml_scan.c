#include "storage/xml_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const char *find(struct text within, const char *needle)
{
    return within.length == 0 ? NULL : memmem(within.bytes, within.length, needle, strlen(needle));
}

bool xml_next(struct text *rest, const char *name, struct text *content, struct text *attributes)
{
    char opening[64], closing[64];
    int length = snprintf(opening, sizeof opening, "<%s", name);
    snprintf(closing, sizeof closing, "</%s>", name);
    const char *end = rest->bytes + rest->length;
    for (const char *at; (at = find(*rest, opening)) != NULL; *rest = (struct text){at + 1, (size_t)(end - at - 1)}) {
        const char *behind = at + length, *close = memchr(behind, '>', (size_t)(end - behind));
        if (close == NULL || strchr(" >/\t\r\n", *behind) == NULL) {
            continue; /* a longer name that begins with this one */
        }
        *attributes = (struct text){behind, (size_t)(close - behind)};
        if (close[-1] == '/') {
            *content = (struct text){close, 0};
            *rest = (struct text){close + 1, (size_t)(end - close - 1)};
            return true;
        }
        const char *finish = find((struct text){close + 1, (size_t)(end - close - 1)}, closing);
        if (finish != NULL) {
            *content = (struct text){close + 1, (size_t)(finish - close - 1)};
            finish += strlen(closing);
            *rest = (struct text){finish, (size_t)(end - finish)};
            return true;
        }
    }
    return false;
}

struct text xml_find(struct text within, const char *name)
{
    struct text content, attributes;
    return xml_next(&within, name, &content, &attributes) ? content : (struct text){NULL, 0};
}

/* One entity, `length` bytes between '&' and ';'. false: not known. */
static bool append_entity(struct text_builder *out, const char *name, size_t length)
{
    static const struct {
        const char *name;
        char byte;
    } entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < ARRAY_LENGTH(entities); i++) {
        if (text_equal((struct text){name, length}, text_from(entities[i].name))) {
            text_append_char(out, entities[i].byte);
            return true;
        }
    }
    char number[12], utf8[4];
    if (length < 2 || length > sizeof number || name[0] != '#') {
        return false;
    }
    bool hex = name[1] == 'x';
    snprintf(number, sizeof number, "%.*s", (int)(length - 1 - hex), name + 1 + hex);
    size_t bytes = utf8_encode((uint32_t)strtoul(number, NULL, hex ? 16 : 10), utf8);
    text_append(out, utf8, bytes);
    return bytes > 0;
}

void xml_append_text(struct text_builder *out, struct text content)
{
    for (size_t i = 0; i < content.length; i++) {
        const char *at = content.bytes + i;
        const char *end = *at == '&' ? memchr(at, ';', content.length - i) : NULL;
        if (end != NULL && append_entity(out, at + 1, (size_t)(end - at - 1))) {
            i += (size_t)(end - at);
        } else {
            text_append_char(out, *at);
        }
    }
}
