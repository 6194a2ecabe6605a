/* base/hash.h: one hash for all: keys of state, exchanges, joins, grouping.
 *
 * For         64-bit hashes of fixed-width values and of bytes. The top bits serve as tags and key groups, the low bits as
 *             positions, so every bit must be good.
 * Invariants  The same value has the same hash in every process and version (state is organised by it).
 * Source      Fixed width: two rounds of multiply and fold, as wyhash does. Bytes: XXH3 (libxxhash).
 */
#ifndef SPATE_BASE_HASH_H
#define SPATE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

static inline uint64_t hash_fold(uint64_t left, uint64_t right)
{
    uint128_t product = (uint128_t)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}
static inline uint64_t hash_uint64(uint64_t value)
{
    return hash_fold(value ^ 0x9e3779b97f4a7c15u, 0xd1342543de82ef95u) ^ (value * 0xff51afd7ed558ccdu);
}
static inline uint64_t hash_combine(uint64_t left, uint64_t right)
{
    return hash_fold(left ^ 0xa0761d6478bd642fu, right ^ 0xe7037ed1a0b428dbu);
}
#define HASH_NULL 0x4cf5ad432745937fu /* the hash of a NULL */
uint64_t hash_bytes(const void *bytes, size_t length);

#endif
