/* IS_ALPHA, IS_DIGIT, IS_DECIMAL, PARSE_URL, INET_ATON, INET_NTOA: texts read or made by a form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

/* ---- tests: FALSE of NULL and of an empty text ---- */

static bool all_characters(struct text text, bool (*test)(utf8proc_category_t category))
{
    for (size_t at = 0; at < text.length;) {
        uint32_t code_point;
        size_t used = utf8_decode(text.bytes + at, text.length - at, &code_point);
        if (used == 0 || !test(utf8proc_category((utf8proc_int32_t)code_point))) {
            return false;
        }
        at += used;
    }
    return text.length > 0;
}
static bool is_letter(utf8proc_category_t category)
{
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
static bool is_digit(utf8proc_category_t category)
{
    return category == UTF8PROC_CATEGORY_ND;
}

/* What Java's Double.valueOf takes, hexadecimal forms aside. */
static bool is_number(struct text text)
{
    char copy[400];
    while (text.length > 0 && (unsigned char)text.bytes[0] <= ' ') {
        text.bytes++;
        text.length--;
    }
    while (text.length > 0 && (unsigned char)text.bytes[text.length - 1] <= ' ') {
        text.length--;
    }
    if (text.length == 0 || text.length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    const char *unsigned_part = copy + (copy[0] == '+' || copy[0] == '-');
    if (strcmp(unsigned_part, "NaN") == 0 || strcmp(unsigned_part, "Infinity") == 0) {
        return true;
    }
    if (strspn(unsigned_part, "0123456789.eE+-dDfF") < strlen(unsigned_part) || !strpbrk(unsigned_part, "0123456789")) {
        return false;
    }
    char last = copy[text.length - 1];
    if (strchr("dDfF", last) != NULL) {
        copy[text.length - 1] = '\0';
    }
    char *end;
    strtod(copy, &end);
    return *end == '\0' && end > copy;
}

static void run_test(struct kernel_call *call, bool (*test)(struct text text))
{
    bool number = call->args[0]->physical != PHYSICAL_STRING;
    EACH_ROW(call, row)
    {
        bool valid = vector_is_valid(call->args[0], row);
        vector_bool(call->result)[row] = valid && (number || test(text_arg(call, 0, row)));
    }
}
static bool test_alpha(struct text text)
{
    return all_characters(text, is_letter);
}
static bool test_digit(struct text text)
{
    return all_characters(text, is_digit);
}
static void run_is_alpha(struct kernel_call *call)
{
    run_test(call, test_alpha);
}
static void run_is_digit(struct kernel_call *call)
{
    run_test(call, test_digit);
}
static void run_is_decimal(struct kernel_call *call)
{
    run_test(call, is_number);
}

static enum status bind_test(struct function_binding *binding, kernel_fn *run, bool numbers, struct error *err)
{
    bool number = type_is_numeric(binding->args[0]->type);
    if (!number || !numbers) {
        TRY(text_bind_args(binding, "t", err));
    }
    binding->result = &type_boolean_not_null;
    binding->kernel = (struct kernel){.run = run};
    return STATUS_OK;
}
static enum status bind_is_alpha(struct function_binding *binding, struct error *err)
{
    return bind_test(binding, run_is_alpha, false, err);
}
static enum status bind_is_digit(struct function_binding *binding, struct error *err)
{
    return bind_test(binding, run_is_digit, false, err);
}
static enum status bind_is_decimal(struct function_binding *binding, struct error *err)
{
    return bind_test(binding, run_is_decimal, true, err);
}

/* ---- URLs ---- */

struct url {
    struct text protocol, authority, user, host, path, query, file, reference;
    bool has_authority, has_user, has_query, has_reference;
};

static size_t find_char(struct text text, char c)
{
    const char *found = text.length == 0 ? NULL : memchr(text.bytes, c, text.length);
    return found == NULL ? SIZE_MAX : (size_t)(found - text.bytes);
}

static struct text tail(struct text text, size_t from)
{
    return (struct text){text.bytes + from, text.length - from};
}

static bool is_known_protocol(struct text protocol)
{
    static const char *const known[] = {"http", "https", "ftp", "file", "jar", "mailto"};
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
        if (text_equal_ignoring_case(protocol, text_from(known[i]))) {
            return true;
        }
    }
    return false;
}

static void parse_authority(struct url *url)
{
    size_t at = find_char(url->authority, '@'), end;
    url->host = url->authority;
    url->has_user = at != SIZE_MAX;
    if (url->has_user) {
        url->user = (struct text){url->authority.bytes, at};
        url->host = tail(url->authority, at + 1);
    }
    bool literal = url->host.length > 0 && url->host.bytes[0] == '[';
    end = literal ? find_char(url->host, ']') : find_char(url->host, ':');
    url->host.length = end == SIZE_MAX ? url->host.length : end + (literal ? 1 : 0);
}

static bool parse_url(struct text text, struct url *url)
{
    *url = (struct url){.authority = {"", 0}, .host = {"", 0}};
    size_t colon = find_char(text, ':');
    if (colon == SIZE_MAX || !is_known_protocol((struct text){text.bytes, colon})) {
        return false;
    }
    url->protocol = (struct text){text.bytes, colon};
    struct text rest = tail(text, colon + 1);
    size_t hash = find_char(rest, '#');
    url->has_reference = hash != SIZE_MAX;
    if (url->has_reference) {
        url->reference = tail(rest, hash + 1);
        rest.length = hash;
    }
    if (rest.length >= 2 && rest.bytes[0] == '/' && rest.bytes[1] == '/') {
        size_t end = 2;
        while (end < rest.length && rest.bytes[end] != '/' && rest.bytes[end] != '?') {
            end++;
        }
        url->has_authority = true;
        url->authority = (struct text){rest.bytes + 2, end - 2};
        parse_authority(url);
        rest = tail(rest, end);
    }
    size_t question = find_char(rest, '?');
    url->file = rest;
    url->path = (struct text){rest.bytes, question == SIZE_MAX ? rest.length : question};
    url->has_query = question != SIZE_MAX;
    if (url->has_query) {
        url->query = tail(rest, question + 1);
    }
    return true;
}

static bool url_part(const struct url *url, struct text name, struct text *part)
{
    const struct {
        const char *name;
        struct text part;
        bool there;
    } parts[] = {{"HOST", url->host, true},
                 {"PATH", url->path, true},
                 {"QUERY", url->query, url->has_query},
                 {"REF", url->reference, url->has_reference},
                 {"PROTOCOL", url->protocol, true},
                 {"FILE", url->file, true},
                 {"AUTHORITY", url->authority, url->has_authority},
                 {"USERINFO", url->user, url->has_user}};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        if (text_equal(name, text_from(parts[i].name))) {
            *part = parts[i].part;
            return parts[i].there;
        }
    }
    return false;
}

/* The value of key=value between & signs. */
static bool query_value(struct text query, struct text key, struct text *value)
{
    while (query.length > 0) {
        size_t end = find_char(query, '&');
        struct text pair = {query.bytes, end == SIZE_MAX ? query.length : end};
        size_t equal = find_char(pair, '=');
        if (equal == key.length && text_equal((struct text){pair.bytes, equal}, key)) {
            *value = tail(pair, equal + 1);
            return true;
        }
        query = end == SIZE_MAX ? (struct text){"", 0} : tail(query, end + 1);
    }
    return false;
}

static void run_parse_url(struct kernel_call *call)
{
    if (!text_share(call, 0)) {
        return;
    }
    EACH_ROW(call, row)
    {
        struct url url;
        struct text part, name = text_arg(call, 1, row);
        bool found = parse_url(text_arg(call, 0, row), &url) && url_part(&url, name, &part);
        if (found && call->arg_count > 2) {
            found = text_equal(name, TEXT("QUERY")) && query_value(part, text_arg(call, 2, row), &part);
        }
        if (!found) {
            kernel_set_null(call, row);
        } else if (part.bytes == url.protocol.bytes) { /* in small letters */
            char small[16];
            for (size_t i = 0; i < part.length; i++) {
                small[i] = (char)(part.bytes[i] | 32);
            }
            if (!text_put(call, row, small, part.length)) {
                return;
            }
        } else {
            text_put_part(call, row, part.bytes == NULL ? "" : part.bytes, part.length);
        }
    }
}
static enum status bind_parse_url(struct function_binding *binding, struct error *err)
{
    return text_bind(binding, "t", &type_string, run_parse_url, FUNCTION_NULLABLE, err);
}

/* ---- IP addresses: a, a.b, a.b.c, a.b.c.d; the last number fills what is left ---- */

static bool parse_address(struct text text, int64_t *address)
{
    uint64_t numbers[4];
    uint32_t count = 0;
    for (size_t at = 0; at <= text.length; at++) {
        size_t start = at;
        uint64_t number = 0;
        for (; at < text.length && text.bytes[at] >= '0' && text.bytes[at] <= '9' && number <= UINT32_MAX; at++) {
            number = number * 10 + (uint64_t)(text.bytes[at] - '0');
        }
        if (at == start || count == 4 || (at < text.length && text.bytes[at] != '.')) {
            return false;
        }
        numbers[count++] = number;
        if (at == text.length) {
            break;
        }
    }
    if (count == 0 || (text.length > 0 && text.bytes[text.length - 1] == '.')) {
        return false;
    }
    uint64_t value = numbers[count - 1], limit = UINT64_C(1) << (8 * (5 - count));
    if (value >= limit) {
        return false;
    }
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (numbers[i] > 255) {
            return false;
        }
        value |= numbers[i] << (24 - 8 * i);
    }
    *address = (int64_t)value;
    return true;
}

static void run_inet_aton(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        if (!parse_address(text_arg(call, 0, row), &vector_int64(call->result)[row])) {
            kernel_set_null(call, row);
        }
    }
}

static void run_inet_ntoa(struct kernel_call *call)
{
    EACH_ROW(call, row)
    {
        int64_t value = integer_arg(call, 0, row);
        char text[16];
        if (value < 0 || value > UINT32_MAX) {
            kernel_set_null(call, row);
            continue;
        }
        int length = snprintf(text, sizeof text, "%d.%d.%d.%d", (int)(value >> 24), (int)(value >> 16 & 255), (int)(value >> 8 & 255),
                              (int)(value & 255));
        if (!text_put(call, row, text, (size_t)length)) {
            return;
        }
    }
}
static enum status bind_inet_aton(struct function_binding *binding, struct error *err)
{
    return text_bind(binding, "t", &type_bigint, run_inet_aton, FUNCTION_NULLABLE, err);
}
static enum status bind_inet_ntoa(struct function_binding *binding, struct error *err)
{
    return text_bind(binding, "i", &type_string, run_inet_ntoa, FUNCTION_NULLABLE, err);
}

static const struct function functions[] = {
    {"IS_ALPHA", "string", "IS_ALPHA(string)", "Are all characters letters? FALSE of NULL and of an empty text.", "IS_ALPHA('abc')", 1, 1,
     bind_is_alpha},
    {"IS_DIGIT", "string", "IS_DIGIT(string)", "Are all characters digits? FALSE of NULL and of an empty text.", "IS_DIGIT('123')", 1, 1,
     bind_is_digit},
    {"IS_DECIMAL", "string", "IS_DECIMAL(value)", "Can the value be read as a number? FALSE of NULL and of an empty text.",
     "IS_DECIMAL('1.5')", 1, 1, bind_is_decimal},
    {"PARSE_URL", "string", "PARSE_URL(url, part)\nPARSE_URL(url, 'QUERY', key)",
     "A part of a URL: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY, USERINFO, or a value of the query; NULL when it is not there.",
     "PARSE_URL('http://a.b/c?d=e', 'QUERY', 'd') = 'e'", 2, 3, bind_parse_url},
    {"INET_ATON", "string", "INET_ATON(string)", "An IPv4 address as a number; NULL when it is none.",
     "INET_ATON('127.0.0.1') = 2130706433", 1, 1, bind_inet_aton},
    {"INET_NTOA", "string", "INET_NTOA(number)", "A number as an IPv4 address; NULL outside of 0 to 4294967295.",
     "INET_NTOA(2130706433) = '127.0.0.1'", 1, 1, bind_inet_ntoa},
};

const struct function_table string_text_functions = {functions, ARRAY_LENGTH(functions)};
