/* storage/access_internal.h: what the files of access control share.
 *
 * For         access*.c only.
 */
#ifndef SPATE_STORAGE_ACCESS_INTERNAL_H
#define SPATE_STORAGE_ACCESS_INTERNAL_H

#include "storage/access.h"

/* Adds what "kind:right" stands for ('*' for all), or with a '!' before it takes it away. false: no such kind or right. */
bool access_rights_apply(access_rights rights, const char *text, size_t length);
/* NULL, or what is wrong with a principal's name. */
const char *access_principal_fault(const char *principal);

#endif
