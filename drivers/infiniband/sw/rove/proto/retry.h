/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requester, the part that goes back: where sending goes on after a loss, what
 * waits how long, and which budget that uses (IBTA vol. 1, 9.7.5.1.3, 9.7.5.2.8,
 * 9.9.2.4). For proto/req.c, and proto/span.c.
 */
#ifndef ROVE_PROTO_RETRY_H
#define ROVE_PROTO_RETRY_H

#include "../wire/psn.h"
#include "req.h"

enum rove_retry_hold {
	ROVE_HOLD_NONE,
	ROVE_HOLD_RNR,		/* the peer asked for a pause */
	ROVE_HOLD_DROP,		/* the local stack is full */
};

/* PSNs from @from up to @to, 0 to 2^24 - 1. */
static inline u32 rove_retry_span(u32 from, u32 to)
{
	return (to - from) & ROVE_PSN_MASK;
}

/* Bytes of @w's message before @psn, which is one of its own or the one after. */
static inline u32 rove_retry_offset(const struct rove_req *q, const struct rove_swqe *w, u32 psn)
{
	u64 off = (u64)rove_retry_span(w->first_psn, psn) << q->pmtu_shift;

	return min_t(u64, off, w->length);
}

/* The deadline follows from hold and clock. */
void rove_retry_arm(struct rove_req *q);

/* A packet was sent while no clock ran. */
void rove_retry_run_clock(struct rove_req *q, u64 now);

/* Nothing is to be waited for any more. */
void rove_retry_stop(struct rove_req *q);

/* The pause is over. */
void rove_retry_release(struct rove_req *q, u64 now);

/* Send again from @psn on, which lies between una and psn. */
void rove_retry_go_back(struct rove_req *q, u32 psn);

/* Something is missing at una: go back there, once. */
void rove_retry_gap(struct rove_req *q, u64 now);

/* una moved up from @old, and acked with it. */
void rove_retry_progress(struct rove_req *q, u32 old, u64 now);

/* RNR NAK for una. False: budget used up. */
bool rove_retry_rnr(struct rove_req *q, u8 timer, u64 now);

/* The stack dropped what begins at @psn. */
void rove_retry_dropped(struct rove_req *q, u32 psn, u64 now);

/*
 * Bytes that READs may have asked for: conf.read_window, halved when time ran out,
 * since a peer that is slow to answer is not helped by being asked for all of it
 * again; back by a packet for each one that comes. conf.read_window is not 0.
 */
static inline u32 rove_retry_read_window(const struct rove_req *q)
{
	return q->conf.read_window - min(q->read_less, q->conf.read_window - 1);
}

/*
 * Bytes of SEND and WRITE that may be in flight: conf.window, halved by a loss, since what
 * was in flight behind it is sent again, and since a queue that overflows is not helped by
 * having all of it again. What is acknowledged opens it.
 */
static inline u32 rove_retry_window(const struct rove_req *q)
{
	return q->conf.window - min(q->send_less, q->conf.window - 1);
}

/* @bytes more of SEND and WRITE are acknowledged. */
void rove_retry_widen(struct rove_req *q, u32 bytes);

/* Time has passed. False: budget used up. */
bool rove_retry_timer(struct rove_req *q, u64 now);

#endif /* ROVE_PROTO_RETRY_H */
