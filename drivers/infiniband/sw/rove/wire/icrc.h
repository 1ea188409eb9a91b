/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Invariant CRC (IBTA vol. 1 annex A17 for RoCEv2): CRC-32 (IEEE, reflected)
 * over eight bytes of ones, the IP and UDP headers, BTH and all that follows
 * up to and with the pad, where what a router may change counts as ones.
 */
#ifndef ROVE_WIRE_ICRC_H
#define ROVE_WIRE_ICRC_H

#include "../base.h"

/* What the ICRC sees of the IP and UDP headers. All fields as on the wire. */
struct rove_icrc_flow {
	bool v6;
	u8 saddr[16];		/* IPv4: the first four bytes */
	u8 daddr[16];
	__be16 id;		/* IPv4 identification */
	__be16 frag_off;	/* IPv4 flags and fragment offset */
	__be16 sport;
	__be16 dport;
};

/**
 * rove_icrc_headers() - the part of the sum that covers IP, UDP and the
 * transport headers
 * @f:    addresses and ports
 * @ulen: UDP length: 8 + BTH to the end of the ICRC
 * @hdr:  BTH and extended headers
 * @hlen: their length
 *
 * Return: the CRC register; go on with rove_icrc_add() over payload and pad.
 */
u32 rove_icrc_headers(const struct rove_icrc_flow *f, u32 ulen, const u8 *hdr, u32 hlen);

/* The CRC register after @len more bytes. */
u32 rove_icrc_add(u32 crc, const void *p, u32 len);

/* The four bytes to be put behind the pad. */
static inline __le32 rove_icrc_end(u32 crc)
{
	return cpu_to_le32(~crc);
}

#endif /* ROVE_WIRE_ICRC_H */
