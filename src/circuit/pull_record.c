#include "circuit/pull_record.h"

#include <string.h>

#include "base/byte_reader.h"

void pull_record_put(struct text_builder *record, const struct pull_entry *entry)
{
    text_append_char(record, (char)entry->event);
    byte_append_number(record, entry->source);
    byte_append_number(record, entry->partition);
    if (entry->event == PULL_GAVE_ROWS) {
        byte_append_number(record, entry->rows);
        byte_append_number(record, entry->part.length);
        text_append(record, entry->part.bytes, entry->part.length);
    }
}

void pull_record_keep_ends(struct text_builder *record)
{
    struct text rest = {record->bytes, record->length};
    struct pull_entry entry;
    size_t kept = 0;
    for (const char *at = rest.bytes; pull_record_next(&rest, &entry); at = rest.bytes) {
        if (entry.event == PULL_AT_END) {
            memmove(record->bytes + kept, at, (size_t)(rest.bytes - at));
            kept += (size_t)(rest.bytes - at);
        }
    }
    record->length = kept;
}

bool pull_record_next(struct text *rest, struct pull_entry *entry)
{
    struct byte_reader reader = byte_reader_open((const uint8_t *)rest->bytes, rest->length);
    const uint8_t *event = byte_reader_take(&reader, 1);
    if (event == NULL || *event >= PULL_EVENT_COUNT) {
        return false;
    }
    *entry = (struct pull_entry){.event = (enum pull_event) * event};
    entry->source = (uint32_t)byte_reader_number(&reader);
    entry->partition = (uint32_t)byte_reader_number(&reader);
    if (entry->event == PULL_GAVE_ROWS) {
        entry->rows = (uint32_t)byte_reader_number(&reader);
        size_t length = (size_t)byte_reader_number(&reader);
        entry->part = (struct text){(const char *)byte_reader_take(&reader, length), length};
    }
    if (reader.failed) {
        return false;
    }
    rest->bytes = (const char *)reader.next;
    rest->length = byte_reader_left(&reader);
    return true;
}
