// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "../wire/pkt.h"
#include "wqe.h"

#define MAX_QPN		0xffffffU
#define ATOMIC_LEN	8
#define SLOT_ALIGN	16U

#define OP_BIT(op)	(1U << (op))
#define OPS_SEND	(OP_BIT(ROVE_WR_SEND) | OP_BIT(ROVE_WR_SEND_IMM) | \
			 OP_BIT(ROVE_WR_SEND_INV))
#define OPS_RDMA	(OP_BIT(ROVE_WR_WRITE) | OP_BIT(ROVE_WR_WRITE_IMM) | \
			 OP_BIT(ROVE_WR_READ))
#define OPS_ATOMIC	(OP_BIT(ROVE_WR_CMP_SWP) | OP_BIT(ROVE_WR_FETCH_ADD))
#define OPS_LOCAL	(OP_BIT(ROVE_WR_LOCAL_INV) | OP_BIT(ROVE_WR_BIND_MW) | \
			 OP_BIT(ROVE_WR_REG_MR))
#define OPS_NO_SGE	(OPS_LOCAL | OP_BIT(ROVE_WR_ATOMIC_WRITE) | OP_BIT(ROVE_WR_FLUSH))
#define FLUSH_TYPES	3	/* enum ib_placement_type */
/* What an SRQ number is put into for XRC has to be 0 there otherwise. */
#define OPS_SRQN	(OPS_RDMA | OPS_ATOMIC | OP_BIT(ROVE_WR_LOCAL_INV) | \
			 OP_BIT(ROVE_WR_ATOMIC_WRITE))
#define OPS_INLINE	(OPS_SEND | OP_BIT(ROVE_WR_WRITE) | OP_BIT(ROVE_WR_WRITE_IMM))
#define OPS_UD		(OP_BIT(ROVE_WR_SEND) | OP_BIT(ROVE_WR_SEND_IMM))

static_assert(sizeof(struct rove_sqe) == 48, "send WQE");
static_assert(offsetof(struct rove_sqe, rdma.srqn) == offsetof(struct rove_sqe, atomic.srqn),
	      "SRQ number");
static_assert(sizeof(struct rove_rqe) == 16, "receive WQE");
static_assert(sizeof(struct rove_sge) == 16, "SGE");
static_assert(sizeof(struct rove_qp_hdr) == ROVE_QP_WQES, "QP header");
static_assert(sizeof(struct rove_db_page) == 4096, "doorbell page");
/* The copies below go by words of eight bytes. */
static_assert(offsetof(struct rove_swqe, sqe) % 8 == 0, "copy of a send WQE");
static_assert(offsetof(struct rove_swqe, sge) ==
	      offsetof(struct rove_swqe, sqe) + sizeof(struct rove_sqe), "SGEs follow");
static_assert(offsetof(struct rove_rwqe, sge) % 8 == 0, "copy of a receive WQE");

const u8 rove_wqe_props[ROVE_WR_OPS] = {
	[ROVE_WR_SEND]		= ROVE_WQEP_DATA | ROVE_WQEP_SEND,
	[ROVE_WR_SEND_IMM]	= ROVE_WQEP_DATA | ROVE_WQEP_SEND,
	[ROVE_WR_SEND_INV]	= ROVE_WQEP_DATA | ROVE_WQEP_SEND,
	[ROVE_WR_WRITE]		= ROVE_WQEP_DATA | ROVE_WQEP_WRITE,
	[ROVE_WR_WRITE_IMM]	= ROVE_WQEP_DATA | ROVE_WQEP_WRITE,
	[ROVE_WR_READ]		= ROVE_WQEP_READ,
	[ROVE_WR_CMP_SWP]	= ROVE_WQEP_ATOMIC,
	[ROVE_WR_FETCH_ADD]	= ROVE_WQEP_ATOMIC,
	[ROVE_WR_LOCAL_INV]	= ROVE_WQEP_LOCAL,
	[ROVE_WR_BIND_MW]	= ROVE_WQEP_LOCAL,
	[ROVE_WR_REG_MR]	= ROVE_WQEP_LOCAL,
	[ROVE_WR_ATOMIC_WRITE]	= ROVE_WQEP_PLACE,
	[ROVE_WR_FLUSH]		= ROVE_WQEP_PLACE,
};

u32 rove_wqe_sq_stride(u32 max_sge, u32 max_inline)
{
	u32 room = max_t(u32, max_sge * sizeof(struct rove_sge), max_inline);

	return sizeof(struct rove_sqe) + DIV_ROUND_UP(room, SLOT_ALIGN) * SLOT_ALIGN;
}

u32 rove_wqe_rq_stride(u32 max_sge)
{
	return sizeof(struct rove_rqe) + max_sge * sizeof(struct rove_sge);
}

/*
 * Each word is loaded exactly once: the compiler must not go back to the slot
 * for a value that was checked in the copy. @len is rounded up to words.
 */
static void copy_slot(void *to, const void *slot, u32 len)
{
	const u64 *from = slot;
	u64 *word = to;
	u32 i;

	for (i = 0; i < DIV_ROUND_UP(len, (u32)sizeof(*word)); i++)
		word[i] = READ_ONCE(from[i]);
}

static u64 sge_sum(const struct rove_sge *sge, u32 num)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < num; i++)
		sum += sge[i].length;
	return sum;
}

/* The part of the header that depends on the operation; @op: its OP_BIT(). */
static bool params_ok(const struct rove_sqe *sqe, u32 op, const struct rove_wqe_limits *lim)
{
	if (lim->ud)
		return (op & OPS_UD) && sqe->ud.qpn <= MAX_QPN &&
		       sqe->ud.pkey_index <= lim->max_pkey_index && !sqe->ud.reserved_80[0] &&
		       !sqe->ud.reserved_80[1];
	if (lim->xrc ? sqe->rdma.srqn > MAX_QPN : (op & OPS_SRQN) && sqe->rdma.srqn)
		return false;
	if (op & OPS_RDMA)
		return !sqe->rdma.reserved_80[0] && !sqe->rdma.reserved_80[1];
	if (op & OPS_ATOMIC)
		return sqe->num == 1;
	if ((op & OPS_NO_SGE) && (sqe->num || (sqe->flags & ROVE_WR_INLINE)))
		return false;
	switch (sqe->opcode) {
	case ROVE_WR_LOCAL_INV:
		return !sqe->rdma.addr && !sqe->rdma.rkey && !sqe->rdma.reserved_80[0] &&
		       !sqe->rdma.reserved_80[1];
	case ROVE_WR_ATOMIC_WRITE:
		return !sqe->atomic.swap;
	case ROVE_WR_FLUSH:
		return sqe->flush.type && sqe->flush.type <= FLUSH_TYPES &&
		       sqe->flush.level <= 1 && !sqe->flush.reserved_90 &&
		       !sqe->flush.reserved_a0 && !sqe->flush.reserved_c0;
	default:
		return true;
	}
}

static bool header_ok(const struct rove_sqe *sqe, const struct rove_wqe_limits *lim)
{
	u32 op;

	if (sqe->opcode >= ROVE_WR_OPS || (sqe->flags & ~ROVE_WR_FLAGS))
		return false;
	op = OP_BIT(sqe->opcode);
	if (!(op & lim->ops))
		return false;
	if (sqe->flags & ROVE_WR_INLINE) {
		if (!(op & OPS_INLINE) || sqe->num > lim->max_inline)
			return false;
	} else if (sqe->num > lim->max_sge) {
		return false;
	}
	return params_ok(sqe, op, lim);
}

static enum rove_fault check_length(const struct rove_sqe *sqe, u64 length,
				    const struct rove_wqe_limits *lim)
{
	if (OP_BIT(sqe->opcode) & OPS_ATOMIC)
		return length == ATOMIC_LEN ? ROVE_FAULT_NONE : ROVE_FAULT_LOCAL_LEN;
	/* The MTU of the port is known further down only. */
	if (length > (lim->ud ? ROVE_MAX_PMTU : ROVE_MAX_MSG))
		return ROVE_FAULT_LOCAL_LEN;
	return ROVE_FAULT_NONE;
}

/* What is left is fit for a completion and for nothing else. */
static enum rove_fault refuse(struct rove_swqe *wqe, enum rove_fault fault)
{
	wqe->fault = fault;
	wqe->length = 0;
	wqe->sqe.num = 0;
	wqe->sqe.flags &= ROVE_WR_SIGNALED;
	if (wqe->sqe.opcode >= ROVE_WR_OPS)
		wqe->sqe.opcode = ROVE_WR_SEND;
	return fault;
}

enum rove_fault rove_wqe_read_send(struct rove_swqe *wqe, const void *slot,
				   const struct rove_wqe_limits *lim)
{
	enum rove_fault fault;
	u64 length;

	memset(wqe, 0, offsetof(struct rove_swqe, sqe));
	copy_slot(&wqe->sqe, slot, sizeof(wqe->sqe));
	if (!header_ok(&wqe->sqe, lim))
		return refuse(wqe, ROVE_FAULT_WQE);

	/* num was checked in the copy, and it is the copy that counts here. */
	slot += sizeof(struct rove_sqe);
	if (wqe->sqe.flags & ROVE_WR_INLINE) {
		length = wqe->sqe.num;
		copy_slot(wqe->data, slot, wqe->sqe.num);
	} else {
		copy_slot(wqe->sge, slot, wqe->sqe.num * sizeof(struct rove_sge));
		length = sge_sum(wqe->sge, wqe->sqe.num);
	}
	fault = check_length(&wqe->sqe, length, lim);
	if (fault != ROVE_FAULT_NONE)
		return refuse(wqe, fault);
	wqe->length = wqe->sqe.opcode == ROVE_WR_ATOMIC_WRITE ? ATOMIC_LEN : length;
	return ROVE_FAULT_NONE;
}

enum rove_fault rove_wqe_read_recv(struct rove_rwqe *wqe, const void *slot, u32 max_sge)
{
	struct rove_rqe rqe;

	copy_slot(&rqe, slot, sizeof(rqe));
	wqe->wr_id = rqe.wr_id;
	wqe->num = 0;
	wqe->length = 0;
	if (rqe.num > max_sge || rqe.reserved_60)
		return ROVE_FAULT_WQE;

	copy_slot(wqe->sge, slot + sizeof(rqe), rqe.num * sizeof(struct rove_sge));
	wqe->num = rqe.num;
	wqe->length = min_t(u64, sge_sum(wqe->sge, rqe.num), ROVE_MAX_MSG);
	return ROVE_FAULT_NONE;
}
