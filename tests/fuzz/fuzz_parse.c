// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Input: a packet from the BTH to the end of the ICRC. Its first bytes go to
 * rove_parse() in a buffer that ends where parse has to stop to read; what it
 * accepts must keep its promises, and come out the same after build.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "wire/build.h"
#include "wire/opcode.h"
#include "wire/parse.h"

/* Bits that build writes as zero, or not from struct rove_pkt. */
static void clear_reserved(u8 *hdr)
{
	hdr[4] = 0;
	hdr[8] &= 0x80;
	if (rove_opcode_info[hdr[0]].flags & ROVE_OPF_DETH)
		hdr[16] = 0;
	if (rove_opcode_has_xrceth(hdr[0], rove_opcode_info[hdr[0]].flags))
		hdr[ROVE_BTH_LEN] = 0;
	if (rove_opcode_info[hdr[0]].flags & ROVE_OPF_FETH) {
		memset(hdr + ROVE_BTH_LEN, 0, 3);
		hdr[ROVE_BTH_LEN + 3] &= 0x3f;
	}
}

/* The same packet with another PSN. */
static void check_next(const u8 *hdr, u32 total, const struct rove_pkt *pkt)
{
	u8 last[ROVE_BTH_LEN], next[ROVE_BTH_LEN];
	struct rove_pkt got = *pkt, again;

	memcpy(last, hdr, sizeof(last));
	memcpy(next, hdr, sizeof(next));
	next[8] ^= 0x81;
	next[11] ^= 0xff;
	FUZZ_CHECK(rove_parse_next(last, &got, next));
	FUZZ_CHECK(rove_parse(next, total, &again) == ROVE_DROP_NONE);
	FUZZ_CHECK(!memcmp(&got, &again, sizeof(got)) && !memcmp(last, next, sizeof(last)));
}

static void check_accepted(const u8 *hdr, u32 total, const struct rove_pkt *pkt)
{
	const struct rove_opinfo *info = &rove_opcode_info[pkt->opcode];
	u8 out[ROVE_MAX_HDR], in[ROVE_MAX_HDR];
	struct rove_pkt copy = *pkt, again;

	FUZZ_CHECK(info->flags & ROVE_OPF_VALID);
	FUZZ_CHECK(pkt->opcode == hdr[0]);
	FUZZ_CHECK(pkt->hlen == info->hlen && pkt->hlen <= ROVE_MAX_HDR);
	FUZZ_CHECK((u64)pkt->hlen + pkt->len + pkt->pad + ROVE_ICRC_LEN == total);
	FUZZ_CHECK(pkt->len <= ROVE_MAX_PMTU);
	FUZZ_CHECK(pkt->pad <= 3 && (pkt->len + pkt->pad) % 4 == 0);
	FUZZ_CHECK((info->flags & ROVE_OPF_PAYLOAD) || (!pkt->len && !pkt->pad));
	FUZZ_CHECK((pkt->dqpn | pkt->psn | pkt->sqpn | pkt->msn) <= 0xffffff);

	FUZZ_CHECK(rove_build(out, &copy) == pkt->hlen);
	FUZZ_CHECK(rove_parse(out, total, &again) == ROVE_DROP_NONE);
	FUZZ_CHECK(!memcmp(&again, &copy, sizeof(again)));
	FUZZ_CHECK(copy.pad == pkt->pad);

	memcpy(in, hdr, pkt->hlen);
	clear_reserved(in);
	clear_reserved(out);
	FUZZ_CHECK(!memcmp(in, out, pkt->hlen));
	if (pkt->hlen == ROVE_BTH_LEN)
		check_next(hdr, total, pkt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u32 total = size, n = min_t(u32, size, ROVE_MAX_HDR);
	struct rove_pkt pkt;
	enum rove_drop drop;
	u8 *hdr;

	if (size > 65535)
		return 0;
	hdr = malloc(n ? n : 1);
	if (n)
		memcpy(hdr, data, n);
	drop = rove_parse(hdr, total, &pkt);
	FUZZ_CHECK(drop <= ROVE_DROP_LENGTH);
	if (drop == ROVE_DROP_NONE)
		check_accepted(hdr, total, &pkt);
	free(hdr);
	return 0;
}
