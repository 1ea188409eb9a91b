// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "proto/resp.h"
#include "ring/wqe.h"
#include "wire/opcode.h"
#include "unit.h"

#define MTU	1024
#define PSN	0xfffffcU		/* so that everything wraps */
#define VA	0x10000ULL
#define KEY	0x55

static u16 pkeys[] = { 0xffff, 0x8001, 0x0002, 0 };
static struct rove_resp r;
static struct rove_resp_saved saved[2];
static struct rove_resp_act act;
static struct rove_resp_comp comp;
static struct rove_seg seg;

static void setup(void)
{
	rove_resp_init(&r);
	r.conf = (struct rove_resp_conf){
		.min_rnr_timer = 12, .remote_write = true, .remote_read = true,
		.remote_atomic = true, .pkeys = { pkeys, 1 }, .pmtu = MTU, .dqpn = 7, .qkey = 0x1111,
	};
	rove_resp_set_saved(&r, saved, ARRAY_SIZE(saved));
	rove_resp_set_psn(&r, PSN);
	rove_resp_start(&r);
}

static struct rove_pkt request(u8 opcode, u32 psn, u32 len)
{
	return (struct rove_pkt){
		.opcode = opcode, .psn = (PSN + psn) & 0xffffff, .len = len, .pkey = 0xffff,
		.ackreq = true, .va = VA, .rkey = KEY, .dma_len = len, .imm = 0x1234,
		.inv_rkey = 0x77, .qkey = 0x1111, .sqpn = 0x42, .swap_add = 5, .compare = 6,
	};
}

static void take(const struct rove_pkt *pkt)
{
	DIRTY(&act);
	rove_resp_packet(&r, pkt, &act);
}

/* If there is none, the last one stays. */
static bool next_seg(void)
{
	struct rove_seg next;

	DIRTY(&next);
	if (!rove_resp_next(&r, &next))
		return false;
	seg = next;
	return true;
}

static bool next_done(void)
{
	DIRTY(&comp);
	return rove_resp_reap(&r, &comp);
}

static u8 get(u8 opcode, u32 psn, u32 len)
{
	struct rove_pkt pkt = request(opcode, psn, len);

	take(&pkt);
	return act.kind;
}

/* First packet of a WRITE, or a READ, of @dma_len bytes. */
static u8 get_rdma(u8 opcode, u32 psn, u32 len, u32 dma_len)
{
	struct rove_pkt pkt = request(opcode, psn, len);

	pkt.dma_len = dma_len;
	take(&pkt);
	return act.kind;
}

static u8 result(u8 fault)
{
	struct rove_resp_result res = { .fault = fault, .value = 0xabcdef };

	DIRTY(&act);
	rove_resp_result(&r, &res, &act);
	return act.kind;
}

static u8 give_rqe(u32 len)
{
	struct rove_resp_result res = { .len = len };

	DIRTY(&act);
	rove_resp_result(&r, &res, &act);
	return act.kind;
}

static u8 no_rqe(void)
{
	struct rove_resp_result res = { .empty = true };

	DIRTY(&act);
	rove_resp_result(&r, &res, &act);
	return act.kind;
}

/* A whole SEND of @len bytes in one packet. */
static void send(u32 psn, u32 len)
{
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, psn, len), ROVE_RESP_GET_RQE);
	if (len) {
		CHECK_EQ(give_rqe(len), ROVE_RESP_PLACE_RQE);
		CHECK_EQ(result(0), ROVE_RESP_DONE);
	} else {
		CHECK_EQ(give_rqe(0), ROVE_RESP_DONE);
	}
	CHECK(next_done());
	CHECK(!comp.fault && comp.byte_len == len && comp.src_qp == 7);
}

static void answers(u8 opcode, u32 psn, u8 syndrome)
{
	CHECK(next_seg());
	CHECK_EQ(seg.pkt.opcode, opcode);
	CHECK_EQ(seg.pkt.psn, (PSN + psn) & 0xffffff);
	if (opcode != ROVE_OP_READ_RESP_MIDDLE)
		CHECK_EQ(seg.pkt.syndrome, syndrome);
	CHECK(seg.pkt.dqpn == 7 && seg.pkt.migreq && !seg.pkt.ackreq && !seg.pkt.se);
}

static void acks(u32 psn, u32 msn)
{
	answers(ROVE_OP_ACK, psn, 0x1f);
	CHECK_EQ(seg.pkt.msn, msn);
}

static void answers_nothing(void)
{
	CHECK(!next_seg());
}

static void drops(u8 kind, u8 why)
{
	CHECK_EQ(kind, ROVE_RESP_DROP);
	CHECK_EQ(act.drop, why);
}

/* The QP broke: a NAK for @psn, and @event. */
static void breaks(u32 psn, u8 nak, u32 event)
{
	CHECK_EQ(act.kind, ROVE_RESP_DONE);
	CHECK(r.broken);
	CHECK_EQ(rove_resp_take_events(&r) & ~ROVE_QPE_COMM_EST, event);
	answers(ROVE_OP_ACK, psn, 0x60 | nak);
	answers_nothing();
	drops(get(ROVE_OP_SEND_ONLY, psn, 0), ROVE_DROP_STATE);
	answers_nothing();
}

TEST(one_ack_for_the_batch)
{
	setup();
	send(0, 0);
	send(1, 5);
	CHECK_EQ(get(ROVE_OP_SEND_FIRST, 2, MTU), ROVE_RESP_GET_RQE);
	CHECK_EQ(give_rqe(3 * MTU), ROVE_RESP_PLACE_RQE);
	CHECK(act.off == 0 && act.len == MTU);
	result(0);
	CHECK_EQ(get(ROVE_OP_SEND_MIDDLE, 3, MTU), ROVE_RESP_PLACE_RQE);
	CHECK(act.off == MTU && act.len == MTU);
	result(0);
	CHECK(!next_done());
	acks(3, 2);
	CHECK_EQ(get(ROVE_OP_SEND_LAST_IMM, 4, 3), ROVE_RESP_PLACE_RQE);
	CHECK_EQ(act.off, 2 * MTU);
	result(0);
	CHECK(next_done());
	CHECK_EQ(comp.byte_len, 2 * MTU + 3);
	CHECK_EQ(comp.flags, ROVE_CQE_RECV | ROVE_CQE_IMM);
	CHECK_EQ(comp.imm, 0x1234);
	CHECK(!next_done());
	acks(4, 3);
	answers_nothing();
	CHECK_EQ(rove_resp_take_events(&r), ROVE_QPE_COMM_EST);
	send(5, 0);
	CHECK_EQ(rove_resp_take_events(&r), 0);
}

static u8 flush(u32 psn, u8 type, u8 level)
{
	struct rove_pkt pkt = request(ROVE_OP_FLUSH, psn, 0);

	pkt.dma_len = 99;
	pkt.flush_type = type;
	pkt.flush_level = level;
	take(&pkt);
	return act.kind;
}

/* Answered by an empty READ response, executed once, refused like the others. */
TEST(place_operations)
{
	static const struct {
		u8 len;
		u32 dma_len;
		u64 va;
	} bad[] = { { 7, 8, VA }, { 8, 7, VA }, { 8, 16, VA }, { 0, 0, VA }, { 8, 8, VA + 4 } };
	struct rove_pkt pkt;
	u32 i;

	setup();
	r.conf.flush_types = 1;
	CHECK_EQ(get(ROVE_OP_ATOMIC_WRITE, 0, 8), ROVE_RESP_ATOMIC_WRITE);
	CHECK(act.va == VA && act.rkey == KEY && act.len == 8 && act.check_len == 8);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	CHECK_EQ(flush(1, 1, 0), ROVE_RESP_FLUSH);
	CHECK(act.va == VA && act.rkey == KEY && act.check_len == 99 && !act.whole);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	answers(ROVE_OP_READ_RESP_ONLY, 0, 0x1f);
	CHECK(seg.pkt.len == 0 && seg.pkt.msn == 1 && seg.source == ROVE_SEG_NONE);
	answers(ROVE_OP_READ_RESP_ONLY, 1, 0x1f);
	CHECK_EQ(seg.pkt.msn, 2);
	answers_nothing();
	/* Again: answered, not executed. */
	CHECK_EQ(get(ROVE_OP_ATOMIC_WRITE, 0, 8), ROVE_RESP_DONE);
	CHECK_EQ(flush(1, 1, 0), ROVE_RESP_DONE);
	answers(ROVE_OP_READ_RESP_ONLY, 0, 0x1f);
	answers(ROVE_OP_READ_RESP_ONLY, 1, 0x1f);
	CHECK_EQ(flush(2, 1, 1), ROVE_RESP_FLUSH);
	CHECK(act.whole);
	CHECK_EQ(result(ROVE_FAULT_REQ_ACCESS), ROVE_RESP_DONE);
	breaks(2, ROVE_NAK_ACCESS, ROVE_QPE_ACCESS_ERR);

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		setup();
		pkt = request(ROVE_OP_ATOMIC_WRITE, 0, bad[i].len);
		pkt.dma_len = bad[i].dma_len;
		pkt.va = bad[i].va;
		take(&pkt);
		breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
	}
	setup();
	r.conf.remote_write = false;
	get(ROVE_OP_ATOMIC_WRITE, 0, 8);
	breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
	/* What the QP does not allow, nothing, and what there is not. */
	for (i = 0; i < 16; i++) {
		setup();
		r.conf.flush_types = 1;
		if (i == 1)
			continue;
		flush(0, i, 0);
		breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
	}
	for (i = 2; i < 4; i++) {
		setup();
		r.conf.flush_types = 1;
		flush(0, 1, i);
		breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
	}
}

TEST(invalidate_before_completion)
{
	setup();
	CHECK_EQ(get(ROVE_OP_SEND_ONLY_INV, 0, 4), ROVE_RESP_GET_RQE);
	CHECK_EQ(give_rqe(4), ROVE_RESP_PLACE_RQE);
	CHECK_EQ(result(0), ROVE_RESP_INVALIDATE);
	CHECK_EQ(act.rkey, 0x77);
	CHECK(!next_done());
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	CHECK(next_done());
	CHECK(comp.flags == (ROVE_CQE_RECV | ROVE_CQE_INV) && comp.imm == 0x77);

	CHECK_EQ(get(ROVE_OP_SEND_ONLY_INV, 1, 0), ROVE_RESP_GET_RQE);
	CHECK_EQ(give_rqe(4), ROVE_RESP_INVALIDATE);
	result(ROVE_FAULT_REQ_ACCESS);
	CHECK(next_done());
	CHECK_EQ(comp.fault, ROVE_FAULT_REQ_ACCESS);
	breaks(1, ROVE_NAK_ACCESS, ROVE_QPE_ACCESS_ERR);
}

TEST(writes)
{
	setup();
	CHECK_EQ(get_rdma(ROVE_OP_WRITE_FIRST, 0, MTU, 2 * MTU + 1), ROVE_RESP_PLACE_MR);
	CHECK(act.va == VA && act.rkey == KEY && act.len == MTU && act.check_len == 2 * MTU + 1);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	CHECK_EQ(get(ROVE_OP_WRITE_MIDDLE, 1, MTU), ROVE_RESP_PLACE_MR);
	CHECK(act.va == VA + MTU && act.check_len == MTU);
	result(0);
	CHECK_EQ(get(ROVE_OP_WRITE_LAST_IMM, 2, 1), ROVE_RESP_GET_RQE);
	CHECK_EQ(no_rqe(), ROVE_RESP_DONE);
	answers(ROVE_OP_ACK, 2, 0x20 | 12);
	CHECK_EQ(get(ROVE_OP_WRITE_LAST_IMM, 2, 1), ROVE_RESP_GET_RQE);
	CHECK_EQ(give_rqe(0), ROVE_RESP_PLACE_MR);
	CHECK(act.va == VA + 2 * MTU && act.len == 1);
	result(0);
	CHECK(next_done());
	CHECK(comp.recv == ROVE_RECV_WRITE_IMM && comp.byte_len == 2 * MTU + 1);
	acks(2, 1);
	/* nothing to write: any key */
	CHECK_EQ(get(ROVE_OP_WRITE_ONLY, 3, 0), ROVE_RESP_DONE);
	CHECK(!next_done());
	CHECK_EQ(get(ROVE_OP_WRITE_ONLY_IMM, 4, 0), ROVE_RESP_GET_RQE);
	CHECK_EQ(give_rqe(0), ROVE_RESP_DONE);
	CHECK(next_done());
	acks(4, 3);
	CHECK_EQ(get(ROVE_OP_WRITE_ONLY, 5, 10), ROVE_RESP_PLACE_MR);
	result(ROVE_FAULT_REQ_ACCESS);
	breaks(5, ROVE_NAK_ACCESS, ROVE_QPE_ACCESS_ERR);
}

TEST(order_and_length)
{
	static const struct {
		u8 first;		/* of a message that is open, or 0xff */
		u8 opcode;
		u32 len;
	} bad[] = {
		{ 0xff, ROVE_OP_SEND_MIDDLE, MTU }, { 0xff, ROVE_OP_SEND_LAST, 1 },
		{ 0xff, ROVE_OP_SEND_LAST_INV, 1 }, { 0xff, ROVE_OP_WRITE_MIDDLE, MTU },
		{ 0xff, ROVE_OP_WRITE_LAST, 1 }, { 0xff, ROVE_OP_WRITE_LAST_IMM, 1 },
		{ 0xff, ROVE_OP_SEND_FIRST, MTU - 4 }, { 0xff, ROVE_OP_SEND_FIRST, MTU + 4 },
		{ 0xff, ROVE_OP_SEND_ONLY, MTU + 4 }, { 0xff, ROVE_OP_WRITE_FIRST, 0 },
		{ ROVE_OP_SEND_FIRST, ROVE_OP_SEND_FIRST, MTU },
		{ ROVE_OP_SEND_FIRST, ROVE_OP_SEND_ONLY, 1 },
		{ ROVE_OP_SEND_FIRST, ROVE_OP_WRITE_MIDDLE, MTU },
		{ ROVE_OP_SEND_FIRST, ROVE_OP_WRITE_LAST, 1 },
		{ ROVE_OP_SEND_FIRST, ROVE_OP_READ_REQ, 0 },
		{ ROVE_OP_SEND_FIRST, ROVE_OP_FETCH_ADD, 0 },
		{ ROVE_OP_SEND_FIRST, ROVE_OP_SEND_MIDDLE, MTU - 1 },
		{ ROVE_OP_SEND_FIRST, ROVE_OP_SEND_LAST, 0 },
		{ ROVE_OP_WRITE_FIRST, ROVE_OP_SEND_LAST, 1 },
		{ ROVE_OP_WRITE_FIRST, ROVE_OP_WRITE_ONLY, 1 },
		{ ROVE_OP_WRITE_FIRST, ROVE_OP_WRITE_LAST, 0 },
		{ ROVE_OP_WRITE_FIRST, ROVE_OP_WRITE_LAST, 1 },	/* too short */
		{ ROVE_OP_WRITE_FIRST, ROVE_OP_WRITE_MIDDLE, MTU },	/* too long */
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		u32 psn = bad[i].first != 0xff;

		setup();
		if (bad[i].first == ROVE_OP_SEND_FIRST) {
			get(bad[i].first, 0, MTU);
			give_rqe(100 * MTU);
			result(0);
		} else if (psn) {
			get_rdma(bad[i].first, 0, MTU, 2 * MTU);
			result(0);
		}
		CHECK_EQ(get(bad[i].opcode, psn, bad[i].len), ROVE_RESP_DONE);
		CHECK_EQ(next_done(), bad[i].first == ROVE_OP_SEND_FIRST);
		if (bad[i].first == ROVE_OP_SEND_FIRST)
			CHECK_EQ(comp.fault, ROVE_FAULT_REQ_INVALID);
		breaks(psn, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
	}
	setup();
	get_rdma(ROVE_OP_WRITE_ONLY, 0, 10, 11);
	breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
	setup();
	get_rdma(ROVE_OP_WRITE_FIRST, 0, MTU, ROVE_MAX_MSG + 1);
	breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
	setup();
	get_rdma(ROVE_OP_READ_REQ, 0, 0, ROVE_MAX_MSG + 1);
	breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
}

TEST(not_allowed)
{
	static const u8 ops[] = { ROVE_OP_WRITE_ONLY, ROVE_OP_READ_REQ, ROVE_OP_CMP_SWP };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		setup();
		r.conf.remote_write = false;
		r.conf.remote_read = false;
		r.conf.remote_atomic = false;
		get(ops[i], 0, i ? 0 : 4);
		breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
		if (!i)
			continue;
		setup();
		rove_resp_reset(&r);
		rove_resp_set_saved(&r, NULL, 0);
		rove_resp_set_psn(&r, PSN);
		rove_resp_start(&r);
		get(ops[i], 0, 0);
		breaks(0, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
	}
}

TEST(receive_faults)
{
	setup();
	get(ROVE_OP_SEND_FIRST, 0, MTU);
	give_rqe(MTU + 5);
	result(0);
	CHECK_EQ(get(ROVE_OP_SEND_LAST, 1, 6), ROVE_RESP_DONE);
	CHECK(next_done());
	CHECK_EQ(comp.fault, ROVE_FAULT_LOCAL_LEN);
	breaks(1, ROVE_NAK_INVALID, 0);

	setup();
	get(ROVE_OP_SEND_ONLY, 0, 1);
	CHECK_EQ(result(ROVE_FAULT_WQE), ROVE_RESP_DONE);
	CHECK(next_done());
	CHECK_EQ(comp.fault, ROVE_FAULT_WQE);
	breaks(0, ROVE_NAK_OP, 0);

	setup();
	get(ROVE_OP_SEND_ONLY, 0, 1);
	give_rqe(1);
	CHECK_EQ(result(ROVE_FAULT_LOCAL_PROT), ROVE_RESP_DONE);
	CHECK(next_done());
	CHECK_EQ(comp.fault, ROVE_FAULT_LOCAL_PROT);
	breaks(0, ROVE_NAK_OP, 0);
}

TEST(gap)
{
	setup();
	send(0, 0);
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 2, 0), ROVE_RESP_DONE);
	drops(get(ROVE_OP_SEND_ONLY, 3, 0), ROVE_DROP_SEQ);
	answers(ROVE_OP_ACK, 1, 0x60);
	answers_nothing();
	drops(get(ROVE_OP_SEND_ONLY, 4, 0), ROVE_DROP_SEQ);
	answers_nothing();
	CHECK_EQ(r.tally.n[ROVE_TALLY_OUT_OF_SEQ], 3);
	send(1, 0);
	acks(1, 2);
	/* a new gap, which closes before the NAK is out: only out of order */
	get(ROVE_OP_SEND_ONLY, 3, 0);
	send(2, 0);
	answers(ROVE_OP_ACK, 3, 0x60);		/* 3 was lost by that */
	send(3, 0);
	get(ROVE_OP_SEND_ONLY, 5, 0);
	send(4, 0);
	send(5, 0);
	acks(5, 6);				/* 5 came again */
	answers_nothing();
}

static s32 kept(u32 psn)
{
	return rove_resp_kept(&r, (PSN + psn) & 0xffffff);
}

/* What came too early is asked for no more; what is missing before it, once for each gap. */
TEST(kept_for_later)
{
	setup();
	r.conf.keep = 6;
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 1, 8), ROVE_RESP_KEEP);
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 2, 8), ROVE_RESP_KEEP);
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 4, 8), ROVE_RESP_KEEP);
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 5, 8), ROVE_RESP_KEEP);
	drops(get(ROVE_OP_SEND_ONLY, 6, 8), ROVE_DROP_SEQ);	/* too far off */
	CHECK_EQ(kept(1), 1);
	answers(ROVE_OP_ACK, 0, 0x60 | ROVE_NAK_SEQ);
	CHECK_EQ(kept(1), 1);
	answers_nothing();
	send(0, 8);
	CHECK_EQ(kept(1), 0);
	send(1, 8);
	CHECK_EQ(kept(2), 0);
	send(2, 8);
	CHECK_EQ(kept(4), 1);
	answers(ROVE_OP_ACK, 3, 0x60 | ROVE_NAK_SEQ);		/* that is an ACK of 2, too */
	CHECK_EQ(seg.pkt.msn, 3);
	answers_nothing();
	CHECK_EQ(kept(4), 1);
	answers_nothing();
	send(3, 8);
	CHECK_EQ(kept(4), 0);
	send(4, 8);
	CHECK_EQ(kept(5), 0);
	send(5, 8);
	acks(5, 6);
	answers_nothing();
	CHECK_EQ(kept(5), -1);					/* came a second time */
	rove_resp_error(&r);
	CHECK(kept(7) < 0);					/* nothing is waited for */
}

/* A gap that is closed before anybody spoke of it; then one that is not. */
TEST(kept_and_not_told)
{
	setup();
	r.conf.keep = 6;
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 1, 8), ROVE_RESP_KEEP);
	send(0, 8);
	CHECK_EQ(kept(1), 0);
	send(1, 8);
	acks(1, 2);
	answers_nothing();
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 3, 8), ROVE_RESP_KEEP);
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 5, 8), ROVE_RESP_KEEP);
	send(2, 8);
	CHECK_EQ(kept(3), 0);
	send(3, 8);
	CHECK_EQ(kept(5), 1);
	answers(ROVE_OP_ACK, 4, 0x60 | ROVE_NAK_SEQ);
	answers_nothing();
}

/* Who was told to wait for a receive WQE sends all again. */
TEST(not_kept_while_not_ready)
{
	setup();
	r.conf.keep = 6;
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 0, 8), ROVE_RESP_GET_RQE);
	CHECK_EQ(no_rqe(), ROVE_RESP_DONE);
	drops(get(ROVE_OP_SEND_ONLY, 1, 8), ROVE_DROP_SEQ);
	answers(ROVE_OP_ACK, 0, 0x20 | 12);
	answers_nothing();
}

TEST(rnr)
{
	setup();
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 0, 1), ROVE_RESP_GET_RQE);
	CHECK_EQ(no_rqe(), ROVE_RESP_DONE);
	drops(get(ROVE_OP_SEND_ONLY, 1, 1), ROVE_DROP_SEQ);
	answers(ROVE_OP_ACK, 0, 0x20 | 12);
	answers_nothing();
	get(ROVE_OP_SEND_ONLY, 0, 1);
	no_rqe();
	answers(ROVE_OP_ACK, 0, 0x20 | 12);
	get(ROVE_OP_SEND_ONLY, 0, 1);
	no_rqe();
	send(0, 1);				/* before it was said */
	acks(0, 1);
	answers_nothing();
	CHECK_EQ(r.tally.n[ROVE_TALLY_RNR_SENT], 2);
}

TEST(duplicates)
{
	setup();
	send(0, 1);
	send(1, 1);
	acks(1, 2);
	CHECK_EQ(get(ROVE_OP_SEND_ONLY, 0, 1), ROVE_RESP_DONE);
	CHECK_EQ(get(ROVE_OP_WRITE_ONLY, 1, 1), ROVE_RESP_DONE);
	CHECK(!next_done());
	acks(1, 2);
	answers_nothing();
	CHECK_EQ(r.tally.n[ROVE_TALLY_DUPLICATE], 2);
	drops(get(ROVE_OP_READ_REQ, 0, 0), ROVE_DROP_DUP);
	drops(get(ROVE_OP_CMP_SWP, 0, 0), ROVE_DROP_DUP);
	answers_nothing();
}

static void reads(u32 psn, u32 len)
{
	CHECK_EQ(get_rdma(ROVE_OP_READ_REQ, psn, 0, len), ROVE_RESP_CHECK_READ);
	CHECK(act.va == VA && act.rkey == KEY && act.check_len == len);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
}

static void reads_again(u32 psn, u32 off, u32 len)
{
	struct rove_pkt pkt = request(ROVE_OP_READ_REQ, psn, 0);

	pkt.va += off;
	pkt.dma_len = len;
	take(&pkt);
}

static void answers_data(u8 opcode, u32 psn, u32 off, u32 len)
{
	answers(opcode, psn, 0x1f);
	CHECK_EQ(seg.source, ROVE_SEG_MR);
	CHECK_EQ(seg.va, VA + off);
	CHECK_EQ(seg.rkey, KEY);
	CHECK_EQ(seg.pkt.len, len);
}

TEST(read_and_what_follows)
{
	setup();
	send(0, 0);
	reads(1, 3 * MTU - 1);
	CHECK_EQ(r.epsn, (PSN + 4) & 0xffffff);
	send(4, 0);
	answers_data(ROVE_OP_READ_RESP_FIRST, 1, 0, MTU);
	CHECK_EQ(seg.pkt.msn, 2);
	answers_data(ROVE_OP_READ_RESP_MIDDLE, 2, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 3, 2 * MTU, MTU - 1);
	acks(4, 3);
	answers_nothing();
	reads(5, MTU);
	answers_data(ROVE_OP_READ_RESP_ONLY, 5, 0, MTU);
	answers_nothing();			/* that was an ACK, too */
	CHECK_EQ(get(ROVE_OP_READ_REQ, 6, 0), ROVE_RESP_DONE);
	answers(ROVE_OP_READ_RESP_ONLY, 6, 0x1f);
	CHECK_EQ(seg.source, ROVE_SEG_NONE);
	answers_nothing();
	CHECK_EQ(get_rdma(ROVE_OP_READ_REQ, 7, 0, 9), ROVE_RESP_CHECK_READ);
	result(ROVE_FAULT_REQ_ACCESS);
	breaks(7, ROVE_NAK_ACCESS, ROVE_QPE_ACCESS_ERR);
}

TEST(read_again)
{
	setup();
	reads(0, 4 * MTU);
	answers_data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	answers_data(ROVE_OP_READ_RESP_MIDDLE, 1, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_MIDDLE, 2, 2 * MTU, MTU);
	/* resumed, before all was sent */
	reads_again(1, MTU, 3 * MTU);
	CHECK_EQ(act.kind, ROVE_RESP_CHECK_READ);
	CHECK(act.va == VA + MTU && act.check_len == 3 * MTU);
	result(0);
	answers_data(ROVE_OP_READ_RESP_FIRST, 1, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_MIDDLE, 2, 2 * MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 3, 3 * MTU, MTU);
	answers_nothing();
	/* the last packet only, and a part of the middle */
	reads_again(3, 3 * MTU, MTU);
	result(0);
	answers_data(ROVE_OP_READ_RESP_ONLY, 3, 3 * MTU, MTU);
	reads_again(1, MTU, MTU + 1);
	result(0);
	answers_data(ROVE_OP_READ_RESP_FIRST, 1, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 2, 2 * MTU, 1);
	answers_nothing();
	/* not what was asked for */
	reads_again(1, MTU, 3 * MTU + 1);
	drops(act.kind, ROVE_DROP_DUP);
	reads_again(1, MTU + 1, MTU);
	drops(act.kind, ROVE_DROP_DUP);
	reads_again(1, MTU, 0);
	drops(act.kind, ROVE_DROP_DUP);
	reads_again(1, MTU, 0xffffffff);
	drops(act.kind, ROVE_DROP_DUP);
	reads_again(1, MTU, MTU);
	CHECK_EQ(result(ROVE_FAULT_REQ_ACCESS), ROVE_RESP_DROP);
	CHECK(!r.broken);
	answers_nothing();
}

/* SQD: there may be room for more or for less while the peer waits for answers. */
TEST(other_room_while_answers_are_owed)
{
	struct rove_resp_saved more[3], one[1];

	memset(more, 0xff, sizeof(more));
	memset(one, 0xff, sizeof(one));
	setup();
	reads(0, 2 * MTU);
	reads(2, 3 * MTU);
	answers_data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	rove_resp_set_saved(&r, more, ARRAY_SIZE(more));
	answers_data(ROVE_OP_READ_RESP_LAST, 1, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_FIRST, 2, 0, MTU);
	/* There is room for a third one, and they are known afterwards. */
	reads(5, MTU);
	answers_data(ROVE_OP_READ_RESP_MIDDLE, 3, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 4, 2 * MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_ONLY, 5, 0, MTU);
	answers_nothing();
	reads_again(0, 0, 2 * MTU);
	CHECK_EQ(act.kind, ROVE_RESP_CHECK_READ);
	result(0);
	reads_again(5, 0, MTU);
	CHECK_EQ(act.kind, ROVE_RESP_CHECK_READ);
	result(0);
	/* For less: the youngest stays. */
	rove_resp_set_saved(&r, one, ARRAY_SIZE(one));
	answers_data(ROVE_OP_READ_RESP_ONLY, 5, 0, MTU);
	answers_nothing();
	reads_again(0, 0, 2 * MTU);
	drops(act.kind, ROVE_DROP_DUP);
	reads(6, MTU);
	answers_data(ROVE_OP_READ_RESP_ONLY, 6, 0, MTU);
	rove_resp_set_saved(&r, NULL, 0);
	answers_nothing();
	reads_again(6, 0, MTU);
	drops(act.kind, ROVE_DROP_DUP);
}

TEST(oldest_first)
{
	setup();
	reads(0, 2 * MTU);
	reads(2, 2 * MTU);
	answers_data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 1, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_FIRST, 2, 0, MTU);
	reads_again(0, 0, 2 * MTU);
	result(0);
	answers_data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 1, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 3, MTU, MTU);
	answers_nothing();
	/* more than there is room for */
	reads(4, 2 * MTU);
	reads(6, 2 * MTU);
	get_rdma(ROVE_OP_READ_REQ, 8, 0, 1);
	CHECK_EQ(act.kind, ROVE_RESP_DONE);
	CHECK(r.broken);
	CHECK(rove_resp_take_events(&r) & ROVE_QPE_REQ_ERR);
	/* what was asked for before is sent before, even after that */
	rove_resp_error(&r);
	answers_data(ROVE_OP_READ_RESP_FIRST, 4, 0, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 5, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_FIRST, 6, 0, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 7, MTU, MTU);
	answers(ROVE_OP_ACK, 8, 0x61);
	answers_nothing();
}

/* A READ that the peer has got may be asked for again by the network only. */
TEST(duplicate_gives_way)
{
	setup();
	rove_resp_reset(&r);
	rove_resp_set_saved(&r, saved, 1);
	rove_resp_set_psn(&r, PSN);
	rove_resp_start(&r);
	reads(0, 2 * MTU);
	answers_data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 1, MTU, MTU);
	reads_again(0, 0, 2 * MTU);
	result(0);
	reads(2, MTU);
	answers_data(ROVE_OP_READ_RESP_ONLY, 2, 0, MTU);
	answers_nothing();
}

TEST(atomic_once)
{
	setup();
	CHECK_EQ(get(ROVE_OP_CMP_SWP, 0, 0), ROVE_RESP_ATOMIC);
	CHECK(act.op == ROVE_OP_CMP_SWP && act.va == VA && act.rkey == KEY);
	CHECK(act.swap_add == 5 && act.compare == 6 && act.check_len == 8);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	answers(ROVE_OP_ATOMIC_ACK, 0, 0x1f);
	CHECK(seg.pkt.orig == 0xabcdef && seg.pkt.msn == 1);
	CHECK_EQ(get(ROVE_OP_CMP_SWP, 0, 0), ROVE_RESP_DONE);
	drops(get(ROVE_OP_FETCH_ADD, 0, 0), ROVE_DROP_DUP);
	answers(ROVE_OP_ATOMIC_ACK, 0, 0x1f);
	CHECK_EQ(seg.pkt.orig, 0xabcdef);
	answers_nothing();
	CHECK_EQ(get(ROVE_OP_FETCH_ADD, 1, 0), ROVE_RESP_ATOMIC);
	result(ROVE_FAULT_REQ_INVALID);
	breaks(1, ROVE_NAK_INVALID, ROVE_QPE_REQ_ERR);
}

TEST(memory_goes_away)
{
	setup();
	reads(0, 3 * MTU);
	reads(3, MTU);
	answers_data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	answers_data(ROVE_OP_READ_RESP_MIDDLE, 1, MTU, MTU);
	rove_resp_seg_failed(&r, &seg, ROVE_FAULT_REQ_ACCESS);
	act.kind = ROVE_RESP_DONE;
	breaks(1, ROVE_NAK_ACCESS, ROVE_QPE_ACCESS_ERR);
}

TEST(dropped_here)
{
	setup();
	send(0, 0);
	acks(0, 1);
	rove_resp_seg_dropped(&r, &seg);
	acks(0, 1);
	answers_nothing();
	get(ROVE_OP_SEND_ONLY, 2, 0);
	answers(ROVE_OP_ACK, 1, 0x60);
	rove_resp_seg_dropped(&r, &seg);
	answers(ROVE_OP_ACK, 1, 0x60);
	answers_nothing();
	reads(1, 3 * MTU);
	send(4, 0);
	answers_data(ROVE_OP_READ_RESP_FIRST, 1, 0, MTU);
	answers_data(ROVE_OP_READ_RESP_MIDDLE, 2, MTU, MTU);
	{
		struct rove_seg lost = seg;

		answers_data(ROVE_OP_READ_RESP_LAST, 3, 2 * MTU, MTU);
		acks(4, 3);
		rove_resp_seg_dropped(&r, &lost);
	}
	answers_data(ROVE_OP_READ_RESP_MIDDLE, 2, MTU, MTU);
	answers_data(ROVE_OP_READ_RESP_LAST, 3, 2 * MTU, MTU);
	acks(4, 3);
	answers_nothing();
}

TEST(states)
{
	setup();
	get(ROVE_OP_SEND_FIRST, 0, MTU);
	give_rqe(10 * MTU);
	result(0);
	reads_again(0, 0, 1);
	rove_resp_error(&r);
	CHECK(next_done());
	CHECK_EQ(comp.fault, ROVE_FAULT_FLUSH);
	CHECK(!next_done());
	answers_nothing();
	drops(get(ROVE_OP_SEND_ONLY, 1, 0), ROVE_DROP_STATE);
	rove_resp_reset(&r);
	CHECK(r.conf.pmtu == MTU && r.saved == saved && !r.rqe_held);
	drops(get(ROVE_OP_SEND_ONLY, 1, 0), ROVE_DROP_STATE);
	rove_resp_set_psn(&r, PSN);
	rove_resp_start(&r);
	send(0, 3);
	acks(0, 1);
}

TEST(foreign_packets)
{
	struct rove_pkt pkt = request(ROVE_OP_SEND_ONLY, 0, 0);

	setup();
	pkt.pkey = 0x8001;
	take(&pkt);
	drops(act.kind, ROVE_DROP_PKEY);
	/* What nobody is a member of. */
	pkeys[0] = 0;
	drops(get(ROVE_OP_SEND_ONLY, 0, 0), ROVE_DROP_PKEY);
	pkt.pkey = 0x8000;
	take(&pkt);
	drops(act.kind, ROVE_DROP_PKEY);
	pkeys[0] = 0xffff;
	drops(get(ROVE_OP_ACK, 0, 0), ROVE_DROP_TRANSPORT);
	drops(get(ROVE_TR_UC, 0, MTU), ROVE_DROP_TRANSPORT);
	drops(get(ROVE_OPCODE_CNP, 0, 0), ROVE_DROP_TRANSPORT);
	CHECK_EQ(rove_resp_take_events(&r), 0);
	answers_nothing();
}

/* XRC: opcodes come as RC's, and leave as its own; each request names an SRQ. */
TEST(xrc)
{
	struct rove_pkt pkt = request(ROVE_OP_SEND_FIRST, 0, MTU);

	setup();
	r.conf.xrc = true;
	pkt.srqn = 5;
	take(&pkt);
	CHECK_EQ(act.kind, ROVE_RESP_GET_RQE);
	CHECK_EQ(give_rqe(3 * MTU), ROVE_RESP_PLACE_RQE);
	result(0);
	pkt = request(ROVE_OP_SEND_LAST, 1, 8);
	pkt.srqn = 5;
	take(&pkt);
	CHECK_EQ(act.kind, ROVE_RESP_PLACE_RQE);
	result(0);
	CHECK(next_done() && !comp.fault && comp.byte_len == MTU + 8);
	answers(ROVE_TR_XRC | ROVE_OP_ACK, 1, 0x1f);

	/* A READ, answered again only for the same SRQ. */
	pkt = request(ROVE_OP_READ_REQ, 2, 0);
	pkt.srqn = 9;
	pkt.dma_len = 2 * MTU;
	take(&pkt);
	CHECK_EQ(act.kind, ROVE_RESP_CHECK_READ);
	result(0);
	CHECK(next_seg());
	CHECK_EQ(seg.pkt.opcode & ROVE_TR_MASK, ROVE_TR_XRC);
	CHECK_EQ(seg.srqn, 9);
	while (next_seg())
		CHECK_EQ(seg.pkt.opcode & ROVE_TR_MASK, ROVE_TR_XRC);
	pkt.srqn = 8;
	take(&pkt);
	drops(act.kind, ROVE_DROP_DUP);
	/* What the stack dropped is owed again. */
	rove_resp_seg_dropped(&r, &seg);
	CHECK(next_seg());
}

/* A message that goes on for another SRQ. */
TEST(xrc_changes_its_mind)
{
	struct rove_pkt pkt = request(ROVE_OP_SEND_FIRST, 0, MTU);

	setup();
	r.conf.xrc = true;
	pkt.srqn = 5;
	take(&pkt);
	give_rqe(3 * MTU);
	result(0);
	pkt = request(ROVE_OP_SEND_LAST, 1, 8);
	pkt.srqn = 6;
	take(&pkt);
	CHECK_EQ(act.kind, ROVE_RESP_DONE);
	CHECK(r.broken);
	CHECK(next_seg());
	CHECK_EQ(seg.pkt.opcode, ROVE_TR_XRC | ROVE_OP_ACK);
	CHECK_EQ(seg.pkt.syndrome, 0x61);
	CHECK(next_done() && comp.fault);
}

/* No such SRQ: refused, and no completion, since nothing was taken. */
TEST(xrc_nowhere)
{
	struct rove_pkt pkt = request(ROVE_OP_SEND_ONLY, 0, 8);

	setup();
	r.conf.xrc = true;
	pkt.srqn = 5;
	take(&pkt);
	CHECK_EQ(act.kind, ROVE_RESP_GET_RQE);
	CHECK_EQ(result(ROVE_FAULT_REQ_INVALID), ROVE_RESP_DONE);
	CHECK(r.broken && !next_done());
	CHECK(next_seg());
	CHECK_EQ(seg.pkt.syndrome, 0x61);
	rove_resp_error(&r);
	CHECK(!next_done());
}

TEST(datagrams)
{
	struct rove_pkt pkt = request(ROVE_TR_UD | ROVE_OP_SEND_ONLY_IMM, 77, 10);

	setup();
	r.conf.type = ROVE_QPT_UD;
	CHECK_EQ(get(ROVE_TR_UD | ROVE_OP_SEND_ONLY, 5, 0), ROVE_RESP_GET_RQE);
	drops(no_rqe(), ROVE_DROP_NO_RQE);
	CHECK_EQ(get(ROVE_TR_UD | ROVE_OP_SEND_ONLY, 5, 10), ROVE_RESP_GET_RQE);
	drops(give_rqe(49), ROVE_DROP_FAULT);
	/* which leaves the receive WQE for the next one */
	CHECK_EQ(get(ROVE_TR_UD | ROVE_OP_SEND_ONLY, 5, 9), ROVE_RESP_PLACE_RQE);
	CHECK(act.off == 40 && act.len == 9);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	CHECK(next_done());
	CHECK(comp.byte_len == 49 && comp.src_qp == 0x42);
	CHECK_EQ(comp.flags, ROVE_CQE_RECV | ROVE_CQE_GRH);
	CHECK_EQ(get(ROVE_TR_UD | ROVE_OP_SEND_ONLY, 5, 0), ROVE_RESP_GET_RQE);
	CHECK_EQ(give_rqe(40), ROVE_RESP_PLACE_RQE);
	result(0);
	CHECK(next_done());
	CHECK_EQ(comp.byte_len, 40);

	pkt.qkey = 1;
	take(&pkt);
	drops(act.kind, ROVE_DROP_QKEY);
	pkt.qkey = 0x1111;
	pkt.se = true;
	take(&pkt);
	give_rqe(100);
	result(ROVE_FAULT_LOCAL_PROT);
	CHECK(r.broken && next_done());
	CHECK_EQ(comp.fault, ROVE_FAULT_LOCAL_PROT);
	answers_nothing();
	drops(get(ROVE_TR_UD | ROVE_OP_SEND_ONLY, 5, 0), ROVE_DROP_STATE);
	setup();
	r.conf.type = ROVE_QPT_UD;
	take(&pkt);
	give_rqe(100);
	result(0);
	CHECK(next_done() && comp.solicited && comp.imm == 0x1234);
	drops(get(ROVE_OP_SEND_ONLY, 0, 0), ROVE_DROP_TRANSPORT);
}

#define UC(op)	(ROVE_TR_UC | (op))

static void setup_uc(void)
{
	setup();
	r.conf.type = ROVE_QPT_UC;
}

static void gets(u32 len, u32 psn)
{
	CHECK(next_done());
	CHECK(!comp.fault && comp.byte_len == len && comp.src_qp == 7);
	CHECK_EQ(r.epsn, (PSN + psn) & 0xffffff);
	answers_nothing();
}

static void uc_send(u32 psn, bool take)
{
	u8 kind = get(UC(ROVE_OP_SEND_ONLY), psn, 5);

	if (take) {
		CHECK_EQ(kind, ROVE_RESP_GET_RQE);
		kind = give_rqe(4 * MTU);
	}
	CHECK_EQ(kind, ROVE_RESP_PLACE_RQE);
	CHECK(act.off == 0 && act.len == 5);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	gets(5, psn + 1);
}

TEST(uc_messages)
{
	setup_uc();
	get(UC(ROVE_OP_SEND_FIRST), 0, MTU);
	give_rqe(3 * MTU);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	CHECK_EQ(rove_resp_take_events(&r), ROVE_QPE_COMM_EST);
	CHECK_EQ(get(UC(ROVE_OP_SEND_MIDDLE), 1, MTU), ROVE_RESP_PLACE_RQE);
	CHECK_EQ(act.off, MTU);
	result(0);
	get(UC(ROVE_OP_SEND_LAST_IMM), 2, 1);
	result(0);
	gets(2 * MTU + 1, 3);
	CHECK(comp.imm == 0x1234 && comp.flags & ROVE_CQE_IMM);

	CHECK_EQ(get_rdma(UC(ROVE_OP_WRITE_FIRST), 3, MTU, MTU + 9), ROVE_RESP_PLACE_MR);
	CHECK(act.va == VA && act.check_len == MTU + 9 && act.rkey == KEY);
	result(0);
	CHECK_EQ(get(UC(ROVE_OP_WRITE_LAST_IMM), 4, 9), ROVE_RESP_GET_RQE);
	CHECK_EQ(give_rqe(0), ROVE_RESP_PLACE_MR);
	CHECK(act.va == VA + MTU && act.len == 9);
	result(0);
	gets(MTU + 9, 5);
	CHECK_EQ(comp.recv, ROVE_RECV_WRITE_IMM);
	get(UC(ROVE_OP_WRITE_ONLY), 5, 8);
	result(0);
	CHECK(!next_done());
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_GAP], 0);
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_BROKEN], 0);
}

TEST(uc_loss_costs_one_message)
{
	setup_uc();
	/* The middle is missing. */
	get(UC(ROVE_OP_SEND_FIRST), 0, MTU);
	give_rqe(4 * MTU);
	result(0);
	drops(get(UC(ROVE_OP_SEND_LAST), 2, 1), ROVE_DROP_SEQ);
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_GAP], 1);
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_BROKEN], 1);
	CHECK(!next_done());
	/* The next one uses the same receive WQE, from its beginning on. */
	uc_send(3, false);
	/* The end and the next beginning are missing. */
	get(UC(ROVE_OP_SEND_FIRST), 4, MTU);
	give_rqe(4 * MTU);
	result(0);
	drops(get(UC(ROVE_OP_SEND_LAST), 7, 1), ROVE_DROP_SEQ);
	uc_send(8, false);
	/* Only the end is missing. */
	get(UC(ROVE_OP_SEND_FIRST), 9, MTU);
	give_rqe(4 * MTU);
	result(0);
	uc_send(11, false);
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_GAP], 3);
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_BROKEN], 3);
	/* Whole messages are missing, between others. */
	uc_send(15, true);
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_BROKEN], 3);
	/* A WRITE with immediate data, its end lost; then one that is whole. */
	get_rdma(UC(ROVE_OP_WRITE_FIRST), 16, MTU, 2 * MTU);
	result(0);
	CHECK_EQ(get_rdma(UC(ROVE_OP_WRITE_ONLY_IMM), 18, 4, 4), ROVE_RESP_GET_RQE);
	give_rqe(0);
	result(0);
	gets(4, 19);
}

TEST(uc_each_message_once)
{
	setup_uc();
	uc_send(0, true);
	drops(get(UC(ROVE_OP_SEND_ONLY), 0, 5), ROVE_DROP_DUP);
	/* Overtaken: it is too late for this one. */
	uc_send(2, true);
	drops(get(UC(ROVE_OP_SEND_ONLY), 1, 5), ROVE_DROP_DUP);
	/* A message in hand does not suffer from it. */
	get(UC(ROVE_OP_SEND_FIRST), 3, MTU);
	give_rqe(4 * MTU);
	result(0);
	drops(get(UC(ROVE_OP_SEND_FIRST), 3, MTU), ROVE_DROP_DUP);
	get(UC(ROVE_OP_SEND_LAST), 4, 1);
	result(0);
	gets(MTU + 1, 5);
	CHECK_EQ(r.tally.n[ROVE_TALLY_DUPLICATE], 3);
	/* A peer that began anew, far behind. */
	uc_send(0xf00000, true);
	uc_send(0xf00001, true);

	/* PSNs that were never agreed on. */
	setup_uc();
	uc_send(0xfffff0, true);
	uc_send(0xfffff1, true);
}

TEST(uc_forgives)
{
	setup_uc();
	/* Nothing posted: that message, and all of it. */
	CHECK_EQ(get(UC(ROVE_OP_SEND_FIRST), 0, MTU), ROVE_RESP_GET_RQE);
	drops(no_rqe(), ROVE_DROP_NO_RQE);
	drops(get(UC(ROVE_OP_SEND_LAST), 1, 1), ROVE_DROP_SEQ);
	/* Longer than the receive WQE, from the second packet on. */
	get(UC(ROVE_OP_SEND_FIRST), 2, MTU);
	give_rqe(MTU + 5);
	result(0);
	drops(get(UC(ROVE_OP_SEND_LAST), 3, 6), ROVE_DROP_FAULT);
	uc_send(4, false);
	/* Lengths that cannot be. */
	drops(get(UC(ROVE_OP_SEND_FIRST), 5, MTU - 1), ROVE_DROP_FAULT);
	drops(get(UC(ROVE_OP_SEND_MIDDLE), 6, MTU), ROVE_DROP_SEQ);
	drops(get_rdma(UC(ROVE_OP_WRITE_ONLY), 7, 5, 6), ROVE_DROP_FAULT);
	/* A key that is not valid, rights that are not given. */
	get(UC(ROVE_OP_WRITE_FIRST), 8, MTU);
	setup_uc();
	get_rdma(UC(ROVE_OP_WRITE_FIRST), 0, MTU, 2 * MTU);
	drops(result(ROVE_FAULT_REQ_ACCESS), ROVE_DROP_FAULT);
	drops(get(UC(ROVE_OP_WRITE_LAST), 1, MTU), ROVE_DROP_SEQ);
	r.conf.remote_write = false;
	drops(get(UC(ROVE_OP_WRITE_ONLY), 2, 5), ROVE_DROP_FAULT);
	r.conf.remote_write = true;
	/* The end of another kind of message. */
	get_rdma(UC(ROVE_OP_WRITE_FIRST), 3, MTU, 2 * MTU);
	result(0);
	drops(get(UC(ROVE_OP_SEND_LAST), 4, 5), ROVE_DROP_SEQ);
	drops(get(UC(ROVE_OP_WRITE_LAST), 5, MTU), ROVE_DROP_SEQ);
	/* WRITE with immediate data, and nothing posted. */
	CHECK_EQ(get(UC(ROVE_OP_WRITE_ONLY_IMM), 6, 5), ROVE_RESP_GET_RQE);
	drops(no_rqe(), ROVE_DROP_NO_RQE);
	CHECK(!r.broken && !next_done());
	CHECK_EQ(rove_resp_take_events(&r), ROVE_QPE_COMM_EST);
	uc_send(7, true);
	drops(get(ROVE_OP_SEND_ONLY, 8, 5), ROVE_DROP_TRANSPORT);
	drops(get(ROVE_TR_UD | ROVE_OP_SEND_ONLY, 8, 5), ROVE_DROP_TRANSPORT);
	answers_nothing();

	/* What is wrong here breaks the QP, without a word to the peer. */
	get(UC(ROVE_OP_SEND_ONLY), 8, 5);
	give_rqe(100);
	CHECK_EQ(result(ROVE_FAULT_LOCAL_PROT), ROVE_RESP_DONE);
	CHECK(r.broken && next_done());
	CHECK_EQ(comp.fault, ROVE_FAULT_LOCAL_PROT);
	answers_nothing();
	setup_uc();
	get(UC(ROVE_OP_SEND_FIRST), 0, MTU);
	give_rqe(3 * MTU);
	result(0);
	rove_resp_error(&r);
	CHECK(next_done());
	CHECK_EQ(comp.fault, ROVE_FAULT_FLUSH);
}

TEST(later_as_if_it_had_not_come)
{
	const u8 again[] = { ROVE_OP_SEND_FIRST, ROVE_OP_SEND_LAST };
	u32 i;

	setup();
	/* The receive WQE is kept, nothing is acknowledged. */
	for (i = 0; i < ARRAY_SIZE(again); i++) {
		if (!i) {
			CHECK_EQ(get(again[i], i, MTU), ROVE_RESP_GET_RQE);
			CHECK_EQ(give_rqe(2 * MTU), ROVE_RESP_PLACE_RQE);
		} else {
			CHECK_EQ(get(again[i], i, MTU), ROVE_RESP_PLACE_RQE);
		}
		CHECK_EQ(result(ROVE_FAULT_PAGE), ROVE_RESP_LATER);
		CHECK_EQ(r.epsn, (PSN + i) & 0xffffff);
		answers_nothing();
		CHECK_EQ(get(again[i], i, MTU), ROVE_RESP_PLACE_RQE);
		CHECK(act.off == i * MTU && act.len == MTU);
		CHECK_EQ(result(0), ROVE_RESP_DONE);
		acks(i, i);
	}
	CHECK(next_done() && comp.byte_len == 2 * MTU);

	CHECK_EQ(get_rdma(ROVE_OP_WRITE_FIRST, 2, MTU, MTU + 1), ROVE_RESP_PLACE_MR);
	CHECK_EQ(result(ROVE_FAULT_PAGE), ROVE_RESP_LATER);
	CHECK_EQ(get_rdma(ROVE_OP_WRITE_FIRST, 2, MTU, MTU + 1), ROVE_RESP_PLACE_MR);
	CHECK(act.va == VA && act.check_len == MTU + 1);
	result(0);
	CHECK_EQ(get(ROVE_OP_WRITE_LAST, 3, 1), ROVE_RESP_PLACE_MR);
	CHECK_EQ(result(ROVE_FAULT_PAGE), ROVE_RESP_LATER);
	CHECK_EQ(get(ROVE_OP_WRITE_LAST, 3, 1), ROVE_RESP_PLACE_MR);
	CHECK_EQ(act.va, VA + MTU);
	result(0);
	acks(3, 2);

	CHECK_EQ(get(ROVE_OP_FETCH_ADD, 4, 0), ROVE_RESP_ATOMIC);
	CHECK_EQ(result(ROVE_FAULT_PAGE), ROVE_RESP_LATER);
	answers_nothing();
	CHECK_EQ(get(ROVE_OP_FETCH_ADD, 4, 0), ROVE_RESP_ATOMIC);
	result(0);
	answers(ROVE_OP_ATOMIC_ACK, 4, 0x1f);
	answers_nothing();
	CHECK(!r.broken);
}

TEST(later_answers_of_reads)
{
	setup();
	CHECK_EQ(get_rdma(ROVE_OP_READ_REQ, 0, 0, 3 * MTU), ROVE_RESP_CHECK_READ);
	CHECK_EQ(result(ROVE_FAULT_PAGE), ROVE_RESP_LATER);
	answers_nothing();
	get_rdma(ROVE_OP_READ_REQ, 0, 0, 3 * MTU);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	answers(ROVE_OP_READ_RESP_FIRST, 0, 0x1f);
	answers(ROVE_OP_READ_RESP_MIDDLE, 1, 0);
	rove_resp_seg_failed(&r, &seg, ROVE_FAULT_PAGE);
	CHECK(!r.broken);
	answers(ROVE_OP_READ_RESP_MIDDLE, 1, 0);
	CHECK_EQ(seg.va, VA + MTU);
	answers(ROVE_OP_READ_RESP_LAST, 2, 0x1f);
	rove_resp_seg_failed(&r, &seg, ROVE_FAULT_PAGE);
	answers(ROVE_OP_READ_RESP_LAST, 2, 0x1f);
	answers_nothing();

	/* A duplicate is no reason to break, either. */
	get_rdma(ROVE_OP_READ_REQ, 0, 0, 3 * MTU);
	CHECK_EQ(result(ROVE_FAULT_PAGE), ROVE_RESP_LATER);
	get_rdma(ROVE_OP_READ_REQ, 0, 0, 3 * MTU);
	CHECK_EQ(result(0), ROVE_RESP_DONE);
	answers(ROVE_OP_READ_RESP_FIRST, 0, 0x1f);
}

TEST(later_unreliable)
{
	setup_uc();
	CHECK_EQ(get(UC(ROVE_OP_SEND_FIRST), 0, MTU), ROVE_RESP_GET_RQE);
	give_rqe(2 * MTU);
	CHECK_EQ(result(ROVE_FAULT_PAGE), ROVE_RESP_LATER);
	CHECK_EQ(get(UC(ROVE_OP_SEND_FIRST), 0, MTU), ROVE_RESP_PLACE_RQE);
	result(0);
	CHECK_EQ(get(UC(ROVE_OP_SEND_LAST), 1, 5), ROVE_RESP_PLACE_RQE);
	CHECK_EQ(result(ROVE_FAULT_PAGE), ROVE_RESP_LATER);
	CHECK_EQ(get(UC(ROVE_OP_SEND_LAST), 1, 5), ROVE_RESP_PLACE_RQE);
	CHECK_EQ(act.off, MTU);
	result(0);
	gets(MTU + 5, 2);
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_GAP], 0);
	CHECK_EQ(r.tally.n[ROVE_TALLY_UC_BROKEN], 0);
	CHECK_EQ(r.tally.n[ROVE_TALLY_DUPLICATE], 0);
}

TEST(keys_of_qp1)
{
	const struct { u16 pkey; int index; } want[] = {
		{ 0xffff, 0 }, { 0x7fff, 0 }, { 0x8001, 1 }, { 0x0001, 1 }, { 0x8002, 2 },
		{ 0x0002, -1 }, { 0x8003, -1 }, { 0x8000, -1 }, { 0, -1 },
	};
	struct rove_pkt pkt = request(ROVE_TR_UD | ROVE_OP_SEND_ONLY, 0, 5);
	u32 i;

	setup();
	r.conf.type = ROVE_QPT_UD;
	r.conf.pkeys.num = ARRAY_SIZE(pkeys);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		pkt.pkey = want[i].pkey;
		take(&pkt);
		if (want[i].index < 0) {
			drops(act.kind, ROVE_DROP_PKEY);
			continue;
		}
		CHECK_EQ(act.kind, ROVE_RESP_GET_RQE);
		CHECK_EQ(give_rqe(100), ROVE_RESP_PLACE_RQE);
		CHECK_EQ(result(0), ROVE_RESP_DONE);
		CHECK(next_done() && !comp.fault);
		CHECK_EQ(comp.pkey_index, want[i].index);
	}
}
