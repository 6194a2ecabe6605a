/* state/cold_db.h: an ordered map of bytes on local disk, for state that does not fit in memory: the interface of its drivers.
 *
 * For         state/cold_rows.h, which keeps rows of operators in it, and job/, which takes checkpoints of it. Nobody else sees a driver.
 * Shape       Keys and values are bytes; keys are ordered by memcmp. One database per worker, in a folder of its own below the job's local
 *             folder; what it holds is a cache of the job's state and worth nothing without a checkpoint that names its files.
 * Durability  write() is not durable by itself (no log): a crash loses the folder, and the job goes on from its checkpoint. checkpoint()
 *             writes everything out and makes a folder of hard links to the database's files. A file whose name ends with the driver's
 *             `lasting` never changes and its name never comes back: what an earlier checkpoint of this open database has stored need not
 *             be stored again. The others are small.
 * Ownership   Bytes given are lent for the call; bytes got are the reader's until the next call on the same cold_values, or their release.
 * Memory      A database stays within cold_options.memory_bytes (buffers, caches, indexes), which its opener has charged.
 * Threads     One thread at a time per database, other than cold_db_checkpoint's folder, which is anybody's once made.
 * Errors      STATE_DISK (the disk is full or failed: names the file), STATE_CORRUPT (a checksum differs), NO_MEMORY.
 */
#ifndef SPATE_STATE_COLD_DB_H
#define SPATE_STATE_COLD_DB_H

#include "base/error.h"
#include "base/text.h"

enum { COLD_DRIVER_ABI = 2 };

struct cold_db { /* first member of a driver's own */
    const struct cold_driver *driver;
};
enum cold_compression { COLD_LZ4, COLD_ZSTD, COLD_UNCOMPRESSED };
struct cold_options {
    const char *folder; /* made if absent; with files in it: a copy of a checkpoint, opened as it is */
    size_t memory_bytes;
    enum cold_compression compression;
    bool read_only; /* several may be open at once */
};
struct cold_write {
    struct text key;
    struct text value; /* bytes NULL: the key is removed */
};
struct cold_values { /* of a multi-get: value k; bytes NULL: absent */
    struct text *values;
    void *pinned; /* the driver's */
    uint32_t count, capacity;
};
struct cold_figures {
    uint64_t keys_estimate, disk_bytes, memory_bytes;
};
/* In order; false: enough. */
typedef bool cold_visit(void *context, struct text key, struct text value);

struct cold_driver {
    uint32_t abi;
    const char *name;
    const char *lasting; /* ".sst" */
    enum status (*open)(const struct cold_options *options, struct cold_db **db, struct error *err);
    void (*close)(struct cold_db *db);
    enum status (*write)(struct cold_db *db, const struct cold_write *writes, uint32_t count, struct error *err); /* all or nothing */
    enum status (*get)(struct cold_db *db, const struct text *keys, uint32_t count, struct cold_values *values, struct error *err);
    void (*release)(struct cold_db *db, struct cold_values *values); /* frees; values is zero again */
    /* Keys that begin with prefix; from: begins there, at or behind the prefix; bytes NULL: at the first. */
    enum status (*scan)(struct cold_db *db, struct text prefix, struct text from, cold_visit *visit, void *context, struct error *err);
    enum status (*remove_prefix)(struct cold_db *db, struct text prefix, struct error *err);
    /* folder: absent, on the same file system. */
    enum status (*checkpoint)(struct cold_db *db, const char *folder, struct error *err);
    void (*figures)(struct cold_db *db, struct cold_figures *figures);
};

#endif
