#include "cluster/task_id.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *task_text(uint64_t task, char text[TASK_TEXT_BYTES])
{
    return task_run_text(task, task, text);
}

const char *task_run_text(uint64_t first, uint64_t last, char text[TASK_TEXT_BYTES])
{
    if (first == TASK_ALL) {
        snprintf(text, TASK_TEXT_BYTES, "all");
    } else if (first == last) {
        snprintf(text, TASK_TEXT_BYTES, "s%" PRIu32 ".%" PRIu32, task_stage(first), task_partition(first));
    } else {
        snprintf(text, TASK_TEXT_BYTES, "s%" PRIu32 ".%" PRIu32 "-%" PRIu32, task_stage(first), task_partition(first),
                 task_partition(last));
    }
    return text;
}

/* Digits without sign or blanks; *text moves behind them. */
static bool parse_number(const char **text, uint32_t *number)
{
    uint64_t value = 0;
    const char *start = *text;
    for (; isdigit((unsigned char)**text); (*text)++) {
        value = value * 10 + (uint64_t)(**text - '0');
        if (value > UINT32_MAX) {
            return false;
        }
    }
    *number = (uint32_t)value;
    return *text != start;
}

bool task_run_parse(const char *text, uint64_t *first, uint64_t *last)
{
    uint32_t stage, from, to;
    if (strcmp(text, "all") == 0) {
        *first = *last = TASK_ALL;
        return true;
    }
    if (*text++ != 's' || !parse_number(&text, &stage) || *text++ != '.' || !parse_number(&text, &from)) {
        return false;
    }
    to = from;
    if (*text == '-' && (text++, !parse_number(&text, &to))) {
        return false;
    }
    *first = task_make(stage, from);
    *last = task_make(stage, to);
    return *text == '\0' && from <= to && *last != TASK_ALL;
}

bool life_equal(struct life left, struct life right)
{
    return left.incarnation == right.incarnation &&
           (left.id == right.id || (left.id != NULL && right.id != NULL && strcmp(left.id, right.id) == 0));
}

const char *life_text(struct life life, char text[LIFE_TEXT_BYTES])
{
    if (life.id == NULL) {
        snprintf(text, LIFE_TEXT_BYTES, "-");
    } else {
        snprintf(text, LIFE_TEXT_BYTES, "%.*s#%" PRIx64, LIFE_ID_MAX, life.id, life.incarnation);
    }
    return text;
}

bool incarnation_parse(const char *text, uint64_t *incarnation)
{
    char *end;
    if (!isxdigit((unsigned char)*text) || strlen(text) > 16) {
        return false;
    }
    *incarnation = strtoull(text, &end, 16);
    return *end == '\0';
}

bool life_parse(const char *text, struct arena *arena, struct life *life)
{
    const char *mark = strrchr(text, '#');
    if (mark == NULL || mark == text || !incarnation_parse(mark + 1, &life->incarnation)) {
        return false;
    }
    life->id = arena_text(arena, text, (size_t)(mark - text));
    return life->id != NULL;
}

bool life_keep(struct life life, struct arena *arena, struct life *kept)
{
    *kept = life;
    if (life.id != NULL) {
        kept->id = arena_text(arena, life.id, strlen(life.id));
    }
    return life.id == NULL || kept->id != NULL;
}
