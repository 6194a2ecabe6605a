#include "cli/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int variables_add(struct variables *variables, const char *definition)
{
    const char *equals = strchr(definition, '=');
    if (equals == NULL || equals == definition) {
        fprintf(stderr, "spate: -v '%s' is not of the form name=value\n", definition);
        return 2;
    }
    if (variables->count == VARIABLES_MAX) {
        fprintf(stderr, "spate: more than %d variables\n", VARIABLES_MAX);
        return 2;
    }
    variables->definitions[variables->count++] = definition;
    return 0;
}

static const char *variables_get(const struct variables *variables, struct text name)
{
    if (name.length > 4 && memcmp(name.bytes, "env:", 4) == 0) {
        char key[256];
        snprintf(key, sizeof key, "%.*s", (int)name.length - 4, name.bytes + 4);
        return getenv(key);
    }
    for (uint32_t i = variables->count; i-- > 0;) {
        const char *definition = variables->definitions[i];
        if (strncmp(definition, name.bytes, name.length) == 0 && definition[name.length] == '=') {
            return definition + name.length + 1;
        }
    }
    return NULL;
}

static int variables_unset(const char *source, struct text text, size_t at, struct text name)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) {
        line += text.bytes[i] == '\n';
    }
    fprintf(stderr, "%s:%zu: the variable '%.*s' is not set; give it with -v %.*s=VALUE, or write $${ for a plain ${\n", source, line,
            (int)name.length, name.bytes, (int)name.length, name.bytes);
    return 2;
}

/* A value in a text whose variables are replaced again. */
static void append_kept(struct text name, const char *value, struct text_builder *kept)
{
    if (name.length > 4 && memcmp(name.bytes, "env:", 4) == 0) {
        text_append_format(kept, "${%.*s}", (int)name.length, name.bytes);
        return;
    }
    for (const char *at = value; *at != '\0'; at++) {
        text_append_text(kept, at[0] == '$' && at[1] == '{' ? "$" : "");
        text_append_char(kept, *at);
    }
}

int variables_replace(const struct variables *variables, const char *source, struct text text, struct text_builder *out,
                      struct text_builder *kept)
{
    for (size_t at = 0; at < text.length;) {
        const char *here = text.bytes + at;
        size_t left = text.length - at;
        if (left >= 3 && memcmp(here, "$${", 3) == 0) {
            text_append_text(out, "${");
            text_append_text(kept, "$${");
            at += 3;
            continue;
        }
        const char *end = left >= 3 && memcmp(here, "${", 2) == 0 ? memchr(here, '}', left) : NULL;
        if (end == NULL) {
            text_append_char(out, *here);
            text_append_char(kept, *here);
            at++;
            continue;
        }
        struct text name = {here + 2, (size_t)(end - here) - 2};
        const char *value = variables_get(variables, name);
        if (value == NULL) {
            return variables_unset(source, text, at, name);
        }
        text_append_text(out, value);
        append_kept(name, value, kept);
        at += (size_t)(end - here) + 1;
    }
    return 0;
}
