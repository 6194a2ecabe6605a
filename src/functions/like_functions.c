/* LIKE and SIMILAR TO.
 *
 * LIKE is matched directly: the pattern is cut at its % signs into pieces of characters and _; the first must stand at the start,
 * the last at the end, the others are looked for from left to right, each at its first place. Pieces without _ are plain searches,
 * so that 'a%', '%a' and '%a%' are one comparison or search. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "functions/pattern.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

struct piece {
    struct text bytes;  /* unescaped; for _ the bit in `any` at its first byte */
    const uint8_t *any; /* NULL: no _ in it */
};
struct like_pattern {
    bool valid, open_start, open_end; /* begins, ends with % */
    const struct piece *pieces;
    uint32_t count;
};

/* Room for a pattern of `length` bytes: pieces, bytes, marks. */
static size_t like_room(size_t length)
{
    return (length + 1) * (sizeof(struct piece) + 2);
}

static void like_parse(struct text text, char escape, void *room, struct like_pattern *like)
{
    struct piece *pieces = room;
    char *bytes = (char *)(pieces + text.length + 1);
    uint8_t *any = (uint8_t *)bytes + text.length + 1;
    size_t used = 0, start = 0;
    bool wild = false;
    *like = (struct like_pattern){.valid = true, .pieces = pieces};
    like->open_start = text.length > 0 && text.bytes[0] == '%' && escape != '%';
    for (size_t i = 0; i <= text.length; i++) {
        char c = i < text.length ? text.bytes[i] : '%';
        bool escaped = i < text.length && escape != '\0' && c == escape;
        if (escaped && i + 1 >= text.length) {
            like->valid = false;
            return;
        }
        if (escaped) {
            c = text.bytes[++i];
        } else if (c == '%') {
            like->open_end |= i < text.length;
            if (used > start) {
                pieces[like->count++] = (struct piece){{bytes + start, used - start}, wild ? any + start : NULL};
            }
            start = used;
            wild = false;
            continue;
        }
        like->open_end = false;
        any[used] = !escaped && c == '_';
        wild |= any[used] != 0;
        bytes[used++] = c;
    }
}

static size_t character_bytes(const char *bytes, size_t length)
{
    return utf8_prefix(bytes, length, 1);
}

/* Bytes that the piece takes at the start of text; SIZE_MAX: it does not match there. */
static size_t match_here(const struct piece *piece, struct text text)
{
    size_t at = 0;
    if (piece->any == NULL) {
        bool same = text.length >= piece->bytes.length && memcmp(text.bytes, piece->bytes.bytes, piece->bytes.length) == 0;
        return same ? piece->bytes.length : SIZE_MAX;
    }
    for (size_t i = 0; i < piece->bytes.length; i++) {
        if (at >= text.length || (!piece->any[i] && text.bytes[at] != piece->bytes.bytes[i])) {
            return SIZE_MAX;
        }
        at += piece->any[i] ? character_bytes(text.bytes + at, text.length - at) : 1;
    }
    return at;
}

/* The piece must end where the text ends. */
static bool match_end(const struct piece *piece, struct text text)
{
    size_t at;
    if (piece->any == NULL) {
        at = piece->bytes.length;
    } else { /* count characters backwards */
        size_t characters = utf8_count(piece->bytes.bytes, piece->bytes.length);
        for (at = 0; characters > 0 && at < text.length; characters--) {
            at++;
            while (at < text.length && ((unsigned char)text.bytes[text.length - at] & 0xc0) == 0x80) {
                at++;
            }
        }
        if (characters > 0) {
            return false;
        }
    }
    return at <= text.length && match_here(piece, (struct text){text.bytes + text.length - at, at}) == at;
}

static size_t find_piece(const struct piece *piece, struct text text, size_t *length)
{
    if (piece->any == NULL) {
        *length = piece->bytes.length;
        return text_find(text, piece->bytes, 0);
    }
    for (size_t at = 0; at <= text.length;) {
        *length = match_here(piece, (struct text){text.bytes + at, text.length - at});
        if (*length != SIZE_MAX) {
            return at;
        }
        at += at < text.length ? character_bytes(text.bytes + at, text.length - at) : 1;
    }
    return SIZE_MAX;
}

static bool like_matches(const struct like_pattern *like, struct text text)
{
    uint32_t first = 0, last = like->count;
    if (like->count == 0) {
        return like->open_start || like->open_end || text.length == 0;
    }
    if (!like->open_start) {
        size_t length = match_here(&like->pieces[0], text);
        if (length == SIZE_MAX) {
            return false;
        }
        text.bytes += length;
        text.length -= length;
        first = 1;
        if (like->count == 1) {
            return like->open_end || text.length == 0;
        }
    }
    last -= like->open_end ? 0 : 1;
    for (uint32_t i = first; i < last; i++) {
        size_t length, at = find_piece(&like->pieces[i], text, &length);
        if (at == SIZE_MAX) {
            return false;
        }
        text.bytes += at + length;
        text.length -= at + length;
    }
    return like->open_end || match_end(&like->pieces[last], text);
}

struct like_data {
    bool is_constant;
    char escape; /* constant or none; '\0': none */
    struct like_pattern pattern;
};
struct like_scratch {
    void *room;
    size_t size;
};

static void like_scratch_free(void *memory)
{
    struct like_scratch *scratch = memory;
    if (scratch != NULL) {
        free(scratch->room);
        free(scratch);
    }
}

static const struct like_pattern *pattern_of(struct kernel_call *call, uint32_t row, struct like_pattern *parsed)
{
    const struct like_data *data = call->data;
    if (data->is_constant) {
        return &data->pattern;
    }
    struct text text = text_arg(call, 1, row);
    struct like_scratch *scratch = *call->scratch;
    if (scratch == NULL) {
        scratch = *call->scratch = calloc(1, sizeof *scratch);
    }
    if (scratch != NULL && scratch->size < like_room(text.length)) {
        free(scratch->room);
        scratch->room = malloc(like_room(text.length));
        scratch->size = scratch->room == NULL ? 0 : like_room(text.length);
    }
    if (scratch == NULL || scratch->room == NULL) {
        (void)error_set(kernel_error(call), ERROR_BUDGET_SPENT, "no room for a pattern");
        return NULL;
    }
    char escape = data->escape;
    if (call->arg_count > 2) {
        struct text given = text_arg(call, 2, row);
        escape = given.length == 1 ? given.bytes[0] : '\0';
    }
    like_parse(text, escape, scratch->room, parsed);
    return parsed;
}

static void run_like(struct kernel_call *call)
{
    struct like_pattern parsed;
    EACH_ROW(call, row)
    {
        const struct like_pattern *like = pattern_of(call, row, &parsed);
        if (like == NULL) {
            return;
        }
        if (!like->valid) {
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "a LIKE pattern may not end with its escape character");
            continue;
        }
        vector_bool(call->result)[row] = like_matches(like, text_arg(call, 0, row));
    }
}

static enum status check_escape(struct function_binding *binding, char *escape, struct error *err)
{
    struct text text;
    *escape = '\0';
    if (binding->arg_count < 3 || !expression_constant_text(binding->args[2], &text)) {
        return STATUS_OK;
    }
    if (text.length != 1) {
        return error_set(err, ERROR_INVALID_LITERAL, "ESCAPE takes one character, not '%.*s'", (int)text.length, text.bytes);
    }
    *escape = text.bytes[0];
    return STATUS_OK;
}

static enum status bind_like(struct function_binding *binding, struct error *err)
{
    struct like_data *data;
    struct text text, escape;
    void *room;
    TRY(text_bind(binding, "t", &type_boolean, run_like, FUNCTION_CAN_FAIL, err));
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    TRY(check_escape(binding, &data->escape, err));
    binding->kernel.data = data;
    binding->kernel.free_scratch = like_scratch_free;
    data->is_constant = expression_constant_text(binding->args[1], &text) &&
                        (binding->arg_count < 3 || expression_constant_text(binding->args[2], &escape));
    if (data->is_constant) {
        const char *copy; /* the constant's bytes may be inside a view that moves */
        TRY_ALLOC(copy, arena_text(binding->arena, text.bytes, text.length), err);
        TRY_ALLOC(room, arena_alloc(binding->arena, like_room(text.length)), err);
        like_parse((struct text){copy, text.length}, data->escape, room, &data->pattern);
        if (!data->pattern.valid) {
            return error_set(err, ERROR_INVALID_LITERAL, "the LIKE pattern '%s' ends with its escape character", copy);
        }
        binding->kernel.traits &= ~(uint32_t)FUNCTION_CAN_FAIL;
    }
    return STATUS_OK;
}

static void run_similar(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        char escape = '\0';
        if (call->arg_count > 2) {
            struct text given = text_arg(call, 2, row);
            escape = given.length == 1 ? given.bytes[0] : '\0';
        }
        const struct pattern *pattern = pattern_of_row(call, 1, row, escape);
        if (pattern == NULL) {
            struct text text = text_arg(call, 1, row);
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "'%.*s' is no valid pattern for SIMILAR TO", (int)text.length, text.bytes);
            continue;
        }
        vector_bool(call->result)[row] = pattern_find(call, row, pattern, text_arg(call, 0, row), 0, NULL) == PATTERN_YES;
    }
}

static enum status bind_similar(struct function_binding *binding, struct error *err)
{
    struct pattern_data *data;
    char escape;
    TRY(text_bind(binding, "t", &type_boolean, run_similar, FUNCTION_CAN_FAIL, err));
    TRY(check_escape(binding, &escape, err));
    return pattern_bind(binding, 1, PATTERN_SIMILAR, escape, &data, err);
}

static const struct function functions[] = {
    {"LIKE", "string", "string LIKE pattern [ESCAPE character]", "Does the whole text match? % stands for any text, _ for one character.",
     "'abc' LIKE 'a%'", 2, 3, bind_like},
    {"SIMILAR TO", "string", "string SIMILAR TO pattern [ESCAPE character]",
     "Does the whole text match the SQL regular expression? % and _ as in LIKE, and | * + ? {} () [].", "'aaa' SIMILAR TO 'a+'", 2, 3,
     bind_similar},
};

const struct function_table like_functions = {functions, ARRAY_LENGTH(functions)};
