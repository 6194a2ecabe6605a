/* storage/http_client.h: requests to a store over HTTP, tried again until they are answered or their time is over.
 *
 * For         the drivers of stores in the network (azure, s3): part of their modules, over libcurl.
 * Shape       A request has a path and a query (names and values as they are, encoded when sent), headers and a body in memory. It is
 *             signed before every attempt. What may pass is tried again: no connection, no answer, 408, 429 and most of 5xx, with a pause
 *             that doubles from 100 ms to 5 s, half of it by chance. What was answered otherwise is the caller's to judge.
 * Invariants  `may_be_done` of a response is true when an attempt before the last got no clear answer: the store may have done it.
 *             Bytes go to a sink once: when a body breaks off, http_call ends with `broken` set and the caller asks for the rest.
 * Limits      A body that is not for a sink: 32 MiB. An attempt is given up when nothing moves for ten seconds.
 * Threads     A client: any. A request and its response: one.
 */
#ifndef SPATE_STORAGE_HTTP_CLIENT_H
#define SPATE_STORAGE_HTTP_CLIENT_H

#include "base/random.h"
#include "base/text.h"
#include "storage/object.h"

enum { HTTP_QUERY_MAX = 12, HTTP_BODY_MAX = 32 << 20 };

struct http_query {
    const char *name, *value; /* "" or a value; as they are, not encoded */
};
struct http_request {
    const char *method;
    struct text_builder path; /* encoded, begins with '/' */
    struct http_query query[HTTP_QUERY_MAX];
    uint32_t query_count;
    struct text_builder headers; /* "name: value\n", names in lower case */
    size_t unsigned_length;      /* of headers: what the signature added is behind it */
    const void *body;
    size_t body_bytes;
    const struct object_sink *sink; /* where the body of a 2xx goes; NULL: the response's own */
};
struct http_response {
    long status;
    struct text_builder headers, body; /* headers as in a request; body: an error's, or all without a sink */
    bool may_be_done, broken;
    uint64_t sunk; /* bytes that went to the sink in this call */
};
struct http_client;
struct http_settings {
    const char *endpoint;  /* "https://host[:port]", without a path */
    const char *raw_query; /* put behind every query as it is: a signature made by others; NULL: none */
    const char *ca_file;   /* NULL: the system's */
    int64_t timeout_us;    /* for one request with its retries, after the last sign of progress */
    const struct clock *clock;
    struct random_source *random;
    /* Adds what proves who asks: headers (http_header_add). */
    enum status (*sign)(void *context, struct http_request *request, struct error *err);
    void *context;
};
enum status http_client_open(const struct http_settings *settings, struct http_client **client, struct error *err);
void http_client_close(struct http_client *client); /* NULL is allowed */

void http_query_add(struct http_request *request, const char *name, const char *value);
void http_header_add(struct http_request *request, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);
void http_request_close(struct http_request *request);
/* The value of a header in "name: value\n" lines, {NULL, 0} without. Names in lower case. */
struct text http_header_find(const struct text_builder *headers, const char *name);
void http_response_close(struct http_response *response);

/* UNAVAILABLE: nothing clear by the deadline; the text says what came last. Closes nothing. */
enum status http_call(struct http_client *client, struct http_request *request, struct http_response *response, struct error *err);

/* Appends bytes, all but letters, digits and "-._~" as %XX; `keep_slash`: '/' too. */
void http_encode(struct text_builder *out, struct text bytes, bool keep_slash);
void http_decode(struct text_builder *out, struct text bytes); /* %XX; what is no escape stays */
/* "Sun, 06 Nov 1994 08:49:37 GMT" and back; -1: no such text. */
int64_t http_date_parse(struct text text);
void http_date_format(int64_t wall_us, char text[32]);

#endif
