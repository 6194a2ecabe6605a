#include "cli/setting_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int usage_error(const char *command, const char *what, const char *value)
{
    fprintf(stderr, "spate: %s '%s'; see spate %s --help\n", what, value, command);
    return 2;
}

int setting_list_add(struct setting_list *list, const char *command, const char *setting)
{
    if (list->count == SETTING_LIST_MAX || strchr(setting, '=') == NULL) {
        return usage_error(command, "a setting is KEY=VALUE, 256 at most: not", setting);
    }
    list->items[list->count++] = setting;
    return 0;
}

int setting_list_place(struct setting_list *list, const char *command, enum setting_place place, const char *uri)
{
    static const char *const keys[] = {[SETTING_STORAGE] = "storage.uri", [SETTING_COORDINATOR] = "coordinator.uri"};
    char *text = list->places[place];
    bool again = text[0] != '\0';
    int length = snprintf(text, sizeof list->places[place], "%s=%s", keys[place], uri);
    if (length >= (int)sizeof list->places[place]) {
        return usage_error(command, "this is too long:", uri);
    }
    return again ? 0 : setting_list_add(list, command, text);
}
