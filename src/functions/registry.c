#include "functions/tables.h"

#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

/* The one list of tables. */
static const struct function_table *const tables[] = {
    &arithmetic_functions,  &arithmetic_time_functions, &array_functions,       &codec_functions,       &comparison_functions,
    &conditional_functions, &floor_functions,           &json_build_functions,  &json_functions,        &json_variant_functions,
    &like_functions,        &logic_functions,           &map_functions,         &math_functions,        &math_round_functions,
    &nested_functions,      &printf_functions,          &regexp_functions,      &string_case_functions, &string_functions,
    &string_map_functions,  &string_search_functions,   &string_text_functions, &time_add_functions,    &time_extract_functions,
    &time_format_functions, &time_now_functions,        &time_parse_functions,
};

enum { FUNCTIONS_MAX = 1024 };
static const struct function *sorted[FUNCTIONS_MAX];
static uint32_t sorted_count;
static pthread_once_t sorted_once = PTHREAD_ONCE_INIT;

static int function_compare(const void *left, const void *right)
{
    const struct function *const *a = left, *const *b = right;
    return strcasecmp((*a)->name, (*b)->name);
}

static void functions_sort(void)
{
    for (size_t t = 0; t < ARRAY_LENGTH(tables); t++) {
        for (uint32_t i = 0; i < tables[t]->count && sorted_count < FUNCTIONS_MAX; i++) {
            sorted[sorted_count++] = &tables[t]->functions[i];
        }
    }
    qsort(sorted, sorted_count, sizeof sorted[0], function_compare);
}

const struct function *const *function_list(uint32_t *count)
{
    pthread_once(&sorted_once, functions_sort);
    *count = sorted_count;
    return sorted;
}

const struct function *function_find(struct text name)
{
    uint32_t count;
    const struct function *const *list = function_list(&count);
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const char *candidate = list[middle]->name;
        int order = strncasecmp(candidate, name.bytes, name.length);
        if (order == 0) {
            order = candidate[name.length] != '\0';
        }
        if (order == 0) {
            return list[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}
