#include "formats/csv_options.h"

#include <stdio.h>
#include <string.h>

const struct option_def csv_options[] = {
    {.name = "field-delimiter",
     OPTION_TEXT(struct csv_settings, field_delimiter),
     .initial = ",",
     .summary = "The character between fields; \\t is the tabulator."},
    {.name = "disable-quote-character",
     OPTION_BOOL(struct csv_settings, disable_quote_character),
     .initial = "false",
     .summary = "No character quotes: fields are taken as they are."},
    {.name = "quote-character",
     OPTION_TEXT(struct csv_settings, quote_character),
     .summary = "The character around quoted fields (default \")."},
    {.name = "allow-comments",
     OPTION_BOOL(struct csv_settings, allow_comments),
     .initial = "false",
     .summary = "Lines that begin with # are no rows."},
    {.name = "ignore-parse-errors",
     OPTION_BOOL(struct csv_settings, ignore_parse_errors),
     .initial = "false",
     .summary = "A field that cannot be read or is missing becomes NULL, a row with too many fields is dropped and counted."},
    {.name = "array-element-delimiter",
     OPTION_TEXT(struct csv_settings, array_element_delimiter),
     .initial = ";",
     .summary = "The text between the elements of an array or row in one field."},
    {.name = "escape-character",
     OPTION_TEXT(struct csv_settings, escape_character),
     .summary = "The character that takes the next one literally."},
    {.name = "null-literal", OPTION_TEXT(struct csv_settings, null_literal), .summary = "The text that stands for NULL."},
    {.name = "write-bigdecimal-in-scientific-notation",
     OPTION_BOOL(struct csv_settings, scientific_decimals),
     .initial = "true",
     .summary = "Decimals may be written with an exponent."},
};

/* Java's escapes: \t, \n, \r, \\, \uXXXX up to 7f; else the text itself. */
static struct text unescape(struct arena *arena, const char *text)
{
    size_t length = strlen(text);
    if (length == 2 && text[0] == '\\') {
        static const char from[] = "tnrbf\\", to[] = "\t\n\r\b\f\\";
        const char *found = strchr(from, text[1]);
        if (found != NULL) {
            char *plain = arena_text(arena, &to[found - from], 1);
            return plain == NULL ? text_from(text) : (struct text){plain, 1};
        }
    }
    unsigned code;
    if (length == 6 && text[0] == '\\' && text[1] == 'u' && sscanf(text + 2, "%4x", &code) == 1 && code < 0x80) {
        char byte = (char)code;
        char *plain = arena_text(arena, &byte, 1);
        return plain == NULL ? text_from(text) : (struct text){plain, 1};
    }
    return (struct text){text, length};
}

static enum status one_character(const char *option, struct text text, char *character, struct error *err)
{
    if (text.length != 1 || (unsigned char)text.bytes[0] >= 0x80) {
        return error_set(err, ERROR_INVALID_OPTION, "option 'csv.%s' is one ASCII character, not '%s'", option, text.bytes);
    }
    *character = text.bytes[0];
    return STATUS_OK;
}

enum status csv_dialect_make(const struct csv_settings *settings, struct arena *arena, struct csv_dialect *dialect, struct error *err)
{
    if (settings->disable_quote_character && settings->quote_character != NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "csv.quote-character and csv.disable-quote-character exclude each other");
    }
    *dialect = (struct csv_dialect){.quote = '"', .has_quote = !settings->disable_quote_character};
    TRY(one_character("field-delimiter", unescape(arena, settings->field_delimiter), &dialect->delimiter, err));
    if (settings->quote_character != NULL) {
        TRY(one_character("quote-character", text_from(settings->quote_character), &dialect->quote, err));
    }
    if (settings->escape_character != NULL) {
        dialect->has_escape = true;
        TRY(one_character("escape-character", text_from(settings->escape_character), &dialect->escape, err));
    }
    if (dialect->delimiter == '\n' || (dialect->has_quote && dialect->delimiter == dialect->quote)) {
        return error_set(err, ERROR_INVALID_OPTION, "option 'csv.field-delimiter' may be neither a line feed nor the quote character");
    }
    dialect->has_null = settings->null_literal != NULL;
    if (dialect->has_null) {
        dialect->null_literal = text_from(settings->null_literal);
    }
    dialect->array_delimiter = text_from(settings->array_element_delimiter);
    if (dialect->array_delimiter.length == 0) {
        return error_set(err, ERROR_INVALID_OPTION, "option 'csv.array-element-delimiter' may not be empty");
    }
    return STATUS_OK;
}
