/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests: from a ring that the user can write at any time to a private
 * copy that was checked. Each byte of a slot is read once; what is checked is
 * the copy, and nothing goes back to the slot after that.
 */
#ifndef ROVE_RING_WQE_H
#define ROVE_RING_WQE_H

#include <rdma/rove-abi.h>
#include "../base.h"
#include "../proto/fault.h"

#define ROVE_MAX_MSG	0x80000000U	/* 2 GiB: largest message, bytes */

/* What a QP allows in its work requests; constant after creation. */
struct rove_wqe_limits {
	u32 max_inline;		/* bytes */
	u16 max_sge;
	bool ud;		/* datagrams: SEND only, one packet */
	bool xrc;		/* each names an SRQ of the peer's */
	u32 ops;		/* bit for each allowed enum rove_wr_op */
	u32 max_pkey_index;	/* UD: of a WQE */
};

/* What follows from the operation. */
enum rove_wqe_prop {
	ROVE_WQEP_DATA		= 1 << 0,	/* SEND, WRITE: its bytes are sent, path MTU by
						 * path MTU, and an ACK completes it
						 */
	ROVE_WQEP_READ		= 1 << 1,
	ROVE_WQEP_ATOMIC	= 1 << 2,	/* one that brings 8 bytes back */
	ROVE_WQEP_LOCAL		= 1 << 3,	/* no packet at all */
	ROVE_WQEP_SEND		= 1 << 4,	/* takes a receive WQE without immediate data */
	ROVE_WQEP_WRITE		= 1 << 5,
	ROVE_WQEP_PLACE		= 1 << 6,	/* ATOMIC WRITE, FLUSH: answered by an empty
						 * READ response
						 */

	/* its response completes it, an ACK does not; max_rd_atomic counts it */
	ROVE_WQEP_RD		= ROVE_WQEP_READ | ROVE_WQEP_ATOMIC | ROVE_WQEP_PLACE,
	/* its SGEs are written to */
	ROVE_WQEP_SCATTER	= ROVE_WQEP_READ | ROVE_WQEP_ATOMIC,
};

extern const u8 rove_wqe_props[ROVE_WR_OPS];

enum rove_swqe_state {
	ROVE_SWQE_POSTED,	/* nothing sent yet */
	ROVE_SWQE_SENT,		/* all its packets were sent at least once; LOCAL: executed */
	ROVE_SWQE_DONE,		/* acknowledged, or failed: to be completed */
};

/*
 * A send work request in kernel memory. Fields before sqe are the transport's
 * (proto/req); sqe is the checked copy, with its SGEs or inline bytes behind it.
 */
struct rove_swqe {
	u32 length;		/* of the message, bytes */
	u32 first_psn;
	u32 last_psn;		/* of the request or, READ, of the last response */
	u32 ssn;		/* message number, 24 bits */
	u32 done;		/* READ: bytes placed so far */
	u8 state;		/* enum rove_swqe_state */
	u8 fault;		/* enum rove_fault */
	u8 resent;		/* was sent again at least once */
	u8 reserved;
	struct rove_sqe sqe;
	union {
		DECLARE_FLEX_ARRAY(struct rove_sge, sge);
		DECLARE_FLEX_ARRAY(u8, data);
	};
};

/* Has its operation one of @props, enum rove_wqe_prop? */
static inline bool rove_wqe_is(const struct rove_swqe *wqe, u32 props)
{
	return rove_wqe_props[wqe->sqe.opcode] & props;
}

/* A receive work request in kernel memory. */
struct rove_rwqe {
	u64 wr_id;
	u32 length;		/* sum of the SGEs, saturated at ROVE_MAX_MSG */
	u32 num;
	struct rove_sge sge[];
};

/* Bytes of a WQE slot for @max_sge SGEs or @max_inline inline bytes. */
u32 rove_wqe_sq_stride(u32 max_sge, u32 max_inline);
u32 rove_wqe_rq_stride(u32 max_sge);

/* Bytes of a private send WQE whose ring slots have @stride bytes. */
static inline u32 rove_wqe_private_stride(u32 stride)
{
	return sizeof(struct rove_swqe) + stride - sizeof(struct rove_sqe);
}

/**
 * rove_wqe_read_send() - copy a send WQE out of its slot and check the copy
 * @wqe:  where to; rove_wqe_private_stride() bytes
 * @slot: where from; may change while it is read
 * @lim:  what the QP allows
 *
 * On failure wqe->sqe.wr_id and the signalled flag are still valid, the rest is
 * set so that nobody reads SGEs (num is 0), and wqe->fault holds the result.
 *
 * Return: ROVE_FAULT_NONE, ROVE_FAULT_WQE or ROVE_FAULT_LOCAL_LEN.
 */
enum rove_fault rove_wqe_read_send(struct rove_swqe *wqe, const void *slot,
				   const struct rove_wqe_limits *lim);

/**
 * rove_wqe_read_recv() - the same for a receive WQE
 *
 * Return: ROVE_FAULT_NONE or ROVE_FAULT_WQE; wr_id is valid in both cases.
 */
enum rove_fault rove_wqe_read_recv(struct rove_rwqe *wqe, const void *slot, u32 max_sge);

#endif /* ROVE_RING_WQE_H */
