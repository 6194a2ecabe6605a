/* An object store in memory for tests, with faults: the nth call fails, or its outcome stays unknown (done or not). */
#ifndef SPATE_TESTS_MEMORY_STORE_H
#define SPATE_TESTS_MEMORY_STORE_H

#include "storage/object.h"

enum memory_fault {
    MEMORY_FAULT_NONE,
    MEMORY_FAULT_UNAVAILABLE,  /* an error; nothing is done */
    MEMORY_FAULT_UNKNOWN_DONE, /* writes: done, and UNKNOWN is said; reads fail */
    MEMORY_FAULT_UNKNOWN_LOST, /* writes: not done, and UNKNOWN is said; reads fail */
    MEMORY_FAULT_UNKNOWN_LATE, /* puts: done when the next put comes, before it; and UNKNOWN is said; other calls fail */
};
struct memory_store;
struct memory_store *memory_store_create(const struct clock *clock);
struct object_store *memory_store_objects(struct memory_store *store); /* its close does nothing: the test destroys */
void memory_store_destroy(struct memory_store *store);
/* The call with this number (from 1, counted from now; 0: none) and, with `lasting`, all after it. */
void memory_store_fail(struct memory_store *store, uint64_t call, enum memory_fault fault, bool lasting);
uint64_t memory_store_calls(const struct memory_store *store); /* since the last memory_store_fail */
uint64_t memory_store_count(const struct memory_store *store); /* objects */
bool memory_store_has(const struct memory_store *store, const char *key);
/* A flipped bit, a cut end: what a checksum has to find. */
void memory_store_damage(struct memory_store *store, const char *key, size_t at);
void memory_store_truncate(struct memory_store *store, const char *key, size_t length);
bool memory_store_take(struct memory_store *store, const char *key); /* removes it behind everyone's back */
/* The key of the nth object (in order) whose key has this part; NULL: none. */
const char *memory_store_find(const struct memory_store *store, const char *part, uint32_t nth);

#endif
