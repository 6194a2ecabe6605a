#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct text text_from(const char *nul_terminated)
{
    return (struct text){nul_terminated, strlen(nul_terminated)};
}

bool text_equal(struct text left, struct text right)
{
    return left.length == right.length && (left.length == 0 || memcmp(left.bytes, right.bytes, left.length) == 0);
}

bool text_equal_ignoring_case(struct text left, struct text right)
{
    return left.length == right.length && (left.length == 0 || strncasecmp(left.bytes, right.bytes, left.length) == 0);
}

int text_compare(struct text left, struct text right)
{
    size_t shorter = left.length < right.length ? left.length : right.length;
    int order = shorter == 0 ? 0 : memcmp(left.bytes, right.bytes, shorter);
    return order != 0 ? order : (left.length > right.length) - (left.length < right.length);
}

char *text_to_arena(struct arena *arena, struct text text)
{
    return arena_text(arena, text.bytes, text.length);
}

static bool text_reserve(struct text_builder *builder, size_t more)
{
    if (builder->failed) {
        return false;
    }
    if (builder->length + more + 1 <= builder->capacity) {
        return true;
    }
    size_t larger = builder->capacity == 0 ? 256 : builder->capacity * 2;
    if (larger < builder->length + more + 1) {
        larger = builder->length + more + 1;
    }
    char *moved = realloc(builder->bytes, larger);
    if (moved == NULL) {
        builder->failed = true;
        return false;
    }
    builder->bytes = moved;
    builder->capacity = larger;
    return true;
}

void text_append(struct text_builder *builder, const char *bytes, size_t length)
{
    if (!text_reserve(builder, length)) {
        return;
    }
    if (length > 0) {
        memcpy(builder->bytes + builder->length, bytes, length);
    }
    builder->length += length;
    builder->bytes[builder->length] = '\0';
}

char *text_append_room(struct text_builder *builder, size_t length)
{
    if (!text_reserve(builder, length)) {
        return NULL;
    }
    char *room = builder->bytes + builder->length;
    builder->length += length;
    builder->bytes[builder->length] = '\0';
    return room;
}

void text_append_text(struct text_builder *builder, const char *nul_terminated)
{
    text_append(builder, nul_terminated, strlen(nul_terminated));
}

void text_append_char(struct text_builder *builder, char byte)
{
    text_append(builder, &byte, 1);
}

void text_append_format(struct text_builder *builder, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && text_reserve(builder, (size_t)length)) {
        vsnprintf(builder->bytes + builder->length, (size_t)length + 1, format, again);
        builder->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void text_builder_clear(struct text_builder *builder)
{
    builder->length = 0;
    if (builder->bytes != NULL) {
        builder->bytes[0] = '\0';
    }
}

void text_builder_close(struct text_builder *builder)
{
    free(builder->bytes);
    *builder = (struct text_builder){0};
}

enum { NAME_LIMIT = 64 };

static size_t edit_distance(const char *left, const char *right)
{
    size_t row[NAME_LIMIT + 1];
    size_t right_length = strlen(right);
    for (size_t j = 0; j <= right_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; left[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= right_length; j++) {
            size_t above = row[j];
            size_t cost = tolower((unsigned char)left[i - 1]) != tolower((unsigned char)right[j - 1]);
            size_t best = diagonal + cost;
            best = above + 1 < best ? above + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[right_length];
}

const char *text_nearest(const char *name, const char *const *candidates, size_t count)
{
    size_t length = strlen(name);
    if (length > NAME_LIMIT) {
        return NULL;
    }
    size_t best = length / 3 + 2; /* must be nearer than this */
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(candidates[i]) > NAME_LIMIT) {
            continue;
        }
        size_t distance = edit_distance(name, candidates[i]);
        if (distance < best) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
