/* cli/setting_list.h: the settings that a command's flags make: "key=value" texts, NULL-terminated, as configuration_open takes them.
 *
 * For         commands that take -s KEY=VALUE, --storage URI and --coordinator URI: job, ctl, coord, worker.
 * Ownership   Values of -s are lent; those of URIs are kept in the list. A list that is all zero is empty.
 * Errors      Printed, with the command's name; the value is an exit code: 0 or 2.
 */
#ifndef SPATE_CLI_SETTING_LIST_H
#define SPATE_CLI_SETTING_LIST_H

#include <limits.h>
#include <stdint.h>

enum setting_place { SETTING_STORAGE, SETTING_COORDINATOR, SETTING_PLACE_COUNT };
enum { SETTING_LIST_MAX = 256 };
struct setting_list {
    const char *items[SETTING_LIST_MAX + 1];
    uint32_t count;
    char places[SETTING_PLACE_COUNT][PATH_MAX + 32]; /* "storage.uri=..."; "": not given */
};
int setting_list_add(struct setting_list *list, const char *command, const char *setting);
/* A later URI takes the place of an earlier one. */
int setting_list_place(struct setting_list *list, const char *command, enum setting_place place, const char *uri);

#endif
