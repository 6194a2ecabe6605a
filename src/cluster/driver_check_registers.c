/* D3 to D7, D16: what one or two sessions see of registers. */
#include "cluster/driver_check_trial.h"
#include "cluster/value.h"

static bool holds(const struct cluster_value *value, const char *text)
{
    return text_equal(value->bytes, text_from(text));
}

static bool same_version(const struct cluster_version *left, const struct cluster_version *right)
{
    return strcmp(left->token, right->token) == 0;
}

static const char *check_stale(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version first, second, third;
    struct cluster_value value;
    const char *name = trial_name(trial, "register");
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_get(trial, s, name, &result, &value, &err), CLUSTER_ABSENT);
    EXPECT_RESULT(trial_put(s, name, "one", NULL, &result, &first, &err), CLUSTER_OK);
    EXPECT_RESULT(trial_put(s, name, "other", NULL, &result, &third, &err), CLUSTER_CONFLICT);
    EXPECT_RESULT(trial_put(s, name, "two", &first, &result, &second, &err), CLUSTER_OK);
    EXPECT(!same_version(&first, &second), "two puts have the version '%s'", first.token);
    EXPECT_RESULT(trial_put(s, name, "three", &first, &result, &third, &err), CLUSTER_CONFLICT);
    EXPECT_RESULT(trial_get(trial, s, name, &result, &value, &err), CLUSTER_OK);
    EXPECT(holds(&value, "two") && same_version(&value.version, &second), "after a stale put there is '%.*s', version '%s'",
           (int)value.bytes.length, value.bytes.bytes, value.version.token);
    EXPECT_RESULT(trial_put(s, trial_name(trial, "nothing"), "x", &second, &result, &third, &err), CLUSTER_CONFLICT);
    EXPECT_RESULT(trial_get(trial, s, trial_name(trial, "nothing"), &result, &value, &err), CLUSTER_ABSENT);
    return NULL;
}

static const char *check_remake(struct trial *trial)
{
    enum { LIVES = 5 };
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version made[LIVES], set[LIVES], other;
    const char *name = trial_name(trial, "folder/register");
    EXPECT_OK(trial_open(trial, &s, &err));
    for (uint32_t life = 0; life < LIVES; life++) { /* each with as many puts: a count alone would come back */
        EXPECT_RESULT(trial_put(s, name, "same", NULL, &result, &made[life], &err), CLUSTER_OK);
        EXPECT_RESULT(trial_put(s, name, "same", &made[life], &result, &set[life], &err), CLUSTER_OK);
        EXPECT_RESULT(s->driver->del(s, name, &made[life], &result, &err), CLUSTER_CONFLICT);
        for (uint32_t before = 0; before < life; before++) {
            EXPECT(!same_version(&made[before], &made[life]) && !same_version(&set[before], &set[life]), "the version '%s' came back",
                   set[life].token);
            EXPECT_RESULT(trial_put(s, name, "stale", &set[before], &result, &other, &err), CLUSTER_CONFLICT);
            EXPECT_RESULT(s->driver->del(s, name, &set[before], &result, &err), CLUSTER_CONFLICT);
        }
        EXPECT_RESULT(s->driver->del(s, name, &set[life], &result, &err), CLUSTER_OK);
        EXPECT_RESULT(s->driver->del(s, name, &set[life], &result, &err), CLUSTER_ABSENT);
        EXPECT_RESULT(trial_put(s, name, "stale", &set[life], &result, &other, &err), CLUSTER_CONFLICT);
    }
    return NULL;
}

static const char *check_reads(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *writer, *reader;
    struct cluster_version version, next;
    struct cluster_value value;
    const char *name = trial_name(trial, "register");
    EXPECT_OK(trial_open(trial, &writer, &err));
    EXPECT_OK(trial_open(trial, &reader, &err));
    EXPECT_RESULT(trial_put(writer, name, "0", NULL, &result, &version, &err), CLUSTER_OK);
    for (uint32_t i = 1; i <= 50; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        EXPECT_RESULT(trial_put(writer, name, text, &version, &result, &next, &err), CLUSTER_OK);
        EXPECT_RESULT(trial_get(trial, writer, name, &result, &value, &err), CLUSTER_OK);
        EXPECT(holds(&value, text) && same_version(&value.version, &next), "the writer reads '%.*s' after it wrote '%s'",
               (int)value.bytes.length, value.bytes.bytes, text);
        EXPECT_RESULT(trial_get(trial, reader, name, &result, &value, &err), CLUSTER_OK);
        EXPECT(holds(&value, text) && same_version(&value.version, &next), "another reads '%.*s' after '%s' was written",
               (int)value.bytes.length, value.bytes.bytes, text);
        version = next;
    }
    return NULL;
}

static const char *check_sizes(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version version, other;
    struct cluster_value value;
    const char *name = trial_name(trial, "large"), *empty = trial_name(trial, "empty");
    char *bytes = arena_alloc(trial->arena, CLUSTER_VALUE_MAX + 1);
    for (uint32_t i = 0; i < CLUSTER_VALUE_MAX; i++) {
        bytes[i] = (char)(i * 7 + i / 251); /* every byte, zero among them */
    }
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(s->driver->put(s, name, (struct text){bytes, CLUSTER_VALUE_MAX}, NULL, &result, &version, &err), CLUSTER_OK);
    EXPECT_RESULT(trial_get(trial, s, name, &result, &value, &err), CLUSTER_OK);
    EXPECT(text_equal(value.bytes, (struct text){bytes, CLUSTER_VALUE_MAX}), "%zu of %d bytes came back, or other ones", value.bytes.length,
           CLUSTER_VALUE_MAX);
    EXPECT(s->driver->put(s, name, (struct text){bytes, CLUSTER_VALUE_MAX + 1}, &version, &result, &other, &err) == STATUS_INVALID_OPTION,
           "a value of 64 KiB + 1 is not refused");
    EXPECT_RESULT(trial_get(trial, s, name, &result, &value, &err), CLUSTER_OK);
    EXPECT(same_version(&value.version, &version), "a refused put made a new version");
    EXPECT_RESULT(trial_put(s, empty, "", NULL, &result, &version, &err), CLUSTER_OK);
    EXPECT_RESULT(trial_get(trial, s, empty, &result, &value, &err), CLUSTER_OK);
    EXPECT(value.bytes.length == 0, "an empty value comes back with %zu bytes", value.bytes.length);
    return NULL;
}

/* A value of ours, damaged in every way, is known as such; a lease in a register of such bytes is not given away. */
static const char *check_damage(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_value value;
    struct cluster_version version;
    struct text sealed, json;
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_OK(value_seal(TEXT("{\"v\":1,\"rev\":311}"), trial->arena, &sealed, &err));
    char *flipped = arena_copy(trial->arena, sealed.bytes, sealed.length);
    flipped[3] ^= 4;
    const struct text damaged[] = {{arena_alloc(trial->arena, sealed.length), sealed.length},
                                   {sealed.bytes, sealed.length / 2},
                                   {flipped, sealed.length},
                                   TEXT("{\"not\":\"ours\"}"),
                                   TEXT("")};
    for (uint32_t i = 0; i <= ARRAY_LENGTH(damaged); i++) {
        const char *name = trial_name(trial, "register-%u", i);
        struct text bytes = i < ARRAY_LENGTH(damaged) ? damaged[i] : sealed;
        EXPECT_RESULT(s->driver->put(s, name, bytes, NULL, &result, &version, &err), CLUSTER_OK);
        EXPECT_RESULT(trial_get(trial, s, name, &result, &value, &err), CLUSTER_OK);
        enum status status = value_unseal(name, value.bytes, &json, &err);
        EXPECT(status == (i < ARRAY_LENGTH(damaged) ? STATUS_CORRUPT : STATUS_OK), "value %u: status %d", i, (int)status);
        struct cluster_lease *lease;
        status = trial_acquire(trial, s, name, "somebody", &result, &lease, &err);
        EXPECT(status == STATUS_CORRUPT || (status == STATUS_OK && result == CLUSTER_CONFLICT),
               "a lease on a foreign register %u: status %d, result %s", i, (int)status, trial_result_name(result));
    }
    return NULL;
}

const struct check driver_register_checks[] = {
    {"D3", "a put on a stale version conflicts and changes nothing", check_stale},
    {"D4", "a stale delete conflicts; a register made again has a new version", check_remake},
    {"D5", "every get sees every put that returned before, in this session and another", check_reads},
    {"D7", "64 KiB come back whole, one byte more is refused, and nothing is a value", check_sizes},
    {"D16", "a zeroed, cut, flipped, foreign value is CORRUPT, never a lease to take", check_damage},
    {NULL, NULL, NULL},
};
