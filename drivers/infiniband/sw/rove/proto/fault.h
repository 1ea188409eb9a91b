/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What can go wrong, and in one table what follows from it: the NAK that the
 * peer gets, the status of the work completion, the asynchronous event, the
 * state of the QP (IBTA vol. 1, 9.9.2 to 9.9.4, tables 56 and 57).
 */
#ifndef ROVE_PROTO_FAULT_H
#define ROVE_PROTO_FAULT_H

#include "../base.h"

enum rove_fault {
	ROVE_FAULT_NONE,
	/* found where the WQE is */
	ROVE_FAULT_WQE,			/* malformed work request */
	ROVE_FAULT_LOCAL_PROT,		/* lkey, range, access, PD of a local SGE */
	ROVE_FAULT_LOCAL_LEN,		/* message over 2 GiB, or does not fit the RQE */
	ROVE_FAULT_FLUSH,		/* QP went to the error state */
	ROVE_FAULT_BAD_RESPONSE,	/* peer's response makes no sense */
	ROVE_FAULT_RETRY,		/* transport retry budget used up */
	ROVE_FAULT_RNR_RETRY,		/* RNR retry budget used up */
	ROVE_FAULT_MEMORY_OP,		/* bind, registration, invalidation that cannot be */
	/* told by the peer in a NAK */
	ROVE_FAULT_PEER_INVALID,
	ROVE_FAULT_PEER_ACCESS,
	ROVE_FAULT_PEER_OP,
	/* found by the responder in a request */
	ROVE_FAULT_REQ_INVALID,		/* opcode order, length, unsupported */
	ROVE_FAULT_REQ_ACCESS,		/* rkey, range, access, PD */
	ROVE_FAULT_REQ_OP,		/* responder cannot complete it (its own RQE is bad) */
	/* no fault: the memory has to be fetched first, and then it is tried again */
	ROVE_FAULT_PAGE,
	ROVE_FAULTS
};

/* AETH syndromes (IBTA vol. 1, 9.7.5.2.1). */
enum rove_syndrome {
	ROVE_AETH_ACK		= 0x00,	/* lower 5 bits: credits */
	ROVE_AETH_RNR		= 0x20,	/* lower 5 bits: timer */
	ROVE_AETH_NAK		= 0x60,	/* lower 5 bits: enum below */
	ROVE_AETH_KIND		= 0xe0,
	ROVE_AETH_VALUE		= 0x1f,
	ROVE_CREDITS_NONE	= 0x1f,	/* end-to-end flow control not used */
};

enum rove_nak {
	ROVE_NAK_SEQ		= 0,
	ROVE_NAK_INVALID	= 1,
	ROVE_NAK_ACCESS		= 2,
	ROVE_NAK_OP		= 3,
	ROVE_NAK_RD_INVALID	= 4,
};

/* Asynchronous events, as bits of a mask. */
enum rove_qp_event {
	ROVE_QPE_COMM_EST	= 1 << 0,
	ROVE_QPE_SQ_DRAINED	= 1 << 1,
	ROVE_QPE_FATAL		= 1 << 2,
	ROVE_QPE_ACCESS_ERR	= 1 << 3,
	ROVE_QPE_REQ_ERR	= 1 << 4,
	ROVE_QPE_LAST_WQE	= 1 << 5,
};

struct rove_fault_info {
	u8 status;		/* enum ib_wc_status; 0 where no WQE is concerned */
	s8 nak;			/* enum rove_nak, or -1 */
	u8 event;		/* enum rove_qp_event, or 0 */
	bool to_err;		/* the QP (UC and UD send side: the SQ) goes to error */
};

/* @fault: any value below ROVE_FAULTS. */
const struct rove_fault_info *rove_fault_info(enum rove_fault fault);

#endif /* ROVE_PROTO_FAULT_H */
