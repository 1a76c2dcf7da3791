/* Which addresses are on the public internet: no machine of this network, nor this one. */
#ifndef CLEF_MEDIA_NETWORK_ADDRESS_H
#define CLEF_MEDIA_NETWORK_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `bytes` in network order, 4 for IPv4 and 16 for IPv6; any other length is not public. False for
 * loopback, private, link-local, multicast, unspecified, reserved and documentation addresses, and
 * for IPv6 addresses that stand for IPv4 ones (mapped, translated, tunnelled). */
bool clef_network_address_is_public(const uint8_t *bytes, size_t length);

#endif
