/* tests/storage/compliance.h: what the checks of a store share.
 *
 * Shape       A check returns NULL when the store does what storage/object.h promises, else a text that says what it did. EXPECT returns
 *             from the check; failures are formatted into the suite. Every check works below a prefix of its own.
 */
#ifndef SPATE_TESTS_STORAGE_COMPLIANCE_H
#define SPATE_TESTS_STORAGE_COMPLIANCE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/object.h"

enum { SUITE_OPTIONS_MAX = 16, SUITE_THREADS = 16, SUITE_PROCESSES = 2 };

struct suite {
    const char *uri;
    struct object_option options[SUITE_OPTIONS_MAX];
    size_t option_count;
    uint64_t big_bytes; /* of the body that is streamed */
    uint32_t list_count, rounds;
    bool keys_are_paths; /* of a server that keeps objects as files: no object above another, no part of more than 255 bytes */
    const char *during;  /* a command that stops the server and starts it again */
    const char *faults;  /* the file that tells tests/storage/fault_proxy what to do to requests */
    struct object_store *store;
    char prefix[64];
    char failure[2048];
};
const char *suite_fail(struct suite *suite, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define EXPECT(condition, ...)                                                                                                             \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            return suite_fail(suite, __VA_ARGS__);                                                                                         \
        }                                                                                                                                  \
    } while (0)
#define EXPECT_OK(call)                                                                                                                    \
    do {                                                                                                                                   \
        enum status expect_ = (call);                                                                                                      \
        EXPECT(expect_ == STATUS_OK, "line %d: status %d: %s", __LINE__, (int)expect_, err.text);                                          \
    } while (0)

/* Another store on the same place: of another process or thread. */
struct object_store *suite_open(const struct suite *suite, const struct object_environment *environment, enum status *status,
                                struct error *err);
/* Key of this check below the suite's prefix; a rotating buffer. */
const char *suite_key(const struct suite *suite, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes that can be made, and checked, anywhere in a body of any size. */
struct pattern {
    uint64_t seed, bytes;
    uint64_t stop_at; /* > 0: reading from there on ends the process (_exit) or fails */
    bool stop_kills;
    uint64_t taken, offset; /* as a sink: what came, and where it should begin */
    bool differs;
};
/* Would a server that keeps objects as files refuse the key, beside the others of the suite? */
bool suite_skips(const struct suite *suite, const char *key);
struct object_source pattern_source(struct pattern *pattern);
struct object_sink pattern_sink(struct pattern *pattern);
uint32_t pattern_crc32c(const struct pattern *pattern);

struct check {
    const char *name; /* "O1 ..." */
    const char *(*run)(struct suite *suite);
};
extern const struct check conditional_checks[], body_checks[], full_disk_checks[], list_checks[], race_checks[], restart_checks[],
    fault_checks[]; /* each ends with a NULL name */

#endif
