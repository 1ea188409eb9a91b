// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sequences of events for the requester and the responder: packets with any
 * fields, results that are wrong, time, posts, resets, in any order that the
 * driver's contract allows. What the machines hold and ask for must stay in
 * bounds, and each call must end.
 *
 * Input: 8 bytes of set-up, then events, one byte each and what they need.
 */
#include <string.h>

#include "fuzz.h"
#include "proto/req.h"
#include "proto/resp.h"
#include "proto/span.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define ENTRIES	8
#define MAX_RD	3
#define CHECKED	64

static const u16 pkey = 0xffff;

static struct {
	const u8 *p;
	size_t left;
} in;

static u8 byte(void)
{
	if (!in.left)
		return 0;
	in.left--;
	return *in.p++;
}

static u32 word(void)
{
	u32 v = byte();

	v |= byte() << 8;
	v |= byte() << 16;
	return v | (u32)byte() << 24;
}

/* Mostly near @near, now and then anything. */
static u32 psn_near(u32 near)
{
	u8 b = byte();

	return b == 0x80 ? word() & ROVE_PSN_MASK : rove_psn_add(near, (u32)(s8)b);
}

static u32 some_len(u32 pmtu)
{
	u8 b = byte();

	switch (b >> 6) {
	case 0:
		return b & 0x3f;
	case 1:
		return pmtu;
	case 2:
		return pmtu * (b & 0xf) + (b >> 4 & 3) - 1;
	default:
		return word();
	}
}

static struct rove_pkt some_packet(u8 opcode, u32 psn, u32 pmtu)
{
	struct rove_pkt pkt = { .opcode = opcode, .psn = psn, .pkey = 0xffff };
	u8 b = byte();

	pkt.ackreq = b & 1;
	pkt.se = b & 2;
	if (b & 4)
		pkt.pkey = word();
	pkt.len = some_len(pmtu);
	/* What rove_parse() lets through. */
	if (pkt.len > ROVE_MAX_PMTU)
		pkt.len &= ROVE_MAX_PMTU - 1;
	if (!(rove_opcode_info[opcode].flags & ROVE_OPF_PAYLOAD))
		pkt.len = 0;
	pkt.syndrome = b & 8 ? byte() : 0x1f;
	pkt.dma_len = b & 16 ? some_len(pmtu) : pkt.len;
	pkt.va = b & 32 ? (u64)word() << 32 | word() : 0x1000;
	pkt.rkey = b >> 6;
	pkt.msn = b;
	pkt.flush_type = pkt.syndrome & 15;
	pkt.flush_level = pkt.msn & 3;
	return pkt;
}

/* ---- requester ----------------------------------------------------------- */

static struct rove_req q;
static u8 slots[ENTRIES * sizeof(struct rove_swqe)];
static u32 chunk;
static u64 now;
static u32 next_id, reaped_id;

static void check_req(void)
{
	u32 i, rd = 0, from, to;
	u64 bytes = 0;

	FUZZ_CHECK(q.post - q.reaped <= ENTRIES);
	FUZZ_CHECK(q.acked - q.reaped <= ENTRIES && q.send - q.acked <= ENTRIES);
	FUZZ_CHECK(q.begun - q.send <= ENTRIES && q.post - q.begun <= ENTRIES);
	FUZZ_CHECK(!((q.una | q.psn | q.max_psn) & ~ROVE_PSN_MASK));
	FUZZ_CHECK(((q.psn - q.una) & ROVE_PSN_MASK) <= ((q.max_psn - q.una) & ROVE_PSN_MASK));
	FUZZ_CHECK(((q.max_psn - q.una) & ROVE_PSN_MASK) <= 1U << 22);
	if (q.state != ROVE_REQ_RUN && q.state != ROVE_REQ_DRAIN) {
		FUZZ_CHECK(!rove_req_deadline(&q));
		return;
	}
	if (q.conf.type == ROVE_QPT_UD) {
		FUZZ_CHECK(q.acked == q.send && !rove_req_deadline(&q));
		return;
	}
	for (i = q.acked; i != q.send + !!q.send_off; i++) {
		const struct rove_swqe *w = rove_req_wqe(&q, i);
		u64 off = i == q.acked ?
			(u64)((q.una - w->first_psn) & ROVE_PSN_MASK) * q.conf.pmtu : 0;

		from = min_t(u64, off, w->length);
		to = i == q.send ? q.send_off : w->length;
		FUZZ_CHECK(from <= to && to <= w->length);
		if (rove_wqe_is(w, ROVE_WQEP_LOCAL))
			FUZZ_CHECK(w->state == ROVE_SWQE_SENT && i != q.acked);
		else if (rove_wqe_is(w, ROVE_WQEP_DATA))
			bytes += to - from;
		else if (rove_wqe_is(w, ROVE_WQEP_READ) && to > from)
			rd += (to - 1) / chunk - from / chunk + 1;
		else if (to > from || !w->length)
			rd++;
	}
	FUZZ_CHECK(rd == q.rd_atomic && rd <= q.conf.max_rd_atomic);
	FUZZ_CHECK(bytes == q.send_bytes - q.una_bytes);
	FUZZ_CHECK(bytes <= q.conf.window || q.conf.type == ROVE_QPT_UC);
	/* UC: between calls all of it was handed over, or is to be tried again. */
	FUZZ_CHECK(q.una == q.max_psn || rove_req_deadline(&q) || q.conf.type == ROVE_QPT_UC);
}

static void post(void)
{
	struct rove_swqe *w = rove_req_slot(&q);
	u8 b = byte();

	if (!w)
		return;
	memset(w, 0, sizeof(*w));
	w->sqe.wr_id = next_id++;
	w->sqe.opcode = (b & 15) % ROVE_WR_OPS;
	/* What the QP cannot do was refused before. */
	if (q.conf.type == ROVE_QPT_UC &&
	    (w->sqe.opcode > ROVE_WR_WRITE_IMM || w->sqe.opcode == ROVE_WR_SEND_INV))
		w->sqe.opcode = ROVE_WR_SEND;
	w->sqe.flags = b >> 4 & (ROVE_WR_SIGNALED | ROVE_WR_SOLICITED | ROVE_WR_FENCE);
	w->sqe.rdma.addr = 0x1000;
	if (rove_wqe_is(w, ROVE_WQEP_ATOMIC) || w->sqe.opcode == ROVE_WR_ATOMIC_WRITE)
		w->length = 8;
	else if (!rove_wqe_is(w, ROVE_WQEP_LOCAL | ROVE_WQEP_PLACE))
		w->length = some_len(q.conf.pmtu) & 0x7fffffff;
	if (b == 0xff)
		w->fault = ROVE_FAULT_WQE;
	rove_req_post(&q);
}

static void check_seg(const struct rove_seg *seg)
{
	const struct rove_swqe *w = rove_req_wqe(&q, seg->wqe);
	u32 flags = rove_opcode_info[seg->pkt.opcode].flags;

	FUZZ_CHECK(seg->wqe - q.reaped < ENTRIES && seg->wqe - q.reaped < q.post - q.reaped);
	FUZZ_CHECK(flags & ROVE_OPF_REQUEST);
	FUZZ_CHECK(q.conf.type != ROVE_QPT_UC ||
		   ((seg->pkt.opcode & ROVE_TR_MASK) == ROVE_TR_UC && !seg->pkt.ackreq));
	FUZZ_CHECK(seg->pkt.len <= q.conf.pmtu);
	FUZZ_CHECK((seg->source == ROVE_SEG_WQE || seg->source == ROVE_SEG_VALUE) ==
		   !!seg->pkt.len);
	FUZZ_CHECK((u64)seg->off + seg->pkt.len <= w->length);
	if (seg->pkt.opcode == ROVE_OP_READ_REQ)
		FUZZ_CHECK(seg->pkt.va == 0x1000 + seg->off &&
			   (u64)seg->off + seg->pkt.dma_len <= w->length &&
			   seg->pkt.dma_len <= chunk);
}

/* Each is executed once, in its turn. */
static void execute(const struct rove_seg *seg, bool fails)
{
	const struct rove_swqe *w = rove_req_wqe(&q, seg->wqe);

	FUZZ_CHECK(rove_wqe_is(w, ROVE_WQEP_LOCAL) && w->state == ROVE_SWQE_POSTED);
	FUZZ_CHECK(seg->wqe == q.begun && q.begun != q.post && q.psn == q.max_psn);
	FUZZ_CHECK(w->sqe.opcode != ROVE_WR_LOCAL_INV || q.acked == q.send);
	rove_req_executed(&q, seg, fails ? ROVE_FAULT_MEMORY_OP : ROVE_FAULT_NONE);
}

static void send_some(void)
{
	u8 b = byte(), n = b & 15;
	struct rove_seg seg, old;
	bool have_old = false;

	while (n-- && rove_req_next(&q, now, &seg)) {
		if (seg.source == ROVE_SEG_LOCAL) {
			execute(&seg, b >> 4 == 3);
			check_req();
			continue;
		}
		check_seg(&seg);
		if (!have_old)
			old = seg;
		have_old = true;
		check_req();
		if (n)
			continue;
		if (b >> 4 == 1)
			rove_req_seg_failed(&q, &seg, byte() % ROVE_FAULTS);
		else if (b >> 4 == 2)
			rove_req_seg_dropped(&q, &old, now);
	}
	rove_req_handed_over(&q, now);
	FUZZ_CHECK(q.conf.type != ROVE_QPT_UC ||
		   (q.state != ROVE_REQ_RUN && q.state != ROVE_REQ_DRAIN) ||
		   (q.una == q.psn && q.max_psn == q.psn));
}

static void response(void)
{
	static const u8 ops[] = {
		ROVE_OP_ACK, ROVE_OP_ACK, ROVE_OP_ACK, ROVE_OP_READ_RESP_FIRST,
		ROVE_OP_READ_RESP_MIDDLE, ROVE_OP_READ_RESP_LAST, ROVE_OP_READ_RESP_ONLY,
		ROVE_OP_ATOMIC_ACK,
	};
	u8 b = byte();
	struct rove_pkt pkt;
	struct rove_req_place place = {};
	const struct rove_swqe *w;

	pkt = some_packet(b & 0x80 ? byte() : ops[b & 7],
			  psn_near(b & 0x40 ? q.una : q.max_psn), q.conf.pmtu);
	switch (rove_req_packet(&q, &pkt, now, &place)) {
	case ROVE_REQ_DROP:
		FUZZ_CHECK(place.drop && place.drop < ROVE_DROP_REASONS);
		break;
	case ROVE_REQ_DONE:
		break;
	case ROVE_REQ_PLACE:
	case ROVE_REQ_PLACE_VALUE:
		FUZZ_CHECK(place.wqe == q.acked && q.acked != q.begun);
		w = rove_req_wqe(&q, place.wqe);
		FUZZ_CHECK(rove_wqe_is(w, ROVE_WQEP_SCATTER));
		FUZZ_CHECK((u64)place.off + place.len <= w->length);
		b = byte();
		rove_req_placed(&q, b == 1 ? ROVE_FAULT_LOCAL_PROT :
				    b == 2 ? ROVE_FAULT_PAGE : ROVE_FAULT_NONE, now);
		break;
	}
}

static void reap(void)
{
	struct rove_req_comp comp;
	u32 n = 0;

	while (rove_req_reap(&q, &comp)) {
		FUZZ_CHECK(comp.wqe->sqe.wr_id == reaped_id++);
		FUZZ_CHECK(comp.fault < ROVE_FAULTS);
		FUZZ_CHECK(comp.report || !comp.fault);
		FUZZ_CHECK(n++ < ENTRIES);
	}
}

static u8 some_type(u8 a)
{
	a &= 0xf;
	return a == 0xf ? ROVE_QPT_UD : a > 0xb ? ROVE_QPT_UC : ROVE_QPT_RC;
}

static void start_req(void)
{
	static const u32 mtus[] = { 256, 512, 1024, 4096 };
	u8 a = byte(), b = byte();

	memset(&q, 0xa5, sizeof(q));
	rove_req_init(&q, slots, ENTRIES, sizeof(struct rove_swqe));
	q.conf.type = some_type(a);
	q.conf.timeout = q.conf.type == ROVE_QPT_UC ? 0 : 1 + (a & 3);
	q.conf.retry_cnt = a >> 5;
	q.conf.rnr_retry = a >> 5;
	q.conf.pkeys = (struct rove_pkeys){ &pkey, 1 };
	q.conf.pmtu = mtus[a >> 3 & 3];
	q.conf.max_rd_atomic = b & 3;
	q.conf.window = q.conf.pmtu << (b >> 2 & 3);
	chunk = q.conf.pmtu << (b >> 4 & 3);
	q.conf.read_chunk = chunk;
	rove_req_set_psn(&q, 0 - (b >> 6) * 7);
	rove_req_start(&q);
	next_id = 0;
	reaped_id = 0;
}

static void change_state(void)
{
	switch (byte() % 6) {
	case 0:
		rove_req_drain(&q);
		break;
	case 1:
		if (q.state != ROVE_REQ_BROKEN &&
		    (q.state != ROVE_REQ_ERROR || rove_req_idle(&q)))
			rove_req_start(&q);
		break;
	case 2:
		rove_req_error(&q);
		break;
	case 3:
		rove_req_reset(&q);
		reaped_id = next_id;
		break;
	case 4:
		rove_req_take_events(&q);
		break;
	default:
		if (q.state == ROVE_REQ_BROKEN)
			rove_req_error(&q);
	}
}

/* ---- responder ----------------------------------------------------------- */

static struct rove_resp r;
static struct rove_resp_saved saved[MAX_RD];
static struct rove_pkt kept[8];
static u32 kept_num;
static bool rqe_held;
static u32 rqe_len;
static struct {
	u64 va;
	u32 rkey, len;
} checked[CHECKED];
static u32 checked_num;

static bool was_checked(u64 va, u32 rkey, u32 len)
{
	u32 i;

	for (i = 0; i < CHECKED; i++)
		if (checked[i].rkey == rkey && va - checked[i].va <= checked[i].len &&
		    va - checked[i].va + len <= checked[i].len)
			return true;
	return checked_num > CHECKED;	/* forgotten, perhaps */
}

/* One act; its result, mostly a good one. */
static void do_act(const struct rove_pkt *pkt, const struct rove_resp_act *act,
		   struct rove_resp_result *res)
{
	u8 b = byte();

	memset(res, 0, sizeof(*res));
	if (b < 16)
		res->fault = b;
	switch (act->kind) {
	case ROVE_RESP_GET_RQE:
		FUZZ_CHECK(!rqe_held);
		res->empty = b & 0x10;
		res->len = b & 0x20 ? some_len(1024) : ROVE_MAX_MSG;
		/* That one says that there was no queue to take it from. */
		rqe_held = res->fault ? res->fault != ROVE_FAULT_REQ_INVALID : !res->empty;
		rqe_len = res->len;
		break;
	case ROVE_RESP_PLACE_RQE:
		FUZZ_CHECK(rqe_held && act->len == pkt->len);
		FUZZ_CHECK((u64)act->off + act->len <= rqe_len);
		break;
	case ROVE_RESP_PLACE_MR:
		FUZZ_CHECK(act->len == pkt->len && act->len <= act->check_len);
		break;
	case ROVE_RESP_CHECK_READ:
		FUZZ_CHECK(act->check_len);
		if (!res->fault) {
			u32 i = checked_num++ % CHECKED;

			checked[i].va = act->va;
			checked[i].rkey = act->rkey;
			checked[i].len = act->check_len;
		}
		break;
	case ROVE_RESP_ATOMIC:
		FUZZ_CHECK(act->op == ROVE_OP_CMP_SWP || act->op == ROVE_OP_FETCH_ADD);
		break;
	case ROVE_RESP_ATOMIC_WRITE:
		FUZZ_CHECK(act->len == 8 && pkt->len == 8 && !(act->va & 7));
		break;
	case ROVE_RESP_FLUSH:
		FUZZ_CHECK(pkt->flush_type == 1);
		break;
	default:
		FUZZ_CHECK(act->kind == ROVE_RESP_INVALIDATE && rqe_held);
	}
}

static void reap_resp(void)
{
	struct rove_resp_comp comp;

	if (!rove_resp_reap(&r, &comp))
		return;
	FUZZ_CHECK(rqe_held && comp.fault < ROVE_FAULTS);
	FUZZ_CHECK(comp.fault || comp.recv == ROVE_RECV_WRITE_IMM || comp.byte_len <= rqe_len);
	rqe_held = false;
	FUZZ_CHECK(!rove_resp_reap(&r, &comp));
}

/* Return: true when it came too early. */
static bool give(const struct rove_pkt *pkt)
{
	struct rove_resp_result res;
	struct rove_resp_act act;
	u32 acts = 0, again = 0;

	do {
		rove_resp_packet(&r, pkt, &act);
		while (act.kind > ROVE_RESP_LATER) {
			FUZZ_CHECK(acts++ < 16);
			do_act(pkt, &act, &res);
			rove_resp_result(&r, &res, &act);
		}
	} while (act.kind == ROVE_RESP_LATER && again++ < 3);
	FUZZ_CHECK(act.kind != ROVE_RESP_DROP || (act.drop && act.drop < ROVE_DROP_REASONS));
	reap_resp();
	return act.kind == ROVE_RESP_KEEP;
}

/* In any order, and some twice. */
static void give_kept(void)
{
	struct rove_pkt pkt;
	s32 early;

	while (kept_num) {
		pkt = kept[kept_num - 1];
		early = rove_resp_kept(&r, pkt.psn);
		FUZZ_CHECK(early < 0 || r.state == ROVE_RESP_RUN);
		FUZZ_CHECK(early <= 0 || r.nak_sent);
		if (early > 0)
			break;
		kept_num--;
		FUZZ_CHECK(early || !give(&pkt));
	}
}

static void request(void)
{
	struct rove_pkt pkt;
	u8 b = byte();

	pkt = some_packet(b & 0x80 ? byte() : b & 0x1f, b & 0x40 ? psn_near(r.epsn) : r.epsn,
			  r.conf.pmtu);
	if (r.conf.type == ROVE_QPT_UD)
		pkt.opcode |= ROVE_TR_UD;
	else if (r.conf.type == ROVE_QPT_UC)
		pkt.opcode |= ROVE_TR_UC;
	if (!rove_opcode_info[pkt.opcode].flags)
		return;
	if (give(&pkt)) {
		FUZZ_CHECK(r.conf.keep && r.conf.type == ROVE_QPT_RC);
		if (kept_num < ARRAY_SIZE(kept))
			kept[kept_num++] = pkt;
	}
	give_kept();
}

static void answer(void)
{
	struct rove_seg seg, old;
	bool have_old = false;
	u8 b = byte(), n = b & 0xf;

	while (n-- && rove_resp_next(&r, &seg)) {
		FUZZ_CHECK(rove_opcode_info[seg.pkt.opcode].flags & ROVE_OPF_RESPONSE);
		FUZZ_CHECK(seg.pkt.len <= r.conf.pmtu);
		FUZZ_CHECK((seg.source == ROVE_SEG_MR) == !!seg.pkt.len);
		if (seg.pkt.len)
			FUZZ_CHECK(was_checked(seg.va, seg.rkey, seg.pkt.len));
		if (!have_old)
			old = seg;
		have_old = true;
		if (n)
			continue;
		if (b >> 4 == 1)
			rove_resp_seg_failed(&r, &seg, byte() % ROVE_FAULTS);
		else if (b >> 4 == 2)
			rove_resp_seg_dropped(&r, &old);
	}
}

static void check_resp(void)
{
	u32 i, pending = 0;

	for (i = 0; i < r.saved_num; i++)
		pending += saved[i].pending;
	FUZZ_CHECK(pending == r.saved_pending);
	FUZZ_CHECK(!pending || saved[r.saved_serve].pending);
	FUZZ_CHECK(r.saved_head < MAX_RD && !(r.epsn & ~ROVE_PSN_MASK));
	FUZZ_CHECK(r.off <= ROVE_MAX_MSG);
	FUZZ_CHECK(r.state != ROVE_RESP_RUN || r.rqe_held == rqe_held);
}

static void start_resp(void)
{
	u8 a = byte(), b = byte();

	memset(&r, 0xa5, sizeof(r));
	rove_resp_init(&r);
	r.conf.type = some_type(a);
	r.conf.remote_read = r.conf.remote_write = r.conf.remote_atomic = a != 0x11;
	r.conf.flush_types = 1;
	r.conf.keep = a & 8 ? 16 : 0;
	kept_num = 0;
	r.conf.pkeys = (struct rove_pkeys){ &pkey, 1 };
	r.conf.pmtu = 256 << (a >> 5 & 3);
	rove_resp_set_saved(&r, saved, b % (MAX_RD + 1));
	rove_resp_set_psn(&r, 0 - (b >> 4));
	rove_resp_start(&r);
	rqe_held = false;
	memset(checked, 0, sizeof(checked));
	checked_num = 0;
}

static void change_resp_state(void)
{
	u8 b = byte();

	if (b & 1) {
		rove_resp_error(&r);
		reap_resp();
		FUZZ_CHECK(!rqe_held);
	} else if (b & 2) {
		rove_resp_reset(&r);
		rqe_held = false;
		kept_num = 0;
		rove_resp_start(&r);
	}
	rove_resp_take_events(&r);
}

/* ---- several packets at once ------------------------------------------------ */

static void span_sent(u8 b)
{
	const struct rove_swqe *w = rove_req_wqe(&q, q.send);
	struct rove_span s;

	if (!rove_span_request(&q, q.conf.pmtu * (b & 31), &s))
		return;
	FUZZ_CHECK(s.num > 1 && s.num <= (b & 31) && s.len == s.num * q.conf.pmtu);
	FUZZ_CHECK(rove_wqe_is(w, ROVE_WQEP_DATA) && s.off && (u64)s.off + s.len < w->length);
	rove_span_requested(&q, &s, now);
}

static void span_taken(u8 b)
{
	struct rove_span s = {
		.opcode = b & 32 ? ROVE_OP_WRITE_MIDDLE : ROVE_OP_SEND_MIDDLE,
		.ackreq = b & 16, .pkey = 0xffff, .num = b & 15,
	};
	struct rove_resp_act act;

	s.psn = psn_near(r.epsn);
	s.len = s.num * r.conf.pmtu;
	if (!rove_span_accept(&r, &s, &act))
		return;
	FUZZ_CHECK(act.len == s.len && act.len <= act.check_len && act.off == r.off);
	if (act.kind == ROVE_RESP_PLACE_RQE)
		FUZZ_CHECK(rqe_held && (u64)act.off + act.len <= rqe_len);
	else
		FUZZ_CHECK(act.kind == ROVE_RESP_PLACE_MR &&
			   (u64)act.off + act.len < r.dma_len);
	rove_span_accepted(&r, &s);
}

static void span_answered(u8 b)
{
	struct rove_span s;

	if (!rove_span_answer(&r, r.conf.pmtu * (b & 31), &s))
		return;
	FUZZ_CHECK(s.num > 1 && s.num <= (b & 31) && was_checked(s.va, s.rkey, s.len));
	rove_span_answered(&r, &s);
}

static void span_placed(u8 b)
{
	struct rove_span s = {
		.opcode = ROVE_OP_READ_RESP_MIDDLE, .pkey = 0xffff, .num = b & 15,
	};
	struct rove_req_place place;
	const struct rove_swqe *w;

	s.psn = psn_near(q.una);
	s.len = s.num * q.conf.pmtu;
	if (!rove_span_expect(&q, &s, &place))
		return;
	w = rove_req_wqe(&q, place.wqe);
	FUZZ_CHECK(place.wqe == q.acked && q.acked != q.begun && rove_wqe_is(w, ROVE_WQEP_READ));
	FUZZ_CHECK(place.len == s.len && (u64)place.off + place.len < w->length);
	rove_span_expected(&q, &s, now);
}

static void span(void)
{
	u8 b = byte();

	switch (b >> 6) {
	case 0:
		span_sent(b);
		break;
	case 1:
		span_taken(b);
		break;
	case 2:
		span_answered(b);
		break;
	default:
		span_placed(b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in.p = data;
	in.left = size;
	now = 1000;
	memset(saved, 0, sizeof(saved));
	start_req();
	start_resp();
	while (in.left) {
		u8 b = byte();

		switch (b & 7) {
		case 0:
			post();
			break;
		case 1:
			send_some();
			break;
		case 2:
			response();
			break;
		case 3:
			if (b & 8)
				reap();
			else if (b & 0x80 && rove_req_deadline(&q))
				now = max(now, rove_req_deadline(&q));
			else
				now += (u64)(b >> 4) << (b >> 3);
			rove_req_timer(&q, now);
			break;
		case 4:
			if (b & 0x80)
				change_state();
			else if (b & 0x40)
				change_resp_state();
			else
				span();
			break;
		case 5:
		case 6:
			request();
			break;
		default:
			answer();
		}
		check_req();
		check_resp();
	}
	return 0;
}
