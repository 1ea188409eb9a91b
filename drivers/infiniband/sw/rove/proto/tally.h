/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the machines count. Each machine keeps small private counters; its
 * driver adds them to the port's statistics and clears them after a run.
 */
#ifndef ROVE_PROTO_TALLY_H
#define ROVE_PROTO_TALLY_H

#include "../base.h"

enum rove_tally_index {
	/* requester */
	ROVE_TALLY_RETRANSMIT,		/* packets sent again */
	ROVE_TALLY_TIMEOUT,		/* retransmission timer ran out */
	ROVE_TALLY_RETRY_EXC,		/* retry budget used up */
	ROVE_TALLY_RNR_RETRY_EXC,
	ROVE_TALLY_ACK_RCVD,
	ROVE_TALLY_RNR_RCVD,
	ROVE_TALLY_NAK_SEQ_RCVD,
	ROVE_TALLY_NAK_INVALID_RCVD,
	ROVE_TALLY_NAK_ACCESS_RCVD,
	ROVE_TALLY_NAK_OP_RCVD,
	ROVE_TALLY_READ_RESUMED,	/* READ asked for again from the middle */
	/* responder */
	ROVE_TALLY_DUPLICATE,		/* duplicate requests */
	ROVE_TALLY_OUT_OF_SEQ,		/* requests ahead of the expected PSN */
	ROVE_TALLY_UC_GAP,		/* UC: requests that something is missing before */
	ROVE_TALLY_UC_BROKEN,		/* UC: messages that began and did not end */
	ROVE_TALLY_ACK_SENT,
	ROVE_TALLY_RNR_SENT,
	ROVE_TALLY_NAK_SEQ_SENT,
	ROVE_TALLY_NAK_INVALID_SENT,
	ROVE_TALLY_NAK_ACCESS_SENT,
	ROVE_TALLY_NAK_OP_SENT,
	ROVE_TALLIES
};

struct rove_tally {
	bool dirty;
	u16 n[ROVE_TALLIES];
};

static inline void rove_tally_add(struct rove_tally *t, enum rove_tally_index i)
{
	if (t->n[i] != 0xffff)
		t->n[i]++;
	t->dirty = true;
}

#endif /* ROVE_PROTO_TALLY_H */
