#include "cli/test_report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/test_mode.h"

void file_report_open(struct file_report *report, const struct test_file *file)
{
    report->file = file;
    report->records = calloc(file->count + 1, sizeof *report->records);
}

void file_report_add(struct file_report *report, uint32_t record, uint32_t mode, bool passed, char *text)
{
    if (record >= report->file->count || report->records == NULL) {
        free(text);
        return;
    }
    struct record_report *entry = &report->records[record];
    entry->verdicts |= 1u << mode;
    if (!passed) {
        entry->failed |= (uint64_t)1 << mode;
    }
    if (!passed && entry->text == NULL) {
        entry->text = text;
    } else {
        free(text);
    }
}

static void describe_end(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status)) {
        snprintf(text, size, "%s: the process was ended by signal %d (%s)", WTERMSIG(status) == SIGALRM ? "HANG" : "CRASH",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        snprintf(text, size, "the test process ended with code %d", WEXITSTATUS(status));
    }
}

void file_report_end_mode(struct file_report *report, uint32_t mode, int status)
{
    char text[160];
    bool told = false;
    uint32_t last = UINT32_MAX;
    describe_end(status, text, sizeof text);
    for (uint32_t i = 0; i < report->file->count; i++) {
        if (!test_record_counts(&report->file->records[i])) {
            continue;
        }
        last = i;
        if ((report->records[i].verdicts >> mode & 1) == 0) {
            file_report_add(report, i, mode, false, strdup(told ? "not reached" : text));
            told = true;
        }
    }
    if (!told && status != 0 && last != UINT32_MAX) { /* after the last record: closing the session, or a sanitizer at exit */
        file_report_add(report, last, mode, false, strdup(text));
    }
}

void file_report_close(struct file_report *report)
{
    for (uint32_t i = 0; i < report->file->count && report->records != NULL; i++) {
        free(report->records[i].text);
    }
    free(report->records);
}

bool test_report_open(struct test_report *report, bool tap, const char *junit)
{
    *report = (struct test_report){.tap = tap};
    if (junit != NULL) {
        report->junit = fopen(junit, "w");
        if (report->junit == NULL) {
            return false;
        }
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"spate\">\n", report->junit);
    }
    if (tap) {
        puts("TAP version 13");
    }
    return true;
}

static void print_xml(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *entity = *text == '<' ? "&lt;" : *text == '&' ? "&amp;" : *text == '"' ? "&quot;" : NULL;
        if (entity != NULL) {
            fputs(entity, file);
        } else if ((unsigned char)*text >= 0x20 || *text == '\n' || *text == '\t') {
            fputc(*text, file);
        }
    }
}

static void print_modes(uint64_t failed)
{
    for (uint32_t mode = 0; mode < test_mode_count; mode++) {
        if ((failed >> mode & 1) != 0) {
            printf(" %s", test_modes[mode].name);
        }
    }
}

static void report_failure(struct test_report *report, const struct test_file *file, const struct test_record *record,
                           const struct record_report *entry)
{
    const char *text = entry->text == NULL ? "" : entry->text;
    printf("%sFAILED %s:%u in", report->tap ? "# " : "", file->path, record->line);
    print_modes(entry->failed);
    printf("\n");
    if (!report->tap) {
        printf("    %.*s\n", (int)(record->body.length > 0 ? record->body.length - 1 : 0), record->body.bytes);
        printf("    %s%s", text, text[0] != '\0' && text[strlen(text) - 1] == '\n' ? "" : "\n");
    }
}

static void report_record(struct test_report *report, const struct test_file *file, const struct test_record *record,
                          const struct record_report *entry)
{
    bool passed = entry->failed == 0;
    report->passed += passed;
    report->failed += !passed;
    if (report->tap) {
        printf("%sok %llu - %s:%u\n", passed ? "" : "not ", (unsigned long long)(report->passed + report->failed), file->path,
               record->line);
    }
    if (!passed) {
        report_failure(report, file, record, entry);
    }
    if (report->junit != NULL) {
        fprintf(report->junit, "  <testcase classname=\"%s\" name=\"line %u\">", file->path, record->line);
        if (!passed) {
            fputs("<failure>", report->junit);
            print_xml(report->junit, entry->text == NULL ? "" : entry->text);
            fputs("</failure>", report->junit);
        }
        fputs("</testcase>\n", report->junit);
    }
}

void test_report_file(struct test_report *report, const struct file_report *file, const char *problem)
{
    if (problem != NULL || file->records == NULL) {
        printf("FAILED %s: %s\n", file->file->path, problem == NULL ? "no room for its records" : problem);
        report->failed++;
        return;
    }
    for (uint32_t i = 0; i < file->file->count; i++) {
        if (test_record_counts(&file->file->records[i])) {
            report_record(report, file->file, &file->file->records[i], &file->records[i]);
        }
    }
    fflush(stdout);
}

uint64_t test_report_close(struct test_report *report)
{
    if (report->tap) {
        printf("1..%llu\n", (unsigned long long)(report->passed + report->failed));
    }
    if (report->junit != NULL) {
        fputs("</testsuite>\n", report->junit);
        fclose(report->junit);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)report->passed, (unsigned long long)report->failed);
    return report->failed;
}
