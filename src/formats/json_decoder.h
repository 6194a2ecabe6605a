/* formats/json_decoder.h: lines of JSON, whatever a record is.
 *
 * For         json_decode.c (an object is a row), debezium_json.c (an object is a change).
 * Shape       json_decode finds the records and tells of those that cannot be read; `read` makes rows of one. It is given readable text
 *             (json_scan.h) and appends to target->batch while that has room.
 * Records of several rows   When the target is full before the last one, `read` answers FULL, with `returned`: how many rows of this record
 *             were given so far, in all calls. It is called again for the same record and goes on; `resume` is its own count to that end.
 */
#ifndef SPATE_FORMATS_JSON_DECODER_H
#define SPATE_FORMATS_JSON_DECODER_H

#include "formats/json_reader.h"

enum json_record_end { JSON_RECORD_READ, JSON_RECORD_FULL, JSON_RECORD_BAD };
struct json_decoder;
/* Reads the record at *position; after success *position is behind its value. BAD: see json_fail. */
typedef enum json_record_end json_read_fn(struct json_decoder *self, const char **position, const struct decode_target *target);

struct json_decoder {
    struct decoder base;
    struct json_reader reader;
    json_read_fn *read;
    struct batch *bound; /* continued by the next call if its count is still bound_count */
    uint32_t bound_count;
    uint32_t resume, returned; /* 0: the record is a new one */
    char *copy;
    size_t copy_capacity;
};
enum status json_decoder_init(struct json_decoder *self, const struct format_context *context, const struct json_settings *settings,
                              json_read_fn *read, struct error *err);
enum status json_decode(struct decoder *decoder, struct decode_input *input, struct decode_target *target, struct error *err);
void json_decoder_close(struct decoder *decoder);

#endif
