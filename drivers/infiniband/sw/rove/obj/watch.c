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
#include <linux/rcupdate.h>
#include <linux/xarray.h>
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

/* Requests that are posted there. */
static u32 run_slot(struct rove_uctx *u, u32 slot)
{
	struct rove_qp *qp;
	u32 posted = 0;

	rcu_read_lock();
	qp = xa_load(&u->slots, slot);
	if (qp) {
		posted = rove_ring_pending(&qp->sq);
		rove_run_posted(qp);
	}
	rcu_read_unlock();
	return posted;
}

/* Has the tasklets of all QPs that are rung for run next. What is in the page is the user's. */
static u32 run_rung(struct rove_uctx *u)
{
	unsigned long words, rung;
	unsigned int s, w, b, word;
	u32 posted = 0;

	for (s = 0; s < ARRAY_SIZE(u->db->summary); s++) {
		if (!READ_ONCE(u->db->summary[s]))
			continue;
		words = xchg(&u->db->summary[s], 0);
		for_each_set_bit(w, &words, 64) {
			word = s * 64 + w;
			if (word >= ROVE_DB_WORDS)
				break;
			rung = xchg(&u->db->rung[word], 0);
			for_each_set_bit(b, &rung, 64)
				posted += run_slot(u, word * 64 + b);
		}
	}
	return posted;
}

static enum hrtimer_restart watch(struct hrtimer *timer)
{
	struct rove_uctx *u = container_of(timer, struct rove_uctx, watch.timer);
	struct rove_engine *e = u->dev->engine;

	if (run_rung(u) >= WORTH) {
		u->watch.found++;
		u->watch.poor = 0;
		rove_stat_add(u->dev->stats, ROVE_STAT_WATCHES, 1);
		rove_engine_try(e);
	} else {
		u->watch.poor++;
	}
	if (u->watch.poor < POOR) {
		tasklet_schedule(&u->watch.again);
		return HRTIMER_NORESTART;
	}
	WRITE_ONCE(u->watch.streak, 0);
	if (u->watch.found)
		WRITE_ONCE(u->watch.doubt, 0);
	else if (u->watch.doubt < DOUBT_MAX)
		WRITE_ONCE(u->watch.doubt, u->watch.doubt + 1);
	clear_bit_unlock(0, &u->watch.on);
	/* If it is awake it will say so itself when it goes to sleep. */
	if (rove_engine_is_asleep(e))
		WRITE_ONCE(u->db->need_wakeup, 1);
	smp_mb();	/* pairs with the poster's */
	run_rung(u);
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
