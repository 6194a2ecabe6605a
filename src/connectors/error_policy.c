#include "connectors/error_policy.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "connectors/dead_letter.h"
#include "formats/text_values.h"

enum status error_reporter_init(struct error_reporter *reporter, const struct source_context *context, struct error *err)
{
    struct common_source_settings settings;
    TRY(common_source_settings_read(context->options, context->arena, &settings, err));
    *reporter = (struct error_reporter){.context = context, .policy = settings.error_policy, .source = context->table};
    return STATUS_OK;
}

static void count_one(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static enum status post_letter(struct error_reporter *reporter, const struct decode_failure *failure, uint64_t line, const char *place,
                               struct error *err)
{
    char position[64], code[16], message[512];
    snprintf(position, sizeof position, "line %" PRIu64 ", byte %" PRIu64, line, reporter->byte + failure->record_offset);
    snprintf(code, sizeof code, "SPATE-%d", (int)failure->code);
    snprintf(message, sizeof message, "%s%s", failure->text, place);
    struct letter_fields fields = {.payload = failure->record,
                                   .source = text_from(reporter->source),
                                   .position = text_from(position),
                                   .code = text_from(code),
                                   .message = text_from(message),
                                   .reader = reporter->reader};
    fields.message.length = utf8_valid_length(message, fields.message.length); /* it may have been cut inside a character */
    reporter->letters++;
    TRY(dead_letter_push(reporter->context->dead_letter, &fields, err));
    if (reporter->context->counters != NULL) {
        count_one(&reporter->context->counters->dead_lettered);
    }
    return STATUS_OK;
}

bool error_reporter_fail(void *owner, const struct decode_failure *failure, struct error *err)
{
    struct error_reporter *reporter = owner;
    const struct source_context *context = reporter->context;
    uint64_t line = reporter->line + failure->line + 1;
    if (context->counters != NULL) {
        count_one(&context->counters->failed);
    }
    if (reporter->policy == ERROR_POLICY_SKIP) {
        return true;
    }
    char place[128] = "";
    if (failure->field[0] != '\0') {
        snprintf(place, sizeof place, ", field '%.100s'", failure->field);
    }
    if (reporter->policy == ERROR_POLICY_DEAD_LETTER) {
        return post_letter(reporter, failure, line, place, err) == STATUS_OK;
    }
    char excerpt[TEXT_EXCERPT_BYTES];
    (void)!error_set(err, failure->code, "table '%s', %s, line %" PRIu64 "%s: %s; the record begins with: %s", context->table,
                     reporter->source, line, place, failure->text, text_excerpt(failure->record, excerpt));
    return false;
}
