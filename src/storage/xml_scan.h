/* storage/xml_scan.h: what is needed of XML to read the answers of stores: elements by name, in order, one in another.
 *
 * Invariants  Text in XML has no '<', so an element can be found by its tags. Elements of one name are not nested in each other.
 */
#ifndef SPATE_STORAGE_XML_SCAN_H
#define SPATE_STORAGE_XML_SCAN_H

#include <stdbool.h>

#include "base/text.h"

/* The next element of the name in *rest: its content, and its attributes as written. Moves *rest behind it. false: no more. */
bool xml_next(struct text *rest, const char *name, struct text *content, struct text *attributes);
/* The first one; {NULL, 0}: none. */
struct text xml_find(struct text within, const char *name);
/* Appends the content with its entities (&amp; &#38; &#x26; ...) replaced. */
void xml_append_text(struct text_builder *out, struct text content);

#endif
