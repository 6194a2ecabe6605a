/* storage/file_name.h: keys of objects as names of files, one to one.
 *
 * For         the file driver.
 * Shape       A part of a key is a name in a folder. Letters, digits, '_', '-' and '.' (not in front) stand for themselves, every other byte
 *             is %XX. What holds further parts is a folder whose name ends with '+', so "a" (a file) and "a/b" (a file in "a+") live side
 *             by side. Of a part of 80 bytes or more the first 80 name a folder that ends with '++', the rest goes on in it; an empty
 *             rest is '%'. So no name is longer than 242 bytes, and names of any letter case, blanks, emoji are safe.
 * Invariants  Two keys never share a path, a path has one key. Within a folder every entry stands for keys that are neighbours in the
 *             order of keys, so sorting entries by their text sorts a listing.
 */
#ifndef SPATE_STORAGE_FILE_NAME_H
#define SPATE_STORAGE_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { FILE_NAME_CHUNK = 80, FILE_NAME_TEXT = FILE_NAME_CHUNK + 2, FILE_KEY_PATH_MAX = 3000 };

/* The path of a key below the store's folder. `key` is checked. */
void file_name_of_key(const char *key, char path[FILE_KEY_PATH_MAX]);
/* The folder in which keys with the first `length` bytes of a prefix are (they end with '/', or length is 0): "" or "a+/b+/". */
void file_name_of_folder(const char *prefix, size_t length, char path[FILE_KEY_PATH_MAX]);
/* What a name in a folder adds to the keys below ("b", or "b/" for a folder). false: the name is not one of ours. */
bool file_name_decode(const char *name, bool is_folder, char text[FILE_NAME_TEXT], size_t *length);

#endif
