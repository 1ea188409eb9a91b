/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Responder: requests in; memory accesses, receive completions and responses
 * out. Whatever can fail is asked of the driver as an act, and its result comes
 * back by rove_resp_result(); only then does the machine move on.
 *
 * A turn of the driver (obj/responder.c, tests/sim): for each packet of a batch
 * rove_resp_packet(), then do what act says and call rove_resp_result() until
 * act is DONE, DROP, KEEP or LATER, then rove_resp_reap(); after the batch rove_resp_next()
 * while there is budget, so that one ACK answers the whole batch; look at events
 * and broken.
 */
#ifndef ROVE_PROTO_RESP_H
#define ROVE_PROTO_RESP_H

#include "../base.h"
#include "../wire/parse.h"
#include "fault.h"
#include "pkey.h"
#include "req.h"
#include "seg.h"
#include "tally.h"

enum rove_resp_state {
	ROVE_RESP_RESET,	/* before RTR: everything is dropped */
	ROVE_RESP_RUN,
	ROVE_RESP_BROKEN,	/* set by the machine itself: waits for rove_resp_error() */
	ROVE_RESP_ERROR,
};

struct rove_resp_conf {
	u8 type;		/* enum rove_qp_type */
	bool xrc;		/* RC with other opcodes: TGT */
	u8 min_rnr_timer;	/* code 0-31 (IBTA vol. 1, table 45) */
	bool remote_write;	/* what the QP lets its peer do */
	bool remote_read;
	bool remote_atomic;
	u8 flush_types;		/* enum ib_placement_type that the peer may ask for */
	struct rove_pkeys pkeys;
	u32 pmtu;
	u32 dqpn;
	u32 qkey;		/* UD */
	u32 keep;		/* RC: of so many PSNs from the one that is missing on, what
				 * comes too early may be kept; 0: of none
				 */
};

/* A READ or atomic that was executed: answered from here, and answered again
 * when it is asked for again, a READ also from the middle.
 */
struct rove_resp_saved {
	u8 kind;		/* enum rove_op: READ_REQ, CMP_SWP, FETCH_ADD, FLUSH or
				 * ATOMIC_WRITE
				 */
	bool valid;
	bool pending;		/* responses are still to be sent */
	bool served;		/* all of them were sent at least once */
	u32 first_psn;
	u32 last_psn;
	u32 msn;
	u32 rkey;
	u64 va;			/* READ: of first_psn */
	u32 len;
	u32 end;		/* being answered: up to this byte, */
	u32 start_psn;		/* from here */
	u32 end_psn;		/* to here; */
	u32 cur_psn;		/* next to send */
	u64 value;		/* atomic: what was there before */
	u32 srqn;		/* XRC: of the request */
};

struct rove_resp_comp {
	u8 fault;		/* enum rove_fault */
	u8 recv;		/* enum rove_cqe_recv */
	u16 flags;		/* enum rove_cqe_flags: IMM, INV, GRH, RECV, SOLICITED */
	bool solicited;
	u32 imm;		/* immediate, or the rkey that was invalidated */
	u32 byte_len;		/* UD: with the 40 bytes of the GRH area */
	u32 src_qp;
	u16 pkey_index;		/* QP 1: which of its keys the packet had */
};

struct rove_resp {
	struct rove_resp_conf conf;
	struct rove_tally tally;
	u8 state;		/* enum rove_resp_state */
	bool broken;		/* the QP must go to ERR; cleared by the driver */
	u32 events;		/* enum rove_qp_event, taken by the driver */

	struct rove_resp_saved *saved;
	u32 saved_num;		/* max_dest_rd_atomic; 0: none allowed */
	/* proto/resp.c's own from here on */
	u32 saved_head;		/* slot to be used next */
	u32 saved_serve;	/* oldest slot with responses to be sent, if any */
	u32 saved_pending;	/* how many slots have such */
	u32 saved_dup;		/* slot that a duplicate READ asks for */
	u32 epsn;		/* expected PSN */
	u32 msn;
	u32 ahead_psn;		/* furthest packet that a gap cost */
	u32 nak_psn;		/* of the request that broke the QP */
	bool ack_owed;
	bool nak_owed;
	bool nak_sent;		/* for epsn: say it once */
	u8 nak_syndrome;
	bool comm_est;
	bool rqe_held;		/* a receive WQE is being filled; UC: or waits for the
				 * next message
				 */
	bool comp_ready;
	u8 pmtu_shift;
	u16 pkey_index;		/* of the packet being executed */
	u8 step;		/* what the result in wait is of */
	u16 open;		/* ROVE_OPF_SEND or _WRITE: a message is not at its end */
	u32 rqe_len;
	u32 off;		/* message being received: bytes so far */
	u32 srqn;		/* XRC: the SRQ that it names */
	u32 rkey;		/* and of a WRITE where it goes */
	u32 dma_len;
	u64 va;
	struct rove_pkt pkt;	/* being executed */
	struct rove_resp_comp comp;
};

void rove_resp_init(struct rove_resp *r);

/* Forget everything, return to ROVE_RESP_RESET; conf and saved are kept. */
void rove_resp_reset(struct rove_resp *r);

/*
 * @saved: @num entries (may be NULL if 0), owned by the driver. The youngest of what was
 * executed is kept, as far as there is room: the peer may be waiting for the answers.
 */
void rove_resp_set_saved(struct rove_resp *r, struct rove_resp_saved *saved, u32 num);

/* Expected PSN, before rove_resp_start(). */
void rove_resp_set_psn(struct rove_resp *r, u32 psn);

/* RTR. */
void rove_resp_start(struct rove_resp *r);

/*
 * ERR: a held receive WQE is completed with a flush error (reap), no more is
 * taken. A NAK that broke the QP and is still owed can be sent, and before it what
 * was asked for before, or the peer could not tell what failed.
 */
void rove_resp_error(struct rove_resp *r);

enum rove_resp_act_kind {
	ROVE_RESP_DONE,		/* nothing more to do for this packet */
	ROVE_RESP_DROP,		/* dropped; act->drop says why */
	ROVE_RESP_KEEP,		/* came too early: drop it (SEQ), or keep it and give it
				 * again when rove_resp_kept() says so
				 */
	ROVE_RESP_LATER,	/* the result was PAGE: as if the packet had not come; it is
				 * given again, as the next one
				 */
	ROVE_RESP_GET_RQE,	/* fetch the next receive WQE and keep it until the
				 * completion: result NONE with len, NONE with
				 * empty set, or WQE (malformed). REQ_INVALID: none
				 * is kept
				 */
	ROVE_RESP_PLACE_RQE,	/* payload to off.. of the held receive WQE: NONE or
				 * LOCAL_PROT; UD: off is 40, and the GRH area too
				 */
	ROVE_RESP_PLACE_MR,	/* check va, check_len of rkey for remote write, then
				 * payload (len bytes, may be 0) to va: NONE or REQ_ACCESS
				 */
	ROVE_RESP_CHECK_READ,	/* check va, check_len of rkey for remote read */
	ROVE_RESP_ATOMIC,	/* op on 8 bytes at va of rkey: NONE with value (what
				 * was there), REQ_ACCESS, or REQ_INVALID (unaligned)
				 */
	ROVE_RESP_ATOMIC_WRITE,	/* payload, 8 bytes, to va of rkey as one: NONE or REQ_ACCESS */
	ROVE_RESP_FLUSH,	/* make visible what was written to va, check_len of rkey, or
				 * (whole) to all of it: NONE or REQ_ACCESS
				 */
	ROVE_RESP_INVALIDATE,	/* rkey: NONE or REQ_ACCESS */
};

struct rove_resp_act {
	u8 kind;		/* enum rove_resp_act_kind */
	u8 drop;		/* enum rove_drop */
	u8 op;			/* ATOMIC: ROVE_OP_CMP_SWP or ROVE_OP_FETCH_ADD; FLUSH: enum
				 * ib_placement_type
				 */
	bool whole;		/* FLUSH */
	u32 rkey;
	u32 off;
	u32 len;		/* payload bytes to place */
	u64 va;
	u32 check_len;
	u64 swap_add;
	u64 compare;
};

struct rove_resp_result {
	u8 fault;		/* enum rove_fault; PAGE for all but GET_RQE and INVALIDATE */
	bool empty;		/* GET_RQE: there is none */
	u32 len;		/* GET_RQE: bytes that fit */
	u64 value;		/* ATOMIC */
};

/**
 * rove_resp_packet() - a request came in
 * @pkt: parsed; its ICRC is right, it is from the QP's peer, and its opcode is
 *       a request of the QP's transport; those of XRC as those of RC
 *
 * XRC: each act concerns the SRQ that @pkt names. Where there is no such, the result
 * is REQ_INVALID.
 */
void rove_resp_packet(struct rove_resp *r, const struct rove_pkt *pkt, struct rove_resp_act *act);
void rove_resp_result(struct rove_resp *r, const struct rove_resp_result *res,
		      struct rove_resp_act *act);

/**
 * rove_resp_kept() - is it the turn of what was kept?
 * @psn: of the first packet that is kept; ask after each packet that came in, and
 *       after each that was given again
 *
 * Return: 0: give it to rove_resp_packet() now; less: forget it; more: it waits, and the
 * peer hears what for.
 */
s32 rove_resp_kept(struct rove_resp *r, u32 psn);

/**
 * rove_resp_next() - the next response packet
 *
 * In the order that the requester expects: READ data and atomic results as they
 * were asked for, then one ACK or NAK. Call rove_resp_seg_failed() at once if
 * the memory cannot be read any more, or (PAGE) not yet: then it is the next one
 * again. If the stack dropped it, and with it what
 * came after, call rove_resp_seg_dropped(): it is owed again, to be sent after
 * the next packets came in; the peer asks when none come.
 *
 * Return: false if nothing is owed.
 */
bool rove_resp_next(struct rove_resp *r, struct rove_seg *seg);

/* Would it return true? */
static inline bool rove_resp_owes(const struct rove_resp *r)
{
	return r->saved_pending || r->ack_owed || r->nak_owed;
}

/* ...and no more than an ACK, which may as well cover what is still to come. */
static inline bool rove_resp_owes_ack(const struct rove_resp *r)
{
	return r->ack_owed && !r->saved_pending && !r->nak_owed;
}

void rove_resp_seg_failed(struct rove_resp *r, const struct rove_seg *seg, enum rove_fault fault);
void rove_resp_seg_dropped(struct rove_resp *r, const struct rove_seg *seg);

/* The held receive WQE is finished: complete it. False when it is not. */
bool rove_resp_reap(struct rove_resp *r, struct rove_resp_comp *comp);

static inline u32 rove_resp_take_events(struct rove_resp *r)
{
	u32 events = r->events;

	r->events = 0;
	return events;
}

#endif /* ROVE_PROTO_RESP_H */
