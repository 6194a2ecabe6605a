/* base/text.h: slices of text and a growing text.
 *
 * For         names, SQL, messages, output lines: text whose length is known and that need not end with NUL.
 * Ownership   A struct text lends. A text_builder owns malloc'ed memory until text_builder_close.
 * Errors      A builder that finds no memory remembers it (`failed`) and ignores further calls: check once, at the end.
 * Threads     One at a time.
 */
#ifndef SPATE_BASE_TEXT_H
#define SPATE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"

struct text {
    const char *bytes;
    size_t length;
};
#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})
struct text text_from(const char *nul_terminated);
bool text_equal(struct text left, struct text right);
bool text_equal_ignoring_case(struct text left, struct text right); /* ASCII */
int text_compare(struct text left, struct text right);              /* bytewise */
char *text_to_arena(struct arena *arena, struct text text);         /* NUL-terminated copy; NULL: no room */

struct text_builder {
    char *bytes; /* NUL-terminated when not NULL */
    size_t length, capacity;
    bool failed;
};
void text_append(struct text_builder *builder, const char *bytes, size_t length);
char *text_append_room(struct text_builder *builder, size_t length); /* its bytes are the caller's to set; NULL: no memory */
void text_append_text(struct text_builder *builder, const char *nul_terminated);
void text_append_char(struct text_builder *builder, char byte);
void text_append_format(struct text_builder *builder, const char *format, ...) PRINTF_LIKE(2, 3);
void text_builder_clear(struct text_builder *builder); /* keeps the memory */
void text_builder_close(struct text_builder *builder);

/* The candidate nearest to `name` (edit distance, letter case ignored), NULL if none is near: "did you mean". */
const char *text_nearest(const char *name, const char *const *candidates, size_t count);

#endif
