/* base/compiler.h: what the compiler is told beyond C17.
 *
 * For    attributes that differ between gcc and clang, in one place.
 */
#ifndef SPATE_BASE_COMPILER_H
#define SPATE_BASE_COMPILER_H

#if defined(__clang__)
#define MUST_CHECK __attribute__((warn_unused_result))
#else
#define MUST_CHECK
#endif
#define PRINTF_LIKE(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))
#define ARRAY_LENGTH(array)                       (sizeof(array) / sizeof((array)[0]))
#define LIKELY(condition)                         __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition)                       __builtin_expect(!!(condition), 0)

typedef __int128 int128_t;
typedef unsigned __int128 uint128_t;

#endif
