/* formats/format.h: between bytes and columns.
 *
 * For         every connector that carries records of bytes. One decoder_type and one encoder_type per format name.
 * Decoding    decode() is given bytes and appends rows to a target. In a stream (files) it finds the borders of records
 *             itself, consumes whole records only, and says how many bytes; `last` says that nothing follows. With `framed`
 *             (one message of a queue) all bytes are one record.
 * Errors      A record that cannot be read is reported to the target's `fail` with its field and bytes; the answer says stop
 *             or go on (the record then leaves no row; the error policy is the connector's). What Flink's own switches
 *             (ignore-parse-errors, ...) drop is counted by target->dropped. Input never crashes or hangs a decoder.
 * Strings     may be views into the input: the caller passes the counted buffer that holds it (`block`); else they go to
 *             the target's heaps.
 * Threads     A decoder belongs to one thread at a time. The types are constants.
 */
#ifndef SPATE_FORMATS_FORMAT_H
#define SPATE_FORMATS_FORMAT_H

#include "base/option.h"
#include "data/batch.h"
#include "data/projection.h"
#include "data/time_zone.h"

struct decode_failure {
    enum error_code code;
    const char *field; /* path of the field, "" for the whole record */
    const char *text;  /* what is wrong, quoting the value's first bytes */
    struct text record;
    uint64_t record_offset; /* in the bytes given */
    uint64_t line;          /* lines before it in the bytes given */
};
struct decode_target {
    struct budget *budget;
    struct batch *batch; /* columns created for row_limit rows by decode_target_open; count grows */
    uint32_t row_limit;
    int64_t *weights; /* for formats that carry changes; NULL: inserts only */
    uint64_t dropped; /* records dropped by the format's own switches */
    /* true: go on without the record; false: stop (decode returns BAD_RECORD with err set) */
    bool (*fail)(void *owner, const struct decode_failure *failure, struct error *err);
    void *owner;
};
struct decode_input {
    const char *bytes;
    size_t length;
    struct buffer *block; /* counted buffer that holds bytes; NULL: copy strings */
    bool framed, last;
    size_t consumed; /* out */
    uint64_t lines;  /* out: line ends in what was consumed (0 if framed) */
    /* out: the target was full in the middle of the record that begins at `consumed`: so many of its rows were given, in this and earlier
     * calls. The next call goes on there; so does another decoder that is given the record and whose first rows are passed over. */
    uint32_t returned;
};

struct format_context {
    struct arena *arena; /* lives as long as the decoder or encoder */
    struct budget *budget;
    const struct time_zone *zone;
    const struct type *row;               /* ROW of the columns, in order */
    const struct projection *projections; /* decoding: per column; NULL: all */
    const uint32_t *primary_key;          /* encoding changes */
    uint32_t primary_key_count;
};

struct decoder {
    const struct decoder_type *type;
};
struct decoder_type {
    const char *name, *summary;
    const struct option_def *options; /* keys without the "name." prefix */
    size_t option_count, settings_bytes;
    bool carries_changes; /* may produce weights other than +1 */
    bool takes_all_bytes; /* also a byte order mark at the beginning of a file, which others must not see */
    enum status (*open)(const struct format_context *context, const void *settings, struct decoder **decoder, struct error *err);
    enum status (*decode)(struct decoder *decoder, struct decode_input *input, struct decode_target *target, struct error *err);
    void (*close)(struct decoder *decoder);
};

struct encoder {
    const struct encoder_type *type;
};
enum row_kind { ROW_INSERT, ROW_UPDATE_BEFORE, ROW_UPDATE_AFTER, ROW_DELETE };
struct encoder_type {
    const char *name, *summary;
    const struct option_def *options;
    size_t option_count, settings_bytes;
    bool carries_changes;
    enum status (*open)(const struct format_context *context, const void *settings, struct encoder **encoder, struct error *err);
    /* Appends one record for the row, without the line end that separates records in files. */
    enum status (*encode)(struct encoder *encoder, const struct batch *batch, uint32_t row, enum row_kind kind, struct text_builder *out,
                          struct error *err);
    void (*close)(struct encoder *encoder);
};

/* formats/registry.c: the one list. NULL: unknown. */
const struct decoder_type *decoder_type_find(const char *name);
const struct encoder_type *encoder_type_find(const char *name);
const struct decoder_type *const *decoder_type_list(uint32_t *count);
const struct encoder_type *const *encoder_type_list(uint32_t *count);

/* A batch with room for row_limit rows of the format's columns (unused ones PHYSICAL_NULL). */
enum status decode_target_open(struct decode_target *target, const struct format_context *context, uint32_t row_limit, struct batch *batch,
                               struct error *err);

#endif
