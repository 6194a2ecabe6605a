/* connectors/built_in.h: the types that connectors/registry.c lists.
 *
 * For         registry.c and the files that define them; all others find types by name.
 */
#ifndef SPATE_CONNECTORS_BUILT_IN_H
#define SPATE_CONNECTORS_BUILT_IN_H

#include "connectors/sink.h"
#include "connectors/source.h"

extern const struct source_type datagen_source_type, feed_source_type, filesystem_source_type, nexmark_source_type, savepoint_source_type;
extern const struct sink_type blackhole_sink_type, filesystem_sink_type, print_sink_type;

#endif
