// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel's own QPs have the same rings as those of processes, and this is
 * their producer. Work requests are checked once more when they are taken; what
 * is checked here is what the caller wants to be told at once.
 */
#include <rdma/rove-abi.h>
#include "../obj/ah.h"
#include "../obj/qp.h"
#include "../obj/run.h"
#include "../obj/srq.h"
#include "post.h"

#define SEND_FLAGS	(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE)

/* ---- send queue ------------------------------------------------------------ */

/* enum rove_wr_op, or -EINVAL. */
static int opcode_of(enum ib_wr_opcode op)
{
	switch (op) {
	case IB_WR_SEND:
		return ROVE_WR_SEND;
	case IB_WR_SEND_WITH_IMM:
		return ROVE_WR_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		return ROVE_WR_SEND_INV;
	case IB_WR_RDMA_WRITE:
		return ROVE_WR_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return ROVE_WR_WRITE_IMM;
	case IB_WR_RDMA_READ:
		return ROVE_WR_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return ROVE_WR_CMP_SWP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return ROVE_WR_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return ROVE_WR_LOCAL_INV;
	case IB_WR_REG_MR:
		return ROVE_WR_REG_MR;
	case IB_WR_ATOMIC_WRITE:
		return ROVE_WR_ATOMIC_WRITE;
	default:
		return -EINVAL;
	}
}

static u8 flags_of(int send_flags)
{
	u8 flags = 0;

	if (send_flags & IB_SEND_SIGNALED)
		flags |= ROVE_WR_SIGNALED;
	if (send_flags & IB_SEND_SOLICITED)
		flags |= ROVE_WR_SOLICITED;
	if (send_flags & IB_SEND_FENCE)
		flags |= ROVE_WR_FENCE;
	if (send_flags & IB_SEND_INLINE)
		flags |= ROVE_WR_INLINE;
	return flags;
}

/* The part of @sqe that depends on the operation. */
static int fill_target(struct rove_sqe *sqe, const struct rove_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic;
	const struct ib_rdma_wr *rdma;
	const struct ib_reg_wr *reg;
	const struct ib_ud_wr *ud;

	if (qp->limits.ud) {
		ud = ud_wr(wr);
		if (!ud->ah)
			return -EINVAL;
		sqe->ud.ah = rove_ah_of(ud->ah)->handle;
		sqe->ud.qpn = ud->remote_qpn;
		sqe->ud.qkey = ud->remote_qkey;
		if (qp->type == IB_QPT_GSI)
			sqe->ud.pkey_index = ud->pkey_index;
		return 0;
	}

	switch (sqe->opcode) {
	case ROVE_WR_WRITE:
	case ROVE_WR_WRITE_IMM:
	case ROVE_WR_READ:
		rdma = rdma_wr(wr);
		sqe->rdma.addr = rdma->remote_addr;
		sqe->rdma.rkey = rdma->rkey;
		break;
	case ROVE_WR_CMP_SWP:
	case ROVE_WR_FETCH_ADD:
		atomic = atomic_wr(wr);
		sqe->atomic.addr = atomic->remote_addr;
		sqe->atomic.rkey = atomic->rkey;
		sqe->atomic.compare_add = atomic->compare_add;
		sqe->atomic.swap = atomic->swap;
		break;
	case ROVE_WR_ATOMIC_WRITE:
		/* Eight bytes, which are taken now. */
		if (wr->num_sge != 1 || wr->sg_list->length != sizeof(sqe->atomic.compare_add))
			return -EINVAL;
		rdma = rdma_wr(wr);
		sqe->atomic.addr = rdma->remote_addr;
		sqe->atomic.rkey = rdma->rkey;
		memcpy(&sqe->atomic.compare_add, (void *)(uintptr_t)wr->sg_list->addr,
		       sizeof(sqe->atomic.compare_add));
		sqe->flags &= ~ROVE_WR_INLINE;
		sqe->num = 0;
		break;
	case ROVE_WR_REG_MR:
		reg = reg_wr(wr);
		sqe->reg.iova = reg->mr->iova;
		sqe->reg.length = reg->mr->length;
		sqe->reg.key = reg->key;
		sqe->reg.access = reg->access;
		break;
	default:
		break;
	}
	return 0;
}

static void copy_sges(struct rove_sge *to, const struct ib_sge *from, int num)
{
	for (; num > 0; num--, to++, from++) {
		to->addr = from->addr;
		to->length = from->length;
		to->lkey = from->lkey;
	}
}

/* The bytes, or -EINVAL. Addresses are the kernel's: there is no device to map for. */
static int copy_inline(u8 *to, const struct ib_sge *sge, int num, u32 max)
{
	u32 len = 0;

	for (; num > 0; num--, sge++) {
		if (sge->length > max - len)
			return -EINVAL;
		memcpy(to + len, (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	return len;
}

static int fill_sqe(struct rove_sqe *sqe, const struct rove_qp *qp, const struct ib_send_wr *wr)
{
	int op = opcode_of(wr->opcode), num = wr->num_sge;

	if (op < 0 || !(qp->limits.ops & BIT(op)) || (wr->send_flags & ~SEND_FLAGS))
		return -EINVAL;
	if (num < 0 || num > qp->limits.max_sge)
		return -EINVAL;

	memset(sqe, 0, sizeof(*sqe));
	sqe->wr_id = wr->wr_id;
	sqe->opcode = op;
	sqe->flags = flags_of(wr->send_flags);
	if (op == ROVE_WR_SEND_INV || op == ROVE_WR_LOCAL_INV)
		sqe->imm = wr->ex.invalidate_rkey;
	else
		sqe->imm = (__force u32)wr->ex.imm_data;

	if (wr->send_flags & IB_SEND_INLINE) {
		num = copy_inline((u8 *)(sqe + 1), wr->sg_list, num, qp->limits.max_inline);
		if (num < 0)
			return num;
	} else {
		copy_sges((struct rove_sge *)(sqe + 1), wr->sg_list, num);
	}
	sqe->num = num;
	return fill_target(sqe, qp, wr);
}

static bool may_send(enum ib_qp_state state)
{
	return state == IB_QPS_RTS || state == IB_QPS_SQD || state == IB_QPS_SQE ||
	       state == IB_QPS_ERR;
}

static int post_send_locked(struct rove_qp *qp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad_wr)
{
	struct rove_ring *ring = &qp->sq_prod;
	int err = 0;
	u32 space;

	lockdep_assert_held(&qp->post_lock);
	space = rove_ring_space(ring);
	for (; wr; wr = wr->next) {
		if (!may_send(READ_ONCE(qp->state)))
			err = -EINVAL;
		else if (!space)
			err = -ENOMEM;
		else
			err = fill_sqe(rove_ring_slot(ring, ring->head), qp, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
		ring->head++;
		space--;
	}
	rove_ring_submit(ring);
	return err;
}

int rove_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr)
{
	struct rove_qp *qp = rove_qp_of(ib);
	unsigned long flags;
	int err;

	if (qp->uctx) {
		/* It posts in its own memory: this is the kick. */
		if (wr) {
			*bad_wr = wr;
			return -EOPNOTSUPP;
		}
		rove_run_kick(qp);
		return 0;
	}

	/* Requests of the kernel cannot name an SRQ. */
	if (rove_qp_is_xrc(qp)) {
		*bad_wr = wr;
		return -EINVAL;
	}

	spin_lock_irqsave(&qp->post_lock, flags);
	err = post_send_locked(qp, wr, bad_wr);
	spin_unlock_irqrestore(&qp->post_lock, flags);

	/* What came before the bad one was posted. */
	rove_run_posted(qp);
	return err;
}

/* ---- receive queues -------------------------------------------------------- */

static int fill_rqe(struct rove_rqe *rqe, u32 max_sge, const struct ib_recv_wr *wr)
{
	if (wr->num_sge < 0 || wr->num_sge > max_sge)
		return -EINVAL;

	rqe->wr_id = wr->wr_id;
	rqe->num = wr->num_sge;
	rqe->reserved_60 = 0;
	copy_sges((struct rove_sge *)(rqe + 1), wr->sg_list, wr->num_sge);
	return 0;
}

/* Under the lock of the producer side. */
static int post_recv_locked(struct rove_ring *ring, u32 max_sge, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad_wr)
{
	u32 space = rove_ring_space(ring);
	int err = 0;

	for (; wr; wr = wr->next) {
		if (!space)
			err = -ENOMEM;
		else
			err = fill_rqe(rove_ring_slot(ring, ring->head), max_sge, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
		ring->head++;
		space--;
	}
	rove_ring_submit(ring);
	return err;
}

int rove_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr)
{
	struct rove_qp *qp = rove_qp_of(ib);
	unsigned long flags;
	int err;

	if (qp->uctx) {
		if (!wr)
			return 0;
		*bad_wr = wr;
		return -EOPNOTSUPP;
	}

	spin_lock_irqsave(&qp->post_lock, flags);
	if (!qp->rq_entries || READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad_wr = wr;
		err = -EINVAL;
	} else {
		err = post_recv_locked(&qp->rq_prod, qp->max_recv_sge, wr, bad_wr);
	}
	spin_unlock_irqrestore(&qp->post_lock, flags);

	/*
	 * In the error state somebody has to flush it. Either who sets the flag
	 * sees what was posted, or the flag is seen here.
	 */
	smp_mb();
	if (READ_ONCE(qp->hdr->flags) & ROVE_QP_RING_RECV)
		rove_run_posted(qp);
	return err;
}

int rove_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct rove_srq *srq = rove_srq_of(ib);
	unsigned long flags;
	int err;

	/* A process posts in its own memory. */
	if (srq->user) {
		*bad_wr = wr;
		return -EOPNOTSUPP;
	}

	spin_lock_irqsave(&srq->post_lock, flags);
	err = post_recv_locked(&srq->prod, srq->max_sge, wr, bad_wr);
	spin_unlock_irqrestore(&srq->post_lock, flags);
	return err;
}
