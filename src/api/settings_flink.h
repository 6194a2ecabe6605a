/* api/settings_flink.h: keys of Flink that are no settings here: what becomes of them.
 *
 * For         api/settings.h and the reference: every key of execution.checkpointing.*, state.*, restart-strategy.* and high-availability.*
 *             acts (settings_options.c), or is in this table: advisory, refused with a reason, or an older name of one that acts.
 * Shape       A key that ends in '.*' is all below it that has no entry of its own.
 */
#ifndef SPATE_API_SETTINGS_FLINK_H
#define SPATE_API_SETTINGS_FLINK_H

#include <stdint.h>

enum flink_key_kind {
    FLINK_KEY_ADVISORY, /* asks for what happens anyway, or for nothing that shows: accepted, and said */
    FLINK_KEY_REFUSED,  /* would have to act and does not */
    FLINK_KEY_RENAMED,  /* `text` is the key of now */
};
struct flink_key {
    enum flink_key_kind kind;
    const char *key, *text;
};
extern const struct flink_key flink_keys[];
extern const uint32_t flink_key_count;
/* The entry of a key that is no setting; -1: none. Of several the longest. */
int flink_key_find(const char *key);

#endif
