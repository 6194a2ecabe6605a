/* connectors/nexmark/nexmark_generator.h: the events of the Nexmark benchmark, one after the other.
 *
 * For         nexmark_source.c.
 * Rules       Ids, proportions, hot ratios and times are those of the Nexmark project's generator; random numbers are ours:
 *             the same settings give the same events on every machine.
 * Ownership   Long texts of an event lie in the generator's buffer (`block`), short-lived ones in the event itself.
 */
#ifndef SPATE_CONNECTORS_NEXMARK_NEXMARK_GENERATOR_H
#define SPATE_CONNECTORS_NEXMARK_NEXMARK_GENERATOR_H

#include "base/option.h"
#include "base/text.h"
#include "data/vector.h"

struct nexmark_settings {
    int64_t first_rate, next_rate, events, seed, base_ms;
    int32_t rate_shape;
    struct duration rate_period;
    bool rate_limited;
    int64_t person_proportion, auction_proportion, bid_proportion;
    int64_t person_size, auction_size, bid_size;
    int64_t hot_auctions, hot_bidders, hot_sellers;
};
enum nexmark_kind { NEXMARK_PERSON, NEXMARK_AUCTION, NEXMARK_BID };
enum { NEXMARK_TEXTS = 5, NEXMARK_TEXT_BYTES = 128 };
struct nexmark_event {
    enum nexmark_kind kind;
    int64_t time_us;
    int64_t id;                                   /* person, auction; of a bid: the auction */
    int64_t other;                                /* auction: seller; bid: bidder */
    int64_t category, price, reserve, expires_us; /* price: also the initial bid */
    struct text texts[NEXMARK_TEXTS]; /* person: name, e-mail, credit card, city, state; auction: item, description; bid: channel, URL */
    struct text extra;                /* in the block */
    bool texts_in_block;              /* those of a bid */
    char room[NEXMARK_TEXTS][NEXMARK_TEXT_BYTES];
};

struct nexmark_generator;
enum status nexmark_generator_create(struct budget *budget, struct arena *arena, const struct nexmark_settings *settings,
                                     struct nexmark_generator **generator, struct error *err);
void nexmark_generator_destroy(struct nexmark_generator *generator);
struct buffer *nexmark_generator_block(const struct nexmark_generator *generator);
/* Event number k; k counts up from 0, without gaps. */
void nexmark_generator_next(struct nexmark_generator *generator, int64_t k, struct nexmark_event *event);
/* What the next events depend on beside their number: the random numbers' state, to be kept and put back. */
enum { NEXMARK_STATE_WORDS = 4 };
uint64_t *nexmark_generator_state(struct nexmark_generator *generator);
int64_t nexmark_generator_time_us(const struct nexmark_generator *generator, int64_t k);

#endif
