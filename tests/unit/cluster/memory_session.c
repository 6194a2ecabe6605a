#include "memory_session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS_MAX = 40000 };

struct memory_register {
    char *name, *bytes;
    size_t length;
    uint64_t version;
};
struct memory_session {
    struct cluster_session session;
    struct memory_register *registers; /* sorted by name */
    uint32_t count;
    uint64_t version, calls, fail_at, interrupt_at;
    enum session_fault fault;
    bool inside;
    void (*interrupt)(void *context);
    void *context;
};

static uint32_t place_of(const struct memory_session *self, const char *name)
{
    uint32_t low = 0, high = self->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(self->registers[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct memory_register *find(const struct memory_session *self, const char *name)
{
    uint32_t place = place_of(self, name);
    return place < self->count && strcmp(self->registers[place].name, name) == 0 ? &self->registers[place] : NULL;
}

/* Counts the call; what is to happen to it. */
static enum session_fault begin_call(struct memory_session *self)
{
    if (self->inside) {
        return SESSION_FAULT_NONE;
    }
    self->calls++;
    if (self->calls == self->interrupt_at) {
        self->inside = true;
        self->interrupt(self->context);
        self->inside = false;
    }
    return self->calls == self->fail_at ? self->fault : SESSION_FAULT_NONE;
}

static enum status unavailable(struct error *err)
{
    return error_set(err, ERROR_STORE_UNAVAILABLE, "the service does not answer, as the test wants it");
}

static void token_of(uint64_t number, struct cluster_version *version)
{
    *version = (struct cluster_version){0};
    snprintf(version->token, sizeof version->token, "%" PRIu64, number);
}

static bool is_version(const struct memory_register *found, const struct cluster_version *expect)
{
    struct cluster_version now;
    token_of(found->version, &now);
    return strcmp(now.token, expect->token) == 0;
}

static enum status session_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                               struct cluster_value *value, struct error *err)
{
    struct memory_session *self = (struct memory_session *)session;
    if (begin_call(self) != SESSION_FAULT_NONE) {
        return unavailable(err);
    }
    const struct memory_register *found = find(self, name);
    *result = found == NULL ? CLUSTER_ABSENT : CLUSTER_OK;
    if (found != NULL) {
        value->bytes = (struct text){arena_text(arena, found->bytes, found->length), found->length};
        token_of(found->version, &value->version);
    }
    return STATUS_OK;
}

static void insert(struct memory_session *self, const char *name, struct text value)
{
    uint32_t place = place_of(self, name);
    assert(self->count < REGISTERS_MAX);
    memmove(&self->registers[place + 1], &self->registers[place], (self->count - place) * sizeof *self->registers);
    self->registers[place] = (struct memory_register){.name = strdup(name)};
    self->count++;
}

static enum status session_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                               enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    struct memory_session *self = (struct memory_session *)session;
    enum session_fault fault = begin_call(self);
    assert(value.length <= CLUSTER_VALUE_MAX && strlen(name) <= CLUSTER_NAME_MAX);
    if (fault == SESSION_FAULT_UNAVAILABLE) {
        return unavailable(err);
    }
    struct memory_register *found = find(self, name);
    bool fits = expect == NULL ? found == NULL : found != NULL && is_version(found, expect);
    if (fits && fault != SESSION_FAULT_UNKNOWN_LOST) {
        if (found == NULL) {
            insert(self, name, value);
            found = find(self, name);
        }
        free(found->bytes);
        found->bytes = malloc(value.length + 1);
        assert(found->bytes != NULL);
        memcpy(found->bytes, value.bytes, value.length);
        found->length = value.length;
        found->version = ++self->version;
        token_of(found->version, version);
    }
    *result = fault != SESSION_FAULT_NONE ? CLUSTER_UNKNOWN : fits ? CLUSTER_OK : CLUSTER_CONFLICT;
    return STATUS_OK;
}

static enum status session_del(struct cluster_session *session, const char *name, const struct cluster_version *expect,
                               enum cluster_result *result, struct error *err)
{
    struct memory_session *self = (struct memory_session *)session;
    enum session_fault fault = begin_call(self);
    struct memory_register *found = find(self, name);
    if (fault == SESSION_FAULT_UNAVAILABLE) {
        return unavailable(err);
    }
    *result = found == NULL ? CLUSTER_ABSENT : is_version(found, expect) ? CLUSTER_OK : CLUSTER_CONFLICT;
    if (*result == CLUSTER_OK && fault != SESSION_FAULT_UNKNOWN_LOST) {
        free(found->name);
        free(found->bytes);
        self->count--;
        memmove(found, found + 1, (size_t)(&self->registers[self->count] - found) * sizeof *found);
    }
    *result = fault != SESSION_FAULT_NONE ? CLUSTER_UNKNOWN : *result;
    return STATUS_OK;
}

static enum status session_list(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                                struct error *err)
{
    struct memory_session *self = (struct memory_session *)session;
    if (begin_call(self) != SESSION_FAULT_NONE) {
        return unavailable(err);
    }
    *names = (struct cluster_names){.names = arena_alloc(arena, (self->count + 1) * sizeof *names->names)};
    for (uint32_t i = 0; i < self->count; i++) {
        if (strncmp(self->registers[i].name, prefix, strlen(prefix)) == 0) {
            names->names[names->count++] = arena_text(arena, self->registers[i].name, strlen(self->registers[i].name));
        }
    }
    return STATUS_OK;
}

static const struct cluster_driver memory_driver = {.abi = CLUSTER_DRIVER_ABI,
                                                    .scheme = "memory",
                                                    .summary = "in memory, for tests",
                                                    .get = session_get,
                                                    .put = session_put,
                                                    .del = session_del,
                                                    .list = session_list};

struct memory_session *memory_session_create(void)
{
    struct memory_session *self = calloc(1, sizeof *self);
    assert(self != NULL);
    self->registers = calloc(REGISTERS_MAX, sizeof *self->registers);
    assert(self->registers != NULL);
    self->session.driver = &memory_driver;
    return self;
}

struct cluster_session *memory_session_of(struct memory_session *self)
{
    return &self->session;
}

void memory_session_destroy(struct memory_session *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        free(self->registers[i].name);
        free(self->registers[i].bytes);
    }
    free(self->registers);
    free(self);
}

void memory_session_fail(struct memory_session *self, uint64_t call, enum session_fault fault)
{
    self->calls = 0;
    self->interrupt_at = 0;
    self->fail_at = call;
    self->fault = fault;
}

uint64_t memory_session_calls(const struct memory_session *self)
{
    return self->calls;
}

void memory_session_interrupt(struct memory_session *self, uint64_t call, void (*run)(void *context), void *context)
{
    self->calls = 0;
    self->fail_at = 0;
    self->interrupt_at = call;
    self->interrupt = run;
    self->context = context;
}

bool memory_session_has(const struct memory_session *self, const char *name)
{
    return find(self, name) != NULL;
}

uint32_t memory_session_count(const struct memory_session *self, const char *prefix)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        count += strncmp(self->registers[i].name, prefix, strlen(prefix)) == 0;
    }
    return count;
}

void memory_session_damage(struct memory_session *self, const char *name, size_t at)
{
    struct memory_register *found = find(self, name);
    assert(found != NULL && at < found->length);
    found->bytes[at] ^= 1;
}
