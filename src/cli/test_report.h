/* cli/test_report.h: verdicts of all modes, put together and printed.
 *
 * For         a record passes if it passed in all modes; a failure shows file, line, the modes and the difference in the first of them.
 */
#ifndef SPATE_CLI_TEST_REPORT_H
#define SPATE_CLI_TEST_REPORT_H

#include <stdio.h>

#include "cli/test_file.h"

struct record_report {
    uint32_t verdicts; /* modes that reached it */
    uint64_t failed;   /* bit per mode */
    char *text;        /* of the first failing mode */
};
struct file_report {
    const struct test_file *file;
    struct record_report *records;
};
void file_report_open(struct file_report *report, const struct test_file *file);
void file_report_add(struct file_report *report, uint32_t record, uint32_t mode, bool passed, char *text); /* takes the text */
/* After a mode's process has ended: what it did not reach has failed, and the last record if it reached all and still did not end
 * well; `status` as wait gives it. */
void file_report_end_mode(struct file_report *report, uint32_t mode, int status);
void file_report_close(struct file_report *report);

struct test_report {
    bool tap;
    FILE *junit;
    uint64_t passed, failed;
};
bool test_report_open(struct test_report *report, bool tap, const char *junit);
void test_report_file(struct test_report *report, const struct file_report *file, const char *problem);
uint64_t test_report_close(struct test_report *report); /* prints the last line; the number of failures */

#endif
