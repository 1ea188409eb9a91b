// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * In the engine's place, when all CPUs are busy with programs that poll.
 *
 * A program that posts one request after the other would make a system call for
 * each of them. When it comes back at once, again and again, it may not wait for
 * anything: then a timer looks at its doorbell page instead, every few calls' time,
 * and it is told not to call. The timer goes on as long as it finds enough to pay
 * for it. A program that does wait, for an answer before it posts again, is late by
 * one period then; it is believed less easily each time.
 *
 * The page is handed over as between poster and engine: see obj/engine.c.
 */
#include <linux/ktime.h>
#include "dev.h"
#include "engine.h"
#include "qp.h"
#include "run.h"
#include "uctx.h"
#include "watch.h"

/*
 * So many times in a row there was not more than that many calls' time between two calls;
 * twice as many times for each doubt.
 */
#define STREAK		16
#define GAP_CALLS	2
#define DOUBT_MAX	10
/* Period: the time from one call to the next so many times, within these limits, ns. */
#define CALLS		3
#define PERIOD_MIN_NS	(10 * NSEC_PER_USEC)
#define PERIOD_MAX_NS	(100 * NSEC_PER_USEC)
/* Requests in a period that are worth it; so many periods in a row with less end it. */
#define WORTH		4
#define POOR		3
/* QPs that are run in a period: what they send must fit into the stack's queues. */
#define CAP		8

struct look {
	u32 room;			/* QPs that may be run */
	u32 posted;			/* requests of those that were */
};

static enum rove_rung run_qp(struct rove_qp *qp, void *arg)
{
	struct look *l = arg;

	if (!l->room)
		return ROVE_RUNG_STOP;
	l->room--;
	if (qp) {
		l->posted += rove_ring_pending(&qp->sq);
		rove_run_posted(qp);
	}
	return ROVE_RUNG_DONE;
}

/*
 * Has the tasklets of up to @room QPs that are rung for run next.
 *
 * Return: requests that are posted there.
 */
static u32 run_rung(struct rove_uctx *u, u32 room)
{
	struct look l = { .room = room };

	rove_uctx_rung(u, &u->watch.at, run_qp, &l);
	return l.posted;
}

static void stop(struct rove_watch *w)
{
	WRITE_ONCE(w->streak, 0);
	clear_bit_unlock(0, &w->on);
}

static enum hrtimer_restart watch(struct hrtimer *timer)
{
	struct rove_uctx *u = container_of(timer, struct rove_uctx, watch.timer);
	struct rove_engine *e = u->dev->engine;
	struct rove_watch *w = &u->watch;

	/* It looks itself, and once more when it has told posters that it goes to sleep. */
	if (!rove_engine_is_asleep(e)) {
		stop(w);
		return HRTIMER_NORESTART;
	}
	if (run_rung(u, CAP) >= WORTH) {
		w->found++;
		w->poor = 0;
		rove_stat_add(u->dev->stats, ROVE_STAT_WATCHES, 1);
		rove_engine_try(e);
	} else {
		w->poor++;
	}
	if (w->poor < POOR) {
		tasklet_schedule(&w->again);
		return HRTIMER_NORESTART;
	}
	if (w->found)
		WRITE_ONCE(w->doubt, 0);
	else if (w->doubt < DOUBT_MAX)
		WRITE_ONCE(w->doubt, w->doubt + 1);
	stop(w);
	WRITE_ONCE(u->db->need_wakeup, 1);
	smp_mb();	/* pairs with the poster's */
	run_rung(u, ROVE_DB_SLOTS);
	return HRTIMER_NORESTART;
}

static void start(struct rove_watch *w)
{
	hrtimer_start(&w->timer, ns_to_ktime(w->period), HRTIMER_MODE_REL_SOFT);
}

/* What was found has been done: the program gets as much time as the first time. */
static void watch_again(struct tasklet_struct *t)
{
	start(container_of(t, struct rove_watch, again));
}

void rove_watch_kicked(struct rove_uctx *u, u64 begin, u64 end)
{
	struct rove_watch *w = &u->watch;
	s64 gap = begin - READ_ONCE(w->kicked), took = end - begin;

	WRITE_ONCE(w->kicked, end);
	if (gap < 0 || gap > GAP_CALLS * took) {
		WRITE_ONCE(w->streak, 0);
		return;
	}
	WRITE_ONCE(w->streak, READ_ONCE(w->streak) + 1);
	if (READ_ONCE(w->streak) < STREAK << READ_ONCE(w->doubt) ||
	    !rove_engine_is_missing(u->dev->engine) ||
	    test_and_set_bit_lock(0, &w->on))
		return;
	w->found = 0;
	w->poor = 0;
	w->period = clamp_t(u64, CALLS * (gap + took), PERIOD_MIN_NS, PERIOD_MAX_NS);
	WRITE_ONCE(u->db->need_wakeup, 0);
	start(w);
}

void rove_watch_init(struct rove_uctx *u)
{
	hrtimer_setup(&u->watch.timer, watch, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	tasklet_setup(&u->watch.again, watch_again);
}

void rove_watch_exit(struct rove_uctx *u)
{
	/* Either may have started the other, but not when nothing is rung any more. */
	do {
		hrtimer_cancel(&u->watch.timer);
		tasklet_kill(&u->watch.again);
	} while (hrtimer_active(&u->watch.timer));
}
