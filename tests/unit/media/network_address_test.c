/* Addresses at both ends of every closed range, and their open neighbours. */
#include "support.h"

#include "media/network_address.h"

#include <arpa/inet.h>

static bool is_public(const char *text) {
    uint8_t bytes[16];
    int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
    if (inet_pton(family, text, bytes) != 1) {
        fail_msg("%s is no address", text);
    }
    return clef_network_address_is_public(bytes, family == AF_INET6 ? 16 : 4);
}

static void check(const char *const *texts, size_t count, bool expected) {
    for (size_t i = 0; i < count; i++) {
        if (is_public(texts[i]) != expected) {
            fail_msg("%s is %spublic", texts[i], expected ? "not " : "");
        }
    }
}

static void closed_ranges_are_closed(void **state) {
    static const char *const closed[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.255",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:808:808::1",
        "3fff::1",
        "3fff:fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fdff::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "1fff::1",
    };
    (void)state;
    check(closed, sizeof closed / sizeof *closed, false);
}

static void neighbours_are_open(void **state) {
    static const char *const open[] = {
        "1.0.0.0",        "8.8.8.8",      "9.255.255.255",   "11.0.0.0",        "100.63.255.255",
        "100.128.0.0",    "126.0.0.1",    "128.0.0.1",       "169.253.0.1",     "169.255.0.1",
        "172.15.255.255", "172.32.0.0",   "192.0.1.1",       "192.0.3.1",       "192.88.98.1",
        "192.167.0.1",    "192.169.0.1",  "198.17.255.255",  "198.20.0.0",      "198.51.99.1",
        "203.0.112.1",    "203.0.114.1",  "223.255.255.255", "2000::1",         "2001:200::1",
        "2001:db7::1",    "2001:db9::1",  "2003::1",         "2606:4700::1111", "2a00:1450::1",
        "3ffe::1",        "3fff:1000::1",
    };
    (void)state;
    check(open, sizeof open / sizeof *open, true);
}

static void other_lengths_are_no_addresses(void **state) {
    static const uint8_t bytes[20] = {8, 8, 8, 8};
    (void)state;
    for (size_t length = 0; length < sizeof bytes; length++) {
        if (length != 4) {
            assert_false(clef_network_address_is_public(bytes, length));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_ranges_are_closed),
        cmocka_unit_test(neighbours_are_open),
        cmocka_unit_test(other_lengths_are_no_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
