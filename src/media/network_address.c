/* The special-purpose registries of IANA as two lists of prefixes. */
#include "media/network_address.h"

typedef struct address_prefix {
    uint8_t bytes[4]; /* none of the prefixes is longer */
    uint8_t bits;
} address_prefix;

static const address_prefix closed_ipv4[] = {
    {{0}, 8},             /* this network */
    {{10}, 8},            /* private */
    {{100, 64}, 10},      /* shared by carriers */
    {{127}, 8},           /* loopback */
    {{169, 254}, 16},     /* link-local, where clouds keep their metadata */
    {{172, 16}, 12},      /* private */
    {{192, 0, 0}, 24},    /* protocol assignments */
    {{192, 0, 2}, 24},    /* documentation */
    {{192, 88, 99}, 24},  /* relays of 6to4 */
    {{192, 168}, 16},     /* private */
    {{198, 18}, 15},      /* benchmarks */
    {{198, 51, 100}, 24}, /* documentation */
    {{203, 0, 113}, 24},  /* documentation */
    {{224}, 4},           /* multicast */
    {{240}, 4},           /* reserved, broadcast */
};

/* Of IPv6 only 2000::/3 is public at all, so that loopback, mapped and translated addresses, local
 * ones and multicast are closed without being listed. */
static const address_prefix open_ipv6 = {{0x20}, 3};
static const address_prefix closed_ipv6[] = {
    {{0x20, 0x01, 0x00}, 23},       /* protocol assignments, Teredo among them */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x20, 0x02}, 16},             /* 6to4: an IPv4 address inside */
    {{0x3f, 0xff, 0x00}, 20},       /* documentation */
};

static bool begins_with(const uint8_t *bytes, const address_prefix *prefix) {
    for (unsigned bit = 0; bit < prefix->bits; bit++) {
        unsigned mask = 0x80u >> bit % 8;
        if ((bytes[bit / 8] & mask) != (prefix->bytes[bit / 8] & mask)) {
            return false;
        }
    }
    return true;
}

static bool is_in(const uint8_t *bytes, const address_prefix *prefixes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (begins_with(bytes, &prefixes[i])) {
            return true;
        }
    }
    return false;
}

bool clef_network_address_is_public(const uint8_t *bytes, size_t length) {
    switch (length) {
    case 4:
        return !is_in(bytes, closed_ipv4, sizeof closed_ipv4 / sizeof *closed_ipv4);
    case 16:
        return begins_with(bytes, &open_ipv6) &&
               !is_in(bytes, closed_ipv6, sizeof closed_ipv6 / sizeof *closed_ipv6);
    default:
        return false;
    }
}
