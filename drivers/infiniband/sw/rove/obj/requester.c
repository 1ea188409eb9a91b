// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester half at work: posted WQEs to packets, answers to memory, completions.
 * It carries out what proto/req decides; called by the owner of the half, BH off.
 */
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include "../ip/rxpkt.h"
#include "../mem/memwr.h"
#include "../mem/sge.h"
#include "../wire/opcode.h"
#include "absent.h"
#include "ah.h"
#include "batch.h"
#include "cq.h"
#include "half.h"
#include "note.h"
#include "requester.h"
#include "responder.h"
#include "round.h"
#include "run.h"
#include "samehost.h"

/* After this no packet waits in the queues of a CPU, ns. */
#define TX_SETTLED_NS	(100 * NSEC_PER_MSEC)
/* The same for datagrams, which promise no order, but had better be in it. */
#define UD_SETTLED_NS	(5 * NSEC_PER_MSEC)
/*
 * RNR delays may be shorter than what it takes to try again. Whoever is to post a receive
 * gets so much of the CPU between two attempts, ns.
 */
#define TIMER_MIN_NS	(30 * NSEC_PER_USEC)
/* A peer on this host that was busy is asked again, ns. */
#define PEER_BUSY_NS	(10 * NSEC_PER_MSEC)

/* What it sends is answered: RC, and the initiator of XRC. */
static bool is_reliable(const struct rove_qp *qp)
{
	return qp->type == IB_QPT_RC || rove_qp_is_xrc(qp);
}

enum rove_fault rove_requester_fill(struct rove_qp *qp, const struct rove_seg *seg, u8 *payload)
{
	const struct rove_swqe *wqe = rove_req_wqe(&qp->req, seg->wqe);
	struct rove_absent absent __uninitialized;
	enum rove_fault fault;

	if (seg->source == ROVE_SEG_NONE) {
		if (!rove_wqe_is(wqe, ROVE_WQEP_SCATTER))
			return ROVE_FAULT_NONE;
		/* Better now than when the answer is there. */
		return rove_sge_check(&qp->dev->mrs, qp->pd, wqe->sge, wqe->sqe.num,
				      IB_ACCESS_LOCAL_WRITE);
	}
	if (unlikely(seg->source == ROVE_SEG_VALUE)) {
		memcpy(payload, &wqe->sqe.atomic.compare_add, seg->pkt.len);
		return ROVE_FAULT_NONE;
	}
	if (wqe->sqe.flags & ROVE_WR_INLINE) {
		memcpy(payload, wqe->data + seg->off, seg->pkt.len);
		return ROVE_FAULT_NONE;
	}
	fault = rove_sge_gather(&qp->req_half.mrs, qp->pd, wqe->sge, wqe->sqe.num, seg->off,
				payload, seg->pkt.len, &absent);
	if (unlikely(fault == ROVE_FAULT_PAGE))
		return rove_absent_pause(&qp->req_half, &absent, ROVE_FAULT_LOCAL_PROT);
	return fault;
}

/* Copies what is posted, as far as there is room. */
static void req_take_posted(struct rove_qp *qp)
{
	struct rove_swqe *wqe;
	u32 n;

	for (n = rove_ring_pending(&qp->sq); n; n--) {
		wqe = rove_req_slot(&qp->req);
		if (unlikely(!wqe) && rove_qp_grow(qp))
			wqe = rove_req_slot(&qp->req);
		if (!wqe)
			break;
		rove_wqe_read_send(wqe, rove_ring_slot(&qp->sq, qp->sq.head), &qp->limits);
		if (qp->sig_all)
			wqe->sqe.flags |= ROVE_WR_SIGNALED;
		trace_rove_wqe_taken(qp->qpn, qp->sq.head, wqe);
		rove_ring_release(&qp->sq);
		rove_req_post(&qp->req);
	}
}

/* The datagrams of a batch that go to one destination, one behind the other. */
struct ud_batch {
	struct rove_ah *ah;		/* NULL: none */
	struct rove_route route;
	struct rove_batch b;
};

static void ud_end(struct rove_qp *qp, struct ud_batch *u)
{
	if (!u->ah)
		return;
	rove_batch_flush(qp, &u->b);	/* a lost datagram is a sent one */
	rove_ah_give_route(u->ah, &u->route);
	rove_ah_put(u->ah);
	u->ah = NULL;
}

static bool ud_begin(struct rove_qp *qp, struct ud_batch *u, u32 handle)
{
	if (u->ah && u->ah->handle == handle)
		return true;
	ud_end(qp, u);
	u->ah = rove_ah_find(qp->dev, handle, qp->pd);
	if (!u->ah)
		return false;
	rove_ah_take_route(u->ah, &u->route);
	rove_batch_to(qp, &u->b, &u->ah->path, &u->route);
	u->b.train.cpu = qp->tx_cpu;
	return true;
}

/* Return: true when the budget ran out first. */
static bool req_send_ud(struct rove_qp *qp, u64 now)
{
	const struct rove_seg *lost;
	struct rove_seg seg __uninitialized;
	struct ud_batch u __uninitialized;
	bool more = true;
	int ret;
	u32 n;

	u.ah = NULL;
	rove_batch_begin(&u.b);
	for (n = 0; n < ROVE_BATCH_PACKETS && !rove_batch_full(&u.b); n++) {
		if (!rove_req_next(&qp->req, now, &seg)) {
			more = false;
			break;
		}
		if (!ud_begin(qp, &u, rove_req_wqe(&qp->req, seg.wqe)->sqe.ud.ah)) {
			rove_req_seg_failed(&qp->req, &seg, ROVE_FAULT_WQE);
			continue;
		}
		ret = rove_batch_add(qp, &u.b, &seg, rove_requester_fill, &lost);
		if (ret > 0)
			rove_req_seg_failed(&qp->req, &seg, ret);
		if (unlikely(ret == ROVE_FAULT_PAGE)) {
			more = false;
			break;
		}
	}
	ud_end(qp, &u);
	return more;
}

static void req_arm_timer(struct rove_qp *qp, u64 deadline, u64 now)
{
	/* Armed early is fine: it looks, and is armed again. */
	if (!deadline || (qp->timer_armed && qp->timer_armed <= deadline) || qp->dead)
		return;
	if (unlikely(deadline < now + TIMER_MIN_NS))
		deadline = max(deadline, ktime_get_ns() + TIMER_MIN_NS);
	qp->timer_armed = deadline;
	trace_rove_timer_armed(qp->qpn, deadline);
	hrtimer_start(&qp->timer, ns_to_ktime(deadline), HRTIMER_MODE_ABS_SOFT);
}

/*
 * UC towards another namespace of this machine: the peer is one of ours, and what it
 * expects next tells whether anything is still on its way.
 */
static bool has_arrived(const struct rove_qp *qp)
{
	const struct rove_qp *peer;
	bool all;

	rcu_read_lock();
	peer = rove_qp_find(qp->req.conf.dqpn);
	all = peer && peer->type == IB_QPT_UC && READ_ONCE(peer->resp.conf.dqpn) == qp->qpn &&
	      READ_ONCE(peer->resp.epsn) == qp->req.max_psn;
	rcu_read_unlock();
	return all;
}

/*
 * Packets that two CPUs send can overtake each other: in the queues of a device,
 * or on a virtual one, which has none, in those of the CPUs. So while something
 * is in flight, what follows takes the same way: another queue is not chosen, and
 * for a device without queues only the CPU that began goes on. It does so when it
 * takes the answer; if another one does (@answer), it is asked to. A timer is for
 * answers that are lost. UC gets no answers: that CPU is asked at once. Datagrams wait
 * until all is settled, unless that CPU sends them before.
 *
 * Return: true if nothing is to be sent here.
 */
static bool req_keep_order(struct rove_qp *qp, bool answer, u64 now)
{
	const struct dst_entry *dst = qp->req_half.route.dst;
	const struct net_device *out = dst ? dst->dev : NULL;
	bool silent = !is_reliable(qp), ud = qp->limits.ud;
	u64 settled = ud ? UD_SETTLED_NS : TX_SETTLED_NS;
	int cpu = smp_processor_id();

	if (likely(qp->tx_cpu == cpu))
		goto here;
	/* Each datagram has a route of its own, mostly over the link's netdev. */
	if (ud)
		out = qp->dev->ndev;
	if ((silent ? !ud && has_arrived(qp) : !rove_req_in_flight(&qp->req)) ||
	    now - qp->tx_time > settled || !out) {
		qp->tx_cpu = cpu;
		goto here;
	}
	if (!(out->priv_flags & IFF_NO_QUEUE))
		goto here;
	if (ud || (!answer && !silent)) {
		req_arm_timer(qp, qp->tx_time + settled + 1, now);
		return true;
	}
	if (READ_ONCE(qp->handed))
		return true;
	WRITE_ONCE(qp->handed, true);
	if (!smp_call_function_single_async(qp->tx_cpu, &qp->hand_over))
		return true;
	/* That CPU is gone. */
	WRITE_ONCE(qp->handed, false);
	qp->tx_cpu = cpu;
here:
	WRITE_ONCE(qp->tx_time, now);
	return false;
}

/* A WQE without packets. */
static enum rove_fault req_execute(struct rove_qp *qp, const struct rove_seg *seg)
{
	const struct rove_sqe *sqe = &rove_req_wqe(&qp->req, seg->wqe)->sqe;
	struct rove_mr_table *t = &qp->dev->mrs;

	switch (sqe->opcode) {
	case ROVE_WR_LOCAL_INV:
		return rove_memwr_invalidate(t, qp->pd, qp->qpn, sqe->imm, false);
	case ROVE_WR_BIND_MW:
		return rove_memwr_bind(t, qp->pd, qp->qpn, sqe);
	case ROVE_WR_REG_MR:
		return rove_memwr_register(t, qp->pd, sqe);
	default:
		return ROVE_FAULT_WQE;
	}
}

void rove_requester_execute(struct rove_qp *qp, const struct rove_seg *seg)
{
	rove_req_executed(&qp->req, seg, req_execute(qp, seg));
}

/* False: the peer is not on this host. *@more: the budget ran out first. */
static bool req_send_samehost(struct rove_qp *qp, bool *more, u64 now)
{
	enum rove_samehost how = ROVE_SAMEHOST_DONE;
	struct rove_qp *peer;

	rcu_read_lock();
	peer = rove_samehost_peer(qp);
	if (peer)
		how = rove_samehost_run(qp, peer, now);
	rcu_read_unlock();

	/* It may be gone without a word. */
	if (how == ROVE_SAMEHOST_BUSY)
		req_arm_timer(qp, now + PEER_BUSY_NS, now);
	*more = how == ROVE_SAMEHOST_MORE;
	return peer;
}

/* An ACK of the responder half that goes along. */
struct rider {
	struct rove_seg ack;
	bool rides;			/* it is in the train */
	bool owned;			/* the responder half is, until the train has left */
};

/*
 * What is sent may be what an ACK waits for: then it is the last and the shortest of the
 * train, which it closes.
 */
static void rider_boards(struct rove_qp *qp, struct rove_batch *b, struct rider *r)
{
	const struct rove_seg *lost;

	r->rides = false;
	r->owned = false;
	smp_mb();	/* pairs with the responder's: an ACK waits, or tx_time was seen */
	if (likely(!READ_ONCE(qp->prompt.since)))
		return;
	/* Its owner sends it when it is told to look again. */
	r->owned = rove_half_own(&qp->resp_half);
	if (!r->owned || qp->resp_half.paused || !rove_resp_owes_ack(&qp->resp) ||
	    !rove_train_takes(&b->train, rove_opcode_info[ROVE_OP_ACK].hlen + ROVE_ICRC_LEN))
		return;
	rove_resp_next(&qp->resp, &r->ack);
	if (WARN_ON_ONCE(rove_batch_add(qp, b, &r->ack, rove_responder_fill, &lost)))
		rove_resp_seg_dropped(&qp->resp, &r->ack);
	else
		r->rides = true;
}

/* @err: of the train. What did not go along goes by itself. */
static void rider_leaves(struct rove_qp *qp, const struct rider *r, int err, u64 now)
{
	if (likely(!r->owned))
		return;
	if (r->rides) {
		rove_prompt_sent(&qp->prompt);
		if (unlikely(err))
			rove_resp_seg_dropped(&qp->resp, &r->ack);
		else
			rove_stat_add(READ_ONCE(qp->stats), ROVE_STAT_ACKS_ALONG, 1);
		rove_responder_settle(qp, now);
	} else {
		rove_responder_finish(qp, now);
	}
	rove_run_leave(qp, &qp->resp_half);
}

/*
 * MIDDLE packets, as far as they go into the open train. A fault is that of the packet behind
 * them, which is asked for after it.
 */
static enum rove_fault req_add_span(struct rove_qp *qp, struct rove_batch *b, u64 now)
{
	struct rove_req *req = &qp->req;
	u32 max = rove_batch_span_max(b, req->conf.pmtu);
	struct rove_seg seg __uninitialized;
	enum rove_fault fault;
	struct rove_span s;

	if (max < 2 || !rove_span_request(req, max << req->pmtu_shift, &s))
		return ROVE_FAULT_NONE;
	rove_span_seg(&s, req->conf.dqpn, &seg);
	fault = rove_batch_add_span(qp, b, &s, &seg, rove_requester_fill);
	if (likely(s.num))
		rove_span_requested(req, &s, now);
	return fault;
}

/* Return: true when the budget ran out first. */
static bool req_send(struct rove_qp *qp, bool answer, u64 now)
{
	struct rove_batch b __uninitialized;
	struct rove_seg seg __uninitialized;
	struct rider rider __uninitialized;
	enum rove_fault fault = ROVE_FAULT_NONE;
	const struct rove_seg *lost;
	bool more = true;
	int ret = 0;

	if (!rove_req_has_more(&qp->req) && !rove_req_in_flight(&qp->req))
		return false;
	if (req_send_samehost(qp, &more, now))
		return more;
	more = true;
	if (!rove_req_has_more(&qp->req))
		return false;
	if (rove_round_is_over())
		return true;
	if (req_keep_order(qp, answer, now))
		return false;
	if (qp->limits.ud) {
		more = req_send_ud(qp, now);
		WRITE_ONCE(qp->tx_time, ktime_get_ns());
		return more;
	}

	rove_batch_begin(&b);
	rove_batch_to(qp, &b, &qp->path, &qp->req_half.route);
	b.train.cpu = qp->tx_cpu;
	while (fault || !rove_batch_full(&b)) {
		if (!rove_req_next(&qp->req, now, &seg)) {
			more = false;
			break;
		}
		if (unlikely(seg.source == ROVE_SEG_LOCAL)) {
			rove_requester_execute(qp, &seg);
			b.packets++;
			continue;
		}
		ret = fault ?: rove_batch_add(qp, &b, &seg, rove_requester_fill, &lost);
		fault = ROVE_FAULT_NONE;
		if (unlikely(ret > 0)) {
			rove_req_seg_failed(&qp->req, &seg, ret);
			if (ret == ROVE_FAULT_PAGE)
				more = false;
			ret = 0;
			if (!more)
				break;
		} else if (unlikely(ret < 0)) {
			break;
		}
		fault = req_add_span(qp, &b, now);
	}
	if (ret < 0 && lost == &seg) {
		/* What is in the train comes before it and can still go. */
		rove_req_seg_dropped(&qp->req, &seg, now);
		ret = 0;
		more = false;
	}
	if (!ret) {
		rider_boards(qp, &b, &rider);
		lost = &b.first;
		ret = rove_batch_flush(qp, &b);
		rider_leaves(qp, &rider, ret, now);
	}
	if (unlikely(ret)) {
		rove_req_seg_dropped(&qp->req, lost, now);
		more = false;
	}
	rove_req_handed_over(&qp->req, now);
	return more;
}

static void req_complete(struct rove_qp *qp, const struct rove_req_comp *comp, u64 now)
{
	struct rove_cqe cqe = {
		.wr_id = comp->wqe->sqe.wr_id,
		.timestamp = now,
		.byte_len = comp->wqe->length,
		.qpn = qp->qpn,
		.wqe = comp->index,
		.status = rove_fault_info(comp->fault)->status,
		.opcode = comp->wqe->sqe.opcode,
	};

	trace_rove_wqe_completed(&cqe);
	rove_cq_complete(qp->send_cq, &cqe, comp->fault);
}

static void req_reap(struct rove_qp *qp, u64 now)
{
	struct rove_req_comp comp;

	while (rove_req_reap(&qp->req, &comp)) {
		if (comp.report)
			req_complete(qp, &comp, now);
	}
}

/*
 * Posters are told when it is no use to ring: something waits that cannot be sent yet, and
 * an answer or the timer will come. True: when they were told otherwise, something had been
 * posted that nobody rang for.
 */
static bool req_tell_posters(struct rove_qp *qp)
{
	bool waits = qp->uctx && rove_req_has_more(&qp->req) && rove_req_in_flight(&qp->req) &&
		     is_reliable(qp);

	if (likely(waits == qp->waits))
		return false;
	qp->waits = waits;
	WRITE_ONCE(qp->hdr->sq_waits, waits);
	if (waits)
		return false;
	smp_mb();	/* pairs with the poster's, before it looks whether to ring */
	return rove_ring_pending(&qp->sq);
}

/* After whatever came in (@answer: a packet): send, complete, see what follows. */
void rove_requester_finish(struct rove_qp *qp, bool answer, u64 now)
{
	struct rove_req *req = &qp->req;
	bool more = true;

	if (!rove_note_thread_follows(qp) && !qp->req_half.paused) {
		req_take_posted(qp);
		more = req_send(qp, answer, now);
	}
	req_reap(qp, now);
	if (unlikely(req->broken)) {
		req->broken = false;
		rove_qp_fail(qp, !is_reliable(qp));
	}
	rove_note_events(qp, rove_req_take_events(req));
	rove_note_tally(qp, &req->tally);
	if (unlikely(qp->req_half.paused))
		return;
	more |= rove_ring_pending(&qp->sq) && rove_req_slot(req);
	if (!more)
		more = req_tell_posters(qp);
	if (more)
		set_bit(ROVE_WORK_MORE, &qp->req_half.work);
	req_arm_timer(qp, rove_req_deadline(req), now);
}

struct req_scatter {
	struct rove_qp *qp;
	const struct rove_swqe *wqe;
	u32 off;
	struct rove_absent absent;
};

static int req_scatter(void *arg, const void *p, u32 len)
{
	struct req_scatter *s = arg;
	enum rove_fault fault;

	fault = rove_sge_scatter(&s->qp->req_half.mrs, s->qp->pd, s->wqe->sge, s->wqe->sqe.num,
				 s->off, p, len, &s->absent);
	s->off += len;
	return fault;
}

static enum rove_fault req_place(struct rove_qp *qp, const struct rove_req_place *place,
				 struct rove_rxpkt *rx)
{
	struct req_scatter s __uninitialized;
	enum rove_fault fault;

	s.qp = qp;
	s.wqe = rove_req_wqe(&qp->req, place->wqe);
	s.off = place->off;
	fault = rove_rxpkt_copy(rx, req_scatter, &s);
	if (unlikely(fault == ROVE_FAULT_PAGE))
		fault = rove_absent_pause(&qp->req_half, &s.absent, ROVE_FAULT_LOCAL_PROT);
	return fault;
}

static enum rove_fault req_place_value(struct rove_qp *qp, const struct rove_req_place *place)
{
	const struct rove_swqe *wqe = rove_req_wqe(&qp->req, place->wqe);
	struct rove_absent absent __uninitialized;
	enum rove_fault fault;

	fault = rove_sge_scatter(&qp->req_half.mrs, qp->pd, wqe->sge, wqe->sqe.num, 0,
				 &place->value, sizeof(place->value), &absent);
	if (unlikely(fault == ROVE_FAULT_PAGE))
		fault = rove_absent_pause(&qp->req_half, &absent, ROVE_FAULT_LOCAL_PROT);
	return fault;
}

/* A response. */
bool rove_requester_packet(struct rove_qp *qp, struct rove_rxpkt *rx, u64 now)
{
	struct rove_req_place place __uninitialized;
	enum rove_fault fault = ROVE_FAULT_NONE;
	struct rove_span span __uninitialized;

	trace_rove_packet_received(qp->qpn, &rx->pkt);
	trace_rove_ack_received(qp->qpn, &rx->pkt);
	if (unlikely(qp->limits.xrc))
		rx->pkt.opcode &= ROVE_OP_MASK;
	if (rove_span_of(&rx->pkt, &span) && rove_span_expect(&qp->req, &span, &place)) {
		fault = req_place(qp, &place, rx);
		if (likely(!fault)) {
			rove_span_expected(&qp->req, &span, now);
			return true;
		}
	}
	switch (rove_req_packet(&qp->req, &rx->pkt, now, &place)) {
	case ROVE_REQ_DONE:
		break;
	case ROVE_REQ_DROP:
		rove_note_drop(qp, place.drop);
		break;
	case ROVE_REQ_PLACE:
		fault = fault ?: req_place(qp, &place, rx);
		rove_req_placed(&qp->req, fault, now);
		break;
	case ROVE_REQ_PLACE_VALUE:
		fault = req_place_value(qp, &place);
		rove_req_placed(&qp->req, fault, now);
		break;
	}
	/* Or it is to be given again. */
	return fault != ROVE_FAULT_PAGE;
}
