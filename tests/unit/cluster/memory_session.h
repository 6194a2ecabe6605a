/* A session of coordination in memory for tests: registers and no leases, with faults, and a step of somebody else before any call. */
#ifndef SPATE_TESTS_MEMORY_SESSION_H
#define SPATE_TESTS_MEMORY_SESSION_H

#include "cluster/driver.h"

enum session_fault {
    SESSION_FAULT_NONE,
    SESSION_FAULT_UNAVAILABLE,  /* an error; nothing is done */
    SESSION_FAULT_UNKNOWN_DONE, /* writes: done, and UNKNOWN is said; reads: an error */
    SESSION_FAULT_UNKNOWN_LOST, /* writes: not done, and UNKNOWN is said; reads: an error */
};
struct memory_session;
struct memory_session *memory_session_create(void);
struct cluster_session *memory_session_of(struct memory_session *session);
void memory_session_destroy(struct memory_session *session);
/* The call with this number (from 1, counted from now; 0: none). */
void memory_session_fail(struct memory_session *session, uint64_t call, enum session_fault fault);
uint64_t memory_session_calls(const struct memory_session *session); /* since the last memory_session_fail */
/* Runs once before the call with this number (counted from now) is carried out; calls of its own are not counted. */
void memory_session_interrupt(struct memory_session *session, uint64_t call, void (*run)(void *context), void *context);
bool memory_session_has(const struct memory_session *session, const char *name);
uint32_t memory_session_count(const struct memory_session *session, const char *prefix);
void memory_session_damage(struct memory_session *session, const char *name, size_t at); /* flips a bit */

#endif
