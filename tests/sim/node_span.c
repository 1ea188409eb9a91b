// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MIDDLE packets in one step: several at once between nodes on one host, as obj/stretch has
 * it in the kernel, or to be sent as a train, as obj/batch has it, and one by one where they
 * come.
 */
#include "sim.h"
#include "wire/psn.h"

/* Not always, and not as much as there could be. */
static u32 some_bytes(struct node *n)
{
	struct world *w = n->world;

	if (!n->calls || !sim_below(w, 4) || sim_chance(w, w->absent))
		return 0;
	return n->req.conf.pmtu << sim_below(w, 7);
}

/* The receive that the peer has in hand, as far as it reaches. */
static u8 *find_place(struct node *to, const struct rove_resp_act *act)
{
	u32 k = to->recv_taken;

	if (act->kind == ROVE_RESP_PLACE_MR)
		return node_find_mr(to, act->rkey, act->va, act->check_len, true);
	CHECK(k && k == to->recv_done + 1, "span into a receive that is not held");
	CHECK(act->off + act->len <= to->recv_len[k - 1], "span past the end of a receive");
	return to->recv_buf[k - 1] + act->off;
}

bool span_give_request(struct node *n)
{
	u32 max = some_bytes(n);
	const struct rove_swqe *w;
	struct rove_resp_act act;
	struct rove_span s;
	u8 *p;

	sim_dirty(&s);
	sim_dirty(&act);
	if (!max || !rove_span_request(&n->req, max, &s))
		return false;
	CHECK(s.num > 1 && s.len <= max && s.len == s.num * n->req.conf.pmtu, "span of %u", s.num);
	w = rove_req_wqe(&n->req, s.wqe);
	if (w->sqe.flags & ROVE_WR_INLINE || !rove_span_accept(&n->peer->resp, &s, &act))
		return false;
	p = find_place(n->peer, &act);
	if (!p || node_copy_sges(n, w, s.off, p, s.len, false))
		return false;
	trace(n, "> span op %02x psn %06x, %u packets", s.opcode, s.psn, s.num);
	rove_span_requested(&n->req, &s, n->world->now);
	rove_span_accepted(&n->peer->resp, &s);
	n->peer->turn_at = n->world->now;
	n->spans += s.num;
	node_check_req(n);
	return true;
}

bool span_give_answer(struct node *n)
{
	struct node *to = n->peer;
	struct rove_req_place place;
	u32 max = some_bytes(n);
	struct rove_span s;
	u8 *p;

	sim_dirty(&s);
	sim_dirty(&place);
	if (!max || !rove_span_answer(&n->resp, max, &s) ||
	    !rove_span_expect(&to->req, &s, &place))
		return false;
	p = node_find_mr(n, s.rkey, s.va, s.len, false);
	CHECK(p, "span from memory that was not checked");
	if (node_copy_sges(to, rove_req_wqe(&to->req, place.wqe), place.off, p, place.len, true))
		return false;
	trace(n, "> span op %02x psn %06x, %u packets", s.opcode, s.psn, s.num);
	rove_span_answered(&n->resp, &s);
	rove_span_expected(&to->req, &s, n->world->now);
	to->turn_at = n->world->now;
	n->spans += s.num;
	node_note_progress(to);
	node_check_req(to);
	return true;
}

/* Packets that the open train has room for. */
static u32 some_packets(struct node *n)
{
	return n->calls || !sim_below(n->world, 4) ? 0 : 1 + sim_below(n->world, 64);
}

/* The span's packets, as far as their payload is to be had: @fault. */
static u32 fill_span(struct node *n, const struct rove_span *s, struct rove_seg *segs,
		     u8 (*payloads)[ROVE_MAX_PMTU], enum rove_fault *fault)
{
	const u8 *p;
	u32 i;

	for (i = 0; i < s->num; i++) {
		if (!i)
			rove_span_seg(s, n->req.conf.dqpn, &segs[i]);
		else
			segs[i] = segs[i - 1];
		if (i) {
			segs[i].pkt.psn = rove_psn_add(segs[i].pkt.psn, 1);
			segs[i].off += segs[i].pkt.len;
			segs[i].va += segs[i].pkt.len;
		}
		segs[i].pkt.ackreq = s->ackreq && i == s->num - 1;
		if (node_absent(n)) {
			*fault = ROVE_FAULT_PAGE;
		} else if (segs[i].source == ROVE_SEG_MR) {
			p = node_find_mr(n, segs[i].rkey, segs[i].va, segs[i].pkt.len, false);
			CHECK(p, "span from memory that was not checked");
			memcpy(payloads[i], p, segs[i].pkt.len);
		} else {
			*fault = node_fill_request(n, &segs[i], payloads[i]);
		}
		if (*fault)
			break;
	}
	return i;
}

/* Return: the first packet that this host drops with all behind it, or @num. */
static u32 drop_at(struct node *n, u32 num)
{
	return sim_chance(n->world, n->out->local_drop) ? sim_below(n->world, num) : num;
}

bool span_send_request(struct node *n, enum rove_fault *fault)
{
	u8 (*payloads)[ROVE_MAX_PMTU];
	struct rove_seg segs[64];
	u32 num = some_packets(n), i;
	struct rove_span s;

	if (!num || !rove_span_request(&n->req, num * n->req.conf.pmtu, &s))
		return false;
	CHECK(s.num > 1 && s.num <= num && s.len == s.num * n->req.conf.pmtu, "span of %u", s.num);
	payloads = malloc(s.num * sizeof(*payloads));
	num = fill_span(n, &s, segs, payloads, fault);
	rove_span_cut(&s, num);
	if (num) {
		if (n->req.una == n->req.max_psn)
			n->progress_at = n->world->now;
		rove_span_requested(&n->req, &s, n->world->now);
		n->spans += num;
		num = drop_at(n, num);
	}
	for (i = 0; i < num; i++)
		wire_send(n, &segs[i], payloads[i]);
	if (num < s.num) {
		trace(n, "dropped here: psn %06x", segs[num].pkt.psn);
		rove_req_seg_dropped(&n->req, &segs[num], n->world->now);
	}
	free(payloads);
	node_check_req(n);
	/* A packet that cannot be filled is asked for, and fails. */
	return !*fault;
}

bool span_send_answer(struct node *n, enum rove_fault *fault)
{
	u8 (*payloads)[ROVE_MAX_PMTU];
	struct rove_seg segs[64];
	u32 num = some_packets(n), i;
	struct rove_span s;

	if (!num || !rove_span_answer(&n->resp, num * n->resp.conf.pmtu, &s))
		return false;
	payloads = malloc(s.num * sizeof(*payloads));
	num = fill_span(n, &s, segs, payloads, fault);
	rove_span_cut(&s, num);
	rove_span_answered(&n->resp, &s);
	n->spans += num;
	num = num ? drop_at(n, num) : 0;
	for (i = 0; i < num; i++)
		wire_send(n, &segs[i], payloads[i]);
	if (num < s.num) {
		trace(n, "dropped here: psn %06x", segs[num].pkt.psn);
		rove_resp_seg_dropped(&n->resp, &segs[num]);
	}
	free(payloads);
	return !*fault;
}

bool span_is_used(struct node *n, const struct rove_pkt *pkt, struct rove_span *s)
{
	return sim_below(n->world, 4) && rove_span_of(pkt, s);
}
