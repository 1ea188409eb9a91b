// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Runs QPs to completion: posted WQEs to packets, packets to memory, completions
 * and responses. It carries out what the machines in proto/ decide.
 *
 * Each function named req_ or resp_ is called by the owner of that half, with BH
 * off. A turn is bounded (BATCH_*), so that the receive side gets the CPU; what
 * remains is noted as ROVE_WORK_MORE and taken up by the tasklet, or by the
 * thread that began it.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include "../ip/rxpkt.h"
#include "../ip/train.h"
#include "../mem/memwr.h"
#include "../mem/sge.h"
#include "../trace.h"
#include "../wire/build.h"
#include "../wire/opcode.h"
#include "ah.h"
#include "cq.h"
#include "dev.h"
#include "engine.h"
#include "half.h"
#include "qp.h"
#include "run.h"
#include "srq.h"

/* One BH-off section sends at most about this much. */
#define BATCH_BYTES	(256 * 1024)
#define BATCH_PACKETS	1024
/* Sections that a kick or the engine spends on one QP at a time. */
#define BATCHES		8
/* After this no packet waits in the queues of a CPU, ns. */
#define TX_SETTLED_NS	(100 * NSEC_PER_MSEC)
/* Trains that wait for a busy half. */
#define QUEUE_MAX	1024

#define GRH_LEN		40

/* Where a deferred train goes on; in skb->cb. */
struct deferred {
	u32 off;
	u32 end;
	u32 index;
};

static struct deferred *deferred_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct deferred) > sizeof(skb->cb));
	return (struct deferred *)skb->cb;
}

static bool is_ud(const struct rove_qp *qp)
{
	return qp->limits.ud;
}

static void again(struct rove_qp *qp)
{
	if (!READ_ONCE(qp->dead))
		tasklet_schedule(&qp->tasklet);
}

/*
 * In a softirq on top of the thread that is in run_here() with this QP: it sends
 * what follows, so that its batches stay large and softirqs come to an end.
 */
static bool runs_here(const struct rove_qp *qp)
{
	return in_serving_softirq() && READ_ONCE(qp->here) == current;
}

/* A budget ran out: that thread goes on, or else the tasklet. */
static void go_on(struct rove_qp *qp)
{
	if (!runs_here(qp))
		again(qp);
}

static void drop(struct rove_qp *qp, enum rove_drop why)
{
	rove_stat_drop(qp->dev->stats, why);
	trace_rove_drop(qp->qpn, why);
}

static void count_tally(struct rove_qp *qp, struct rove_tally *t)
{
	unsigned int i;

	if (likely(!t->dirty))
		return;
	for (i = 0; i < ROVE_TALLIES; i++) {
		if (t->n[i])
			rove_stat_add(qp->dev->stats, ROVE_STAT_TALLY + i, t->n[i]);
	}
	memset(t, 0, sizeof(*t));
}

static void tell(struct rove_qp *qp, u32 events)
{
	if (likely(!events))
		return;
	if (!qp->sqd_notify)
		events &= ~ROVE_QPE_SQ_DRAINED;
	/* It is news only to who has not gone to RTS yet (11.6.3.2). */
	if (READ_ONCE(qp->state) != IB_QPS_RTR)
		events &= ~ROVE_QPE_COMM_EST;
	if (!events)
		return;
	atomic_or(events, &qp->events);
	again(qp);
}

/* ---- sending, both halves ------------------------------------------------- */

typedef enum rove_fault (*fill_fn)(struct rove_qp *qp, const struct rove_seg *seg, u8 *payload);

/* One packet into the open train. 0, an errno of rove_train_reserve(), or a fault. */
static int put_packet(struct rove_qp *qp, struct rove_train *t, struct rove_seg *seg,
		      fill_fn fill)
{
	u32 len = seg->pkt.len, pad = -len & 3, hlen;
	enum rove_fault fault;
	u8 *p;

	hlen = rove_opcode_info[seg->pkt.opcode].hlen;
	p = rove_train_reserve(t, hlen + len + pad + ROVE_ICRC_LEN);
	if (IS_ERR(p))
		return PTR_ERR(p);

	hlen = rove_build(p, &seg->pkt);
	fault = fill(qp, seg, p + hlen);
	if (unlikely(fault)) {
		rove_train_cancel(t);
		return fault;
	}
	if (pad)
		memset(p + hlen + len, 0, pad);
	rove_train_commit(t, hlen);
	trace_rove_packet_sent(qp->qpn, &seg->pkt);
	trace_rove_ack_sent(qp->qpn, &seg->pkt);
	return 0;
}

static int flush_train(struct rove_qp *qp, struct rove_train *t)
{
	struct rove_stats __percpu *stats = qp->dev->stats;
	u32 packets = t->count, bytes = t->used;
	int err;

	if (!packets)
		return 0;
	err = rove_train_flush(t);
	if (unlikely(err)) {
		rove_stat_add(stats, ROVE_STAT_TX_DROPPED, packets);
		return err;
	}
	rove_stat_add(stats, ROVE_STAT_TX_PACKETS, packets);
	rove_stat_add(stats, ROVE_STAT_TX_BYTES, bytes);
	rove_stat_add(stats, ROVE_STAT_TX_TRAINS, 1);
	return 0;
}

/* What one batch of a half sends, packet by packet. */
struct batch {
	struct rove_train train;
	struct rove_seg first;		/* of the open train */
	u32 bytes;
	u32 packets;
};

/*
 * Adds one packet, flushing before it where it does not fit. 0; a fault; or an
 * errno after the stack took nothing from *@lost on.
 */
static int batch_add(struct rove_qp *qp, struct batch *b, struct rove_seg *seg, fill_fn fill,
		     const struct rove_seg **lost)
{
	int ret;

	ret = put_packet(qp, &b->train, seg, fill);
	if (ret == -EAGAIN) {
		ret = flush_train(qp, &b->train);
		if (unlikely(ret)) {
			*lost = &b->first;
			return ret;
		}
		ret = put_packet(qp, &b->train, seg, fill);
	}
	if (unlikely(ret)) {
		*lost = seg;
		return ret;
	}
	if (b->train.count == 1)
		b->first = *seg;
	b->bytes += seg->pkt.len;
	b->packets++;
	return 0;
}

static bool batch_full(const struct batch *b)
{
	return b->bytes >= BATCH_BYTES || b->packets >= BATCH_PACKETS;
}

/* ---- requester ------------------------------------------------------------ */

static enum rove_fault req_fill(struct rove_qp *qp, const struct rove_seg *seg, u8 *payload)
{
	const struct rove_swqe *wqe = rove_req_wqe(&qp->req, seg->wqe);

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
	return rove_sge_gather(&qp->dev->mrs, qp->pd, wqe->sge, wqe->sqe.num, seg->off, payload,
			       seg->pkt.len);
}

/* Copies what is posted, as far as there is room. */
static void req_take_posted(struct rove_qp *qp)
{
	struct rove_swqe *wqe;
	u32 n;

	for (n = rove_ring_pending(&qp->sq); n; n--) {
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
	struct batch b;
};

static void ud_end(struct rove_qp *qp, struct ud_batch *u)
{
	if (!u->ah)
		return;
	flush_train(qp, &u->b.train);	/* a lost datagram is a sent one */
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
	rove_train_begin(&u->b.train, &u->ah->path, &u->route);
	u->b.train.cpu = qp->tx_cpu;
	return true;
}

/* Return: true when the budget ran out first. */
static bool req_send_ud(struct rove_qp *qp, u64 now)
{
	const struct rove_seg *lost;
	struct rove_seg seg;
	struct ud_batch u;
	bool more = true;
	int ret;
	u32 n;

	u.ah = NULL;
	u.b.bytes = 0;
	u.b.packets = 0;
	for (n = 0; n < BATCH_PACKETS && !batch_full(&u.b); n++) {
		if (!rove_req_next(&qp->req, now, &seg)) {
			more = false;
			break;
		}
		if (!ud_begin(qp, &u, rove_req_wqe(&qp->req, seg.wqe)->sqe.ud.ah)) {
			rove_req_seg_failed(&qp->req, &seg, ROVE_FAULT_WQE);
			continue;
		}
		ret = batch_add(qp, &u.b, &seg, req_fill, &lost);
		if (ret > 0)
			rove_req_seg_failed(&qp->req, &seg, ret);
	}
	ud_end(qp, &u);
	return more;
}

static void req_arm_timer(struct rove_qp *qp, u64 deadline)
{
	/* Armed early is fine: it looks, and is armed again. */
	if (!deadline || (qp->timer_armed && qp->timer_armed <= deadline) || qp->dead)
		return;
	qp->timer_armed = deadline;
	trace_rove_timer_armed(qp->qpn, deadline);
	hrtimer_start(&qp->timer, ns_to_ktime(deadline), HRTIMER_MODE_ABS_SOFT);
}

void rove_run_handed(void *arg)
{
	struct rove_qp *qp = arg;

	again(qp);
	/* Pairs with destroy: it is this side's last look at the QP. */
	smp_store_release(&qp->handed, false);
}

/*
 * Packets that two CPUs send can overtake each other: in the queues of a device,
 * or on a virtual one, which has none, in those of the CPUs. So while something
 * is in flight, what follows takes the same way: another queue is not chosen, and
 * for a device without queues only the CPU that began goes on. It does so when it
 * takes the answer; if another one does (@answer), it is asked to. A timer is for
 * answers that are lost. UC and UD get no answers: that CPU is asked at once.
 *
 * Return: true if nothing is to be sent here.
 */
static bool req_keep_order(struct rove_qp *qp, bool answer, u64 now)
{
	const struct dst_entry *dst = qp->req_half.route.dst;
	const struct net_device *out = dst ? dst->dev : NULL;
	bool silent = qp->type != IB_QPT_RC;
	int cpu = smp_processor_id();

	if (likely(qp->tx_cpu == cpu))
		goto here;
	/* Each datagram has a route of its own, mostly over the link's netdev. */
	if (is_ud(qp))
		out = qp->dev->ndev;
	if ((!rove_req_in_flight(&qp->req) && !silent) || now - qp->tx_time > TX_SETTLED_NS ||
	    !out) {
		qp->tx_cpu = cpu;
		goto here;
	}
	if (!(out->priv_flags & IFF_NO_QUEUE))
		goto here;
	if (!answer && !silent) {
		req_arm_timer(qp, qp->tx_time + TX_SETTLED_NS + 1);
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
	qp->tx_time = now;
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

/* Return: true when the budget ran out first. */
static bool req_send(struct rove_qp *qp, bool answer, u64 now)
{
	const struct rove_seg *lost;
	struct rove_seg seg;
	bool more = true;
	struct batch b;
	int ret = 0;

	if (!rove_req_has_more(&qp->req) || req_keep_order(qp, answer, now))
		return false;
	if (is_ud(qp))
		return req_send_ud(qp, now);

	rove_train_begin(&b.train, &qp->path, &qp->req_half.route);
	b.train.cpu = qp->tx_cpu;
	b.bytes = 0;
	b.packets = 0;
	while (!batch_full(&b)) {
		if (!rove_req_next(&qp->req, now, &seg)) {
			more = false;
			break;
		}
		if (unlikely(seg.source == ROVE_SEG_LOCAL)) {
			rove_req_executed(&qp->req, &seg, req_execute(qp, &seg));
			b.packets++;
			continue;
		}
		ret = batch_add(qp, &b, &seg, req_fill, &lost);
		if (unlikely(ret > 0)) {
			rove_req_seg_failed(&qp->req, &seg, ret);
			ret = 0;
		} else if (unlikely(ret < 0)) {
			break;
		}
	}
	if (ret < 0 && lost == &seg) {
		/* What is in the train comes before it and can still go. */
		rove_req_seg_dropped(&qp->req, &seg, now);
		ret = 0;
		more = false;
	}
	if (!ret) {
		lost = &b.first;
		ret = flush_train(qp, &b.train);
	}
	if (unlikely(ret)) {
		rove_req_seg_dropped(&qp->req, lost, now);
		more = false;
	}
	rove_req_handed_over(&qp->req, now);
	return more;
}

static void req_reap(struct rove_qp *qp, u64 now)
{
	struct rove_req_comp comp;
	struct rove_cqe cqe = {};

	cqe.qpn = qp->qpn;
	cqe.timestamp = now;
	while (rove_req_reap(&qp->req, &comp)) {
		if (!comp.report)
			continue;
		cqe.wr_id = comp.wqe->sqe.wr_id;
		cqe.opcode = comp.wqe->sqe.opcode;
		cqe.byte_len = comp.wqe->length;
		cqe.wqe = comp.index;
		cqe.status = rove_fault_info(comp.fault)->status;
		trace_rove_wqe_completed(&cqe);
		rove_cq_complete(qp->send_cq, &cqe, comp.fault);
	}
}

/* After whatever came in (@answer: a packet): send, complete, see what follows. */
static void req_finish(struct rove_qp *qp, bool answer, u64 now)
{
	struct rove_req *req = &qp->req;
	bool more = true;

	if (!runs_here(qp)) {
		req_take_posted(qp);
		more = req_send(qp, answer, now);
	}
	req_reap(qp, now);
	if (unlikely(req->broken)) {
		req->broken = false;
		rove_qp_fail(qp, qp->type != IB_QPT_RC && !qp->limits.xrc);
	}
	if (more || (rove_ring_pending(&qp->sq) && rove_req_slot(req)))
		set_bit(ROVE_WORK_MORE, &qp->req_half.work);
	tell(qp, rove_req_take_events(req));
	count_tally(qp, &req->tally);
	req_arm_timer(qp, rove_req_deadline(req));
}

struct req_scatter {
	struct rove_qp *qp;
	const struct rove_swqe *wqe;
	u32 off;
};

static int req_scatter(void *arg, const void *p, u32 len)
{
	struct req_scatter *s = arg;
	enum rove_fault fault;

	fault = rove_sge_scatter(&s->qp->dev->mrs, s->qp->pd, s->wqe->sge, s->wqe->sqe.num, s->off,
				 p, len);
	s->off += len;
	return fault;
}

/* A response. */
static void req_packet(struct rove_qp *qp, struct rove_rxpkt *rx, u64 now)
{
	struct rove_req_place place = {};
	struct req_scatter s;
	enum rove_fault fault;

	trace_rove_packet_received(qp->qpn, &rx->pkt);
	trace_rove_ack_received(qp->qpn, &rx->pkt);
	if (unlikely(qp->limits.xrc))
		rx->pkt.opcode &= ROVE_OP_MASK;
	switch (rove_req_packet(&qp->req, &rx->pkt, now, &place)) {
	case ROVE_REQ_DONE:
		break;
	case ROVE_REQ_DROP:
		drop(qp, place.drop);
		break;
	case ROVE_REQ_PLACE:
		s.qp = qp;
		s.wqe = rove_req_wqe(&qp->req, place.wqe);
		s.off = place.off;
		rove_req_placed(&qp->req, rove_rxpkt_copy(rx, req_scatter, &s), now);
		break;
	case ROVE_REQ_PLACE_VALUE:
		s.wqe = rove_req_wqe(&qp->req, place.wqe);
		fault = rove_sge_scatter(&qp->dev->mrs, qp->pd, s.wqe->sge, s.wqe->sqe.num, 0,
					 &place.value, sizeof(place.value));
		rove_req_placed(&qp->req, fault, now);
		break;
	}
}

/* ---- responder ------------------------------------------------------------ */

/*
 * XRC: the SRQ that a request names decides on the domain in which it accesses
 * memory. False: there is none in the XRC domain.
 */
static bool resp_name_srq(struct rove_qp *qp, u32 srqn)
{
	qp->xsrq = rove_srq_find(qp->xrcd, srqn);
	if (!qp->xsrq)
		return false;
	qp->remote_pd = qp->xsrq->pd;
	qp->recv_pd = qp->xsrq->pd;
	return true;
}

static enum rove_fault resp_fill(struct rove_qp *qp, const struct rove_seg *seg, u8 *payload)
{
	struct rove_mr *mr;

	if (seg->source == ROVE_SEG_NONE || !seg->pkt.len)
		return ROVE_FAULT_NONE;
	if (unlikely(qp->xrcd) && !resp_name_srq(qp, seg->srqn))
		return ROVE_FAULT_REQ_ACCESS;
	mr = rove_mr_find(&qp->dev->mrs, seg->rkey, qp->remote_pd, qp->qpn, IB_ACCESS_REMOTE_READ,
			  seg->va, seg->pkt.len);
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	rove_mr_read(mr, seg->va, payload, seg->pkt.len);
	rove_mr_put(mr);
	return ROVE_FAULT_NONE;
}

/* Return: true when the budget ran out first. */
static bool resp_send(struct rove_qp *qp)
{
	const struct rove_seg *lost;
	struct rove_seg seg;
	bool more = true;
	struct batch b;
	int ret = 0;

	if (is_ud(qp) || !rove_resp_next(&qp->resp, &seg))
		return false;

	rove_train_begin(&b.train, &qp->path, &qp->resp_half.route);
	b.bytes = 0;
	b.packets = 0;
	do {
		ret = batch_add(qp, &b, &seg, resp_fill, &lost);
		if (unlikely(ret > 0)) {
			rove_resp_seg_failed(&qp->resp, &seg, ret);
			ret = 0;
		} else if (unlikely(ret < 0)) {
			break;
		}
		if (batch_full(&b))
			break;
		more = rove_resp_next(&qp->resp, &seg);
	} while (more);

	if (ret < 0 && lost == &seg) {
		rove_resp_seg_dropped(&qp->resp, &seg);
		ret = 0;
	}
	if (!ret) {
		lost = &b.first;
		ret = flush_train(qp, &b.train);
	}
	if (unlikely(ret)) {
		rove_resp_seg_dropped(&qp->resp, lost);
		/* The requester asks again. */
		more = false;
	}
	return more;
}

/* The held receive WQE is finished; @rx is the packet that finished it, or NULL. */
static void resp_complete(struct rove_qp *qp, const struct rove_resp_comp *comp,
			  const struct rove_rxpkt *rx, u64 now)
{
	struct rove_cqe cqe = {
		.wr_id = qp->rwqe->wr_id,
		.timestamp = now,
		.byte_len = comp->byte_len,
		.imm = comp->imm,
		.qpn = qp->qpn,
		.src_qp = comp->src_qp,
		.status = rove_fault_info(comp->fault)->status,
		.opcode = comp->recv,
		.flags = comp->flags | ROVE_CQE_RECV,
	};

	if (is_ud(qp) && rx) {
		cqe.flags |= ROVE_CQE_GRH;
		if (!rx->flow.v6)
			cqe.flags |= ROVE_CQE_IPV4;
		if (rx->skb->dev && is_vlan_dev(rx->skb->dev)) {
			cqe.flags |= ROVE_CQE_VLAN;
			cqe.vlan = vlan_dev_vlan_id(rx->skb->dev);
		}
		if (skb_mac_header_was_set(rx->skb) && rx->skb->dev &&
		    rx->skb->dev->type == ARPHRD_ETHER &&
		    skb_network_offset(rx->skb) - skb_mac_offset(rx->skb) >= ETH_HLEN)
			ether_addr_copy(cqe.smac, eth_hdr(rx->skb)->h_source);
	}
	trace_rove_wqe_completed(&cqe);
	rove_cq_complete(qp->recv_cq, &cqe, comp->solicited || comp->fault);
	if (unlikely(qp->xrcd)) {
		rove_cq_put(qp->recv_cq);
		qp->recv_cq = NULL;
	}
}

static void resp_reap(struct rove_qp *qp, const struct rove_rxpkt *rx, u64 now)
{
	struct rove_resp_comp comp;

	while (rove_resp_reap(&qp->resp, &comp))
		resp_complete(qp, &comp, rx, now);
}

static enum rove_fault resp_get_rqe(struct rove_qp *qp, struct rove_resp_result *res)
{
	enum rove_fault fault = ROVE_FAULT_NONE;

	if (qp->srq) {
		fault = rove_srq_take(qp->srq, qp->rwqe, &res->empty);
	} else if (unlikely(qp->xrcd)) {
		fault = rove_srq_take(qp->xsrq, qp->rwqe, &res->empty);
		/* The completion may come when the SRQ is gone. */
		if (!res->empty) {
			rove_cq_get(qp->xsrq->cq);
			qp->recv_cq = qp->xsrq->cq;
		}
	} else if (rove_ring_pending(&qp->rq)) {
		fault = rove_wqe_read_recv(qp->rwqe, rove_ring_slot(&qp->rq, qp->rq.head),
					   qp->max_recv_sge);
		rove_ring_release(&qp->rq);
	} else {
		res->empty = true;
	}
	if (!res->empty)
		res->len = qp->rwqe->length;
	return fault;
}

struct resp_place {
	struct rove_qp *qp;
	struct rove_mr *mr;
	u64 va;
	u32 off;
};

static int resp_to_rqe(void *arg, const void *p, u32 len)
{
	struct resp_place *s = arg;
	enum rove_fault fault;

	fault = rove_sge_scatter(&s->qp->dev->mrs, s->qp->recv_pd, s->qp->rwqe->sge,
				 s->qp->rwqe->num, s->off, p, len);
	s->off += len;
	return fault;
}

static int resp_to_mr(void *arg, const void *p, u32 len)
{
	struct resp_place *s = arg;

	rove_mr_write(s->mr, s->va, p, len);
	s->va += len;
	return 0;
}

/* The GRH area of a datagram: an IPv6 header, or 20 free bytes and an IPv4 one. */
static enum rove_fault resp_place_grh(struct rove_qp *qp, const struct rove_rxpkt *rx)
{
	u8 grh[GRH_LEN] = {};

	if (rx->flow.v6)
		memcpy(grh, ipv6_hdr(rx->skb), sizeof(struct ipv6hdr));
	else
		memcpy(grh + GRH_LEN - sizeof(struct iphdr), ip_hdr(rx->skb), sizeof(struct iphdr));
	return rove_sge_scatter(&qp->dev->mrs, qp->recv_pd, qp->rwqe->sge, qp->rwqe->num, 0, grh,
				sizeof(grh));
}

static enum rove_fault resp_place_rqe(struct rove_qp *qp, const struct rove_resp_act *act,
				      struct rove_rxpkt *rx)
{
	struct resp_place s = { .qp = qp, .off = act->off };
	enum rove_fault fault;

	if (is_ud(qp)) {
		fault = resp_place_grh(qp, rx);
		if (fault)
			return fault;
	}
	return rove_rxpkt_copy(rx, resp_to_rqe, &s);
}

static enum rove_fault resp_place_mr(struct rove_qp *qp, const struct rove_resp_act *act,
				     struct rove_rxpkt *rx)
{
	struct resp_place s = { .qp = qp, .va = act->va };

	s.mr = rove_mr_find(&qp->dev->mrs, act->rkey, qp->remote_pd, qp->qpn,
			    IB_ACCESS_REMOTE_WRITE, act->va, act->check_len);
	if (!s.mr)
		return ROVE_FAULT_REQ_ACCESS;
	if (act->len)
		rove_rxpkt_copy(rx, resp_to_mr, &s);
	rove_mr_put(s.mr);
	return ROVE_FAULT_NONE;
}

static enum rove_fault resp_check_read(struct rove_qp *qp, const struct rove_resp_act *act)
{
	struct rove_mr *mr;

	mr = rove_mr_find(&qp->dev->mrs, act->rkey, qp->remote_pd, qp->qpn, IB_ACCESS_REMOTE_READ,
			  act->va, act->check_len);
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	rove_mr_put(mr);
	return ROVE_FAULT_NONE;
}

static enum rove_fault resp_atomic(struct rove_qp *qp, const struct rove_resp_act *act, u64 *value)
{
	struct rove_mr *mr;

	if (act->va & 7)
		return ROVE_FAULT_REQ_INVALID;
	mr = rove_mr_find(&qp->dev->mrs, act->rkey, qp->remote_pd, qp->qpn, IB_ACCESS_REMOTE_ATOMIC,
			  act->va, sizeof(u64));
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	*value = rove_mr_atomic(mr, act->va, act->op, act->swap_add, act->compare);
	rove_mr_put(mr);
	return ROVE_FAULT_NONE;
}

static int resp_to_word(void *arg, const void *p, u32 len)
{
	u8 **to = arg;

	memcpy(*to, p, len);
	*to += len;
	return 0;
}

static enum rove_fault resp_atomic_write(struct rove_qp *qp, const struct rove_resp_act *act,
					 struct rove_rxpkt *rx)
{
	struct rove_mr *mr;
	u64 word;
	u8 *to = (u8 *)&word;

	mr = rove_mr_find(&qp->dev->mrs, act->rkey, qp->remote_pd, qp->qpn, IB_ACCESS_REMOTE_WRITE,
			  act->va, sizeof(word));
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	/* The packet may lie in pieces; what is written is one word. */
	rove_rxpkt_copy(rx, resp_to_word, &to);
	rove_mr_write(mr, act->va, &word, sizeof(word));
	rove_mr_put(mr);
	return ROVE_FAULT_NONE;
}

static enum rove_fault resp_flush_range(struct rove_qp *qp, const struct rove_resp_act *act)
{
	struct rove_mr_table *t = &qp->dev->mrs;
	struct rove_mr *mr;
	int access = 0;

	if (act->op & IB_FLUSH_GLOBAL)
		access |= IB_ACCESS_FLUSH_GLOBAL;
	/* No region has this right: there is no persistent memory. */
	if (act->op & IB_FLUSH_PERSISTENT)
		access |= IB_ACCESS_FLUSH_PERSISTENT;
	mr = act->whole ? rove_mr_find_whole(t, act->rkey, qp->remote_pd, qp->qpn, access) :
			  rove_mr_find(t, act->rkey, qp->remote_pd, qp->qpn, access, act->va,
				       act->check_len);
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	rove_mr_put(mr);
	/* What was written is seen by all CPUs; there is no more to do for this memory. */
	smp_mb();
	return ROVE_FAULT_NONE;
}

/* A request. */
static void resp_packet(struct rove_qp *qp, struct rove_rxpkt *rx, u64 now)
{
	struct rove_resp_result res;
	struct rove_resp_act act;
	bool nowhere = false;

	trace_rove_packet_received(qp->qpn, &rx->pkt);
	if (unlikely(qp->xrcd)) {
		rx->pkt.opcode &= ROVE_OP_MASK;
		nowhere = !resp_name_srq(qp, rx->pkt.srqn);
	}
	rove_resp_packet(&qp->resp, &rx->pkt, &act);
	while (act.kind != ROVE_RESP_DONE && act.kind != ROVE_RESP_DROP) {
		res = (struct rove_resp_result){};
		if (unlikely(nowhere)) {
			res.fault = ROVE_FAULT_REQ_INVALID;
			rove_resp_result(&qp->resp, &res, &act);
			continue;
		}
		switch (act.kind) {
		case ROVE_RESP_GET_RQE:
			res.fault = resp_get_rqe(qp, &res);
			break;
		case ROVE_RESP_PLACE_RQE:
			res.fault = resp_place_rqe(qp, &act, rx);
			break;
		case ROVE_RESP_PLACE_MR:
			res.fault = resp_place_mr(qp, &act, rx);
			break;
		case ROVE_RESP_CHECK_READ:
			res.fault = resp_check_read(qp, &act);
			break;
		case ROVE_RESP_ATOMIC:
			res.fault = resp_atomic(qp, &act, &res.value);
			break;
		case ROVE_RESP_ATOMIC_WRITE:
			res.fault = resp_atomic_write(qp, &act, rx);
			break;
		case ROVE_RESP_FLUSH:
			res.fault = resp_flush_range(qp, &act);
			break;
		case ROVE_RESP_INVALIDATE:
			res.fault = rove_memwr_invalidate(&qp->dev->mrs, qp->remote_pd, qp->qpn,
							  act.rkey, true);
			break;
		}
		rove_resp_result(&qp->resp, &res, &act);
	}
	if (act.kind == ROVE_RESP_DROP)
		drop(qp, act.drop);
	resp_reap(qp, rx, now);
}

/*
 * In ERR: what is posted, and what may be posted later, completes with an error. An
 * SRQ's work requests serve others: only the one that was taken does, and the user
 * is told that there are no more.
 */
static void resp_flush(struct rove_qp *qp, u64 now)
{
	struct rove_resp_comp comp = {
		.fault = ROVE_FAULT_FLUSH,
	};
	u32 n;

	rove_resp_error(&qp->resp);
	resp_reap(qp, NULL, now);
	if (qp->srq || qp->xrcd) {
		if (!qp->last_wqe_told)
			tell(qp, ROVE_QPE_LAST_WQE);
		qp->last_wqe_told = true;
		return;
	}
	/* Pairs with the poster's barrier: it sees the flag, or we see its WQE. */
	smp_mb();
	for (n = rove_ring_pending(&qp->rq); n; n--) {
		struct rove_resp_result res = {};

		resp_get_rqe(qp, &res);
		resp_complete(qp, &comp, NULL, now);
	}
	/* Posts go on while it is looked: all of them are flushed in time. */
	if (rove_ring_pending(&qp->rq))
		set_bit(ROVE_WORK_MORE, &qp->resp_half.work);
}

static void resp_finish(struct rove_qp *qp, u64 now)
{
	struct rove_resp *resp = &qp->resp;

	if (resp_send(qp))
		set_bit(ROVE_WORK_MORE, &qp->resp_half.work);
	if (unlikely(resp->broken)) {
		resp->broken = false;
		rove_qp_fail(qp, false);
	}
	if (unlikely(resp->state == ROVE_RESP_ERROR))
		resp_flush(qp, now);
	tell(qp, rove_resp_take_events(resp));
	count_tally(qp, &resp->tally);
}

/* ---- packets that found their half busy ----------------------------------- */

/* The half that the current packet is for, or NULL: not of the QP's transport. */
static struct rove_half *packet_half(struct rove_qp *qp, const struct rove_rxpkt *rx)
{
	u32 flags = rove_opcode_info[rx->pkt.opcode].flags;

	if ((rx->pkt.opcode & ROVE_TR_MASK) != qp->transport)
		return NULL;
	/* Either end has but one half. */
	if (unlikely(qp->limits.xrc) && !(flags & ROVE_OPF_REQUEST) != !qp->xrcd)
		return NULL;
	return flags & ROVE_OPF_REQUEST ? &qp->resp_half : &qp->req_half;
}

/* Steps to the next readable packet. */
static bool next_packet(struct rove_qp *qp, struct rove_rxpkt *rx)
{
	enum rove_drop why;

	while (rove_rxpkt_next(rx)) {
		why = rove_rxpkt_read(rx);
		if (likely(why == ROVE_DROP_NONE))
			return true;
		drop(qp, why);
	}
	return false;
}

/* Executes the current packet and those behind it as long as they are for @h. */
static bool run_packets_of(struct rove_qp *qp, struct rove_half *h, struct rove_rxpkt *rx,
			   u32 dqpn, u64 now)
{
	u32 packets = 0, bytes = 0;
	bool more;

	do {
		packets++;
		bytes += rx->total;
		if (unlikely(!rove_rxpkt_icrc_ok(rx)))
			drop(qp, ROVE_DROP_ICRC);
		else if (h == &qp->resp_half)
			resp_packet(qp, rx, now);
		else
			req_packet(qp, rx, now);
		more = next_packet(qp, rx);
	} while (more && rx->pkt.dqpn == dqpn && packet_half(qp, rx) == h);

	rove_stat_add(qp->dev->stats, ROVE_STAT_RX_PACKETS, packets);
	rove_stat_add(qp->dev->stats, ROVE_STAT_RX_BYTES, bytes);
	return more;
}

/* Keeps the packets from here on, as long as they are for @h, for its owner. */
static bool defer_packets(struct rove_qp *qp, struct rove_half *h, struct rove_rxpkt *rx, u32 dqpn)
{
	u32 off = rx->off, index = rx->index, end;
	struct sk_buff *clone;
	bool more;

	do {
		end = rx->off + rx->total;
		more = next_packet(qp, rx);
	} while (more && rx->pkt.dqpn == dqpn && packet_half(qp, rx) == h);

	if (skb_queue_len_lockless(&h->packets) >= QUEUE_MAX) {
		drop(qp, ROVE_DROP_BUSY);
		return more;
	}
	clone = skb_clone(rx->skb, GFP_ATOMIC);
	if (clone && skb_orphan_frags_rx(clone, GFP_ATOMIC)) {
		kfree_skb(clone);
		clone = NULL;
	}
	if (!clone) {
		drop(qp, ROVE_DROP_NOMEM);
		return more;
	}
	*deferred_of(clone) = (struct deferred){ .off = off, .end = end, .index = index };
	skb_queue_tail(&h->packets, clone);
	return more;
}

/* The owner takes up what others left. */
static void run_deferred(struct rove_qp *qp, struct rove_half *h, u64 now)
{
	struct rove_rxpkt rx;
	struct sk_buff *skb;
	struct deferred d;

	if (skb_queue_empty_lockless(&h->packets))
		return;
	while ((skb = skb_dequeue(&h->packets))) {
		d = *deferred_of(skb);
		if (rove_rxpkt_begin(&rx, skb)) {
			rx.off = d.off;
			rx.end = d.end;
			rx.index = d.index;
			if (rove_rxpkt_read(&rx) == ROVE_DROP_NONE)
				run_packets_of(qp, h, &rx, rx.pkt.dqpn, now);
		}
		consume_skb(skb);
	}
}

/* ---- turns ---------------------------------------------------------------- */

static void req_turn(struct rove_qp *qp)
{
	unsigned long work = xchg(&qp->req_half.work, 0);
	u64 now = ktime_get_ns();

	run_deferred(qp, &qp->req_half, now);
	if (work & BIT(ROVE_WORK_TIMER)) {
		trace_rove_timer_expired(qp->qpn, qp->timer_armed);
		qp->timer_armed = 0;
		rove_req_timer(&qp->req, now);
		/* It waited long enough for what it sends again now. */
		if (rove_req_resends(&qp->req))
			qp->tx_cpu = smp_processor_id();
	}
	if (work & BIT(ROVE_WORK_FLUSH))
		rove_req_error(&qp->req);
	req_finish(qp, false, now);
}

static void resp_turn(struct rove_qp *qp)
{
	unsigned long work = xchg(&qp->resp_half.work, 0);
	u64 now = ktime_get_ns();

	run_deferred(qp, &qp->resp_half, now);
	if (work & BIT(ROVE_WORK_FLUSH))
		rove_resp_error(&qp->resp);
	resp_finish(qp, now);
}

static void turn(struct rove_qp *qp, struct rove_half *h)
{
	if (h == &qp->req_half)
		req_turn(qp);
	else
		resp_turn(qp);
}

/* Does what was left for @h, unless its owner will. True: a budget ran out. */
static bool run_half(struct rove_qp *qp, struct rove_half *h)
{
	if (!rove_half_own(h))
		return false;
	do {
		turn(qp, h);
	} while (!rove_half_disown(h));
	return test_bit(ROVE_WORK_MORE, &h->work);
}

/* Gives up a half that was taken by rove_half_try_own(). */
static void leave_half(struct rove_qp *qp, struct rove_half *h)
{
	while (!rove_half_disown(h))
		turn(qp, h);
	if (test_bit(ROVE_WORK_MORE, &h->work))
		go_on(qp);
}

bool rove_run_packets(struct rove_qp *qp, struct rove_rxpkt *rx)
{
	u32 dqpn = rx->pkt.dqpn;
	struct rove_half *h;
	bool more;
	u64 now;

	do {
		h = packet_half(qp, rx);
		if (unlikely(!h || READ_ONCE(qp->dead))) {
			drop(qp, h ? ROVE_DROP_QPN : ROVE_DROP_TRANSPORT);
			more = next_packet(qp, rx);
			continue;
		}
		if (unlikely(!rove_half_try_own(h))) {
			more = defer_packets(qp, h, rx, dqpn);
			if (run_half(qp, h))
				go_on(qp);
			continue;
		}
		now = ktime_get_ns();
		run_deferred(qp, h, now);
		more = run_packets_of(qp, h, rx, dqpn, now);
		if (h == &qp->resp_half)
			resp_finish(qp, now);
		else
			req_finish(qp, true, now);
		leave_half(qp, h);
	} while (more && rx->pkt.dqpn == dqpn);
	return more;
}

/*
 * Both halves, a few batches of each, with softirqs in between. True: there is more
 * to do.
 */
static bool run_here(struct rove_qp *qp)
{
	bool more;
	int i;

	for (i = 0; i < BATCHES; i++) {
		local_bh_disable();
		WRITE_ONCE(qp->here, current);
		more = run_half(qp, &qp->req_half);
		if (test_bit(ROVE_WORK_FLUSH, &qp->resp_half.work) ||
		    qp->resp.state == ROVE_RESP_ERROR)
			more |= run_half(qp, &qp->resp_half);
		local_bh_enable();
		WRITE_ONCE(qp->here, NULL);
		/* Answers may have come already. */
		more |= test_bit(ROVE_WORK_MORE, &qp->req_half.work);
		if (!more)
			return false;
		if (need_resched())
			break;
	}
	return true;
}

void rove_run_kick(struct rove_qp *qp)
{
	rove_engine_kicked(qp->dev->engine);
	set_bit(ROVE_WORK_POST, &qp->req_half.work);
	if (run_here(qp))
		again(qp);
}

bool rove_run_doorbell(struct rove_qp *qp, bool last)
{
	set_bit(ROVE_WORK_POST, &qp->req_half.work);
	if (!run_here(qp))
		return false;
	if (last)
		again(qp);
	return !last;
}

void rove_run_posted(struct rove_qp *qp)
{
	set_bit(ROVE_WORK_POST, &qp->req_half.work);
	again(qp);
	/* From a thread that allows it the tasklet runs here and now. */
	if (!irqs_disabled() && !in_interrupt()) {
		local_bh_disable();
		local_bh_enable();
	}
}

static void dispatch(struct rove_qp *qp, u32 events)
{
	static const struct {
		u32 bit;
		enum ib_event_type type;
	} map[] = {
		{ ROVE_QPE_COMM_EST, IB_EVENT_COMM_EST },
		{ ROVE_QPE_SQ_DRAINED, IB_EVENT_SQ_DRAINED },
		{ ROVE_QPE_FATAL, IB_EVENT_QP_FATAL },
		{ ROVE_QPE_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
		{ ROVE_QPE_REQ_ERR, IB_EVENT_QP_REQ_ERR },
		{ ROVE_QPE_LAST_WQE, IB_EVENT_QP_LAST_WQE_REACHED },
	};
	struct ib_event ev = { .device = &qp->dev->ib, .element.qp = qp->ib };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map); i++) {
		if (!(events & map[i].bit) || !qp->ib->event_handler)
			continue;
		ev.event = map[i].type;
		qp->ib->event_handler(&ev, qp->ib->qp_context);
	}
}

void rove_run_tasklet(struct tasklet_struct *tasklet)
{
	struct rove_qp *qp = container_of(tasklet, struct rove_qp, tasklet);
	u32 events;
	bool more;

	more = run_half(qp, &qp->req_half);
	more |= run_half(qp, &qp->resp_half);
	events = atomic_xchg(&qp->events, 0);
	if (events)
		dispatch(qp, events);
	if (more)
		go_on(qp);
}

enum hrtimer_restart rove_run_timer(struct hrtimer *timer)
{
	struct rove_qp *qp = container_of(timer, struct rove_qp, timer);

	set_bit(ROVE_WORK_TIMER, &qp->req_half.work);
	if (run_half(qp, &qp->req_half))
		go_on(qp);
	return HRTIMER_NORESTART;
}

void rove_run_lock(struct rove_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	for (;;) {
		local_bh_disable();
		if (rove_half_try_own(&qp->req_half)) {
			if (rove_half_try_own(&qp->resp_half))
				return;
			leave_half(qp, &qp->req_half);
		}
		local_bh_enable();
		cond_resched();
	}
}

void rove_run_unlock(struct rove_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	leave_half(qp, &qp->resp_half);
	leave_half(qp, &qp->req_half);
	local_bh_enable();
}
