/* base/budget.h: named accounts of memory.
 *
 * For         every block of memory of any size: buffers, arena blocks, table pages are charged to an account.
 * Shape       Accounts form a tree; a charge goes to the account and all its parents, and fails if any is at its limit.
 * Invariants  used <= limit. What is charged is released with the same size.
 * Threads     Any; counters are atomic.
 */
#ifndef SPATE_BASE_BUDGET_H
#define SPATE_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
    struct budget *parent; /* NULL: the root */
    const char *name;
    size_t limit_bytes;
    atomic_size_t used_bytes, peak_bytes;
};

#define BUDGET_UNLIMITED SIZE_MAX
void budget_init(struct budget *budget, struct budget *parent, const char *name, size_t limit_bytes);
bool budget_charge(struct budget *budget, size_t bytes); /* false: some limit would be passed; nothing is charged */
void budget_release(struct budget *budget, size_t bytes);
/* Three quarters of what the machine or the cgroup allows. */
size_t budget_default_limit(void);

#endif
