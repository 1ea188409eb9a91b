// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting. Work requests are written in place, into the mapped ring; nothing of
 * them is visible to the module before the producer index is published, so that
 * one that turns out to be wrong is dropped by not moving the index.
 *
 * ibv_post_send() and ibv_wr_*() share each step and hence all results:
 *
 *   sqe_start()               checks, takes the slot at head, writes the header
 *   sqe_set_*(), sqe_copy_*() add to it; then head moves on
 *   sq_submit()               publishes what lies before head, rings once
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "rove-abi.h"
#include "rove.h"

#define OP(op)		(1U << (op))
#define OPS_UD		(OP(ROVE_WR_SEND) | OP(ROVE_WR_SEND_IMM))
#define OPS_UC		(OPS_UD | OP(ROVE_WR_WRITE) | OP(ROVE_WR_WRITE_IMM))
/* REG_MR is the kernel's. */
#define OPS_XRC		(OP(ROVE_WR_FETCH_ADD + 1) - 1)
#define OPS_RC		((OP(ROVE_WR_OPS) - 1) & ~OP(ROVE_WR_REG_MR))
#define OPS_NO_SGE	(OP(ROVE_WR_LOCAL_INV) | OP(ROVE_WR_BIND_MW) | \
			 OP(ROVE_WR_ATOMIC_WRITE) | OP(ROVE_WR_FLUSH))
#define OPS_INLINE	(OP(ROVE_WR_SEND) | OP(ROVE_WR_SEND_IMM) | OP(ROVE_WR_SEND_INV) | \
			 OP(ROVE_WR_WRITE) | OP(ROVE_WR_WRITE_IMM))

#define SEND_FLAGS	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | \
			 IBV_SEND_INLINE)

static_assert(sizeof(struct rove_sge) == sizeof(struct ibv_sge) &&
	      offsetof(struct rove_sge, length) == offsetof(struct ibv_sge, length) &&
	      offsetof(struct rove_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "SGEs are copied as they are");

u32 rove_post_ops(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return OPS_RC;
	case IBV_QPT_XRC_SEND:
		return OPS_XRC;
	case IBV_QPT_UC:
		return OPS_UC;
	case IBV_QPT_UD:
		return OPS_UD;
	default:
		return 0;
	}
}

/* ---- room, doorbell ----------------------------------------------------------- */

/*
 * Is there a slot for one more? Both limits lie in memory that others write, so
 * they are looked up only when the room known of is used up.
 */
static bool wq_has_room(struct rove_wq *wq)
{
	u32 entries = wq->ring.mask + 1;
	u32 slots, pending;

	if (likely(wq->limit != wq->ring.head))
		return true;

	slots = rove_ring_space(&wq->ring);
	pending = wq->ring.head - READ_ONCE(wq->completed);
	wq->limit += pending > entries ? 0 : min(slots, entries - pending);
	return wq->limit != wq->ring.head;
}

/* True if nobody is there to see it. */
static bool ring_doorbell(struct rove_db_page *db, u32 slot)
{
	u32 word = slot / 64;

	__atomic_fetch_or(&db->rung[word], 1ULL << slot % 64, __ATOMIC_RELEASE);
	__atomic_fetch_or(&db->summary[word / 64], 1ULL << word % 64, __ATOMIC_RELEASE);
	smp_mb();	/* pairs with the engine's, before it goes to sleep */
	return READ_ONCE(db->need_wakeup) == ROVE_DB_AT_POST;
}

static bool must_kick(struct rove_qp *qp)
{
	if (qp->db_slot == ROVE_DB_NO_SLOT)
		return true;
	return ring_doorbell(to_rove_ctx(qp->vqp.qp.context)->db, qp->db_slot);
}

/* Sends were posted, and will be seen without it being rung for them. */
static bool is_watched(const struct rove_qp *qp)
{
	smp_mb();	/* pairs with the requester's, before it looks once more */
	return READ_ONCE(qp->hdr->sq_waits);
}

/*
 * One system call; the module looks at both queues of the QP in it. It fails when
 * the device is gone, and then nothing of what was posted will be done. The core needs a
 * little memory for it: a lack of that passes, and the work is posted already.
 */
static int kick(struct rove_qp *qp)
{
	struct ibv_send_wr *bad_wr;
	int err;

	while ((err = ibv_cmd_post_send(&qp->vqp.qp, NULL, &bad_wr)) == ENOMEM)
		sched_yield();
	return err;
}

/* ---- one send work request ------------------------------------------------------ */

static bool has_ah(const struct rove_qp *qp)
{
	return qp->ops == OPS_UD;
}

static bool has_srqn(const struct rove_qp *qp)
{
	return qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND;
}

static int sq_ready(struct rove_qp *qp)
{
	if (!qp->hdr)
		return EINVAL;
	/* In the error states it is accepted, and flushed by the module. */
	return qp->vqp.qp.state < IBV_QPS_RTS ? EINVAL : 0;
}

static u8 sqe_flags(const struct rove_qp *qp, unsigned int flags)
{
	return (flags & IBV_SEND_SIGNALED || qp->sq_sig_all ? ROVE_WR_SIGNALED : 0) |
	       (flags & IBV_SEND_SOLICITED ? ROVE_WR_SOLICITED : 0) |
	       (flags & IBV_SEND_FENCE ? ROVE_WR_FENCE : 0);
}

static int sqe_start(struct rove_qp *qp, u32 op, u64 wr_id, unsigned int flags,
		     struct rove_sqe **res)
{
	struct rove_sqe *sqe;

	if (op >= ROVE_WR_OPS || !(qp->ops & OP(op)) || flags & ~SEND_FLAGS)
		return EINVAL;
	if (!wq_has_room(&qp->sq))
		return ENOMEM;

	sqe = rove_ring_slot(&qp->sq.ring, qp->sq.ring.head);
	memset(sqe, 0, sizeof(*sqe));
	sqe->wr_id = wr_id;
	sqe->opcode = op;
	sqe->flags = sqe_flags(qp, flags);
	*res = sqe;
	return 0;
}

static void sqe_set_rdma(struct rove_sqe *sqe, u32 rkey, u64 addr)
{
	sqe->rdma.addr = addr;
	sqe->rdma.rkey = rkey;
}

static void sqe_set_atomic(struct rove_sqe *sqe, u32 rkey, u64 addr,
			   u64 compare_add, u64 swap)
{
	sqe->atomic.addr = addr;
	sqe->atomic.rkey = rkey;
	sqe->atomic.compare_add = compare_add;
	sqe->atomic.swap = swap;
}

/* The bytes are taken now. */
static void sqe_set_atomic_write(struct rove_sqe *sqe, u32 rkey, u64 addr, const void *data)
{
	sqe->atomic.addr = addr;
	sqe->atomic.rkey = rkey;
	memcpy(&sqe->atomic.compare_add, data, sizeof(sqe->atomic.compare_add));
}

static int sqe_set_flush(struct rove_sqe *sqe, u32 rkey, u64 addr, size_t length, u8 type, u8 level)
{
	if (length > UINT32_MAX)
		return EINVAL;
	sqe->flush.addr = addr;
	sqe->flush.rkey = rkey;
	sqe->flush.length = length;
	sqe->flush.type = type;
	sqe->flush.level = level;
	return 0;
}

static int sqe_set_bind(struct rove_qp *qp, struct rove_sqe *sqe, const struct ibv_mw *mw,
			u32 rkey, const struct ibv_mw_bind_info *info)
{
	if (!mw || (info->length && !info->mr))
		return EINVAL;
	/* Whether it may be is for the module to say; it does not see other contexts. */
	if (mw->context != qp->vqp.qp.context)
		return EINVAL;
	sqe->bind.addr = info->addr;
	sqe->bind.length = info->length;
	sqe->bind.mw_rkey = mw->rkey;
	sqe->bind.new_rkey = rkey;
	sqe->bind.lkey = info->mr ? info->mr->lkey : 0;
	sqe->bind.access = info->mw_access_flags;
	return 0;
}

static int sqe_set_ud(struct rove_sqe *sqe, struct ibv_ah *ah, u32 qpn, u32 qkey)
{
	if (!ah)
		return EINVAL;
	sqe->ud.ah = to_rove_ah(ah)->ah;
	sqe->ud.qpn = qpn;
	sqe->ud.qkey = qkey;
	return 0;
}

/* The same place for all operations. */
static void sqe_set_srqn(struct rove_sqe *sqe, u32 srqn)
{
	sqe->rdma.srqn = srqn;
}

static int sqe_copy_sges(struct rove_qp *qp, struct rove_sqe *sqe, const struct ibv_sge *sg_list,
			 u64 num_sge)
{
	if (OPS_NO_SGE & OP(sqe->opcode))
		return 0;	/* it has none, whatever the list says */
	if (num_sge > qp->sq.max_sge)
		return EINVAL;
	sqe->flags &= ~ROVE_WR_INLINE;
	sqe->num = num_sge;
	if (num_sge)
		memcpy(sqe + 1, sg_list, num_sge * sizeof(*sg_list));
	return 0;
}

/*
 * Inline data may come in any number of pieces: what counts is their sum, which is
 * known to fit before a byte is copied.
 */
static int sqe_append_inline(struct rove_qp *qp, struct rove_sqe *sqe, const void *data,
			     size_t length)
{
	if (!(OPS_INLINE & OP(sqe->opcode)) || length > qp->max_inline - sqe->num)
		return EINVAL;
	sqe->flags |= ROVE_WR_INLINE;
	if (length)
		memcpy((u8 *)(sqe + 1) + sqe->num, data, length);
	sqe->num += length;
	return 0;
}

/* Publishes what was written since @start: true if a kick is needed. */
static bool sq_submit(struct rove_qp *qp, u32 start)
{
	if (qp->sq.ring.head == start)
		return false;
	rove_ring_submit(&qp->sq.ring);
	return !is_watched(qp) && must_kick(qp);
}

/* ---- ibv_post_send() -------------------------------------------------------------- */

static u32 send_op(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
		return ROVE_WR_SEND;
	case IBV_WR_SEND_WITH_IMM:
		return ROVE_WR_SEND_IMM;
	case IBV_WR_SEND_WITH_INV:
		return ROVE_WR_SEND_INV;
	case IBV_WR_RDMA_WRITE:
		return ROVE_WR_WRITE;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return ROVE_WR_WRITE_IMM;
	case IBV_WR_RDMA_READ:
		return ROVE_WR_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return ROVE_WR_CMP_SWP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ROVE_WR_FETCH_ADD;
	case IBV_WR_LOCAL_INV:
		return ROVE_WR_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return ROVE_WR_BIND_MW;
	case IBV_WR_ATOMIC_WRITE:
		return ROVE_WR_ATOMIC_WRITE;
	default:
		return ROVE_WR_OPS;
	}
}

static int set_target(struct rove_qp *qp, struct rove_sqe *sqe, const struct ibv_send_wr *wr)
{
	switch (sqe->opcode) {
	case ROVE_WR_SEND_IMM:
		sqe->imm = (__force u32)wr->imm_data;
		break;
	case ROVE_WR_SEND_INV:
	case ROVE_WR_LOCAL_INV:
		sqe->imm = wr->invalidate_rkey;
		break;
	case ROVE_WR_ATOMIC_WRITE:
		if (wr->num_sge != 1 || wr->sg_list->length != sizeof(sqe->atomic.compare_add))
			return EINVAL;
		sqe_set_atomic_write(sqe, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
				     (void *)(uintptr_t)wr->sg_list->addr);
		break;
	case ROVE_WR_BIND_MW:
		return sqe_set_bind(qp, sqe, wr->bind_mw.mw, wr->bind_mw.rkey,
				    &wr->bind_mw.bind_info);
	case ROVE_WR_WRITE_IMM:
		sqe->imm = (__force u32)wr->imm_data;
		sqe_set_rdma(sqe, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case ROVE_WR_WRITE:
	case ROVE_WR_READ:
		sqe_set_rdma(sqe, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case ROVE_WR_CMP_SWP:
		sqe_set_atomic(sqe, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
			       wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	case ROVE_WR_FETCH_ADD:
		sqe_set_atomic(sqe, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
			       wr->wr.atomic.compare_add, 0);
		break;
	}
	if (has_srqn(qp))
		sqe_set_srqn(sqe, wr->qp_type.xrc.remote_srqn);
	if (!has_ah(qp))
		return 0;
	return sqe_set_ud(sqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
}

static int copy_inline(struct rove_qp *qp, struct rove_sqe *sqe, const struct ibv_sge *sge,
		       int num)
{
	/* With no piece at all it still is inline. */
	int err = sqe_append_inline(qp, sqe, NULL, 0);

	for (; !err && num > 0; sge++, num--)
		err = sqe_append_inline(qp, sqe, (void *)(uintptr_t)sge->addr, sge->length);
	return err;
}

static int post_one(struct rove_qp *qp, const struct ibv_send_wr *wr)
{
	struct rove_sqe *sqe;
	int err;

	err = sqe_start(qp, send_op(wr->opcode), wr->wr_id, wr->send_flags, &sqe);
	if (err)
		return err;
	err = set_target(qp, sqe, wr);
	if (err)
		return err;

	if (wr->num_sge < 0)
		return EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE && sqe->opcode != ROVE_WR_ATOMIC_WRITE)
		err = copy_inline(qp, sqe, wr->sg_list, wr->num_sge);
	else
		err = sqe_copy_sges(qp, sqe, wr->sg_list, wr->num_sge);
	if (!err)
		qp->sq.ring.head++;
	return err;
}

int rove_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct rove_qp *qp = to_rove_qp(ibqp);
	struct ibv_send_wr *first = wr;
	u32 start;
	int err, kick_err;
	bool asleep;

	pthread_spin_lock(&qp->sq.lock);
	start = qp->sq.ring.head;
	err = sq_ready(qp);
	while (!err && wr) {
		err = post_one(qp, wr);
		if (!err)
			wr = wr->next;
	}
	asleep = sq_submit(qp, start);
	pthread_spin_unlock(&qp->sq.lock);

	if (err)
		*bad_wr = wr;
	kick_err = asleep ? kick(qp) : 0;
	if (kick_err) {
		*bad_wr = first;
		return kick_err;
	}
	return err;
}

/*
 * A window of type 1. Its key becomes the new one as soon as that is posted: what is
 * posted behind it may name it.
 */
int rove_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	struct ibv_send_wr *bad_wr;
	int err;

	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL;
	err = rove_post_send(ibqp, &wr, &bad_wr);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}

/* ---- ibv_post_recv() -------------------------------------------------------------- */

int rove_post_fill_recv(struct rove_ring *ring, u32 max_sge, const struct ibv_recv_wr *wr)
{
	struct rove_rqe *rqe;

	if (wr->num_sge < 0 || (u32)wr->num_sge > max_sge)
		return EINVAL;

	rqe = rove_ring_slot(ring, ring->head);
	rqe->wr_id = wr->wr_id;
	rqe->num = wr->num_sge;
	rqe->reserved_60 = 0;
	if (wr->num_sge)
		memcpy(rqe + 1, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	ring->head++;
	return 0;
}

/* True if the module has to be told: it flushes what is posted in the error state. */
static bool rq_submit(struct rove_qp *qp, u32 start)
{
	if (qp->rq.ring.head == start)
		return false;
	rove_ring_submit(&qp->rq.ring);
	smp_mb();	/* pairs with the module's: it flushes the WR, or we see the flag */
	return READ_ONCE(qp->hdr->flags) & ROVE_QP_RING_RECV && must_kick(qp);
}

int rove_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct rove_qp *qp = to_rove_qp(ibqp);
	struct ibv_recv_wr *first = wr;
	u32 start;
	int err, kick_err;
	bool asleep;

	/* With an SRQ, and for XRC, there is no queue. */
	if (!qp->hdr || !(qp->rq.ring.mask + 1)) {
		*bad_wr = wr;
		return EINVAL;
	}
	pthread_spin_lock(&qp->rq.lock);
	start = qp->rq.ring.head;
	err = ibqp->state == IBV_QPS_RESET ? EINVAL : 0;
	while (!err && wr) {
		if (wq_has_room(&qp->rq))
			err = rove_post_fill_recv(&qp->rq.ring, qp->rq.max_sge, wr);
		else
			err = ENOMEM;
		if (!err)
			wr = wr->next;
	}
	asleep = rq_submit(qp, start);
	pthread_spin_unlock(&qp->rq.lock);

	if (err)
		*bad_wr = wr;
	kick_err = asleep ? kick(qp) : 0;
	if (kick_err) {
		*bad_wr = first;
		return kick_err;
	}
	return err;
}

/* ---- ibv_wr_*() ------------------------------------------------------------------- */

static void wr_fail(struct rove_qp *qp, int err)
{
	qp->wr_sqe = NULL;
	if (!qp->wr_err)
		qp->wr_err = err;
}

/* The WR begun last is whole now, or ought to be. */
static void wr_finish(struct rove_qp *qp)
{
	if (!qp->wr_sqe)
		return;
	if ((has_ah(qp) || has_srqn(qp)) && !qp->wr_addressed)
		wr_fail(qp, EINVAL);
	else
		qp->sq.ring.head++;
	qp->wr_sqe = NULL;
}

/* Begins a WR; after an error NULL, and the rest of the batch is let pass. */
static struct rove_sqe *wr_begin(struct ibv_qp_ex *ibqp, enum rove_wr_op op)
{
	struct rove_qp *qp = to_rove_qp_ex(ibqp);
	int err;

	wr_finish(qp);
	if (qp->wr_err)
		return NULL;
	qp->wr_addressed = false;
	/* Whether it is inline is said by the setter alone. */
	err = sqe_start(qp, op, ibqp->wr_id, ibqp->wr_flags & ~IBV_SEND_INLINE, &qp->wr_sqe);
	if (err)
		wr_fail(qp, err);
	return qp->wr_sqe;
}

static void wr_send(struct ibv_qp_ex *ibqp)
{
	wr_begin(ibqp, ROVE_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_SEND_IMM);

	if (sqe)
		sqe->imm = (__force u32)imm;
}

static void wr_send_inv(struct ibv_qp_ex *ibqp, u32 rkey)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_SEND_INV);

	if (sqe)
		sqe->imm = rkey;
}

static void wr_rdma_write(struct ibv_qp_ex *ibqp, u32 rkey, u64 addr)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_WRITE);

	if (sqe)
		sqe_set_rdma(sqe, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibqp, u32 rkey, u64 addr, __be32 imm)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_WRITE_IMM);

	if (!sqe)
		return;
	sqe_set_rdma(sqe, rkey, addr);
	sqe->imm = (__force u32)imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ibqp, u32 rkey, u64 addr)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_READ);

	if (sqe)
		sqe_set_rdma(sqe, rkey, addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, u32 rkey, u64 addr,
			      u64 compare, u64 swap)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_CMP_SWP);

	if (sqe)
		sqe_set_atomic(sqe, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, u32 rkey, u64 addr, u64 add)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_FETCH_ADD);

	if (sqe)
		sqe_set_atomic(sqe, rkey, addr, add, 0);
}

static void wr_local_inv(struct ibv_qp_ex *ibqp, u32 rkey)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_LOCAL_INV);

	if (sqe)
		sqe->imm = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw, u32 rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_BIND_MW);
	struct rove_qp *qp = to_rove_qp_ex(ibqp);
	int err;

	if (!sqe)
		return;
	err = sqe_set_bind(qp, sqe, mw, rkey, info);
	if (err)
		wr_fail(qp, err);
}

static void wr_atomic_write(struct ibv_qp_ex *ibqp, u32 rkey, u64 addr, const void *data)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_ATOMIC_WRITE);

	if (sqe)
		sqe_set_atomic_write(sqe, rkey, addr, data);
}

static void wr_flush(struct ibv_qp_ex *ibqp, u32 rkey, u64 addr, size_t length, u8 type, u8 level)
{
	struct rove_sqe *sqe = wr_begin(ibqp, ROVE_WR_FLUSH);
	int err;

	if (!sqe)
		return;
	err = sqe_set_flush(sqe, rkey, addr, length, type, level);
	if (err)
		wr_fail(to_rove_qp_ex(ibqp), err);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah, u32 qpn, u32 qkey)
{
	struct rove_qp *qp = to_rove_qp_ex(ibqp);
	int err;

	if (!qp->wr_sqe)
		return;
	err = has_ah(qp) ? sqe_set_ud(qp->wr_sqe, ah, qpn, qkey) : EINVAL;
	if (err)
		wr_fail(qp, err);
	qp->wr_addressed = true;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ibqp, u32 srqn)
{
	struct rove_qp *qp = to_rove_qp_ex(ibqp);

	if (!qp->wr_sqe)
		return;
	if (has_srqn(qp))
		sqe_set_srqn(qp->wr_sqe, srqn);
	else
		wr_fail(qp, EINVAL);
	qp->wr_addressed = true;
}

static void wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct rove_qp *qp = to_rove_qp_ex(ibqp);
	int err;

	if (!qp->wr_sqe)
		return;
	err = sqe_copy_sges(qp, qp->wr_sqe, sg_list, num_sge);
	if (err)
		wr_fail(qp, err);
}

static void wr_set_sge(struct ibv_qp_ex *ibqp, u32 lkey, u64 addr, u32 length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ibqp, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t num,
				    const struct ibv_data_buf *buf)
{
	struct rove_qp *qp = to_rove_qp_ex(ibqp);
	int err;

	if (!qp->wr_sqe)
		return;
	qp->wr_sqe->num = 0;
	err = sqe_append_inline(qp, qp->wr_sqe, NULL, 0);
	for (; !err && num; buf++, num--)
		err = sqe_append_inline(qp, qp->wr_sqe, buf->addr, buf->length);
	if (err)
		wr_fail(qp, err);
}

static void wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ibqp, 1, &buf);
}

static void wr_start(struct ibv_qp_ex *ibqp)
{
	struct rove_qp *qp = to_rove_qp_ex(ibqp);

	/* Released by wr_complete() or wr_abort(). */
	pthread_spin_lock(&qp->sq.lock);
	qp->wr_start = qp->sq.ring.head;
	qp->wr_sqe = NULL;
	qp->wr_err = sq_ready(qp);
}

/* Drops what was written since wr_start(). */
static void wr_roll_back(struct rove_qp *qp)
{
	qp->sq.ring.head = qp->wr_start;
	qp->wr_sqe = NULL;
}

static int wr_complete(struct ibv_qp_ex *ibqp)
{
	struct rove_qp *qp = to_rove_qp_ex(ibqp);
	bool asleep;
	int err;

	wr_finish(qp);
	err = qp->wr_err;
	if (err)
		wr_roll_back(qp);
	asleep = sq_submit(qp, qp->wr_start);
	pthread_spin_unlock(&qp->sq.lock);

	return asleep ? kick(qp) : err;
}

static void wr_abort(struct ibv_qp_ex *ibqp)
{
	struct rove_qp *qp = to_rove_qp_ex(ibqp);

	wr_roll_back(qp);
	pthread_spin_unlock(&qp->sq.lock);
}

/* The IBV_QP_EX_WITH_* flags of what a QP with @ops can send. */
u64 rove_post_ex_flags(u32 ops)
{
	static const u64 flags[ROVE_WR_OPS] = {
		[ROVE_WR_SEND] = IBV_QP_EX_WITH_SEND,
		[ROVE_WR_SEND_IMM] = IBV_QP_EX_WITH_SEND_WITH_IMM,
		[ROVE_WR_SEND_INV] = IBV_QP_EX_WITH_SEND_WITH_INV,
		[ROVE_WR_WRITE] = IBV_QP_EX_WITH_RDMA_WRITE,
		[ROVE_WR_WRITE_IMM] = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		[ROVE_WR_READ] = IBV_QP_EX_WITH_RDMA_READ,
		[ROVE_WR_CMP_SWP] = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		[ROVE_WR_FETCH_ADD] = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		[ROVE_WR_LOCAL_INV] = IBV_QP_EX_WITH_LOCAL_INV,
		[ROVE_WR_BIND_MW] = IBV_QP_EX_WITH_BIND_MW,
		[ROVE_WR_ATOMIC_WRITE] = IBV_QP_EX_WITH_ATOMIC_WRITE,
		[ROVE_WR_FLUSH] = IBV_QP_EX_WITH_FLUSH,
	};
	u64 all = 0;
	u32 op;

	for (op = 0; op < ROVE_WR_OPS; op++)
		if (ops & OP(op))
			all |= flags[op];
	return all;
}

void rove_post_init_ex(struct rove_qp *qp, u64 flags)
{
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;

	qp->vqp.comp_mask |= VERBS_QP_EX;
	qpx->wr_start = wr_start;
	qpx->wr_complete = wr_complete;
	qpx->wr_abort = wr_abort;
	qpx->wr_set_sge = wr_set_sge;
	qpx->wr_set_sge_list = wr_set_sge_list;
	qpx->wr_set_inline_data = wr_set_inline_data;
	qpx->wr_set_inline_data_list = wr_set_inline_data_list;
	qpx->wr_set_ud_addr = wr_set_ud_addr;
	qpx->wr_set_xrc_srqn = wr_set_xrc_srqn;

	if (flags & IBV_QP_EX_WITH_SEND)
		qpx->wr_send = wr_send;
	if (flags & IBV_QP_EX_WITH_SEND_WITH_IMM)
		qpx->wr_send_imm = wr_send_imm;
	if (flags & IBV_QP_EX_WITH_SEND_WITH_INV)
		qpx->wr_send_inv = wr_send_inv;
	if (flags & IBV_QP_EX_WITH_RDMA_WRITE)
		qpx->wr_rdma_write = wr_rdma_write;
	if (flags & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		qpx->wr_rdma_write_imm = wr_rdma_write_imm;
	if (flags & IBV_QP_EX_WITH_RDMA_READ)
		qpx->wr_rdma_read = wr_rdma_read;
	if (flags & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		qpx->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (flags & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		qpx->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if (flags & IBV_QP_EX_WITH_LOCAL_INV)
		qpx->wr_local_inv = wr_local_inv;
	if (flags & IBV_QP_EX_WITH_BIND_MW)
		qpx->wr_bind_mw = wr_bind_mw;
	if (flags & IBV_QP_EX_WITH_ATOMIC_WRITE)
		qpx->wr_atomic_write = wr_atomic_write;
	if (flags & IBV_QP_EX_WITH_FLUSH)
		qpx->wr_flush = wr_flush;
}
