/* D6, D8: names and lists. */
#include "cluster/driver_check_trial.h"

static const char *expect_list(struct trial *trial, struct cluster_session *s, const char *prefix, uint32_t count)
{
    struct error err;
    struct cluster_names names;
    EXPECT_OK(s->driver->list(s, prefix, trial->arena, &names, &err));
    EXPECT(names.count == count, "below '%s' are %u names, not %u", prefix, names.count, count);
    for (uint32_t i = 0; i < names.count; i++) {
        EXPECT(strncmp(names.names[i], prefix, strlen(prefix)) == 0, "'%s' is not below '%s'", names.names[i], prefix);
        EXPECT(i == 0 || strcmp(names.names[i - 1], names.names[i]) < 0, "'%s' is before '%s'", names.names[i - 1], names.names[i]);
    }
    return NULL;
}

/* Puts and deletes beside the list while others read it. */
struct lister {
    atomic_uint stop, failures;
    char failure[500];
};

static bool list_or_change(struct team_member *member)
{
    struct trial *trial = member->trial;
    struct lister *shared = member->shared;
    struct cluster_session *s = member->session;
    struct error err = {.text = ""};
    enum cluster_result result;
    struct budget budget;
    budget_init(&budget, NULL, "a list", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "a list");
    for (uint32_t round = 0; member->number == 0 ? round < 5 : shared->stop == 0; round++) {
        char name[CLUSTER_NAME_MAX];
        struct cluster_names names;
        struct cluster_version version;
        arena_reset(arena);
        snprintf(name, sizeof name, "%s/fixed/", trial->prefix);
        bool fine = member->number > 0 || (s->driver->list(s, name, arena, &names, &err) == STATUS_OK &&
                                           names.count >= trial->options->names && names.count <= trial->options->names + 1);
        snprintf(name, sizeof name, "%s/fixed/between", trial->prefix);
        if (member->number > 0) {
            fine = trial_put(s, name, "x", NULL, &result, &version, &err) == STATUS_OK &&
                   (result != CLUSTER_OK || s->driver->del(s, name, &version, &result, &err) == STATUS_OK);
        }
        if (!fine && atomic_fetch_add(&shared->failures, 1) == 0) {
            snprintf(shared->failure, sizeof shared->failure, "%s: %.400s", member->number == 0 ? "a list lacks names" : "put", err.text);
        }
    }
    shared->stop |= member->number == 0;
    arena_destroy(arena);
    return true;
}

static const char *put_names(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version version;
    EXPECT_OK(trial_open(trial, &s, &err));
    for (uint32_t i = 0; i < trial->options->names; i++) {
        EXPECT_RESULT(trial_put(s, trial_name(trial, "fixed/%020u", i), "x", NULL, &result, &version, &err), CLUSTER_OK);
    }
    EXPECT_RESULT(trial_put(s, trial_name(trial, "fixed"), "x", NULL, &result, &version, &err), CLUSTER_OK);
    EXPECT_RESULT(trial_put(s, trial_name(trial, "fixed-beside"), "x", NULL, &result, &version, &err), CLUSTER_OK);
    const char *failure = expect_list(trial, s, trial_name(trial, "fixed/"), trial->options->names);
    failure = failure != NULL ? failure : expect_list(trial, s, trial_name(trial, "fixed"), trial->options->names + 2);
    failure = failure != NULL
                  ? failure
                  : expect_list(trial, s, trial_name(trial, "fixed/%019u", 0), trial->options->names < 10 ? trial->options->names : 10);
    failure = failure != NULL ? failure : expect_list(trial, s, trial_name(trial, "nothing/"), 0);
    if (!trial->one_process) { /* forks come next */
        trial_close(trial, s, true);
    }
    return failure;
}

static const char *check_list(struct trial *trial)
{
    const char *failure = put_names(trial);
    if (failure != NULL) {
        return failure;
    }
    struct lister *shared = trial_shared(sizeof *shared);
    bool fine = shared != NULL && trial_team(trial, TRIAL_PROCESSES, 1, list_or_change, shared);
    const char *text = !fine                  ? trial_fail(trial, "a process failed")
                       : shared->failures > 0 ? trial_fail(trial, "%u failures; the first: %s", shared->failures, shared->failure)
                                              : NULL;
    trial_unshare(shared, sizeof *shared);
    return text;
}

/* Names that a careless driver maps to one, or refuses. */
static const char *const odd_names[] = {
    "a",
    "A",
    "a/b",
    "a+/b",
    "a+",
    "a.",
    "a..",
    "..a",
    ".a",
    "a%2Fb",
    "a%2fb",
    "a%",
    "a%25",
    "%61",
    "a b",
    "a\\b",
    "a\tb",
    "a:b",
    "a*b?",
    "a\"b",
    "a<b>c|d",
    "ä",
    "a\xcc\x88",
    "Ä",
    "\xf0\x9f\x8c\x8a/wave",
    "a&b=c",
    "a#b",
    "a;b",
    "a,b",
    "a'b",
    "~a",
    "-a",
    "_a",
    "zookeeper",
    "zookeeper/quota",
    "a\177b",
    "con",
    "nul.txt",
    "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p",
    "\xef\xbf\xbd",
    "\xc2\x85x",
    "a/B/c",
    "a/b/C",
};
static const char *const wrong_names[] = {"", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "\xff", "a\xc3"};

static const char *check_names(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version version;
    struct cluster_value value;
    EXPECT_OK(trial_open(trial, &s, &err));
    for (uint32_t i = 0; i < ARRAY_LENGTH(odd_names); i++) {
        EXPECT_RESULT(trial_put(s, trial_name(trial, "%s", odd_names[i]), odd_names[i], NULL, &result, &version, &err), CLUSTER_OK);
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(odd_names); i++) {
        EXPECT_RESULT(trial_get(trial, s, trial_name(trial, "%s", odd_names[i]), &result, &value, &err), CLUSTER_OK);
        EXPECT(text_equal(value.bytes, text_from(odd_names[i])), "'%s' and '%.*s' are one register", odd_names[i], (int)value.bytes.length,
               value.bytes.bytes);
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(wrong_names); i++) {
        EXPECT(trial_put(s, wrong_names[i], "x", NULL, &result, &version, &err) == STATUS_INVALID_OPTION, "the name '%s' is not refused",
               wrong_names[i]);
        EXPECT(trial_get(trial, s, wrong_names[i], &result, &value, &err) == STATUS_INVALID_OPTION, "the name '%s' can be read",
               wrong_names[i]);
    }
    return expect_list(trial, s, trial_name(trial, "%s", ""), ARRAY_LENGTH(odd_names));
}

static const char *check_long_names(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version version;
    struct cluster_value value;
    char name[CLUSTER_NAME_MAX + 2];
    size_t start = strlen(trial->prefix) + 1;
    snprintf(name, sizeof name, "%s/", trial->prefix);
    memset(name + start, 'n', CLUSTER_NAME_MAX + 1 - start);
    name[CLUSTER_NAME_MAX + 1] = '\0';
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT(trial_put(s, name, "x", NULL, &result, &version, &err) == STATUS_INVALID_OPTION, "a name of 601 bytes is not refused");
    name[CLUSTER_NAME_MAX] = '\0';
    EXPECT_RESULT(trial_put(s, name, "long", NULL, &result, &version, &err), CLUSTER_OK);
    name[CLUSTER_NAME_MAX - 1] = 'm';
    EXPECT_RESULT(trial_put(s, name, "other", NULL, &result, &version, &err), CLUSTER_OK);
    name[CLUSTER_NAME_MAX - 1] = 'n';
    EXPECT_RESULT(trial_get(trial, s, name, &result, &value, &err), CLUSTER_OK);
    EXPECT(text_equal(value.bytes, TEXT("long")), "two names of 600 bytes that differ in the last are one");
    return expect_list(trial, s, trial_name(trial, "%s", ""), 2);
}

const struct check driver_name_checks[] = {
    {"D6", "a list has all names, in order, while others come and go", check_list},
    {"D8", "names with every character: taken as they are, never two for one", check_names},
    {"D8", "a name of 600 bytes is one, of 601 is refused", check_long_names},
    {NULL, NULL, NULL},
};
