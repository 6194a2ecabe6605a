#include "cli/configuration.h"

#include <stdio.h>
#include <string.h>

#include "cli/error_print.h"
#include "cli/json_text.h"

enum { FLAGS_MAX = 256 };

int configuration_open(const char *file, const char *const *flags, spate_config **config)
{
    if (spate_config_open(file, flags, config) == SPATE_OK) {
        return 0;
    }
    if (*config == NULL) {
        fputs("spate: no room for the settings\n", stderr);
        return 1;
    }
    error_print("spate", TEXT(""), spate_config_error(*config));
    return 2;
}

struct listing {
    bool json;
};

static int print_one(void *context, const char *key, const char *value, const char *origin)
{
    const struct listing *listing = context;
    if (!listing->json) {
        printf("%-72s %-24s %s\n", key, value == NULL ? "-" : value, origin);
        return 0;
    }
    fputs("{\"key\":", stdout);
    json_text_print(key, strlen(key));
    fputs(",\"value\":", stdout);
    if (value == NULL) {
        fputs("null", stdout);
    } else {
        json_text_print(value, strlen(value));
    }
    fputs(",\"origin\":", stdout);
    json_text_print(origin, strlen(origin));
    puts("}");
    return 0;
}

static int usage(void)
{
    fputs("usage: spate config show [--config FILE] [-s KEY=VALUE] [--json]\n", stderr);
    return 2;
}

/* config [show] [--config FILE] [-s KEY=VALUE] [--json] */
int command_config(int argc, char **argv)
{
    const char *file = NULL, *flags[FLAGS_MAX + 1];
    struct listing listing = {false};
    uint32_t count = 0;
    for (int at = 1; at < argc; at++) {
        bool has_value = at + 1 < argc;
        if (strcmp(argv[at], "--json") == 0) {
            listing.json = true;
        } else if (strcmp(argv[at], "--config") == 0 && has_value) {
            file = argv[++at];
        } else if ((strcmp(argv[at], "-s") == 0 || strcmp(argv[at], "--set") == 0) && has_value && count < FLAGS_MAX) {
            flags[count++] = argv[++at];
        } else if (strcmp(argv[at], "show") != 0) {
            return usage();
        }
    }
    flags[count] = NULL;
    spate_config *config;
    int code = configuration_open(file, flags, &config);
    if (code == 0) {
        spate_config_each(config, print_one, &listing);
    }
    spate_config_close(config);
    return code;
}
