/* base/error.h: a status that says what to do, a text that says what happened.
 *
 * For         every call that can fail. `err` is the last parameter and never NULL.
 * Invariants  The function that detects an error sets it; layers above add what they were doing, once, at their exit.
 *             Expected outcomes (end of input, key absent) are results, not errors. A broken invariant is an assert.
 * Ownership   struct error holds no pointers; it lives on the stack of the layer that handles it.
 * Threads     One at a time.
 */
#ifndef SPATE_BASE_ERROR_H
#define SPATE_BASE_ERROR_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/error_codes.h"

/* name, class, meaning. The class says what the caller does about it. */
#define STATUS_LIST(X)                                                                                                                     \
    X(OK, NONE, "success")                                                                                                                 \
    X(INVALID_SQL, USER, "the statement is wrong; line and column say where")                                                              \
    X(UNSUPPORTED, USER, "the statement is right, but this version cannot run it")                                                         \
    X(INVALID_OPTION, USER, "an option or setting is unknown or has a wrong value")                                                        \
    X(BAD_RECORD, DATA, "a record cannot be read; the source's error policy decides")                                                      \
    X(BAD_VALUE, DATA, "an expression fails for a row")                                                                                    \
    X(NO_MEMORY, LIMIT, "a budget is spent; spill, slow down or refuse")                                                                   \
    X(LIMIT, LIMIT, "a limit is reached; the text names it")                                                                               \
    X(UNAVAILABLE, RETRY, "a peer or file does not answer; back off and try again")                                                        \
    X(CANCELLED, NONE, "the caller asked to stop")                                                                                         \
    X(DENIED, USER, "a store or peer refuses these credentials or rights")                                                                 \
    X(CORRUPT, DATA, "what was stored is not what comes back; keep it, and look at it")                                                    \
    X(FULL, LIMIT, "no space or quota is left; nothing was changed")                                                                       \
    X(FENCED, FATAL, "another instance owns this work; stop at once")                                                                      \
    X(INTERNAL, FATAL, "a fault in Spate itself")
#define X(name, class, meaning) STATUS_##name,
enum MUST_CHECK status { STATUS_LIST(X) STATUS_COUNT };
#undef X

struct error {
    enum status status;
    enum error_code code;
    uint32_t line, column; /* in the SQL text, from 1; 0 where it is not about SQL */
    char text[1000];       /* the cause, then a line per layer */
};

/* Returns the code's status, so that a failing path is one statement. */
enum status error_set(struct error *err, enum error_code code, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same with a place in the SQL text. */
enum status error_set_at(struct error *err, enum error_code code, uint32_t line, uint32_t column, const char *format, ...)
    PRINTF_LIKE(5, 6);
void error_add_context(struct error *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* The row of ERROR_LIST for a code; NULL if there is none. */
struct error_info {
    const char *name;
    uint32_t number;
    enum status status;
    const char *sqlstate;
    const char *remedy;
};
const struct error_info *error_info_find(uint32_t number);
const struct error_info *error_info_list(uint32_t *count);

#define TRY(call)                                                                                                                          \
    do {                                                                                                                                   \
        enum status try_ = (call);                                                                                                         \
        if (try_ != STATUS_OK) {                                                                                                           \
            return try_;                                                                                                                   \
        }                                                                                                                                  \
    } while (0)
#define TRY_GOTO(label, status, call)                                                                                                      \
    do {                                                                                                                                   \
        if (((status) = (call)) != STATUS_OK) {                                                                                            \
            goto label;                                                                                                                    \
        }                                                                                                                                  \
    } while (0)
#define TRY_ALLOC(pointer, call, err)                                                                                                      \
    do {                                                                                                                                   \
        if (((pointer) = (call)) == NULL) {                                                                                                \
            return error_set((err), ERROR_BUDGET_SPENT, "no room for %s", #pointer);                                                       \
        }                                                                                                                                  \
    } while (0)

#endif
