// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder half at work: requests to memory, completions and responses. It
 * carries out what proto/resp decides; called by the owner of the half, BH off.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include "../ip/rxpkt.h"
#include "../mem/memwr.h"
#include "../mem/sge.h"
#include "../wire/opcode.h"
#include "absent.h"
#include "batch.h"
#include "cq.h"
#include "keep.h"
#include "note.h"
#include "responder.h"
#include "samehost.h"
#include "srq.h"

#define GRH_LEN		40

/* Of a READ so much is fetched at once where it has to be. */
#define READ_AHEAD	SZ_256K

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

/* Pages of a remote access are missing: PAGE or REQ_ACCESS. */
static enum rove_fault resp_wait(struct rove_qp *qp, struct rove_mr *mr, u64 va, u32 len, u64 want,
				 bool write)
{
	struct rove_absent absent;

	rove_mr_absent(mr, va, len, want, write, &absent);
	return rove_absent_pause(&qp->resp_half, &absent, ROVE_FAULT_REQ_ACCESS);
}

enum rove_fault rove_responder_fill(struct rove_qp *qp, const struct rove_seg *seg, u8 *payload)
{
	enum rove_fault fault;
	struct rove_mr *mr;

	if (seg->source == ROVE_SEG_NONE || !seg->pkt.len)
		return ROVE_FAULT_NONE;
	if (unlikely(qp->xrcd) && !resp_name_srq(qp, seg->srqn))
		return ROVE_FAULT_REQ_ACCESS;
	mr = rove_mr_use(&qp->resp_half.mrs, seg->rkey, qp->remote_pd, qp->qpn,
			 IB_ACCESS_REMOTE_READ, seg->va, seg->pkt.len);
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	fault = rove_mr_read(mr, seg->va, payload, seg->pkt.len);
	if (unlikely(fault))
		fault = resp_wait(qp, mr, seg->va, seg->pkt.len, READ_AHEAD, false);
	rove_mr_leave(&qp->resp_half.mrs, mr);
	return fault;
}

/*
 * The MIDDLE of what a READ asked for, as far as it goes into the open train. A fault is that
 * of the packet behind it.
 */
static enum rove_fault resp_add_span(struct rove_qp *qp, struct rove_batch *b)
{
	struct rove_resp *resp = &qp->resp;
	u32 max = rove_batch_span_max(b, resp->conf.pmtu);
	struct rove_seg seg __uninitialized;
	enum rove_fault fault;
	struct rove_span s;

	if (max < 2 || !rove_span_answer(resp, max << resp->pmtu_shift, &s))
		return ROVE_FAULT_NONE;
	rove_span_seg(&s, resp->conf.dqpn, &seg);
	fault = rove_batch_add_span(qp, b, &s, &seg, rove_responder_fill);
	rove_span_answered(resp, &s);
	return fault;
}

/* Return: true when the budget ran out first. */
static bool resp_send(struct rove_qp *qp)
{
	struct rove_batch b __uninitialized;
	struct rove_seg seg __uninitialized;
	enum rove_fault fault = ROVE_FAULT_NONE;
	const struct rove_seg *lost;
	bool more = true;
	int ret = 0;

	if (qp->limits.ud)
		return false;
	if (qp->called) {
		/* It comes for the answers, as it came with the requests. */
		if (rove_resp_owes(&qp->resp))
			rove_samehost_call(qp);
		return false;
	}
	if (!rove_resp_next(&qp->resp, &seg))
		return false;

	rove_batch_begin(&b);
	rove_batch_to(qp, &b, &qp->path, &qp->resp_half.route);
	do {
		ret = fault ?: rove_batch_add(qp, &b, &seg, rove_responder_fill, &lost);
		if (unlikely(ret > 0)) {
			rove_resp_seg_failed(&qp->resp, &seg, ret);
			if (ret == ROVE_FAULT_PAGE)
				more = false;
			ret = 0;
			if (!more)
				break;
		} else if (unlikely(ret < 0)) {
			break;
		}
		fault = resp_add_span(qp, &b);
		if (!fault && rove_batch_full(&b))
			break;
		more = rove_resp_next(&qp->resp, &seg);
	} while (more);

	if (ret < 0 && lost == &seg) {
		/* What is in the train comes before it and can still go. */
		rove_resp_seg_dropped(&qp->resp, &seg);
		ret = 0;
		more = false;
	}
	if (!ret) {
		lost = &b.first;
		ret = rove_batch_flush(qp, &b);
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
		.pkey_index = comp->pkey_index,
		.status = rove_fault_info(comp->fault)->status,
		.opcode = comp->recv,
		.flags = comp->flags | ROVE_CQE_RECV,
	};

	if (qp->limits.ud && rx) {
		cqe.flags |= ROVE_CQE_GRH;
		if (!rx->flow.v6)
			cqe.flags |= ROVE_CQE_IPV4;
		if (rx->dev.tagged) {
			cqe.flags |= ROVE_CQE_VLAN;
			cqe.vlan = rx->dev.vlan;
		}
		if (skb_mac_header_was_set(rx->skb) && rx->dev.ether &&
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
	struct rove_absent absent;
};

static int resp_to_rqe(void *arg, const void *p, u32 len)
{
	struct resp_place *s = arg;
	enum rove_fault fault;

	fault = rove_sge_scatter(&s->qp->resp_half.mrs, s->qp->recv_pd, s->qp->rwqe->sge,
				 s->qp->rwqe->num, s->off, p, len, &s->absent);
	s->off += len;
	return fault;
}

static int resp_to_mr(void *arg, const void *p, u32 len)
{
	struct resp_place *s = arg;
	enum rove_fault fault;

	fault = rove_mr_write(s->mr, s->va, p, len);
	s->va += len;
	return fault;
}

/* The GRH area of a datagram: an IPv6 header, or 20 free bytes and an IPv4 one. */
static enum rove_fault resp_place_grh(struct rove_qp *qp, const struct rove_rxpkt *rx,
				      struct rove_absent *absent)
{
	u8 grh[GRH_LEN] = {};

	if (rx->flow.v6)
		memcpy(grh, ipv6_hdr(rx->skb), sizeof(struct ipv6hdr));
	else
		memcpy(grh + GRH_LEN - sizeof(struct iphdr), ip_hdr(rx->skb), sizeof(struct iphdr));
	return rove_sge_scatter(&qp->resp_half.mrs, qp->recv_pd, qp->rwqe->sge, qp->rwqe->num, 0,
				grh, sizeof(grh), absent);
}

static enum rove_fault resp_place_rqe(struct rove_qp *qp, const struct rove_resp_act *act,
				      struct rove_rxpkt *rx)
{
	enum rove_fault fault = ROVE_FAULT_NONE;
	struct resp_place s __uninitialized;

	s.qp = qp;
	s.off = act->off;
	if (qp->limits.ud)
		fault = resp_place_grh(qp, rx, &s.absent);
	if (!fault)
		fault = rove_rxpkt_copy(rx, resp_to_rqe, &s);
	if (unlikely(fault == ROVE_FAULT_PAGE))
		fault = rove_absent_pause(&qp->resp_half, &s.absent, ROVE_FAULT_LOCAL_PROT);
	return fault;
}

static enum rove_fault resp_place_mr(struct rove_qp *qp, const struct rove_resp_act *act,
				     struct rove_rxpkt *rx)
{
	enum rove_fault fault = ROVE_FAULT_NONE;
	struct resp_place s __uninitialized;

	s.va = act->va;
	s.mr = rove_mr_use(&qp->resp_half.mrs, act->rkey, qp->remote_pd, qp->qpn,
			   IB_ACCESS_REMOTE_WRITE, act->va, act->check_len);
	if (!s.mr)
		return ROVE_FAULT_REQ_ACCESS;
	if (act->len)
		fault = rove_rxpkt_copy(rx, resp_to_mr, &s);
	if (unlikely(fault))
		fault = resp_wait(qp, s.mr, act->va, act->len,
				  qp->resp.dma_len - qp->resp.off, true);
	rove_mr_leave(&qp->resp_half.mrs, s.mr);
	return fault;
}

/* A payload, whatever it belongs to. */
static enum rove_fault resp_place(struct rove_qp *qp, const struct rove_resp_act *act,
				  struct rove_rxpkt *rx)
{
	return act->kind == ROVE_RESP_PLACE_MR ? resp_place_mr(qp, act, rx) :
						 resp_place_rqe(qp, act, rx);
}

static enum rove_fault resp_check_read(struct rove_qp *qp, const struct rove_resp_act *act)
{
	struct rove_mr *mr;

	mr = rove_mr_use(&qp->resp_half.mrs, act->rkey, qp->remote_pd, qp->qpn,
			 IB_ACCESS_REMOTE_READ, act->va, act->check_len);
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	rove_mr_leave(&qp->resp_half.mrs, mr);
	return ROVE_FAULT_NONE;
}

static enum rove_fault resp_atomic(struct rove_qp *qp, const struct rove_resp_act *act, u64 *value)
{
	enum rove_fault fault;
	struct rove_mr *mr;

	if (act->va & 7)
		return ROVE_FAULT_REQ_INVALID;
	mr = rove_mr_find(&qp->dev->mrs, act->rkey, qp->remote_pd, qp->qpn, IB_ACCESS_REMOTE_ATOMIC,
			  act->va, sizeof(u64));
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	fault = rove_mr_atomic(mr, act->va, act->op, act->swap_add, act->compare, value);
	if (unlikely(fault == ROVE_FAULT_PAGE))
		fault = resp_wait(qp, mr, act->va, sizeof(u64), 0, true);
	rove_mr_put(mr);
	return fault;
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
	enum rove_fault fault;
	struct rove_mr *mr;
	u64 word;
	u8 *to = (u8 *)&word;

	mr = rove_mr_find(&qp->dev->mrs, act->rkey, qp->remote_pd, qp->qpn, IB_ACCESS_REMOTE_WRITE,
			  act->va, sizeof(word));
	if (!mr)
		return ROVE_FAULT_REQ_ACCESS;
	/* The packet may lie in pieces; what is written is one word. */
	rove_rxpkt_copy(rx, resp_to_word, &to);
	fault = rove_mr_write(mr, act->va, &word, sizeof(word));
	if (unlikely(fault))
		fault = resp_wait(qp, mr, act->va, sizeof(word), 0, true);
	rove_mr_put(mr);
	return fault;
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
bool rove_responder_packet(struct rove_qp *qp, struct rove_rxpkt *rx, u64 now)
{
	enum rove_fault fault = ROVE_FAULT_NONE;
	struct rove_resp_act act __uninitialized;
	struct rove_span span __uninitialized;
	struct rove_resp_result res;
	bool nowhere = false;

	trace_rove_packet_received(qp->qpn, &rx->pkt);
	if (unlikely(qp->xrcd)) {
		rx->pkt.opcode &= ROVE_OP_MASK;
		nowhere = !resp_name_srq(qp, rx->pkt.srqn);
	}
	if (rove_span_of(&rx->pkt, &span) && rove_span_accept(&qp->resp, &span, &act)) {
		fault = resp_place(qp, &act, rx);
		if (likely(!fault)) {
			rove_span_accepted(&qp->resp, &span);
			return true;
		}
	}
	rove_resp_packet(&qp->resp, &rx->pkt, &act);
	while (act.kind > ROVE_RESP_LATER) {
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
		case ROVE_RESP_PLACE_MR:
			res.fault = fault ?: resp_place(qp, &act, rx);
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
		rove_note_drop(qp, act.drop);
	else if (unlikely(act.kind == ROVE_RESP_KEEP) && !rove_keep(qp, rx))
		rove_note_drop(qp, ROVE_DROP_SEQ);
	resp_reap(qp, rx, now);
	return act.kind != ROVE_RESP_LATER;
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
			rove_note_events(qp, ROVE_QPE_LAST_WQE);
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

void rove_responder_settle(struct rove_qp *qp, u64 now)
{
	struct rove_resp *resp = &qp->resp;

	if (unlikely(resp->broken)) {
		resp->broken = false;
		rove_qp_fail(qp, false);
	}
	if (unlikely(resp->state == ROVE_RESP_ERROR)) {
		rove_keep_forget(qp);
		resp_flush(qp, now);
	}
	rove_note_events(qp, rove_resp_take_events(resp));
	rove_note_tally(qp, &resp->tally);
}

void rove_responder_finish(struct rove_qp *qp, u64 now)
{
	if (!qp->resp_half.paused && resp_send(qp))
		set_bit(ROVE_WORK_MORE, &qp->resp_half.work);
	rove_prompt_sent(&qp->prompt);
	rove_responder_settle(qp, now);
}
