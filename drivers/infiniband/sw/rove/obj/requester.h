/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The requester half at work. By its owner, with BH off. */
#ifndef ROVE_OBJ_REQUESTER_H
#define ROVE_OBJ_REQUESTER_H

#include <linux/types.h>

struct rove_qp;
struct rove_rxpkt;

/*
 * A response; its ICRC is right. @now: ns. False: its memory is not there, the half is
 * paused, and the packet is to be given again.
 */
bool rove_requester_packet(struct rove_qp *qp, struct rove_rxpkt *rx, u64 now);

/*
 * After whatever came in (@answer: a packet): send, complete, see what follows. What a
 * budget left is noted as ROVE_WORK_MORE.
 */
void rove_requester_finish(struct rove_qp *qp, bool answer, u64 now);

#endif /* ROVE_OBJ_REQUESTER_H */
