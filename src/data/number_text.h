/* data/number_text.h: numbers and times written into small buffers, and numbers read from text.
 *
 * For         cell_text.c, casts and functions that make many short texts without a builder.
 * Rules       As data/cell_text.h says. No NUL is added; the length is returned. A buffer of NUMBER_TEXT_MAX holds any result.
 * Locale      Independent of the process's locale.
 * Threads     Any.
 */
#ifndef SPATE_DATA_NUMBER_TEXT_H
#define SPATE_DATA_NUMBER_TEXT_H

#include "base/compiler.h"
#include "base/text.h"

enum { NUMBER_TEXT_MAX = 48 };

size_t uint64_write_text(uint64_t value, char *out);
size_t int64_write_text(int64_t value, char *out);
size_t decimal_write_text(int128_t unscaled, int32_t scale, char *out);
size_t double_write_text(double value, char *out);
size_t float_write_text(float value, char *out);
size_t date_write_text(int32_t days, char *out);                           /* yyyy-MM-dd */
size_t time_write_text(int32_t ms, int32_t precision, char *out);          /* HH:mm:ss[.f] */
size_t timestamp_write_text(int128_t value, int32_t precision, char *out); /* yyyy-MM-dd HH:mm:ss[.f] */
size_t interval_month_write_text(int32_t months, char *out);               /* +years-months */
size_t interval_day_write_text(int64_t us, char *out);                     /* +days HH:mm:ss.SSS */
void digits_write(uint32_t value, uint32_t digits, char *out);             /* with leading zeros */

/* A whole text without blanks around it: C's syntax for numbers without hexadecimal, infinities and NaN. */
bool number_text_to_double(struct text text, double *value);
bool number_text_to_float(struct text text, float *value);

#endif
