/* plan/availability.h: may a job have this high-availability policy?
 *
 * For         api/, when a job starts. `replays`: its ticks are run again (upstream-backup, active), so the same rows must come again, and its
 *             sinks must be able to take back what was not committed. Else (none) it goes on from the present of its sources.
 * Errors      NOT_SUPPORTED names the table. Functions of chance are refused when programs are compiled (evaluation.same_again).
 */
#ifndef SPATE_PLAN_AVAILABILITY_H
#define SPATE_PLAN_AVAILABILITY_H

#include "plan/plan.h"

enum status plan_check_availability(const struct plan *plan, const char *policy, bool replays, struct error *err);

#endif
