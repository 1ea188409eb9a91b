/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The requester half at work. By its owner, with BH off. */
#ifndef ROVE_OBJ_REQUESTER_H
#define ROVE_OBJ_REQUESTER_H

#include <linux/types.h>
#include "../proto/fault.h"

struct rove_qp;
struct rove_rxpkt;
struct rove_seg;

/*
 * A response; its ICRC is right. @now: ns. False: its memory is not there, the half is
 * paused, and the packet is to be given again.
 */
bool rove_requester_packet(struct rove_qp *qp, struct rove_rxpkt *rx, u64 now);

/* Writes the payload of @seg, which rove_req_next() gave. PAGE: the half is paused. */
enum rove_fault rove_requester_fill(struct rove_qp *qp, const struct rove_seg *seg, u8 *payload);

/* A WQE without packets, ROVE_SEG_LOCAL: executes it, and tells the machine. */
void rove_requester_execute(struct rove_qp *qp, const struct rove_seg *seg);

/*
 * After whatever came in (@answer: a packet): send, complete, see what follows. What a
 * budget left is noted as ROVE_WORK_MORE.
 */
void rove_requester_finish(struct rove_qp *qp, bool answer, u64 now);

#endif /* ROVE_OBJ_REQUESTER_H */
