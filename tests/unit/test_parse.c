// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "ops.h"
#include "unit.h"
#include "wire/build.h"
#include "wire/parse.h"

static u8 *put(u8 *p, u64 v, int bytes)
{
	while (bytes--)
		*p++ = v >> (8 * bytes);
	return p;
}

/* What the bytes of a packet must be, written without a look at wire/. */
static void encode(u8 *p, const struct op *op, const struct rove_pkt *k)
{
	const char *h;

	*p++ = op->code;
	*p++ = k->se << 7 | k->migreq << 6 | k->pad << 4;
	p = put(p, k->pkey, 2);
	*p++ = op->code == 0x81 ? 0x40 : 0;
	p = put(p, k->dqpn, 3);
	*p++ = k->ackreq << 7;
	p = put(p, k->psn, 3);
	for (h = op->hdrs; *h; h++) {
		switch (*h) {
		case 'X':
			p = put(put(p, 0, 1), k->srqn, 3);
			break;
		case 'D':
			p = put(put(p, k->qkey, 4), k->sqpn, 4);
			break;
		case 'R':
			p = put(put(put(p, k->va, 8), k->rkey, 4), k->dma_len, 4);
			break;
		case 'A':
			p = put(put(p, k->va, 8), k->rkey, 4);
			p = put(put(p, k->swap_add, 8), k->compare, 8);
			break;
		case 'E':
			p = put(put(p, k->syndrome, 1), k->msn, 3);
			break;
		case 'K':
			p = put(p, k->orig, 8);
			break;
		case 'I':
			memcpy(p, &k->imm, 4);
			p += 4;
			break;
		case 'F':
			p = put(p, k->flush_level << 4 | k->flush_type, 4);
			break;
		case 'V':
			p = put(p, k->inv_rkey, 4);
			break;
		}
	}
}

static u64 rand64(u32 *seed)
{
	return (u64)unit_rand(seed) << 32 | unit_rand(seed);
}

/* Only the fields that @op carries, as parse leaves them. */
static struct rove_pkt random_pkt(const struct op *op, u32 *seed)
{
	bool reth = strchr(op->hdrs, 'R'), atomic = strchr(op->hdrs, 'A');
	struct rove_pkt k = { .opcode = op->code };

	k.se = unit_rand(seed) & 1;
	k.migreq = unit_rand(seed) & 1;
	k.ackreq = unit_rand(seed) & 1;
	k.pkey = unit_rand(seed);
	k.dqpn = unit_rand(seed) & 0xffffff;
	k.psn = unit_rand(seed) & 0xffffff;
	k.hlen = op_hdr_len(op);
	if (op->payload)
		k.len = unit_rand(seed) % 4097;
	if (!strcmp(op->part, "first") || !strcmp(op->part, "middle"))
		k.len &= ~3;
	if (op->code == 0x81)
		k.len = 16;
	k.pad = -k.len & 3;
	if (reth || atomic) {
		k.va = rand64(seed);
		k.rkey = unit_rand(seed);
	}
	if (reth)
		k.dma_len = unit_rand(seed);
	if (atomic) {
		k.swap_add = rand64(seed);
		k.compare = rand64(seed);
	}
	if (strchr(op->hdrs, 'E')) {
		k.syndrome = unit_rand(seed);
		k.msn = unit_rand(seed) & 0xffffff;
	}
	if (strchr(op->hdrs, 'K'))
		k.orig = rand64(seed);
	if (strchr(op->hdrs, 'I'))
		k.imm = unit_rand(seed);
	if (strchr(op->hdrs, 'V'))
		k.inv_rkey = unit_rand(seed);
	if (strchr(op->hdrs, 'F')) {
		k.flush_type = unit_rand(seed) & 15;
		k.flush_level = unit_rand(seed) & 3;
	}
	if (strchr(op->hdrs, 'X'))
		k.srqn = unit_rand(seed) & 0xffffff;
	if (strchr(op->hdrs, 'D')) {
		k.qkey = unit_rand(seed);
		k.sqpn = unit_rand(seed) & 0xffffff;
	}
	return k;
}

static void check_same(const struct rove_pkt *a, const struct rove_pkt *b)
{
	CHECK_EQ(a->opcode, b->opcode);
	CHECK_EQ(a->pad, b->pad);
	CHECK_EQ(a->se, b->se);
	CHECK_EQ(a->ackreq, b->ackreq);
	CHECK_EQ(a->migreq, b->migreq);
	CHECK_EQ(a->syndrome, b->syndrome);
	CHECK_EQ(a->pkey, b->pkey);
	CHECK_EQ(a->dqpn, b->dqpn);
	CHECK_EQ(a->psn, b->psn);
	CHECK_EQ(a->msn, b->msn);
	CHECK_EQ(a->hlen, b->hlen);
	CHECK_EQ(a->len, b->len);
	CHECK_EQ(a->va, b->va);
	CHECK_EQ(a->rkey, b->rkey);
	CHECK_EQ(a->dma_len, b->dma_len);
	CHECK_EQ(a->swap_add, b->swap_add);
	CHECK_EQ(a->compare, b->compare);
	CHECK_EQ(a->orig, b->orig);
	CHECK_EQ(a->imm, b->imm);
	CHECK_EQ(a->inv_rkey, b->inv_rkey);
	CHECK_EQ(a->qkey, b->qkey);
	CHECK_EQ(a->sqpn, b->sqpn);
	CHECK_EQ(a->srqn, b->srqn);
}

/* From a buffer that ends where parse must stop to read. */
static enum rove_drop parse_exact(const u8 *hdr, u32 total, struct rove_pkt *pkt)
{
	u32 n = min_t(u32, total, ROVE_MAX_HDR);
	u8 *copy = malloc(n ? n : 1);
	enum rove_drop drop;

	memcpy(copy, hdr, n);
	DIRTY(pkt);
	drop = rove_parse(copy, total, pkt);
	free(copy);
	return drop;
}

static enum rove_drop expected(const u8 *hdr, u32 total)
{
	const struct op *op;
	u32 pad, body, hlen;

	if (total < 16)
		return ROVE_DROP_SHORT;
	if (hdr[1] & 0x0f)
		return ROVE_DROP_VERSION;
	op = op_find(hdr[0]);
	if (!op)
		return ROVE_DROP_OPCODE;
	hlen = op_hdr_len(op);
	if (total < hlen + 4)
		return ROVE_DROP_SHORT;
	body = total - hlen - 4;
	pad = hdr[1] >> 4 & 3;
	if (!op->payload)
		return pad ? ROVE_DROP_PAD : body ? ROVE_DROP_LENGTH : ROVE_DROP_NONE;
	if (pad && strcmp(op->part, "last") && strcmp(op->part, "only"))
		return ROVE_DROP_PAD;
	if (pad > body || body & 3)
		return ROVE_DROP_PAD;
	if (body - pad > 4096 || (op->code == 0x81 && body != 16))
		return ROVE_DROP_LENGTH;
	return ROVE_DROP_NONE;
}

static void check_parse(const u8 *hdr, u32 total)
{
	enum rove_drop want = expected(hdr, total);
	struct rove_pkt pkt;
	enum rove_drop got = parse_exact(hdr, total, &pkt);

	if (got != want)
		unit_note("opcode %02x flags %02x total %u", hdr[0], hdr[1], total);
	CHECK_EQ(got, want);
	if (got != ROVE_DROP_NONE)
		return;
	CHECK_EQ((u64)pkt.hlen + pkt.len + pkt.pad + ROVE_ICRC_LEN, total);
	CHECK_EQ(pkt.hlen, op_hdr_len(op_find(hdr[0])));
	CHECK_EQ(pkt.pad, hdr[1] >> 4 & 3);
	CHECK(pkt.len <= ROVE_MAX_PMTU);
}

TEST(opcode_table)
{
	u32 code, flags, part;
	const struct op *op;

	for (code = 0; code < 256; code++) {
		op = op_find(code);
		flags = rove_opcode_info[code].flags;
		if (!op) {
			CHECK_EQ(flags, 0);
			continue;
		}
		CHECK(flags & ROVE_OPF_VALID);
		CHECK_EQ(rove_opcode_info[code].hlen, op_hdr_len(op));
		CHECK(op_hdr_len(op) <= ROVE_MAX_HDR);
		CHECK_EQ(!!(flags & ROVE_OPF_PAYLOAD), op->payload);
		part = flags & (ROVE_OPF_START | ROVE_OPF_END);
		CHECK_EQ(part, !strcmp(op->part, "only") ? ROVE_OPF_START | ROVE_OPF_END :
			       !strcmp(op->part, "first") ? ROVE_OPF_START :
			       !strcmp(op->part, "last") ? ROVE_OPF_END : 0);
		CHECK_EQ(!!(flags & ROVE_OPF_RETH), !!strchr(op->hdrs, 'R'));
		CHECK_EQ(!!(flags & ROVE_OPF_DETH), !!strchr(op->hdrs, 'D'));
		CHECK_EQ(!!(flags & ROVE_OPF_ATOMIC), !!strchr(op->hdrs, 'A'));
		CHECK_EQ(!!(flags & ROVE_OPF_AETH), !!strchr(op->hdrs, 'E'));
		CHECK_EQ(!!(flags & ROVE_OPF_ATOMIC_ACK), !!strchr(op->hdrs, 'K'));
		CHECK_EQ(!!(flags & ROVE_OPF_IMM), !!strchr(op->hdrs, 'I'));
		CHECK_EQ(!!(flags & ROVE_OPF_IETH), !!strchr(op->hdrs, 'V'));
		CHECK_EQ(!!(flags & ROVE_OPF_FETH), !!strchr(op->hdrs, 'F'));
	}
}

TEST(opcode_kinds)
{
	u32 code, op, kind, want;

	for (code = 0; code < 256; code++) {
		if (!op_find(code))
			continue;
		op = code & ROVE_OP_MASK;
		want = op >= 0x0d && op <= 0x12 ? ROVE_OPF_RESPONSE : ROVE_OPF_REQUEST;
		if (op <= 0x05 || op == 0x16 || op == 0x17)
			want |= ROVE_OPF_SEND;
		else if (op <= 0x0b)
			want |= ROVE_OPF_WRITE;
		else if (op <= 0x10)
			want |= ROVE_OPF_READ;
		if (code == 0x81)
			want = 0;
		kind = rove_opcode_info[code].flags &
		       (ROVE_OPF_REQUEST | ROVE_OPF_RESPONSE | ROVE_OPF_SEND |
			ROVE_OPF_WRITE | ROVE_OPF_READ);
		CHECK_EQ(kind, want);
	}
}

TEST(build_writes_the_bytes_of_the_standard)
{
	u8 want[ROVE_MAX_HDR], got[ROVE_MAX_HDR];
	u32 i, n, seed = 1;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (n = 0; n < 200; n++) {
			struct rove_pkt k = random_pkt(&ops[i], &seed);
			u32 hlen = k.hlen, pad = k.pad;

			memset(want, 0xaa, sizeof(want));
			memset(got, 0xaa, sizeof(got));
			encode(want, &ops[i], &k);
			k.hlen = 99;
			k.pad = 99;
			CHECK_EQ(rove_build(got, &k), hlen);
			CHECK_EQ(k.hlen, hlen);
			CHECK_EQ(k.pad, pad);
			CHECK_MEM(got, want, sizeof(got));
		}
	}
}

TEST(parse_reads_the_bytes_of_the_standard)
{
	struct rove_pkt k, got;
	u8 hdr[ROVE_MAX_HDR];
	u32 i, n, seed = 2;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (n = 0; n < 200; n++) {
			k = random_pkt(&ops[i], &seed);
			memset(hdr, 0xaa, sizeof(hdr));
			encode(hdr, &ops[i], &k);
			/* what nobody may look at: FECN, BECN, reserved bits */
			hdr[4] = unit_rand(&seed);
			hdr[8] |= unit_rand(&seed) & 0x7f;
			if (strchr(ops[i].hdrs, 'D'))
				hdr[16] = unit_rand(&seed);
			memset(&got, 0x55, sizeof(got));
			CHECK_EQ(parse_exact(hdr, k.hlen + k.len + k.pad + 4, &got),
				 ROVE_DROP_NONE);
			check_same(&got, &k);
		}
	}
}

TEST(round_trip)
{
	struct rove_pkt k, got;
	u8 hdr[ROVE_MAX_HDR];
	u32 i, n, seed = 3;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (n = 0; n < 200; n++) {
			k = random_pkt(&ops[i], &seed);
			rove_build(hdr, &k);
			CHECK_EQ(parse_exact(hdr, k.hlen + k.len + k.pad + 4, &got),
				 ROVE_DROP_NONE);
			check_same(&got, &k);
		}
	}
}

TEST(every_opcode_and_truncation)
{
	u8 hdr[ROVE_MAX_HDR];
	u32 code, total;

	memset(hdr, 0xff, sizeof(hdr));
	hdr[1] = 0x40;
	for (code = 0; code < 256; code++) {
		hdr[0] = code;
		for (total = 0; total <= 80; total++)
			check_parse(hdr, total);
	}
}

TEST(every_pad_and_body)
{
	u32 i, pad, body, around;
	u8 hdr[ROVE_MAX_HDR];

	memset(hdr, 0, sizeof(hdr));
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		hdr[0] = ops[i].code;
		around = op_hdr_len(&ops[i]) + 4;
		for (pad = 0; pad < 4; pad++) {
			hdr[1] = pad << 4;
			for (body = 0; body <= 20; body++)
				check_parse(hdr, around + body);
			for (body = 4080; body <= 4112; body++)
				check_parse(hdr, around + body);
		}
	}
}

TEST(absurd_totals)
{
	static const u32 totals[] = {
		65507, 0x7ffffff0, 0x80000000, 0xfffffff0, 0xfffffffc, 0xffffffff
	};
	u8 hdr[ROVE_MAX_HDR] = { 0 };
	u32 i, code, pad;

	for (code = 0; code < 256; code++) {
		hdr[0] = code;
		for (pad = 0; pad < 4; pad++) {
			hdr[1] = pad << 4;
			for (i = 0; i < ARRAY_SIZE(totals); i++)
				check_parse(hdr, totals[i]);
			/* and what looks harmless in 16 bits */
			for (i = 0; i < 80; i++)
				check_parse(hdr, 65536 + i);
		}
	}
}

TEST(every_version)
{
	u8 hdr[ROVE_MAX_HDR] = { 0x04 };
	u32 flags;

	for (flags = 0; flags < 256; flags++) {
		hdr[1] = flags;
		check_parse(hdr, 16);
		check_parse(hdr, 20);
	}
}

TEST(random_bytes)
{
	u8 hdr[ROVE_MAX_HDR];
	u32 i, n, seed = 4;

	for (n = 0; n < 200000; n++) {
		for (i = 0; i < sizeof(hdr); i++)
			hdr[i] = unit_rand(&seed);
		if (n & 1)
			hdr[0] = ops[n / 2 % ARRAY_SIZE(ops)].code;
		if (n & 2)
			hdr[1] &= 0xf0;
		check_parse(hdr, unit_rand(&seed) % (n & 4 ? 100 : 5000));
	}
}

TEST(build_keeps_to_24_bits)
{
	struct rove_pkt k = { .opcode = ROVE_TR_UD | ROVE_OP_SEND_ONLY };
	struct rove_pkt ack = { .opcode = ROVE_OP_ACK, .syndrome = 0x61 };
	u8 hdr[ROVE_MAX_HDR];

	k.dqpn = 0xff123456;
	k.psn = 0xff234567;
	k.sqpn = 0xff345678;
	CHECK_EQ(rove_build(hdr, &k), 20);
	CHECK_MEM(hdr + 4, "\x00\x12\x34\x56\x00\x23\x45\x67", 8);
	CHECK_MEM(hdr + 16, "\x00\x34\x56\x78", 4);

	ack.msn = 0xff456789;
	CHECK_EQ(rove_build(hdr, &ack), 16);
	CHECK_MEM(hdr + 12, "\x61\x45\x67\x89", 4);
}

/* Bytes by hand: the SRQ number is right behind the BTH, its upper byte is reserved. */
TEST(xrceth)
{
	static const u8 bytes[] = {
		0xaa, 0x40, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0x00, 0x00, 0x01,
		0x00, 0xab, 0xcd, 0xef,
		0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x55,
		0x00, 0x00, 0x00, 0x08,
	};
	struct rove_pkt k = {
		.opcode = ROVE_TR_XRC | ROVE_OP_WRITE_ONLY, .migreq = true, .ackreq = true,
		.pkey = 0xffff, .dqpn = 0x123456, .psn = 1, .srqn = 0xffabcdef,
		.va = 0x7f0000001000, .rkey = 0x55, .dma_len = 8, .len = 8,
	};
	u8 hdr[ROVE_MAX_HDR] = {};
	struct rove_pkt got;

	CHECK_EQ(rove_build(hdr, &k), sizeof(bytes));
	CHECK_MEM(hdr, bytes, sizeof(bytes));
	hdr[12] = 0xff;
	CHECK_EQ(rove_parse(hdr, sizeof(bytes) + 8 + 4, &got), ROVE_DROP_NONE);
	CHECK_EQ(got.srqn, 0xabcdef);
	CHECK_EQ(got.va, k.va);
	CHECK_EQ(got.len, 8);
}

TEST(build_pads_payload_only)
{
	struct rove_pkt k = { .opcode = ROVE_OP_SEND_ONLY };
	struct rove_pkt read = { .opcode = ROVE_OP_READ_REQ, .len = 3 };
	u8 hdr[ROVE_MAX_HDR];
	u32 len;

	for (len = 0; len <= 4096; len++) {
		k.len = len;
		rove_build(hdr, &k);
		CHECK((len + k.pad) % 4 == 0 && k.pad < 4);
		CHECK_EQ(hdr[1], k.pad << 4);
	}
	rove_build(hdr, &read);
	CHECK_EQ(read.pad, 0);
}

TEST(build_knows_its_opcodes)
{
	u8 hdr[ROVE_MAX_HDR], none[ROVE_MAX_HDR];
	u32 code;

	memset(none, 0xaa, sizeof(none));
	for (code = 0; code < 256; code++) {
		struct rove_pkt k = { .opcode = code, .hlen = 7 };

		memset(hdr, 0xaa, sizeof(hdr));
		if (op_find(code)) {
			CHECK_EQ(rove_build(hdr, &k), op_hdr_len(op_find(code)));
			continue;
		}
		CHECK_EQ(rove_build(hdr, &k), 0);
		CHECK_EQ(k.hlen, 0);
		CHECK_MEM(hdr, none, sizeof(hdr));
	}
}

/* What is found out faster of a packet like the one before is what parse finds. */
TEST(alike_but_for_its_psn)
{
	u8 hdr[ROVE_MAX_HDR], old[ROVE_MAX_HDR], next[ROVE_BTH_LEN];
	const u8 codes[] = { 0x01, 0x07, 0x0e, 0x02, 0x04, 0x21, 0x27, 0xae };
	struct rove_pkt k, was, again;
	u32 seed = 7, i, at;

	for (i = 0; i < 4000; i++) {
		k = random_pkt(op_find(codes[i % ARRAY_SIZE(codes)]), &seed);
		rove_build(hdr, &k);
		hdr[4] = unit_rand(&seed);
		CHECK_EQ(k.hlen, ROVE_BTH_LEN);
		CHECK_EQ(parse_exact(hdr, k.hlen + k.len + k.pad + 4, &k), ROVE_DROP_NONE);
		memcpy(next, hdr, sizeof(next));
		memcpy(old, hdr, sizeof(old));
		was = k;
		for (at = 0; at < 8; at++) {
			next[at] ^= 1 << unit_rand(&seed) % 8;
			CHECK(!rove_parse_next(hdr, &k, next));
			CHECK_MEM(hdr, old, sizeof(hdr));
			CHECK_MEM(&k, &was, sizeof(k));
			next[at] = hdr[at];
		}
		put(next + 8, unit_rand(&seed), 4);
		k.opcode = 0x33;
		CHECK(rove_parse_next(hdr, &k, next));
		CHECK_MEM(hdr, next, sizeof(next));
		CHECK_EQ(parse_exact(hdr, k.hlen + k.len + k.pad + 4, &again), ROVE_DROP_NONE);
		CHECK_MEM(&k, &again, sizeof(k));
	}
}

/* As a NIC sent it. */
TEST(cnp)
{
	static const u8 wire[ROVE_MAX_HDR] = "\x81\x00\xff\xff\x40\x00\x01\x18";
	struct rove_pkt k = {
		.opcode = ROVE_OPCODE_CNP, .pkey = 0xffff, .dqpn = 0x118, .len = ROVE_CNP_LEN,
	};
	struct rove_pkt got;
	u8 hdr[ROVE_MAX_HDR];

	CHECK_EQ(rove_build(hdr, &k), 12);
	CHECK_MEM(hdr, wire, 12);
	CHECK_EQ(parse_exact(wire, 32, &got), ROVE_DROP_NONE);
	check_same(&got, &k);
	CHECK_EQ(parse_exact(wire, 28, &got), ROVE_DROP_LENGTH);
	CHECK_EQ(parse_exact(wire, 36, &got), ROVE_DROP_LENGTH);
}
