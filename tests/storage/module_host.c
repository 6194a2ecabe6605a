/* A program that loads the library by hand, its symbols for nobody else, and opens a store whose driver is a module:
 * host LIBRARY URI; prints the code of the error and its text. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

struct error { /* as in base/error.h */
    int status, code;
    uint32_t line, column;
    char text[1000];
};

int main(int count, char **arguments)
{
    int (*open_store)(const char *, const void *, size_t, const void *, void **, struct error *);
    struct error err = {0};
    void *store = NULL, *library = count == 3 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", count == 3 ? dlerror() : "usage: module_host LIBRARY URI");
        return 2;
    }
    *(void **)&open_store = dlsym(library, "object_store_open");
    if (open_store == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    open_store(arguments[2], NULL, 0, NULL, &store, &err);
    printf("%d %s\n", err.code, err.text);
    return 0;
}
