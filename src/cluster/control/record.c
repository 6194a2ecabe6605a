#include "cluster/control/record.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "functions/digest.h"

#define X(name, text) text,
static const char *const kind_texts[] = {CONTROL_KIND_LIST(X)};
static const char *const how_texts[] = {CONTROL_HOW_LIST(X)};
static const char *const verdict_texts[] = {CONTROL_VERDICT_LIST(X)};
static const char *const outcome_texts[] = {CONTROL_OUTCOME_LIST(X)};
#undef X

const char *control_kind_text(enum control_kind kind)
{
    return kind_texts[kind];
}

const char *control_how_text(enum control_how how)
{
    return how_texts[how];
}

const char *control_verdict_text(enum control_verdict verdict)
{
    return verdict_texts[verdict];
}

const char *control_outcome_text(enum control_outcome outcome)
{
    return outcome_texts[outcome];
}

/* 48 bits of time and 80 random ones, five bits a digit, without letters that are read as others. */
void control_id_make(struct random_source *random, int64_t wall_ms, char id[CONTROL_ID_BYTES])
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint64_t high = (uint64_t)wall_ms << 16 | (random_next(random) & 0xffff), low = random_next(random);
    for (int i = CONTROL_ID_BYTES - 2; i >= 0; i--) {
        id[i] = digits[low & 31];
        low = low >> 5 | high << 59;
        high >>= 5;
    }
    id[CONTROL_ID_BYTES - 1] = '\0';
}

enum status control_args_make(const char *json, struct arena *arena, const char **args, char sha256[CONTROL_SHA256_BYTES],
                              struct error *err)
{
    json_error_t problem;
    json_t *object = json_loads(json, JSON_REJECT_DUPLICATES, &problem);
    uint8_t digest[DIGEST_BYTES_MAX];
    if (!json_is_object(object)) {
        enum status status = error_set(err, ERROR_CTL_BAD_ARGUMENTS, "the arguments are not a JSON object: %s",
                                       object == NULL ? problem.text : "it is another value");
        json_decref(object);
        return status;
    }
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    *args = text == NULL ? NULL : arena_text(arena, text, strlen(text));
    free(text);
    if (*args == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the arguments");
    }
    size_t bytes = digest_compute(DIGEST_SHA256, *args, strlen(*args), digest);
    digest_text(digest, bytes, sha256);
    return STATUS_OK;
}

enum status control_propose_check(const struct control_propose *propose, struct error *err)
{
    const struct {
        const char *what, *text;
        size_t max;
        bool required;
    } texts[] = {
        {"verb", propose->verb, CONTROL_VERB_MAX, true},
        {"actor", propose->actor, CONTROL_ACTOR_MAX, true},
        {"key", propose->key, CONTROL_KEY_MAX, false},
        {"arguments", propose->args, CONTROL_ARGS_MAX, true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        if (texts[i].text == NULL ? texts[i].required : texts[i].text[0] == '\0') {
            return error_set(err, ERROR_CTL_BAD_ARGUMENTS, "the %s of an edit must not be empty", texts[i].what);
        }
        if (texts[i].text != NULL && strlen(texts[i].text) > texts[i].max) {
            return error_set(err, ERROR_CTL_TOO_LARGE, "the %s of an edit is %zu bytes long; %zu are allowed", texts[i].what,
                             strlen(texts[i].text), texts[i].max);
        }
    }
    const char *texts_in[] = {propose->verb, propose->actor, propose->key};
    for (size_t i = 0; i < ARRAY_LENGTH(texts_in); i++) {
        if (texts_in[i] != NULL && utf8_valid_length(texts_in[i], strlen(texts_in[i])) != strlen(texts_in[i])) {
            return error_set(err, ERROR_CTL_BAD_ARGUMENTS, "verb, actor and key of an edit must be UTF-8");
        }
    }
    if (propose->deadline_ms < 0) {
        return error_set(err, ERROR_CTL_BAD_ARGUMENTS, "the deadline of an edit must not be negative");
    }
    return STATUS_OK;
}

const char *control_code_text(enum error_code code, char text[CONTROL_CODE_BYTES])
{
    const struct error_info *info = error_info_find((uint32_t)code);
    if (info == NULL || strncmp(info->name, "CTL_", 4) != 0) {
        snprintf(text, CONTROL_CODE_BYTES, "SPATE-%u", (unsigned)code);
        return text;
    }
    snprintf(text, CONTROL_CODE_BYTES, "%s", info->name);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '_' ? '-' : *at;
    }
    return text;
}
