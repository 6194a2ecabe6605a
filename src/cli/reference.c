#include "cli/reference.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/error_print.h"
#include "spate/spate.h"

int reference_print(const char *what, const char *name, bool json)
{
    spate_session *session;
    const char *text = "";
    int code = 0;
    if (spate_session_open(NULL, &session) != SPATE_OK || spate_reference(session, what, name, json, &text) != SPATE_OK) {
        code = 1;
        if (session != NULL) {
            error_print("spate", TEXT(""), spate_session_error(session));
        }
    } else {
        fputs(text, stdout);
    }
    spate_session_close(session);
    return code;
}

static void print_names(const char *separator)
{
    const struct command *commands;
    uint32_t count = command_list(&commands);
    for (uint32_t i = 0; i < count; i++) {
        printf("%s%s", i == 0 ? "" : separator, commands[i].name);
    }
}

static void completion_bash(void)
{
    fputs("_spate() {\n  local word=${COMP_WORDS[COMP_CWORD]}\n  if [ \"$COMP_CWORD\" = 1 ]; then\n    COMPREPLY=($(compgen -W '", stdout);
    print_names(" ");
    fputs("' -- \"$word\"))\n  else\n    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\ncomplete -F _spate spate\n", stdout);
}

static void completion_zsh(void)
{
    fputs("#compdef spate\n_arguments '1:command:(", stdout);
    print_names(" ");
    fputs(")' '*:file:_files'\n", stdout);
}

static void completion_fish(void)
{
    const struct command *commands;
    uint32_t count = command_list(&commands);
    for (uint32_t i = 0; i < count; i++) {
        printf("complete -c spate -n __fish_use_subcommand -a %s -d '%s'\n", commands[i].name, commands[i].summary);
    }
}

int completion_print(const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (shell != NULL && strcmp(shells[i].name, shell) == 0) {
            shells[i].print();
            return 0;
        }
    }
    fprintf(stderr, "spate: completion takes one of bash, zsh, fish\n");
    return 2;
}
