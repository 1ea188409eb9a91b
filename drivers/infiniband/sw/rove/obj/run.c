// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When QPs are run, and by whom: by the softirq that brought packets, the user's
 * system call, the engine, the tasklet or the timer, whoever gets the half
 * (obj/half.h). What then happens is in obj/requester and obj/responder.
 *
 * A turn is bounded (ROVE_BATCH_*), so that the receive side gets the CPU; what
 * remains is noted as ROVE_WORK_MORE and taken up by the tasklet, or by the
 * thread that began it.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include "../ip/rxpkt.h"
#include "../wire/opcode.h"
#include "../wire/psn.h"
#include "absent.h"
#include "batch.h"
#include "cq.h"
#include "engine.h"
#include "half.h"
#include "keep.h"
#include "note.h"
#include "requester.h"
#include "responder.h"
#include "round.h"
#include "run.h"
#include "samehost.h"
#include "uctx.h"

/* Sections that a kick or the engine spends on one QP at a time. */
#define BATCHES		8
/* Trains that wait for a busy half. */
#define QUEUE_MAX	1024

/* Where a deferred train goes on; in skb->cb. */
struct deferred {
	u32 off;
	u32 end;
	u32 index;
	struct rove_rxdev dev;
};

static struct deferred *deferred_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct deferred) > sizeof(skb->cb));
	return (struct deferred *)skb->cb;
}

/* A budget ran out: that thread goes on, or else the tasklet. */
static void go_on(struct rove_qp *qp)
{
	if (!rove_note_thread_follows(qp))
		rove_note_work(qp);
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
		rove_note_drop(qp, why);
	}
	return false;
}

/*
 * Keeps the packets from here on, as long as they are for @h, for its owner. @first:
 * before all that is kept, by the owner.
 */
static bool defer_packets(struct rove_qp *qp, struct rove_half *h, struct rove_rxpkt *rx, u32 dqpn,
			  bool first)
{
	u32 off = rx->off, index = rx->index, end;
	struct sk_buff *clone;
	bool more;

	do {
		end = rx->off + rx->total;
		more = next_packet(qp, rx);
	} while (more && rx->pkt.dqpn == dqpn && packet_half(qp, rx) == h);

	if (!first && skb_queue_len_lockless(&h->packets) >= QUEUE_MAX) {
		rove_note_drop(qp, ROVE_DROP_BUSY);
		return more;
	}
	clone = skb_clone(rx->skb, GFP_ATOMIC);
	if (clone && skb_orphan_frags_rx(clone, GFP_ATOMIC)) {
		kfree_skb(clone);
		clone = NULL;
	}
	if (!clone) {
		rove_note_drop(qp, ROVE_DROP_NOMEM);
		return more;
	}
	*deferred_of(clone) = (struct deferred){
		.off = off, .end = end, .index = index, .dev = rx->dev,
	};
	/* The half may be paused for long, and the netdev is not held. */
	clone->dev = NULL;
	if (first)
		skb_queue_head(&h->packets, clone);
	else
		skb_queue_tail(&h->packets, clone);
	return more;
}

/* False: its memory is not there, and the half is paused. */
static bool run_packet(struct rove_qp *qp, struct rove_half *h, struct rove_rxpkt *rx, u64 now)
{
	if (unlikely(!rove_rxpkt_icrc_ok(rx))) {
		rove_note_drop(qp, ROVE_DROP_ICRC);
		return true;
	}
	if (h == &qp->resp_half)
		return rove_responder_packet(qp, rx, now);
	return rove_requester_packet(qp, rx, now);
}

/* What was kept, as far as nothing is missing before it. */
static void run_kept(struct rove_qp *qp, u64 now)
{
	struct rove_half *h = &qp->resp_half;
	struct rove_rxpkt rx __uninitialized;
	struct sk_buff *skb;
	bool more;
	s32 early;

	while (!h->paused && (skb = rove_keep_take(qp, &rx))) {
		for (more = true; more; more = next_packet(qp, &rx)) {
			early = rove_psn_diff(rx.pkt.psn, qp->resp.epsn);
			if (early > 0 || (!early && !run_packet(qp, h, &rx, now)))
				break;
		}
		if (more)
			rove_keep_rest(qp, skb, &rx);
		else
			consume_skb(skb);
	}
}

/* Executes the current packet and those behind it as long as they are for @h: @count. */
static bool run_packets_of(struct rove_qp *qp, struct rove_half *h, struct rove_rxpkt *rx,
			   u32 dqpn, u64 now, u32 *count)
{
	u32 packets = 0, bytes = 0, total;
	bool request = h == &qp->resp_half, more;

	if (request)
		qp->called = false;
	do {
		total = rx->total;
		if (unlikely(h->paused || !run_packet(qp, h, rx, now))) {
			more = defer_packets(qp, h, rx, dqpn, true);
			break;
		}
		packets++;
		bytes += total;
		if (unlikely(request && !skb_queue_empty(&qp->kept)))
			run_kept(qp, now);
		more = next_packet(qp, rx);
	} while (more && rx->pkt.dqpn == dqpn && packet_half(qp, rx) == h);

	rove_stat_add(READ_ONCE(qp->stats), ROVE_STAT_RX_PACKETS, packets);
	rove_stat_add(READ_ONCE(qp->stats), ROVE_STAT_RX_BYTES, bytes);
	*count = packets;
	return more;
}

/* The owner takes up what others left. */
static void run_deferred(struct rove_qp *qp, struct rove_half *h, u64 now)
{
	struct rove_rxpkt rx __uninitialized;
	struct deferred d __uninitialized;
	struct sk_buff *skb;
	u32 count;

	if (h == &qp->resp_half && unlikely(!skb_queue_empty(&qp->kept)))
		run_kept(qp, now);
	if (skb_queue_empty_lockless(&h->packets))
		return;
	while (!h->paused && (skb = skb_dequeue(&h->packets))) {
		d = *deferred_of(skb);
		if (rove_rxpkt_begin(&rx, skb)) {
			rx.off = d.off;
			rx.end = d.end;
			rx.index = d.index;
			rx.dev = d.dev;
			if (rove_rxpkt_read(&rx) == ROVE_DROP_NONE)
				run_packets_of(qp, h, &rx, rx.pkt.dqpn, now, &count);
		}
		consume_skb(skb);
	}
}

/* ---- turns ---------------------------------------------------------------- */

static void req_turn(struct rove_qp *qp)
{
	unsigned long work = xchg(&qp->req_half.work, 0);
	u64 now = ktime_get_ns();

	if (work & BIT(ROVE_WORK_PAGES))
		rove_absent_fetched(&qp->req_half);
	run_deferred(qp, &qp->req_half, now);
	if (work & BIT(ROVE_WORK_TIMER)) {
		trace_rove_timer_expired(qp->qpn, qp->timer_armed);
		qp->timer_armed = 0;
		/* Answers that came may be among what is kept. */
		if (!qp->req_half.paused)
			rove_req_timer(&qp->req, now);
		/* It waited long enough for what it sends again now. */
		if (rove_req_resends(&qp->req))
			qp->tx_cpu = smp_processor_id();
	}
	if (work & BIT(ROVE_WORK_FLUSH)) {
		rove_absent_forget(&qp->req_half);
		rove_req_error(&qp->req);
	}
	rove_requester_finish(qp, false, now);
}

static void resp_turn(struct rove_qp *qp)
{
	unsigned long work = xchg(&qp->resp_half.work, 0);
	u64 now = ktime_get_ns();

	if (work & BIT(ROVE_WORK_PAGES))
		rove_absent_fetched(&qp->resp_half);
	run_deferred(qp, &qp->resp_half, now);
	if (work & BIT(ROVE_WORK_FLUSH)) {
		rove_absent_forget(&qp->resp_half);
		rove_resp_error(&qp->resp);
	}
	if (rove_prompt_late(&qp->prompt, now))
		rove_stat_add(READ_ONCE(qp->stats), ROVE_STAT_ACKS_LATE, 1);
	rove_responder_finish(qp, now);
	if (work & BIT(ROVE_WORK_PEER))
		rove_samehost_call(qp);
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

bool rove_run_enter(struct rove_half *h)
{
	if (rove_half_try_own(h))
		return true;
	set_bit(ROVE_WORK_PEER, &h->work);
	return rove_half_own(h);
}

/* Gives up a half that was taken by rove_half_try_own(). */
void rove_run_leave(struct rove_qp *qp, struct rove_half *h)
{
	while (!rove_half_disown(h))
		turn(qp, h);
	if (test_bit(ROVE_WORK_MORE, &h->work))
		go_on(qp);
}

/* Who is going to sleep is woken from its own CPU sooner than by the engine's. */
static bool is_awaited(struct rove_qp *qp)
{
	return (qp->send_cq && rove_cq_is_awaited(qp->send_cq)) ||
	       (qp->recv_cq && rove_cq_is_awaited(qp->recv_cq));
}

/*
 * Something was sent that is not acknowledged, nor by @next, the packet behind. A hint for
 * the responder half.
 */
static bool is_unanswered(const struct rove_qp *qp, const struct rove_rxpkt *next)
{
	u32 end = READ_ONCE(qp->req.max_psn);

	if (READ_ONCE(qp->req.una) == end)
		return false;
	return !next || next->pkt.dqpn != qp->qpn || next->pkt.opcode != ROVE_OP_ACK ||
	       (next->pkt.syndrome & ROVE_AETH_KIND) != ROVE_AETH_ACK ||
	       rove_psn_diff(end, next->pkt.psn) != 1;
}

static void start_ack_timer(struct rove_qp *qp, u64 ns)
{
	mod_timer(&qp->ack_timer, jiffies + nsecs_to_jiffies(ns) + 1);
}

/*
 * A request came by itself: will the requester half send something soon, so that the ACK
 * can go with it? Who sleeps until something comes does not answer so soon, and had better
 * be told early that what it sent is done. Who still waits for an ACK may not send before it
 * has it; if the peer did the same, both would wait for each other.
 */
static bool ack_waits(struct rove_qp *qp, const struct rove_rxpkt *next, u64 now)
{
	if (!rove_prompt_alone(&qp->prompt, now, READ_ONCE(qp->tx_time)))
		return false;
	smp_mb();	/* pairs with the requester's, between what it sends and its look */
	if (READ_ONCE(qp->tx_time) > now || is_unanswered(qp, next) || is_awaited(qp)) {
		rove_prompt_sent(&qp->prompt);
		return false;
	}
	/*
	 * It is not stopped when the ACK goes, and sees to the next one then. It may be a tick
	 * late, and needs no interrupt of its own.
	 */
	if (!xchg(&qp->ack_timed, 1))
		start_ack_timer(qp, ROVE_PROMPT_WAIT_NS);
	return true;
}

/*
 * What came in, @count packets, was taken. The trains behind it, which the stack holds
 * already, get one ACK with it: the tasklet comes when the softirq has seen them all.
 * @next: the packet behind in the same train, or NULL.
 */
static void answer(struct rove_qp *qp, u32 count, const struct rove_rxpkt *next, u64 now)
{
	if (!in_serving_softirq() || !rove_resp_owes_ack(&qp->resp)) {
		rove_responder_finish(qp, now);
		return;
	}
	rove_responder_settle(qp, now);
	if (count > 1)
		rove_prompt_crowd(&qp->prompt);
	else if (ack_waits(qp, next, now))
		return;
	rove_note_work(qp);
}

bool rove_run_packets(struct rove_qp *qp, struct rove_rxpkt *rx)
{
	u32 dqpn = rx->pkt.dqpn;
	struct rove_half *h;
	u32 count;
	bool more;
	u64 now;

	do {
		h = packet_half(qp, rx);
		count = 0;
		if (unlikely(!h || READ_ONCE(qp->dead))) {
			rove_note_drop(qp, h ? ROVE_DROP_QPN : ROVE_DROP_TRANSPORT);
			more = next_packet(qp, rx);
			continue;
		}
		if (unlikely(!rove_half_try_own(h))) {
			more = defer_packets(qp, h, rx, dqpn, false);
			if (run_half(qp, h))
				go_on(qp);
			continue;
		}
		now = ktime_get_ns();
		run_deferred(qp, h, now);
		if (unlikely(h->paused))
			more = defer_packets(qp, h, rx, dqpn, false);
		else
			more = run_packets_of(qp, h, rx, dqpn, now, &count);
		if (h == &qp->resp_half)
			answer(qp, count, more ? rx : NULL, now);
		else
			rove_requester_finish(qp, true, now);
		rove_run_leave(qp, h);
	} while (more && rx->pkt.dqpn == dqpn);
	return more;
}

/*
 * Both halves, a few batches of each, with softirqs in between; why is counted as @stat.
 * True: there is more to do.
 */
static bool run_here(struct rove_qp *qp, unsigned int stat)
{
	bool more;
	int i;

	for (i = 0; i < BATCHES; i++) {
		local_bh_disable();
		if (!i)
			rove_stat_add(READ_ONCE(qp->stats), stat, 1);
		WRITE_ONCE(qp->here, current);
		rove_round_begin();
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

bool rove_run_had_better_kick(struct rove_qp *qp)
{
	return rove_ring_pending(&qp->sq) <= 1 && is_awaited(qp);
}

void rove_run_kick(struct rove_qp *qp)
{
	u64 start = ktime_get_ns();

	if (!is_awaited(qp))
		rove_engine_kicked(qp->dev->engine);
	/* Before what is posted is looked at: there is nothing left for others to find. */
	if (qp->db_slot != ROVE_DB_NO_SLOT)
		rove_uctx_unring(qp->uctx, qp->db_slot);
	set_bit(ROVE_WORK_POST, &qp->req_half.work);
	if (run_here(qp, ROVE_STAT_KICKS))
		rove_note_work(qp);
	rove_watch_kicked(qp->uctx, start, ktime_get_ns());
}

bool rove_run_doorbell(struct rove_qp *qp, bool last)
{
	set_bit(ROVE_WORK_POST, &qp->req_half.work);
	if (!run_here(qp, ROVE_STAT_DOORBELLS))
		return false;
	if (last)
		rove_note_work(qp);
	return !last;
}

void rove_run_posted(struct rove_qp *qp)
{
	set_bit(ROVE_WORK_POST, &qp->req_half.work);
	rove_note_work(qp);
	/* From a thread that allows it the tasklet runs here and now. */
	if (!irqs_disabled() && !in_interrupt()) {
		local_bh_disable();
		local_bh_enable();
	}
}

void rove_run_handed(void *arg)
{
	struct rove_qp *qp = arg;

	rove_note_work(qp);
	/* Pairs with destroy: it is this side's last look at the QP. */
	smp_store_release(&qp->handed, false);
}

void rove_run_fetched(struct rove_qp *qp, struct rove_half *h)
{
	bool more;

	set_bit(ROVE_WORK_PAGES, &h->work);
	local_bh_disable();
	more = run_half(qp, h);
	local_bh_enable();
	if (more)
		go_on(qp);
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

	if (!rove_round_takes()) {
		tasklet_schedule(tasklet);
		return;
	}
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

	/* Many may expire at once, and the receive side has to have its turn in between. */
	set_bit(ROVE_WORK_TIMER, &qp->req_half.work);
	rove_note_work(qp);
	return HRTIMER_NORESTART;
}

void rove_run_ack_timer(struct timer_list *timer)
{
	struct rove_qp *qp = container_of(timer, struct rove_qp, ack_timer);
	u64 left = rove_prompt_left(&qp->prompt, ktime_get_ns());

	if (left <= 1) {
		WRITE_ONCE(qp->ack_timed, 0);
		smp_mb();	/* pairs with the responder's: the timer is started, or goes on */
		left = rove_prompt_left(&qp->prompt, ktime_get_ns());
		/* Also that of an ACK that began to wait since, if this CPU stood still. */
		if (left == 1)
			rove_note_work(qp);
		if (left <= 1 || xchg(&qp->ack_timed, 1))
			return;
	}
	start_ack_timer(qp, left);
}

void rove_run_lock(struct rove_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	for (;;) {
		local_bh_disable();
		if (rove_half_try_own(&qp->req_half)) {
			if (rove_half_try_own(&qp->resp_half))
				return;
			rove_run_leave(qp, &qp->req_half);
		}
		local_bh_enable();
		cond_resched();
	}
}

void rove_run_flush(struct rove_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	/* One half may fail at what it does in its turn, and the other one with it. */
	while (test_bit(ROVE_WORK_FLUSH, &qp->resp_half.work) ||
	       test_bit(ROVE_WORK_FLUSH, &qp->req_half.work)) {
		resp_turn(qp);
		req_turn(qp);
	}
}

void rove_run_unlock(struct rove_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	rove_run_leave(qp, &qp->resp_half);
	rove_run_leave(qp, &qp->req_half);
	local_bh_enable();
}
