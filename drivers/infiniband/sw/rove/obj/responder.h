/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The responder half at work. By its owner, with BH off. */
#ifndef ROVE_OBJ_RESPONDER_H
#define ROVE_OBJ_RESPONDER_H

#include <linux/types.h>
#include "../proto/fault.h"

struct rove_qp;
struct rove_rxpkt;
struct rove_seg;

/*
 * A request; its ICRC is right. @now: ns. False: its memory is not there, the half is
 * paused, and the packet is to be given again.
 */
bool rove_responder_packet(struct rove_qp *qp, struct rove_rxpkt *rx, u64 now);

/* Writes the payload of @seg, which rove_resp_next() gave. PAGE: the half is paused. */
enum rove_fault rove_responder_fill(struct rove_qp *qp, const struct rove_seg *seg, u8 *payload);

/* As rove_responder_finish(), when somebody else takes what is owed. */
void rove_responder_settle(struct rove_qp *qp, u64 now);

/* After whatever came in: send what is owed, flush if the QP is in error. */
void rove_responder_finish(struct rove_qp *qp, u64 now);

#endif /* ROVE_OBJ_RESPONDER_H */
