/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A timer that watches a doorbell page where the engine finds no CPU. */
#ifndef ROVE_OBJ_WATCH_H
#define ROVE_OBJ_WATCH_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>

struct rove_uctx;

struct rove_watch {
	struct hrtimer timer;
	struct tasklet_struct again;	/* starts it again behind the QPs' tasklets */
	unsigned long on;		/* bit 0: the timer runs, and kicks are not wanted */
	u64 period;			/* ns */
	unsigned int at;		/* slot that comes first; the timer's */
	u32 found;			/* periods with enough in them since it was started */
	u32 poor;			/* with less, since then */
	u64 kicked;			/* ns; end of the last kick; from here on all are hints */
	u32 streak;			/* kicks that came right behind the one before */
	u32 doubt;			/* how often it was started in vain: 0 to DOUBT_MAX */
};

void rove_watch_init(struct rove_uctx *u);
/* No kick is under way, and none will come. Sleeps. */
void rove_watch_exit(struct rove_uctx *u);

/* A user's kick took from @begin to @end, ns. Process context. */
void rove_watch_kicked(struct rove_uctx *u, u64 begin, u64 end);

#endif /* ROVE_OBJ_WATCH_H */
