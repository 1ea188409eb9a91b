/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requester: send work requests in; packets, completions and a deadline out.
 * It also takes the responses (ACK, NAK, READ data, atomic results): both share
 * one state. RC; UC, UD and the GSI, where a request is complete once handed over.
 *
 * The driver (obj/requester.c, tests/sim) owns the machine while it calls; one call at
 * a time. A turn of the driver is: feed packets, the timer and new WQEs; call
 * rove_req_next() while there is budget; call rove_req_reap() until it is
 * empty; look at rove_req_deadline(), events and broken.
 */
#ifndef ROVE_PROTO_REQ_H
#define ROVE_PROTO_REQ_H

#include "../base.h"
#include "../ring/wqe.h"
#include "fault.h"
#include "pkey.h"
#include "seg.h"
#include "tally.h"

enum rove_qp_type {
	ROVE_QPT_RC,
	ROVE_QPT_UD,		/* GSI too */
	ROVE_QPT_UC,
};

enum rove_req_state {
	ROVE_REQ_RESET,		/* before RTS: WQEs are taken, nothing is sent */
	ROVE_REQ_RUN,
	ROVE_REQ_DRAIN,		/* SQD: no new message is begun */
	ROVE_REQ_BROKEN,	/* set by the machine itself: waits for rove_req_error() */
	ROVE_REQ_ERROR,		/* ERR, SQE: all that is posted is flushed */
};

/* Set before rove_req_start(), changed only between calls. */
struct rove_req_conf {
	u8 type;		/* enum rove_qp_type */
	bool xrc;		/* RC with other opcodes and an XRCETH: INI */
	u8 timeout;		/* 4.096 us << n; 0: wait for ever */
	u8 retry_cnt;		/* 0-7 */
	u8 rnr_retry;		/* 0-7; 7: for ever */
	u8 max_rd_atomic;	/* READs and atomics outstanding; 0: none allowed */
	struct rove_pkeys pkeys;
	u32 pmtu;		/* 256-4096 */
	u32 dqpn;
	u32 sqpn;		/* own number, UD */
	u32 qkey;		/* UD: used when a WQE's qkey has its top bit set */
	u32 window;		/* bytes of SEND and WRITE in flight, >= pmtu; not UC */
	u32 read_window;	/* bytes asked for by READs and not answered: another
				 * one waits while there are so many; 0: no limit
				 */
	u32 read_chunk;		/* bytes asked for by one READ request; a longer READ
				 * is cut. Rounded down to a power of two, at least
				 * pmtu, at most 2^22 packets
				 */
};

struct rove_req {
	struct rove_req_conf conf;
	struct rove_tally tally;
	u8 state;		/* enum rove_req_state */
	bool broken;		/* the QP must go to ERR (UC, UD: the SQ to SQE); cleared
				 * by the driver
				 */
	u32 events;		/* enum rove_qp_event, taken by the driver */

	u8 *slots;		/* private WQEs, rove_wqe_private_stride() apart */
	u32 mask;
	u32 stride;
	u32 post;		/* next slot to fill      all run freely, */
	u32 send;		/* next WQE to send       masked on use */
	u32 acked;		/* first WQE not done */
	u32 reaped;		/* first WQE not reaped */
	/* proto/'s own from here on */
	u32 begun;		/* first WQE that has no PSNs yet */
	u32 send_off;		/* bytes of WQE send that were sent */
	u32 psn;		/* of the next packet: una <= psn <= max_psn */
	u32 max_psn;		/* after the last one ever sent: below it is a resend */
	u32 una;		/* first PSN not acknowledged */
	u32 send_bytes;		/* SEND and WRITE bytes before psn and */
	u32 una_bytes;		/* before una; both run freely */
	u32 unasked;		/* bytes sent since the last AckReq */
	u32 restart_psn;	/* where the last READ request began inside a chunk */
	u32 ssn;
	u32 rd_atomic;		/* READ requests and atomics between una and psn */
	u32 read_less;		/* bytes taken off conf.read_window: the peer is slow */
	u32 send_less;		/* bytes taken off conf.window: the network is full */
	u32 send_goal;		/* the window opens fast up to here, then slowly */
	u32 place_len;		/* READ data on its way to memory */
	u8 pmtu_shift;
	u8 chunk_shift;
	u8 retries;		/* timeouts, RNR NAKs and drops since the */
	u8 rnr_retries;		/* last progress */
	u8 drops;
	u8 probes;		/* sent since then or since the last timeout */
	u8 hold;		/* enum rove_retry_hold: why nothing is sent now */
	bool placing;
	bool drained;
	bool went_back;		/* for una: do it once */
	bool timing;		/* clock runs */
	u64 clock;		/* ns; last progress, or the first send after it */
	u64 held_until;		/* ns */
	u64 probe_at;		/* ns; 0: never */
	u64 deadline;		/* ns; 0: none */
};

/**
 * rove_req_init() - once, before anything else
 * @slots:   @entries private WQEs, @stride bytes apart; outlives the machine
 * @entries: a power of two
 */
void rove_req_init(struct rove_req *q, void *slots, u32 entries, u32 stride);

/**
 * rove_req_grow() - go on with more private WQEs
 * @slots:   @entries of them, with the old stride
 * @entries: a power of two, more than there were
 *
 * What the driver has of a WQE is void.
 *
 * Return: the old slots.
 */
void *rove_req_grow(struct rove_req *q, void *slots, u32 entries);

/* Forget all WQEs (no completions) and return to ROVE_REQ_RESET; conf is kept. */
void rove_req_reset(struct rove_req *q);

/* First PSN to be sent; while nothing is outstanding. */
void rove_req_set_psn(struct rove_req *q, u32 psn);

/* RTS (from RESET, DRAIN, or ERROR when everything has been reaped: SQE). */
void rove_req_start(struct rove_req *q);

/* SQD: ROVE_QPE_SQ_DRAINED is raised once, when nothing is in flight any more. */
void rove_req_drain(struct rove_req *q);

/* ERR: what is posted, and what is posted later, completes with a flush error. */
void rove_req_error(struct rove_req *q);

/* The private slot to fill for the next WQE, or NULL when all are in use. */
struct rove_swqe *rove_req_slot(struct rove_req *q);

/* The slot was filled by rove_wqe_read_send(), with success or with a fault. */
void rove_req_post(struct rove_req *q);

static inline struct rove_swqe *rove_req_wqe(const struct rove_req *q, u32 index)
{
	return (struct rove_swqe *)(q->slots + (size_t)(index & q->mask) * q->stride);
}

/**
 * rove_req_next() - the next packet to send
 * @now: ns
 * @seg: filled in
 *
 * The packet counts as sent. If it could not be built (an lkey of its WQE is
 * bad), tell rove_req_seg_failed() before anything else; if it was built but
 * the stack dropped it, rove_req_seg_dropped(). With ROVE_SEG_LOCAL there is no
 * packet: execute the WQE and tell rove_req_executed(). For a READ or atomic the driver
 * checks the local SGEs for write access at this moment.
 *
 * Return: false if nothing may be sent now.
 */
bool rove_req_next(struct rove_req *q, u64 now, struct rove_seg *seg);

/* The WQE of a ROVE_SEG_LOCAL was executed, or could not be. */
void rove_req_executed(struct rove_req *q, const struct rove_seg *seg, enum rove_fault fault);

/*
 * WQE of @seg fails with @fault once all before it are done. PAGE: @seg, which
 * rove_req_next() has just given, is the next one again, as if it had not been asked for.
 */
void rove_req_seg_failed(struct rove_req *q, const struct rove_seg *seg, enum rove_fault fault);

/*
 * The network took nothing from @seg on: resend from there, a little later. This
 * does not touch the retry budget, but the clock of the last progress runs on: a
 * stack that drops for ever is as dead as a wire.
 *
 * UC has no such clock: what was dropped some times in a row counts as sent, and is
 * lost.
 */
void rove_req_seg_dropped(struct rove_req *q, const struct rove_seg *seg, u64 now);

/*
 * UC: the network took all that rove_req_next() gave, but for what the driver has
 * told of meanwhile; messages that were sent whole are done. Of no effect for others.
 */
void rove_req_handed_over(struct rove_req *q, u64 now);

enum rove_req_act {
	ROVE_REQ_DONE,		/* nothing more to do for this packet */
	ROVE_REQ_DROP,		/* dropped, place->drop says why */
	ROVE_REQ_PLACE,		/* copy the payload to off.. of the WQE's SGEs */
	ROVE_REQ_PLACE_VALUE,	/* store value (8 bytes, host order) to the WQE's SGEs */
};

struct rove_req_place {
	u8 drop;		/* enum rove_drop */
	u32 wqe;
	u32 off;
	u32 len;
	u64 value;
};

/**
 * rove_req_packet() - a response came in
 * @pkt: parsed; its ICRC is right, it is from the QP's peer; opcodes of XRC as those
 *       of RC
 *
 * After ROVE_REQ_PLACE and ROVE_REQ_PLACE_VALUE the driver copies (access: local
 * write) and reports by rove_req_placed() before any other call. PAGE: as if the packet
 * had not come; it is given again, as the next one.
 */
enum rove_req_act rove_req_packet(struct rove_req *q, const struct rove_pkt *pkt, u64 now,
				  struct rove_req_place *place);
void rove_req_placed(struct rove_req *q, enum rove_fault fault, u64 now);

/* When rove_req_timer() wants to be called, ns; 0: not at all. May move later. */
static inline u64 rove_req_deadline(const struct rove_req *q)
{
	return q->deadline;
}

/* Something was sent that is not answered yet. */
static inline bool rove_req_in_flight(const struct rove_req *q)
{
	return q->una != q->max_psn;
}

/* What is sent next was sent before. */
static inline bool rove_req_resends(const struct rove_req *q)
{
	return q->psn != q->max_psn;
}

/* Something waits to be sent, perhaps for a window or a timer. */
static inline bool rove_req_has_more(const struct rove_req *q)
{
	return rove_req_resends(q) || q->send != q->post;
}

/* Time has passed; harmless when called too early. */
void rove_req_timer(struct rove_req *q, u64 now);

struct rove_req_comp {
	const struct rove_swqe *wqe;	/* valid until the next call */
	u32 index;			/* SQ index after this WQE, for rove_cqe.wqe */
	u8 fault;			/* enum rove_fault */
	bool report;			/* signalled, or failed: needs a CQE */
};

/* The next finished WQE in order of posting; false when there is none. */
bool rove_req_reap(struct rove_req *q, struct rove_req_comp *comp);

/* Nothing posted that is not reaped. */
static inline bool rove_req_idle(const struct rove_req *q)
{
	return q->post == q->reaped;
}

static inline u32 rove_req_take_events(struct rove_req *q)
{
	u32 events = q->events;

	q->events = 0;
	return events;
}

#endif /* ROVE_PROTO_REQ_H */
