/* api/public_error.h: an error inside as include/spate/spate.h shows it.
 *
 * For         the handles of the public interface, each of which keeps its last one.
 */
#ifndef SPATE_API_PUBLIC_ERROR_H
#define SPATE_API_PUBLIC_ERROR_H

#include "base/error.h"
#include "spate/spate.h"

/* The public one lends the text of `error`. Returns its class. */
int public_error_set(struct spate_error *public_error, const struct error *error, enum status status);

#endif
