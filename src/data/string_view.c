#include "data/string_view.h"

/* Prefixes compare as big-endian numbers: most pairs are decided without touching the heap. */
int string_view_compare(const struct string_view *left, const struct string_view *right)
{
    uint32_t heads[2];
    memcpy(&heads[0], left->prefix, 4);
    memcpy(&heads[1], right->prefix, 4);
    if (heads[0] != heads[1]) {
        return __builtin_bswap32(heads[0]) < __builtin_bswap32(heads[1]) ? -1 : 1;
    }
    uint32_t common = left->length < right->length ? left->length : right->length;
    int order = common <= 4 ? 0 : memcmp(string_view_bytes(left) + 4, string_view_bytes(right) + 4, common - 4);
    if (order != 0) {
        return order < 0 ? -1 : 1;
    }
    return (left->length > right->length) - (left->length < right->length);
}
