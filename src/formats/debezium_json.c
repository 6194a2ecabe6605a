/* debezium-json: changes, as Debezium spells them: {"before": row, "after": row, "op": "c"}.
 *
 * Reading     c (create) and r (read) insert `after`; u (update) deletes `before` and inserts `after`; d (delete) deletes `before`. With
 *             schema-include that object is the member "payload" of another. A record that is empty or null gives nothing. Other members
 *             (source, ts_ms, transaction) are passed over.
 * Writing     An update is a deletion and an insertion, as Flink writes it.
 */
#include <string.h>

#include "formats/built_in.h"
#include "formats/json_decoder.h"
#include "formats/json_encoder.h"
#include "formats/json_scan.h"

struct debezium_settings {
    struct json_settings json;
    bool schema_include;
};
static const char *const timestamp_forms[] = {"SQL", "ISO-8601", NULL};       /* enum time_form */
static const char *const map_null_keys[] = {"FAIL", "DROP", "LITERAL", NULL}; /* enum json_map_null_key */

static const struct option_def debezium_options[] = {
    {.name = "schema-include",
     OPTION_BOOL(struct debezium_settings, schema_include),
     .initial = "false",
     .summary = "Records are read as {\"schema\": ..., \"payload\": ...}."},
    {.name = "ignore-parse-errors",
     OPTION_BOOL(struct debezium_settings, json.ignore_parse_errors),
     .initial = "false",
     .summary = "A field that cannot be read becomes NULL, a record that is no change is dropped and counted."},
    {.name = "timestamp-format.standard",
     OPTION_CHOICE(struct debezium_settings, json.timestamp_form, timestamp_forms),
     .initial = "SQL",
     .summary = "Spelling of times: SQL '2024-01-31 12:00:00.5', ISO-8601 '2024-01-31T12:00:00.5'."},
    {.name = "map-null-key.mode",
     OPTION_CHOICE(struct debezium_settings, json.map_null_key, map_null_keys),
     .initial = "FAIL",
     .summary = "What the writer does with a NULL key of a map: FAIL, DROP the entry, or write a LITERAL."},
    {.name = "map-null-key.literal",
     OPTION_TEXT(struct debezium_settings, json.map_null_key_literal),
     .initial = "null",
     .summary = "The key written for a NULL key in mode LITERAL."},
    {.name = "encode.decimal-as-plain-number",
     OPTION_BOOL(struct debezium_settings, json.decimal_as_plain_number),
     .initial = "false",
     .summary = "Writes decimals with all their digits and no exponent."},
    {.name = "encode.ignore-null-fields",
     OPTION_BOOL(struct debezium_settings, json.ignore_null_fields),
     .initial = "false",
     .summary = "Leaves fields out that are NULL."},
};

struct debezium_decoder {
    struct json_decoder json;
    bool schema_include;
};

/* ---- reading ---- */

enum member { MEMBER_BEFORE, MEMBER_AFTER, MEMBER_OP, MEMBER_PAYLOAD, MEMBER_COUNT };
static const struct text member_names[MEMBER_COUNT] = {
    {"before", 6},
    {"after", 5},
    {"op", 2},
    {"payload", 7},
};

/* Where the values of the object's members begin (NULL: none, or null), of those that are looked for; the end of the object. */
static const char *find_members(struct json_reader *reader, const char *p, const char **members)
{
    const char *why = "a comma or the closing brace is missing", *object = p;
    memset(members, 0, MEMBER_COUNT * sizeof *members);
    p = json_skip_blanks(p + 1);
    while (*p != '}') {
        struct json_string name;
        if (*p != '"') {
            return json_fail(reader, NULL, "a member's name is missing", p);
        }
        p = json_scan_string(p + 1, &name, &why);
        p = p == NULL ? NULL : json_skip_blanks(p);
        if (p == NULL || *p != ':') {
            return json_fail(reader, NULL, p == NULL ? why : "a colon is missing", p == NULL ? object : p);
        }
        const char *value = json_skip_blanks(p + 1);
        for (uint32_t i = 0; i < MEMBER_COUNT; i++) {
            if (text_equal(name.raw, member_names[i])) {
                members[i] = *value == 'n' ? NULL : value;
            }
        }
        p = json_skip_value(value, &why);
        if (p == NULL) {
            return json_fail(reader, NULL, why, value);
        }
        p = json_skip_blanks(p);
        if (*p != ',') {
            break;
        }
        p = json_skip_blanks(p + 1);
    }
    return *p == '}' ? p + 1 : json_fail(reader, NULL, "a comma or the closing brace is missing", p);
}

/* Reads a row into a place; it counts only when the caller says so. */
static bool read_image(struct json_decoder *self, const char *value, const struct decode_target *target, uint32_t row, int64_t weight)
{
    if (*value != '{') {
        json_fail(&self->reader, NULL, "'before' and 'after' must be objects", value);
        return false;
    }
    target->weights[row] = weight;
    return json_read_object(&self->reader, &self->reader.root, value, row) != NULL;
}

/* Both rows or none, and both in one chunk: a tick that ended between them would show a row that was deleted and not yet there again. */
static enum json_record_end read_update(struct json_decoder *self, const char *const *members, const struct decode_target *target)
{
    uint32_t row = target->batch->count;
    if (row + 1 >= target->row_limit) {
        return JSON_RECORD_FULL;
    }
    if (!read_image(self, members[MEMBER_AFTER], target, row + 1, 1) || !read_image(self, members[MEMBER_BEFORE], target, row, -1)) {
        return JSON_RECORD_BAD;
    }
    target->batch->count += 2;
    return JSON_RECORD_READ;
}

static enum json_record_end read_change(struct json_decoder *self, const char *const *members, const struct decode_target *target)
{
    static const char no_before[] =
        "the change has no 'before'; a PostgreSQL table must have REPLICA IDENTITY FULL for its old rows to be sent";
    struct json_reader *reader = &self->reader;
    const char *op = members[MEMBER_OP] == NULL ? "\n" : members[MEMBER_OP];
    char kind = op[0] == '"' && op[1] != '"' && op[2] == '"' ? op[1] : ' ';
    bool deletes = kind == 'u' || kind == 'd';
    if (strchr("crud", kind) == NULL) {
        json_fail(reader, NULL, "'op' is none of \"c\", \"r\", \"u\", \"d\"", op);
    } else if (deletes && members[MEMBER_BEFORE] == NULL) {
        json_fail(reader, NULL, no_before, "\n");
    } else if (kind != 'd' && members[MEMBER_AFTER] == NULL) {
        json_fail(reader, NULL, "the change has no 'after'", "\n");
    } else if (kind == 'u') {
        return read_update(self, members, target);
    } else if (read_image(self, members[deletes ? MEMBER_BEFORE : MEMBER_AFTER], target, target->batch->count, deletes ? -1 : 1)) {
        target->batch->count++;
        return JSON_RECORD_READ;
    }
    return JSON_RECORD_BAD;
}

static enum json_record_end read_record(struct json_decoder *self, const char **position, const struct decode_target *target)
{
    const char *members[MEMBER_COUNT], *p = json_skip_blanks(*position);
    *position = p;
    if (*p == '\n' || (*p == 'n' && memcmp(p, "null", 4) == 0)) {
        *position = p + (*p == 'n' ? 4 : 0);
        return JSON_RECORD_READ;
    }
    if (*p != '{') {
        json_fail(&self->reader, NULL, "the record is no object", p);
        return JSON_RECORD_BAD;
    }
    const char *end = find_members(&self->reader, p, members);
    if (end == NULL) {
        return JSON_RECORD_BAD;
    }
    if (((struct debezium_decoder *)self)->schema_include) {
        if (members[MEMBER_PAYLOAD] == NULL || *members[MEMBER_PAYLOAD] != '{') {
            json_fail(&self->reader, NULL, "the record has no object 'payload', but 'debezium-json.schema-include' is 'true'", p);
            return JSON_RECORD_BAD;
        }
        if (find_members(&self->reader, members[MEMBER_PAYLOAD], members) == NULL) {
            return JSON_RECORD_BAD;
        }
    }
    *position = end;
    return read_change(self, members, target);
}

static enum status debezium_decoder_open(const struct format_context *context, const void *settings, struct decoder **decoder,
                                         struct error *err)
{
    const struct debezium_settings *given = settings;
    struct debezium_decoder *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->json.base.type = &debezium_json_decoder_type;
    self->schema_include = given->schema_include;
    TRY(json_decoder_init(&self->json, context, &given->json, read_record, err));
    *decoder = &self->json.base;
    return STATUS_OK;
}

/* ---- writing ---- */

static enum status debezium_encoder_open(const struct format_context *context, const void *settings, struct encoder **encoder,
                                         struct error *err)
{
    const struct debezium_settings *given = settings;
    struct json_encoder *self;
    if (given->schema_include) {
        return error_set(err, ERROR_NOT_SUPPORTED,
                         "the format 'debezium-json' writes no schema; take 'debezium-json.schema-include' out of the table's options");
    }
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &debezium_json_encoder_type;
    TRY(json_encoder_init(self, context, &given->json, err));
    *encoder = &self->base;
    return STATUS_OK;
}

static enum status debezium_encode(struct encoder *encoder, const struct batch *batch, uint32_t row, enum row_kind kind,
                                   struct text_builder *out, struct error *err)
{
    bool inserts = kind == ROW_INSERT || kind == ROW_UPDATE_AFTER;
    text_append_text(out, inserts ? "{\"before\":null,\"after\":" : "{\"before\":");
    TRY(json_append_row((const struct json_encoder *)encoder, batch, row, out, err));
    text_append_text(out, inserts ? ",\"op\":\"c\"}" : ",\"after\":null,\"op\":\"d\"}");
    return out->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a record") : STATUS_OK;
}

static void debezium_encoder_close(struct encoder *encoder)
{
    (void)encoder;
}

const struct decoder_type debezium_json_decoder_type = {
    .name = "debezium-json",
    .summary = "A change a line or message, as Debezium sends it: before, after, op.",
    .options = debezium_options,
    .option_count = ARRAY_LENGTH(debezium_options),
    .settings_bytes = sizeof(struct debezium_settings),
    .carries_changes = true,
    .open = debezium_decoder_open,
    .decode = json_decode,
    .close = json_decoder_close,
};
const struct encoder_type debezium_json_encoder_type = {
    .name = "debezium-json",
    .summary = "A change a line or message, as Debezium sends it: before, after, op.",
    .options = debezium_options,
    .option_count = ARRAY_LENGTH(debezium_options),
    .settings_bytes = sizeof(struct debezium_settings),
    .carries_changes = true,
    .open = debezium_encoder_open,
    .encode = debezium_encode,
    .close = debezium_encoder_close,
};
