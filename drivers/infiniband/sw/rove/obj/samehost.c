// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester drives: whoever owns its half takes the peer's responder half too, gives
 * it the packets, and takes the answers back. A responder that has something to say at
 * another time (pages are there, a budget ran out) has the requester's tasklet come.
 *
 * The machines are those of the network, with its PSNs, windows and path MTU: a QP can go
 * from one to the other at any time, when addresses move. There are no headers, no ICRC,
 * and no stack; packet filters and captures see nothing of it.
 */
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <net/dst.h>
#include <net/xfrm.h>
#include "../ip/path.h"
#include "../ip/rxpkt.h"
#include "../mem/sge.h"
#include "../proto/span.h"
#include "../wire/opcode.h"
#include "batch.h"
#include "dev.h"
#include "half.h"
#include "keep.h"
#include "note.h"
#include "qp.h"
#include "requester.h"
#include "responder.h"
#include "run.h"
#include "samehost.h"
#include "stretch.h"

/* Bytes that are copied at once. */
#define SPAN_BYTES	SZ_256K

/* Payload that does not lie in one piece of memory is gathered here; BH off. */
struct bounce {
	u8 bytes[ROVE_MAX_PMTU];
};

static DEFINE_PER_CPU(struct bounce, bounces);

/* What one run has moved, in either direction. */
struct moved {
	u32 packets;
	u32 bytes;
	bool single;		/* several at once could not be moved */
};

static bool are_mates(const struct rove_qp *qp, const struct rove_qp *peer)
{
	if (peer->transport != qp->transport || peer->type == IB_QPT_UD || READ_ONCE(peer->dead))
		return false;
	/* Either end of XRC has one half. */
	if (rove_qp_is_xrc(qp) != rove_qp_is_xrc(peer) ||
	    (rove_qp_is_xrc(qp) && peer->type == qp->type))
		return false;
	if (!READ_ONCE(qp->dev->same_host) || !READ_ONCE(peer->dev->same_host))
		return false;
	return READ_ONCE(peer->path_set) && rove_path_meets(&qp->path, &peer->path);
}

struct rove_qp *rove_samehost_peer(struct rove_qp *qp)
{
	struct dst_entry *dst;
	struct rove_qp *peer;

	if (qp->limits.ud || !qp->path_set)
		return NULL;
	dst = rove_route_get(&qp->req_half.route, &qp->path);
	if (IS_ERR(dst) || !(dst->dev->flags & IFF_LOOPBACK) || dst_xfrm(dst))
		return NULL;
	peer = rove_qp_find(qp->req.conf.dqpn);
	return peer && are_mates(qp, peer) ? peer : NULL;
}

void rove_samehost_call(struct rove_qp *qp)
{
	struct rove_qp *peer;

	rcu_read_lock();
	peer = rove_qp_find(qp->resp.conf.dqpn);
	if (peer)
		rove_note_work(peer);
	rcu_read_unlock();
}

static void begin(struct rove_rxpkt *rx, const struct rove_seg *seg)
{
	rx->skb = NULL;
	rx->pkt = seg->pkt;
	rx->pkt.hlen = rove_opcode_info[seg->pkt.opcode].hlen;
	rx->total = rx->pkt.hlen + ALIGN(seg->pkt.len, 4) + ROVE_ICRC_LEN;
	rx->pieces = 0;
}

static void set_piece(struct rove_rxpkt *rx, const void *p, u32 len)
{
	rx->piece_of[0].p = p;
	rx->piece_of[0].len = len;
	rx->pieces = 1;
}

/*
 * The payload where it lies, if that is a region that the half keeps until it is let go.
 * False: it has to be gathered.
 */
static bool direct(struct rove_rxpkt *rx, struct rove_mr_view *view, struct rove_mr *mr, u64 va,
		   u32 len)
{
	rx->pieces = 0;
	if (mr == view->last)
		rx->pieces = rove_mr_pieces(mr, va, len, rx->piece_of, ARRAY_SIZE(rx->piece_of));
	rove_mr_leave(view, mr);
	return rx->pieces;
}

/* Where the payload of a request is. */
static enum rove_fault find_request(struct rove_qp *qp, const struct rove_seg *seg,
				    struct rove_rxpkt *rx)
{
	const struct rove_swqe *wqe = rove_req_wqe(&qp->req, seg->wqe);
	struct rove_mr_view *view = &qp->req_half.mrs;
	u8 *bounce = this_cpu_ptr(&bounces)->bytes;
	const struct rove_sge *sge = wqe->sge;
	enum rove_fault fault;
	struct rove_mr *mr;

	if (seg->source == ROVE_SEG_WQE && wqe->sqe.flags & ROVE_WR_INLINE) {
		set_piece(rx, wqe->data + seg->off, seg->pkt.len);
		return ROVE_FAULT_NONE;
	}
	if (seg->source == ROVE_SEG_WQE && seg->pkt.len && wqe->sqe.num == 1 &&
	    sge->lkey != ROVE_LKEY_NULL) {
		mr = rove_mr_use(view, sge->lkey, qp->pd, 0, 0, sge->addr + seg->off,
				 seg->pkt.len);
		if (!mr)
			return ROVE_FAULT_LOCAL_PROT;
		if (direct(rx, view, mr, sge->addr + seg->off, seg->pkt.len))
			return ROVE_FAULT_NONE;
	}
	fault = rove_requester_fill(qp, seg, bounce);
	set_piece(rx, bounce, seg->pkt.len);
	return fault;
}

/* The same for an answer; the data of a READ. */
static enum rove_fault find_answer(struct rove_qp *peer, const struct rove_seg *seg,
				   struct rove_rxpkt *rx)
{
	struct rove_mr_view *view = &peer->resp_half.mrs;
	u8 *bounce = this_cpu_ptr(&bounces)->bytes;
	enum rove_fault fault;
	struct rove_mr *mr;

	if (seg->source == ROVE_SEG_MR && seg->pkt.len && likely(!peer->xrcd)) {
		mr = rove_mr_use(view, seg->rkey, peer->remote_pd, peer->qpn,
				 IB_ACCESS_REMOTE_READ, seg->va, seg->pkt.len);
		if (!mr)
			return ROVE_FAULT_REQ_ACCESS;
		if (direct(rx, view, mr, seg->va, seg->pkt.len))
			return ROVE_FAULT_NONE;
	}
	fault = rove_responder_fill(peer, seg, bounce);
	set_piece(rx, bounce, seg->pkt.len);
	return fault;
}

static void add(struct moved *m, const struct rove_rxpkt *rx)
{
	m->packets++;
	m->bytes += rx->total;
}

static void add_span(struct moved *m, const struct rove_span *s)
{
	m->packets += s->num;
	m->bytes += s->num * (rove_opcode_info[s->opcode].hlen + ROVE_ICRC_LEN) + s->len;
}

static void count(struct rove_qp *from, struct rove_qp *to, const struct moved *m)
{
	struct rove_stats __percpu *stats = READ_ONCE(from->stats);

	if (!m->packets)
		return;
	rove_stat_add(stats, ROVE_STAT_TX_PACKETS, m->packets);
	rove_stat_add(stats, ROVE_STAT_TX_BYTES, m->bytes);
	stats = READ_ONCE(to->stats);
	rove_stat_add(stats, ROVE_STAT_RX_PACKETS, m->packets);
	rove_stat_add(stats, ROVE_STAT_RX_BYTES, m->bytes);
}

/* False: the peer takes no more now, and the packet is the next one again. */
static bool give_request(struct rove_qp *qp, struct rove_qp *peer, const struct rove_seg *seg,
			 struct moved *m, u64 now)
{
	struct rove_rxpkt rx __uninitialized;
	enum rove_fault fault;
	bool taken;

	begin(&rx, seg);
	fault = find_request(qp, seg, &rx);
	if (unlikely(fault)) {
		rove_req_seg_failed(&qp->req, seg, fault);
		return fault != ROVE_FAULT_PAGE;
	}
	trace_rove_packet_sent(qp->qpn, &seg->pkt);
	taken = rove_responder_packet(peer, &rx, now);
	if (likely(taken))
		add(m, &rx);
	else
		rove_req_seg_failed(&qp->req, seg, ROVE_FAULT_PAGE);
	return taken;
}

static bool give_answer(struct rove_qp *qp, struct rove_qp *peer, const struct rove_seg *seg,
			struct moved *m, u64 now)
{
	struct rove_rxpkt rx __uninitialized;
	enum rove_fault fault;
	bool taken;

	begin(&rx, seg);
	fault = find_answer(peer, seg, &rx);
	if (unlikely(fault)) {
		rove_resp_seg_failed(&peer->resp, seg, fault);
		return fault != ROVE_FAULT_PAGE;
	}
	trace_rove_packet_sent(peer->qpn, &seg->pkt);
	trace_rove_ack_sent(peer->qpn, &seg->pkt);
	taken = rove_requester_packet(qp, &rx, now);
	if (likely(taken))
		add(m, &rx);
	else
		rove_resp_seg_failed(&peer->resp, seg, ROVE_FAULT_PAGE);
	return taken;
}

static bool is_full(const struct moved *m)
{
	return m->bytes >= ROVE_BATCH_BYTES || m->packets >= ROVE_BATCH_PACKETS;
}

/* Several packets at once; false: there are none, or they go one by one. */
static bool give_span(struct rove_qp *qp, struct rove_qp *peer, struct moved *m, u64 now)
{
	struct rove_span s;

	if (m->single || !rove_span_request(&qp->req, SPAN_BYTES, &s))
		return false;
	m->single = !rove_stretch_request(qp, peer, &s, now);
	if (!m->single)
		add_span(m, &s);
	return !m->single;
}

static bool give_answer_span(struct rove_qp *qp, struct rove_qp *peer, struct moved *m, u64 now)
{
	struct rove_span s;

	if (m->single || !rove_span_answer(&peer->resp, SPAN_BYTES, &s))
		return false;
	m->single = !rove_stretch_answer(qp, peer, &s, now);
	if (!m->single)
		add_span(m, &s);
	return !m->single;
}

/* Requests until there is nothing to send, or the budget is used up (true). */
static bool give_requests(struct rove_qp *qp, struct rove_qp *peer, struct moved *m, u64 now)
{
	struct rove_seg seg __uninitialized;

	while (!is_full(m)) {
		if (give_span(qp, peer, m, now))
			continue;
		if (!rove_req_next(&qp->req, now, &seg))
			return false;
		if (unlikely(seg.source == ROVE_SEG_LOCAL)) {
			rove_requester_execute(qp, &seg);
			m->packets++;
		} else if (!give_request(qp, peer, &seg, m, now)) {
			return false;
		}
	}
	return true;
}

static bool give_answers(struct rove_qp *qp, struct rove_qp *peer, struct moved *m, u64 now)
{
	struct rove_seg seg __uninitialized;

	while (!is_full(m)) {
		if (give_answer_span(qp, peer, m, now))
			continue;
		if (!rove_resp_next(&peer->resp, &seg) || !give_answer(qp, peer, &seg, m, now))
			return false;
	}
	return true;
}

enum rove_samehost rove_samehost_run(struct rove_qp *qp, struct rove_qp *peer, u64 now)
{
	enum rove_samehost how = ROVE_SAMEHOST_DONE;
	struct moved requests = {}, answers = {};
	bool more;

	if (!rove_run_enter(&peer->resp_half))
		return ROVE_SAMEHOST_BUSY;
	if (unlikely(!are_mates(qp, peer))) {
		/* Not any more: over the network, then. */
		how = ROVE_SAMEHOST_MORE;
	} else if (unlikely(peer->resp_half.paused)) {
		set_bit(ROVE_WORK_PEER, &peer->resp_half.work);
		how = ROVE_SAMEHOST_BUSY;
	} else {
		peer->called = true;
		/* From here nothing is lost. */
		rove_keep_forget(peer);
		more = give_requests(qp, peer, &requests, now);
		more |= give_answers(qp, peer, &answers, now);
		/* Answers may have opened the window. */
		more |= answers.packets && rove_req_has_more(&qp->req);
		rove_responder_settle(peer, now);
		if (more)
			how = ROVE_SAMEHOST_MORE;
		if (unlikely(peer->resp_half.paused)) {
			set_bit(ROVE_WORK_PEER, &peer->resp_half.work);
			how = ROVE_SAMEHOST_BUSY;
		}
	}
	rove_run_leave(peer, &peer->resp_half);

	count(qp, peer, &requests);
	count(peer, qp, &answers);
	rove_req_handed_over(&qp->req, now);
	return how;
}
