/* functions/json_path.h: paths of the JSON functions: [lax|strict] $ then .name, .*, ['name'], [index], [*], .. before a name.
 *
 * Rules       Without a word a path is strict: a step that finds nothing is an error. lax: it gives nothing. With a wildcard the
 *             result is the array of all that matches.
 */
#ifndef SPATE_FUNCTIONS_JSON_PATH_H
#define SPATE_FUNCTIONS_JSON_PATH_H

#include "functions/json_tree.h"

struct json_path;
enum status json_path_compile(struct arena *arena, struct text text, const struct json_path **path, struct error *err);
bool json_path_is_lax(const struct json_path *path);

enum json_found { JSON_FOUND, JSON_ABSENT, JSON_FAILED };
/* `root` NULL: the text was no JSON. JSON_ABSENT only for lax paths. */
enum json_found json_path_find(const struct json_path *path, struct arena *arena, const struct json_value *root,
                               const struct json_value **value);

#endif
