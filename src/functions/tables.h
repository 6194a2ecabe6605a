/* functions/tables.h: the tables of scalar functions, one per file of kernels.
 *
 * For         registry.c alone lists them; a new file adds its table here and there.
 */
#ifndef SPATE_FUNCTIONS_TABLES_H
#define SPATE_FUNCTIONS_TABLES_H

#include "functions/function.h"

struct function_table {
    const struct function *functions;
    uint32_t count;
};

extern const struct function_table arithmetic_functions;
extern const struct function_table arithmetic_time_functions;
extern const struct function_table array_functions;
extern const struct function_table codec_functions;
extern const struct function_table comparison_functions;
extern const struct function_table conditional_functions;
extern const struct function_table floor_functions;
extern const struct function_table json_build_functions;
extern const struct function_table json_functions;
extern const struct function_table json_variant_functions;
extern const struct function_table like_functions;
extern const struct function_table logic_functions;
extern const struct function_table map_functions;
extern const struct function_table math_functions;
extern const struct function_table math_round_functions;
extern const struct function_table nested_functions;
extern const struct function_table printf_functions;
extern const struct function_table regexp_functions;
extern const struct function_table string_case_functions;
extern const struct function_table string_functions;
extern const struct function_table string_map_functions;
extern const struct function_table string_search_functions;
extern const struct function_table string_text_functions;
extern const struct function_table time_add_functions;
extern const struct function_table time_extract_functions;
extern const struct function_table time_format_functions;
extern const struct function_table time_now_functions;
extern const struct function_table time_parse_functions;

#endif
