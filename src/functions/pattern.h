/* functions/pattern.h: regular expressions: Java's syntax on PCRE2 with its just-in-time compiler.
 *
 * For         REGEXP*, LIKE with other than simple patterns, SIMILAR TO, STR_TO_MAP.
 * Shape       Patterns are translated where Java and PCRE2 differ (nested and intersected classes, \h in classes, possessive
 *             forms are the same) and compiled once: constants at binding, others kept in the program's scratch, by text.
 * Limits      A match that takes too many steps is an error (PATTERN_TOO_COSTLY), never a hang.
 * Ownership   A pattern of an arena is freed with it.
 * Threads     A compiled pattern is shared; the match data is per program, in the scratch.
 */
#ifndef SPATE_FUNCTIONS_PATTERN_H
#define SPATE_FUNCTIONS_PATTERN_H

#include "functions/function.h"

struct pattern;
enum pattern_syntax { PATTERN_JAVA, PATTERN_LIKE, PATTERN_SIMILAR };
/* *pattern NULL with STATUS_OK: the text is no valid pattern; `message` says why (may be NULL). LIKE and SIMILAR match whole texts. */
struct pattern *pattern_compile(enum pattern_syntax syntax, struct text text, char escape, char *message, size_t message_bytes);
void pattern_destroy(struct pattern *pattern);
uint32_t pattern_group_count(const struct pattern *pattern);

/* What a kernel keeps: constant pattern in data, others cached. */
struct pattern_data {
    enum pattern_syntax syntax;
    struct pattern *constant; /* NULL: not constant, or not valid */
    bool is_constant;
};
/* Compiles args[index] when it is a constant; the data is the kernel's. escape: 0 none. */
enum status pattern_bind(struct function_binding *binding, uint32_t index, enum pattern_syntax syntax, char escape,
                         struct pattern_data **data, struct error *err);
/* The pattern of a row; NULL: not valid. */
const struct pattern *pattern_of_row(struct kernel_call *call, uint32_t index, uint32_t row, char escape);
void pattern_scratch_free(void *scratch);
struct text_builder *pattern_text(struct kernel_call *call); /* an empty growing text in the scratch; NULL: no room */

enum pattern_result { PATTERN_NO, PATTERN_YES, PATTERN_FAILED };
/* Finds the first match at or after byte `from`. *groups: pairs of byte offsets (SIZE_MAX: group not set), lent until the next
 * call. FAILED: the row is marked as failed. */
enum pattern_result pattern_find(struct kernel_call *call, uint32_t row, const struct pattern *pattern, struct text text, size_t from,
                                 const size_t **groups);

#endif
