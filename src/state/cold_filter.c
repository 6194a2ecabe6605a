#include "state/cold_filter.h"

#include <stdlib.h>

enum { BLOCK_BITS = 512, BLOCK_WORDS = BLOCK_BITS / 64, FIRST_BLOCKS = 64, KEY_BITS = 12, PROBES = 6, SHARE = 16 };

/* Of the hash the upper half chooses the block, the lower half the bits in it. */
static uint64_t *block_of(const struct cold_filter_layer *layer, uint64_t hash)
{
    return layer->words + ((hash >> 32) * layer->blocks >> 32) * BLOCK_WORDS;
}

static uint32_t probe_bit(uint64_t hash, uint32_t probe)
{
    uint32_t low = (uint32_t)hash;
    return (low + probe * ((low >> 16) | 1)) % BLOCK_BITS;
}

static bool layer_has(const struct cold_filter_layer *layer, uint64_t hash)
{
    const uint64_t *block = block_of(layer, hash);
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t bit = probe_bit(hash, probe);
        if ((block[bit / 64] >> (bit % 64) & 1) == 0) {
            return false;
        }
    }
    return true;
}

static size_t layer_bytes(uint32_t blocks)
{
    return (size_t)blocks * BLOCK_WORDS * sizeof(uint64_t);
}

static bool is_allowed(const struct cold_filter *filter, size_t bytes)
{
    for (const struct budget *budget = filter->budget; budget != NULL; budget = budget->parent) {
        if (filter->bytes + bytes > budget->limit_bytes / SHARE) {
            return false;
        }
    }
    return budget_charge(filter->budget, bytes);
}

static void add_layer(struct cold_filter *filter)
{
    uint32_t blocks = (uint32_t)FIRST_BLOCKS << filter->layer_count;
    size_t bytes = layer_bytes(blocks);
    if (filter->layer_count == COLD_FILTER_LAYERS || !is_allowed(filter, bytes)) {
        return;
    }
    uint64_t *words = calloc(1, bytes);
    if (words == NULL) {
        budget_release(filter->budget, bytes);
        return;
    }
    filter->layers[filter->layer_count++] = (struct cold_filter_layer){.words = words, .blocks = blocks};
    filter->bytes += bytes;
}

static bool is_full(const struct cold_filter *filter)
{
    const struct cold_filter_layer *last = filter->layer_count == 0 ? NULL : &filter->layers[filter->layer_count - 1];
    return last == NULL || last->count >= (uint64_t)last->blocks * (BLOCK_BITS / KEY_BITS);
}

void cold_filter_add(struct cold_filter *filter, uint64_t hash)
{
    if (filter->blind || cold_filter_may_have(filter, hash)) {
        return;
    }
    if (is_full(filter)) {
        add_layer(filter);
    }
    if (filter->layer_count == 0) {
        filter->blind = true;
        return;
    }
    struct cold_filter_layer *last = &filter->layers[filter->layer_count - 1];
    uint64_t *block = block_of(last, hash);
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t bit = probe_bit(hash, probe);
        block[bit / 64] |= (uint64_t)1 << (bit % 64);
    }
    last->count++;
    filter->count++;
}

bool cold_filter_may_have(const struct cold_filter *filter, uint64_t hash)
{
    for (uint32_t i = filter->layer_count; i > 0; i--) { /* the last has most of them */
        if (layer_has(&filter->layers[i - 1], hash)) {
            return true;
        }
    }
    return filter->blind;
}

void cold_filter_clear(struct cold_filter *filter)
{
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        free(filter->layers[i].words);
        budget_release(filter->budget, layer_bytes(filter->layers[i].blocks));
    }
    *filter = (struct cold_filter){.budget = filter->budget};
}
