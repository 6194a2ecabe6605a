#include "cli/script.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/variables.h"

static int read_stream(FILE *file, struct text_builder *out)
{
    char block[65536];
    size_t got;
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        text_append(out, block, got);
    }
    return ferror(file) ? errno : 0;
}

int script_from_text(const char *name, const char *text, const struct variables *variables, struct script *script)
{
    *script = (struct script){.name = name};
    int code = variables_replace(variables, name, text_from(text), &script->text, &script->kept);
    text_append(&script->text, "", 0);
    return code;
}

int script_read_file(const char *path, const struct variables *variables, struct script *script)
{
    bool standard = strcmp(path, "-") == 0;
    *script = (struct script){.name = standard ? "<stdin>" : path};
    FILE *file = standard ? stdin : fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "spate: cannot open '%s': %s\n", path, strerror(errno));
        return 2;
    }
    struct text_builder raw = {0};
    int failed = read_stream(file, &raw);
    if (!standard) {
        fclose(file);
    }
    int code = 0;
    if (failed != 0) {
        fprintf(stderr, "spate: cannot read '%s': %s\n", path, strerror(failed));
        code = 2;
    } else {
        code = variables_replace(variables, script->name, (struct text){raw.bytes, raw.length}, &script->text, &script->kept);
        text_append(&script->text, "", 0);
    }
    text_builder_close(&raw);
    return code;
}

void script_close(struct script *script)
{
    text_builder_close(&script->text);
    text_builder_close(&script->kept);
}
