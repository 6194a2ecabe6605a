/* cluster/value.h: the form of every value that cluster/ keeps in a register: JSON that proves that it is whole.
 *
 * For         model, members, control records, locks and latches.
 * Form        The JSON text, a line feed, "crc32c:" and eight hexadecimal digits of the CRC-32C of the JSON. A zeroed, cut, flipped or
 *             foreign value is CORRUPT: its name is logged, it is read again later, never parsed further and never overwritten except by
 *             `spate coord repair`.
 * Invariants  Members that this build does not know are kept on rewrite. "v" is the form's version: one that the build does not know is
 *             refused by name, never half understood. "nonce" is the writer's: after UNKNOWN, reading back and finding one's own nonce
 *             means that the write was done.
 * Ownership   Texts are in the arena given.
 */
#ifndef SPATE_CLUSTER_VALUE_H
#define SPATE_CLUSTER_VALUE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

/* json + checksum; more than CLUSTER_VALUE_MAX bytes in all is an error (TOO_MANY). */
enum status value_seal(struct text json, struct arena *arena, struct text *value, struct error *err);
/* The JSON within, lent from `value`. `name` is for the message. CORRUPT when the checksum does not prove it. */
enum status value_unseal(const char *name, struct text value, struct text *json, struct error *err);

#endif
