#include "functions/digest_x86.h"

#include <cpuid.h>
#include <immintrin.h>

bool digest_x86_has_sha256(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

/* The instructions keep the state as two registers, ABEF and CDGH, and do two rounds at a time. */
__attribute__((target("sha,sse4.1"))) void digest_x86_sha256(uint32_t state[8], const uint8_t *block, const uint32_t constants[64])
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(dcba, efgh, 8), cdgh = _mm_blend_epi16(efgh, dcba, 0xf0), abef_before = abef, cdgh_before = cdgh;
    __m128i words[4];
    for (int i = 0; i < 4; i++) {
        words[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), swap);
    }
    for (int i = 0; i < 16; i++) {
        __m128i sum = _mm_add_epi32(words[i % 4], _mm_loadu_si128((const __m128i *)(constants + 4 * i)));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        if (i < 12) { /* the four words that come sixteen later */
            __m128i next = _mm_sha256msg1_epu32(words[i % 4], words[(i + 1) % 4]);
            next = _mm_add_epi32(next, _mm_alignr_epi8(words[(i + 3) % 4], words[(i + 2) % 4], 4));
            words[i % 4] = _mm_sha256msg2_epu32(next, words[(i + 3) % 4]);
        }
    }
    abef = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
    cdgh = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(abef, cdgh, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(cdgh, abef, 8));
}
