#include "api/public_error.h"

static const int error_classes[STATUS_COUNT] = {
    [STATUS_OK] = SPATE_OK,
    [STATUS_INVALID_SQL] = SPATE_ERROR_SQL,
    [STATUS_UNSUPPORTED] = SPATE_ERROR_SQL,
    [STATUS_INVALID_OPTION] = SPATE_ERROR_SQL,
    [STATUS_BAD_RECORD] = SPATE_ERROR_DATA,
    [STATUS_BAD_VALUE] = SPATE_ERROR_DATA,
    [STATUS_NO_MEMORY] = SPATE_ERROR_LIMIT,
    [STATUS_LIMIT] = SPATE_ERROR_LIMIT,
    [STATUS_UNAVAILABLE] = SPATE_ERROR_UNAVAILABLE,
    [STATUS_CANCELLED] = SPATE_ERROR_CANCELLED,
    [STATUS_DENIED] = SPATE_ERROR_SQL,
    [STATUS_CORRUPT] = SPATE_ERROR_DATA,
    [STATUS_FULL] = SPATE_ERROR_LIMIT,
    [STATUS_FENCED] = SPATE_ERROR_UNAVAILABLE,
    [STATUS_INTERNAL] = SPATE_ERROR_INTERNAL,
};

int public_error_set(struct spate_error *public_error, const struct error *error, enum status status)
{
    const struct error_info *info = error_info_find(error->code);
    *public_error = (struct spate_error){
        .error_class = error_classes[status],
        .code = error->code,
        .sqlstate = info == NULL ? "XX000" : info->sqlstate,
        .line = error->line,
        .column = error->column,
        .text = error->text,
        .remedy = info == NULL ? "" : info->remedy,
    };
    return public_error->error_class;
}
