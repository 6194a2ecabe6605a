/* What a job that is removed has left in a table's folder: part files that were never shown, and its marks. The place is the owner's hash, a
 * blank, and the folder, absolute. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "connectors/filesystem/filesystem_sink.h"
#include "connectors/filesystem/shown_mark.h"
#include "connectors/table_options.h"

enum { HASH_DIGITS = 16 };

enum status filesystem_leaves(const struct sink_context *context, const char **place, struct error *err)
{
    char folder[PATH_MAX] = "";
    const char *path = table_options_get(context->options, "path"), *local;
    TRY(filesystem_local_path(path == NULL ? "" : path, context->arena, &local, err));
    if (local[0] != '/' && getcwd(folder, sizeof folder) == NULL) {
        return error_set(err, ERROR_FILE_UNREADABLE, "cannot tell the working folder: %s", strerror(errno));
    }
    TRY_ALLOC(*place,
              arena_format(context->arena, "%016" PRIx64 " %s%s%s", filesystem_owner_hash(context->owner), folder,
                           folder[0] == '\0' ? "" : "/", local),
              err);
    return STATUS_OK;
}

enum status filesystem_discard(const char *place, struct error *err)
{
    char owner[64], marks[64];
    size_t digits = strspn(place, "0123456789abcdef");
    if (digits != HASH_DIGITS || place[digits] != ' ' || place[digits + 1] != '/') {
        return error_set(err, ERROR_STORE_CORRUPT, "'%.200s' says of no folder what a job has left there", place);
    }
    snprintf(owner, sizeof owner, "." PART_PREFIX "%.*s", HASH_DIGITS, place); /* all tasks' */
    snprintf(marks, sizeof marks, SHOWN_PREFIX "%.*s", HASH_DIGITS, place);
    const struct part_leftovers leftovers = {.owner = owner,
                                             .attempt = "/", /* no name has a '/' */
                                             .lineage = owner,
                                             .end = UINT64_MAX,
                                             .marks = marks,
                                             .marks_end = UINT64_MAX};
    return folder_remove_leftovers(&file_system_real, place + HASH_DIGITS + 1, &leftovers, err);
}
