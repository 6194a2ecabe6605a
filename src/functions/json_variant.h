/* functions/json_variant.h: VARIANT values, kept as compact JSON texts.
 */
#ifndef SPATE_FUNCTIONS_JSON_VARIANT_H
#define SPATE_FUNCTIONS_JSON_VARIANT_H

#include "functions/function.h"

/* variant[index] (from 1) and variant[name], for ITEM. */
enum status variant_bind_item(struct function_binding *binding, struct error *err);

#endif
