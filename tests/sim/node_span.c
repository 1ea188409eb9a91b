// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Several packets at once between nodes on one host, as obj/stretch has it in the kernel. */
#include "proto/span.h"
#include "sim.h"

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
