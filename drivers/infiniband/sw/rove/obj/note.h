/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the code that runs a QP leaves for others: counters, events, and that there is
 * more to do.
 */
#ifndef ROVE_OBJ_NOTE_H
#define ROVE_OBJ_NOTE_H

#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include "../stats.h"
#include "../trace.h"
#include "dev.h"
#include "qp.h"

/* The tasklet is to look at the QP. Any context. */
static inline void rove_note_work(struct rove_qp *qp)
{
	if (!READ_ONCE(qp->dead))
		tasklet_schedule(&qp->tasklet);
}

/*
 * In a softirq on top of the thread that runs this QP already: it sends what follows,
 * so that its batches stay large and softirqs come to an end.
 */
static inline bool rove_note_thread_follows(const struct rove_qp *qp)
{
	return in_serving_softirq() && READ_ONCE(qp->here) == current;
}

static inline void rove_note_drop(struct rove_qp *qp, enum rove_drop why)
{
	rove_stat_drop(READ_ONCE(qp->stats), why);
	trace_rove_drop(qp->qpn, why);
}

/* Moves what a machine has counted to the statistics of the port. */
static inline void rove_note_tally(struct rove_qp *qp, struct rove_tally *t)
{
	unsigned int i;

	if (likely(!t->dirty))
		return;
	for (i = 0; i < ROVE_TALLIES; i++) {
		if (t->n[i])
			rove_stat_add(READ_ONCE(qp->stats), ROVE_STAT_TALLY + i, t->n[i]);
	}
	memset(t, 0, sizeof(*t));
}

/* @events: of enum rove_qp_event; told to the user from the tasklet. */
static inline void rove_note_events(struct rove_qp *qp, u32 events)
{
	if (likely(!events))
		return;
	if (!qp->sqd_notify)
		events &= ~ROVE_QPE_SQ_DRAINED;
	/* It is news only to who has not gone to RTS yet (11.6.3.2). */
	if (READ_ONCE(qp->state) != IB_QPS_RTR)
		events &= ~ROVE_QPE_COMM_EST;
	if (!events)
		return;
	atomic_or(events, &qp->events);
	rove_note_work(qp);
}

#endif /* ROVE_OBJ_NOTE_H */
