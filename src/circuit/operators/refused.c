/* circuit/operators/refused.c: operators that this build does not have: a plan that needs one is refused by name. */
#include "circuit/operators/specs.h"

static enum status refuse(const char *what, struct error *err)
{
    return error_set(err, ERROR_NOT_SUPPORTED, "%s is not supported", what);
}

enum status temporal_join_create(struct circuit *circuit, const struct temporal_join_spec *spec, struct node *left, struct node *right,
                                 struct node **node, struct error *err)
{
    (void)circuit;
    (void)spec;
    (void)left;
    (void)right;
    (void)node;
    return refuse("FOR SYSTEM_TIME AS OF an event time", err);
}
