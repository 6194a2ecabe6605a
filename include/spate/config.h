/* spate/config.h: settings from a file and from the environment.
 *
 * For         tools; the command line's `spate config`, and the settings of its other commands.
 * Order       A flag counts before an environment variable, that before the file, that before the default.
 * File        YAML with maps and texts only: "parallelism.default: 4", or nested; Flink's key names.
 * Environment SPATE_ and the key in upper case, with '_' for what is no letter or digit: SPATE_PARALLELISM_DEFAULT=4.
 * Ownership   Everything lives until spate_config_close.
 * Errors      As in spate.h; spate_config_error says where the setting came from.
 */
#ifndef SPATE_CONFIG_H
#define SPATE_CONFIG_H

#include "spate/spate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spate_config spate_config;

/* `file` NULL: spate.yaml in the working folder, if it is there. `flags`: "key=value" texts, NULL-terminated; may be NULL. All are checked.
 * *config is set also when it fails, for its error; NULL when there is no memory. */
SPATE_API int spate_config_open(const char *file, const char *const *flags, spate_config **config);
SPATE_API void spate_config_close(spate_config *config);
SPATE_API const struct spate_error *spate_config_error(const spate_config *config);

/* "key=value" texts for spate_session_open, NULL-terminated: a later one takes the place of an earlier. */
SPATE_API const char *const *spate_config_settings(const spate_config *config);
/* Those for spate_storage_open. */
SPATE_API const char *const *spate_config_storage(const spate_config *config);
/* Every key with its value (secrets as ******, NULL: not set) and where that comes from: "flag", "environment SPATE_...", "spate.yaml:3",
 * "default". A call that returns something else than 0 ends it. */
typedef int (*spate_config_visit)(void *context, const char *key, const char *value, const char *origin);
SPATE_API int spate_config_each(const spate_config *config, spate_config_visit visit, void *context);

#ifdef __cplusplus
}
#endif
#endif
