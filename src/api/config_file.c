#include "api/config_file.h"

#include <string.h>

enum { DEPTH_MAX = 16 };

struct parser {
    const char *name;
    struct arena *arena;
    config_line *each;
    void *context;
    uint32_t line, depth;
    struct {
        size_t indent;
        const char *prefix; /* with its dot */
    } maps[DEPTH_MAX + 1];
    bool opens_map; /* the line before was a key alone */
};

static enum status refuse(const struct parser *self, const char *what, struct error *err)
{
    return error_set(err, ERROR_INVALID_OPTION, "%s:%u: %s", self->name, self->line, what);
}

static size_t skip_spaces(struct text line, size_t at)
{
    while (at < line.length && line.bytes[at] == ' ') {
        at++;
    }
    return at;
}

static bool is_comment(struct text line, size_t at)
{
    return at == line.length || (line.bytes[at] == '#' && (at == 0 || line.bytes[at - 1] == ' '));
}

/* A text in quotes; *at: behind it. */
static enum status read_quoted(struct parser *self, struct text line, size_t *at, struct text_builder *out, struct error *err)
{
    char quote = line.bytes[(*at)++];
    for (; *at < line.length; ++*at) {
        char byte = line.bytes[*at];
        if (byte == quote && (quote == '"' || *at + 1 == line.length || line.bytes[*at + 1] != quote)) {
            ++*at;
            return STATUS_OK;
        }
        if (byte == quote) {
            ++*at; /* '' in '...' */
        } else if (quote == '"' && byte == '\\' && *at + 1 < line.length) {
            static const char from[] = "nt\"\\", to[] = "\n\t\"\\";
            const char *known = strchr(from, line.bytes[++*at]);
            if (known == NULL) {
                return refuse(self, "this escape is not known: \\n, \\t, \\\" and \\\\ are", err);
            }
            byte = to[known - from];
        }
        text_append_char(out, byte);
    }
    return refuse(self, "the closing quote is missing", err);
}

/* A plain text up to ": ", a comment or the end, or one in quotes. */
static enum status read_scalar(struct parser *self, struct text line, size_t *at, bool is_key, struct text_builder *out, struct error *err)
{
    text_builder_clear(out);
    if (*at < line.length && (line.bytes[*at] == '"' || line.bytes[*at] == '\'')) {
        return read_quoted(self, line, at, out, err);
    }
    if (*at < line.length && strchr("[]{}&*!|>%@`", line.bytes[*at]) != NULL) {
        return refuse(self, "only maps and texts are read here: put it in quotes if it is a text", err);
    }
    size_t begin = *at;
    while (*at < line.length && !is_comment(line, *at) &&
           !(is_key && line.bytes[*at] == ':' && (*at + 1 == line.length || line.bytes[*at + 1] == ' '))) {
        ++*at;
    }
    size_t end = *at;
    while (end > begin && line.bytes[end - 1] == ' ') {
        end--;
    }
    text_append(out, line.bytes + begin, end - begin);
    return STATUS_OK;
}

/* The map that a line with this indentation belongs to. */
static enum status enter_map(struct parser *self, size_t indent, struct error *err)
{
    if (self->opens_map && indent > self->maps[self->depth - 1].indent) {
        self->maps[self->depth].indent = indent;
    } else {
        while (self->depth > 0 && (self->opens_map || self->maps[self->depth].indent > indent)) {
            self->depth--; /* also a map that has nothing in it */
            self->opens_map = false;
        }
        while (self->depth > 0 && self->maps[self->depth].indent > indent) {
            self->depth--;
        }
        if (self->maps[self->depth].indent != indent) {
            return refuse(self, "the indentation fits no line before", err);
        }
    }
    self->opens_map = false;
    return STATUS_OK;
}

static enum status take_entry(struct parser *self, const char *key, struct text line, size_t at, struct text_builder *value,
                              struct error *err)
{
    const char *full;
    TRY_ALLOC(full, arena_format(self->arena, "%s%s", self->maps[self->depth].prefix, key), err);
    at = skip_spaces(line, at);
    if (is_comment(line, at)) { /* its map follows */
        if (self->depth == DEPTH_MAX) {
            return refuse(self, "maps are nested too deeply", err);
        }
        self->depth++;
        self->opens_map = true;
        TRY_ALLOC(self->maps[self->depth].prefix, arena_format(self->arena, "%s.", full), err);
        return STATUS_OK;
    }
    TRY(read_scalar(self, line, &at, false, value, err));
    if (!is_comment(line, skip_spaces(line, at))) {
        return refuse(self, "there is something behind the value", err);
    }
    const char *copy = value->failed ? NULL : arena_text(self->arena, value->length == 0 ? "" : value->bytes, value->length);
    TRY_ALLOC(copy, copy, err);
    return self->each(self->context, full, copy, self->line, err);
}

static enum status parse_line(struct parser *self, struct text line, struct text_builder *scratch, struct error *err)
{
    size_t at = skip_spaces(line, 0), indent = at;
    if (is_comment(line, at) || (at == 0 && line.length == 3 && memcmp(line.bytes, "---", 3) == 0)) {
        return STATUS_OK;
    }
    if (memchr(line.bytes, '\t', line.length) != NULL) {
        return refuse(self, "a tab: indent with blanks, write \\t in quotes", err);
    }
    if (line.bytes[at] == '-' && (at + 1 == line.length || line.bytes[at + 1] == ' ')) {
        return refuse(self, "lists are not read here: values are texts, with ';' or ',' between their parts", err);
    }
    TRY(enter_map(self, indent, err));
    TRY(read_scalar(self, line, &at, true, scratch, err));
    at = skip_spaces(line, at);
    if (at == line.length || line.bytes[at] != ':' || scratch->length == 0) {
        return refuse(self, "this is not 'key: value'", err);
    }
    const char *key = scratch->failed ? NULL : arena_text(self->arena, scratch->bytes, scratch->length);
    TRY_ALLOC(key, key, err);
    return take_entry(self, key, line, at + 1, scratch, err);
}

enum status config_file_parse(struct text text, const char *name, struct arena *arena, config_line *each, void *context, struct error *err)
{
    struct parser self = {.name = name, .arena = arena, .each = each, .context = context, .maps = {{0, ""}}};
    struct text_builder scratch = {0};
    enum status status = STATUS_OK;
    const char *at = text.bytes, *end = text.bytes + text.length;
    while (at < end && status == STATUS_OK) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *line_end = newline == NULL ? end : newline;
        size_t length = (size_t)(line_end - at);
        length -= length > 0 && at[length - 1] == '\r';
        self.line++;
        status = parse_line(&self, (struct text){at, length}, &scratch, err);
        at = line_end + (newline != NULL);
    }
    text_builder_close(&scratch);
    return status;
}
