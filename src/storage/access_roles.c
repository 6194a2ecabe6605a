/* The roles that are built in, as a table; rights as text and as bits. */
#include <string.h>

#include "storage/access_internal.h"

#define X(kind, name) [ACCESS_##kind] = name,
static const char *const kind_names[ACCESS_KIND_COUNT] = {
    STORE_KIND_LIST(X)[ACCESS_CONTROL] = "control", [ACCESS_SECRETS] = "secrets", [ACCESS_ACCESS] = "access"};
#undef X
static const char *const right_names[ACCESS_RIGHT_COUNT] = {"read", "append", "write", "delete", "admin"};

/* A role has the rights of those it includes; "!" takes one away from what stands before it. */
static const struct {
    const char *name, *rights;
} roles[] = {
    {"viewer", "*:read !secrets:read"},
    {"operator", "*:read !secrets:read control:append savepoints:append"},
    {"developer", "*:read !secrets:read control:append savepoints:append artifacts:append artifacts:write artifacts:delete config:append "
                  "config:write jobs:append"},
    {"admin", "*:*"},
    {"processor", "artifacts:read config:read logs:append metrics:append offsets:read offsets:append checkpoints:read checkpoints:append "
                  "savepoints:read savepoints:append jobs:read jobs:write control:read control:append secrets:read"},
    {"auditor", "logs:read audit:read"},
};

const char *access_kind_name(enum access_kind kind)
{
    return kind_names[kind];
}

const char *access_right_name(enum access_right right)
{
    return right_names[right];
}

const char *access_role_name(uint32_t index)
{
    return index < ARRAY_LENGTH(roles) ? roles[index].name : NULL;
}

/* Bits of the names that a part stands for; 0: it is none of them. */
static uint32_t part_bits(const char *const *names, uint32_t count, const char *part, size_t length)
{
    if (length == 1 && part[0] == '*') {
        return (1u << count) - 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], part, length) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

bool access_rights_apply(access_rights rights, const char *text, size_t length)
{
    bool takes = length > 0 && text[0] == '!';
    text += takes;
    length -= takes;
    const char *colon = memchr(text, ':', length);
    if (colon == NULL) {
        return false;
    }
    uint32_t kinds = part_bits(kind_names, ACCESS_KIND_COUNT, text, (size_t)(colon - text));
    uint32_t bits = part_bits(right_names, ACCESS_RIGHT_COUNT, colon + 1, length - (size_t)(colon - text) - 1);
    for (uint32_t kind = 0; kind < ACCESS_KIND_COUNT; kind++) {
        if ((kinds >> kind & 1) != 0) {
            rights[kind] = (uint8_t)(takes ? rights[kind] & ~bits : rights[kind] | bits);
        }
    }
    return kinds != 0 && bits != 0;
}

bool access_role_find(const char *role, access_rights rights)
{
    memset(rights, 0, sizeof(access_rights));
    for (size_t i = 0; i < ARRAY_LENGTH(roles); i++) {
        if (strcmp(roles[i].name, role) != 0) {
            continue;
        }
        for (const char *at = roles[i].rights; *at != '\0';) {
            size_t length = strcspn(at, " ");
            (void)access_rights_apply(rights, at, length);
            at += length + (at[length] == ' ');
        }
        return true;
    }
    return false;
}
