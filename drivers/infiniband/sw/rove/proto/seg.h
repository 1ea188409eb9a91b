/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One packet that a machine wants to be sent. */
#ifndef ROVE_PROTO_SEG_H
#define ROVE_PROTO_SEG_H

#include "../wire/pkt.h"

enum rove_seg_source {
	ROVE_SEG_NONE,		/* no payload */
	ROVE_SEG_WQE,		/* bytes off.. of the WQE's SGEs or inline data */
	ROVE_SEG_MR,		/* bytes va.. of the MR rkey (READ response) */
	ROVE_SEG_VALUE,		/* the 8 bytes in the WQE (ATOMIC WRITE) */
	ROVE_SEG_LOCAL,		/* no packet at all: WQE wqe is to be executed */
};

struct rove_seg {
	struct rove_pkt pkt;	/* complete but for pad and hlen */
	u8 source;		/* enum rove_seg_source */
	bool resend;		/* sent before: count as retransmission */
	u32 wqe;		/* SQ index that the packet belongs to (requester) */
	u32 off;
	u64 va;
	u32 rkey;
	u32 srqn;		/* XRC: READ response: in whose domain */
};

#endif /* ROVE_PROTO_SEG_H */
