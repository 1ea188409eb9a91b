// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "retry.h"

#define MAX_DOUBLINGS	2	/* of the timeout */
#define WINDOW_LEAST	4U	/* packets that a loss leaves of the window */
#define PROBE_SHIFT	5	/* of the timeout: when the first probe is sent, */
#define PROBE_LEAST	100000U	/* ns, but not before that */
#define DROP_DELAY	10000U	/* ns, doubled with each drop without progress, */
#define DROP_DOUBLINGS	7	/* up to 1.28 ms */

/* RNR NAK timer field, in units of 10 us (IBTA vol. 1, table 45). */
static const u32 rnr_delay[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12,
	16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

/* Twice as long after the first time, then four times, which is what may be (9.9.2.4.2.1). */
static u64 timeout_at(const struct rove_req *q)
{
	return q->clock + (4096ULL << ((q->conf.timeout & 31) + min(q->retries, MAX_DOUBLINGS)));
}

/* What is missing is an answer that takes long to make, or the request for it. */
static bool waits_for_answer(const struct rove_req *q)
{
	return rove_wqe_is(rove_req_wqe(q, q->acked), ROVE_WQEP_RD);
}

/*
 * Where one packet was lost the next one is likely to be. It may be an answer, or one that
 * was sent again, and of that the peer says nothing a second time. What is left then is the
 * timeout, which is long, since it must not run out where nothing is lost. So as long as
 * the window is narrow what is not answered is sent again earlier: after a small part of
 * the timeout, then after twice that, and so on. This uses no budget. A peer that has let
 * a whole timeout pass is left alone until it says something.
 */
static void probe_later(struct rove_req *q, u64 now)
{
	u64 after = 4096ULL << (q->conf.timeout & 31) >> PROBE_SHIFT << q->probes;

	q->probe_at = 0;
	if (q->timing && (q->send_less || q->went_back) && !waits_for_answer(q))
		q->probe_at = now + max_t(u64, after, PROBE_LEAST);
}

void rove_retry_arm(struct rove_req *q)
{
	q->deadline = q->timing && q->conf.timeout ? timeout_at(q) : 0;
	if (q->probe_at && q->probe_at < q->deadline)
		q->deadline = q->probe_at;
	if (q->hold && (!q->deadline || q->held_until < q->deadline))
		q->deadline = q->held_until;
}

void rove_retry_run_clock(struct rove_req *q, u64 now)
{
	q->timing = true;
	q->clock = now;
	q->probes = 0;
	probe_later(q, now);
	rove_retry_arm(q);
}

void rove_retry_stop(struct rove_req *q)
{
	q->hold = ROVE_HOLD_NONE;
	q->timing = false;
	q->probe_at = 0;
	q->deadline = 0;
}

void rove_retry_release(struct rove_req *q, u64 now)
{
	if (q->hold == ROVE_HOLD_RNR) {
		q->timing = q->una != q->max_psn;
		q->clock = now;
	}
	q->hold = ROVE_HOLD_NONE;
	rove_retry_arm(q);
}

/* Sending goes on at una, and nothing is in flight. */
static void send_from_una(struct rove_req *q)
{
	const struct rove_swqe *w = rove_req_wqe(q, q->acked);

	q->send = q->acked;
	q->send_off = q->acked == q->begun ? 0 : rove_retry_offset(q, w, q->una);
	q->psn = q->una;
	q->send_bytes = q->una_bytes;
	q->rd_atomic = 0;
	q->unasked = 0;
}

/* What WQE @w has in flight between bytes @from and @to leaves the flight. */
static void take_back(struct rove_req *q, const struct rove_swqe *w, u32 from, u32 to)
{
	if (!rove_wqe_is(w, ROVE_WQEP_RD))
		q->send_bytes -= to - from;
	else if (from < to)	/* one READ request for each chunk touched, an atomic: 1 */
		q->rd_atomic -= ((to - 1) >> q->chunk_shift) - (from >> q->chunk_shift) + 1;
	else
		q->rd_atomic--;	/* READ of nothing */
}

/* The WQE with packets before the one that is sent next; there is one. */
static const struct rove_swqe *step_back(struct rove_req *q)
{
	const struct rove_swqe *w;

	do {
		w = rove_req_wqe(q, --q->send);
	} while (rove_wqe_is(w, ROVE_WQEP_LOCAL));
	return w;
}

void rove_retry_go_back(struct rove_req *q, u32 psn)
{
	const struct rove_swqe *w = rove_req_wqe(q, q->send);
	u32 off;

	if (psn == q->psn)
		return;
	if (psn == q->una) {
		send_from_una(q);
		return;
	}
	if (q->send_off && rove_retry_span(w->first_psn, psn) >=
			   rove_retry_span(w->first_psn, q->psn)) {
		take_back(q, w, 0, q->send_off);
		q->send_off = 0;
	}
	if (!q->send_off) {
		w = step_back(q);
		while (rove_retry_span(w->first_psn, psn) >
		       rove_retry_span(w->first_psn, w->last_psn)) {
			take_back(q, w, 0, w->length);
			w = step_back(q);
		}
		q->send_off = w->length;
	}
	off = rove_retry_offset(q, w, psn);
	take_back(q, w, off, q->send_off);
	q->send_off = off;
	q->psn = psn;
	q->unasked = 0;
}

/* So much was too much: @window bytes for now, or the least, and half of it soon. */
static void narrow(struct rove_req *q, u32 window)
{
	u32 least = min(q->conf.window, WINDOW_LEAST * q->conf.pmtu);
	u32 half = (q->send_bytes - q->una_bytes) / 2;

	if (waits_for_answer(q))
		return;
	if (rove_retry_window(q) > least)
		q->send_goal = max(half, least);
	window = max(window, least);
	if (window < rove_retry_window(q))
		q->send_less = q->conf.window - window;
}

void rove_retry_widen(struct rove_req *q, u32 bytes)
{
	u32 window = rove_retry_window(q);

	if (likely(!q->send_less))
		return;
	/* Twice the window for each window that is acknowledged, or a packet more. */
	if (window >= q->send_goal)
		bytes = DIV_ROUND_UP(bytes, max(window >> q->pmtu_shift, 1U));
	q->send_less -= min(q->send_less, bytes);
}

void rove_retry_gap(struct rove_req *q, u64 now)
{
	if (q->went_back)
		return;
	q->went_back = true;
	narrow(q, (q->send_bytes - q->una_bytes) / 2);
	rove_retry_go_back(q, q->una);
	probe_later(q, now);
	rove_retry_arm(q);
}

static void probe(struct rove_req *q, u64 now)
{
	narrow(q, 0);
	rove_retry_go_back(q, q->una);
	q->probes++;
	probe_later(q, now);
	rove_retry_arm(q);
}

void rove_retry_progress(struct rove_req *q, u32 old, u64 now)
{
	/* What was sent before going back may still be acknowledged. */
	if (rove_retry_span(old, q->una) > rove_retry_span(old, q->psn))
		send_from_una(q);
	q->retries = 0;
	q->rnr_retries = 0;
	q->drops = 0;
	q->went_back = false;
	if (q->hold == ROVE_HOLD_RNR)
		q->hold = ROVE_HOLD_NONE;
	q->timing = q->una != q->max_psn;
	q->clock = now;
	q->probes = 0;
	probe_later(q, now);
	rove_retry_arm(q);
}

bool rove_retry_rnr(struct rove_req *q, u8 timer, u64 now)
{
	if (q->conf.rnr_retry != 7 && q->rnr_retries >= q->conf.rnr_retry)
		return false;
	if (q->rnr_retries < 7)
		q->rnr_retries++;
	rove_retry_go_back(q, q->una);
	q->went_back = false;
	q->probe_at = 0;
	/* The peer is alive: the clock starts again after the pause. */
	q->timing = false;
	q->hold = ROVE_HOLD_RNR;
	q->held_until = now + rnr_delay[timer & ROVE_AETH_VALUE] * 10000ULL;
	rove_retry_arm(q);
	return true;
}

void rove_retry_dropped(struct rove_req *q, u32 psn, u64 now)
{
	if (rove_retry_span(q->una, psn) >= rove_retry_span(q->una, q->psn))
		return;		/* went back further already, or not outstanding */
	if (!q->drops)
		narrow(q, (q->send_bytes - q->una_bytes) / 2);
	rove_retry_go_back(q, psn);
	if (q->hold == ROVE_HOLD_RNR)
		return;
	q->went_back = false;
	q->hold = ROVE_HOLD_DROP;
	q->held_until = now + ((u64)DROP_DELAY << q->drops);
	if (q->drops < DROP_DOUBLINGS)
		q->drops++;
	rove_retry_arm(q);
}

bool rove_retry_timer(struct rove_req *q, u64 now)
{
	if (!q->deadline || now < q->deadline)
		return true;
	if (q->hold && now >= q->held_until)
		rove_retry_release(q, now);
	if (q->timing && q->probe_at && now >= q->probe_at)
		probe(q, now);
	if (!q->deadline || now < q->deadline)
		return true;

	rove_tally_add(&q->tally, ROVE_TALLY_TIMEOUT);
	if (q->retries >= q->conf.retry_cnt)
		return false;
	q->retries++;
	if (q->conf.read_window && rove_wqe_is(rove_req_wqe(q, q->acked), ROVE_WQEP_RD))
		q->read_less += rove_retry_read_window(q) / 2;
	narrow(q, 0);
	rove_retry_go_back(q, q->una);
	q->went_back = false;
	q->probes = 0;
	q->probe_at = 0;
	q->clock = now;
	rove_retry_arm(q);
	return true;
}
