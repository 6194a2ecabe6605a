/* functions/program_internal.h: how a compiled program looks inside; for program_*.c only.
 *
 * Shape       Registers hold columns: of the input, constants, results of steps. Steps run in order, each under a slot: a
 *             selection of rows. Slot 0 is the batch's; a split step narrows a slot into one or two others. A step whose
 *             slot is empty is skipped: whoever reads its register does so under the same or a narrower slot.
 * Invariants  A register is read only under its slot or a descendant of it, so common subexpressions may be shared along
 *             the chain of parents.
 */
#ifndef SPATE_FUNCTIONS_PROGRAM_INTERNAL_H
#define SPATE_FUNCTIONS_PROGRAM_INTERNAL_H

#include "data/cast.h"
#include "functions/function.h"
#include "functions/program.h"

#define SLOT_NONE UINT32_MAX

enum step_kind {
    STEP_CALL,      /* result = kernel(args) */
    STEP_CAST,      /* result = cast(args[0]) */
    STEP_RETYPE,    /* result = args[0], under another type with the same layout */
    STEP_FIELD,     /* result = field `index` of args[0] */
    STEP_BEGIN,     /* result = room for rows that copies fill */
    STEP_COPY,      /* result[slot] = args[0][slot] */
    STEP_COMBINE,   /* result = args[0] AND/OR args[1], three-valued */
    STEP_MERGE,     /* result[slot] = result[slot] AND/OR args[0][slot] */
    STEP_SPLIT,     /* kept: rows where args[0] is TRUE; rest: the others */
    STEP_UNDECIDED, /* kept: rows where args[0] does not decide an AND (it is FALSE) or OR (it is TRUE) */
    STEP_NULLS,     /* kept: rows where args[0] is NULL */
    STEP_SELECT,    /* kept: rows where the kernel says TRUE */
};

struct program_step {
    enum step_kind kind;
    uint32_t slot, result;
    uint32_t *args;
    uint32_t arg_count;
    const struct vector **views; /* room for the arguments of a kernel */
    uint64_t constant_args;
    const struct expression *expression;
    const struct kernel *kernel;
    const struct cast *cast;
    void *scratch;
    uint32_t kept, rest; /* slots made by a split */
    bool is_or;
};

struct program_register {
    struct vector vector;          /* a step's result, or the full column of a constant */
    const struct vector *view;     /* what steps read */
    const struct vector *constant; /* one row; NULL: not a constant */
    const struct type *type;
    uint32_t column; /* of the batch; UINT32_MAX: none */
};

struct program_slot {
    uint32_t parent;
    uint16_t *rows; /* room of its own */
    struct selection now;
};

struct program_code {
    struct program_step *steps;
    uint32_t step_count, step_capacity;
};

/* What was computed where, for sharing. */
enum { KNOWN_CHAINS = 256 };
struct program_known {
    const struct expression *expression;
    uint64_t hash;
    uint32_t slot, result;
    uint32_t next; /* 1 + the next of its chain; 0: the last */
};

struct program {
    struct arena *arena;
    const struct evaluation *evaluation;
    const struct expression **expressions;
    uint32_t *outputs; /* registers */
    uint32_t output_count, row_capacity;
    struct program_code code, filter;
    bool has_code, has_filter;
    uint32_t filter_slot; /* what the filter keeps */
    struct program_register *registers;
    uint32_t register_count, register_capacity;
    struct program_slot *slots;
    uint32_t slot_count, slot_capacity;
    struct program_known *known;
    uint32_t known_count, known_capacity;
    uint32_t known_chains[KNOWN_CHAINS]; /* by hash: 1 + the newest; 0: empty */
    uint16_t *valid_rows;                /* room for a selection without NULLs */
};

/* Where kernels report to. */
struct program_failures {
    struct row_failures *rows;
    struct error *err;
    const struct expression *at; /* what fails, for its place in the SQL text */
};

enum status program_create_sized(struct arena *arena, const struct evaluation *evaluation, const struct expression *const *expressions,
                                 uint32_t count, uint32_t row_capacity, struct program **program, struct error *err);
enum status program_compile_values(struct program *program, struct error *err);
enum status program_compile_filter(struct program *program, struct error *err);
void row_failures_add(const struct program_failures *failures, uint32_t row, enum error_code code, const char *text);

/* Loops over rows (program_rows.c). Results may be written over rows.rows. */
uint32_t rows_split(const struct vector *flags, struct selection rows, uint16_t *kept, uint16_t *rest);
uint32_t rows_undecided(const struct vector *flags, bool is_or, struct selection rows, uint16_t *kept);
uint32_t rows_null(const struct vector *vector, struct selection rows, uint16_t *kept);
uint32_t rows_valid(const uint64_t *validity, struct selection rows, uint16_t *kept);
bool rows_all_valid(const uint64_t *validity, struct selection rows);
/* Three-valued AND/OR of left and right for the rows, into result (left may be result). */
enum status rows_combine(struct budget *budget, const struct vector *left, const struct vector *right, bool is_or, struct selection rows,
                         struct vector *result, struct error *err);

#endif
