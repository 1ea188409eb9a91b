// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * All PSNs that count lie on the arc una .. psn .. max_psn, at most 2^22 long:
 * una is the first one not acknowledged, psn the next to be sent, max_psn the
 * next that was never sent. They are compared as distances from una, so that
 * nothing depends on where the circle is cut, and a PSN from outside the arc is
 * known for what it is.
 *
 * A WQE without packets (LOCAL) takes no PSN. It is executed once, when send
 * reaches it for the first time, and is done when all before it are: acked never
 * stays on one that was executed, and going back passes over it.
 *
 * acked is the WQE that una belongs to, send the one that psn belongs to, begun
 * the one that will take the PSNs from max_psn on. Nothing else says what is in
 * flight; to resend is to move psn back.
 */
#include "../wire/opcode.h"
#include "../wire/parse.h"
#include "../wire/psn.h"
#include "req.h"
#include "retry.h"

/* Drops in a row by the local stack after which an UC message is lost. */
#define UC_DROPS_MAX	7

/* IBTA vol. 1, 9.7.2 allows 2^23; half of it tells old from new beyond doubt. */
#define MAX_FLIGHT_LOG	22
#define MAX_FLIGHT	0x400000U

/* By place in the message: bit 1: its first packet, bit 0: its last. */
static const u8 opcodes[ROVE_WR_WRITE_IMM + 1][4] = {
	[ROVE_WR_SEND] = {
		ROVE_OP_SEND_MIDDLE, ROVE_OP_SEND_LAST,
		ROVE_OP_SEND_FIRST, ROVE_OP_SEND_ONLY,
	},
	[ROVE_WR_SEND_IMM] = {
		ROVE_OP_SEND_MIDDLE, ROVE_OP_SEND_LAST_IMM,
		ROVE_OP_SEND_FIRST, ROVE_OP_SEND_ONLY_IMM,
	},
	[ROVE_WR_SEND_INV] = {
		ROVE_OP_SEND_MIDDLE, ROVE_OP_SEND_LAST_INV,
		ROVE_OP_SEND_FIRST, ROVE_OP_SEND_ONLY_INV,
	},
	[ROVE_WR_WRITE] = {
		ROVE_OP_WRITE_MIDDLE, ROVE_OP_WRITE_LAST,
		ROVE_OP_WRITE_FIRST, ROVE_OP_WRITE_ONLY,
	},
	[ROVE_WR_WRITE_IMM] = {
		ROVE_OP_WRITE_MIDDLE, ROVE_OP_WRITE_LAST_IMM,
		ROVE_OP_WRITE_FIRST, ROVE_OP_WRITE_ONLY_IMM,
	},
};

static u8 log2_floor(u32 n)
{
	u8 shift = 0;

	while (n >>= 1)
		shift++;
	return shift;
}

static u32 flight(const struct rove_req *q)
{
	return rove_retry_span(q->una, q->psn);
}

static bool running(const struct rove_req *q)
{
	return q->state == ROVE_REQ_RUN || q->state == ROVE_REQ_DRAIN;
}

/* ---- life ---------------------------------------------------------------- */

void rove_req_init(struct rove_req *q, void *slots, u32 entries, u32 stride)
{
	memset(q, 0, sizeof(*q));
	q->slots = slots;
	q->mask = entries - 1;
	q->stride = stride;
}

void *rove_req_grow(struct rove_req *q, void *slots, u32 entries)
{
	void *old = q->slots;
	u32 i;

	for (i = q->reaped; i != q->post; i++)
		memcpy((u8 *)slots + (size_t)(i & (entries - 1)) * q->stride, rove_req_wqe(q, i),
		       q->stride);
	q->slots = slots;
	q->mask = entries - 1;
	return old;
}

static void drop_all(struct rove_req *q)
{
	q->send = q->acked;
	q->begun = q->acked;
	q->send_off = 0;
	q->psn = q->max_psn;
	q->una = q->max_psn;
	q->una_bytes = q->send_bytes;
	q->unasked = 0;
	q->rd_atomic = 0;
	q->read_less = 0;
	q->send_less = 0;
	q->retries = 0;
	q->rnr_retries = 0;
	q->drops = 0;
	q->placing = false;
	q->went_back = false;
	q->broken = false;
	rove_retry_stop(q);
}

void rove_req_reset(struct rove_req *q)
{
	/* The ring starts at index 0 again, and so does rove_cqe.wqe. */
	q->post = 0;
	q->acked = 0;
	q->reaped = 0;
	drop_all(q);
	q->ssn = 0;
	q->events = 0;
	q->drained = false;
	q->state = ROVE_REQ_RESET;
}

void rove_req_set_psn(struct rove_req *q, u32 psn)
{
	q->psn = psn & ROVE_PSN_MASK;
	q->una = q->psn;
	q->max_psn = q->psn;
	q->restart_psn = q->psn;
}

/* SQD: messages begun are brought to their end, no other is (10.3.1.5). */
static void note_drained(struct rove_req *q)
{
	if (q->state != ROVE_REQ_DRAIN || q->drained || q->acked != q->begun)
		return;
	q->drained = true;
	q->events |= ROVE_QPE_SQ_DRAINED;
}

/* The rest waits for rove_req_error(). */
static void break_down(struct rove_req *q)
{
	q->state = ROVE_REQ_BROKEN;
	q->broken = true;
	rove_retry_stop(q);
}

/* The oldest WQE not done ends with @fault. */
static void fail(struct rove_req *q, enum rove_fault fault)
{
	struct rove_swqe *w = rove_req_wqe(q, q->acked);

	w->fault = fault;
	w->state = ROVE_SWQE_DONE;
	q->acked++;
	if ((s32)(q->send - q->acked) < 0)
		q->send = q->acked;
	if ((s32)(q->begun - q->acked) < 0)
		q->begun = q->acked;
	break_down(q);
}

/* A WQE that cannot be carried out fails when all before it are done. */
static void settle(struct rove_req *q)
{
	const struct rove_swqe *w = rove_req_wqe(q, q->acked);

	if (!running(q))
		return;
	if (q->acked != q->post && w->fault &&
	    (q->state == ROVE_REQ_RUN || q->acked != q->begun))
		fail(q, w->fault);
	else
		note_drained(q);
}

void rove_req_start(struct rove_req *q)
{
	u32 chunk;

	q->pmtu_shift = log2_floor(q->conf.pmtu);
	chunk = log2_floor(q->conf.read_chunk);
	chunk = min_t(u32, chunk, q->pmtu_shift + MAX_FLIGHT_LOG);
	q->chunk_shift = max_t(u32, chunk, q->pmtu_shift);
	q->broken = false;
	q->drained = false;
	q->state = ROVE_REQ_RUN;
	settle(q);
}

void rove_req_drain(struct rove_req *q)
{
	if (q->state != ROVE_REQ_RUN)
		return;
	q->state = ROVE_REQ_DRAIN;
	note_drained(q);
}

void rove_req_error(struct rove_req *q)
{
	drop_all(q);
	q->state = ROVE_REQ_ERROR;
}

/* ---- posting and reaping ------------------------------------------------- */

struct rove_swqe *rove_req_slot(struct rove_req *q)
{
	return q->post - q->reaped > q->mask ? NULL : rove_req_wqe(q, q->post);
}

void rove_req_post(struct rove_req *q)
{
	struct rove_swqe *w = rove_req_wqe(q, q->post);

	w->state = ROVE_SWQE_POSTED;
	w->done = 0;
	w->resent = 0;
	q->post++;
	settle(q);
}

bool rove_req_reap(struct rove_req *q, struct rove_req_comp *comp)
{
	struct rove_swqe *w = rove_req_wqe(q, q->reaped);

	if (q->reaped == q->acked) {
		if (q->state != ROVE_REQ_ERROR || q->acked == q->post)
			return false;
		w->fault = ROVE_FAULT_FLUSH;
		w->state = ROVE_SWQE_DONE;
		q->acked++;
		q->send = q->acked;
		q->begun = q->acked;
	}
	q->reaped++;
	comp->wqe = w;
	comp->index = q->reaped;
	comp->fault = w->fault;
	comp->report = w->fault || (w->sqe.flags & ROVE_WR_SIGNALED);
	return true;
}

/* ---- sending ------------------------------------------------------------- */

/* First time that something of @w is sent: it gets its PSNs. */
static void begin(struct rove_req *q, struct rove_swqe *w)
{
	u32 n = 1;

	if (w->length)
		n = ((w->length - 1) >> q->pmtu_shift) + 1;
	w->first_psn = q->psn;
	w->last_psn = rove_psn_add(q->psn, n - 1);
	w->ssn = q->ssn;
	q->ssn = (q->ssn + 1) & ROVE_PSN_MASK;
	q->begun++;
}

static void fill_bth(const struct rove_req *q, struct rove_seg *seg, u8 opcode, u32 dqpn)
{
	struct rove_pkt *pkt = &seg->pkt;

	pkt->opcode = opcode;
	pkt->srqn = 0;
	if (unlikely(q->conf.xrc)) {
		pkt->opcode |= ROVE_TR_XRC;
		pkt->srqn = rove_req_wqe(q, q->send)->sqe.rdma.srqn;
	}
	pkt->se = false;
	pkt->ackreq = false;
	pkt->migreq = true;
	pkt->pkey = rove_pkey_get(&q->conf.pkeys, 0);
	pkt->dqpn = dqpn;
	pkt->psn = q->psn;
	pkt->len = 0;
	seg->source = ROVE_SEG_NONE;
	/* UC: it was taken back before anybody saw it. */
	seg->resend = q->psn != q->max_psn && q->conf.type != ROVE_QPT_UC;
	seg->wqe = q->send;
	seg->off = q->send_off;
}

/* @seg takes @n PSNs and @bytes of its WQE. */
static void account(struct rove_req *q, struct rove_swqe *w, const struct rove_seg *seg,
		    u32 n, u32 bytes, u64 now)
{
	q->psn = rove_psn_add(q->psn, n);
	q->send_off += bytes;
	if (q->send_off >= w->length) {
		w->state = ROVE_SWQE_SENT;
		q->send++;
		q->send_off = 0;
	}
	if (seg->resend) {
		w->resent = 1;
		rove_tally_add(&q->tally, ROVE_TALLY_RETRANSMIT);
	} else {
		q->max_psn = q->psn;
	}
	if (!q->timing)
		rove_retry_run_clock(q, now);
}

/* SEND and WRITE. */
static bool next_data(struct rove_req *q, struct rove_swqe *w, u64 now, struct rove_seg *seg)
{
	struct rove_pkt *pkt = &seg->pkt;
	u32 inflight = q->send_bytes - q->una_bytes;
	u32 len = min(q->conf.pmtu, w->length - q->send_off);
	bool uc = q->conf.type == ROVE_QPT_UC;
	bool first = !q->send_off;
	bool last = q->send_off + len == w->length;
	u8 op = w->sqe.opcode;

	/* Nobody tells what of UC is still on its way. */
	if ((inflight && inflight + len > rove_retry_window(q) && !uc) || flight(q) >= MAX_FLIGHT)
		return false;
	if (q->send == q->begun)
		begin(q, w);

	fill_bth(q, seg, opcodes[op][first << 1 | last] | (uc ? ROVE_TR_UC : ROVE_TR_RC),
		 q->conf.dqpn);
	pkt->len = len;
	if (len)
		seg->source = ROVE_SEG_WQE;
	if (first && rove_wqe_is(w, ROVE_WQEP_WRITE)) {
		pkt->va = w->sqe.rdma.addr;
		pkt->rkey = w->sqe.rdma.rkey;
		pkt->dma_len = w->length;
	}
	if (last) {
		pkt->imm = w->sqe.imm;
		pkt->inv_rkey = w->sqe.imm;
		pkt->se = (w->sqe.flags & ROVE_WR_SOLICITED) && op != ROVE_WR_WRITE;
	}
	/* A quarter of the window at most may wait unasked, or it would stand still. */
	q->unasked += len;
	pkt->ackreq = !uc && (last || q->unasked + q->conf.pmtu > rove_retry_window(q) / 4);
	if (pkt->ackreq)
		q->unasked = 0;
	q->send_bytes += len;
	account(q, w, seg, 1, len, now);
	return true;
}

static bool next_read(struct rove_req *q, struct rove_swqe *w, u64 now, struct rove_seg *seg)
{
	struct rove_pkt *pkt = &seg->pkt;
	u32 chunk = 1U << q->chunk_shift;
	u32 in_chunk = q->send_off & (chunk - 1);
	u32 len = min(chunk - in_chunk, w->length - q->send_off);
	u32 n = len ? ((len - 1) >> q->pmtu_shift) + 1 : 1;

	if (q->rd_atomic >= q->conf.max_rd_atomic || flight(q) + n > MAX_FLIGHT)
		return false;
	/* Nothing on the way slows a responder down: ask for what the way can hold. */
	if (flight(q) && q->conf.read_window &&
	    (u64)(flight(q) + n) << q->pmtu_shift > rove_retry_read_window(q))
		return false;
	if (q->send == q->begun)
		begin(q, w);

	fill_bth(q, seg, ROVE_OP_READ_REQ, q->conf.dqpn);
	pkt->ackreq = true;
	pkt->va = w->sqe.rdma.addr + q->send_off;
	pkt->rkey = w->sqe.rdma.rkey;
	pkt->dma_len = len;
	if (in_chunk) {
		q->restart_psn = q->psn;
		rove_tally_add(&q->tally, ROVE_TALLY_READ_RESUMED);
	}
	q->rd_atomic++;
	account(q, w, seg, n, len, now);
	return true;
}

static bool next_atomic(struct rove_req *q, struct rove_swqe *w, u64 now, struct rove_seg *seg)
{
	struct rove_pkt *pkt = &seg->pkt;
	bool swap = w->sqe.opcode == ROVE_WR_CMP_SWP;

	if (q->rd_atomic >= q->conf.max_rd_atomic || flight(q) >= MAX_FLIGHT)
		return false;
	if (q->send == q->begun)
		begin(q, w);

	fill_bth(q, seg, swap ? ROVE_OP_CMP_SWP : ROVE_OP_FETCH_ADD, q->conf.dqpn);
	pkt->ackreq = true;
	pkt->va = w->sqe.atomic.addr;
	pkt->rkey = w->sqe.atomic.rkey;
	pkt->compare = swap ? w->sqe.atomic.compare_add : 0;
	pkt->swap_add = swap ? w->sqe.atomic.swap : w->sqe.atomic.compare_add;
	q->rd_atomic++;
	account(q, w, seg, 1, w->length, now);
	return true;
}

/* ATOMIC WRITE and FLUSH. */
static bool next_place(struct rove_req *q, struct rove_swqe *w, u64 now, struct rove_seg *seg)
{
	bool flush = w->sqe.opcode == ROVE_WR_FLUSH;
	struct rove_pkt *pkt = &seg->pkt;

	if (q->rd_atomic >= q->conf.max_rd_atomic || flight(q) >= MAX_FLIGHT)
		return false;
	if (q->send == q->begun)
		begin(q, w);

	fill_bth(q, seg, flush ? ROVE_OP_FLUSH : ROVE_OP_ATOMIC_WRITE, q->conf.dqpn);
	pkt->ackreq = true;
	if (flush) {
		pkt->va = w->sqe.flush.addr;
		pkt->rkey = w->sqe.flush.rkey;
		pkt->dma_len = w->sqe.flush.length;
		pkt->flush_type = w->sqe.flush.type;
		pkt->flush_level = w->sqe.flush.level;
	} else {
		pkt->va = w->sqe.atomic.addr;
		pkt->rkey = w->sqe.atomic.rkey;
		pkt->dma_len = w->length;
		pkt->len = w->length;
		seg->source = ROVE_SEG_VALUE;
	}
	q->rd_atomic++;
	account(q, w, seg, 1, w->length, now);
	return true;
}

/* No packet: the driver executes it, and says so by rove_req_executed(). */
static bool next_local(const struct rove_req *q, const struct rove_swqe *w, struct rove_seg *seg)
{
	/*
	 * What is outstanding may still need the key that is taken away: to be sent
	 * again, or to be placed.
	 */
	if (w->sqe.opcode == ROVE_WR_LOCAL_INV && q->acked != q->send)
		return false;
	seg->source = ROVE_SEG_LOCAL;
	seg->wqe = q->send;
	seg->off = 0;
	return true;
}

/* UD: one packet, done with it. */
static bool next_datagram(struct rove_req *q, struct rove_swqe *w, struct rove_seg *seg)
{
	struct rove_pkt *pkt = &seg->pkt;
	bool imm = w->sqe.opcode == ROVE_WR_SEND_IMM;

	if (w->sqe.opcode > ROVE_WR_SEND_IMM || w->length > q->conf.pmtu) {
		fail(q, w->length > q->conf.pmtu ? ROVE_FAULT_LOCAL_LEN : ROVE_FAULT_WQE);
		return false;
	}
	w->first_psn = q->psn;
	w->last_psn = q->psn;
	fill_bth(q, seg, ROVE_TR_UD | (imm ? ROVE_OP_SEND_ONLY_IMM : ROVE_OP_SEND_ONLY),
		 w->sqe.ud.qpn);
	seg->resend = false;
	pkt->pkey = rove_pkey_get(&q->conf.pkeys, w->sqe.ud.pkey_index);
	pkt->se = w->sqe.flags & ROVE_WR_SOLICITED;
	pkt->imm = w->sqe.imm;
	pkt->len = w->length;
	if (pkt->len)
		seg->source = ROVE_SEG_WQE;
	/* The top bit asks for the QP's own key, which users cannot set (10.2.5). */
	pkt->qkey = w->sqe.ud.qkey >> 31 ? q->conf.qkey : w->sqe.ud.qkey;
	pkt->sqpn = q->conf.sqpn;

	w->state = ROVE_SWQE_DONE;
	rove_req_set_psn(q, q->psn + 1);
	q->send++;
	q->begun = q->send;
	q->acked = q->send;
	return true;
}

bool rove_req_next(struct rove_req *q, u64 now, struct rove_seg *seg)
{
	struct rove_swqe *w = rove_req_wqe(q, q->send);

	if (q->send == q->post || !running(q))
		return false;
	while (unlikely(rove_wqe_is(w, ROVE_WQEP_LOCAL)) && q->send != q->begun) {
		/* Executed before sending went back. */
		w = rove_req_wqe(q, ++q->send);
		if (q->send == q->post)
			return false;
	}
	if (q->hold) {
		if (now < q->held_until)
			return false;
		rove_retry_release(q, now);
	}
	if (q->send == q->begun && q->state == ROVE_REQ_DRAIN)
		return false;
	if (rove_wqe_is(w, ROVE_WQEP_RD) && !q->conf.max_rd_atomic && !w->fault)
		w->fault = ROVE_FAULT_WQE;
	if (w->fault) {
		settle(q);
		return false;
	}
	if (q->conf.type == ROVE_QPT_UD)
		return next_datagram(q, w, seg);
	/* Fence: all READs and atomics before it are done (10.8.3.3). */
	if ((w->sqe.flags & ROVE_WR_FENCE) && !q->send_off && q->rd_atomic)
		return false;
	if (rove_wqe_is(w, ROVE_WQEP_DATA))
		return next_data(q, w, now, seg);
	if (rove_wqe_is(w, ROVE_WQEP_READ))
		return next_read(q, w, now, seg);
	if (rove_wqe_is(w, ROVE_WQEP_LOCAL))
		return next_local(q, w, seg);
	if (rove_wqe_is(w, ROVE_WQEP_PLACE))
		return next_place(q, w, now, seg);
	return next_atomic(q, w, now, seg);
}

/* WQEs that were executed and have nothing before them are done. */
static void pass_local(struct rove_req *q)
{
	while (q->acked != q->begun) {
		struct rove_swqe *w = rove_req_wqe(q, q->acked);

		if (!rove_wqe_is(w, ROVE_WQEP_LOCAL))
			break;
		w->state = ROVE_SWQE_DONE;
		if (q->send == q->acked)
			q->send++;
		q->acked++;
	}
}

void rove_req_executed(struct rove_req *q, const struct rove_seg *seg, enum rove_fault fault)
{
	struct rove_swqe *w = rove_req_wqe(q, seg->wqe);

	if (!running(q) || seg->wqe != q->begun)
		return;
	if (fault) {
		w->fault = fault;
	} else {
		w->state = ROVE_SWQE_SENT;
		q->begun++;
		q->send = q->begun;
		pass_local(q);
	}
	settle(q);
}

static void take_back_seg(struct rove_req *q, const struct rove_seg *seg)
{
	struct rove_swqe *w = rove_req_wqe(q, seg->wqe);

	if (q->conf.type == ROVE_QPT_UD) {
		w->state = ROVE_SWQE_POSTED;
		rove_req_set_psn(q, seg->pkt.psn);
		q->send = seg->wqe;
		q->begun = seg->wqe;
		q->acked = seg->wqe;
		return;
	}
	if (rove_retry_span(q->una, seg->pkt.psn) >= flight(q))
		return;
	rove_retry_go_back(q, seg->pkt.psn);
	if (seg->resend)
		return;
	/* It was never on its way. */
	q->max_psn = q->psn;
	if (!rove_req_in_flight(q)) {
		q->timing = false;
		rove_retry_arm(q);
	}
}

void rove_req_seg_failed(struct rove_req *q, const struct rove_seg *seg, enum rove_fault fault)
{
	struct rove_swqe *w = rove_req_wqe(q, seg->wqe);

	if (!running(q))
		return;
	if (fault == ROVE_FAULT_PAGE) {
		take_back_seg(q, seg);
		return;
	}
	if (!fault)
		fault = ROVE_FAULT_WQE;
	if (q->conf.type == ROVE_QPT_UD) {
		w->fault = fault;
		break_down(q);
		return;
	}
	if (rove_retry_span(q->una, seg->pkt.psn) >= flight(q))
		return;
	rove_retry_go_back(q, seg->pkt.psn);
	w->fault = fault;
	settle(q);
}

void rove_req_seg_dropped(struct rove_req *q, const struct rove_seg *seg, u64 now)
{
	if (q->conf.type == ROVE_QPT_UD || !running(q))
		return;
	if (q->conf.type == ROVE_QPT_UC && q->drops >= UC_DROPS_MAX)
		return;
	rove_retry_dropped(q, seg->pkt.psn, now);
}

/* ---- responses ----------------------------------------------------------- */

static void finish(struct rove_req *q, struct rove_swqe *w)
{
	w->state = ROVE_SWQE_DONE;
	q->acked++;
	pass_local(q);
}

/*
 * Everything before @psn is acknowledged, implicitly or not: SENDs and WRITEs
 * are done, but not a READ or atomic whose response did not come (9.7.5.1.2).
 * @psn lies between una and max_psn. False: such a one is in the way, or a WQE
 * that failed here; una says where.
 */
static bool ack_before(struct rove_req *q, u32 psn, u64 now)
{
	u32 old = q->una, old_bytes = q->una_bytes;

	while (q->una != psn) {
		struct rove_swqe *w = rove_req_wqe(q, q->acked);
		u32 end = rove_psn_add(w->last_psn, 1);

		if (w->fault || rove_wqe_is(w, ROVE_WQEP_RD))
			break;
		if (rove_retry_span(q->una, end) <= rove_retry_span(q->una, psn)) {
			q->una_bytes += w->length - rove_retry_offset(q, w, q->una);
			q->una = end;
			finish(q, w);
		} else {
			q->una_bytes += rove_retry_offset(q, w, psn) -
					rove_retry_offset(q, w, q->una);
			q->una = psn;
		}
	}
	if (q->una != old) {
		rove_retry_widen(q, q->una_bytes - old_bytes);
		rove_retry_progress(q, old, now);
		settle(q);
	}
	return q->una == psn && running(q);
}

void rove_req_handed_over(struct rove_req *q, u64 now)
{
	if (q->conf.type != ROVE_QPT_UC || !running(q))
		return;
	/* What was taken back was never on its way. */
	q->max_psn = q->psn;
	ack_before(q, q->psn, now);
}

/* One more PSN of READ or atomic @w was answered; @last: of one request. */
static void answered(struct rove_req *q, struct rove_swqe *w, bool last, u64 now)
{
	u32 old = q->una;

	q->una = rove_psn_add(old, 1);
	if (last && q->rd_atomic)
		q->rd_atomic--;
	q->read_less -= min(q->read_less, q->conf.pmtu);
	if (old == w->last_psn)
		finish(q, w);
	rove_retry_progress(q, old, now);
	settle(q);
}

static enum rove_req_act drop(struct rove_req_place *place, enum rove_drop why)
{
	place->drop = why;
	return ROVE_REQ_DROP;
}

static enum rove_fault nak_fault(struct rove_req *q, u8 code)
{
	switch (code) {
	case ROVE_NAK_INVALID:
		rove_tally_add(&q->tally, ROVE_TALLY_NAK_INVALID_RCVD);
		return ROVE_FAULT_PEER_INVALID;
	case ROVE_NAK_ACCESS:
		rove_tally_add(&q->tally, ROVE_TALLY_NAK_ACCESS_RCVD);
		return ROVE_FAULT_PEER_ACCESS;
	default:
		rove_tally_add(&q->tally, ROVE_TALLY_NAK_OP_RCVD);
		return ROVE_FAULT_PEER_OP;
	}
}

/* NAK, RNR or not: all before its PSN is acknowledged (9.7.5.2.8). */
static enum rove_req_act nak(struct rove_req *q, const struct rove_pkt *pkt, u64 now,
			     struct rove_req_place *place)
{
	bool rnr = (pkt->syndrome & ROVE_AETH_KIND) == ROVE_AETH_RNR;
	u8 code = pkt->syndrome & ROVE_AETH_VALUE;

	if (!rnr && code > ROVE_NAK_OP)
		return drop(place, ROVE_DROP_FAULT);
	if (!ack_before(q, pkt->psn, now)) {
		if (running(q))
			rove_retry_gap(q, now);
	} else if (rnr) {
		if (q->hold == ROVE_HOLD_RNR)
			return drop(place, ROVE_DROP_STALE);
		rove_tally_add(&q->tally, ROVE_TALLY_RNR_RCVD);
		if (!rove_retry_rnr(q, code, now)) {
			rove_tally_add(&q->tally, ROVE_TALLY_RNR_RETRY_EXC);
			fail(q, ROVE_FAULT_RNR_RETRY);
		}
	} else if (code == ROVE_NAK_SEQ) {
		rove_tally_add(&q->tally, ROVE_TALLY_NAK_SEQ_RCVD);
		rove_retry_gap(q, now);
	} else {
		fail(q, nak_fault(q, code));
	}
	return ROVE_REQ_DONE;
}

static enum rove_req_act ack(struct rove_req *q, const struct rove_pkt *pkt, u64 now,
			     struct rove_req_place *place)
{
	switch (pkt->syndrome & ROVE_AETH_KIND) {
	case ROVE_AETH_ACK:
		rove_tally_add(&q->tally, ROVE_TALLY_ACK_RCVD);
		if (!ack_before(q, rove_psn_add(pkt->psn, 1), now) && running(q))
			rove_retry_gap(q, now);
		return ROVE_REQ_DONE;
	case ROVE_AETH_RNR:
	case ROVE_AETH_NAK:
		return nak(q, pkt, now, place);
	default:
		return drop(place, ROVE_DROP_FAULT);
	}
}

/*
 * Is @pkt what has to come at byte w->done? A packet says FIRST or ONLY where a
 * request began, at a chunk's start or where the READ was resumed, LAST or ONLY
 * at the chunk's end, and its length follows from that (9.7.5.1.7 f.).
 */
static bool read_fits(const struct rove_req *q, const struct rove_swqe *w,
		      const struct rove_pkt *pkt)
{
	u32 chunk = 1U << q->chunk_shift;
	u32 in_chunk = w->done & (chunk - 1);
	u32 rest = min(chunk - in_chunk, w->length - w->done);
	u8 op = pkt->opcode & ROVE_OP_MASK;
	bool first = op == ROVE_OP_READ_RESP_FIRST || op == ROVE_OP_READ_RESP_ONLY;
	bool last = op == ROVE_OP_READ_RESP_LAST || op == ROVE_OP_READ_RESP_ONLY;

	if (first ? in_chunk && pkt->psn != q->restart_psn : !in_chunk)
		return false;
	return last == (rest <= q->conf.pmtu) && pkt->len == min(rest, q->conf.pmtu);
}

static enum rove_req_act read_response(struct rove_req *q, const struct rove_pkt *pkt, u64 now,
				       struct rove_req_place *place)
{
	struct rove_swqe *w = rove_req_wqe(q, q->acked);

	if (rove_wqe_is(w, ROVE_WQEP_PLACE) && !w->fault && !pkt->len &&
	    pkt->opcode == ROVE_OP_READ_RESP_ONLY) {
		answered(q, w, true, now);
		return ROVE_REQ_DONE;
	}
	if (!rove_wqe_is(w, ROVE_WQEP_READ) || w->fault || !read_fits(q, w, pkt)) {
		fail(q, ROVE_FAULT_BAD_RESPONSE);
		return ROVE_REQ_DONE;
	}
	if (!pkt->len) {
		answered(q, w, true, now);
		return ROVE_REQ_DONE;
	}
	place->wqe = q->acked;
	place->off = w->done;
	place->len = pkt->len;
	q->place_len = pkt->len;
	q->placing = true;
	return ROVE_REQ_PLACE;
}

static enum rove_req_act atomic_response(struct rove_req *q, const struct rove_pkt *pkt,
					 struct rove_req_place *place)
{
	struct rove_swqe *w = rove_req_wqe(q, q->acked);

	if (!rove_wqe_is(w, ROVE_WQEP_ATOMIC) || w->fault) {
		fail(q, ROVE_FAULT_BAD_RESPONSE);
		return ROVE_REQ_DONE;
	}
	place->wqe = q->acked;
	place->off = 0;
	place->len = sizeof(place->value);
	place->value = pkt->orig;
	q->place_len = place->len;
	q->placing = true;
	return ROVE_REQ_PLACE_VALUE;
}

enum rove_req_act rove_req_packet(struct rove_req *q, const struct rove_pkt *pkt, u64 now,
				  struct rove_req_place *place)
{
	u32 flags = rove_opcode_info[pkt->opcode].flags;

	if (!running(q) || q->conf.type != ROVE_QPT_RC)
		return drop(place, ROVE_DROP_STATE);
	if (q->placing)
		return drop(place, ROVE_DROP_BUSY);
	if (rove_pkey_find(&q->conf.pkeys, pkt->pkey) < 0)
		return drop(place, ROVE_DROP_PKEY);
	if ((pkt->opcode & ROVE_TR_MASK) != ROVE_TR_RC || !(flags & ROVE_OPF_RESPONSE))
		return drop(place, ROVE_DROP_OPCODE);
	if (rove_retry_span(q->una, pkt->psn) >= rove_retry_span(q->una, q->max_psn))
		return drop(place, ROVE_DROP_STALE);
	if (pkt->opcode == ROVE_OP_ACK)
		return ack(q, pkt, now, place);

	/* Data with a syndrome that refuses it: none of the peers we know. */
	if ((flags & ROVE_OPF_AETH) && (pkt->syndrome & ROVE_AETH_KIND) != ROVE_AETH_ACK)
		return drop(place, ROVE_DROP_FAULT);
	if (!ack_before(q, pkt->psn, now)) {
		if (running(q))
			rove_retry_gap(q, now);
		return drop(place, ROVE_DROP_STALE);
	}
	if (pkt->opcode == ROVE_OP_ATOMIC_ACK)
		return atomic_response(q, pkt, place);
	return read_response(q, pkt, now, place);
}

void rove_req_placed(struct rove_req *q, enum rove_fault fault, u64 now)
{
	struct rove_swqe *w = rove_req_wqe(q, q->acked);
	bool last = true;

	if (!q->placing)
		return;
	q->placing = false;
	if (unlikely(fault == ROVE_FAULT_PAGE))
		return;
	if (fault) {
		fail(q, fault);
		return;
	}
	w->done += q->place_len;
	if (rove_wqe_is(w, ROVE_WQEP_READ))
		last = w->done == w->length || !(w->done & ((1U << q->chunk_shift) - 1));
	answered(q, w, last, now);
}

void rove_req_timer(struct rove_req *q, u64 now)
{
	if (!running(q) || rove_retry_timer(q, now))
		return;
	rove_tally_add(&q->tally, ROVE_TALLY_RETRY_EXC);
	fail(q, ROVE_FAULT_RETRY);
}
