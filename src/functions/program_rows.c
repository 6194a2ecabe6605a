/* The loops that split selections and put three-valued truths together: no branch per row. */
#include "functions/program_internal.h"

static inline uint32_t bit(const uint64_t *validity, uint32_t row)
{
    return validity == NULL ? 1 : (uint32_t)(validity[row / 64] >> (row % 64)) & 1;
}

uint32_t rows_split(const struct vector *flags, struct selection rows, uint16_t *kept, uint16_t *rest)
{
    const uint8_t *values = vector_bool(flags);
    uint32_t kept_count = 0, rest_count = 0;
    if (flags->physical == PHYSICAL_NULL) {
        for (uint32_t i = 0; rest != NULL && i < rows.count; i++) {
            rest[i] = (uint16_t)selection_row(&rows, i);
        }
        return 0;
    }
    if (rest == NULL) {
        for (uint32_t i = 0; i < rows.count; i++) {
            uint32_t row = selection_row(&rows, i);
            kept[kept_count] = (uint16_t)row;
            kept_count += values[row] & bit(flags->validity, row);
        }
        return kept_count;
    }
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i), flag = values[row] & bit(flags->validity, row);
        kept[kept_count] = (uint16_t)row;
        kept_count += flag;
        rest[rest_count] = (uint16_t)row;
        rest_count += flag ^ 1;
    }
    return kept_count;
}

uint32_t rows_undecided(const struct vector *flags, bool is_or, struct selection rows, uint16_t *kept)
{
    const uint8_t *values = vector_bool(flags);
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        uint32_t decided = flags->physical == PHYSICAL_NULL ? 0 : bit(flags->validity, row) & (values[row] == is_or);
        kept[count] = (uint16_t)row;
        count += decided ^ 1;
    }
    return count;
}

uint32_t rows_null(const struct vector *vector, struct selection rows, uint16_t *kept)
{
    uint32_t count = 0;
    if (vector->physical != PHYSICAL_NULL && vector->validity == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        kept[count] = (uint16_t)row;
        count += vector->physical == PHYSICAL_NULL ? 1 : bit(vector->validity, row) ^ 1;
    }
    return count;
}

uint32_t rows_valid(const uint64_t *validity, struct selection rows, uint16_t *kept)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        kept[count] = (uint16_t)row;
        count += bit(validity, row);
    }
    return count;
}

bool rows_all_valid(const uint64_t *validity, struct selection rows)
{
    if (validity == NULL) {
        return true;
    }
    if (rows.rows != NULL) {
        uint32_t all = 1;
        for (uint32_t i = 0; i < rows.count; i++) {
            all &= bit(validity, rows.rows[i]);
        }
        return all != 0;
    }
    for (uint32_t word = 0; word < rows.count / 64; word++) {
        if (validity[word] != ~(uint64_t)0) {
            return false;
        }
    }
    uint32_t tail = rows.count % 64;
    return tail == 0 || (~validity[rows.count / 64] & (((uint64_t)1 << tail) - 1)) == 0;
}

static void combine_plain(const uint8_t *left, const uint8_t *right, bool is_or, struct selection rows, uint8_t *to)
{
    if (rows.rows != NULL) {
        for (uint32_t i = 0; i < rows.count; i++) {
            uint32_t row = rows.rows[i];
            to[row] = is_or ? left[row] | right[row] : left[row] & right[row];
        }
    } else if (is_or) {
        for (uint32_t i = 0; i < rows.count; i++) {
            to[i] = left[i] | right[i];
        }
    } else {
        for (uint32_t i = 0; i < rows.count; i++) {
            to[i] = left[i] & right[i];
        }
    }
}

/* 0 FALSE, 1 TRUE, 2 NULL. The byte of a row that is not selected may be anything. */
static inline uint32_t truth_of(const struct vector *vector, uint32_t row)
{
    return vector_is_valid(vector, row) ? vector_bool(vector)[row] != 0 : 2;
}

enum status rows_combine(struct budget *budget, const struct vector *left, const struct vector *right, bool is_or, struct selection rows,
                         struct vector *result, struct error *err)
{
    uint8_t *to = vector_bool(result);
    if (left->validity == NULL && right->validity == NULL && left->physical == PHYSICAL_BOOL && right->physical == PHYSICAL_BOOL) {
        combine_plain(vector_bool(left), vector_bool(right), is_or, rows, to);
        return STATUS_OK;
    }
    static const uint8_t and_table[3][3] = {{0, 0, 0}, {0, 1, 2}, {0, 2, 2}};
    static const uint8_t or_table[3][3] = {{0, 1, 2}, {1, 1, 1}, {2, 1, 2}};
    const uint8_t(*table)[3] = is_or ? or_table : and_table;
    TRY(vector_need_validity(budget, result, result->count, err));
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        uint32_t truth = table[truth_of(left, row)][truth_of(right, row)];
        to[row] = truth == 1;
        uint64_t mask = (uint64_t)1 << (row % 64);
        uint64_t word = result->validity[row / 64];
        result->validity[row / 64] = truth == 2 ? word & ~mask : word | mask;
    }
    return STATUS_OK;
}
