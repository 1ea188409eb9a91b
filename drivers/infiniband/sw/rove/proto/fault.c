// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fault.h"

/* enum ib_wc_status, which is no header of the pure core. */
enum {
	WC_SUCCESS		= 0,
	WC_LOC_LEN_ERR		= 1,
	WC_LOC_QP_OP_ERR	= 2,
	WC_LOC_PROT_ERR		= 4,
	WC_WR_FLUSH_ERR		= 5,
	WC_MW_BIND_ERR		= 6,
	WC_BAD_RESP_ERR		= 7,
	WC_LOC_ACCESS_ERR	= 8,
	WC_REM_INV_REQ_ERR	= 9,
	WC_REM_ACCESS_ERR	= 10,
	WC_REM_OP_ERR		= 11,
	WC_RETRY_EXC_ERR	= 12,
	WC_RNR_RETRY_EXC_ERR	= 13,
};

/*
 * The NAK is what a responder answers; a requester's own faults have none. There
 * is an event where a completion of this side may not tell: a request of the
 * peer's need not use a receive WQE (11.6.3.2).
 */
static const struct rove_fault_info faults[ROVE_FAULTS] = {
	[ROVE_FAULT_NONE]	  = { WC_SUCCESS,	    -1,			0, false },
	[ROVE_FAULT_WQE]	  = { WC_LOC_QP_OP_ERR,	    ROVE_NAK_OP,	0, true },
	[ROVE_FAULT_LOCAL_PROT]	  = { WC_LOC_PROT_ERR,	    ROVE_NAK_OP,	0, true },
	[ROVE_FAULT_LOCAL_LEN]	  = { WC_LOC_LEN_ERR,	    ROVE_NAK_INVALID,	0, true },
	[ROVE_FAULT_FLUSH]	  = { WC_WR_FLUSH_ERR,	    -1,			0, false },
	[ROVE_FAULT_BAD_RESPONSE] = { WC_BAD_RESP_ERR,	    -1,			0, true },
	[ROVE_FAULT_RETRY]	  = { WC_RETRY_EXC_ERR,	    -1,			0, true },
	[ROVE_FAULT_RNR_RETRY]	  = { WC_RNR_RETRY_EXC_ERR, -1,			0, true },
	[ROVE_FAULT_MEMORY_OP]	  = { WC_MW_BIND_ERR,	    -1,			0, true },
	[ROVE_FAULT_PEER_INVALID] = { WC_REM_INV_REQ_ERR,   -1,			0, true },
	[ROVE_FAULT_PEER_ACCESS]  = { WC_REM_ACCESS_ERR,    -1,			0, true },
	[ROVE_FAULT_PEER_OP]	  = { WC_REM_OP_ERR,	    -1,			0, true },
	[ROVE_FAULT_REQ_INVALID]  = { WC_REM_INV_REQ_ERR,   ROVE_NAK_INVALID,
				      ROVE_QPE_REQ_ERR, true },
	[ROVE_FAULT_REQ_ACCESS]	  = { WC_LOC_ACCESS_ERR,    ROVE_NAK_ACCESS,
				      ROVE_QPE_ACCESS_ERR, true },
	[ROVE_FAULT_REQ_OP]	  = { WC_LOC_QP_OP_ERR,	    ROVE_NAK_OP,
				      ROVE_QPE_FATAL, true },
	/* Where nobody tries again it is a lack of memory. */
	[ROVE_FAULT_PAGE]	  = { WC_LOC_PROT_ERR,	    ROVE_NAK_OP,	0, true },
};

const struct rove_fault_info *rove_fault_info(enum rove_fault fault)
{
	return &faults[fault];
}
