/* tests/unit/support/cold_memory.h: a database of state that is an array in memory, for tests of those who write and fetch. */
#ifndef SPATE_TESTS_SUPPORT_COLD_MEMORY_H
#define SPATE_TESTS_SUPPORT_COLD_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "state/cold_db.h"

struct memory_unit {
    struct text key, value;
};
struct memory_db {
    struct cold_db db;
    struct memory_unit *units; /* by key */
    uint32_t count, capacity;
    uint64_t asked, written, removed; /* keys */
};

static inline int memory_compare(struct text left, struct text right)
{
    size_t length = left.length < right.length ? left.length : right.length;
    int order = length == 0 ? 0 : memcmp(left.bytes, right.bytes, length);
    return order != 0 ? order : (left.length > right.length) - (left.length < right.length);
}

/* The first unit whose key is not below. */
static inline uint32_t memory_place(const struct memory_db *self, struct text key)
{
    uint32_t low = 0, high = self->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (memory_compare(self->units[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static inline bool memory_has(const struct memory_db *self, uint32_t place, struct text key)
{
    return place < self->count && memory_compare(self->units[place].key, key) == 0;
}

static inline struct text memory_copy(struct text text)
{
    char *bytes = malloc(text.length + 1);
    if (text.length > 0) {
        memcpy(bytes, text.bytes, text.length);
    }
    return (struct text){bytes, text.length};
}

static inline void memory_drop(struct memory_db *self, uint32_t place)
{
    free((char *)(uintptr_t)self->units[place].key.bytes);
    free((char *)(uintptr_t)self->units[place].value.bytes);
    self->count--;
    memmove(&self->units[place], &self->units[place + 1], (self->count - place) * sizeof *self->units);
}

static inline void memory_put(struct memory_db *self, struct text key, struct text value)
{
    uint32_t place = memory_place(self, key);
    if (memory_has(self, place, key)) {
        memory_drop(self, place);
    }
    if (value.bytes == NULL) {
        self->removed++;
        return;
    }
    self->written++;
    if (self->count == self->capacity) {
        self->capacity = self->capacity == 0 ? 64 : self->capacity * 2;
        self->units = realloc(self->units, self->capacity * sizeof *self->units);
    }
    memmove(&self->units[place + 1], &self->units[place], (self->count - place) * sizeof *self->units);
    self->units[place] = (struct memory_unit){memory_copy(key), memory_copy(value)};
    self->count++;
}

static inline void memory_close(struct cold_db *db)
{
    struct memory_db *self = (struct memory_db *)db;
    while (self->count > 0) {
        memory_drop(self, self->count - 1);
    }
    free(self->units);
    free(self);
}

static enum status memory_write(struct cold_db *db, const struct cold_write *writes, uint32_t count, struct error *err)
{
    (void)err;
    for (uint32_t i = 0; i < count; i++) {
        memory_put((struct memory_db *)db, writes[i].key, writes[i].value);
    }
    return STATUS_OK;
}

static enum status memory_get(struct cold_db *db, const struct text *keys, uint32_t count, struct cold_values *values, struct error *err)
{
    (void)err;
    struct memory_db *self = (struct memory_db *)db;
    values->values = realloc(values->values, (count + 1) * sizeof *values->values);
    values->count = values->capacity = count;
    self->asked += count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = memory_place(self, keys[i]);
        values->values[i] = memory_has(self, place, keys[i]) ? self->units[place].value : (struct text){0};
    }
    return STATUS_OK;
}

static void memory_release(struct cold_db *db, struct cold_values *values)
{
    (void)db;
    free(values->values);
    *values = (struct cold_values){0};
}

static inline bool memory_begins(struct text key, struct text prefix)
{
    return key.length >= prefix.length && memcmp(key.bytes, prefix.bytes, prefix.length) == 0;
}

static enum status memory_remove_prefix(struct cold_db *db, struct text prefix, struct error *err)
{
    (void)err;
    struct memory_db *self = (struct memory_db *)db;
    uint32_t place = memory_place(self, prefix);
    while (place < self->count && memory_begins(self->units[place].key, prefix)) {
        memory_drop(self, place);
        self->removed++;
    }
    return STATUS_OK;
}

/* A copy: the visitor may write. */
static enum status memory_scan(struct cold_db *db, struct text prefix, struct text from, cold_visit *visit, void *context,
                               struct error *err)
{
    (void)err;
    const struct memory_db *self = (const struct memory_db *)db;
    uint32_t first = memory_place(self, from.bytes == NULL ? prefix : from), count = 0;
    while (first + count < self->count && memory_begins(self->units[first + count].key, prefix)) {
        count++;
    }
    struct memory_unit *units = malloc((count + 1) * sizeof *units);
    for (uint32_t i = 0; i < count; i++) {
        units[i] = (struct memory_unit){memory_copy(self->units[first + i].key), memory_copy(self->units[first + i].value)};
    }
    for (uint32_t i = 0; i < count && visit(context, units[i].key, units[i].value); i++) {
    }
    for (uint32_t i = 0; i < count; i++) {
        free((char *)(uintptr_t)units[i].key.bytes);
        free((char *)(uintptr_t)units[i].value.bytes);
    }
    free(units);
    return STATUS_OK;
}

static const struct cold_driver memory_driver = {.abi = COLD_DRIVER_ABI,
                                                 .name = "memory",
                                                 .close = memory_close,
                                                 .write = memory_write,
                                                 .get = memory_get,
                                                 .release = memory_release,
                                                 .scan = memory_scan,
                                                 .remove_prefix = memory_remove_prefix};

static inline struct memory_db *memory_open(void)
{
    struct memory_db *self = calloc(1, sizeof *self);
    self->db.driver = &memory_driver;
    return self;
}

/* As a checkpoint is: what it had then. */
static inline struct memory_db *memory_clone(const struct memory_db *from)
{
    struct memory_db *self = memory_open();
    for (uint32_t i = 0; i < from->count; i++) {
        memory_put(self, from->units[i].key, from->units[i].value);
    }
    return self;
}

#endif
