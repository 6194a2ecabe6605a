#include "../support/batches.h"

#include "state/time_to_live.h"

#define SECOND INT64_C(1000000)
#define DAY    (INT64_C(86400) * SECOND)

static struct budget budget;

static int open_budget(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    return 0;
}

static void ttl_entries_expire_to_the_millisecond(void **state)
{
    (void)state;
    struct time_to_live ttl;
    struct error err;
    int64_t start = 20000 * DAY + 123456;
    ttl_open(&ttl, &budget, 5 * SECOND, start);
    assert_true(ttl_is_set(&ttl));
    assert_true(ttl_has_expired(&ttl, 3)); /* never written */
    require(ttl_write(&ttl, 3, &err), &err);
    require(ttl_write(&ttl, 5000, &err), &err);
    assert_true(ttl_has_expired(&ttl, 4));
    ttl_set_now(&ttl, start + 5 * SECOND - 1000);
    assert_false(ttl_has_expired(&ttl, 3));
    require(ttl_write(&ttl, 5000, &err), &err);
    ttl_set_now(&ttl, start + 5 * SECOND);
    assert_true(ttl_has_expired(&ttl, 3));
    assert_false(ttl_has_expired(&ttl, 5000));
    ttl_forget(&ttl, 5000);
    assert_true(ttl_has_expired(&ttl, 5000));
    assert_true(ttl_written_us(&ttl, 5000) == TTL_NO_TIME);
    ttl_close(&ttl);
    assert_int_equal(budget.used_bytes, 0);
}

/* Times over years, with steps from nothing to months, against a model in 64 bits. */
static void ttl_agrees_with_a_model_over_years(void **state)
{
    (void)state;
    enum { ENTRIES = 300 };
    static const int64_t lives[] = {1000, SECOND, DAY, 90 * DAY, 3650 * DAY};
    uint64_t seed = 1;
    for (uint32_t l = 0; l < ARRAY_LENGTH(lives); l++) {
        struct time_to_live ttl;
        struct error err;
        int64_t now = 20000 * DAY, written[ENTRIES] = {0};
        ttl_open(&ttl, &budget, lives[l], now);
        for (uint32_t step = 0; step < 4000; step++) {
            uint32_t entry = (uint32_t)next_random(&seed) % ENTRIES;
            uint64_t kind = next_random(&seed) % 8;
            now += (int64_t)(next_random(&seed) % 4000) * ttl.unit_us / (kind == 0 ? 1 : 1000) * (kind == 1 ? 20000000 : 1);
            ttl_set_now(&ttl, now);
            if (kind > 4) {
                require(ttl_write(&ttl, entry, &err), &err);
                written[entry] = now;
            }
            int64_t age = now / ttl.unit_us - written[entry] / ttl.unit_us;
            bool expired = written[entry] == 0 || age * ttl.unit_us >= lives[l];
            assert_int_equal(ttl_has_expired(&ttl, entry), expired);
            if (!expired) {
                assert_true(ttl_written_us(&ttl, entry) == written[entry] / ttl.unit_us * ttl.unit_us);
            }
        }
        ttl_close(&ttl);
    }
}

static void ttl_sweep_finds_each_expired_entry_once_and_no_other(void **state)
{
    (void)state;
    enum { ENTRIES = 5000, ROOM = 64 };
    struct time_to_live ttl;
    struct error err;
    uint8_t found[ENTRIES] = {0};
    uint32_t expired[ROOM], calls = 0, all = 0;
    ttl_open(&ttl, &budget, SECOND, DAY);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        require(ttl_write(&ttl, i, &err), &err);
    }
    assert_int_equal(ttl_sweep(&ttl, ENTRIES, expired, ROOM), 0);
    ttl_set_now(&ttl, DAY + SECOND);
    for (uint32_t i = 0; i < ENTRIES; i += 2) {
        require(ttl_write(&ttl, i, &err), &err);
    }
    for (; all < ENTRIES / 2 && calls < 1000; calls++) {
        uint32_t count = ttl_sweep(&ttl, ENTRIES, expired, ROOM);
        assert_true(count <= ROOM);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(expired[i] % 2, 1);
            assert_int_equal(found[expired[i]]++, 0);
            ttl_forget(&ttl, expired[i]);
        }
        all += count;
    }
    assert_int_equal(all, ENTRIES / 2);
    assert_true(calls <= 2 * ENTRIES / 2 / ROOM);
    assert_int_equal(ttl_sweep(&ttl, 0, expired, ROOM), 0);
    ttl_close(&ttl);
}

/* Another process, whose clock may stand before the times of the checkpoint. */
static void ttl_goes_on_with_the_times_of_a_checkpoint(void **state)
{
    (void)state;
    struct time_to_live ttl;
    struct error err;
    ttl_open(&ttl, &budget, 10 * SECOND, DAY);
    require(ttl_restore(&ttl, 0, DAY - 4 * SECOND, &err), &err);
    require(ttl_restore(&ttl, 1, DAY - 10 * SECOND, &err), &err);
    require(ttl_restore(&ttl, 2, 0, &err), &err);
    require(ttl_restore(&ttl, 3, DAY + 7 * SECOND, &err), &err);
    require(ttl_restore(&ttl, 4, TTL_NO_TIME, &err), &err);
    require(ttl_restore(&ttl, 5, DAY - SECOND, &err), &err);
    require(ttl_restore(&ttl, 5, DAY - 9 * SECOND, &err), &err);
    assert_false(ttl_has_expired(&ttl, 0));
    assert_true(ttl_has_expired(&ttl, 1));
    assert_true(ttl_has_expired(&ttl, 2));
    uint32_t expired[4]; /* what had expired is removed like others, and stays so over another checkpoint */
    assert_int_equal(ttl_sweep(&ttl, 6, expired, 4), 2);
    assert_int_equal(expired[0] + expired[1], 1 + 2);
    ttl_forget(&ttl, 1);
    ttl_forget(&ttl, 2);
    require(ttl_restore(&ttl, 1, 0, &err), &err);
    require(ttl_restore(&ttl, 2, ttl_written_us(&ttl, 1), &err), &err);
    assert_true(ttl_has_expired(&ttl, 2));
    ttl_set_now(&ttl, DAY + 6 * SECOND);
    assert_true(ttl_has_expired(&ttl, 0));
    ttl_set_now(&ttl, DAY + 9 * SECOND - 1000);
    assert_false(ttl_has_expired(&ttl, 5));
    ttl_set_now(&ttl, DAY + 10 * SECOND - 1000);
    assert_false(ttl_has_expired(&ttl, 3));
    assert_false(ttl_has_expired(&ttl, 4));
    ttl_set_now(&ttl, DAY + 10 * SECOND);
    assert_true(ttl_has_expired(&ttl, 3));
    assert_true(ttl_has_expired(&ttl, 4));
    ttl_close(&ttl);
}

static void ttl_past_the_budget_is_an_error(void **state)
{
    (void)state;
    struct budget small;
    struct time_to_live ttl;
    struct error err;
    budget_init(&small, NULL, "small", 8192);
    ttl_open(&ttl, &small, SECOND, DAY);
    require(ttl_write(&ttl, 1000, &err), &err);
    assert_int_equal(ttl_write(&ttl, 1000000, &err), STATUS_NO_MEMORY);
    assert_false(ttl_has_expired(&ttl, 1000));
    ttl_close(&ttl);
    assert_int_equal(small.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ttl_entries_expire_to_the_millisecond),
        cmocka_unit_test(ttl_agrees_with_a_model_over_years),
        cmocka_unit_test(ttl_sweep_finds_each_expired_entry_once_and_no_other),
        cmocka_unit_test(ttl_goes_on_with_the_times_of_a_checkpoint),
        cmocka_unit_test(ttl_past_the_budget_is_an_error),
    };
    return cmocka_run_group_tests(tests, open_budget, NULL);
}
