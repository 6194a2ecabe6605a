/* cli/progress.h: what a running statement tells on stderr.
 *
 * For         people who wait: after 5 seconds without a row, one line that says why; on a terminal, bounded input shows its share read,
 *             rows a second and the time left.
 */
#ifndef SPATE_CLI_PROGRESS_H
#define SPATE_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "spate/spate.h"

struct progress {
    int64_t started_us, shown_us;
    bool terminal, said_why, line_open;
};
void progress_start(struct progress *progress);
void progress_update(struct progress *progress, const spate_result *result);
void progress_clear(struct progress *progress); /* before rows are printed on the same terminal */
/* What was late, dropped or failed, once, at the end. */
void progress_finish(struct progress *progress, const spate_result *result);

#endif
