// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A request is executed in steps: rove_resp_packet() asks for the first act,
 * each rove_resp_result() for the next one. epsn and msn move at the very end, so
 * a request that stops half-way was not executed, but for its payload.
 *
 * What the QP does not let its peer do (remote_write and so on, or no room for
 * READs) is an invalid request: "not supported by this receive queue" (IBTA vol.
 * 1, 11.6.2). What a key does not allow is a remote access error.
 */
#include <rdma/rove-abi.h>
#include "../ring/wqe.h"
#include "../wire/opcode.h"
#include "../wire/psn.h"
#include "resp.h"

#define GRH_LEN	40

/*
 * UC: a PSN that lies no further back than this belongs to a packet that was
 * overtaken or doubled on its way. Anything else is a peer that begins anew.
 */
#define UC_LATE_MAX	0x10000

enum step {
	STEP_NONE,
	STEP_RQE,
	STEP_INVALIDATE,
	/* what needs memory */
	STEP_PLACE,
	STEP_READ,
	STEP_READ_AGAIN,
	STEP_ATOMIC,
	STEP_DONE_ONCE,		/* ATOMIC WRITE, FLUSH */
};

/* PSNs from @from up to @to, 0 to 2^24 - 1. */
static u32 span(u32 from, u32 to)
{
	return (to - from) & ROVE_PSN_MASK;
}

static u32 op_flags(const struct rove_pkt *pkt)
{
	return rove_opcode_info[pkt->opcode].flags;
}

static void done(struct rove_resp *r, struct rove_resp_act *act)
{
	r->step = STEP_NONE;
	act->kind = ROVE_RESP_DONE;
}

static void drop(struct rove_resp *r, struct rove_resp_act *act, enum rove_drop why)
{
	r->step = STEP_NONE;
	act->kind = ROVE_RESP_DROP;
	act->drop = why;
}

/* ---- life ---------------------------------------------------------------- */

void rove_resp_init(struct rove_resp *r)
{
	memset(r, 0, sizeof(*r));
}

static void forget_saved(struct rove_resp *r)
{
	u32 i;

	for (i = 0; i < r->saved_num; i++) {
		r->saved[i].valid = false;
		r->saved[i].pending = false;
	}
	r->saved_head = 0;
	r->saved_pending = 0;
}

void rove_resp_reset(struct rove_resp *r)
{
	struct rove_resp fresh = {
		.conf = r->conf,
		.tally = r->tally,
		.saved = r->saved,
		.saved_num = r->saved_num,
	};

	*r = fresh;
	forget_saved(r);
}

void rove_resp_set_saved(struct rove_resp *r, struct rove_resp_saved *saved, u32 num)
{
	u32 keep = min(r->saved_num, num), slot = r->saved_head, i;

	for (i = keep; i; i--) {
		slot = slot ? slot - 1 : r->saved_num - 1;
		saved[i - 1] = r->saved[slot];
	}
	r->saved = saved;
	r->saved_num = num;
	r->saved_head = keep == num ? 0 : keep;
	r->saved_pending = 0;
	for (i = 0; i < num; i++) {
		if (i >= keep)
			saved[i] = (struct rove_resp_saved){};
		/* They lie in the order of their age. */
		if (saved[i].pending && !r->saved_pending++)
			r->saved_serve = i;
	}
}

void rove_resp_set_psn(struct rove_resp *r, u32 psn)
{
	r->epsn = psn & ROVE_PSN_MASK;
}

void rove_resp_start(struct rove_resp *r)
{
	r->pmtu_shift = 0;
	while (r->conf.pmtu >> r->pmtu_shift > 1)
		r->pmtu_shift++;
	r->comm_est = false;
	r->broken = false;
	r->state = ROVE_RESP_RUN;
}

/* Nothing is owed any more. */
static void owe_nothing(struct rove_resp *r)
{
	u32 i;

	for (i = 0; r->saved_pending && i < r->saved_num; i++)
		r->saved[i].pending = false;
	r->saved_pending = 0;
	r->ack_owed = false;
	r->nak_owed = false;
}

static void complete_rqe(struct rove_resp *r, enum rove_fault fault)
{
	r->comp.fault = fault;
	r->comp.recv = r->open & ROVE_OPF_WRITE ? ROVE_RECV_WRITE_IMM : ROVE_RECV_SEND;
	r->comp.flags = ROVE_CQE_RECV;
	r->comp.solicited = false;
	r->comp.imm = 0;
	r->comp.byte_len = 0;
	r->comp.src_qp = r->conf.dqpn;
	r->comp.pkey_index = 0;
	r->comp_ready = true;
}

void rove_resp_error(struct rove_resp *r)
{
	if (r->state != ROVE_RESP_BROKEN || !r->nak_owed)
		owe_nothing(r);
	if (r->rqe_held && !r->comp_ready)
		complete_rqe(r, ROVE_FAULT_FLUSH);
	r->step = STEP_NONE;
	r->state = ROVE_RESP_ERROR;
}

bool rove_resp_reap(struct rove_resp *r, struct rove_resp_comp *comp)
{
	if (!r->comp_ready)
		return false;
	*comp = r->comp;
	r->comp_ready = false;
	r->rqe_held = false;
	return true;
}

/* ---- refusing ------------------------------------------------------------ */

/* The request or response with @psn cannot be done: the QP is broken. */
static const struct rove_fault_info *break_down(struct rove_resp *r, u32 psn,
						enum rove_fault fault)
{
	const struct rove_fault_info *info;

	if ((u32)fault >= ROVE_FAULTS || rove_fault_info(fault)->nak < 0)
		fault = ROVE_FAULT_REQ_OP;
	info = rove_fault_info(fault);
	if (r->conf.type == ROVE_QPT_RC) {
		r->nak_owed = true;
		r->nak_syndrome = ROVE_AETH_NAK | info->nak;
		r->nak_psn = psn;
	}
	r->ack_owed = false;
	r->events |= info->event;
	r->broken = true;
	r->state = ROVE_RESP_BROKEN;
	return info;
}

/* UC: nothing more of the message in hand is taken; its receive WQE serves the next one. */
static void uc_give_up(struct rove_resp *r)
{
	if (r->open)
		rove_tally_add(&r->tally, ROVE_TALLY_UC_BROKEN);
	r->open = 0;
}

/* What UC forgives: faults of the peer, of which nobody is told (9.8.2.2). */
static bool uc_forgives(const struct rove_resp *r, enum rove_fault fault)
{
	return r->conf.type == ROVE_QPT_UC &&
	       (fault == ROVE_FAULT_REQ_INVALID || fault == ROVE_FAULT_REQ_ACCESS ||
		fault == ROVE_FAULT_LOCAL_LEN);
}

/* The request being executed is refused (9.9.3, class C; UC: class D, or A). */
static void refuse(struct rove_resp *r, u32 psn, enum rove_fault fault,
		   struct rove_resp_act *act)
{
	if (uc_forgives(r, fault)) {
		uc_give_up(r);
		drop(r, act, ROVE_DROP_FAULT);
		return;
	}
	break_down(r, psn, fault);
	if (r->rqe_held)
		complete_rqe(r, (u32)fault < ROVE_FAULTS ? fault : ROVE_FAULT_REQ_OP);
	done(r, act);
}

/* ---- READs and atomics that were executed -------------------------------- */

static u32 slot_after(const struct rove_resp *r, u32 slot)
{
	return slot + 1 == r->saved_num ? 0 : slot + 1;
}

/* 0: the one executed last. */
static u32 slot_age(const struct rove_resp *r, u32 slot)
{
	return slot < r->saved_head ? r->saved_head - 1 - slot :
				      r->saved_head + r->saved_num - 1 - slot;
}

static void serve(struct rove_resp *r, u32 slot)
{
	struct rove_resp_saved *s = &r->saved[slot];

	if (!s->pending) {
		s->pending = true;
		r->saved_pending++;
	}
	if (r->saved_pending == 1 || slot_age(r, slot) > slot_age(r, r->saved_serve))
		r->saved_serve = slot;
}

static void stop_serving(struct rove_resp *r, u32 slot)
{
	r->saved[slot].pending = false;
	r->saved_pending--;
	if (!r->saved_pending || slot != r->saved_serve)
		return;
	/* Those that follow in the ring are younger, and one of them is pending. */
	do {
		r->saved_serve = slot_after(r, r->saved_serve);
	} while (!r->saved[r->saved_serve].pending);
}

/*
 * Is there room for one more? Its slot may be in use by a READ that the peer asked
 * for a second time, but has got meanwhile, or it would not ask for more.
 */
static bool room_for_saved(const struct rove_resp *r)
{
	const struct rove_resp_saved *s;

	if (!r->saved_num)
		return false;
	s = &r->saved[r->saved_head];
	return !s->pending || s->served;
}

/* The slot that holds @psn, the youngest one; saved_num: none. */
static u32 find_saved(const struct rove_resp *r, u32 psn)
{
	u32 slot = r->saved_head, n;

	for (n = r->saved_num; n; n--) {
		const struct rove_resp_saved *s;

		slot = slot ? slot - 1 : r->saved_num - 1;
		s = &r->saved[slot];
		if (s->valid && span(s->first_psn, psn) <= span(s->first_psn, s->last_psn))
			return slot;
	}
	return r->saved_num;
}

static u32 packets(const struct rove_resp *r, u32 len)
{
	return len ? ((len - 1) >> r->pmtu_shift) + 1 : 1;
}

/* ---- the end of a request ------------------------------------------------ */

static void advance(struct rove_resp *r, u32 psns)
{
	r->epsn = rove_psn_add(r->epsn, psns);
	/*
	 * An RNR NAK that was not said yet is void. A sequence NAK, too, if what
	 * was missing came late and nothing was lost behind it; otherwise it will
	 * ask for what is missing now.
	 */
	if (unlikely(r->nak_owed)) {
		if ((r->nak_syndrome & ROVE_AETH_KIND) == ROVE_AETH_RNR ||
		    rove_psn_diff(r->epsn, r->ahead_psn) > 0) {
			r->nak_owed = false;
			r->ack_owed = true;
		}
	}
	r->nak_sent = r->nak_owed;
}

static void finish_recv(struct rove_resp *r, u32 flags, u32 byte_len)
{
	const struct rove_pkt *pkt = &r->pkt;
	struct rove_resp_comp *c = &r->comp;

	c->fault = ROVE_FAULT_NONE;
	c->recv = flags & ROVE_OPF_WRITE ? ROVE_RECV_WRITE_IMM : ROVE_RECV_SEND;
	c->flags = ROVE_CQE_RECV;
	c->imm = 0;
	if (flags & ROVE_OPF_IMM) {
		c->flags |= ROVE_CQE_IMM;
		c->imm = pkt->imm;
	} else if (flags & ROVE_OPF_IETH) {
		c->flags |= ROVE_CQE_INV;
		c->imm = pkt->inv_rkey;
	}
	if (pkt->se)
		c->flags |= ROVE_CQE_SOLICITED;
	c->solicited = pkt->se;
	c->byte_len = byte_len;
	c->src_qp = r->conf.dqpn;
	c->pkey_index = r->pkey_index;
	r->comp_ready = true;
}

/* SEND or WRITE packet: all of it is where it belongs. */
static void finish_data(struct rove_resp *r, struct rove_resp_act *act)
{
	u32 flags = op_flags(&r->pkt);

	if (flags & ROVE_OPF_END) {
		r->open = 0;
		r->msn = (r->msn + 1) & ROVE_PSN_MASK;
		if (flags & (ROVE_OPF_SEND | ROVE_OPF_IMM))
			finish_recv(r, flags, r->off);
	} else {
		r->open = flags & (ROVE_OPF_SEND | ROVE_OPF_WRITE);
	}
	if (likely(r->conf.type == ROVE_QPT_RC)) {
		advance(r, 1);
		if (r->pkt.ackreq)
			r->ack_owed = true;
	}
	done(r, act);
}

/* READ or atomic: its response acknowledges all before it, too. */
static void finish_saved(struct rove_resp *r, u64 value, struct rove_resp_act *act)
{
	const struct rove_pkt *pkt = &r->pkt;
	struct rove_resp_saved *s = &r->saved[r->saved_head];
	u32 len = pkt->opcode == ROVE_OP_READ_REQ ? pkt->dma_len : 0;

	if (s->pending)
		stop_serving(r, r->saved_head);
	r->msn = (r->msn + 1) & ROVE_PSN_MASK;
	s->kind = pkt->opcode;
	s->valid = true;
	s->served = false;
	s->first_psn = r->epsn;
	s->last_psn = rove_psn_add(r->epsn, packets(r, len) - 1);
	s->msn = r->msn;
	s->rkey = pkt->rkey;
	s->srqn = pkt->srqn;
	s->va = pkt->va;
	s->len = len;
	s->end = len;
	s->start_psn = s->first_psn;
	s->end_psn = s->last_psn;
	s->cur_psn = s->first_psn;
	s->value = value;
	r->saved_head = slot_after(r, r->saved_head);
	serve(r, r->saved_head ? r->saved_head - 1 : r->saved_num - 1);
	advance(r, packets(r, len));
	r->ack_owed = false;
	done(r, act);
}

/* ---- executing ----------------------------------------------------------- */

static void get_rqe(struct rove_resp *r, struct rove_resp_act *act)
{
	r->step = STEP_RQE;
	act->kind = ROVE_RESP_GET_RQE;
}

/* A receive WQE is there, if one is needed: the payload goes to its place. */
static void place(struct rove_resp *r, struct rove_resp_act *act)
{
	const struct rove_pkt *pkt = &r->pkt;
	u32 flags = op_flags(pkt);

	r->step = STEP_PLACE;
	act->len = pkt->len;
	if (r->conf.type == ROVE_QPT_UD) {
		if (r->rqe_len < GRH_LEN + pkt->len) {
			/* The receive WQE serves the next one (9.8.3). */
			drop(r, act, ROVE_DROP_FAULT);
			return;
		}
		act->kind = ROVE_RESP_PLACE_RQE;
		act->off = GRH_LEN;
	} else if (flags & ROVE_OPF_SEND) {
		if (r->rqe_len - r->off < pkt->len) {
			refuse(r, pkt->psn, ROVE_FAULT_LOCAL_LEN, act);
			return;
		}
		act->kind = ROVE_RESP_PLACE_RQE;
		act->off = r->off;
	} else {
		act->kind = ROVE_RESP_PLACE_MR;
		act->rkey = r->rkey;
		act->va = r->va + r->off;
		act->check_len = flags & ROVE_OPF_START ? r->dma_len : pkt->len;
	}
}

static void placed(struct rove_resp *r, struct rove_resp_act *act)
{
	r->off += r->pkt.len;
	if (op_flags(&r->pkt) & ROVE_OPF_IETH) {
		r->step = STEP_INVALIDATE;
		act->kind = ROVE_RESP_INVALIDATE;
		act->rkey = r->pkt.inv_rkey;
		return;
	}
	finish_data(r, act);
}

/* No bytes and no key to check: not for datagrams, which have their GRH area. */
static void place_or_skip(struct rove_resp *r, struct rove_resp_act *act)
{
	if (r->pkt.len || r->conf.type == ROVE_QPT_UD)
		place(r, act);
	else
		placed(r, act);
}

static void send_request(struct rove_resp *r, u32 flags, struct rove_resp_act *act)
{
	if (flags & ROVE_OPF_START) {
		r->off = 0;
		if (!r->rqe_held) {
			get_rqe(r, act);
			return;
		}
	}
	place_or_skip(r, act);
}

static void write_request(struct rove_resp *r, u32 flags, struct rove_resp_act *act)
{
	const struct rove_pkt *pkt = &r->pkt;
	u32 rest;

	if (flags & ROVE_OPF_START) {
		if (!r->conf.remote_write || pkt->dma_len > ROVE_MAX_MSG) {
			refuse(r, pkt->psn, ROVE_FAULT_REQ_INVALID, act);
			return;
		}
		r->va = pkt->va;
		r->rkey = pkt->rkey;
		r->dma_len = pkt->dma_len;
		r->off = 0;
	}
	/* The RETH said how long the message is (9.7.4.1.6). */
	rest = r->dma_len - r->off;
	if (flags & ROVE_OPF_END ? pkt->len != rest : pkt->len >= rest) {
		refuse(r, pkt->psn, ROVE_FAULT_REQ_INVALID, act);
		return;
	}
	if ((flags & ROVE_OPF_IMM) && !r->rqe_held)
		get_rqe(r, act);
	else
		place_or_skip(r, act);
}

static void read_request(struct rove_resp *r, struct rove_resp_act *act)
{
	const struct rove_pkt *pkt = &r->pkt;

	if (!r->conf.remote_read || pkt->dma_len > ROVE_MAX_MSG || !room_for_saved(r)) {
		refuse(r, pkt->psn, ROVE_FAULT_REQ_INVALID, act);
		return;
	}
	if (!pkt->dma_len) {
		finish_saved(r, 0, act);
		return;
	}
	r->step = STEP_READ;
	act->kind = ROVE_RESP_CHECK_READ;
	act->rkey = pkt->rkey;
	act->va = pkt->va;
	act->check_len = pkt->dma_len;
}

static void atomic_request(struct rove_resp *r, struct rove_resp_act *act)
{
	const struct rove_pkt *pkt = &r->pkt;

	if (!r->conf.remote_atomic || !room_for_saved(r)) {
		refuse(r, pkt->psn, ROVE_FAULT_REQ_INVALID, act);
		return;
	}
	r->step = STEP_ATOMIC;
	act->kind = ROVE_RESP_ATOMIC;
	act->op = pkt->opcode;
	act->rkey = pkt->rkey;
	act->va = pkt->va;
	act->check_len = sizeof(u64);
	act->swap_add = pkt->swap_add;
	act->compare = pkt->compare;
}

static void atomic_write_request(struct rove_resp *r, struct rove_resp_act *act)
{
	const struct rove_pkt *pkt = &r->pkt;

	if (!r->conf.remote_write || !room_for_saved(r) || pkt->len != sizeof(u64) ||
	    pkt->dma_len != sizeof(u64) || (pkt->va & (sizeof(u64) - 1))) {
		refuse(r, pkt->psn, ROVE_FAULT_REQ_INVALID, act);
		return;
	}
	r->step = STEP_DONE_ONCE;
	act->kind = ROVE_RESP_ATOMIC_WRITE;
	act->rkey = pkt->rkey;
	act->va = pkt->va;
	act->len = pkt->len;
	act->check_len = pkt->dma_len;
}

static void flush_request(struct rove_resp *r, struct rove_resp_act *act)
{
	const struct rove_pkt *pkt = &r->pkt;

	if (!pkt->flush_type || (pkt->flush_type & ~r->conf.flush_types) || pkt->flush_level > 1 ||
	    !room_for_saved(r)) {
		refuse(r, pkt->psn, ROVE_FAULT_REQ_INVALID, act);
		return;
	}
	r->step = STEP_DONE_ONCE;
	act->kind = ROVE_RESP_FLUSH;
	act->rkey = pkt->rkey;
	act->op = pkt->flush_type;
	act->whole = pkt->flush_level;
	act->va = pkt->va;
	act->check_len = pkt->dma_len;
}

/* FIRST and MIDDLE are full, LAST is not empty (9.7.4.1.7). */
static bool length_fits(const struct rove_resp *r, const struct rove_pkt *pkt, u32 flags)
{
	if (pkt->len > r->conf.pmtu)
		return false;
	if (!(flags & ROVE_OPF_END))
		return pkt->len == r->conf.pmtu;
	return pkt->len || (flags & ROVE_OPF_START);
}

/* The packet that is expected. */
static void request(struct rove_resp *r, const struct rove_pkt *pkt, u32 flags,
		    struct rove_resp_act *act)
{
	u32 kind = flags & (ROVE_OPF_SEND | ROVE_OPF_WRITE);

	/* FIRST, MIDDLE, LAST of one message, nothing in between (9.7.4.1.2). */
	if ((flags & ROVE_OPF_START ? r->open : r->open != kind) ||
	    !length_fits(r, pkt, flags)) {
		refuse(r, pkt->psn, ROVE_FAULT_REQ_INVALID, act);
		return;
	}
	if (flags & ROVE_OPF_START) {
		r->srqn = pkt->srqn;
	} else if (unlikely(pkt->srqn != r->srqn)) {
		refuse(r, pkt->psn, ROVE_FAULT_REQ_INVALID, act);
		return;
	}
	r->pkt = *pkt;
	if (flags & ROVE_OPF_SEND)
		send_request(r, flags, act);
	else if (flags & ROVE_OPF_WRITE)
		write_request(r, flags, act);
	else if (flags & ROVE_OPF_READ)
		read_request(r, act);
	else if (flags & ROVE_OPF_ATOMIC_WRITE)
		atomic_write_request(r, act);
	else if (flags & ROVE_OPF_FETH)
		flush_request(r, act);
	else
		atomic_request(r, act);
}

/* ---- not in its turn ----------------------------------------------------- */

/* Something is missing before @psn: say so once (9.7.5.1.5). */
static bool say_gap(struct rove_resp *r, u32 psn)
{
	if (r->nak_sent)
		return false;
	r->nak_sent = true;
	r->nak_owed = true;
	r->nak_syndrome = ROVE_AETH_NAK | ROVE_NAK_SEQ;
	r->ahead_psn = psn;
	return true;
}

/*
 * @pkt is not lost if the driver keeps it: what is missing comes again, and the peer, which
 * began to send all of it again, is told by the ACK that follows what it may leave out. A
 * peer that was told to wait for a receive WQE sends all again anyway.
 */
static void ahead(struct rove_resp *r, const struct rove_pkt *pkt, struct rove_resp_act *act)
{
	rove_tally_add(&r->tally, ROVE_TALLY_OUT_OF_SEQ);
	if (say_gap(r, pkt->psn)) {
		done(r, act);
	} else {
		if (rove_psn_diff(pkt->psn, r->ahead_psn) > 0)
			r->ahead_psn = pkt->psn;
		drop(r, act, ROVE_DROP_SEQ);
	}
	if (span(r->epsn, pkt->psn) < r->conf.keep &&
	    (r->nak_syndrome & ROVE_AETH_KIND) == ROVE_AETH_NAK)
		act->kind = ROVE_RESP_KEEP;
}

s32 rove_resp_kept(struct rove_resp *r, u32 psn)
{
	s32 early = rove_psn_diff(psn, r->epsn);

	if (r->state != ROVE_RESP_RUN)
		return -1;
	if (early > 0)
		say_gap(r, psn);
	return early;
}

static void answer_again(struct rove_resp *r, struct rove_resp_act *act)
{
	struct rove_resp_saved *s = &r->saved[r->saved_dup];
	const struct rove_pkt *pkt = &r->pkt;

	if (s->kind == ROVE_OP_READ_REQ) {
		s->start_psn = pkt->psn;
		s->end_psn = rove_psn_add(pkt->psn, packets(r, pkt->dma_len) - 1);
		s->end = (span(s->first_psn, pkt->psn) << r->pmtu_shift) + pkt->dma_len;
	}
	s->cur_psn = s->start_psn;
	serve(r, r->saved_dup);
	done(r, act);
}

/*
 * A READ that was executed, or the end of one: executed again from there. An
 * atomic: answered with what it found when it was executed. What is not known
 * (any more) was not asked for by a peer that counts (9.7.5.1.4).
 */
static void duplicate_saved(struct rove_resp *r, const struct rove_pkt *pkt,
			    struct rove_resp_act *act)
{
	u32 slot = find_saved(r, pkt->psn);
	const struct rove_resp_saved *s = &r->saved[slot];
	u64 off;

	if (slot == r->saved_num || s->kind != pkt->opcode || s->srqn != pkt->srqn) {
		drop(r, act, ROVE_DROP_DUP);
		return;
	}
	r->pkt = *pkt;
	r->saved_dup = slot;
	if (s->kind != ROVE_OP_READ_REQ) {
		answer_again(r, act);
		return;
	}
	off = (u64)span(s->first_psn, pkt->psn) << r->pmtu_shift;
	if (pkt->rkey != s->rkey || pkt->va != s->va + off || off + pkt->dma_len > s->len ||
	    (!pkt->dma_len && s->len)) {
		drop(r, act, ROVE_DROP_DUP);
		return;
	}
	if (!pkt->dma_len) {
		answer_again(r, act);
		return;
	}
	r->step = STEP_READ_AGAIN;
	act->kind = ROVE_RESP_CHECK_READ;
	act->rkey = pkt->rkey;
	act->va = pkt->va;
	act->check_len = pkt->dma_len;
}

static void duplicate(struct rove_resp *r, const struct rove_pkt *pkt, u32 flags,
		      struct rove_resp_act *act)
{
	rove_tally_add(&r->tally, ROVE_TALLY_DUPLICATE);
	if (flags & (ROVE_OPF_SEND | ROVE_OPF_WRITE)) {
		r->ack_owed = true;
		done(r, act);
		return;
	}
	duplicate_saved(r, pkt, act);
}

static void datagram(struct rove_resp *r, const struct rove_pkt *pkt, u32 flags,
		     struct rove_resp_act *act)
{
	if (!(flags & ROVE_OPF_DETH)) {
		drop(r, act, ROVE_DROP_TRANSPORT);
		return;
	}
	if (pkt->qkey != r->conf.qkey) {
		drop(r, act, ROVE_DROP_QKEY);
		return;
	}
	r->pkt = *pkt;
	send_request(r, flags, act);
}

static void establish(struct rove_resp *r)
{
	r->comm_est = true;
	r->events |= ROVE_QPE_COMM_EST;
}

/*
 * Whatever is wrong costs the message, and that alone: the next one that begins is
 * taken, wherever its PSN is (9.8.2.2). A PSN that was passed already is not gone
 * back to, or a message could come twice.
 */
static void unreliable(struct rove_resp *r, const struct rove_pkt *pkt, u32 flags,
		       struct rove_resp_act *act)
{
	s32 diff = rove_psn_diff(pkt->psn, r->epsn);

	if ((pkt->opcode & ROVE_TR_MASK) != ROVE_TR_UC || !(flags & ROVE_OPF_REQUEST)) {
		drop(r, act, ROVE_DROP_TRANSPORT);
		return;
	}
	if (diff < 0 && diff >= -UC_LATE_MAX && r->comm_est) {
		rove_tally_add(&r->tally, ROVE_TALLY_DUPLICATE);
		drop(r, act, ROVE_DROP_DUP);
		return;
	}
	if (!r->comm_est)
		establish(r);
	if (diff) {
		rove_tally_add(&r->tally, ROVE_TALLY_UC_GAP);
		uc_give_up(r);
	}
	r->epsn = rove_psn_add(pkt->psn, 1);

	if (flags & ROVE_OPF_START) {
		uc_give_up(r);
	} else if (r->open != (flags & (ROVE_OPF_SEND | ROVE_OPF_WRITE))) {
		uc_give_up(r);
		drop(r, act, ROVE_DROP_SEQ);
		return;
	}
	if (!length_fits(r, pkt, flags)) {
		uc_give_up(r);
		drop(r, act, ROVE_DROP_FAULT);
		return;
	}
	r->pkt = *pkt;
	if (flags & ROVE_OPF_SEND)
		send_request(r, flags, act);
	else
		write_request(r, flags, act);
}

void rove_resp_packet(struct rove_resp *r, const struct rove_pkt *pkt, struct rove_resp_act *act)
{
	u32 flags = op_flags(pkt);
	int index;
	s32 diff;

	if (unlikely(r->state != ROVE_RESP_RUN)) {
		drop(r, act, ROVE_DROP_STATE);
		return;
	}
	index = rove_pkey_find(&r->conf.pkeys, pkt->pkey);
	if (unlikely(index < 0)) {
		drop(r, act, ROVE_DROP_PKEY);
		return;
	}
	r->pkey_index = index;
	if (unlikely(r->conf.type != ROVE_QPT_RC)) {
		if (r->conf.type == ROVE_QPT_UD)
			datagram(r, pkt, flags, act);
		else
			unreliable(r, pkt, flags, act);
		return;
	}
	if (unlikely((pkt->opcode & ROVE_TR_MASK) != ROVE_TR_RC || !(flags & ROVE_OPF_REQUEST))) {
		drop(r, act, ROVE_DROP_TRANSPORT);
		return;
	}
	if (unlikely(!r->comm_est))
		establish(r);
	diff = rove_psn_diff(pkt->psn, r->epsn);
	if (likely(!diff))
		request(r, pkt, flags, act);
	else if (diff > 0)
		ahead(r, pkt, act);
	else
		duplicate(r, pkt, flags, act);
}

/* ---- results ------------------------------------------------------------- */

static void got_rqe(struct rove_resp *r, const struct rove_resp_result *res,
		    struct rove_resp_act *act)
{
	if (!res->fault && res->empty) {
		if (r->conf.type != ROVE_QPT_RC) {
			uc_give_up(r);
			drop(r, act, ROVE_DROP_NO_RQE);
			return;
		}
		/* Not executed: it will come again (9.7.5.2.8). */
		r->nak_sent = true;
		r->nak_owed = true;
		r->nak_syndrome = ROVE_AETH_RNR | (r->conf.min_rnr_timer & ROVE_AETH_VALUE);
		done(r, act);
		return;
	}
	/* XRC: an SRQ that does not exist has given none. */
	r->rqe_held = res->fault != ROVE_FAULT_REQ_INVALID;
	r->rqe_len = res->len;
	if (res->fault)
		refuse(r, r->pkt.psn, res->fault, act);
	else
		place_or_skip(r, act);
}

/* A receive WQE that was taken stays for when the packet is given again. */
static void later(struct rove_resp *r, struct rove_resp_act *act)
{
	if (r->conf.type == ROVE_QPT_UC)
		r->epsn = r->pkt.psn;
	r->step = STEP_NONE;
	act->kind = ROVE_RESP_LATER;
}

/* UD: no PSNs, nothing to acknowledge. */
static void datagram_placed(struct rove_resp *r, struct rove_resp_act *act)
{
	finish_recv(r, op_flags(&r->pkt), GRH_LEN + r->pkt.len);
	r->comp.flags |= ROVE_CQE_GRH;
	r->comp.src_qp = r->pkt.sqpn;
	done(r, act);
}

void rove_resp_result(struct rove_resp *r, const struct rove_resp_result *res,
		      struct rove_resp_act *act)
{
	u8 step = r->step;

	if (step == STEP_RQE) {
		got_rqe(r, res, act);
		return;
	}
	if (unlikely(res->fault == ROVE_FAULT_PAGE && step >= STEP_PLACE)) {
		later(r, act);
		return;
	}
	if (unlikely(res->fault && step == STEP_READ_AGAIN)) {
		/*
		 * The memory may be gone because the peer has got all and said
		 * so: a duplicate made by the network must not break the QP.
		 */
		drop(r, act, ROVE_DROP_DUP);
		return;
	}
	if (unlikely(res->fault && step != STEP_NONE)) {
		refuse(r, r->pkt.psn, res->fault, act);
		return;
	}
	switch (step) {
	case STEP_PLACE:
		if (r->conf.type == ROVE_QPT_UD)
			datagram_placed(r, act);
		else
			placed(r, act);
		break;
	case STEP_INVALIDATE:
		finish_data(r, act);
		break;
	case STEP_READ:
	case STEP_DONE_ONCE:
		finish_saved(r, 0, act);
		break;
	case STEP_READ_AGAIN:
		answer_again(r, act);
		break;
	case STEP_ATOMIC:
		finish_saved(r, res->value, act);
		break;
	default:
		done(r, act);
	}
}

/* ---- responses ----------------------------------------------------------- */

static struct rove_pkt *fill_bth(const struct rove_resp *r, struct rove_seg *seg, u8 opcode,
				 u32 psn)
{
	struct rove_pkt *pkt = &seg->pkt;

	pkt->opcode = r->conf.xrc ? ROVE_TR_XRC | opcode : opcode;
	pkt->se = false;
	pkt->ackreq = false;
	pkt->migreq = true;
	pkt->pkey = rove_pkey_get(&r->conf.pkeys, 0);
	pkt->dqpn = r->conf.dqpn;
	pkt->psn = psn;
	pkt->len = 0;
	/* Receive queues are not what limits us: no credits (9.7.7.2). */
	pkt->syndrome = ROVE_AETH_ACK | ROVE_CREDITS_NONE;
	pkt->msn = r->msn;
	seg->source = ROVE_SEG_NONE;
	seg->resend = false;
	return pkt;
}

static u8 read_opcode(const struct rove_resp_saved *s)
{
	if (s->cur_psn == s->end_psn)
		return s->cur_psn == s->start_psn ? ROVE_OP_READ_RESP_ONLY :
						    ROVE_OP_READ_RESP_LAST;
	return s->cur_psn == s->start_psn ? ROVE_OP_READ_RESP_FIRST : ROVE_OP_READ_RESP_MIDDLE;
}

static u8 saved_opcode(const struct rove_resp_saved *s)
{
	switch (s->kind) {
	case ROVE_OP_READ_REQ:
		return read_opcode(s);
	case ROVE_OP_CMP_SWP:
	case ROVE_OP_FETCH_ADD:
		return ROVE_OP_ATOMIC_ACK;
	default:
		return ROVE_OP_READ_RESP_ONLY;
	}
}

static void next_saved(struct rove_resp *r, struct rove_seg *seg)
{
	struct rove_resp_saved *s = &r->saved[r->saved_serve];
	bool read = s->kind == ROVE_OP_READ_REQ;
	struct rove_pkt *pkt;
	u32 off;

	pkt = fill_bth(r, seg, saved_opcode(s), s->cur_psn);
	pkt->msn = s->msn;
	if (read) {
		off = span(s->first_psn, s->cur_psn) << r->pmtu_shift;
		pkt->len = min(r->conf.pmtu, s->end - off);
		seg->va = s->va + off;
		seg->srqn = s->srqn;
		seg->rkey = s->rkey;
		if (pkt->len)
			seg->source = ROVE_SEG_MR;
	} else {
		pkt->orig = s->value;
	}
	if (s->cur_psn == s->end_psn) {
		s->served = true;
		stop_serving(r, r->saved_serve);
	} else {
		s->cur_psn = rove_psn_add(s->cur_psn, 1);
	}
}

static enum rove_tally_index nak_tally(u8 syndrome)
{
	if ((syndrome & ROVE_AETH_KIND) == ROVE_AETH_RNR)
		return ROVE_TALLY_RNR_SENT;
	return ROVE_TALLY_NAK_SEQ_SENT + (syndrome & ROVE_AETH_VALUE);
}

/* Of the NAK that is owed: what breaks the QP has its own PSN, the rest is epsn's. */
static u32 nak_psn(const struct rove_resp *r)
{
	return r->state == ROVE_RESP_RUN ? r->epsn : r->nak_psn;
}

bool rove_resp_next(struct rove_resp *r, struct rove_seg *seg)
{
	if (r->saved_pending) {
		next_saved(r, seg);
		return true;
	}
	if (unlikely(r->nak_owed)) {
		fill_bth(r, seg, ROVE_OP_ACK, nak_psn(r))->syndrome = r->nak_syndrome;
		rove_tally_add(&r->tally, nak_tally(r->nak_syndrome));
		r->nak_owed = false;
		r->ack_owed = false;	/* a NAK says that, too */
		return true;
	}
	if (!r->ack_owed)
		return false;
	fill_bth(r, seg, ROVE_OP_ACK, rove_psn_add(r->epsn, ROVE_PSN_MASK));
	rove_tally_add(&r->tally, ROVE_TALLY_ACK_SENT);
	r->ack_owed = false;
	return true;
}

void rove_resp_seg_failed(struct rove_resp *r, const struct rove_seg *seg, enum rove_fault fault)
{
	if (fault == ROVE_FAULT_PAGE) {
		rove_resp_seg_dropped(r, seg);
		return;
	}
	/* What was asked for later is not answered any more. */
	owe_nothing(r);
	if (r->state == ROVE_RESP_RUN || r->state == ROVE_RESP_BROKEN)
		break_down(r, seg->pkt.psn, fault);
}

static void saved_dropped(struct rove_resp *r, u32 psn)
{
	u32 slot = find_saved(r, psn);
	struct rove_resp_saved *s = &r->saved[slot];

	if (slot == r->saved_num || span(s->start_psn, psn) > span(s->start_psn, s->cur_psn))
		return;
	s->cur_psn = psn;
	serve(r, slot);
	/* An ACK behind it went the same way. */
	if (r->state == ROVE_RESP_RUN && rove_psn_add(s->last_psn, 1) != r->epsn)
		r->ack_owed = true;
}

void rove_resp_seg_dropped(struct rove_resp *r, const struct rove_seg *seg)
{
	const struct rove_pkt *pkt = &seg->pkt;

	if ((pkt->opcode & ROVE_OP_MASK) != ROVE_OP_ACK) {
		if (r->state == ROVE_RESP_RUN || r->state == ROVE_RESP_BROKEN)
			saved_dropped(r, pkt->psn);
	} else if ((pkt->syndrome & ROVE_AETH_KIND) != ROVE_AETH_ACK) {
		if (pkt->syndrome == r->nak_syndrome && pkt->psn == nak_psn(r))
			r->nak_owed = true;
	} else if (r->state == ROVE_RESP_RUN) {
		r->ack_owed = true;
	}
}
