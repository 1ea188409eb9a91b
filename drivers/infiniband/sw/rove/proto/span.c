// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "../wire/opcode.h"
#include "../wire/psn.h"
#include "retry.h"
#include "span.h"

/* PSNs in flight after which it goes on packet by packet: far below what proto/req allows. */
#define FLIGHT_MAX	0x200000U

void rove_span_seg(const struct rove_span *s, u32 dqpn, struct rove_seg *seg)
{
	bool answer = s->opcode == ROVE_OP_READ_RESP_MIDDLE;

	*seg = (struct rove_seg){
		.pkt = {
			.opcode = s->opcode,
			.migreq = true,
			.pkey = s->pkey,
			.dqpn = dqpn,
			.psn = s->psn,
			.len = s->len / s->num,
		},
		.source = answer ? ROVE_SEG_MR : ROVE_SEG_WQE,
	};
	if (answer) {
		seg->rkey = s->rkey;
		seg->va = s->va;
	} else {
		seg->wqe = s->wqe;
		seg->off = s->off;
	}
}

void rove_span_cut(struct rove_span *s, u32 num)
{
	if (num >= s->num)
		return;
	s->len = s->len / s->num * num;
	s->num = num;
	s->ackreq = false;
}

bool rove_span_of(const struct rove_pkt *pkt, struct rove_span *s)
{
	if (pkt->opcode != ROVE_OP_WRITE_MIDDLE && pkt->opcode != ROVE_OP_SEND_MIDDLE &&
	    pkt->opcode != ROVE_OP_READ_RESP_MIDDLE)
		return false;
	s->opcode = pkt->opcode;
	s->ackreq = pkt->ackreq;
	s->pkey = pkt->pkey;
	s->psn = pkt->psn;
	s->num = 1;
	s->len = pkt->len;
	return true;
}

/* Nothing is sent again, or waits: what is sent next is new. */
static bool is_plain_req(const struct rove_req *q)
{
	return (q->state == ROVE_REQ_RUN || q->state == ROVE_REQ_DRAIN) && !q->hold &&
	       q->psn == q->max_psn && q->conf.type == ROVE_QPT_RC && !q->conf.xrc;
}

static bool is_plain_resp(const struct rove_resp *r)
{
	return r->state == ROVE_RESP_RUN && r->conf.type == ROVE_QPT_RC && !r->conf.xrc;
}

/* Packets that the window takes; the first of all in flight it always does. */
static u32 window_room(const struct rove_req *q)
{
	u32 inflight = q->send_bytes - q->una_bytes, window = rove_retry_window(q);

	return inflight < window ? (window - inflight) >> q->pmtu_shift : 0;
}

/* Packets up to the one that asks for an ACK. */
static u32 until_asked(const struct rove_req *q)
{
	u32 quarter = rove_retry_window(q) / 4;
	u32 n = q->unasked < quarter ? (quarter - q->unasked) >> q->pmtu_shift : 0;

	return max(n, 1U);
}

bool rove_span_request(const struct rove_req *q, u32 max, struct rove_span *s)
{
	const struct rove_swqe *w = rove_req_wqe(q, q->send);
	u32 n, asked;

	/* The first packet went by itself, and so will the last one. */
	if (!q->send_off || !is_plain_req(q) || !rove_wqe_is(w, ROVE_WQEP_DATA) || w->fault ||
	    rove_retry_span(q->una, q->psn) >= FLIGHT_MAX)
		return false;
	asked = until_asked(q);
	n = min((w->length - q->send_off - 1) >> q->pmtu_shift, max >> q->pmtu_shift);
	n = min(min(n, asked), window_room(q));
	if (n < 2)
		return false;
	s->opcode = rove_wqe_is(w, ROVE_WQEP_WRITE) ? ROVE_OP_WRITE_MIDDLE : ROVE_OP_SEND_MIDDLE;
	s->ackreq = n == asked;
	s->pkey = rove_pkey_get(&q->conf.pkeys, 0);
	s->psn = q->psn;
	s->num = n;
	s->len = n << q->pmtu_shift;
	s->wqe = q->send;
	s->off = q->send_off;
	return true;
}

void rove_span_requested(struct rove_req *q, const struct rove_span *s, u64 now)
{
	q->unasked = s->ackreq ? 0 : q->unasked + s->len;
	q->send_bytes += s->len;
	q->send_off += s->len;
	q->psn = rove_psn_add(q->psn, s->num);
	q->max_psn = q->psn;
	if (!q->timing)
		rove_retry_run_clock(q, now);
}

bool rove_span_accept(const struct rove_resp *r, const struct rove_span *s,
		      struct rove_resp_act *act)
{
	bool write = s->opcode == ROVE_OP_WRITE_MIDDLE;

	if (!is_plain_resp(r) || s->psn != r->epsn || r->nak_owed || r->nak_sent ||
	    s->len != s->num << r->pmtu_shift || rove_pkey_find(&r->conf.pkeys, s->pkey) < 0 ||
	    r->open != (write ? ROVE_OPF_WRITE : ROVE_OPF_SEND))
		return false;
	act->off = r->off;
	act->len = s->len;
	act->check_len = s->len;
	if (!write) {
		act->kind = ROVE_RESP_PLACE_RQE;
		return s->len <= r->rqe_len - r->off;
	}
	act->kind = ROVE_RESP_PLACE_MR;
	act->rkey = r->rkey;
	act->va = r->va + r->off;
	return s->len < r->dma_len - r->off;
}

void rove_span_accepted(struct rove_resp *r, const struct rove_span *s)
{
	r->off += s->len;
	r->epsn = rove_psn_add(r->epsn, s->num);
	if (s->ackreq)
		r->ack_owed = true;
}

bool rove_span_answer(const struct rove_resp *r, u32 max, struct rove_span *s)
{
	const struct rove_resp_saved *saved;
	u32 off, n;

	if (!r->saved_pending || !is_plain_resp(r))
		return false;
	saved = &r->saved[r->saved_serve];
	/* Nothing but a READ has more than one. */
	if (saved->cur_psn == saved->start_psn)
		return false;
	n = min(rove_retry_span(saved->cur_psn, saved->end_psn), max >> r->pmtu_shift);
	if (n < 2)
		return false;
	off = rove_retry_span(saved->first_psn, saved->cur_psn) << r->pmtu_shift;
	s->opcode = ROVE_OP_READ_RESP_MIDDLE;
	s->ackreq = false;
	s->pkey = rove_pkey_get(&r->conf.pkeys, 0);
	s->psn = saved->cur_psn;
	s->num = n;
	s->len = n << r->pmtu_shift;
	s->rkey = saved->rkey;
	s->va = saved->va + off;
	return true;
}

void rove_span_answered(struct rove_resp *r, const struct rove_span *s)
{
	struct rove_resp_saved *saved = &r->saved[r->saved_serve];

	saved->cur_psn = rove_psn_add(saved->cur_psn, s->num);
}

bool rove_span_expect(const struct rove_req *q, const struct rove_span *s,
		      struct rove_req_place *place)
{
	const struct rove_swqe *w = rove_req_wqe(q, q->acked);
	u32 chunk = 1U << q->chunk_shift, in_chunk;

	if (!is_plain_req(q) || q->placing || s->psn != q->una ||
	    s->num >= rove_retry_span(q->una, q->max_psn) ||
	    s->len != s->num << q->pmtu_shift || rove_pkey_find(&q->conf.pkeys, s->pkey) < 0 ||
	    !rove_wqe_is(w, ROVE_WQEP_READ) || w->fault)
		return false;
	/* The first one of a chunk says FIRST, the last one LAST. */
	in_chunk = w->done & (chunk - 1);
	if (!in_chunk || s->len >= min(chunk - in_chunk, w->length - w->done))
		return false;
	place->wqe = q->acked;
	place->off = w->done;
	place->len = s->len;
	return true;
}

void rove_span_expected(struct rove_req *q, const struct rove_span *s, u64 now)
{
	u32 old = q->una;

	rove_req_wqe(q, q->acked)->done += s->len;
	q->una = rove_psn_add(old, s->num);
	q->read_less -= min(q->read_less, s->len);
	rove_retry_progress(q, old, now);
}
