#include "base/budget.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

void budget_init(struct budget *budget, struct budget *parent, const char *name, size_t limit_bytes)
{
    budget->parent = parent;
    budget->name = name;
    budget->limit_bytes = limit_bytes;
    atomic_init(&budget->used_bytes, 0);
    atomic_init(&budget->peak_bytes, 0);
}

static void budget_raise_peak(struct budget *budget, size_t used)
{
    size_t peak = atomic_load_explicit(&budget->peak_bytes, memory_order_relaxed);
    while (used > peak && !atomic_compare_exchange_weak(&budget->peak_bytes, &peak, used)) {
    }
}

bool budget_charge(struct budget *budget, size_t bytes)
{
    for (struct budget *account = budget; account != NULL; account = account->parent) {
        size_t used = atomic_fetch_add(&account->used_bytes, bytes) + bytes;
        if (used > account->limit_bytes || used < bytes) {
            atomic_fetch_sub(&account->used_bytes, bytes);
            for (struct budget *undo = budget; undo != account; undo = undo->parent) {
                atomic_fetch_sub(&undo->used_bytes, bytes);
            }
            return false;
        }
        budget_raise_peak(account, used);
    }
    return true;
}

void budget_release(struct budget *budget, size_t bytes)
{
    for (struct budget *account = budget; account != NULL; account = account->parent) {
        size_t before = atomic_fetch_sub(&account->used_bytes, bytes);
        assert(before >= bytes);
        (void)before;
    }
}

size_t budget_default_limit(void)
{
    size_t limit = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "r");
    if (file != NULL) {
        size_t group = 0;
        if (fscanf(file, "%zu", &group) == 1 && group < limit) {
            limit = group;
        }
        fclose(file);
    }
    return limit / 4 * 3;
}
