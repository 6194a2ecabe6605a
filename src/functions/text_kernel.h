/* functions/text_kernel.h: what kernels over text share: walking rows, writing results, binding arguments.
 *
 * For         string, regular expression, codec and math functions.
 * Shape       A bind names its arguments' kinds by a letter each ("tti"); the last letter stands for all further arguments.
 *             A result that is a part of an argument may point into that argument's heap after text_share.
 * Ownership   text_scratch lends a growing text that belongs to the program's scratch; a kernel that uses it sets
 *             free_scratch to text_scratch_free.
 */
#ifndef SPATE_FUNCTIONS_TEXT_KERNEL_H
#define SPATE_FUNCTIONS_TEXT_KERNEL_H

#include "functions/function.h"

#define EACH_ROW(call, row)                                                                                                                \
    for (uint32_t each_ = 0, row = 0; each_ < (call)->rows.count && (row = selection_row(&(call)->rows, each_), 1); each_++)

/* t: text; b: text or binary; y: binary; i: integer, as BIGINT; d: number, as DOUBLE; o: BOOLEAN; *: anything. */
enum status text_bind_args(struct function_binding *binding, const char *kinds, struct error *err);
/* The same, and result (nullable if an argument is, or always with FUNCTION_NULLABLE) and kernel set. */
enum status text_bind(struct function_binding *binding, const char *kinds, const struct type *result, kernel_fn *run, uint32_t traits,
                      struct error *err);
/* The first argument's type as VARCHAR of its length. */
const struct type *text_varying(struct function_binding *binding);

/* Copies a text into the result. false: no room (recorded); the kernel returns. */
bool text_put(struct kernel_call *call, uint32_t row, const char *bytes, size_t length);
/* Results may point into args[index]; before anything else is written. false: no room. */
bool text_share(struct kernel_call *call, uint32_t index);
static inline void text_put_part(struct kernel_call *call, uint32_t row, const char *bytes, size_t length)
{
    vector_strings(call->result)[row] = string_view_make(bytes, length);
}
static inline struct text text_arg(const struct kernel_call *call, uint32_t index, uint32_t row)
{
    return vector_get_text(call->args[index], row);
}
static inline int64_t integer_arg(const struct kernel_call *call, uint32_t index, uint32_t row)
{
    return vector_int64(call->args[index])[row];
}

struct text_builder *text_scratch(struct kernel_call *call); /* empty; NULL: no room */
void text_scratch_free(void *scratch);
/* Writes the scratch text as the row's result. */
bool text_put_scratch(struct kernel_call *call, uint32_t row, struct text_builder *text);

/* Byte offset of the first `part` at or after byte `from`; SIZE_MAX: none. */
size_t text_find(struct text text, struct text part, size_t from);

#endif
