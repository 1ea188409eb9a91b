// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "proto/req.h"
#include "proto/retry.h"
#include "wire/opcode.h"
#include "wire/parse.h"
#include "unit.h"

#define ENTRIES	16
#define MTU	1024
#define PSN	0xfffffcU		/* so that everything wraps */
#define US	1000ULL

static u16 pkeys[] = { 0xffff, 0x8001, 0x0002 };
static struct rove_req q;
static struct rove_seg seg;
static struct rove_req_place place;
static struct rove_req_comp comp;
static u64 now;
static u8 *slots;

static void setup(void)
{
	u32 stride = rove_wqe_private_stride(rove_wqe_sq_stride(1, 16));

	free(slots);
	slots = calloc(ENTRIES, stride);
	rove_req_init(&q, slots, ENTRIES, stride);
	q.conf = (struct rove_req_conf){
		.timeout = 10, .retry_cnt = 2, .rnr_retry = 2, .max_rd_atomic = 2,
		.pkeys = { pkeys, 1 }, .pmtu = MTU, .dqpn = 7, .window = 8 * MTU, .read_chunk = 4 * MTU,
	};
	now = 1000 * US;
	rove_req_set_psn(&q, PSN);
	rove_req_start(&q);
}

static void __attribute__((destructor)) teardown(void)
{
	free(slots);
}

static struct rove_swqe *post(u8 op, u32 len, u8 flags)
{
	struct rove_swqe *w = rove_req_slot(&q);

	CHECK(w);
	memset(w, 0, sizeof(*w));
	w->length = rove_wqe_props[op] & ROVE_WQEP_ATOMIC ? 8 : len;
	w->sqe.wr_id = q.post;
	w->sqe.opcode = op;
	w->sqe.flags = flags | ROVE_WR_SIGNALED;
	w->sqe.imm = 0x1234;
	w->sqe.num = 1;
	if (op >= ROVE_WR_WRITE) {
		w->sqe.rdma.addr = 0x10000;
		w->sqe.rdma.rkey = 0x55;
	}
	rove_req_post(&q);
	return w;
}

/* If there is none, the last one stays. */
static bool next_seg(void)
{
	struct rove_seg next;

	DIRTY(&next);
	if (!rove_req_next(&q, now, &next))
		return false;
	seg = next;
	return true;
}

static u8 take(const struct rove_pkt *pkt)
{
	DIRTY(&place);
	return rove_req_packet(&q, pkt, now, &place);
}

static bool next_done(void)
{
	DIRTY(&comp);
	return rove_req_reap(&q, &comp);
}

static void sends(u8 opcode, u32 psn, u32 len)
{
	CHECK(next_seg());
	CHECK_EQ(seg.pkt.opcode, opcode);
	CHECK_EQ(seg.pkt.psn, (PSN + psn) & 0xffffff);
	CHECK_EQ(seg.pkt.len, len);
	CHECK_EQ(seg.pkt.dqpn, 7);
	CHECK(seg.pkt.migreq);
}

static void sends_nothing(void)
{
	CHECK(!next_seg());
}

static u32 send_all(void)
{
	u32 n = 0;

	while (next_seg())
		n++;
	return n;
}

static u8 get(u8 opcode, u32 psn, u8 syndrome, u32 len)
{
	struct rove_pkt pkt = {
		.opcode = opcode, .pkey = 0xffff, .psn = (PSN + psn) & 0xffffff,
		.syndrome = syndrome, .len = len, .orig = 0x1122334455667788,
	};

	return take(&pkt);
}

static u8 ack(u32 psn)
{
	return get(ROVE_OP_ACK, psn, 0x1f, 0);
}

static u8 nak(u32 psn, u8 code)
{
	return get(ROVE_OP_ACK, psn, 0x60 | code, 0);
}

/* READ data that fits */
static void data(u8 opcode, u32 psn, u32 off, u32 len)
{
	CHECK_EQ(get(opcode, psn, 0, len), ROVE_REQ_PLACE);
	CHECK_EQ(place.off, off);
	CHECK_EQ(place.len, len);
	rove_req_placed(&q, ROVE_FAULT_NONE, now);
}

static void stale(u8 act)
{
	CHECK_EQ(act, ROVE_REQ_DROP);
	CHECK_EQ(place.drop, ROVE_DROP_STALE);
}

static void done(u32 id, u8 fault)
{
	CHECK(next_done());
	CHECK_EQ(comp.wqe->sqe.wr_id, id);
	CHECK_EQ(comp.index, id + 1);
	CHECK_EQ(comp.fault, fault);
	CHECK(comp.report);
}

static void not_done(void)
{
	CHECK(!next_done());
}

TEST(opcodes_by_place)
{
	static const u8 want[5][4] = {
		{ 0x00, 0x01, 0x02, 0x04 }, { 0x00, 0x01, 0x03, 0x05 }, { 0x00, 0x01, 0x16, 0x17 },
		{ 0x06, 0x07, 0x08, 0x0a }, { 0x06, 0x07, 0x09, 0x0b },
	};
	u32 op;

	for (op = ROVE_WR_SEND; op <= ROVE_WR_WRITE_IMM; op++) {
		setup();
		post(op, 3 * MTU, ROVE_WR_SOLICITED);
		post(op, 0, 0);
		sends(want[op][0], 0, MTU);
		CHECK(!seg.pkt.se && !seg.pkt.ackreq);
		if (op >= ROVE_WR_WRITE)
			CHECK(seg.pkt.va == 0x10000 && seg.pkt.rkey == 0x55 &&
			      seg.pkt.dma_len == 3 * MTU);
		sends(want[op][1], 1, MTU);
		CHECK_EQ(seg.off, MTU);
		CHECK_EQ(seg.source, ROVE_SEG_WQE);
		sends(want[op][2], 2, MTU);
		CHECK_EQ(seg.pkt.se, op != ROVE_WR_WRITE);
		CHECK(seg.pkt.ackreq && !seg.resend);
		CHECK_EQ(seg.pkt.imm, 0x1234);
		CHECK_EQ(seg.pkt.inv_rkey, 0x1234);
		sends(want[op][3], 3, 0);
		CHECK(!seg.pkt.se && seg.pkt.ackreq);
		CHECK_EQ(seg.source, ROVE_SEG_NONE);
		CHECK_EQ(seg.wqe, 1);
		sends_nothing();
	}
}

TEST(one_ack_for_all)
{
	u32 i;

	setup();
	for (i = 0; i < 5; i++)
		post(ROVE_WR_SEND, 2 * MTU - 1, 0);
	CHECK_EQ(send_all(), 8);		/* the window */
	ack(6);
	for (i = 0; i < 3; i++)
		done(i, ROVE_FAULT_NONE);
	not_done();
	CHECK_EQ(send_all(), 2);
	ack(9);
	done(3, ROVE_FAULT_NONE);
	done(4, ROVE_FAULT_NONE);
	CHECK(rove_req_idle(&q));
	CHECK_EQ(rove_req_deadline(&q), 0);
	stale(ack(9));
	stale(ack(10));
}

static void executes(u32 wqe, u8 fault)
{
	CHECK(next_seg());
	CHECK_EQ(seg.source, ROVE_SEG_LOCAL);
	CHECK_EQ(seg.wqe, wqe);
	rove_req_executed(&q, &seg, fault);
}

/* Without packets: executed in their turn, done when what is before them is. */
TEST(local_operations)
{
	setup();
	post(ROVE_WR_REG_MR, 0, 0);
	executes(0, ROVE_FAULT_NONE);
	done(0, ROVE_FAULT_NONE);
	CHECK_EQ(rove_req_deadline(&q), 0);

	post(ROVE_WR_SEND, 5, 0);
	post(ROVE_WR_BIND_MW, 0, 0);
	post(ROVE_WR_REG_MR, 0, 0);
	post(ROVE_WR_SEND, 5, 0);
	post(ROVE_WR_BIND_MW, 0, 0);
	sends(ROVE_OP_SEND_ONLY, 0, 5);
	executes(2, ROVE_FAULT_NONE);
	executes(3, ROVE_FAULT_NONE);
	sends(ROVE_OP_SEND_ONLY, 1, 5);
	executes(5, ROVE_FAULT_NONE);
	sends_nothing();
	not_done();
	/* Going back sends again, and executes nothing again. */
	nak(0, ROVE_NAK_SEQ);
	sends(ROVE_OP_SEND_ONLY, 0, 5);
	ack(0);
	done(1, ROVE_FAULT_NONE);
	done(2, ROVE_FAULT_NONE);
	done(3, ROVE_FAULT_NONE);
	not_done();
	sends(ROVE_OP_SEND_ONLY, 1, 5);
	sends_nothing();
	rove_req_seg_dropped(&q, &seg, now);
	now += 1000 * US;
	sends(ROVE_OP_SEND_ONLY, 1, 5);
	sends_nothing();
	ack(1);
	done(4, ROVE_FAULT_NONE);
	done(5, ROVE_FAULT_NONE);
	not_done();
	CHECK(rove_req_idle(&q));
	CHECK_EQ(rove_req_deadline(&q), 0);
}

/* What takes a key away waits for all before it, and for a fence anyone does. */
TEST(local_operations_wait)
{
	setup();
	post(ROVE_WR_WRITE, 5, 0);
	post(ROVE_WR_LOCAL_INV, 0, 0);
	post(ROVE_WR_SEND, 5, 0);
	sends(ROVE_OP_WRITE_ONLY, 0, 5);
	sends_nothing();
	ack(0);
	executes(1, ROVE_FAULT_NONE);
	sends(ROVE_OP_SEND_ONLY, 1, 5);
	ack(1);

	post(ROVE_WR_READ, 5, 0);
	post(ROVE_WR_BIND_MW, 0, ROVE_WR_FENCE);
	sends(ROVE_OP_READ_REQ, 2, 0);
	sends_nothing();
	data(ROVE_OP_READ_RESP_ONLY, 2, 0, 5);
	executes(4, ROVE_FAULT_NONE);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_NONE);
	done(2, ROVE_FAULT_NONE);
	done(3, ROVE_FAULT_NONE);
	done(4, ROVE_FAULT_NONE);
}

/* One that cannot be executed fails when it is its turn to complete. */
TEST(local_operation_fails)
{
	setup();
	post(ROVE_WR_SEND, 5, 0);
	post(ROVE_WR_BIND_MW, 0, 0);
	post(ROVE_WR_SEND, 5, 0);
	sends(ROVE_OP_SEND_ONLY, 0, 5);
	executes(1, ROVE_FAULT_MEMORY_OP);
	sends_nothing();
	not_done();
	CHECK(!q.broken);
	ack(0);
	CHECK(q.broken);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_MEMORY_OP);
	rove_req_error(&q);
	done(2, ROVE_FAULT_FLUSH);
}

/* ATOMIC WRITE and FLUSH: like READs that bring nothing back. */
TEST(place_operations)
{
	struct rove_swqe *w;

	setup();
	w = rove_req_slot(&q);
	memset(w, 0, sizeof(*w));
	w->sqe.opcode = ROVE_WR_ATOMIC_WRITE;
	w->sqe.flags = ROVE_WR_SIGNALED;
	w->sqe.atomic.addr = 0x10008;
	w->sqe.atomic.rkey = 0x55;
	w->length = 8;
	rove_req_post(&q);
	w = rove_req_slot(&q);
	memset(w, 0, sizeof(*w));
	w->sqe.wr_id = 1;
	w->sqe.opcode = ROVE_WR_FLUSH;
	w->sqe.flags = ROVE_WR_SIGNALED;
	w->sqe.flush.addr = 0x10000;
	w->sqe.flush.rkey = 0x56;
	w->sqe.flush.length = 77777;
	w->sqe.flush.type = 1;
	w->sqe.flush.level = 1;
	rove_req_post(&q);
	post(ROVE_WR_READ, 5, 0);
	post(ROVE_WR_SEND, 5, ROVE_WR_FENCE);

	sends(ROVE_OP_ATOMIC_WRITE, 0, 8);
	CHECK(seg.source == ROVE_SEG_VALUE && seg.pkt.ackreq);
	CHECK(seg.pkt.va == 0x10008 && seg.pkt.rkey == 0x55 && seg.pkt.dma_len == 8);
	sends(ROVE_OP_FLUSH, 1, 0);
	CHECK(seg.source == ROVE_SEG_NONE && seg.pkt.ackreq);
	CHECK(seg.pkt.va == 0x10000 && seg.pkt.rkey == 0x56 && seg.pkt.dma_len == 77777);
	CHECK(seg.pkt.flush_type == 1 && seg.pkt.flush_level == 1);
	sends_nothing();			/* max_rd_atomic is 2 */
	/* An ACK does not complete them. */
	ack(1);
	not_done();
	sends(ROVE_OP_ATOMIC_WRITE, 0, 8);
	sends(ROVE_OP_FLUSH, 1, 0);
	CHECK_EQ(get(ROVE_OP_READ_RESP_ONLY, 0, 0x1f, 0), ROVE_REQ_DONE);
	CHECK_EQ(get(ROVE_OP_READ_RESP_ONLY, 1, 0x1f, 0), ROVE_REQ_DONE);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_NONE);
	sends(ROVE_OP_READ_REQ, 2, 0);
	sends_nothing();
	data(ROVE_OP_READ_RESP_ONLY, 2, 0, 5);
	sends(ROVE_OP_SEND_ONLY, 3, 5);
	ack(3);
	done(2, ROVE_FAULT_NONE);
	done(3, ROVE_FAULT_NONE);
	CHECK_EQ(q.rd_atomic, 0);

	/* Data is no answer to them. */
	post(ROVE_WR_ATOMIC_WRITE, 8, 0)->length = 8;
	sends(ROVE_OP_ATOMIC_WRITE, 4, 8);
	get(ROVE_OP_READ_RESP_ONLY, 4, 0x1f, 8);
	done(4, ROVE_FAULT_BAD_RESPONSE);
}

/* Of a window as small as a packet each packet asks for its ACK. */
TEST(window_moves)
{
	u32 i, asked = 0;

	setup();
	q.conf.window = 4 * MTU;
	post(ROVE_WR_WRITE, 10 * MTU, 0);
	for (i = 0; i < 10; i++) {
		if (!next_seg()) {
			ack(asked);
			CHECK(next_seg());
		}
		if (seg.pkt.ackreq)
			asked = i;
		CHECK(i - asked <= 1);
	}
	setup();
	q.conf.window = MTU;
	post(ROVE_WR_WRITE, 3 * MTU, 0);
	for (i = 0; i < 3; i++) {
		CHECK(next_seg());
		CHECK(seg.pkt.ackreq);
		sends_nothing();
		ack(i);
	}
	done(0, ROVE_FAULT_NONE);
}

TEST(nak_goes_back_once)
{
	setup();
	post(ROVE_WR_SEND, 4 * MTU, 0);
	post(ROVE_WR_SEND, MTU, 0);
	CHECK_EQ(send_all(), 5);
	nak(2, ROVE_NAK_SEQ);
	sends(ROVE_OP_SEND_MIDDLE, 2, MTU);
	CHECK(seg.resend);
	CHECK_EQ(seg.off, 2 * MTU);
	nak(2, ROVE_NAK_SEQ);			/* of the same gap */
	sends(ROVE_OP_SEND_LAST, 3, MTU);
	sends(ROVE_OP_SEND_ONLY, 4, MTU);
	sends_nothing();
	CHECK_EQ(q.tally.n[ROVE_TALLY_RETRANSMIT], 3);
	nak(4, ROVE_NAK_SEQ);			/* another one; and an ACK of the first */
	done(0, ROVE_FAULT_NONE);
	sends(ROVE_OP_SEND_ONLY, 4, MTU);
	ack(4);
	done(1, ROVE_FAULT_NONE);
	CHECK_EQ(q.tally.n[ROVE_TALLY_NAK_SEQ_RCVD], 3);
}

/* An ACK of what was sent before going back: that is not sent again. */
TEST(late_ack_skips)
{
	setup();
	post(ROVE_WR_SEND, 4 * MTU, 0);
	CHECK_EQ(send_all(), 4);
	nak(0, ROVE_NAK_SEQ);
	sends(ROVE_OP_SEND_FIRST, 0, MTU);
	ack(2);
	sends(ROVE_OP_SEND_LAST, 3, MTU);
	sends_nothing();
}

TEST(read_in_chunks)
{
	setup();
	post(ROVE_WR_READ, 9 * MTU + 5, 0);
	post(ROVE_WR_SEND, 1, ROVE_WR_FENCE);
	sends(ROVE_OP_READ_REQ, 0, 0);
	CHECK(seg.pkt.va == 0x10000 && seg.pkt.dma_len == 4 * MTU && seg.pkt.rkey == 0x55);
	sends(ROVE_OP_READ_REQ, 4, 0);
	CHECK(seg.pkt.va == 0x10000 + 4 * MTU && seg.pkt.dma_len == 4 * MTU);
	sends_nothing();			/* credits */
	data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	data(ROVE_OP_READ_RESP_MIDDLE, 1, MTU, MTU);
	data(ROVE_OP_READ_RESP_MIDDLE, 2, 2 * MTU, MTU);
	sends_nothing();
	data(ROVE_OP_READ_RESP_LAST, 3, 3 * MTU, MTU);
	sends(ROVE_OP_READ_REQ, 8, 0);
	CHECK_EQ(seg.pkt.dma_len, MTU + 5);
	data(ROVE_OP_READ_RESP_FIRST, 4, 4 * MTU, MTU);
	/* 5 is lost */
	stale(get(ROVE_OP_READ_RESP_MIDDLE, 6, 0, MTU));
	sends(ROVE_OP_READ_REQ, 5, 0);
	CHECK(seg.resend && seg.pkt.va == 0x10000 + 5 * MTU && seg.pkt.dma_len == 3 * MTU);
	CHECK_EQ(q.tally.n[ROVE_TALLY_READ_RESUMED], 1);
	stale(get(ROVE_OP_READ_RESP_LAST, 7, 0, MTU));
	sends(ROVE_OP_READ_REQ, 8, 0);
	sends_nothing();
	data(ROVE_OP_READ_RESP_FIRST, 5, 5 * MTU, MTU);
	data(ROVE_OP_READ_RESP_MIDDLE, 6, 6 * MTU, MTU);
	data(ROVE_OP_READ_RESP_LAST, 7, 7 * MTU, MTU);
	data(ROVE_OP_READ_RESP_FIRST, 8, 8 * MTU, MTU);
	sends_nothing();			/* the fence */
	data(ROVE_OP_READ_RESP_LAST, 9, 9 * MTU, 5);
	done(0, ROVE_FAULT_NONE);
	sends(ROVE_OP_SEND_ONLY, 10, 1);
	ack(10);
	done(1, ROVE_FAULT_NONE);
	CHECK_EQ(q.rd_atomic, 0);
}

TEST(reads_leave_room)
{
	setup();
	q.conf.max_rd_atomic = 8;
	q.conf.read_window = 6 * MTU;
	post(ROVE_WR_READ, 2 * MTU, 0);
	post(ROVE_WR_READ, 20 * MTU, 0);
	sends(ROVE_OP_READ_REQ, 0, 0);
	sends(ROVE_OP_READ_REQ, 2, 0);
	sends_nothing();			/* 6 of 6 */
	data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	data(ROVE_OP_READ_RESP_LAST, 1, MTU, MTU);
	sends_nothing();
	data(ROVE_OP_READ_RESP_FIRST, 2, 0, MTU);
	data(ROVE_OP_READ_RESP_MIDDLE, 3, MTU, MTU);
	sends(ROVE_OP_READ_REQ, 6, 0);
	sends_nothing();
	q.conf.read_window = 1;			/* one at a time then */
	rove_req_seg_dropped(&q, &seg, now);
	now += 100 * US;
	sends_nothing();
	data(ROVE_OP_READ_RESP_MIDDLE, 4, 2 * MTU, MTU);
	data(ROVE_OP_READ_RESP_LAST, 5, 3 * MTU, MTU);
	sends(ROVE_OP_READ_REQ, 6, 0);
}

TEST(read_responses_must_fit)
{
	static const struct {
		u8 opcode;
		u32 psn, len;
	} bad[] = {
		{ ROVE_OP_READ_RESP_MIDDLE, 0, MTU }, { ROVE_OP_READ_RESP_LAST, 0, MTU },
		{ ROVE_OP_READ_RESP_ONLY, 0, MTU }, { ROVE_OP_READ_RESP_FIRST, 0, MTU - 1 },
		{ ROVE_OP_READ_RESP_FIRST, 1, MTU }, { ROVE_OP_READ_RESP_LAST, 1, MTU },
		{ ROVE_OP_READ_RESP_MIDDLE, 2, 5 }, { ROVE_OP_READ_RESP_LAST, 2, 4 },
		{ ROVE_OP_READ_RESP_LAST, 2, 6 }, { ROVE_OP_READ_RESP_ONLY, 2, 5 },
		{ ROVE_OP_ATOMIC_ACK, 2, 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		setup();
		post(ROVE_WR_READ, 2 * MTU + 5, 0);
		sends(ROVE_OP_READ_REQ, 0, 0);
		if (bad[i].psn > 0)
			data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
		if (bad[i].psn > 1)
			data(ROVE_OP_READ_RESP_MIDDLE, 1, MTU, MTU);
		CHECK_EQ(get(bad[i].opcode, bad[i].psn, 0, bad[i].len), ROVE_REQ_DONE);
		CHECK(q.broken);
		done(0, ROVE_FAULT_BAD_RESPONSE);
	}
	setup();
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_READ, 0, 0);
	CHECK_EQ(send_all(), 2);
	CHECK_EQ(get(ROVE_OP_READ_RESP_ONLY, 1, 0, 0), ROVE_REQ_DONE);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_NONE);
	post(ROVE_WR_SEND, 1, 0);
	CHECK_EQ(send_all(), 1);
	get(ROVE_OP_READ_RESP_ONLY, 2, 0, 0);
	done(2, ROVE_FAULT_BAD_RESPONSE);
}

/* An ACK beyond a READ without its data: implied NAK. */
TEST(implied_nak)
{
	setup();
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_FETCH_ADD, 0, 0);
	post(ROVE_WR_SEND, 1, 0);
	CHECK_EQ(send_all(), 3);
	ack(2);
	done(0, ROVE_FAULT_NONE);
	not_done();
	sends(ROVE_OP_FETCH_ADD, 1, 0);
	sends(ROVE_OP_SEND_ONLY, 2, 1);
	ack(2);					/* once only */
	sends_nothing();
	CHECK_EQ(get(ROVE_OP_ATOMIC_ACK, 1, 0, 0), ROVE_REQ_PLACE_VALUE);
	CHECK_EQ(place.value, 0x1122334455667788);
	CHECK_EQ(place.wqe, 1);
	rove_req_placed(&q, ROVE_FAULT_NONE, now);
	stale(get(ROVE_OP_ATOMIC_ACK, 1, 0, 0));
	done(1, ROVE_FAULT_NONE);
	ack(2);
	done(2, ROVE_FAULT_NONE);
}

TEST(atomics)
{
	struct rove_swqe *w;

	setup();
	w = post(ROVE_WR_CMP_SWP, 0, 0);
	w->sqe.atomic.compare_add = 11;
	w->sqe.atomic.swap = 12;
	w = post(ROVE_WR_FETCH_ADD, 0, 0);
	w->sqe.atomic.compare_add = 13;
	post(ROVE_WR_FETCH_ADD, 0, 0);
	sends(ROVE_OP_CMP_SWP, 0, 0);
	CHECK(seg.pkt.compare == 11 && seg.pkt.swap_add == 12 && seg.pkt.va == 0x10000);
	sends(ROVE_OP_FETCH_ADD, 1, 0);
	CHECK(seg.pkt.swap_add == 13 && seg.pkt.rkey == 0x55);
	sends_nothing();
	get(ROVE_OP_ATOMIC_ACK, 0, 0, 0);
	rove_req_placed(&q, ROVE_FAULT_LOCAL_PROT, now);
	CHECK(q.broken);
	done(0, ROVE_FAULT_LOCAL_PROT);
	rove_req_error(&q);
	done(1, ROVE_FAULT_FLUSH);
	done(2, ROVE_FAULT_FLUSH);
	not_done();

	setup();
	q.conf.max_rd_atomic = 0;
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_READ, 1, 0);
	CHECK_EQ(send_all(), 1);
	not_done();
	ack(0);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_WQE);
}

TEST(peer_refuses)
{
	static const u8 want[] = {
		ROVE_FAULT_NONE, ROVE_FAULT_PEER_INVALID, ROVE_FAULT_PEER_ACCESS,
		ROVE_FAULT_PEER_OP,
	};
	u32 code;

	for (code = 1; code <= 3; code++) {
		setup();
		post(ROVE_WR_SEND, 1, 0);
		post(ROVE_WR_WRITE, 2 * MTU, 0)->sqe.flags = 0;
		post(ROVE_WR_SEND, 1, 0)->sqe.flags = 0;
		CHECK_EQ(send_all(), 4);
		nak(2, code);
		CHECK(q.broken);
		done(0, ROVE_FAULT_NONE);
		done(1, want[code]);
		not_done();
		sends_nothing();
		CHECK_EQ(ack(3), ROVE_REQ_DROP);
		CHECK_EQ(place.drop, ROVE_DROP_STATE);
		CHECK_EQ(rove_req_deadline(&q), 0);
		rove_req_error(&q);
		done(2, ROVE_FAULT_FLUSH);
		post(ROVE_WR_SEND, 1, 0);
		sends_nothing();
		done(3, ROVE_FAULT_FLUSH);
		CHECK(rove_req_idle(&q));
	}
	/* reserved ones */
	setup();
	post(ROVE_WR_SEND, 1, 0);
	CHECK_EQ(send_all(), 1);
	for (code = 4; code < 32; code++) {
		CHECK_EQ(nak(0, code), ROVE_REQ_DROP);
		CHECK_EQ(get(ROVE_OP_ACK, 0, 0x40 | code, 0), ROVE_REQ_DROP);
		CHECK_EQ(get(ROVE_OP_ACK, 0, 0x80 | code, 0), ROVE_REQ_DROP);
	}
	not_done();
}

TEST(rnr_waits_in_full)
{
	static const u32 delay[32] = {	/* 10 us */
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
		1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};
	u32 code;

	for (code = 0; code < 32; code++) {
		setup();
		post(ROVE_WR_SEND, 1, 0);
		post(ROVE_WR_SEND, 1, 0);
		CHECK_EQ(send_all(), 2);
		get(ROVE_OP_ACK, 1, 0x20 | code, 0);
		done(0, ROVE_FAULT_NONE);
		stale(get(ROVE_OP_ACK, 1, 0x20 | code, 0));
		CHECK_EQ(rove_req_deadline(&q), now + delay[code] * 10 * US);
		now = rove_req_deadline(&q) - 1;
		rove_req_timer(&q, now);
		sends_nothing();
		now++;
		rove_req_timer(&q, now);
		sends(ROVE_OP_SEND_ONLY, 1, 1);
		CHECK_EQ(rove_req_deadline(&q), now + (4096 << 10));
	}
}

TEST(rnr_budget)
{
	u32 i;

	setup();
	post(ROVE_WR_SEND, 1, 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(send_all(), 1);
		get(ROVE_OP_ACK, 0, 0x21, 0);
		now += 10 * US;
	}
	CHECK_EQ(send_all(), 1);
	get(ROVE_OP_ACK, 0, 0x21, 0);
	done(0, ROVE_FAULT_RNR_RETRY);
	CHECK_EQ(q.tally.n[ROVE_TALLY_RNR_RETRY_EXC], 1);

	setup();
	q.conf.rnr_retry = 7;
	post(ROVE_WR_SEND, 1, 0);
	for (i = 0; i < 1000; i++) {
		CHECK_EQ(send_all(), 1);
		get(ROVE_OP_ACK, 0, 0x21, 0);
		now += 10 * US;
	}
	CHECK(!q.broken);
}

TEST(timeout_and_budget)
{
	u64 rto = 4096 << 10;
	u32 i;

	setup();
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_SEND, 1, 0);
	CHECK_EQ(send_all(), 2);
	CHECK_EQ(rove_req_deadline(&q), now + rto);
	for (i = 0; i < 2; i++) {		/* later each time */
		now += (rto << i) - 1;
		rove_req_timer(&q, now);
		sends_nothing();
		now++;
		rove_req_timer(&q, now);
		CHECK_EQ(send_all(), 2);
	}
	ack(0);					/* progress: a new budget */
	for (i = 0; i < 2; i++) {
		now += rto << i;
		rove_req_timer(&q, now);
		CHECK_EQ(send_all(), 1);
	}
	CHECK(!q.broken);
	now += (rto << 2) - 1;
	rove_req_timer(&q, now);
	CHECK(!q.broken);
	now++;
	rove_req_timer(&q, now);
	CHECK(q.broken);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_RETRY);
	CHECK_EQ(q.tally.n[ROVE_TALLY_TIMEOUT], 5);
	CHECK_EQ(q.tally.n[ROVE_TALLY_RETRY_EXC], 1);

	setup();
	q.conf.timeout = 0;
	post(ROVE_WR_SEND, 1, 0);
	CHECK_EQ(send_all(), 1);
	CHECK_EQ(rove_req_deadline(&q), 0);
}

/* But never more than four times as long as was set. */
TEST(timeout_is_bounded)
{
	u64 rto = 4096 << 10;
	u32 i;

	setup();
	q.conf.retry_cnt = 7;
	post(ROVE_WR_SEND, 1, 0);
	CHECK_EQ(send_all(), 1);
	for (i = 0; i < 7; i++) {
		CHECK_EQ(rove_req_deadline(&q), now + (rto << min(i, 2U)));
		now = rove_req_deadline(&q);
		rove_req_timer(&q, now);
		CHECK_EQ(send_all(), 1);
	}
	CHECK_EQ(rove_req_deadline(&q), now + (rto << 2));
}

/* A loss halves what may be in flight; each window that is acknowledged adds a packet. */
TEST(loss_narrows_the_window)
{
	u32 i;

	setup();
	q.conf.window = 32 * MTU;
	post(ROVE_WR_WRITE, 200 * MTU, 0);
	CHECK_EQ(send_all(), 32);
	nak(12, ROVE_NAK_SEQ);			/* 20 in flight */
	CHECK_EQ(send_all(), 10);
	for (i = 12; i < 22; i++) {
		ack(i);
		CHECK_EQ(send_all(), i < 21 ? 1 : 2);
	}
	nak(22, ROVE_NAK_SEQ);			/* 11 in flight */
	CHECK_EQ(send_all(), 5);
	nak(24, ROVE_NAK_SEQ);
	CHECK_EQ(send_all(), 4);		/* this many always */
	CHECK(seg.pkt.ackreq);
	for (i = 24; i < 84; i++) {
		ack(i);
		send_all();
	}
	CHECK_EQ((q.send_bytes - q.una_bytes) / MTU, 12);	/* 4 + 5 + ... + 11 is 60 */
}

/* Time that ran out leaves the least; up to half of what was in flight it opens fast. */
TEST(timeout_narrows_the_window)
{
	setup();
	q.conf.window = 32 * MTU;
	post(ROVE_WR_WRITE, 200 * MTU, 0);
	CHECK_EQ(send_all(), 32);
	now = rove_req_deadline(&q);
	rove_req_timer(&q, now);
	CHECK_EQ(send_all(), 4);
	ack(3);
	CHECK_EQ(send_all(), 8);
	ack(11);
	CHECK_EQ(send_all(), 16);
	ack(27);
	CHECK_EQ(send_all(), 17);
}

/* After a loss silence is not waited out; that is all beside timeout and budget. */
TEST(probes_after_a_loss)
{
	u64 rto = 4096 << 10, small = rto >> 5, begin, at;
	u32 i;

	setup();
	post(ROVE_WR_SEND, 6 * MTU, 0);
	CHECK_EQ(send_all(), 6);
	begin = now;
	at = now;
	nak(0, ROVE_NAK_SEQ);
	CHECK_EQ(send_all(), 4);
	for (i = 0; i < 4; i++) {
		at += small << i;
		CHECK_EQ(rove_req_deadline(&q), at);
		now = at - 1;
		rove_req_timer(&q, now);
		sends_nothing();
		now = at;
		rove_req_timer(&q, now);
		CHECK_EQ(send_all(), 4);
	}
	CHECK_EQ(q.tally.n[ROVE_TALLY_TIMEOUT], 0);
	now = at + (small << 4);
	rove_req_timer(&q, now);
	CHECK_EQ(send_all(), 4);
	CHECK_EQ(rove_req_deadline(&q), begin + rto);
	for (i = 0; i < 3; i++) {		/* without a word from it: nothing but that */
		CHECK(!q.broken);
		now = rove_req_deadline(&q);
		rove_req_timer(&q, now);
		CHECK_EQ(q.tally.n[ROVE_TALLY_TIMEOUT], i + 1);
	}
	CHECK_EQ(now, begin + 7 * rto);
	CHECK(q.broken);

	setup();				/* an answer: it is alive */
	post(ROVE_WR_SEND, 6 * MTU, 0);
	CHECK_EQ(send_all(), 6);
	now = rove_req_deadline(&q);
	rove_req_timer(&q, now);
	CHECK_EQ(send_all(), 4);
	CHECK_EQ(rove_req_deadline(&q), now + 2 * rto);
	nak(0, ROVE_NAK_SEQ);
	CHECK_EQ(rove_req_deadline(&q), now + small);
	now += small;
	rove_req_timer(&q, now);
	CHECK_EQ(send_all(), 4);
	CHECK_EQ(rove_req_deadline(&q), now + 2 * small);
	ack(0);
	CHECK_EQ(rove_req_deadline(&q), now + small);
	CHECK_EQ(send_all(), 1);
	ack(5);					/* nothing is lost any more, all is answered */
	CHECK_EQ(rove_req_deadline(&q), 0);
	done(0, ROVE_FAULT_NONE);

	setup();				/* answers to READs take as long as they take */
	post(ROVE_WR_READ, MTU, 0);
	post(ROVE_WR_READ, MTU, 0);
	CHECK_EQ(send_all(), 2);
	stale(get(ROVE_OP_READ_RESP_ONLY, 1, 0x1f, MTU));
	CHECK_EQ(send_all(), 2);
	CHECK_EQ(rove_req_deadline(&q), now + rto);
	CHECK_EQ(q.send_less, 0);
}

/* A peer that does not answer in time is asked for less, and for more when it does. */
TEST(slow_peer_is_asked_for_less)
{
	setup();
	q.conf.max_rd_atomic = 8;
	q.conf.read_window = 8 * MTU;
	post(ROVE_WR_READ, 4 * MTU, 0);
	post(ROVE_WR_READ, 4 * MTU, 0);
	CHECK_EQ(send_all(), 2);
	now = rove_req_deadline(&q);
	rove_req_timer(&q, now);
	sends(ROVE_OP_READ_REQ, 0, 0);
	sends_nothing();			/* 4 of 4 */
	now = rove_req_deadline(&q);
	rove_req_timer(&q, now);
	sends(ROVE_OP_READ_REQ, 0, 0);		/* one is always asked for */
	sends_nothing();
	data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	data(ROVE_OP_READ_RESP_MIDDLE, 1, MTU, MTU);
	data(ROVE_OP_READ_RESP_MIDDLE, 2, 2 * MTU, MTU);
	sends(ROVE_OP_READ_REQ, 4, 0);		/* 2 and 3 again: 1 + 4 of 5 */
}

/* The stack is full: later and later, and dead when nothing gets through at all. */
TEST(dropped_here)
{
	u64 before, wait = 0;
	u32 i;

	setup();
	post(ROVE_WR_SEND, 4 * MTU, 0);
	sends(ROVE_OP_SEND_FIRST, 0, MTU);
	sends(ROVE_OP_SEND_MIDDLE, 1, MTU);
	rove_req_seg_dropped(&q, &seg, now);
	for (i = 0; i < 5; i++) {
		sends_nothing();
		before = now;
		now = rove_req_deadline(&q);
		CHECK(now - before > wait && now - before <= 1000 * US);
		wait = now - before;
		sends(ROVE_OP_SEND_MIDDLE, 1, MTU);
		rove_req_seg_dropped(&q, &seg, now);
	}
	now = rove_req_deadline(&q);
	CHECK_EQ(send_all(), 3);
	ack(3);
	done(0, ROVE_FAULT_NONE);
	CHECK(!q.tally.n[ROVE_TALLY_TIMEOUT]);

	post(ROVE_WR_SEND, MTU, 0);
	before = now;
	while (!q.broken) {
		rove_req_timer(&q, now);
		if (next_seg())
			rove_req_seg_dropped(&q, &seg, now);
		if (!q.broken)
			now = rove_req_deadline(&q);
		CHECK(now);
	}
	CHECK_EQ(now - before, (1 + 2 + 4) * (4096 << 10));
	done(1, ROVE_FAULT_RETRY);
}

/* Back over several messages, READs among them, and none counted twice. */
TEST(dropped_train)
{
	struct rove_seg lost;

	setup();
	q.conf.max_rd_atomic = 8;
	post(ROVE_WR_SEND, 10, 0);
	post(ROVE_WR_SEND, 2 * MTU, 0);
	post(ROVE_WR_READ, 5 * MTU, 0);
	post(ROVE_WR_READ, 0, 0);
	post(ROVE_WR_FETCH_ADD, 0, 0);
	post(ROVE_WR_SEND, 3 * MTU, 0);
	sends(ROVE_OP_SEND_ONLY, 0, 10);
	sends(ROVE_OP_SEND_FIRST, 1, MTU);
	sends(ROVE_OP_SEND_LAST, 2, MTU);
	lost = seg;
	CHECK_EQ(send_all(), 7);
	CHECK_EQ(q.rd_atomic, 4);
	rove_req_seg_dropped(&q, &lost, now);
	CHECK_EQ(q.rd_atomic, 0);
	CHECK_EQ(q.send_bytes - q.una_bytes, MTU + 10);
	now += 100 * US;
	sends(ROVE_OP_SEND_LAST, 2, MTU);
	/* It was too much at once: four packets for now. */
	CHECK_EQ(send_all(), 5);
	CHECK_EQ(q.rd_atomic, 4);
	CHECK_EQ(q.send_bytes - q.una_bytes, 3 * MTU + 10);
	ack(0);
	CHECK_EQ(send_all(), 1);
	lost.pkt.psn = PSN;			/* acknowledged meanwhile: nothing to do */
	rove_req_seg_dropped(&q, &lost, now);
	sends_nothing();
	CHECK_EQ(q.rd_atomic, 4);
}

/* A drop narrows the window, and others before anything gets through do not. */
TEST(drops_narrow_the_window_once)
{
	struct rove_seg first;
	u32 i;

	setup();
	q.conf.window = 32 * MTU;
	post(ROVE_WR_SEND, 40 * MTU, 0);
	for (i = 0; i < 12; i++) {
		sends(i ? ROVE_OP_SEND_MIDDLE : ROVE_OP_SEND_FIRST, i, MTU);
		if (i == 4)
			first = seg;
	}
	for (i = 0; i < 3; i++) {
		rove_req_seg_dropped(&q, &first, now);
		CHECK_EQ(rove_retry_window(&q), 6 * MTU);
		now = rove_req_deadline(&q);
		CHECK_EQ(send_all(), 2);
	}
	ack(4);
	rove_req_seg_dropped(&q, &seg, now);
	CHECK_EQ(rove_retry_window(&q), 4 * MTU);
}

TEST(bad_wqe_waits_its_turn)
{
	setup();
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_SEND, 3 * MTU, 0);
	post(ROVE_WR_SEND, 1, 0);
	sends(ROVE_OP_SEND_ONLY, 0, 1);
	sends(ROVE_OP_SEND_FIRST, 1, MTU);
	sends(ROVE_OP_SEND_MIDDLE, 2, MTU);
	rove_req_seg_failed(&q, &seg, ROVE_FAULT_LOCAL_PROT);
	sends_nothing();
	not_done();
	CHECK(!q.broken);
	ack(0);
	CHECK(q.broken);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_LOCAL_PROT);
	not_done();

	setup();
	rove_req_slot(&q)->fault = ROVE_FAULT_LOCAL_LEN;
	rove_req_post(&q);
	CHECK(q.broken);
	CHECK(next_done() && comp.report && comp.fault == ROVE_FAULT_LOCAL_LEN);
}

TEST(drain_and_go_on)
{
	setup();
	post(ROVE_WR_SEND, 2 * MTU, 0);
	post(ROVE_WR_SEND, 1, 0);
	sends(ROVE_OP_SEND_FIRST, 0, MTU);
	rove_req_drain(&q);
	sends(ROVE_OP_SEND_LAST, 1, MTU);
	sends_nothing();
	CHECK_EQ(rove_req_take_events(&q), 0);
	ack(1);
	CHECK_EQ(rove_req_take_events(&q), ROVE_QPE_SQ_DRAINED);
	sends_nothing();
	post(ROVE_WR_SEND, 1, 0);
	CHECK_EQ(rove_req_take_events(&q), 0);
	rove_req_start(&q);
	CHECK_EQ(send_all(), 2);
	rove_req_drain(&q);
	ack(3);
	CHECK_EQ(rove_req_take_events(&q), ROVE_QPE_SQ_DRAINED);
}

TEST(states)
{
	u32 i;

	setup();
	rove_req_reset(&q);
	for (i = 0; i < ENTRIES; i++)
		post(ROVE_WR_SEND, 1, 0)->sqe.wr_id = i;
	CHECK(!rove_req_slot(&q));
	sends_nothing();
	not_done();
	rove_req_set_psn(&q, PSN);
	rove_req_start(&q);
	CHECK_EQ(send_all(), ENTRIES);
	CHECK_EQ(ack(ENTRIES), ROVE_REQ_DROP);	/* never sent */
	ack(ENTRIES - 1);
	for (i = 0; i < ENTRIES; i++)
		CHECK(next_done());
	rove_req_reset(&q);
	CHECK(rove_req_idle(&q));
	CHECK_EQ(ack(0), ROVE_REQ_DROP);
	CHECK_EQ(place.drop, ROVE_DROP_STATE);
}

TEST(foreign_packets)
{
	struct rove_pkt pkt = { .opcode = ROVE_OP_ACK, .pkey = 0x7ffe, .psn = PSN };

	setup();
	post(ROVE_WR_SEND, 1, 0);
	CHECK_EQ(send_all(), 1);
	CHECK_EQ(take(&pkt), ROVE_REQ_DROP);
	CHECK_EQ(place.drop, ROVE_DROP_PKEY);
	/* The table changes: what was dropped is taken, and the other way round. */
	pkeys[0] = 0xfffe;
	CHECK_EQ(ack(0), ROVE_REQ_DROP);
	CHECK_EQ(place.drop, ROVE_DROP_PKEY);
	pkeys[0] = 0xffff;
	pkt.pkey = 0xffff;
	pkt.opcode = ROVE_OP_SEND_ONLY;
	CHECK_EQ(take(&pkt), ROVE_REQ_DROP);
	CHECK_EQ(place.drop, ROVE_DROP_OPCODE);
	CHECK_EQ(get(ROVE_OP_READ_RESP_ONLY, 0, 0x60, 0), ROVE_REQ_DROP);
	not_done();
}

/* Half of the circle is never outstanding, whatever is asked for. */
TEST(two_gib)
{
	u64 n = 0;

	setup();
	q.conf.pmtu = 256;
	q.conf.window = 0xffffffff;
	q.conf.read_chunk = 0x80000000;
	q.conf.max_rd_atomic = 200;
	rove_req_start(&q);
	CHECK_EQ(q.chunk_shift, 30);
	post(ROVE_WR_READ, 0x80000000, 0);
	post(ROVE_WR_SEND, 1, 0);
	sends(ROVE_OP_READ_REQ, 0, 0);
	CHECK_EQ(seg.pkt.dma_len, 1 << 30);
	sends_nothing();
	for (n = 0; n < 0x800000; n++) {
		u32 in = n & 0x3fffff;

		if (n == 0x400000)
			sends(ROVE_OP_READ_REQ, 0x400000, 0);
		data(!in ? ROVE_OP_READ_RESP_FIRST : in == 0x3fffff ? ROVE_OP_READ_RESP_LAST :
		     ROVE_OP_READ_RESP_MIDDLE, n, n * 256, 256);
	}
	done(0, ROVE_FAULT_NONE);
	sends(ROVE_OP_SEND_ONLY, 0x800000, 1);

	setup();
	q.conf.pmtu = 256;
	q.conf.window = 0xffffffff;
	rove_req_start(&q);
	post(ROVE_WR_WRITE, 0x80000000, 0);
	CHECK_EQ(send_all(), 0x400000);
	ack(0x3ffffe);
	CHECK_EQ(send_all(), 0x3fffff);
	ack(0x7ffffe);
	sends(ROVE_OP_WRITE_LAST, 0x7fffff, 256);
	ack(0x7fffff);
	done(0, ROVE_FAULT_NONE);
}

static void setup_ud(void)
{
	setup();
	q.conf.type = ROVE_QPT_UD;
	q.conf.sqpn = 9;
	q.conf.qkey = 0x80010000;
}

TEST(datagrams)
{
	struct rove_swqe *w;
	u32 i;

	setup_ud();
	for (i = 0; i < 2; i++) {
		w = post(i ? ROVE_WR_SEND_IMM : ROVE_WR_SEND, i * MTU, ROVE_WR_SOLICITED);
		w->sqe.ud.qpn = 0x99;
		w->sqe.ud.qkey = i ? 0x11111111 : 0x80000000;
	}
	for (i = 0; i < 2; i++) {
		CHECK(next_seg());
		CHECK_EQ(seg.pkt.opcode, i ? 0x65 : 0x64);
		CHECK_EQ(seg.pkt.dqpn, 0x99);
		CHECK_EQ(seg.pkt.sqpn, 9);
		CHECK_EQ(seg.pkt.qkey, i ? 0x11111111 : 0x80010000);
		CHECK_EQ(seg.pkt.psn, (PSN + i) & 0xffffff);
		CHECK(seg.pkt.se && !seg.pkt.ackreq && !seg.resend);
		rove_req_seg_dropped(&q, &seg, now);
		done(i, ROVE_FAULT_NONE);
	}
	CHECK_EQ(rove_req_deadline(&q), 0);
	CHECK_EQ(ack(0), ROVE_REQ_DROP);

	post(ROVE_WR_SEND, MTU + 1, 0);
	sends_nothing();
	CHECK(q.broken);
	done(2, ROVE_FAULT_LOCAL_LEN);
	rove_req_error(&q);
	not_done();
	rove_req_start(&q);			/* SQE to RTS */
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_SEND, 1, 0);
	CHECK(next_seg());
	rove_req_seg_failed(&q, &seg, ROVE_FAULT_LOCAL_PROT);
	CHECK(q.broken);
	sends_nothing();
	done(3, ROVE_FAULT_LOCAL_PROT);
	not_done();
	rove_req_error(&q);
	done(4, ROVE_FAULT_FLUSH);

	setup_ud();
	post(ROVE_WR_WRITE, 1, 0);
	sends_nothing();
	done(0, ROVE_FAULT_WQE);
}

static void setup_uc(void)
{
	setup();
	q.conf.type = ROVE_QPT_UC;
	q.conf.timeout = 0;
	q.conf.max_rd_atomic = 0;
	q.conf.window = MTU;
}

TEST(uc_done_when_handed_over)
{
	setup_uc();
	post(ROVE_WR_SEND_IMM, 2 * MTU + 1, ROVE_WR_SOLICITED);
	post(ROVE_WR_WRITE, 3, 0);
	post(ROVE_WR_WRITE_IMM, MTU + 1, 0);
	sends(ROVE_TR_UC | ROVE_OP_SEND_FIRST, 0, MTU);
	CHECK(!seg.pkt.ackreq && !seg.pkt.se);
	not_done();
	rove_req_handed_over(&q, now);
	not_done();
	sends(ROVE_TR_UC | ROVE_OP_SEND_MIDDLE, 1, MTU);
	sends(ROVE_TR_UC | ROVE_OP_SEND_LAST_IMM, 2, 1);
	CHECK(!seg.pkt.ackreq && seg.pkt.se && seg.pkt.imm == 0x1234);
	sends(ROVE_TR_UC | ROVE_OP_WRITE_ONLY, 3, 3);
	CHECK(!seg.pkt.ackreq && seg.pkt.dma_len == 3 && seg.pkt.rkey == 0x55);
	not_done();
	rove_req_handed_over(&q, now);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_NONE);
	sends(ROVE_TR_UC | ROVE_OP_WRITE_FIRST, 4, MTU);
	sends(ROVE_TR_UC | ROVE_OP_WRITE_LAST_IMM, 5, 1);
	sends_nothing();
	rove_req_handed_over(&q, now);
	done(2, ROVE_FAULT_NONE);
	CHECK(rove_req_idle(&q) && !rove_req_in_flight(&q) && !rove_req_deadline(&q));
	CHECK_EQ(ack(0), ROVE_REQ_DROP);
	CHECK_EQ(place.drop, ROVE_DROP_STATE);
}

TEST(uc_drops_by_the_own_stack)
{
	struct rove_seg first;
	u32 i;

	setup_uc();
	post(ROVE_WR_SEND, 3 * MTU, 0);
	sends(ROVE_TR_UC | ROVE_OP_SEND_FIRST, 0, MTU);
	sends(ROVE_TR_UC | ROVE_OP_SEND_MIDDLE, 1, MTU);
	first = seg;
	sends(ROVE_TR_UC | ROVE_OP_SEND_LAST, 2, MTU);
	/* Tried again, a little later, under the same PSN, and no retransmission. */
	for (i = 0; i < 8; i++) {
		rove_req_seg_dropped(&q, &first, now);
		rove_req_handed_over(&q, now);
		not_done();
		sends_nothing();
		CHECK(rove_req_deadline(&q) > now);
		now = rove_req_deadline(&q);
		rove_req_timer(&q, now);
		sends(ROVE_TR_UC | ROVE_OP_SEND_MIDDLE, 1, MTU);
		CHECK(!seg.resend);
		/* The first packet is progress, what follows is none. */
		first = seg;
	}
	sends(ROVE_TR_UC | ROVE_OP_SEND_LAST, 2, MTU);
	rove_req_seg_dropped(&q, &first, now);
	/* Lost, and done all the same. */
	rove_req_handed_over(&q, now);
	done(0, ROVE_FAULT_NONE);
	CHECK_EQ(q.tally.n[ROVE_TALLY_RETRANSMIT], 0);
	CHECK(!rove_req_in_flight(&q));
	post(ROVE_WR_SEND, 1, 0);
	sends(ROVE_TR_UC | ROVE_OP_SEND_ONLY, 3, 1);
}

TEST(uc_send_queue_errors)
{
	setup_uc();
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_SEND, 2 * MTU, 0);
	post(ROVE_WR_SEND, 1, 0);
	sends(ROVE_TR_UC | ROVE_OP_SEND_ONLY, 0, 1);
	sends(ROVE_TR_UC | ROVE_OP_SEND_FIRST, 1, MTU);
	sends(ROVE_TR_UC | ROVE_OP_SEND_LAST, 2, MTU);
	rove_req_seg_failed(&q, &seg, ROVE_FAULT_LOCAL_PROT);
	sends_nothing();
	rove_req_handed_over(&q, now);
	CHECK(q.broken);
	done(0, ROVE_FAULT_NONE);
	done(1, ROVE_FAULT_LOCAL_PROT);
	not_done();
	rove_req_error(&q);			/* SQE */
	done(2, ROVE_FAULT_FLUSH);
	rove_req_start(&q);
	post(ROVE_WR_SEND, 1, 0);
	/* PSNs go on behind what was sent of the broken message. */
	sends(ROVE_TR_UC | ROVE_OP_SEND_ONLY, 2, 1);
	rove_req_handed_over(&q, now);
	done(3, ROVE_FAULT_NONE);

	setup_uc();
	post(ROVE_WR_READ, 1, 0);
	sends_nothing();
	done(0, ROVE_FAULT_WQE);

	/* SQD: what was begun is brought to its end. */
	setup_uc();
	post(ROVE_WR_SEND, 2 * MTU, 0);
	post(ROVE_WR_SEND, 1, 0);
	sends(ROVE_TR_UC | ROVE_OP_SEND_FIRST, 0, MTU);
	rove_req_handed_over(&q, now);
	rove_req_drain(&q);
	CHECK_EQ(rove_req_take_events(&q), 0);
	sends(ROVE_TR_UC | ROVE_OP_SEND_LAST, 1, MTU);
	sends_nothing();
	rove_req_handed_over(&q, now);
	CHECK_EQ(rove_req_take_events(&q), ROVE_QPE_SQ_DRAINED);
}

/* XRC: its own opcodes, and the SRQ of each request; responses come as RC's. */
TEST(xrc)
{
	setup();
	q.conf.xrc = true;
	post(ROVE_WR_SEND, MTU + 1, 0)->sqe.rdma.srqn = 0x77;
	post(ROVE_WR_WRITE, 4, 0)->sqe.rdma.srqn = 0x78;
	post(ROVE_WR_FETCH_ADD, 8, 0)->sqe.atomic.srqn = 0x79;
	sends(ROVE_TR_XRC | ROVE_OP_SEND_FIRST, 0, MTU);
	CHECK_EQ(seg.pkt.srqn, 0x77);
	sends(ROVE_TR_XRC | ROVE_OP_SEND_LAST, 1, 1);
	CHECK_EQ(seg.pkt.srqn, 0x77);
	sends(ROVE_TR_XRC | ROVE_OP_WRITE_ONLY, 2, 4);
	CHECK_EQ(seg.pkt.srqn, 0x78);
	sends(ROVE_TR_XRC | ROVE_OP_FETCH_ADD, 3, 0);
	CHECK_EQ(seg.pkt.srqn, 0x79);
	CHECK_EQ(ack(2), ROVE_REQ_DONE);
	CHECK_EQ(get(ROVE_OP_ATOMIC_ACK, 3, 0, 0), ROVE_REQ_PLACE_VALUE);
	rove_req_placed(&q, 0, now);
	CHECK(next_done() && !comp.fault);
	CHECK(next_done() && !comp.fault);
	CHECK(next_done() && !comp.fault);
}

TEST(later_as_if_not_asked_for)
{
	setup();
	post(ROVE_WR_SEND, 3 * MTU, 0);
	sends(ROVE_OP_SEND_FIRST, 0, MTU);
	rove_req_seg_failed(&q, &seg, ROVE_FAULT_PAGE);
	CHECK(!rove_req_in_flight(&q) && !rove_req_deadline(&q));
	sends(ROVE_OP_SEND_FIRST, 0, MTU);
	sends(ROVE_OP_SEND_MIDDLE, 1, MTU);
	rove_req_seg_failed(&q, &seg, ROVE_FAULT_PAGE);
	CHECK(rove_req_in_flight(&q) && rove_req_deadline(&q));
	CHECK_EQ(q.send_bytes - q.una_bytes, MTU);
	sends(ROVE_OP_SEND_MIDDLE, 1, MTU);
	CHECK(!seg.resend);
	sends(ROVE_OP_SEND_LAST, 2, MTU);
	ack(2);
	done(0, ROVE_FAULT_NONE);
	CHECK_EQ(q.tally.n[ROVE_TALLY_RETRANSMIT], 0);

	/* Sent again, and later: still a resend. */
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_SEND, 1, 0);
	send_all();
	nak(3, ROVE_NAK_SEQ);
	sends(ROVE_OP_SEND_ONLY, 3, 1);
	rove_req_seg_failed(&q, &seg, ROVE_FAULT_PAGE);
	sends(ROVE_OP_SEND_ONLY, 3, 1);
	CHECK(seg.resend);
	sends(ROVE_OP_SEND_ONLY, 4, 1);
	CHECK(seg.resend);
	ack(4);
	done(1, ROVE_FAULT_NONE);
	done(2, ROVE_FAULT_NONE);
}

TEST(later_answers)
{
	setup();
	post(ROVE_WR_READ, 2 * MTU, 0);
	send_all();
	data(ROVE_OP_READ_RESP_FIRST, 0, 0, MTU);
	CHECK_EQ(get(ROVE_OP_READ_RESP_LAST, 1, 0, MTU), ROVE_REQ_PLACE);
	rove_req_placed(&q, ROVE_FAULT_PAGE, now);
	not_done();
	CHECK(!q.broken);
	data(ROVE_OP_READ_RESP_LAST, 1, MTU, MTU);
	done(0, ROVE_FAULT_NONE);
}

TEST(later_datagrams)
{
	setup_ud();
	post(ROVE_WR_SEND, 1, 0);
	post(ROVE_WR_SEND, 2, 0);
	CHECK(next_seg());
	CHECK(next_seg());
	CHECK_EQ(seg.pkt.len, 2);
	rove_req_seg_failed(&q, &seg, ROVE_FAULT_PAGE);
	done(0, ROVE_FAULT_NONE);
	not_done();
	CHECK(next_seg());
	CHECK(seg.pkt.len == 2 && seg.pkt.psn == ((PSN + 1) & 0xffffff));
	done(1, ROVE_FAULT_NONE);
	CHECK(!next_seg());
}

TEST(keys_of_qp1)
{
	struct rove_swqe *w;
	u32 i;

	setup_ud();
	q.conf.pkeys.num = ARRAY_SIZE(pkeys);
	for (i = 0; i < 4; i++) {
		w = post(ROVE_WR_SEND, 1, 0);
		w->sqe.ud.pkey_index = i;
		CHECK(next_seg());
		CHECK_EQ(seg.pkt.pkey, i < ARRAY_SIZE(pkeys) ? pkeys[i] : pkeys[0]);
		done(i, ROVE_FAULT_NONE);
	}
	/* Others have but one, whatever they ask for. */
	q.conf.pkeys = (struct rove_pkeys){ &pkeys[1], 1 };
	w = post(ROVE_WR_SEND, 1, 0);
	w->sqe.ud.pkey_index = 2;
	CHECK(next_seg());
	CHECK_EQ(seg.pkt.pkey, pkeys[1]);
}

/* What is posted, in flight, or done and not reaped is the same in the new slots. */
TEST(more_slots)
{
	u32 i, n = 0;
	u8 *more;

	setup();
	/* Not from the start, so that the old slots are full around their end. */
	for (i = 0; i < 5; i++, n++) {
		post(ROVE_WR_SEND, 1, 0);
		sends(ROVE_OP_SEND_ONLY, n, 1);
		ack(n);
		done(i, ROVE_FAULT_NONE);
	}
	for (; i < 5 + ENTRIES; i++)
		post(ROVE_WR_SEND, i, 0);
	CHECK(!rove_req_slot(&q));
	for (i = 0; i < 6; i++, n++)
		sends(ROVE_OP_SEND_ONLY, n, 5 + i);
	ack(n - 4);

	more = calloc(4 * ENTRIES, q.stride);
	CHECK(rove_req_grow(&q, more, 4 * ENTRIES) == slots);
	free(slots);
	slots = more;
	CHECK(rove_req_slot(&q));
	for (i = 5 + ENTRIES; i < 5 + 4 * ENTRIES; i++)
		post(ROVE_WR_SEND, i, 0);
	CHECK(!rove_req_slot(&q));
	/* Three were not acknowledged: again. */
	nak(n - 3, 0);
	for (i = 5; i < 8; i++)
		done(i, ROVE_FAULT_NONE);
	for (; i < 5 + 4 * ENTRIES; i++) {
		u32 psn = i;

		if (!next_seg()) {
			ack(psn - 1);
			CHECK(next_seg());
		}
		CHECK_EQ(seg.pkt.len, i);
		CHECK_EQ(seg.pkt.psn, (PSN + psn) & 0xffffff);
	}
	ack(i - 1);
	for (i = 8; i < 5 + 4 * ENTRIES; i++)
		done(i, ROVE_FAULT_NONE);
	not_done();
}

/* On the same host the peer gets the packet as it is, without building and parsing. */
TEST(no_srq_but_xrc_s)
{
	setup();
	post(ROVE_WR_SEND, 8, 0);
	CHECK(next_seg());
	CHECK_EQ(seg.pkt.srqn, 0);
}
