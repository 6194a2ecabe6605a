/* Runs a fuzz target over the files given: the corpora are tests of every build, whatever the compiler. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argument_count, char **arguments)
{
    for (int i = 1; i < argument_count; i++) {
        static uint8_t data[1 << 16];
        FILE *file = fopen(arguments[i], "rb");
        if (file == NULL) {
            perror(arguments[i]);
            return 1;
        }
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%d inputs\n", argument_count - 1);
    return 0;
}
