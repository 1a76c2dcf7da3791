/* The policy: rules that hold for any lengths, and the cases it exists for. */
#include "support.h"

#include "backend/backend.h"
#include "state/prefix_policy.h"

static uint64_t next_number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static bool has(const clef_prefix_point *points, size_t count, size_t position) {
    for (size_t i = 0; i < count; i++) {
        if (points[i].position == position) {
            return true;
        }
    }
    return false;
}

static void points_keep_the_rules(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (size_t round = 0; round < 20000; round++) {
        clef_prefix_lengths lengths;
        clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT];
        size_t span = (size_t)1 << (4 + next_number(&seed) % 15);
        lengths.fixed_end = next_number(&seed) % 100;
        lengths.media_end = lengths.fixed_end + next_number(&seed) % span;
        lengths.state_end = lengths.media_end + next_number(&seed) % span;
        lengths.head_begin = lengths.state_end + next_number(&seed) % 70;
        lengths.resumed = next_number(&seed) % (lengths.head_begin + 1) / CLEF_GRID * CLEF_GRID;
        lengths.known = next_number(&seed) % (lengths.head_begin + 200);
        size_t count = clef_prefix_policy_points(&lengths, points);
        size_t before = lengths.resumed;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(points[i].position % CLEF_GRID, 0);
            assert_true(points[i].position > before); /* in order, none twice, none behind us */
            assert_true(points[i].position <= lengths.head_begin);
            before = points[i].position;
        }
        /* The last grid point of the state, unless it is behind us. */
        size_t end = lengths.state_end / CLEF_GRID * CLEF_GRID;
        assert_true(end <= lengths.resumed || has(points, count, end));
        /* Few: a long state costs a handful more than a short one. */
        assert_true(count <= 16);
    }
}

static void short_states_have_nothing_to_keep(void **state) {
    (void)state;
    clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT];
    clef_prefix_lengths lengths = {27, 27, 40, 60, 0, 0};
    assert_int_equal(clef_prefix_policy_points(&lengths, points), 0);
}

static void long_states_have_growing_distances(void **state) {
    (void)state;
    clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT];
    clef_prefix_lengths lengths = {27, 27, 16020, 16050, 0, 0};
    size_t count = clef_prefix_policy_points(&lengths, points);
    static const size_t wanted[] = {640, 8832, 12928, 14976, 16000};
    assert_int_equal(count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(points[i].position, wanted[i]);
        assert_int_equal(points[i].is_spare, i < 4);
    }
}

/* A conversation that goes on is computed from where it ended, spares and all. */
static void growing_states_cost_what_is_new(void **state) {
    (void)state;
    for (size_t more = 64; more <= 400; more += 7) {
        for (size_t rewritten = 0; rewritten < 6; rewritten++) {
            size_t kept[4096] = {0};
            size_t computed = 0, fresh = 0, length = 500;
            for (size_t turn = 0; turn < 40; turn++, length += more) {
                /* All points of the turn before that lie in what both have in common. */
                size_t resumed = 0;
                size_t common = turn == 0 ? 0 : length - more - rewritten;
                for (size_t p = 0; p <= common / CLEF_GRID; p++) {
                    resumed = kept[p] ? p * CLEF_GRID : resumed;
                }
                clef_prefix_lengths lengths = {27, 27, length, length + 20, resumed, 0};
                clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT];
                for (size_t i = clef_prefix_policy_points(&lengths, points); i-- > 0;) {
                    kept[points[i].position / CLEF_GRID] = 1;
                }
                if (turn > 0) {
                    computed += length - resumed;
                    fresh += more;
                }
            }
            /* At most a page of the grid is computed again. */
            assert_true(computed <= fresh + (size_t)39 * (CLEF_GRID + 8));
            assert_true(more < 200 || (double)computed <= 1.3 * (double)fresh);
        }
    }
}

static void points_are_added_where_they_belong(void **state) {
    (void)state;
    clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT];
    size_t count = 0;
    count = clef_prefix_policy_add(points, count, 128, true);
    count = clef_prefix_policy_add(points, count, 64, false);
    count = clef_prefix_policy_add(points, count, 192, true);
    count = clef_prefix_policy_add(points, count, 128, false);
    assert_int_equal(count, 3);
    assert_true(points[0].position == 64 && points[1].position == 128 && points[2].position == 192);
    assert_true(!points[0].is_spare && !points[1].is_spare && points[2].is_spare);
    for (size_t i = 3; i < 100; i++) {
        count = clef_prefix_policy_add(points, count, 64 * (i + 1), false);
    }
    assert_int_equal(count, CLEF_PREFIX_POINT_LIMIT);
}

/* More saved, fewer bytes, more hits, more recent: worth more; nothing is worth nothing at all. */
static void values_follow_their_reasons(void **state) {
    (void)state;
    const clef_prefix_worth base = {1000, 1000000, 3, 5, false};
    clef_prefix_worth other = base;
    double value = clef_prefix_policy_value(&base);
    other.saved_tokens = 1001;
    assert_true(clef_prefix_policy_value(&other) > value);
    other = base;
    other.bytes = 999999;
    assert_true(clef_prefix_policy_value(&other) > value);
    other = base;
    other.hits = 4;
    assert_true(clef_prefix_policy_value(&other) > value);
    other = base;
    other.age = 4;
    assert_true(clef_prefix_policy_value(&other) > value);
    other = base;
    other.hits = 0;
    value = clef_prefix_policy_value(&other);
    other.is_spare = true;
    assert_true(clef_prefix_policy_value(&other) < value);
    assert_true(clef_prefix_policy_value(&other) > 0);
    /* Hits do not last for ever: what nobody asks for any more makes room. */
    clef_prefix_worth old = {1000, 1000000, UINT64_MAX, 20, false};
    clef_prefix_worth fresh = {1000, 1000000, 0, 0, false};
    assert_true(clef_prefix_policy_value(&old) < clef_prefix_policy_value(&fresh));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_keep_the_rules),
        cmocka_unit_test(short_states_have_nothing_to_keep),
        cmocka_unit_test(long_states_have_growing_distances),
        cmocka_unit_test(growing_states_cost_what_is_new),
        cmocka_unit_test(points_are_added_where_they_belong),
        cmocka_unit_test(values_follow_their_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
