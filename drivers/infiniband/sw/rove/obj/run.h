/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where the work of QPs is done. */
#ifndef ROVE_OBJ_RUN_H
#define ROVE_OBJ_RUN_H

struct rove_qp;
struct rove_rxpkt;

/* The user's system call: takes what is posted and sends it, in place. Process
 * context.
 */
void rove_run_kick(struct rove_qp *qp);

/* Something was posted by the kernel; any context: runs from a tasklet. */
void rove_run_posted(struct rove_qp *qp);

/*
 * Takes the packets of a train for @qp, beginning with the current one, whose
 * headers were read. Comes back when the train ends or the next packet, whose
 * headers were then read, is for another QP. BH off, RCU held.
 *
 * Return: false at the end of the train.
 */
bool rove_run_packets(struct rove_qp *qp, struct rove_rxpkt *rx);

/* Own both halves: process context; BH is off until rove_run_unlock(). */
void rove_run_lock(struct rove_qp *qp);
void rove_run_unlock(struct rove_qp *qp);

#endif /* ROVE_OBJ_RUN_H */
