/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Who looks at a doorbell page where the engine finds no CPU. */
#ifndef ROVE_OBJ_WATCH_H
#define ROVE_OBJ_WATCH_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>

struct rove_uctx;

struct rove_watch {
	struct hrtimer timer;
	struct tasklet_struct again;	/* starts it again behind the QPs' tasklets */
	unsigned long on;		/* bit 0: the timer runs, and kicks are not wanted */
	u64 base;			/* ns; the period, while it finds the work */
	u64 period;			/* ns */
	unsigned int at;		/* slot that comes first; the timer's */
	unsigned int polled_at;		/* that of who polls; a hint */
	bool polled;			/* a poll did the work of this period */
	u32 found;			/* periods with enough in them since it was started */
	u32 poor;			/* with less, since then */
	u64 kicked;			/* ns; end of the last kick; from here on all are hints */
	u32 streak;			/* kicks that came right behind the one before */
	u32 doubt;			/* how often it was started in vain: 0 to DOUBT_MAX */
};

void rove_watch_init(struct rove_uctx *u);
/*
 * The engine does not know the context any more, no call is under way, and none will
 * come. Sleeps.
 */
void rove_watch_exit(struct rove_uctx *u);

/* A user's kick took from @begin to @end, ns. Process context. */
void rove_watch_kicked(struct rove_uctx *u, u64 begin, u64 end);

/*
 * A user polls in vain: runs what is rung, a few QPs of it, and the softirqs of this CPU.
 * Process context. False: there was nothing to run.
 */
bool rove_watch_polled(struct rove_uctx *u);

/*
 * The engine leaves something rung, and has told posters that it goes to sleep. Its
 * thread. False: it has to look itself.
 */
bool rove_watch_take_over(struct rove_uctx *u);

#endif /* ROVE_OBJ_WATCH_H */
