/* storage/azure_store.h: Azure Blob Storage as a store of objects, for the other driver in its module (cluster/azure_driver.c).
 *
 * For         the module azure. Connection, signature and retries are one code for both uses of an account.
 * Options     One table. The store takes azure_options from AZURE_STORE_FROM on, coordination those before AZURE_STORE_ONLY: they differ in
 *             how long a request is tried again.
 */
#ifndef SPATE_STORAGE_AZURE_STORE_H
#define SPATE_STORAGE_AZURE_STORE_H

#include "base/option.h"
#include "storage/http_store.h"

struct azure_settings {
    const char *connection_string, *endpoint, *account_key, *sas_token, *ca_file;
    struct duration timeout;
    bool create_container;
};
enum { AZURE_STORE_FROM = 1, AZURE_STORE_ONLY = 7, AZURE_OPTIONS = 8 };
extern const struct option_def azure_options[AZURE_OPTIONS];
extern const struct object_driver azure_object_driver;

#endif
