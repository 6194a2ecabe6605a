/* api/config_file.h: a file of settings: YAML with maps and texts only.
 *
 * For         spate/config.h.
 * Shape       "a.b: value", or nested by indentation; keys of nested maps are joined by dots. Values are plain, '...' or "..." (with \n, \t,
 *             \", \\). Comments begin with '#'. Everything else of YAML is refused, with the line.
 * Ownership   Texts are in the arena.
 */
#ifndef SPATE_API_CONFIG_FILE_H
#define SPATE_API_CONFIG_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

typedef enum status config_line(void *context, const char *key, const char *value, uint32_t line, struct error *err);
/* `name`: for messages. */
enum status config_file_parse(struct text text, const char *name, struct arena *arena, config_line *each, void *context, struct error *err);

#endif
