#include "connectors/nexmark/nexmark_generator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_ID = 1000, FIRST_CATEGORY = 10, CATEGORIES = 5, ID_LEAD = 10 };
enum { IN_FLIGHT_AUCTIONS = 100, ACTIVE_PEOPLE = 1000, HOT_SPAN = 100 };
enum { CHANNELS = 10000, HOT_CHANNELS = 4, POOL_BYTES = 1 << 20, URL_BYTES = 96, CHANNEL_BYTES = 16, STEPS_MAX = 15 };

struct tables {            /* what lies in the block */
    char pool[POOL_BYTES]; /* letters that `extra` is cut from */
    char hot_urls[HOT_CHANNELS][URL_BYTES], urls[CHANNELS][URL_BYTES], channels[CHANNELS][CHANNEL_BYTES];
    char hot_channels[HOT_CHANNELS][CHANNEL_BYTES];
};
struct rate_step {
    double us_per_event;
    int64_t first_event, first_us; /* within a period */
};
struct nexmark_generator {
    struct nexmark_settings settings;
    int64_t epoch; /* events in which the proportions come round */
    uint64_t random[NEXMARK_STATE_WORDS];
    struct buffer *block;
    struct tables *tables;
    uint8_t url_lengths[CHANNELS], channel_lengths[CHANNELS], hot_url_lengths[HOT_CHANNELS];
    struct rate_step steps[STEPS_MAX];
    uint32_t step_count;
    int64_t period_events, period_us;
};

static uint64_t rotate(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

static void random_seed(struct nexmark_generator *self, uint64_t seed) /* splitmix64 */
{
    for (int i = 0; i < 4; i++) {
        uint64_t mixed = (seed += 0x9e3779b97f4a7c15u);
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        self->random[i] = mixed ^ (mixed >> 31);
    }
}

static uint64_t random_next(struct nexmark_generator *self) /* xoshiro256** */
{
    uint64_t *s = self->random, result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

static uint32_t below(struct nexmark_generator *self, uint32_t limit)
{
    return (uint32_t)(((random_next(self) >> 32) * limit) >> 32);
}

static int64_t random_price(struct nexmark_generator *self)
{
    return (int64_t)llround(pow(10.0, (double)(random_next(self) >> 11) * 0x1p-53 * 6.0) * 100.0);
}

/* 3..max-1 letters, about one in 13 of them `special`; blanks at the ends are cut. */
static size_t random_word(struct nexmark_generator *self, char *to, int max, char special)
{
    int length = 3 + (int)below(self, (uint32_t)(max - 3)), start = 0;
    for (int i = 0; i < length; i++) {
        to[i] = below(self, 13) == 0 ? special : (char)('a' + below(self, 26));
    }
    while (length > 0 && to[length - 1] == ' ') {
        length--;
    }
    while (start < length && to[start] == ' ') {
        start++;
    }
    memmove(to, to + start, (size_t)(length - start));
    to[length - start] = '\0';
    return (size_t)(length - start);
}

static int random_url(struct nexmark_generator *self, char *to)
{
    char parts[3][8];
    for (int i = 0; i < 3; i++) {
        random_word(self, parts[i], 5, '_');
    }
    return snprintf(to, URL_BYTES, "https://www.nexmark.com/%s/%s/%s/item.htm?query=1", parts[0], parts[1], parts[2]);
}

static int64_t reversed_bits(uint32_t value)
{
    uint32_t reversed = 0;
    for (int i = 0; i < 32; i++) {
        reversed |= ((value >> i) & 1u) << (31 - i);
    }
    int64_t id = (int32_t)reversed;
    return id < 0 ? -id : id;
}

static void fill_tables(struct nexmark_generator *self)
{
    static const char hot[HOT_CHANNELS][CHANNEL_BYTES] = {"Google", "Facebook", "Baidu", "Apple"};
    struct tables *tables = self->tables;
    for (int i = 0; i < POOL_BYTES; i++) {
        tables->pool[i] = below(self, 13) == 0 ? ' ' : (char)('a' + below(self, 26));
    }
    for (int i = 0; i < HOT_CHANNELS; i++) {
        self->hot_url_lengths[i] = (uint8_t)random_url(self, tables->hot_urls[i]);
    }
    memcpy(tables->hot_channels, hot, sizeof hot);
    for (int i = 0; i < CHANNELS; i++) {
        int length = random_url(self, tables->urls[i]);
        self->channel_lengths[i] = (uint8_t)snprintf(tables->channels[i], CHANNEL_BYTES, "channel-%d", i);
        if (below(self, 10) > 0) {
            length +=
                snprintf(tables->urls[i] + length, (size_t)(URL_BYTES - length), "&channel_id=%lld", (long long)reversed_bits((uint32_t)i));
        }
        self->url_lengths[i] = (uint8_t)length;
    }
}

/* A rate that changes goes round in periods of equal steps: two for SQUARE, 15 for SINE. */
static void plan_rates(struct nexmark_generator *self)
{
    const struct nexmark_settings *settings = &self->settings;
    bool steady = settings->first_rate == settings->next_rate;
    self->step_count = steady ? 1 : settings->rate_shape == 0 ? 2 : STEPS_MAX;
    int64_t step_us = settings->rate_period.us / self->step_count;
    for (uint32_t i = 0; i < self->step_count; i++) {
        double rate = (double)settings->first_rate;
        if (!steady && settings->rate_shape == 0) {
            rate = i == 0 ? (double)settings->first_rate : (double)settings->next_rate;
        } else if (!steady) {
            double mean = (double)(settings->first_rate + settings->next_rate) / 2;
            rate = mean + ((double)settings->first_rate - mean) * cos(2 * 3.14159265358979323846 * i / STEPS_MAX);
        }
        rate = rate < 1e-3 ? 1e-3 : rate;
        self->steps[i] = (struct rate_step){1e6 / rate, self->period_events, self->period_us};
        self->period_events += (int64_t)((double)step_us * rate / 1e6) + 1;
        self->period_us += step_us;
    }
}

int64_t nexmark_generator_time_us(const struct nexmark_generator *self, int64_t k)
{
    int64_t us = 0;
    const struct rate_step *step = &self->steps[0];
    if (self->step_count > 1) {
        us = k / self->period_events * self->period_us;
        k %= self->period_events;
        for (uint32_t i = 1; i < self->step_count && self->steps[i].first_event <= k; i++) {
            step = &self->steps[i];
        }
        k -= step->first_event;
        us += step->first_us;
    }
    us += (int64_t)((double)k * step->us_per_event);
    return (self->settings.base_ms + us / 1000) * 1000;
}

enum status nexmark_generator_create(struct budget *budget, struct arena *arena, const struct nexmark_settings *settings,
                                     struct nexmark_generator **generator, struct error *err)
{
    struct nexmark_generator *self;
    TRY_ALLOC(self, arena_alloc(arena, sizeof *self), err);
    TRY(buffer_create(budget, sizeof(struct tables), &self->block, err));
    self->tables = (struct tables *)buffer_bytes_mutable(self->block);
    self->settings = *settings;
    self->epoch = settings->person_proportion + settings->auction_proportion + settings->bid_proportion;
    plan_rates(self);
    random_seed(self, (uint64_t)settings->seed);
    fill_tables(self);
    *generator = self;
    return STATUS_OK;
}

void nexmark_generator_destroy(struct nexmark_generator *generator)
{
    buffer_unref(generator->block);
}

uint64_t *nexmark_generator_state(struct nexmark_generator *generator)
{
    return generator->random;
}

struct buffer *nexmark_generator_block(const struct nexmark_generator *generator)
{
    return generator->block;
}

/* Pads a row of `have` bytes to `want` on average, +-20 % of the pad. */
static struct text random_extra(struct nexmark_generator *self, int64_t have, int64_t want)
{
    if (have > want) {
        return (struct text){self->tables->pool, 0};
    }
    int64_t pad = want - have, delta = lround((double)pad * 0.2);
    int64_t length = pad - delta + (delta > 0 ? (int64_t)below(self, (uint32_t)(2 * delta)) : 0);
    return (struct text){self->tables->pool + below(self, (uint32_t)(POOL_BYTES - length)), (size_t)length};
}

static int64_t last_person(const struct nexmark_generator *self, int64_t id)
{
    int64_t persons = self->settings.person_proportion, offset = id % self->epoch;
    return id / self->epoch * persons + (offset >= persons ? persons - 1 : offset);
}

static int64_t last_auction(const struct nexmark_generator *self, int64_t id)
{
    int64_t persons = self->settings.person_proportion, auctions = self->settings.auction_proportion;
    int64_t epoch = id / self->epoch, offset = id % self->epoch;
    if (offset < persons) {
        epoch--;
        offset = auctions - 1;
    } else if (offset >= persons + auctions) {
        offset = auctions - 1;
    } else {
        offset -= persons;
    }
    return epoch * auctions + offset;
}

static int64_t any_person(struct nexmark_generator *self, int64_t id)
{
    int64_t people = last_person(self, id) + 1, active = people < ACTIVE_PEOPLE ? people : ACTIVE_PEOPLE;
    return people - active + below(self, (uint32_t)(active + ID_LEAD));
}

static int64_t any_auction(struct nexmark_generator *self, int64_t id)
{
    int64_t max = last_auction(self, id), min = max > IN_FLIGHT_AUCTIONS ? max - IN_FLIGHT_AUCTIONS : 0;
    max = max < min ? min : max;
    return min + below(self, (uint32_t)(max - min + 1 + ID_LEAD));
}

static void put_text(struct nexmark_event *event, int index, size_t length)
{
    event->texts[index] = (struct text){event->room[index], length};
}

static void put_constant(struct nexmark_event *event, int index, const char *text)
{
    event->texts[index] = text_from(text);
}

static void make_person(struct nexmark_generator *self, int64_t id, struct nexmark_event *event)
{
    static const char *const first[] = {"Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"};
    static const char *const last[] = {"Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"};
    static const char *const city[] = {"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland",
                                       "Bend",    "Redmond",     "Seattle",       "Kent",  "Cheyenne"};
    static const char *const state[] = {"AZ", "CA", "ID", "OR", "WA", "WY"};
    char user[8], host[8];
    event->kind = NEXMARK_PERSON;
    event->id = last_person(self, id) + FIRST_ID;
    /* the order in which a C compiler of the reference program evaluates the two arguments: last name first */
    uint32_t last_name = below(self, 9), first_name = below(self, 11);
    put_text(event, 0, (size_t)snprintf(event->room[0], NEXMARK_TEXT_BYTES, "%s %s", first[first_name], last[last_name]));
    random_word(self, user, 7, ' ');
    random_word(self, host, 5, ' ');
    put_text(event, 1, (size_t)snprintf(event->room[1], NEXMARK_TEXT_BYTES, "%s@%s.com", user, host));
    uint32_t card[4];
    for (int i = 0; i < 4; i++) {
        card[i] = below(self, 10000);
    }
    put_text(event, 2, (size_t)snprintf(event->room[2], NEXMARK_TEXT_BYTES, "%04u %04u %04u %04u", card[0], card[1], card[2], card[3]));
    put_constant(event, 3, city[below(self, 10)]);
    put_constant(event, 4, state[below(self, 6)]);
    size_t have = 8;
    for (int i = 0; i < NEXMARK_TEXTS; i++) {
        have += event->texts[i].length;
    }
    event->extra = random_extra(self, (int64_t)have, self->settings.person_size);
}

static void make_auction(struct nexmark_generator *self, int64_t k, int64_t id, struct nexmark_event *event)
{
    int64_t auctions = self->settings.auction_proportion > 0 ? self->settings.auction_proportion : 1;
    event->kind = NEXMARK_AUCTION;
    event->id = last_auction(self, id) + FIRST_ID;
    bool hot = below(self, (uint32_t)self->settings.hot_sellers) > 0;
    event->other = (hot ? last_person(self, id) / HOT_SPAN * HOT_SPAN : any_person(self, id)) + FIRST_ID;
    event->category = FIRST_CATEGORY + below(self, CATEGORIES);
    event->price = random_price(self);
    int64_t horizon_ms = (nexmark_generator_time_us(self, k + 1 + IN_FLIGHT_AUCTIONS * self->epoch / auctions) - event->time_us) / 1000;
    event->expires_us = event->time_us + (1 + (int64_t)below(self, (uint32_t)(horizon_ms * 2 > 1 ? horizon_ms * 2 : 1))) * 1000;
    put_text(event, 0, random_word(self, event->room[0], 20, ' '));
    put_text(event, 1, random_word(self, event->room[1], 100, ' '));
    event->reserve = event->price + random_price(self);
    event->extra = random_extra(self, (int64_t)(8 + event->texts[0].length + event->texts[1].length + 40), self->settings.auction_size);
}

static void make_bid(struct nexmark_generator *self, int64_t id, struct nexmark_event *event)
{
    event->kind = NEXMARK_BID;
    bool hot = below(self, (uint32_t)self->settings.hot_auctions) > 0;
    event->id = (hot ? last_auction(self, id) / HOT_SPAN * HOT_SPAN : any_auction(self, id)) + FIRST_ID;
    hot = below(self, (uint32_t)self->settings.hot_bidders) > 0;
    /* the reference generator adds the first id twice to a bidder; so do we */
    event->other = (hot ? last_person(self, id) / HOT_SPAN * HOT_SPAN + 1 : any_person(self, id)) + 2 * FIRST_ID;
    event->price = random_price(self);
    event->texts_in_block = true;
    if (below(self, 2) > 0) {
        uint32_t i = below(self, HOT_CHANNELS);
        put_constant(event, 0, self->tables->hot_channels[i]);
        event->texts[1] = (struct text){self->tables->hot_urls[i], self->hot_url_lengths[i]};
    } else {
        uint32_t i = below(self, CHANNELS);
        event->texts[0] = (struct text){self->tables->channels[i], self->channel_lengths[i]};
        event->texts[1] = (struct text){self->tables->urls[i], self->url_lengths[i]};
    }
    event->extra = random_extra(self, 32, self->settings.bid_size);
}

void nexmark_generator_next(struct nexmark_generator *self, int64_t k, struct nexmark_event *event)
{
    int64_t id = k + 2, rest = id % self->epoch;
    event->time_us = nexmark_generator_time_us(self, k + 1);
    event->texts_in_block = false;
    if (rest < self->settings.person_proportion) {
        make_person(self, id, event);
    } else if (rest < self->settings.person_proportion + self->settings.auction_proportion) {
        make_auction(self, k, id, event);
    } else {
        make_bid(self, id, event);
    }
}
