// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several packets in one step: two pairs of machines do the same, one packet by packet,
 * the other in spans where it may, or in packets that were made of a span and are taken for
 * one; they must not be told apart.
 */
#include <stdlib.h>

#include "proto/span.h"
#include "ring/wqe.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "unit.h"

#define ENTRIES	16
#define MTU	1024
#define PSN	0xfffff0U		/* so that everything wraps */
#define VA	0x10000ULL
#define KEY	0x55
#define RQE	(100 * MTU)

static u16 pkeys[] = { 0xffff };
static u64 now = 1000;

struct pair {
	struct rove_req q;
	struct rove_resp r;
	struct rove_resp_saved saved[4];
	u8 slots[ENTRIES * sizeof(struct rove_swqe)];
	u32 placed;		/* bytes, at either end */
	u32 done;
};

static struct pair one, many;
static struct rove_seg sent;	/* the last one that request() or answer() carried */
static struct rove_span s;
static struct rove_resp_act act;
static struct rove_req_place place;

static void setup_pair(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	rove_req_init(&p->q, p->slots, ENTRIES, sizeof(struct rove_swqe));
	p->q.conf = (struct rove_req_conf){
		.timeout = 10, .retry_cnt = 2, .rnr_retry = 2, .max_rd_atomic = 4,
		.pkeys = { pkeys, 1 }, .pmtu = MTU, .dqpn = 7, .window = 64 * MTU,
		.read_chunk = 16 * MTU, .read_window = 64 * MTU,
	};
	rove_req_set_psn(&p->q, PSN);
	rove_req_start(&p->q);
	rove_resp_init(&p->r);
	p->r.conf = (struct rove_resp_conf){
		.min_rnr_timer = 12, .remote_write = true, .remote_read = true,
		.pkeys = { pkeys, 1 }, .pmtu = MTU, .dqpn = 7,
	};
	rove_resp_set_saved(&p->r, p->saved, ARRAY_SIZE(p->saved));
	rove_resp_set_psn(&p->r, PSN);
	rove_resp_start(&p->r);
}

static void setup(void)
{
	setup_pair(&one);
	setup_pair(&many);
}

static void post_to(struct pair *p, u8 op, u32 len)
{
	struct rove_swqe *w = rove_req_slot(&p->q);

	CHECK(w);
	memset(w, 0, sizeof(*w));
	w->length = len;
	w->sqe.opcode = op;
	w->sqe.flags = ROVE_WR_SIGNALED;
	w->sqe.num = 1;
	if (op >= ROVE_WR_WRITE) {
		w->sqe.rdma.addr = VA;
		w->sqe.rdma.rkey = KEY;
	}
	rove_req_post(&p->q);
}

static void post(u8 op, u32 len)
{
	post_to(&one, op, len);
	post_to(&many, op, len);
}

static void take(struct pair *p, const struct rove_pkt *pkt)
{
	struct rove_resp_comp comp;

	DIRTY(&act);
	rove_resp_packet(&p->r, pkt, &act);
	while (act.kind > ROVE_RESP_LATER) {
		struct rove_resp_result res = { .len = RQE };

		if (act.kind == ROVE_RESP_PLACE_MR || act.kind == ROVE_RESP_PLACE_RQE)
			p->placed += act.len;
		DIRTY(&act);
		rove_resp_result(&p->r, &res, &act);
	}
	CHECK_EQ(act.kind, ROVE_RESP_DONE);
	DIRTY(&comp);
	while (rove_resp_reap(&p->r, &comp))
		CHECK(!comp.fault);
}

/* One packet; false: there is none. */
static bool request(struct pair *p)
{
	DIRTY(&sent);
	if (!rove_req_next(&p->q, now, &sent))
		return false;
	take(p, &sent.pkt);
	return true;
}

static bool answer(struct pair *p)
{
	DIRTY(&sent);
	if (!rove_resp_next(&p->r, &sent))
		return false;
	DIRTY(&place);
	if (rove_req_packet(&p->q, &sent.pkt, now, &place) == ROVE_REQ_PLACE) {
		p->placed += place.len;
		rove_req_placed(&p->q, ROVE_FAULT_NONE, now);
	}
	return true;
}

static void alike(void)
{
	struct rove_resp a = one.r, b = many.r;
	struct rove_req q = many.q;

	/* What is left of the last packet that came by itself. */
	memset(&a.pkt, 0, sizeof(a.pkt));
	memset(&b.pkt, 0, sizeof(b.pkt));
	b.saved = a.saved;
	q.slots = one.q.slots;
	CHECK_MEM(&a, &b, sizeof(a));
	CHECK_MEM(one.saved, many.saved, sizeof(one.saved));
	CHECK_MEM(&one.q, &q, sizeof(q));
	CHECK_MEM(one.slots, many.slots, sizeof(one.slots));
	CHECK_EQ(one.placed, many.placed);
}

/* The packet that was sent last is one of a span. */
static void check_seg(const struct rove_seg *seg)
{
	CHECK_EQ(seg->source, sent.source);
	CHECK_EQ(seg->resend, sent.resend);
	CHECK_EQ(seg->pkt.opcode, sent.pkt.opcode);
	CHECK_EQ(seg->pkt.se, sent.pkt.se);
	CHECK_EQ(seg->pkt.ackreq, sent.pkt.ackreq);
	CHECK_EQ(seg->pkt.migreq, sent.pkt.migreq);
	CHECK_EQ(seg->pkt.pkey, sent.pkt.pkey);
	CHECK_EQ(seg->pkt.dqpn, sent.pkt.dqpn);
	CHECK_EQ(seg->pkt.psn, sent.pkt.psn);
	CHECK_EQ(seg->pkt.len, sent.pkt.len);
	if (seg->source == ROVE_SEG_WQE) {
		CHECK(seg->wqe == sent.wqe && seg->off == sent.off);
	} else {
		CHECK(seg->va == sent.va && seg->rkey == sent.rkey);
	}
}

/* Its packets one after the other, as a train has them; @taken: each where it comes. */
static void step_packets(bool (*by_one)(struct pair *p), void (*taken)(struct rove_span *t))
{
	struct rove_seg seg;
	struct rove_span t;
	u32 i;

	memset(&seg, 0xa5, sizeof(seg));
	rove_span_seg(&s, 7, &seg);
	for (i = 0; i < s.num; i++) {
		seg.pkt.ackreq = s.ackreq && i == s.num - 1;
		CHECK(by_one(&one));
		check_seg(&seg);
		memset(&t, 0xa5, sizeof(t));
		CHECK(rove_span_of(&seg.pkt, &t));
		taken(&t);
		seg.pkt.psn = rove_psn_add(seg.pkt.psn, 1);
		seg.off += MTU;
		seg.va += MTU;
	}
}

static void take_request(struct rove_span *t)
{
	CHECK(rove_span_accept(&many.r, t, &act));
	CHECK(act.len == MTU && act.check_len == MTU);
	rove_span_accepted(&many.r, t);
	many.placed += MTU;
}

static void take_answer(struct rove_span *t)
{
	CHECK(rove_span_expect(&many.q, t, &place));
	CHECK_EQ(place.len, MTU);
	rove_span_expected(&many.q, t, now);
	many.placed += MTU;
}

/* Packets, in one step where that goes; 0: there are none. */
static u32 step_requests(u32 max, u32 cut, bool packets)
{
	u32 i;

	DIRTY(&s);
	if (!rove_span_request(&many.q, max, &s)) {
		CHECK_EQ(request(&many), request(&one));
		alike();
		return 0;
	}
	DIRTY(&act);
	CHECK(rove_span_accept(&many.r, &s, &act));
	CHECK(s.num > 1 && s.len == s.num * MTU && s.len <= max && s.len == act.len);
	CHECK_EQ(s.off, act.off);
	if (act.kind == ROVE_RESP_PLACE_MR)
		CHECK(act.va == VA + s.off && act.rkey == KEY && act.check_len == s.len);
	if (cut)
		rove_span_cut(&s, cut);
	rove_span_requested(&many.q, &s, now);
	if (packets) {
		step_packets(request, take_request);
		alike();
		return s.num;
	}
	rove_span_accepted(&many.r, &s);
	many.placed += s.len;
	for (i = 0; i < s.num; i++)
		CHECK(request(&one));
	alike();
	return s.num;
}

static u32 step_answers(u32 max, u32 cut, bool packets)
{
	u32 i;

	DIRTY(&s);
	if (!rove_span_answer(&many.r, max, &s)) {
		CHECK_EQ(answer(&many), answer(&one));
		alike();
		return 0;
	}
	DIRTY(&place);
	CHECK(rove_span_expect(&many.q, &s, &place));
	CHECK(s.num > 1 && s.len == s.num * MTU && s.len <= max && s.len == place.len);
	CHECK(s.va == VA + place.off && s.rkey == KEY);
	if (cut)
		rove_span_cut(&s, cut);
	rove_span_answered(&many.r, &s);
	if (packets) {
		step_packets(answer, take_answer);
		alike();
		return s.num;
	}
	rove_span_expected(&many.q, &s, now);
	many.placed += s.len;
	for (i = 0; i < s.num; i++)
		CHECK(answer(&one));
	alike();
	return s.num;
}

static bool reaped(struct pair *p)
{
	struct rove_req_comp comp;

	DIRTY(&comp);
	if (!rove_req_reap(&p->q, &comp))
		return false;
	CHECK(!comp.fault);
	p->done++;
	return true;
}

TEST(not_told_apart)
{
	static const u8 ops[] = {
		ROVE_WR_SEND, ROVE_WR_WRITE, ROVE_WR_WRITE_IMM, ROVE_WR_READ,
	};
	u32 seed = 1, i, posted = 0, spans = 0, answers = 0;

	setup();
	for (i = 0; i < 20000; i++) {
		u32 x = unit_rand(&seed);

		now += 100;
		/* As after a timeout. */
		if (!(x & 0x3f00)) {
			one.q.read_less = 20 * MTU;
			many.q.read_less = 20 * MTU;
		}
		if (!(x & 7) && rove_req_slot(&one.q)) {
			post(ops[x >> 3 & 3], (x >> 8) % (40 * MTU));
			posted++;
		}
		if (x & 0x80)
			spans += step_requests(MTU << (x >> 5 & 3) * 2, x >> 16 & 3, x >> 18 & 1);
		else
			answers += step_answers(MTU << (x >> 5 & 3) * 2, x >> 16 & 3, x >> 18 & 1);
		while (reaped(&one))
			CHECK(reaped(&many));
		CHECK(!reaped(&many));
	}
	CHECK(posted > 500 && one.done + ENTRIES >= posted && one.done == many.done);
	CHECK(spans > 1000 && answers > 200);
}

/* Up to the last packet but one of a message; the first one went. */
static void begin(u8 op, u32 len)
{
	setup();
	post(op, len);
	CHECK(request(&many));
}

static bool requests(u32 max)
{
	DIRTY(&s);
	return rove_span_request(&many.q, max, &s);
}

static bool accepts(void)
{
	DIRTY(&act);
	return rove_span_accept(&many.r, &s, &act);
}

TEST(only_the_middle)
{
	setup();
	post(ROVE_WR_WRITE, 5 * MTU);
	CHECK(!requests(64 * MTU));
	CHECK(request(&many));
	CHECK(requests(64 * MTU));
	CHECK_EQ(s.num, 3);
	CHECK_EQ(s.opcode, ROVE_OP_WRITE_MIDDLE);
	CHECK_EQ(s.psn, rove_psn_add(PSN, 1));
	CHECK(requests(3 * MTU - 1));
	CHECK_EQ(s.num, 2);
	CHECK(!requests(2 * MTU - 1));

	begin(ROVE_WR_SEND, 4 * MTU + 1);
	CHECK(requests(64 * MTU));
	CHECK_EQ(s.num, 3);
	CHECK_EQ(s.opcode, ROVE_OP_SEND_MIDDLE);
	begin(ROVE_WR_SEND, 3 * MTU);
	CHECK(!requests(64 * MTU));
}

TEST(within_the_window)
{
	begin(ROVE_WR_WRITE, 60 * MTU);
	many.q.conf.window = 10 * MTU;
	many.q.send_bytes = many.q.una_bytes + 7 * MTU;
	many.q.unasked = 0;
	CHECK(requests(64 * MTU));
	CHECK_EQ(s.num, 2);
	CHECK(s.ackreq);
	many.q.send_bytes += MTU;
	CHECK(requests(64 * MTU));
	many.q.send_bytes++;
	CHECK(!requests(64 * MTU));
	many.q.send_bytes = many.q.una_bytes + 100 * MTU;
	CHECK(!requests(64 * MTU));
	/* Narrowed by a loss. */
	many.q.send_bytes = many.q.una_bytes + 7 * MTU;
	many.q.send_less = 2 * MTU;
	CHECK(!requests(64 * MTU));
}

TEST(not_when_something_is_odd)
{
	begin(ROVE_WR_WRITE, 60 * MTU);
	CHECK(requests(8 * MTU) && accepts());
	many.q.conf.xrc = true;
	CHECK(!requests(8 * MTU));
	many.q.conf.xrc = false;
	many.q.conf.type = ROVE_QPT_UC;
	CHECK(!requests(8 * MTU));
	many.q.conf.type = ROVE_QPT_RC;
	many.q.max_psn = rove_psn_add(many.q.psn, 1);
	CHECK(!requests(8 * MTU));
	many.q.max_psn = many.q.psn;
	many.q.hold = 1;
	CHECK(!requests(8 * MTU));
	many.q.hold = 0;
	rove_req_wqe(&many.q, 0)->fault = ROVE_FAULT_LOCAL_PROT;
	CHECK(!requests(8 * MTU));
	rove_req_wqe(&many.q, 0)->fault = 0;
	CHECK(requests(8 * MTU));
	rove_req_error(&many.q);
	CHECK(!requests(8 * MTU));
}

TEST(not_taken)
{
	static u16 other[] = { 0x8002 };

	begin(ROVE_WR_WRITE, 60 * MTU);
	CHECK(requests(8 * MTU) && accepts());
	many.r.epsn = rove_psn_add(many.r.epsn, 1);
	CHECK(!accepts());
	many.r.epsn = s.psn;
	many.r.nak_owed = true;
	CHECK(!accepts());
	many.r.nak_owed = false;
	many.r.nak_sent = true;
	CHECK(!accepts());
	many.r.nak_sent = false;
	many.r.conf.pkeys.table = other;
	CHECK(!accepts());
	many.r.conf.pkeys.table = pkeys;
	many.r.conf.xrc = true;
	CHECK(!accepts());
	many.r.conf.xrc = false;
	many.r.pmtu_shift--;
	CHECK(!accepts());
	many.r.pmtu_shift++;
	many.r.open = ROVE_OPF_SEND;
	CHECK(!accepts());
	many.r.open = 0;
	CHECK(!accepts());
	many.r.open = ROVE_OPF_WRITE;
	/* One byte at least is left for the last packet. */
	many.r.dma_len = many.r.off + s.len;
	CHECK(!accepts());
	many.r.dma_len++;
	CHECK(accepts());
	rove_resp_error(&many.r);
	CHECK(!accepts());
}

TEST(receive_too_short)
{
	begin(ROVE_WR_SEND, 60 * MTU);
	CHECK(requests(8 * MTU) && accepts());
	many.r.rqe_len = 9 * MTU - 1;
	CHECK(!accepts());
	many.r.rqe_len = 9 * MTU;
	CHECK(accepts());
}

static bool answers(u32 max)
{
	DIRTY(&s);
	return rove_span_answer(&many.r, max, &s);
}

static bool expects(void)
{
	DIRTY(&place);
	return rove_span_expect(&many.q, &s, &place);
}

TEST(within_one_chunk)
{
	begin(ROVE_WR_READ, 20 * MTU);
	CHECK(request(&many));
	CHECK(!answers(64 * MTU));	/* FIRST */
	CHECK(answer(&many));
	CHECK(answers(64 * MTU) && expects());
	CHECK_EQ(s.num, 14);
	CHECK_EQ(place.off, MTU);
	rove_span_answered(&many.r, &s);
	rove_span_expected(&many.q, &s, now);
	CHECK(!answers(64 * MTU));	/* LAST */
	CHECK(answer(&many));
	CHECK_EQ(many.q.rd_atomic, 1);
	CHECK(!answers(64 * MTU));	/* FIRST of the next chunk */
	CHECK(answer(&many));
	CHECK(answers(64 * MTU) && expects());
	CHECK_EQ(s.num, 2);
}

TEST(not_expected)
{
	begin(ROVE_WR_READ, 32 * MTU);
	CHECK(!answers(64 * MTU));
	CHECK(answer(&many));
	CHECK(answers(8 * MTU) && expects());
	many.q.placing = true;
	CHECK(!expects());
	many.q.placing = false;
	s.psn = rove_psn_add(s.psn, 1);
	CHECK(!expects());
	s.psn = many.q.una;
	s.pkey = 0x8002;
	CHECK(!expects());
	s.pkey = 0xffff;
	s.len -= MTU;
	CHECK(!expects());
	/* A responder that says MIDDLE where a chunk ends. */
	CHECK(request(&many));
	s.num = 15;
	s.len = 15 * MTU;
	CHECK(!expects());
	s.num = 14;
	s.len = 14 * MTU;
	CHECK(expects());
	/* It was asked for again from the middle: FIRST has to come. */
	rove_req_wqe(&many.q, 0)->done = 0;
	CHECK(!expects());
	rove_req_wqe(&many.q, 0)->done = MTU;
	many.q.psn = many.q.una;
	CHECK(!expects());
	many.q.psn = many.q.max_psn;
	rove_req_wqe(&many.q, 0)->sqe.opcode = ROVE_WR_WRITE;
	CHECK(!expects());
}

TEST(what_is_a_span)
{
	struct rove_span t;
	u32 op, num = 0;

	for (op = 0; op < 256; op++) {
		struct rove_pkt pkt = { .opcode = op, .psn = 5, .len = MTU };

		num += rove_span_of(&pkt, &t);
	}
	CHECK_EQ(num, 3);
	CHECK(t.opcode == ROVE_OP_READ_RESP_MIDDLE && t.num == 1 && t.len == MTU && t.psn == 5);

	begin(ROVE_WR_WRITE, 5 * MTU);
	CHECK(requests(64 * MTU));
	s.ackreq = true;
	rove_span_cut(&s, 4);
	CHECK(s.num == 3 && s.len == 3 * MTU && s.ackreq);
	rove_span_cut(&s, 2);
	CHECK(s.num == 2 && s.len == 2 * MTU && !s.ackreq);
	rove_span_cut(&s, 0);
	CHECK(!s.num && !s.len);
}

TEST(nothing_asked_for)
{
	struct rove_swqe *w;

	begin(ROVE_WR_READ, 32 * MTU);
	CHECK(answer(&many));
	CHECK(answers(8 * MTU) && expects());
	/* What lies in the ring is no request. */
	setup();
	s.psn = many.q.una;
	w = rove_req_wqe(&many.q, 0);
	w->sqe.opcode = ROVE_WR_READ;
	w->length = 32 * MTU;
	w->done = MTU;
	CHECK(!expects());
}
