/* A path is a list of steps; a walk keeps the matches of each step as a list. */
#include "functions/json_path.h"

enum step_kind { STEP_MEMBER, STEP_INDEX, STEP_ALL, STEP_BELOW };
struct step {
    enum step_kind kind;
    struct text name;
    int32_t index; /* from the end when negative */
};
struct json_path {
    bool lax, many; /* many: it can match more than one value */
    uint32_t count;
    const struct step *steps;
};

bool json_path_is_lax(const struct json_path *path)
{
    return path->lax;
}

static struct text trim(struct text text)
{
    while (text.length > 0 && (unsigned char)text.bytes[0] <= ' ') {
        text = (struct text){text.bytes + 1, text.length - 1};
    }
    while (text.length > 0 && (unsigned char)text.bytes[text.length - 1] <= ' ') {
        text.length--;
    }
    return text;
}

static void skip(struct text *text, size_t bytes)
{
    text->bytes += bytes;
    text->length -= bytes;
}

static bool skip_mode(struct text *text, const char *word)
{
    size_t length = strlen(word);
    if (text->length <= length || memcmp(text->bytes, word, length) != 0 || (unsigned char)text->bytes[length] > ' ') {
        return false;
    }
    skip(text, length);
    *text = trim(*text);
    return true;
}

/* After '.': a name up to the next '.' or '['. */
static bool read_dotted(struct text *text, struct step *step)
{
    size_t length = 0;
    while (length < text->length && text->bytes[length] != '.' && text->bytes[length] != '[') {
        length++;
    }
    step->name = (struct text){text->bytes, length};
    step->kind = length == 1 && text->bytes[0] == '*' ? STEP_ALL : STEP_MEMBER;
    skip(text, length);
    return length > 0;
}

static bool read_quoted(struct text inside, struct step *step)
{
    char quote = inside.bytes[0];
    if (inside.length < 2 || inside.bytes[inside.length - 1] != quote) {
        return false;
    }
    step->kind = STEP_MEMBER;
    step->name = (struct text){inside.bytes + 1, inside.length - 2};
    return memchr(step->name.bytes, quote, step->name.length) == NULL;
}

static bool read_index(struct text inside, struct step *step)
{
    bool negative = inside.bytes[0] == '-';
    size_t at = negative;
    int64_t value = 0;
    for (; at < inside.length && inside.bytes[at] >= '0' && inside.bytes[at] <= '9' && value < INT32_MAX; at++) {
        value = value * 10 + (inside.bytes[at] - '0');
    }
    step->kind = STEP_INDEX;
    step->index = (int32_t)(negative ? -value : value);
    return at == inside.length && at > negative && value < INT32_MAX;
}

/* After '[', through the ']' that closes it. */
static bool read_bracket(struct text *text, struct step *step)
{
    size_t length = 0;
    char quote = '\0';
    for (; length < text->length && (quote != '\0' || text->bytes[length] != ']'); length++) {
        char byte = text->bytes[length];
        if (quote != '\0') {
            quote = byte == quote ? '\0' : quote;
        } else if (byte == '\'' || byte == '"') {
            quote = byte;
        }
    }
    if (length == text->length) {
        return false;
    }
    struct text inside = trim((struct text){text->bytes, length});
    skip(text, length + 1);
    if (inside.length == 0) {
        return false;
    }
    if (inside.length == 1 && inside.bytes[0] == '*') {
        step->kind = STEP_ALL;
        return true;
    }
    return inside.bytes[0] == '\'' || inside.bytes[0] == '"' ? read_quoted(inside, step) : read_index(inside, step);
}

static bool read_step(struct text *text, struct step *step)
{
    char byte = text->bytes[0];
    skip(text, 1);
    if (byte == '[') {
        return read_bracket(text, step);
    }
    if (byte != '.' || text->length == 0) {
        return false;
    }
    if (text->bytes[0] == '.') {
        step->kind = STEP_BELOW; /* the next step applies to every value below; ".." leaves its second point */
        return text->length > 1;
    }
    if (text->bytes[0] == '[') {
        skip(text, 1);
        return read_bracket(text, step);
    }
    return read_dotted(text, step);
}

enum status json_path_compile(struct arena *arena, struct text text, const struct json_path **result, struct error *err)
{
    struct json_path *path;
    struct step *steps;
    char *copy;
    TRY_ALLOC(path, arena_alloc(arena, sizeof *path), err);
    TRY_ALLOC(copy, text_to_arena(arena, text), err);
    TRY_ALLOC(steps, arena_alloc(arena, (text.length + 1) * sizeof *steps), err);
    struct text rest = trim((struct text){copy, text.length});
    path->lax = skip_mode(&rest, "lax");
    if (!path->lax) {
        (void)skip_mode(&rest, "strict");
    }
    bool good = rest.length > 0 && rest.bytes[0] == '$';
    skip(&rest, good);
    while (good && rest.length > 0) {
        good = read_step(&rest, &steps[path->count]);
        path->many |= steps[path->count].kind >= STEP_ALL;
        path->count++;
    }
    if (!good) {
        return error_set(
            err, ERROR_INVALID_ARGUMENT,
            "'%.*s' is no JSON path that is supported; write [lax|strict] $ and then .name, ['name'], [index], [*], .* or ..name",
            (int)(text.length > 200 ? 200 : text.length), text.bytes);
    }
    path->steps = steps;
    *result = path;
    return STATUS_OK;
}

/* Matches are copies linked by `next`: the nodes of the text keep their own links. */
struct matches {
    struct arena *arena;
    struct json_value *first, **link;
    uint32_t count;
    bool failed;
};

static void add_match(struct matches *matches, const struct json_value *value)
{
    struct json_value *copy = arena_copy(matches->arena, value, sizeof *value);
    if (copy == NULL) {
        matches->failed = true;
        return;
    }
    copy->next = NULL;
    *matches->link = copy;
    matches->link = &copy->next;
    matches->count++;
}

static const struct json_value *find_member(const struct json_value *object, struct text name)
{
    const struct json_value *found = NULL;
    for (const struct json_value *member = object->first; member != NULL; member = member->next) {
        if (text_equal(member->name, name)) {
            found = member; /* the last one counts */
        }
    }
    return found;
}

static const struct json_value *find_item(const struct json_value *array, int32_t index)
{
    int64_t at = index < 0 ? (int64_t)array->count + index : index;
    const struct json_value *item = at < 0 || at >= array->count ? NULL : array->first;
    for (; item != NULL && at > 0; at--) {
        item = item->next;
    }
    return item;
}

static void add_below(struct matches *matches, const struct json_value *value)
{
    add_match(matches, value);
    for (const struct json_value *child = value->first; child != NULL; child = child->next) {
        add_below(matches, child); /* as deep as the text, which is limited */
    }
}

static void apply(const struct step *step, const struct json_value *value, struct matches *matches)
{
    const struct json_value *found = NULL;
    switch (step->kind) {
    case STEP_MEMBER:
        found = value->kind == JSON_OBJECT ? find_member(value, step->name) : NULL;
        break;
    case STEP_INDEX:
        found = value->kind == JSON_ARRAY ? find_item(value, step->index) : NULL;
        break;
    case STEP_BELOW:
        add_below(matches, value);
        break;
    case STEP_ALL:
        for (const struct json_value *child = value->first; child != NULL; child = child->next) {
            add_match(matches, child);
        }
        break;
    }
    if (found != NULL) {
        add_match(matches, found);
    }
}

enum json_found json_path_find(const struct json_path *path, struct arena *arena, const struct json_value *root,
                               const struct json_value **result)
{
    enum json_found missing = path->lax ? JSON_ABSENT : JSON_FAILED;
    if (root == NULL) {
        return missing;
    }
    struct matches current = {.arena = arena};
    current.link = &current.first;
    add_match(&current, root);
    bool many = false; /* once a step can match several, none is no error */
    for (uint32_t i = 0; i < path->count && current.count > 0; i++) {
        struct matches next = {.arena = arena};
        next.link = &next.first;
        for (const struct json_value *value = current.first; value != NULL; value = value->next) {
            apply(&path->steps[i], value, &next);
        }
        next.failed |= current.failed;
        many |= path->steps[i].kind >= STEP_ALL;
        if (next.count == 0 && !many && !next.failed) {
            return missing;
        }
        current = next;
    }
    if (current.failed) {
        return JSON_FAILED;
    }
    if (!path->many) {
        *result = current.first;
        return JSON_FOUND;
    }
    struct json_value *list = arena_alloc(arena, sizeof *list);
    if (list == NULL) {
        return JSON_FAILED;
    }
    *list = (struct json_value){.kind = JSON_ARRAY, .count = current.count, .first = current.first};
    *result = list;
    return JSON_FOUND;
}
