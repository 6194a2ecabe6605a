/* base/cancel.h: has somebody asked for the work at hand to stop?
 *
 * For         loops that go on for as long as a user's text wants: binding, rewriting, planning, waiting.
 * Threads     Any thread may set the flag; the one that works looks at it.
 * Errors      CANCELLED.
 */
#ifndef SPATE_BASE_CANCEL_H
#define SPATE_BASE_CANCEL_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"

/* NULL: nobody can ask. */
static inline enum status cancel_check(const atomic_bool *cancelled, struct error *err)
{
    if (cancelled != NULL && atomic_load_explicit(cancelled, memory_order_relaxed)) {
        return error_set(err, ERROR_CANCELLED, "the statement was cancelled");
    }
    return STATUS_OK;
}

#endif
