/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where the work of QPs is done. */
#ifndef ROVE_OBJ_RUN_H
#define ROVE_OBJ_RUN_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>

struct rove_half;
struct rove_qp;
struct rove_rxpkt;

/* The user's system call: takes what is posted and sends it, in place. Process
 * context.
 */
void rove_run_kick(struct rove_qp *qp);

/*
 * The engine, or who polls in its place, found the QP's doorbell rung. Process context, RCU
 * held. True: its time was up before all was done, so call it again; never if this is the
 * @last call.
 */
bool rove_run_doorbell(struct rove_qp *qp, bool last);

/* One request at a time, and its owner sleeps until it is done. A hint, as above. */
bool rove_run_had_better_kick(struct rove_qp *qp);

/* Something was posted by the kernel; any context: runs from a tasklet. */
void rove_run_posted(struct rove_qp *qp);

/**
 * rove_run_packets() - take the packets of a train that are for @qp
 * @qp: found for the current packet, whose addresses are right for it
 * @rx: the current packet's headers were read; its ICRC was not looked at yet
 *
 * BH off, RCU held.
 *
 * Return: true when the now current packet, whose headers were read too, is for
 * another QP; false at the end of the train.
 */
bool rove_run_packets(struct rove_qp *qp, struct rove_rxpkt *rx);

/* Pages that @h waited for are there, or cannot be had. Process context. */
void rove_run_fetched(struct rove_qp *qp, struct rove_half *h);

/*
 * Own a half of whatever QP, to give it packets that come by no skb. BH off, RCU held.
 * False: it is busy. A responder will call then (rove_samehost_call()).
 */
bool rove_run_enter(struct rove_half *h);
/* ...and whatever was left meanwhile is done. */
void rove_run_leave(struct rove_qp *qp, struct rove_half *h);

/* Own both halves. Process context; BH is off until rove_run_unlock(). */
void rove_run_lock(struct rove_qp *qp);
/*
 * What an error has left to be completed is, by who owns both halves. Later it would be done
 * to a queue pair that begins anew.
 */
void rove_run_flush(struct rove_qp *qp);
/* ...and whatever was left meanwhile is done. */
void rove_run_unlock(struct rove_qp *qp);

/* Of struct rove_qp: timers, tasklet, and the interrupt that hands it over. */
enum hrtimer_restart rove_run_timer(struct hrtimer *timer);
void rove_run_ack_timer(struct timer_list *timer);
void rove_run_tasklet(struct tasklet_struct *tasklet);
void rove_run_handed(void *arg);

#endif /* ROVE_OBJ_RUN_H */
