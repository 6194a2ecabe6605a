/* functions/function.h: scalar functions: one entry each, with its types, kernel and documentation.
 *
 * For         the binder (resolves and types calls), programs (run kernels), `spate functions` (prints entries).
 * Shape       A table of `struct function` per file of kernels (string_functions.c, ...), listed once in registry.c.
 *             Operators are functions too, named by their SQL spelling ("+", "=", "LIKE", "IS NULL", "NOT", "||", "[]").
 *             AND, OR, CASE, COALESCE, CAST and field access are expression kinds (they are lazy or structural), not
 *             entries; they are documented in the table with bind == NULL. IF, NULLIF, IFNULL, NVL, ... bind to CASE or COALESCE by
 *             setting binding->rewritten.
 * Binding     `bind` looks at the arguments (types, constants), coerces them (function_coerce), and sets result type and
 *             kernel; or refuses with WRONG_ARGUMENTS / TYPE_MISMATCH (position is added by the caller).
 * Kernels     Run over the rows they are given; the result vector exists, has room, and (STRICT) has the validity of all
 *             arguments ANDed; values of NULL rows need not be written. A kernel reports a failing row with kernel_fail and goes on.
 * Threads     Entries and bound data are immutable and shared by all workers; what a kernel must change goes to its
 *             scratch (one per program).
 */
#ifndef SPATE_FUNCTIONS_FUNCTION_H
#define SPATE_FUNCTIONS_FUNCTION_H

#include "functions/evaluation.h"
#include "functions/expression.h"

enum function_traits {
    FUNCTION_STRICT = 1,         /* NULL if any argument is; the kernel sees only rows without NULLs (unless TOTAL) */
    FUNCTION_TOTAL = 2,          /* cannot fail and harmless on unset values: may be run over rows that are NULL or not selected */
    FUNCTION_CAN_FAIL = 4,       /* may call kernel_fail */
    FUNCTION_DYNAMIC = 8,        /* constant within a tick only: not folded when planned */
    FUNCTION_VOLATILE = 16,      /* another value each time: not folded, not shared, not moved */
    FUNCTION_NULLABLE = 32,      /* STRICT, but may also give NULL for arguments that are not (result vector has a validity bitmap) */
    FUNCTION_CHANCE = 128,       /* no one can say what it gives: not in a job whose ticks are run again */
    FUNCTION_CONSTANT_ARGS = 64, /* takes constant arguments as vectors of one row (see constant_args), not as full columns */
};

struct kernel_call {
    const struct vector *const *args;
    uint32_t arg_count;
    uint64_t constant_args; /* bit i: args[i] has one row, for all; only with FUNCTION_CONSTANT_ARGS, never all of them */
    struct selection rows;  /* compute these; rows.rows == NULL: 0..rows.count-1 */
    struct vector *result;
    const void *data; /* what bind left */
    void **scratch;   /* per program and call; starts NULL; freed with kernel->free_scratch */
    const struct evaluation *evaluation;
    struct string_heap *heap;  /* for strings of the result */
    const int64_t *watermarks; /* by row, NULL: none (CURRENT_WATERMARK) */
    void *failures;            /* used by kernel_fail and kernel_error */
};
/* Marks a row as failed (the first message is kept). The row's result does not matter. */
void kernel_fail(struct kernel_call *call, uint32_t row, enum error_code code, const char *format, ...) PRINTF_LIKE(4, 5);
/* Room for a result string; NULL: the budget is spent (recorded; the kernel returns). */
char *kernel_alloc(struct kernel_call *call, size_t bytes);
/* The `err` for calls that a kernel makes (vector_append, ...): once it is set the kernel returns, and the run ends with it. */
struct error *kernel_error(struct kernel_call *call);
/* Marks a result row NULL; with FUNCTION_NULLABLE or without STRICT the validity bitmap exists. */
static inline void kernel_set_null(struct kernel_call *call, uint32_t row)
{
    vector_set_null(call->result, row);
}

typedef void kernel_fn(struct kernel_call *call);
struct kernel {
    kernel_fn *run;
    uint32_t traits; /* enum function_traits */
    const void *data;
    void (*free_scratch)(void *scratch);
    /* BOOLEAN, STRICT kernels, for filters: keeps the rows that give TRUE, returns their number. May be NULL. `kept` may be
     * the array of call->rows; the rows given have no NULL argument; there is no result vector. */
    uint32_t (*select)(struct kernel_call *call, uint16_t *kept);
};

struct function_binding {
    struct arena *arena;
    const struct evaluation *evaluation;
    const struct function *function;
    const struct expression **args; /* bind may replace entries */
    uint32_t arg_count;
    /* out */
    const struct type *result;
    struct kernel kernel;
    const struct expression *rewritten; /* instead of a call: NULL, or this expression */
};

struct function {
    const char *name;            /* upper case, as written in SQL */
    const char *category;        /* "string", "time", ... */
    const char *syntax;          /* "SPLIT_INDEX(string, delimiter, index)"; several forms separated by '\n' */
    const char *summary;         /* one or two sentences */
    const char *example;         /* "SPLIT_INDEX('a,b', ',', 1) = 'b'", or NULL */
    uint32_t min_args, max_args; /* max_args UINT32_MAX: any number */
    enum status (*bind)(struct function_binding *binding, struct error *err);
};

const struct function *function_find(struct text name);       /* letter case ignored; NULL: none */
const struct function *const *function_list(uint32_t *count); /* sorted by name */
/* Resolves a call: arity, bind. On success *result is a CALL (or what it was rewritten to), typed; nothing is folded. */
enum status function_call(struct arena *arena, const struct evaluation *evaluation, const struct function *function,
                          const struct expression *const *args, uint32_t arg_count, const struct expression **result, struct error *err);
/* The same by name, for rules and the binder's operators. */
enum status function_call_named(struct arena *arena, const struct evaluation *evaluation, const char *name,
                                const struct expression *const *args, uint32_t arg_count, const struct expression **result,
                                struct error *err);

/* Helpers for bind. */
enum status function_coerce(struct function_binding *binding, uint32_t index, const struct type *type, struct error *err);
/* Casts an argument to a type that it is known to convert to (a common type), without asking for an implicit rule. */
enum status function_convert(struct function_binding *binding, uint32_t index, const struct type *type, struct error *err);
/* Brings the arguments first, first+step, ... to their common type, which is returned; or refuses. */
enum status function_coerce_common(struct function_binding *binding, uint32_t first, uint32_t step, const struct type **common,
                                   struct error *err);
enum status function_refuse(const struct function_binding *binding,
                            struct error *err); /* WRONG_ARGUMENTS with the types given and the syntax */
bool function_any_nullable(const struct function_binding *binding);
/* Values of `from` are values of `to` as they lie in memory: nothing to cut, pad or convert. */
bool type_fits_unchanged(const struct type *from, const struct type *to);
/* The type that values of both become in CASE, COALESCE, UNION, IN, VALUES; NULL: there is none. */
const struct type *type_common(struct arena *arena, const struct type *left, const struct type *right);
/* The constant text of an argument; false when it is not a constant non-NULL string. */
bool expression_constant_text(const struct expression *expression, struct text *text);
bool expression_constant_int64(const struct expression *expression, int64_t *value);

#endif
