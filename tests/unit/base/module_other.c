/* Made three times, as modules that must be refused, and one that is taken: BUILD and NAME come from tests/meson.build. */
#include "base/module.h"
#include "build_id.h"

static const struct module described = {.build_id = MODULE_TEST_BUILD, .name = MODULE_TEST_NAME};

MODULE_EXPORT const struct module *module_describe(void)
{
    return &described;
}
