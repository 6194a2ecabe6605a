/* What a service or the way to it may do wrong, done by tests/storage/fault_proxy. */
#include "compliance.h"

#include "base/clock.h"

/* The next `count` requests of the method meet the fault. */
static void set_fault(const struct suite *suite, const char *kind, const char *method, uint32_t count)
{
    char path[300];
    snprintf(path, sizeof path, "%s.new", suite->faults);
    FILE *file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%s %s %u\n", kind, method, count) < 0 || fclose(file) != 0 || rename(path, suite->faults) != 0) {
        perror(path);
        exit(2);
    }
}

static void clear_faults(const struct suite *suite)
{
    set_fault(suite, "none", "NONE", 0);
}

/* Another store, with a short timeout. */
static struct object_store *open_hasty(const struct suite *suite, const char *timeout, enum status *status, struct error *err)
{
    struct suite hasty = *suite;
    char name[32];
    snprintf(name, sizeof name, "%s.timeout", suite->store->driver->scheme);
    hasty.options[hasty.option_count++] = (struct object_option){name, timeout};
    return suite_open(&hasty, NULL, status, err);
}

static enum status put_text(struct object_store *store, const char *key, const char *text, enum put_condition condition, const char *etag,
                            enum object_result *result, struct object_info *info, struct error *err)
{
    return object_put_bytes(store, key, text, strlen(text), condition, etag, result, info, err);
}

static bool has_text(struct suite *suite, const char *key, const char *text)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    char *bytes = NULL;
    size_t length;
    bool same = object_get_bytes(suite->store, key, 1000, &result, &bytes, &length, &info, &err) == STATUS_OK &&
                (text == NULL ? result == OBJECT_ABSENT : result == OBJECT_OK && strcmp(bytes, text) == 0);
    free(bytes);
    return same;
}

/* Done, but the answer is lost: the retry's conflict is our own doing. */
static const char *check_lost_answers(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info first, second, head;
    const char *key = suite_key(suite, "k");
    set_fault(suite, "drop-reply", "PUT", 1);
    EXPECT_OK(put_text(suite->store, key, "1", PUT_IF_ABSENT, NULL, &result, &first, &err));
    EXPECT(result == OBJECT_OK && first.etag[0] != '\0', "put if absent: %d", (int)result);
    set_fault(suite, "drop-reply", "PUT", 1);
    EXPECT_OK(put_text(suite->store, key, "2", PUT_IF_MATCH, first.etag, &result, &second, &err));
    EXPECT(result == OBJECT_OK && has_text(suite, key, "2"), "put if match: %d", (int)result);
    EXPECT_OK(suite->store->driver->head(suite->store, key, &result, &head, &err));
    EXPECT(strcmp(head.etag, second.etag) == 0, "the etag is %s, put said %s", head.etag, second.etag);
    set_fault(suite, "drop-reply", "PUT", 1);
    EXPECT_OK(put_text(suite->store, key, "3", PUT_IF_MATCH, first.etag, &result, &second, &err));
    EXPECT(result == OBJECT_UNKNOWN && has_text(suite, key, "2"), "a conflict behind a lost answer is not known to be one: %d",
           (int)result);
    set_fault(suite, "drop-reply", "DELETE", 1);
    EXPECT_OK(suite->store->driver->remove(suite->store, key, NULL, &result, &err));
    EXPECT(result == OBJECT_OK && has_text(suite, key, NULL), "remove: %d", (int)result);
    return NULL;
}

static const char *check_no_answers(struct suite *suite)
{
    struct error err;
    enum status status;
    enum object_result result;
    struct object_info info;
    const char *key = suite_key(suite, "k");
    struct object_store *store = open_hasty(suite, "2 s", &status, &err);
    EXPECT_OK(status);
    set_fault(suite, "drop-reply", "PUT", 1000);
    status = put_text(store, key, "1", PUT_ANY, NULL, &result, &info, &err);
    EXPECT(status == STATUS_OK && result == OBJECT_UNKNOWN, "put: status %d, %d", (int)status, (int)result);
    set_fault(suite, "drop-request", "GET", 1000);
    char *bytes;
    size_t length;
    status = object_get_bytes(store, key, 100, &result, &bytes, &length, &info, &err);
    EXPECT(status == STATUS_UNAVAILABLE, "get: status %d", (int)status);
    set_fault(suite, "status-503", "PUT", 1000);
    status = put_text(store, key, "2", PUT_ANY, NULL, &result, &info, &err);
    EXPECT(status == STATUS_UNAVAILABLE && strstr(err.text, "503") != NULL, "put to a busy service: status %d", (int)status);
    clear_faults(suite);
    EXPECT(has_text(suite, key, "1"), "the object is not as it was put");
    EXPECT_OK(put_text(store, key, "3", PUT_ANY, NULL, &result, &info, &err));
    EXPECT(result == OBJECT_OK, "afterwards: %d", (int)result);
    object_store_close(store);
    return NULL;
}

static const char *check_passing_errors(struct suite *suite)
{
    static const char *const kinds[] = {"status-500", "status-503", "status-429", "drop-request"};
    static const char *const methods[] = {"PUT", "GET", "HEAD", "DELETE"};
    struct error err;
    enum object_result result;
    struct object_info info;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (size_t j = 0; j < sizeof methods / sizeof methods[0]; j++) {
            const char *key = suite_key(suite, "k-%zu-%zu", i, j);
            set_fault(suite, kinds[i], methods[j], 2);
            EXPECT_OK(put_text(suite->store, key, "x", PUT_ANY, NULL, &result, &info, &err));
            EXPECT(result == OBJECT_OK && has_text(suite, key, "x"), "%s %s: put or get", kinds[i], methods[j]);
            EXPECT_OK(suite->store->driver->head(suite->store, key, &result, &info, &err));
            EXPECT(result == OBJECT_OK, "%s %s: head %d", kinds[i], methods[j], (int)result);
            EXPECT_OK(suite->store->driver->remove(suite->store, key, NULL, &result, &err));
            EXPECT(result == OBJECT_OK, "%s %s: remove %d", kinds[i], methods[j], (int)result);
        }
    }
    clear_faults(suite);
    return NULL;
}

static const char *check_broken_bodies(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    struct pattern body = {.seed = 11, .bytes = 20 << 20}, back = body, part = {.seed = 11, .bytes = body.bytes, .offset = 1000};
    struct object_source source = pattern_source(&body);
    struct object_sink sink = pattern_sink(&back), part_sink = pattern_sink(&part);
    const char *key = suite_key(suite, "k");
    set_fault(suite, "status-500", "PUT", 3);
    EXPECT_OK(suite->store->driver->put(suite->store, key, &source, PUT_ANY, NULL, &result, &info, &err));
    EXPECT(result == OBJECT_OK, "put: %d", (int)result);
    set_fault(suite, "cut", "GET", 3);
    EXPECT_OK(suite->store->driver->get(suite->store, key, 0, UINT64_MAX, &sink, &result, &info, &err));
    EXPECT(result == OBJECT_OK && back.taken == body.bytes && !back.differs, "get: %d, %" PRIu64 " bytes%s", (int)result, back.taken,
           back.differs ? ", others" : "");
    set_fault(suite, "cut", "GET", 2);
    EXPECT_OK(suite->store->driver->get(suite->store, key, 1000, 10 << 20, &part_sink, &result, &info, &err));
    EXPECT(result == OBJECT_OK && part.taken == 10 << 20 && !part.differs, "a range: %d, %" PRIu64 " bytes", (int)result, part.taken);
    return NULL;
}

static const char *check_damage(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    char *bytes;
    size_t length;
    const char *key = suite_key(suite, "k");
    set_fault(suite, "flip-request", "PUT", 1);
    enum status status = put_text(suite->store, key, "whole", PUT_ANY, NULL, &result, &info, &err);
    EXPECT(status == STATUS_CORRUPT && has_text(suite, key, NULL), "a body that is damaged on its way: status %d", (int)status);
    EXPECT_OK(put_text(suite->store, key, "whole", PUT_ANY, NULL, &result, &info, &err));
    set_fault(suite, "flip-reply", "GET", 1);
    status = object_get_bytes(suite->store, key, 100, &result, &bytes, &length, &info, &err);
    EXPECT(status == STATUS_CORRUPT, "a body that is damaged on its way back: status %d", (int)status);
    EXPECT(has_text(suite, key, "whole"), "the object is not intact");
    return NULL;
}

static const char *check_quota(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    const char *key = suite_key(suite, "k");
    struct pattern body = {.seed = 11, .bytes = OBJECT_PART_BYTES + 1};
    struct object_source source = pattern_source(&body);
    EXPECT_OK(put_text(suite->store, key, "old", PUT_ANY, NULL, &result, &info, &err));
    set_fault(suite, "quota", "PUT", 1);
    enum status status = put_text(suite->store, key, "new", PUT_ANY, NULL, &result, &info, &err);
    EXPECT(status == STATUS_FULL && has_text(suite, key, "old"), "put: status %d", (int)status);
    set_fault(suite, "quota", "PUT", 1);
    status = suite->store->driver->put(suite->store, key, &source, PUT_ANY, NULL, &result, &info, &err);
    EXPECT(status == STATUS_FULL && has_text(suite, key, "old"), "put of a part: status %d", (int)status);
    return NULL;
}

static int64_t skewed_wall_us(const struct clock *clock)
{
    return clock_system.wall_us(&clock_system) + INT64_C(20) * 60000000;
}

static const char *check_clock(struct suite *suite)
{
    struct clock skewed = {.wall_us = skewed_wall_us, .monotonic_us = clock_system.monotonic_us};
    struct object_environment environment = {.clock = &skewed};
    struct error err = {.text = ""};
    enum status status;
    struct object_store *store = suite_open(suite, &environment, &status, &err);
    EXPECT(store == NULL && err.code == ERROR_STORE_CLOCK && strstr(err.text, "minutes ahead") != NULL, "status %d: %s", (int)status,
           err.text);
    return NULL;
}

static const char *check_wrong_key(struct suite *suite)
{
    struct suite wrong = *suite;
    struct error err = {.text = ""};
    enum status status;
    bool azure = strcmp(suite->store->driver->scheme, "azure") == 0;
    const char *name = azure ? "azure.account-key" : "s3.secret-key";
    wrong.options[wrong.option_count++] = (struct object_option){name, "AAAA"};
    struct object_store *store = suite_open(&wrong, NULL, &status, &err);
    EXPECT(store == NULL && status == STATUS_DENIED && strstr(err.text, name) != NULL, "status %d: %s", (int)status, err.text);
    return NULL;
}

static enum status count_key(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    ++*(uint32_t *)context;
    return STATUS_OK;
}

static const char *check_list(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    uint32_t count = 0;
    for (uint32_t i = 0; i < 50; i++) {
        EXPECT_OK(put_text(suite->store, suite_key(suite, "%u", i), "x", PUT_ANY, NULL, &result, &info, &err));
    }
    set_fault(suite, "cut", "GET", 2);
    EXPECT_OK(suite->store->driver->list(suite->store, suite->prefix, NULL, count_key, &count, &err));
    EXPECT(count == 50, "%u keys of 50", count);
    return NULL;
}

const struct check fault_checks[] = {
    {"lost answers: what was done is known by its number", check_lost_answers},
    {"no answers: UNKNOWN or UNAVAILABLE, then all is well again", check_no_answers},
    {"errors that pass are passed over", check_passing_errors},
    {"O2 a body that breaks off is read on", check_broken_bodies},
    {"O5 a list whose page breaks off is complete", check_list},
    {"O7 a quota is FULL, the old value intact", check_quota},
    {"O8 damage on the way is CORRUPT, both ways", check_damage},
    {"O9 a clock that is 20 minutes off is named", check_clock},
    {"a wrong key is DENIED, and the option named", check_wrong_key},
    {NULL, NULL},
};
