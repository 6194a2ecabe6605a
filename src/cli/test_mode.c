#include "cli/test_mode.h"

#include <stddef.h>

/* All state goes through the database at every tick. */
#define SPILL "state.backend.type=rocksdb", "debug.spill-all=true"

const struct test_mode test_modes[] = {
    {"p1-all", {"parallelism.default=1", "pipeline.tick.rows=-1", NULL}},
    {"p1-tick7", {"parallelism.default=1", "pipeline.tick.rows=7", NULL}},
    {"p1-tick1", {"parallelism.default=1", "pipeline.tick.rows=1", NULL}},
    {"p3-all-chunk3", {"parallelism.default=3", "pipeline.tick.rows=-1", "pipeline.chunk.rows=3", NULL}},
    {"p3-tick7", {"parallelism.default=3", "pipeline.tick.rows=7", NULL}},
    {"p3-tick1", {"parallelism.default=3", "pipeline.tick.rows=1", NULL}},
    {"p1-restart", {"parallelism.default=1", "pipeline.tick.rows=3", "debug.restart-every=1", NULL}},
    {"p1-p3-restart", {"parallelism.default=1", "pipeline.tick.rows=2", "debug.restart-every=1", "debug.restart-parallelism=3", NULL}},
    {"p1-spill", {"parallelism.default=1", "pipeline.tick.rows=3", SPILL, NULL}, "rocksdb"},
    {"p3-spill", {"parallelism.default=3", "pipeline.tick.rows=7", SPILL, NULL}, "rocksdb"},
    {"p1-spill-restart", {"parallelism.default=1", "pipeline.tick.rows=3", "debug.restart-every=1", SPILL, NULL}, "rocksdb"},
};
const uint32_t test_mode_count = sizeof test_modes / sizeof test_modes[0];
