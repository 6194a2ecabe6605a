#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cluster/zookeeper.h"

static bool stands_for_itself(unsigned char byte, bool first)
{
    return (byte < 0x80 && isalnum(byte)) || byte == '_' || byte == '-' || (byte == '.' && !first);
}

static char *encode_part(char *out, const char *part, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)part[i];
        out += sprintf(out, stands_for_itself(byte, i == 0) ? "%c" : "%%%02X", byte); /* NOLINT: a name has at most 600 bytes */
    }
    return out;
}

void zk_path_of_folder(const struct zk_session *self, const char *prefix, size_t length, char path[ZK_PATH_MAX])
{
    char *out = path + snprintf(path, ZK_PATH_MAX, "%s", self->root);
    for (const char *part = prefix, *end = prefix + length; part < end;) {
        const char *slash = memchr(part, '/', (size_t)(end - part));
        *out++ = '/';
        out = encode_part(out, part, (size_t)(slash - part));
        *out++ = '+';
        part = slash + 1;
    }
    *out = '\0';
}

void zk_path_of_name(const struct zk_session *self, const char *name, char path[ZK_PATH_MAX])
{
    const char *slash = strrchr(name, '/'), *leaf = slash == NULL ? name : slash + 1;
    zk_path_of_folder(self, name, (size_t)(leaf - name), path);
    char *out = path + strlen(path);
    *out++ = '/';
    *encode_part(out, leaf, strlen(leaf)) = '\0';
}

static int digit_value(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

bool zk_part_of_child(const char *child, char *part, size_t capacity, bool *is_folder)
{
    size_t length = strlen(child), count = 0;
    *is_folder = length > 0 && child[length - 1] == '+';
    length -= *is_folder;
    for (size_t i = 0; i < length; count++) {
        if (count + 1 == capacity) {
            return false;
        }
        bool escape = child[i] == '%' && i + 2 < length && digit_value(child[i + 1]) >= 0 && digit_value(child[i + 2]) >= 0;
        if (!escape && !stands_for_itself((unsigned char)child[i], count == 0)) {
            return false;
        }
        part[count] = escape ? (char)(16 * digit_value(child[i + 1]) + digit_value(child[i + 2])) : child[i];
        i += escape ? 3 : 1;
    }
    part[count] = '\0';
    return count > 0;
}

void zk_parent_of(const char *path, char parent[ZK_PATH_MAX])
{
    snprintf(parent, ZK_PATH_MAX, "%.*s", (int)(strrchr(path, '/') - path), path);
}

int zk_make_parents(zhandle_t *handle, const struct zk_session *self, const char *path)
{
    char parent[ZK_PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
        int rc = zoo_create(handle, parent, "", 0, self->acl, 0, NULL, 0);
        if (rc == ZNOAUTH) { /* one may have no right to make what is there already */
            rc = zoo_exists(handle, parent, 0, NULL) == ZOK ? ZNODEEXISTS : rc;
        }
        if (rc != ZOK && rc != ZNODEEXISTS) {
            return rc;
        }
    }
    return ZOK;
}
