/* data/string_view.h: one string of a column: 16 bytes.
 *
 * Shape       length, then either the whole text (up to 12 bytes, rest zero) or its first 4 bytes and a pointer into a
 *             heap that the vector holds a reference to. Zero padding makes two inline views equal iff their 16 bytes are.
 * Limits      A string has at most STRING_LENGTH_MAX bytes.
 */
#ifndef SPATE_DATA_STRING_VIEW_H
#define SPATE_DATA_STRING_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

enum { STRING_INLINE_BYTES = 12, STRING_LENGTH_MAX = INT32_MAX };

struct string_view {
    uint32_t length;
    char prefix[4];
    union {
        char rest[8];
        const char *bytes;
    };
};
_Static_assert(sizeof(struct string_view) == 16, "a view is 16 bytes");

/* The bytes of a view; valid while the view itself and its heap are. */
static inline const char *string_view_bytes(const struct string_view *view)
{
    return view->length <= STRING_INLINE_BYTES ? view->prefix : view->bytes;
}
static inline struct text string_view_text(const struct string_view *view)
{
    return (struct text){string_view_bytes(view), view->length};
}
/* `bytes` must outlive the view when longer than STRING_INLINE_BYTES. */
static inline struct string_view string_view_make(const char *bytes, size_t length)
{
    struct string_view view = {.length = (uint32_t)length};
    if (length <= STRING_INLINE_BYTES) {
        if (length > 0) {
            memcpy((char *)&view + 4, bytes, length);
        }
    } else {
        memcpy(view.prefix, bytes, 4);
        view.bytes = bytes;
    }
    return view;
}
static inline bool string_view_equal(const struct string_view *left, const struct string_view *right)
{
    uint64_t heads[2];
    memcpy(&heads[0], left, 8);
    memcpy(&heads[1], right, 8);
    if (heads[0] != heads[1]) {
        return false;
    }
    if (left->length <= STRING_INLINE_BYTES) {
        return memcmp(left->rest, right->rest, 8) == 0;
    }
    return memcmp(left->bytes, right->bytes, left->length) == 0;
}
int string_view_compare(const struct string_view *left, const struct string_view *right); /* by bytes = by code point */

#endif
