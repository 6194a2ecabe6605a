/* api/storage_handle.h: what a spate_storage is inside, and the keys that people use for what the stores hold.
 *
 * For         api/storage*.c only. The promises are in include/spate/storage.h.
 */
#ifndef SPATE_API_STORAGE_HANDLE_H
#define SPATE_API_STORAGE_HANDLE_H

#include "spate/storage.h"
#include "storage/access.h"
#include "storage/job_records.h"
#include "storage/stores.h"

struct spate_storage {
    struct storage *own, *storage; /* storage: a view, or own itself */
    struct error error;
    struct spate_error public_error;
    char principal[200]; /* "": none */
};

/* What a handler of one kind works on. `name` is the key behind "<kind>/". */
struct storage_request {
    struct storage *storage;
    const char *job; /* an id, or NULL */
    const char *kind, *name, *by;
    struct arena *arena;
    spate_storage_entry entry; /* list, write */
    void *context;
    spate_storage_bytes bytes; /* read */
    const char *path;          /* write */
};
/* Kinds and what can be done with their keys; NULL: it cannot, and `why_not` says why. */
struct storage_key_type {
    const char *kind;
    enum access_kind access; /* whose right to read a list of everything needs; ACCESS_KIND_COUNT: its list looks itself */
    enum status (*list)(const struct storage_request *request, struct error *err);
    enum status (*read)(const struct storage_request *request, struct error *err);
    enum status (*write)(const struct storage_request *request, struct error *err);
    enum status (*remove)(const struct storage_request *request, struct error *err);
    const char *why_not_write, *why_not_remove;
};
extern const struct storage_key_type storage_job_keys[]; /* storage_jobs.c: what is in a job; ends with kind NULL */
extern const struct storage_key_type storage_root_keys[];
/* Configuration is in both (storage_keys.c). */
enum status storage_config_list(const struct storage_request *request, struct error *err);
enum status storage_config_read(const struct storage_request *request, struct error *err);
enum status storage_config_write(const struct storage_request *request, struct error *err);

/* STORE_NO_SUCH_KEY. */
enum status storage_no_such(const struct storage_request *request, struct error *err);
void storage_entry_tell(const struct storage_request *request, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);
/* "2026-11-30T09:15:00Z" */
enum { TIME_TEXT_BYTES = 24 };
void storage_time_text(int64_t at_us, char text[TIME_TEXT_BYTES]);
/* "2026-11-30[/09]"; false: it is no such text. */
bool storage_time_range(const char *text, int64_t *from_us, int64_t *to_us);
/* A whole file, in the arena. */
enum status storage_file_read(const char *path, struct arena *arena, char **text, struct error *err);

#endif
