// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "unit.h"
#include "vectors.h"
#include "wire/crc.h"
#include "wire/icrc.h"
#include "wire/pkt.h"

/* Bit by bit, as the polynomial is written. */
static u32 crc_bits(u32 crc, const u8 *p, u32 len)
{
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return crc;
}

static u32 unhex(u8 *to, const char *hex)
{
	char byte[3] = "";
	u32 n = 0;

	for (; *hex; hex += 2) {
		memcpy(byte, hex, 2);
		to[n++] = strtoul(byte, NULL, 16);
	}
	return n;
}

/* The sum over a whole packet, from the IP header on, with its ICRC left out. */
static u32 icrc_of_packet(const u8 *ip, u32 len, u32 hlen)
{
	struct rove_icrc_flow f = { .v6 = ip[0] >> 4 == 6 };
	u32 l3 = f.v6 ? 40 : 20;
	const u8 *udp = ip + l3;
	u32 crc;

	memcpy(f.saddr, ip + (f.v6 ? 8 : 12), f.v6 ? 16 : 4);
	memcpy(f.daddr, ip + (f.v6 ? 24 : 16), f.v6 ? 16 : 4);
	memcpy(&f.id, ip + 4, 2);
	memcpy(&f.frag_off, ip + 6, 2);
	memcpy(&f.sport, udp, 2);
	memcpy(&f.dport, udp + 2, 2);
	crc = rove_icrc_headers(&f, udp[4] << 8 | udp[5], udp + 8, hlen);
	return rove_icrc_add(crc, udp + 8 + hlen, len - l3 - 8 - hlen);
}

TEST(known_packets)
{
	u8 packet[256], icrc[4];
	u32 i, k, len;
	__le32 got;

	for (i = 0; i < ARRAY_SIZE(rove_icrc_vectors); i++) {
		unit_note("%s", rove_icrc_vectors[i].name);
		for (k = 0, len = 0; rove_icrc_vectors[i].packet[k]; k++)
			len += unhex(packet + len, rove_icrc_vectors[i].packet[k]);
		CHECK_EQ(unhex(icrc, rove_icrc_vectors[i].icrc), 4);
		got = rove_icrc_end(icrc_of_packet(packet, len, 12));
		CHECK_MEM(&got, icrc, 4);
	}
}

TEST(crc_of_the_standard)
{
	CHECK_EQ(~rove_crc32_le(~0u, "123456789", 9), 0xcbf43926);
	CHECK_EQ(rove_crc32_le(~0u, "\xff\xff\xff\xff\xff\xff\xff\xff", 8), 0xdebb20e3);
	CHECK_EQ(rove_icrc_add(0x12345678, NULL, 0), 0x12345678);
}

TEST(add_in_pieces)
{
	u8 data[300];
	u32 i, cut, seed = 5, whole;

	for (i = 0; i < sizeof(data); i++)
		data[i] = unit_rand(&seed);
	whole = crc_bits(~0u, data, sizeof(data));
	for (cut = 0; cut <= sizeof(data); cut++)
		CHECK_EQ(rove_icrc_add(rove_icrc_add(~0u, data, cut), data + cut,
				       sizeof(data) - cut), whole);
}

/* The header part against a packet written out here, for every header length. */
static u32 reference(const struct rove_icrc_flow *f, u32 ulen, const u8 *hdr, u32 hlen)
{
	u32 total = ulen + 20, n = 8;
	u8 b[8 + 40 + 8 + ROVE_MAX_HDR];

	memset(b, 0xff, sizeof(b));
	if (f->v6) {
		b[n] = 0x6f;
		b[n + 4] = ulen >> 8;
		b[n + 5] = ulen;
		b[n + 6] = 17;
		memcpy(b + n + 8, f->saddr, 16);
		memcpy(b + n + 24, f->daddr, 16);
		n += 40;
	} else {
		b[n] = 0x45;
		b[n + 2] = total >> 8;
		b[n + 3] = total;
		memcpy(b + n + 4, &f->id, 2);
		memcpy(b + n + 6, &f->frag_off, 2);
		b[n + 9] = 17;
		memcpy(b + n + 12, f->saddr, 4);
		memcpy(b + n + 16, f->daddr, 4);
		n += 20;
	}
	memcpy(b + n, &f->sport, 2);
	memcpy(b + n + 2, &f->dport, 2);
	b[n + 4] = ulen >> 8;
	b[n + 5] = ulen;
	n += 8;
	memcpy(b + n, hdr, hlen);
	b[n + 4] = 0xff;
	return crc_bits(~0u, b, n + hlen);
}

TEST(headers_against_reference)
{
	u32 n, i, hlen, ulen, seed = 6;
	struct rove_icrc_flow f;
	u8 *hdr;

	for (n = 0; n < 4000; n++) {
		for (i = 0; i < sizeof(f); i++)
			((u8 *)&f)[i] = unit_rand(&seed);
		f.v6 = n & 1;
		hlen = ROVE_BTH_LEN + n / 2 % (ROVE_MAX_HDR - ROVE_BTH_LEN + 1);
		ulen = unit_rand(&seed) % 65000;
		hdr = malloc(hlen);
		for (i = 0; i < hlen; i++)
			hdr[i] = unit_rand(&seed);
		CHECK_EQ(rove_icrc_headers(&f, ulen, hdr, hlen), reference(&f, ulen, hdr, hlen));
		free(hdr);
	}
}

/* Routers set bits in BTH byte 4; all else is covered. */
TEST(each_bit_counts_but_those)
{
	struct rove_icrc_flow f = { .dport = cpu_to_be16(ROVE_UDP_PORT) };
	u8 hdr[ROVE_MAX_HDR] = { 0 };
	u32 bit, whole, got;

	whole = rove_icrc_headers(&f, 60, hdr, sizeof(hdr));
	for (bit = 0; bit < sizeof(hdr) * 8; bit++) {
		hdr[bit / 8] ^= 1 << bit % 8;
		got = rove_icrc_headers(&f, 60, hdr, sizeof(hdr));
		hdr[bit / 8] ^= 1 << bit % 8;
		CHECK_EQ(got == whole, bit / 8 == 4);
	}
}

/* No caller does that; if one did, no memory may suffer. */
TEST(headers_too_long)
{
	struct rove_icrc_flow f = { .v6 = true };
	u8 hdr[200] = { 0 };

	CHECK_EQ(rove_icrc_headers(&f, 200, hdr, sizeof(hdr)),
		 rove_icrc_headers(&f, 200, hdr, ROVE_MAX_HDR));
}
