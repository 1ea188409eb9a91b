// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "../mem/mr.h"
#include "../proto/span.h"
#include "../trace.h"
#include "qp.h"
#include "stretch.h"

/* A range of a region, as one end of a copy. */
struct stretch {
	struct rove_mr_view *view;
	struct rove_mr *mr;	/* NULL: not to be had */
	u64 va;
};

static void leave(const struct stretch *r)
{
	if (r->mr)
		rove_mr_leave(r->view, r->mr);
}

/* Byte @off on of a list of SGEs, if @len bytes lie in one of them. */
static void use_sge(struct stretch *r, const struct ib_pd *pd, const struct rove_sge *sge, u32 num,
		    u32 off, u32 len, int access)
{
	for (; num && off >= sge->length; num--, sge++)
		off -= sge->length;
	if (!num || len > sge->length - off || sge->lkey == ROVE_LKEY_NULL)
		return;
	r->va = sge->addr + off;
	r->mr = rove_mr_use(r->view, sge->lkey, pd, 0, access, r->va, len);
}

static bool copy(const struct stretch *to, const struct stretch *from, u32 len)
{
	return to->mr && from->mr && rove_mr_copy(to->mr, to->va, from->mr, from->va, len);
}

/* Who looks on wants to see packets. */
static bool is_watched(void)
{
	return trace_rove_packet_sent_enabled() || trace_rove_packet_received_enabled() ||
	       trace_rove_ack_sent_enabled() || trace_rove_ack_received_enabled();
}

bool rove_stretch_request(struct rove_qp *qp, struct rove_qp *peer, const struct rove_span *s,
			  u64 now)
{
	const struct rove_swqe *wqe = rove_req_wqe(&qp->req, s->wqe);
	struct stretch from = { .view = &qp->req_half.mrs };
	struct stretch to = { .view = &peer->resp_half.mrs };
	struct rove_resp_act act;
	bool copied;

	if (wqe->sqe.flags & ROVE_WR_INLINE || is_watched() ||
	    !rove_span_accept(&peer->resp, s, &act))
		return false;
	use_sge(&from, qp->pd, wqe->sge, wqe->sqe.num, s->off, s->len, 0);
	if (act.kind == ROVE_RESP_PLACE_RQE) {
		use_sge(&to, peer->recv_pd, peer->rwqe->sge, peer->rwqe->num, act.off, s->len,
			IB_ACCESS_LOCAL_WRITE);
	} else {
		to.va = act.va;
		to.mr = rove_mr_use(to.view, act.rkey, peer->remote_pd, peer->qpn,
				    IB_ACCESS_REMOTE_WRITE, act.va, act.check_len);
	}
	copied = copy(&to, &from, s->len);
	leave(&from);
	leave(&to);
	if (!copied)
		return false;
	rove_span_requested(&qp->req, s, now);
	rove_span_accepted(&peer->resp, s);
	return true;
}

bool rove_stretch_answer(struct rove_qp *qp, struct rove_qp *peer, const struct rove_span *s,
			 u64 now)
{
	struct stretch from = { .view = &peer->resp_half.mrs, .va = s->va };
	struct stretch to = { .view = &qp->req_half.mrs };
	const struct rove_swqe *wqe;
	struct rove_req_place place;
	bool copied;

	if (is_watched() || !rove_span_expect(&qp->req, s, &place))
		return false;
	wqe = rove_req_wqe(&qp->req, place.wqe);
	from.mr = rove_mr_use(from.view, s->rkey, peer->remote_pd, peer->qpn,
			      IB_ACCESS_REMOTE_READ, s->va, s->len);
	use_sge(&to, qp->pd, wqe->sge, wqe->sqe.num, place.off, s->len, IB_ACCESS_LOCAL_WRITE);
	copied = copy(&to, &from, s->len);
	leave(&from);
	leave(&to);
	if (!copied)
		return false;
	rove_span_answered(&peer->resp, s);
	rove_span_expected(&qp->req, s, now);
	return true;
}
