#include "base/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "build_id.h"

enum { MODULES_MAX = 32 };

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static const struct module *loaded[MODULES_MAX];
static uint32_t loaded_count;

/* The folder of the file that holds this code: of the program, or of the library in an embedder's program. Makes the library's symbols
 * visible to modules, however it was loaded. */
static bool own_folder(char folder[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1((const void *)module_load, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) {
        return false;
    }
    bool is_program = map->l_name[0] == '\0';
    if (!is_program) {
        (void)dlopen(map->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    }
    if (realpath(is_program ? "/proc/self/exe" : map->l_name, folder) == NULL) {
        return false;
    }
    *strrchr(folder, '/') = '\0';
    return true;
}

/* The folders to look in, separated by ':'. */
static void append_search_path(struct text_builder *path)
{
    static const char *const places[] = {"lib/spate", "modules", "spate", "../lib/spate", MODULE_INSTALLED};
    char folder[PATH_MAX];
    const char *given = secure_getenv("SPATE_MODULE_PATH");
    if (given != NULL && given[0] != '\0') {
        text_append_text(path, given);
    } else if (own_folder(folder)) {
        for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
            text_append_format(path, "%s%s/%s", i == 0 ? "" : ":", folder, places[i]);
        }
    }
}

static bool find_file(const char *search, const char *name, char file[PATH_MAX])
{
    while (*search != '\0') {
        size_t length = strcspn(search, ":");
        if (length > 0 && snprintf(file, PATH_MAX, "%.*s/spate-%s.so", (int)length, search, name) < PATH_MAX && access(file, F_OK) == 0) {
            return true;
        }
        search += length + (search[length] == ':');
    }
    return false;
}

static enum status refuse(struct error *err, const char *file, const char *reason)
{
    return error_set(err, ERROR_MODULE_REFUSED, "cannot load '%s': %s", file, reason == NULL ? "unknown" : reason);
}

static enum status open_file(const char *file, const char *name, const struct module **module, struct error *err)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return refuse(err, file, dlerror());
    }
    const struct module *(*describe)(void);
    *(void **)&describe = dlsym(handle, "module_describe");
    if (describe == NULL) {
        dlclose(handle);
        return refuse(err, file, "it is not a module of Spate");
    }
    const struct module *found = describe();
    if (strcmp(found->build_id, MODULE_BUILD_ID) != 0 || strcmp(found->name, name) != 0) {
        dlclose(handle);
        return refuse(err, file, "it was made with another build of Spate than this program");
    }
    *module = found;
    return STATUS_OK;
}

static enum status find_and_open(const char *name, const struct module **module, struct error *err)
{
    char file[PATH_MAX];
    struct text_builder search = {0};
    append_search_path(&search);
    enum status status;
    if (search.length > 0 && find_file(search.bytes, name, file)) {
        status = open_file(file, name, module, err);
    } else {
        status =
            error_set(err, ERROR_MODULE_MISSING,
                      "the module spate-%s is not installed; its package is spate-%s, its build target modules/spate-%s.so; looked in %s",
                      name, name, name, search.length > 0 ? search.bytes : "no folder");
    }
    text_builder_close(&search);
    return status;
}

static enum status load_locked(const char *name, const struct module **module, struct error *err)
{
    for (uint32_t i = 0; i < loaded_count; i++) {
        if (strcmp(loaded[i]->name, name) == 0) {
            *module = loaded[i];
            return STATUS_OK;
        }
    }
    if (loaded_count == MODULES_MAX) {
        return error_set(err, ERROR_TOO_MANY, "more than %d modules", MODULES_MAX);
    }
    TRY(find_and_open(name, module, err));
    loaded[loaded_count++] = *module;
    return STATUS_OK;
}

enum status module_load(const char *name, const struct module **module, struct error *err)
{
    pthread_mutex_lock(&loading);
    enum status status = load_locked(name, module, err);
    pthread_mutex_unlock(&loading);
    return status;
}

enum status module_load_type(const char *name, enum module_kind kind, uint32_t abi, const char *what, const void **type, struct error *err)
{
    const struct module *module = NULL;
    TRY(module_load(name, &module, err));
    const void *const *types = module == NULL ? NULL : module->types[kind];
    *type = types == NULL ? NULL : types[0];
    if (*type == NULL || *(const uint32_t *)*type != abi) {
        return error_set(err, ERROR_MODULE_REFUSED, "the module '%s' has no %s of this version", name, what);
    }
    return STATUS_OK;
}

enum status module_find_symbol(const char *name, const char *symbol, bool *found, void **address, struct error *err)
{
    char file[PATH_MAX];
    struct text_builder search = {0};
    append_search_path(&search);
    *found = search.length > 0 && find_file(search.bytes, name, file);
    text_builder_close(&search);
    if (!*found) {
        return STATUS_OK;
    }
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL); /* the loader counts: one that is there is not loaded again */
    if (handle == NULL) {
        return refuse(err, file, dlerror());
    }
    *address = dlsym(handle, symbol);
    return *address != NULL ? STATUS_OK : refuse(err, file, "it does not export what it should");
}
