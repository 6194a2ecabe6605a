/* connectors/position.h: the text of a place in a source.
 *
 * For         position() and seek() of source types (connectors/source.h), who wraps their texts (circuit/operators/source_node.c), and the
 *             states of sinks (connectors/sink.h).
 * Shape       "KIND/VERSION key=value key=value": a number (decimal), 64 bits (16 hex digits) or a text (LENGTH:BYTES, any bytes). A reader
 *             of another version refuses it by name; keys that it does not know it ignores.
 * Errors      POSITION_LOST, with the text's first bytes.
 */
#ifndef SPATE_CONNECTORS_POSITION_H
#define SPATE_CONNECTORS_POSITION_H

#include "base/error.h"
#include "base/text.h"

/* Writing, after the kind: text_append_text(out, "datagen/1"). */
void position_put_number(struct text_builder *out, const char *key, int64_t value);
void position_put_bits(struct text_builder *out, const char *key, uint64_t bits);
void position_put_text(struct text_builder *out, const char *key, struct text value);

/* Refuses a place of another kind or version. */
enum status position_check(struct text place, const char *kind, struct error *err);
enum status position_get_number(struct text place, const char *key, int64_t *value, struct error *err); /* refuses negative ones */
enum status position_get_bits(struct text place, const char *key, uint64_t *bits, struct error *err);
enum status position_get_text(struct text place, const char *key, struct text *value, struct error *err);
bool position_has(struct text place, const char *key);
/* Keys that come several times: what follows the kind, then one after the other. false: none is left, or the text is broken. */
struct text position_entries(struct text place);
bool position_next(struct text *rest, struct text *key, struct text *value);

#endif
