#include "storage/http_client.h"

#include <assert.h>
#include <ctype.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { IDLE_MAX = 64, PAUSE_FIRST_US = 100000, PAUSE_MAX_US = 5000000, STALL_SECONDS = 10 };

struct http_client {
    struct http_settings settings;
    pthread_mutex_t mutex;
    CURL *idle[IDLE_MAX]; /* with their open connections */
    uint32_t idle_count;
};
/* One attempt. */
struct transfer {
    CURL *curl;
    const struct http_request *request;
    struct http_response *response;
    enum status sink_status;
    uint32_t requests; /* curl sends a second one of itself when a connection that was open already turns out to be closed */
    struct error *err;
    char message[CURL_ERROR_SIZE];
};
enum outcome { ANSWERED, NOT_SENT, NO_ANSWER, SINK_FAILED, UNTRUSTED };

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_state;

static void start_curl(void)
{
    curl_state = curl_global_init(CURL_GLOBAL_ALL);
}

enum status http_client_open(const struct http_settings *settings, struct http_client **client, struct error *err)
{
    pthread_once(&curl_once, start_curl);
    if (curl_state != CURLE_OK) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot start libcurl: %s", curl_easy_strerror(curl_state));
    }
    struct http_client *opened;
    TRY_ALLOC(opened, calloc(1, sizeof *opened), err);
    opened->settings = *settings;
    pthread_mutex_init(&opened->mutex, NULL);
    *client = opened;
    return STATUS_OK;
}

void http_client_close(struct http_client *client)
{
    if (client != NULL) {
        while (client->idle_count > 0) {
            curl_easy_cleanup(client->idle[--client->idle_count]);
        }
        pthread_mutex_destroy(&client->mutex);
        free(client);
    }
}

void http_query_add(struct http_request *request, const char *name, const char *value)
{
    assert(request->query_count < HTTP_QUERY_MAX);
    request->query[request->query_count++] = (struct http_query){name, value};
}

void http_header_add(struct http_request *request, const char *name, const char *format, ...)
{
    char value[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    text_append_format(&request->headers, "%s: %s\n", name, value);
}

void http_request_close(struct http_request *request)
{
    text_builder_close(&request->path);
    text_builder_close(&request->headers);
}

void http_response_close(struct http_response *response)
{
    text_builder_close(&response->headers);
    text_builder_close(&response->body);
}

struct text http_header_find(const struct text_builder *headers, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = headers->bytes; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1 + strspn(line + length + 1, " ");
            return (struct text){value, strcspn(value, "\n")};
        }
    }
    return (struct text){NULL, 0};
}

void http_encode(struct text_builder *out, struct text bytes, bool keep_slash)
{
    for (size_t i = 0; i < bytes.length; i++) {
        unsigned char byte = (unsigned char)bytes.bytes[i];
        bool plain = byte < 0x80 && (isalnum(byte) || strchr("-._~", byte) != NULL) && byte != '\0';
        if (plain || (keep_slash && byte == '/')) {
            text_append_char(out, (char)byte);
        } else {
            text_append_format(out, "%%%02X", byte);
        }
    }
}

static int hex_value(char digit)
{
    return isdigit((unsigned char)digit) ? digit - '0' : isxdigit((unsigned char)digit) ? tolower((unsigned char)digit) - 'a' + 10 : -1;
}

void http_decode(struct text_builder *out, struct text bytes)
{
    for (size_t i = 0; i < bytes.length; i++) {
        bool escape =
            bytes.bytes[i] == '%' && i + 2 < bytes.length && hex_value(bytes.bytes[i + 1]) >= 0 && hex_value(bytes.bytes[i + 2]) >= 0;
        text_append_char(out, escape ? (char)(16 * hex_value(bytes.bytes[i + 1]) + hex_value(bytes.bytes[i + 2])) : bytes.bytes[i]);
        i += escape ? 2 : 0;
    }
}

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

int64_t http_date_parse(struct text text)
{
    char copy[40], month[4];
    struct tm time = {0};
    snprintf(copy, sizeof copy, "%.*s", (int)(text.length < 39 ? text.length : 39), text.length == 0 ? "" : text.bytes);
    if (sscanf(copy, "%*3c, %2d %3s %4d %2d:%2d:%2d", &time.tm_mday, month, &time.tm_year, &time.tm_hour, &time.tm_min, &time.tm_sec) !=
        6) {
        return -1;
    }
    time.tm_year -= 1900;
    for (time.tm_mon = 0; time.tm_mon < 12 && strcmp(months[time.tm_mon], month) != 0; time.tm_mon++) {
    }
    return time.tm_mon == 12 ? -1 : (int64_t)timegm(&time) * 1000000;
}

void http_date_format(int64_t wall_us, char text[32])
{
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm time;
    gmtime_r(&seconds, &time);
    snprintf(text, 32, "%s, %02d %s %04u %02d:%02d:%02d GMT", days[time.tm_wday], time.tm_mday, months[time.tm_mon],
             (unsigned)(time.tm_year + 1900) % 10000u, time.tm_hour, time.tm_min, time.tm_sec);
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    struct http_response *response = ((struct transfer *)context)->response;
    size_t length = size * count, colon = 0;
    if (length >= 5 && memcmp(bytes, "HTTP/", 5) == 0) {
        text_builder_clear(&response->headers); /* those of "100 Continue" */
        return length;
    }
    size_t end = length;
    while (end > 0 && isspace((unsigned char)bytes[end - 1])) {
        end--;
    }
    for (; colon < end && bytes[colon] != ':'; colon++) {
        bytes[colon] = (char)tolower((unsigned char)bytes[colon]);
    }
    if (colon < end) {
        text_append(&response->headers, bytes, end);
        text_append_char(&response->headers, '\n');
    }
    return length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    struct http_response *response = transfer->response;
    size_t length = size * count;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &response->status);
    if (transfer->request->sink != NULL && response->status >= 200 && response->status < 300) {
        const struct object_sink *sink = transfer->request->sink;
        transfer->sink_status = sink->write(sink->context, bytes, length, transfer->err);
        response->sunk += length;
        return transfer->sink_status == STATUS_OK ? length : 0;
    }
    if (response->body.length + length > HTTP_BODY_MAX) {
        return 0;
    }
    text_append(&response->body, bytes, length);
    return response->body.failed ? 0 : length;
}

static int count_request(void *context, char *local_address, char *peer_address, int local_port, int peer_port)
{
    ((struct transfer *)context)->requests++;
    return CURL_PREREQFUNC_OK;
}

static void append_url(const struct http_client *client, const struct http_request *request, struct text_builder *url)
{
    char separator = '?';
    text_append_text(url, client->settings.endpoint);
    text_append(url, request->path.bytes, request->path.length);
    for (uint32_t i = 0; i < request->query_count; i++) {
        text_append_char(url, separator);
        http_encode(url, text_from(request->query[i].name), false);
        text_append_char(url, '=');
        http_encode(url, text_from(request->query[i].value), false);
        separator = '&';
    }
    if (client->settings.raw_query != NULL) {
        text_append_char(url, separator);
        text_append_text(url, client->settings.raw_query);
    }
}

static struct curl_slist *header_list(const struct http_request *request)
{
    struct curl_slist *list = curl_slist_append(NULL, "expect:");
    if (http_header_find(&request->headers, "content-type").length == 0) {
        list = curl_slist_append(list, "content-type:"); /* curl would make one up, which nobody signed */
    }
    char *copy = request->headers.length == 0 ? NULL : strdup(request->headers.bytes), *save = NULL;
    for (char *line = copy == NULL ? NULL : strtok_r(copy, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        size_t length = strlen(line);
        if (length >= 2 && line[length - 2] == ':') { /* curl's way to say that the value is empty */
            line[length - 2] = ';';
            line[length - 1] = '\0';
        }
        list = curl_slist_append(list, line);
    }
    free(copy);
    return list;
}

static void set_up(const struct http_client *client, struct transfer *transfer, const char *url, struct curl_slist *headers)
{
    CURL *curl = transfer->curl;
    const struct http_request *request = transfer->request;
    int64_t timeout_seconds = client->settings.timeout_us / 1000000;
    bool has_body = strcmp(request->method, "PUT") == 0 || strcmp(request->method, "POST") == 0;
    long stall = timeout_seconds < 1 ? 1 : timeout_seconds < STALL_SECONDS ? (long)timeout_seconds : STALL_SECONDS;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, stall);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, stall);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->message);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, count_request);
    curl_easy_setopt(curl, CURLOPT_PREREQDATA, transfer);
    if (client->settings.ca_file != NULL) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, client->settings.ca_file);
    }
    if (has_body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body_bytes == 0 ? "" : request->body);
    } else if (strcmp(request->method, "HEAD") == 0) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, strcmp(request->method, "HEAD") == 0 ? NULL : request->method);
}

static CURL *take_handle(struct http_client *client)
{
    pthread_mutex_lock(&client->mutex);
    CURL *curl = client->idle_count > 0 ? client->idle[--client->idle_count] : NULL;
    pthread_mutex_unlock(&client->mutex);
    return curl != NULL ? curl : curl_easy_init();
}

static void give_handle(struct http_client *client, CURL *curl)
{
    pthread_mutex_lock(&client->mutex);
    bool keep = client->idle_count < IDLE_MAX;
    if (keep) {
        client->idle[client->idle_count++] = curl;
    }
    pthread_mutex_unlock(&client->mutex);
    if (!keep) {
        curl_easy_cleanup(curl);
    }
}

static enum outcome outcome_of(CURLcode code, const struct transfer *transfer)
{
    if (transfer->sink_status != STATUS_OK) {
        return SINK_FAILED;
    }
    switch (code) {
    case CURLE_OK:
        return ANSWERED;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return UNTRUSTED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
        return transfer->requests == 0 ? NOT_SENT : NO_ANSWER;
    default:
        return NO_ANSWER;
    }
}

static enum status attempt(struct http_client *client, const struct http_request *request, struct http_response *response,
                           enum outcome *outcome, struct text_builder *last, struct error *err)
{
    struct transfer transfer = {.request = request, .response = response, .err = err, .curl = take_handle(client)};
    struct text_builder url = {0};
    append_url(client, request, &url);
    struct curl_slist *headers = header_list(request);
    if (transfer.curl == NULL || url.failed || request->headers.failed || headers == NULL) {
        curl_slist_free_all(headers);
        text_builder_close(&url);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a request");
    }
    response->status = 0;
    text_builder_clear(&response->headers);
    text_builder_clear(&response->body);
    set_up(client, &transfer, url.bytes, headers);
    CURLcode code = curl_easy_perform(transfer.curl);
    curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &response->status);
    *outcome = outcome_of(code, &transfer);
    response->may_be_done = response->may_be_done || transfer.requests > 1;
    text_builder_clear(last);
    text_append_text(last, transfer.message[0] != '\0' ? transfer.message : curl_easy_strerror(code));
    curl_easy_reset(transfer.curl); /* it must not keep pointers into this frame; connections stay */
    give_handle(client, transfer.curl);
    curl_slist_free_all(headers);
    text_builder_close(&url);
    if (*outcome == UNTRUSTED) {
        return error_set(err, ERROR_STORE_DENIED, "%s is not trusted: %s; if it should be, name its authority's certificate in 'ca-file'",
                         client->settings.endpoint, last->failed ? "" : last->bytes);
    }
    return *outcome == SINK_FAILED ? transfer.sink_status : STATUS_OK;
}

static bool is_passing(long status)
{
    return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505 && status != 507);
}

static void pause_us(int64_t us)
{
    struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

static enum status give_up(const struct http_client *client, const struct http_request *request, const struct http_response *response,
                           const char *last, uint32_t attempts, struct error *err)
{
    if (response->status >= 400) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "%s answers %ld to %s %.200s; %u attempts in %" PRId64 " s; %.300s",
                         client->settings.endpoint, response->status, request->method, request->path.bytes, attempts,
                         client->settings.timeout_us / 1000000, response->body.length == 0 ? "" : response->body.bytes);
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE, "%s does not answer %s %.200s; %u attempts in %" PRId64 " s; the last: %.300s",
                     client->settings.endpoint, request->method, request->path.bytes, attempts, client->settings.timeout_us / 1000000,
                     last);
}

static enum status sign(struct http_client *client, struct http_request *request, struct error *err)
{
    if (request->headers.length > request->unsigned_length) { /* the last attempt's */
        request->headers.length = request->unsigned_length;
        request->headers.bytes[request->headers.length] = '\0';
    }
    return client->settings.sign(client->settings.context, request, err);
}

enum status http_call(struct http_client *client, struct http_request *request, struct http_response *response, struct error *err)
{
    const struct http_settings *settings = &client->settings;
    int64_t deadline = settings->clock->monotonic_us(settings->clock) + settings->timeout_us;
    struct text_builder last = {0};
    enum status status;
    response->may_be_done = response->broken = false;
    response->sunk = 0;
    request->unsigned_length = request->headers.length;
    for (int64_t bound = PAUSE_FIRST_US, attempts = 1;; attempts++, bound = bound < PAUSE_MAX_US ? 2 * bound : bound) {
        enum outcome outcome;
        TRY_GOTO(done, status, sign(client, request, err));
        TRY_GOTO(done, status, attempt(client, request, response, &outcome, &last, err));
        response->broken = outcome == NO_ANSWER && response->sunk > 0;
        if ((outcome == ANSWERED && !is_passing(response->status)) || response->broken) {
            break;
        }
        bool refused = outcome == NOT_SENT || (outcome == ANSWERED && (response->status == 429 || response->status == 503));
        response->may_be_done = response->may_be_done || !refused;
        int64_t pause = bound / 2 + (int64_t)(random_next(settings->random) % (uint64_t)(bound / 2));
        if (settings->clock->monotonic_us(settings->clock) + pause >= deadline) {
            status = give_up(client, request, response, last.failed ? "" : last.bytes, (uint32_t)attempts, err);
            break;
        }
        pause_us(pause);
    }
done:
    if (request->headers.length > request->unsigned_length) {
        request->headers.length = request->unsigned_length;
        request->headers.bytes[request->headers.length] = '\0';
    }
    text_builder_close(&last);
    return status;
}
