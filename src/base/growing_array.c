#include "base/growing_array.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 8 };

bool growing_array_reserve(void *array, uint32_t *capacity, uint32_t need, size_t bytes)
{
    void *old, *grown;
    if (need <= *capacity) {
        return true;
    }
    uint32_t larger = need < FIRST_CAPACITY ? FIRST_CAPACITY : need * 2;
    memcpy(&old, array, sizeof old);
    grown = realloc(old, larger * bytes);
    if (grown == NULL) {
        return false;
    }
    memcpy(array, &grown, sizeof grown);
    *capacity = larger;
    return true;
}
